"""Sequences that begin alike are read together, and each token scores as the model's own code scores it alone."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lamr_export.causal_model import CausalModel
from lamr_export.shared_prefixes import LEAST_SHARED, SharedLayout, fill, laid_out, prefix_groups, rows_of
from lamr_export.torch_scorer import TorchScorer

from .test_causal_model import KINDS, made

TOLD = np.random.default_rng(0)
BASE = TOLD.integers(0, 150, 40)
SEQUENCES = [
    *(np.concatenate([BASE, TOLD.integers(0, 150, more)]) for more in (5, 1, 20)),
    BASE.copy(),  # all of it begins others
    BASE.copy(),
    np.concatenate([BASE[:30], TOLD.integers(0, 150, 9)]),
    TOLD.integers(0, 150, 7),
    np.array([3]),
]


def scorer_of(config, most: int) -> TorchScorer:
    scorer = TorchScorer.__new__(TorchScorer)
    scorer.model = CausalModel(made(config))
    scorer.max_tokens, scorer._device, scorer._most = scorer.model.longest, "cpu", most
    return scorer


@pytest.mark.parametrize("most", [20, 4096])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_models_own_code(kind: str, most: int) -> None:
    """Sliding windows (mistral 32, gemma3 16) are narrower than the sequences."""
    plain = made(KINDS[kind][0]())
    expected = []
    with torch.no_grad():
        for ids in map(torch.from_numpy, SEQUENCES):
            scores = plain(ids[None]).logits[0].log_softmax(dim=-1)
            own = scores[:-1].gather(1, ids[1:, None])[:, 0].numpy()
            expected.append(np.concatenate([[0], own]))
    scorer = scorer_of(KINDS[kind][0](), most)
    firsts = [min(len(ids) - 1, 38) for ids in SEQUENCES]
    for all_of_it, asked, own, first in zip(
        scorer.log_probs(SEQUENCES), scorer.log_probs(SEQUENCES, firsts), expected, firsts, strict=True
    ):
        np.testing.assert_allclose(all_of_it, own, atol=1e-4)
        np.testing.assert_allclose(asked[first:], own[first:], atol=1e-4)
        assert not asked[:first].any()


@pytest.mark.parametrize("kind", ["qwen2", "gemma3_text", "bloom"])
def test_layers_in_bfloat16_say_nearly_the_same(kind: str) -> None:
    scorer = scorer_of(KINDS[kind][0](), 4096)
    exact = scorer.log_probs(SEQUENCES)
    scorer.model.round_layers()
    rounded = scorer.log_probs(SEQUENCES)
    for one, other in zip(exact, rounded, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=0.2)
    assert any((one != other).any() for one, other in zip(exact, rounded, strict=True))


def test_a_prefix_is_read_once() -> None:
    found = prefix_groups(SEQUENCES, 4096)
    assert sorted(sorted(group.places) for group in found) == [[0, 1, 2, 3, 4, 5], [6], [7]]
    assert sum(group.tokens for group in found) < sum(map(len, SEQUENCES)) / 2
    assert sum(group.tokens for group in prefix_groups(SEQUENCES, 1)) == sum(map(len, SEQUENCES))


tokens = st.lists(st.integers(0, 2), min_size=1, max_size=60).map(lambda ids: np.array(ids, np.int64))


@given(st.lists(tokens, min_size=1, max_size=8), st.integers(1, 200))
def test_every_token_has_its_row(sequences, most) -> None:
    found = prefix_groups(sequences, most)
    assert sorted(place for group in found for place in group.places) == list(range(len(sequences)))
    assert sum(group.tokens for group in found) <= sum(map(len, sequences))
    for group in found:
        assert len(group.places) == 1 or (group.shared >= LEAST_SHARED and group.tokens <= most)
    for batch in fill(found, most):
        assert len(batch) == 1 or sum(group.tokens for group in batch) <= most
        ids, layout = laid_out(batch, sequences), SharedLayout.of(batch)
        for place, rows in rows_of(batch).items():
            assert ids[rows].tolist() == sequences[place].tolist()
            assert layout.position[rows].tolist() == list(range(len(rows)))
