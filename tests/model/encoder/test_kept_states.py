"""What is kept of parts that were read: by content, within its bytes, the least used out first."""

import stat
from pathlib import Path

import numpy as np
import pytest
from lamr_base.cache import Cache
from lamr_model.encoder.kept_states import KIND, KeptStates


def states(number: int) -> np.ndarray:
    """32 bytes that are told by their number."""
    return np.full((4, 4), number, np.float16)


PART = np.arange(4, dtype=np.int64)


def kept_of(kept: KeptStates, *keys: bytes) -> list[bool]:
    """Whether each is found, all of which have four tokens."""
    return [key in kept.find({key: PART}, 4) for key in keys]


def test_parts_are_told_apart_and_what_was_used_least_lately_goes_first() -> None:
    parts = [np.array(part, np.int64) for part in ([1, 2], [2, 1], [1, 2, 0], [1, 2])]
    assert len({KeptStates.key("a", part) for part in parts}) == 3
    assert KeptStates.key("a", parts[0]) != KeptStates.key("b", parts[0])
    kept = KeptStates(64)
    kept.put({b"a": states(1), b"b": states(2)})
    assert kept_of(kept, b"a") == [True]
    kept.put({b"c": states(3)})
    assert kept_of(kept, b"a", b"b", b"c") == [True, False, True]
    np.testing.assert_array_equal(kept.find({b"c": PART}, 4)[b"c"], states(3))


def test_what_is_larger_than_all_of_it_pushes_nothing_out_and_no_bytes_keep_nothing() -> None:
    kept = KeptStates(40)
    kept.put({b"a": states(1), b"b": np.zeros((4, 8), np.float16)})
    assert kept_of(kept, b"a", b"b") == [True, False]
    kept = KeptStates(0)
    kept.put({b"a": states(1)})
    assert b"a" not in kept


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in which a process kept the states of two parts."""
    path = tmp_path / "folder" / "states.sqlite"
    kept = KeptStates(file=path)
    kept.put({b"a": states(1), b"b": states(2)})
    with Cache(path) as cache:
        assert not cache.keys(KIND), "it is written when it is closed"
    kept.close()
    kept.close()
    return path


def test_another_process_finds_what_was_kept(file: Path) -> None:
    kept = KeptStates(file=file)
    assert b"a" in kept
    assert b"c" not in kept
    np.testing.assert_array_equal(kept.find({b"a": PART}, 4)[b"a"], states(1))
    kept.close()
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "value", [b"", b"x" * 31, states(1).tobytes() * 2, np.full(16, np.nan, np.float16).tobytes()]
)
def test_what_cant_be_the_states_of_a_part_is_read_again_and_replaced(file: Path, value: bytes) -> None:
    with Cache(file) as cache:
        cache.put(KIND, {b"a".hex(): value})
    kept = KeptStates(file=file)
    assert kept_of(kept, b"a", b"b") == [False, True]
    assert b"a" not in kept
    kept.put({b"a": states(1)})
    kept.close()
    assert kept_of(KeptStates(file=file), b"a") == [True]


def test_bytes_that_a_disk_changed_are_read_again(file: Path) -> None:
    data = file.read_bytes()
    assert data.count(states(1).tobytes()) == 1
    file.write_bytes(data.replace(states(1).tobytes(), states(3).tobytes()))
    assert kept_of(KeptStates(file=file), b"a", b"b") == [False, True]


def test_a_file_that_cant_be_used_is_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    target = tmp_path / "states.sqlite"
    target.symlink_to(tmp_path / "elsewhere")
    kept = KeptStates(file=target)
    kept.put({b"a": states(1)})
    assert kept_of(kept, b"a") == [True]
    kept.close()
    assert "going on without it" in caplog.text
    assert not (tmp_path / "elsewhere").exists()
