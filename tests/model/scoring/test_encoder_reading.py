"""What an encoder says of lines: means over their tokens, and nothing of lines that it hasn't read."""

import numpy as np
from lamr_model.model_io import ChunkResult
from lamr_model.scoring.fusion import EncoderReading, encoded_logits
from lamr_model.scoring.merging import Outputs
from lamr_model.scoring.scorer import encoder_merger
from lamr_postprocess.layout import line_layout
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


def reading(chunks: dict[tuple[int, int], ChunkResult]) -> EncoderReading:
    """What is read of the text, each of whose characters is a token."""
    layout = line_layout(TEXT)
    offsets = np.stack([np.arange(len(TEXT)), np.arange(len(TEXT)) + 1], axis=1)
    merger = encoder_merger(RUBRICS, len(TEXT))
    for span, answer in chunks.items():
        merger.add(span, answer)
    return EncoderReading.of(merger.merged(), TokenLines(offsets, layout.points, layout.spans))


def test_lines_have_the_means_of_their_tokens_as_far_as_they_were_read() -> None:
    read = reading({(0, 12): result([0.9] * 12, 0.7)})
    assert read.read.tolist() == [True, True, True, False]
    np.testing.assert_allclose(read.logits[0], np.log([9, 1 / 9, 7 / 3, 9]), atol=1e-5)
    assert not read.logits[3].any(), "nobody read it"
    half, whole = reading({(0, 2): result([0.9] * 2)}), reading({(0, 5): result([0.9] * 5)})
    np.testing.assert_allclose(half.logits[0], whole.logits[0], atol=1e-5)
    nothing = reading({})
    assert not nothing.read.any()
    assert not nothing.compared.any()


def test_lines_are_compared_with_the_others_that_were_read() -> None:
    read = reading({(0, 6): result([0.9] * 6), (6, 15): result([0.2] * 9)})
    compared = read.compared
    assert compared[0, 0] > 0 > compared[2, 0]
    assert compared[0, 1] < 0 < compared[2, 1], "the other rubric says the contrary here"
    np.testing.assert_allclose(compared[:3].mean(axis=0), 0, atol=1e-9)
    assert not compared[3].any(), "nobody read it"
