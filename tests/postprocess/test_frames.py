"""Texts without a grammar: a kept line keeps the lines that it is indented under, and blocks keep both their ends."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from lamr_postprocess import PrunedCode, cut_texts, line_spans, prune_lines, restore
from lamr_postprocess.languages.registry import LANGUAGES


def kept(text: str, language: str, *rows: int) -> PrunedCode:
    """Keep some lines, by 1-based number."""
    scores = np.zeros(len(line_spans(text)))
    scores[[row - 1 for row in rows]] = 1
    pruned = prune_lines(text, scores, language=language, min_cut=0)
    assert restore(pruned, cut_texts(text, pruned)) == text
    return pruned


SETTINGS = """services:
  cache:
    image: redis
    restart: no
  payments:
    image: pay
    ports:
    - 80:80
    - 81:81
    deploy:
      attempts: 3

volumes: {}
"""


def test_a_setting_keeps_the_keys_above_it() -> None:
    pruned = kept(SETTINGS, "yaml", 11)
    assert pruned.kept_lines == (1, 5, 10, 11)
    assert yaml.safe_load(pruned.text) == {"services": {"payments": {"deploy": {"attempts": 3}}}}
    pruned = kept(SETTINGS, "yaml", 9)
    assert pruned.kept_lines == (1, 5, 7, 9)
    assert yaml.safe_load(pruned.text) == {"services": {"payments": {"ports": ["81:81"]}}}


CLASS = """package a

class Repository
{
    fun other(): Int {
        return 1
    }

    fun retry(): Int {
        if (late) {
            wait()
        } else {
            load()
        }
        return 2
    }
}
"""


def test_a_block_keeps_both_its_ends_and_what_it_is_in() -> None:
    pruned = kept(CLASS, "groovy", 13)
    assert pruned.kept_lines == (1, 2, 3, 4, 9, 10, 12, 13, 14, 16, 17)
    assert pruned.text.count("{") == pruned.text.count("}")


@pytest.mark.parametrize(
    ("language", "text", "row", "rows"),
    [
        (
            "shell",
            "a() {\n  x\n}\nb() {\n  for i in 1 2\n  do\n    y\n    z\n  done\n}\n",
            7,
            (4, 5, 6, 7, 9, 10),
        ),
        ("lua", "function a()\n  x()\nend\nfunction b()\n  y()\n  z()\nend\n", 5, (4, 5, 7)),
        ("sql", "CREATE TABLE a (\n  id INT,\n  name TEXT\n);\nSELECT 1;\n", 3, (1, 2, 3, 4)),
        ("json", '[\n  {\n    "a": 1\n  },\n  {\n    "b": 2\n  }\n]\n', 6, (1, 5, 6, 7, 8)),
        ("xml", "<a>\n  <b>\n    <c/>\n  </b>\n  <b>\n    <d/>\n  </b>\n</a>\n", 6, (1, 5, 6, 7, 8)),
        ("lisp", "(defun a ()\n  (x))\n(defun b ()\n  (y)\n  (z))\n", 4, (3, 4, 5)),
        (
            "html",
            "<style>\n  a {}\n</style>\n<script>\nfunction a() {\n  x()\n}\nfunction b() {\n  y()\n}\n</script>\n",
            9,
            (4, 8, 9, 10, 11),
        ),
    ],
)
def test_what_a_line_is_nothing_without(language: str, text: str, row: int, rows: tuple[int, ...]) -> None:
    assert kept(text, language, row).kept_lines == rows


@pytest.mark.parametrize("language", [each.name for each in LANGUAGES if each.frames is not None])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "}\n" * 9,
        "\t x\n }\n" * 9,
        "    a\n  b\nc\n",
        "</x>\n" * 9,
        "\n\n   \n",
        "- a\n- - b\n  - c\n",
        "}",
    ],
)
def test_hostile_indentation_loses_nothing(language: str, text: str) -> None:
    for row in range(1, len(line_spans(text)) + 1):
        kept(text, language, row)


def test_many_closing_tags_that_nothing_opens_end_in_time() -> None:
    pruned = kept("<a/>\n" * 60_000 + "</b>\n" * 20_000, "astro", 70_000)  # their square would take minutes
    assert pruned.kept_lines == (70_000,)
