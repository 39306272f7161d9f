"""What is kept of parts that were read: by content, within its bytes, the least used out first."""

from __future__ import annotations

import numpy as np
from lamr_contract.kept_states import KeptStates


def states(number: int) -> np.ndarray:
    """32 bytes that are told by their number."""
    return np.full((4, 4), number, np.float16)


def test_parts_are_told_apart_by_their_tokens() -> None:
    keys = {KeptStates.key(np.array(part, np.int64)) for part in ([1, 2], [2, 1], [1, 2, 0], [1, 2])}
    assert len(keys) == 3


def test_what_was_used_least_lately_goes_first() -> None:
    kept = KeptStates(64)
    kept.put(b"a", states(1))
    kept.put(b"b", states(2))
    assert kept.get(b"a") is not None
    kept.put(b"c", states(3))
    assert [key in kept for key in (b"a", b"b", b"c")] == [True, False, True]
    np.testing.assert_array_equal(kept.get(b"c"), states(3))
    assert kept.get(b"b") is None


def test_what_is_larger_than_all_of_it_pushes_nothing_out() -> None:
    kept = KeptStates(40)
    kept.put(b"a", states(1))
    kept.put(b"b", np.zeros((4, 8), np.float16))
    assert b"a" in kept
    assert b"b" not in kept


def test_no_bytes_keep_nothing() -> None:
    kept = KeptStates(0)
    kept.put(b"a", states(1))
    assert kept.get(b"a") is None
