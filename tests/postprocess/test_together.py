"""Formats without a grammar: what gives a kept line its meaning comes along, kind by kind and format by format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lamr_postprocess import prune_lines

ROWS = (Path(__file__).parent / "together.txt").read_text(encoding="utf-8").splitlines()[1:]
MARK = re.compile(" [<+-]$")


@pytest.mark.parametrize("row", ROWS)
def test_what_belongs_together_comes_together(row: str) -> None:
    _, path, text = row.split("\t")
    marked = text.encode().decode("unicode_escape").split("\n")
    scores = [float(each.endswith(" <")) for each in marked]
    code = "".join(f"{MARK.sub('', each)}\n" for each in marked)
    assert sum(scores) == 1
    pruned = prune_lines(code, scores, path=path, threshold=0.5, min_cut=0)
    kept = [marked[number - 1] for number in pruned.kept_lines]
    missing = [each for each in marked if each.endswith(" +") and each not in kept]
    unwanted = [each for each in kept if each.endswith(" -")]
    assert not missing, pruned.text
    assert not unwanted, pruned.text
