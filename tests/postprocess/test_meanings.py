"""What gives a kept line its meaning stays with it, in each language's own ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lamr_postprocess import line_spans, prune_lines

# After a title with the language, the lines of a file. One that ends in `<` is kept alone; those that come with it end
# in `+`, and those that don't in `-`.
TEXT = Path(__file__).with_name("meanings.txt").read_text(encoding="utf-8")
CASES = {
    name: (language, code)
    for name, language, code in re.findall(r"== (.+) \| (.+)\n((?:(?!== ).*\n)*)", TEXT)
}
MARK = re.compile(" [<+-]$")


@pytest.mark.parametrize("name", CASES)
def test_what_a_line_means_stays_with_it(name: str) -> None:
    language, marked = CASES[name]
    rows = marked.splitlines()
    code = "".join(f"{MARK.sub('', row)}\n" for row in rows)
    scores = [float(row.endswith(" <")) for row in rows]
    assert len(line_spans(code)) == len(rows)
    pruned = prune_lines(code, scores, language=language, min_cut=0)
    assert pruned.note is None
    kept = set(pruned.kept_lines)
    wanted = {number for number, row in enumerate(rows, 1) if row.endswith((" <", " +"))}
    unwanted = {number for number, row in enumerate(rows, 1) if row.endswith(" -")}
    assert wanted <= kept, pruned.text
    assert not unwanted & kept, pruned.text
