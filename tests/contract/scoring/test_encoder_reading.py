"""What an encoder says of lines: means over their tokens, and nothing of lines that it hasn't read."""

from __future__ import annotations

import numpy as np
from lamr_contract.layout import line_layout
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring.encoder_reading import ENCODED, READ, encoded_logits, encoder_reading
from lamr_contract.scoring.merging import Outputs
from lamr_contract.scoring.scorer import encoder_merger
from lamr_postprocess.lines import TokenLines

RUBRICS = ("dependency", "semantic")
TEXT = "a = 1\n\nbb = 22\nccc = 333"


def result(keep: list[float], relevance: float = 0.5) -> ChunkResult:
    values = np.array(keep, np.float32)
    rubrics = np.stack([1 - values, values], axis=1)
    return ChunkResult((values > 0.5).astype(np.uint8), values, rubrics, None, relevance)


def test_log_odds_are_those_of_each_output_and_finite_at_certainty() -> None:
    logits = encoded_logits(Outputs.of([result([0.9, 0.2], 0.7)]), RUBRICS)
    p = np.array([[0.9, 0.1, 0.7, 0.9], [0.2, 0.8, 0.7, 0.2]])
    np.testing.assert_allclose(logits, np.log(p / (1 - p)), atol=1e-5)
    assert np.isfinite(encoded_logits(Outputs.of([result([1.0, 0.0], 1.0)]), RUBRICS)).all()


def reading(chunks: dict[tuple[int, int], ChunkResult]) -> np.ndarray:
    """What is read of the text, each of whose characters is a token."""
    layout = line_layout(TEXT)
    offsets = np.stack([np.arange(len(TEXT)), np.arange(len(TEXT)) + 1], axis=1)
    merger = encoder_merger(RUBRICS, len(TEXT))
    for span, answer in chunks.items():
        merger.add(span, answer)
    return encoder_reading(merger.merged(), TokenLines(offsets, layout.points, layout.spans))


def test_lines_have_the_means_of_their_tokens() -> None:
    found = reading({(0, 12): result([0.9] * 12, 0.7)})
    assert found.shape == (4, READ)
    np.testing.assert_array_equal(found[:, -1], [1, 1, 1, 0])
    np.testing.assert_allclose(found[0, :ENCODED], np.log([9, 1 / 9, 7 / 3, 9]) / 4, atol=1e-5)
    assert not found[3].any(), "nobody read it"


def test_half_a_line_says_as_much_as_the_whole() -> None:
    half, whole = reading({(0, 2): result([0.9] * 2)}), reading({(0, 5): result([0.9] * 5)})
    np.testing.assert_allclose(half[0], whole[0], atol=1e-5)


def test_nothing_was_read() -> None:
    assert not reading({}).any()


def test_certainty_is_bounded() -> None:
    assert np.abs(reading({(0, 5): result([1.0] * 5, 1.0)})).max() <= 3
