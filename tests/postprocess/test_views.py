"""JSON spans, the terminal's heat view and the HTML page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from lamr_postprocess import PrunedCode, prune_lines, render_heat, render_html, render_json

CODE = "def f(a):\n    b = a + 1234567890 + 1234567890 + 1\n    c = 2\n    return b\n\n\n" + (
    "x = '<script>alert(1)</script>\x1b[31m'\n"
)
SCORES = np.array([0.1, 0.9, 0.2, 0.3, 0.0, 0.0, 0.8])


def test_json_spans_cover_the_file() -> None:
    pruned = prune_lines(CODE, SCORES, language="python")
    data = json.loads(render_json(CODE, pruned, SCORES))
    assert "".join(span["text"] for span in data["spans"]) == CODE
    assert [(span["start"], span["end"], span["reason"]) for span in data["spans"]] == [
        (1, 1, "repair:scope"),
        (2, 2, "semantic"),
        (3, 3, "repair:gap"),
        (4, 4, "repair:return"),
        (5, 6, "repair:gap"),
        (7, 7, "semantic"),
    ]
    assert data["spans"][1]["score"] == 0.9
    assert (data["lines"], data["kept"], data["language"]) == (7, 7, "python")


def test_heat_shows_every_line_and_sends_no_escape_of_the_code() -> None:
    pruned = prune_lines(CODE, SCORES, language="python")
    plain = render_heat(CODE, pruned, SCORES, color=False)
    assert "\x1b" not in plain
    assert "␛[31m" in plain
    assert plain.splitlines()[1] == "2 ●  0.900     b = a + 1234567890 + 1234567890 + 1"
    colored = render_heat(CODE, pruned, SCORES)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain
    assert render_heat("", prune_lines("", []), []) == ""
    whole = PrunedCode(CODE, tuple(range(1, 8)), {}, (), "python", "the server didn't answer")
    assert [span["kept"] for span in json.loads(render_json(CODE, whole))["spans"]] == [True]
    assert "\x1b[2m" not in render_heat(CODE, whole, SCORES)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = [""]
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert name not in ("src", "href") or value == "data:,", f"the page loads {value}"
            assert not name.startswith("on")

    def handle_data(self, data: str) -> None:
        if self.tags[-1] == "script":
            self.scripts.append(data)


def test_page_is_self_contained_and_its_slider_exact() -> None:
    page = render_html(CODE, SCORES, path="a<b>.py", query="what & <why>", threshold=0.4)
    reader = Reader()
    reader.feed(page)
    assert reader.tags.count("script") == 2
    assert len(page) < 60_000
    assert "http" not in page.replace("http-equiv", "").replace("lamr http", "")
    data = json.loads(reader.scripts[0])["file"]
    assert (data["code"], data["path"], data["query"]) == (CODE, "a<b>.py", "what & <why>")
    assert data["scores"] == SCORES.tolist()
    assert data["steps"][data["start"]] == 0.4
    for index, step in enumerate(data["steps"]):
        pruned = prune_lines(CODE, SCORES, language="python", answering=step)
        fates = [data["reasons"][fate[index]] for fate in data["fates"]]
        assert fates == [pruned.reasons.get(number, "") for number in range(1, 8)], step


def test_page_refuses_scores_of_another_length_or_that_arent_finite() -> None:
    with pytest.raises(ValueError, match="7 lines"):
        render_html(CODE, [0.0], language="python")
    for score in (np.nan, np.inf, -np.inf):  # of which JSON has none
        with pytest.raises(ValueError, match="must be finite"):
            render_html("x = 1\n", [score], language="python")
    assert '"fates": []' in render_html("", [], language="python")
