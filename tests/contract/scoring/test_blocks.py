"""Blocks are functions and paragraphs; scores move towards them and blank lines stay between their neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_contract.layout import line_layout
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring.blocks import block_means, with_blocks
from lamr_contract.scoring.rules import Scoring
from lamr_contract.scoring.scorer import DocumentScorer, QueriedDocument

CODE = "import a\n\nclass B:\n    x = 1\n\n    def c(self):\n        y = 2\n\n        return y\n\ndef d(): pass\n"


def test_a_method_is_a_block_and_an_empty_line_inside_doesnt_end_it() -> None:
    layout = line_layout(CODE)
    assert layout.blocks.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3]
    assert layout.block_starts.tolist() == [0, 2, 5, 10]
    assert line_layout("").block_starts.shape == (0,)


def test_means_are_over_lines_with_ink() -> None:
    values = np.arange(11, dtype=np.float64)
    means = block_means(values, line_layout(CODE))
    assert means[5] == pytest.approx((5 + 6 + 8) / 3)
    assert means[0] == means[1] == 0


def test_share_one_gives_all_lines_of_a_block_one_score() -> None:
    scores = np.linspace(0.1, 0.9, 11)
    layout = line_layout(CODE)
    level = with_blocks(scores, layout, 1.0)
    assert level[5] == level[6] == level[7] == level[8]
    assert np.allclose(with_blocks(scores, layout, 0.0)[~layout.blank], scores[~layout.blank])


@given(st.text("ab \n", max_size=60), st.floats(0, 1), st.integers(0, 9))
def test_blank_lines_take_the_smaller_neighbour(text: str, share: float, seed: int) -> None:
    layout = line_layout(text)
    scores = np.random.default_rng(seed).random(len(layout.spans))
    moved = with_blocks(scores, layout, share)
    assert moved.shape == scores.shape
    assert ((moved >= 0) & (moved <= 1)).all()
    inked = np.flatnonzero(~layout.blank)
    for line in np.flatnonzero(layout.blank):
        around = [moved[inked[inked < line][-1:]], moved[inked[inked > line][:1]]]
        if len(inked):
            assert moved[line] == min(np.concatenate(around))


def test_a_scoring_with_blocks_moves_lines() -> None:
    offsets = np.array([(n, n + 1) for n, c in enumerate(CODE) if not c.isspace()])
    tokens = np.random.default_rng(0).random(len(offsets))
    result = ChunkResult((tokens > 0.5).astype(np.uint8), tokens.astype(np.float32), None, None, 0.5)

    def line_scores(weights: dict[str, float]) -> np.ndarray:
        scorer = DocumentScorer(Scoring("calibrated", weights), (), QueriedDocument("?", CODE, offsets))
        scorer.add((0, len(offsets)), result)
        return scorer.finish().scores

    plain = line_scores({"keep_prob": 1.0})
    moved = line_scores({"keep_prob": 1.0, "block": 0.5})
    assert np.ptp(moved[[5, 6, 8]]) < np.ptp(plain[[5, 6, 8]])
    with pytest.raises(ValueError, match="from 0 to 1"):
        Scoring("calibrated", {"block": 1.5})
