"""Which characters and lines of a text are encoded data."""

import base64

import numpy as np
import pytest
from lamr_model.scoring.query_document import LEAST_RUN, EncodedData
from lamr_postprocess.layout import line_layout

IMAGE = base64.b64encode(np.random.default_rng(0).bytes(3000)).decode()


def found(text):
    data = EncodedData.of(line_layout(text))
    return [text[a:b] for a, b in data.spans.tolist()], np.flatnonzero(data.lines).tolist()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", ""])
def test_images_are_found_and_their_lines_are_data(end):
    text = f'"plot": 1,\n  "image/png": "{IMAGE}",{end}'
    assert found(text) == ([IMAGE], [1])


def test_an_image_within_a_string_is_one_and_a_line_with_much_else_is_no_line_of_data():
    broken = "\\n".join(IMAGE[start : start + 76] for start in range(0, len(IMAGE), 76))
    assert found(f'é = "{broken}"\n') == ([broken], [0])
    text = f"{'f(x) + g(y); ' * 400}url({IMAGE})\nb\n"
    assert found(text) == ([IMAGE], [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "x" * (LEAST_RUN - 1),
        "word " * 1000,
        "-" * 1000,
        "\n".join([IMAGE[:76]] * 50),
        "é" * 1000,
        "\U0001f600" * 1000,
    ],
)
def test_other_text_is_not(text):
    assert found(text) == ([], [])


def test_tokens_outside_are_those_that_begin_outside():
    data = EncodedData.of(line_layout("ab " + "x" * LEAST_RUN + "!"))
    stop = 3 + LEAST_RUN
    offsets = np.array([[0, 2], [2, 4], [3, 9], [stop - 1, stop], [stop, stop + 1], [stop + 1, stop + 1]])
    assert data.outside(offsets).tolist() == [True, True, False, False, True, True]
