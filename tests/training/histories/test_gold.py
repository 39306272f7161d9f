"""Gold lines of hunks, and the headers above them."""

from __future__ import annotations

import pytest
from lamr_evaluation.histories import Hunk
from lamr_training.histories.edits import Gold, gold_of
from lamr_training.records.headers import headers_of

CODE = """import os

class Cache:
    def get(self, key):
        if key in self.items:
            return self.items[key]

        return None
"""
BRACES = """namespace N
{
  // where it begins
    int f(int a)
    {
        while (a)
        {
            if (a > 1)
                g();
            a--;
        }
    }
}
"""
LINES = CODE.split("\n")


@pytest.mark.parametrize(
    ("hunks", "gold"),
    [
        ([Hunk(6, ("            return self.items[key]",), ("            return 1",))], Gold((6,), False)),
        ([Hunk(6, (), ("            log(key)",))], Gold((6, 8), True)),
        ([Hunk(6, ("            return self.items[key]",), ("        return  self.items[key]",))], None),
        ([Hunk(6, (), ("        # why",))], None),
        ([Hunk(1, ("import os",), ("import re",))], None),
        ([Hunk(6, (), tuple(f"            step({n})" for n in range(40)))], None),
        (
            [
                Hunk(1, ("import os",), ("import re",)),
                Hunk(8, ("        return None",), ("        raise E",)),
            ],
            Gold((8,), False),
        ),
    ],
)
def test_what_a_commit_changed_or_stands_around_what_it_put_in(hunks: list[Hunk], gold: Gold | None) -> None:
    assert gold_of(hunks, LINES, "python") == gold


def test_lines_of_a_long_import_are_no_answer() -> None:
    lines = ["use a::{", "    b,", "    c,", "};", "", "fn f() {", "    b();", "}"]
    hunks = [Hunk(2, ("    b,",), ("    d,",)), Hunk(7, ("    b();",), ("    d();",))]
    assert gold_of(hunks, lines, "rust") == Gold((7,), False)
    assert gold_of(hunks[:1], lines, "rust") is None


def test_headers_are_the_lines_that_hold_the_gold_ones() -> None:
    assert headers_of((6,), LINES) == (3, 4, 5)
    assert headers_of((3,), LINES) == ()


def test_a_brace_on_its_own_line_leads_to_its_header() -> None:
    lines = BRACES.split("\n")
    assert [lines[n - 1].strip() for n in headers_of((9,), lines)] == [
        "namespace N",
        "int f(int a)",
        "while (a)",
        "if (a > 1)",
    ]
