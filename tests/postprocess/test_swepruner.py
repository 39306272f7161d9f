"""SWE-Pruner's text for a selection: what its service's rules give, worked out by hand."""

from __future__ import annotations

import pytest
from lamr_postprocess import prune_lines

LONG = "value = compute_everything()"


def filtered(code: str, kept: str, **options) -> tuple[str, list[int]]:
    """The text and the kept lines of a selection that is drawn as one letter a line, `x` for kept."""
    scores = [float(letter == "x") for letter in kept]
    result = prune_lines(code, scores, threshold=0.5, repair=False, markers="swe-pruner", **options)
    return result.text, list(result.kept_lines)


@pytest.mark.parametrize(
    ("lines", "kept", "text", "numbers"),
    [
        (["a", LONG, LONG, "b"], "x..x", "a\n(filtered 2 lines)\nb", [1, 4]),
        (["a", LONG, "b"], "x.x", f"a\n{LONG}\nb", [1, 2, 3]),  # a single line is kept
        (["a", "c", "", "d", "b"], "x...x", "a\nc\n\nd\nb", [1, 5]),  # a run of few characters is shown
        (["a", "", LONG, "b"], "xx.x", f"a\n\n{LONG}\nb", [1, 2, 3, 4]),
        (
            ["a", "", LONG, LONG, "b"],
            "xx..x",
            "a\n(filtered 3 lines)\nb",
            [1, 2, 5],
        ),  # blank lines are filtered
        (["a", "x" * 18, "", "b"], "x..x", "a\n" + "x" * 18 + "\n\nb", [1, 4]),
        (["a", "x" * 19, "", "b"], "x..x", "a\n(filtered 2 lines)\nb", [1, 4]),
        ([LONG, "a", "c"], ".x.", "(filtered 1 lines)\na\n(filtered 1 lines)", [2]),  # at the end always
        (["a", LONG], "..", "(filtered 2 lines)", []),
        (["a", "", "b"], "xxx", "a\n\nb", [1, 2, 3]),
        (["a", "b", ""], "xxx", "a\nb\n(filtered 1 lines)", [1, 2, 3]),
        ([], "", "", []),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text_follows_the_rules_of_its_service(lines, kept, text, numbers, end):
    assert filtered("".join(line + end for line in lines), kept) == (text, numbers)


def test_a_first_line_can_be_kept_numbers_stand_before_lines_alone_and_a_single_gap_is_a_reason():
    assert filtered(f"a\n{LONG}\n{LONG}\nb\n", "...x", keep=(1,))[1] == [1, 4]
    text, _ = filtered(f"a\n{LONG}\n{LONG}\nb\n", "x..x", line_numbers=True)
    assert text == "1\ta\n(filtered 2 lines)\n4\tb"
    result = prune_lines(f"a\n{LONG}\nb\n", [1, 0, 1], repair=False, markers="swe-pruner")
    assert result.reasons == {1: "semantic", 2: "repair:gap", 3: "semantic"}


def test_text_that_passes_is_untouched():
    code = "a\n\n\nb\n"
    for options in ({"max_tokens": 1000}, {"min_tokens": 1000}):
        assert prune_lines(code, [0, 0, 0, 0], repair=False, markers="swe-pruner", **options).text == code
