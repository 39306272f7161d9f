"""`lamr cache` says what is kept, and clears what prune and pack can make again."""

import json
from pathlib import Path

import pytest
from lamr_base.cache import Cache, states_file

from tests.command import invoke

CODE = "def area(width, height):\n    return width * height\n\n\n" * 40


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LAMR_SERVER", raising=False)
    return tmp_path / "cache" / "lamr"


def lamr(*arguments: str) -> str:
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


def sizes() -> dict[str, int]:
    found: dict[str, int] = json.loads(lamr("cache", "--json"))["bytes"]
    return found


def test_nothing_is_kept_at_first(folder: Path) -> None:
    assert "nothing is kept" in lamr("cache")
    lamr("cache", "--clear")
    assert not folder.exists()


def test_what_a_pruning_read_is_kept_shown_and_cleared(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "shape.py"
    file.write_text(CODE, encoding="utf-8")
    lamr("prune", str(file), "-q", "How is an area computed?", "--effort", "full", "--no-cache")
    assert not folder.exists()
    lamr("prune", str(file), "-q", "How is an area computed?", "--effort", "full")
    kept = states_file(folder / "repositories.sqlite")
    assert sizes()[kept.name] > 100_000
    assert sizes()["repositories"] == 0
    assert kept.name in lamr("cache")
    (folder / "agents").mkdir()
    (folder / "agents" / "shown.sqlite3").write_bytes(b"x" * 1000)
    kept.with_name(f"{kept.name}.broken").write_bytes(b"x" * 1000)
    shown = lamr("cache", "--clear")
    assert "agents" in shown
    assert sizes()[kept.name] < 50_000
    assert sizes()["agents"] == 1000
    with Cache(kept) as cache:
        assert not cache.keys("states")


def test_a_second_question_reads_no_code_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lamr_model.encoder.apart_session import ApartSession

    read: list[int] = []
    encode = ApartSession._read
    monkeypatch.setattr(
        ApartSession,
        "_read",
        lambda session, missing, options: (
            read.append(sum(map(len, missing.values()))) or encode(session, missing, options)
        ),
    )
    file = tmp_path / "shape.py"
    file.write_text(CODE, encoding="utf-8")
    for query in ("How is an area computed?", "what is the height for"):
        lamr("prune", str(file), "-q", query, "--effort", "full")
    assert read[0] > 300
    assert len(read) == 2
    assert read[1] < 20, "the second query alone"
