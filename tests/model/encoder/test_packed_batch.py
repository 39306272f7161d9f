"""Packed batches: the encoder's inputs, the code tokens' features, and batches within a number of tokens."""

import numpy as np
import pytest
from lamr_model.encoder.packed_batch import code_states, cut_by_tokens, encoder_feed


def test_sequences_lie_end_to_end_and_only_code_tokens_are_decoded() -> None:
    feed = encoder_feed([np.array([7, 8, 9]), np.array([5]), np.array([3, 4])])
    assert feed["input_ids"].tolist() == [7, 8, 9, 5, 3, 4]
    assert feed["cu_seqlens"].tolist() == [0, 3, 4, 6]
    assert {name: (values.dtype.name, values.shape) for name, values in feed.items()} == {
        "input_ids": ("int64", (6,)),
        "cu_seqlens": ("int32", (4,)),
        "max_len": ("float32", (3,)),
    }
    fused = np.arange(12, dtype=np.float32).reshape(6, 2)
    states, bounds = code_states(fused, [4, 2], [(1, 3), (0, 1)])
    assert states.tolist() == [[2, 3], [4, 5], [8, 9]]
    assert bounds.tolist() == [0, 2, 3]


def test_batches_hold_their_tokens_and_lose_nothing() -> None:
    lengths = np.random.default_rng(3).integers(1, 500, 200).tolist()
    batches = cut_by_tokens(lengths, 1000)
    assert sorted(place for batch in batches for place in batch) == list(range(200))
    for batch in batches:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= 1000


@pytest.mark.parametrize(
    ("lengths", "batches"), [([], []), ([50], [[0]]), ([50, 3, 2, 4], [[2, 1], [3], [0]])]
)
def test_like_lengths_go_together_and_a_long_one_alone(lengths: list[int], batches: list[list[int]]) -> None:
    assert cut_by_tokens(lengths, 7) == batches
