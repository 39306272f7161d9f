"""Lines of a file as an answer shows them, under their numbers, and the bounds of an answer."""

from __future__ import annotations

from lamr_postprocess import split_lines

from lamr_agents.thin import NOTE
from lamr_agents.words import MORE_LINES

MOST_CHARACTERS = 60_000
"""Of one answer: hosts take 25,000 tokens, and a token of code has hardly ever fewer than 2.4 characters."""
LONGEST_PRUNED = MOST_CHARACTERS - 500
"""Characters of a text that was pruned, beside what is said below it."""
MOST_OF_A_LINE = 2_000
"""Characters of a line that is shown as it is in the file."""


def bounded(answer: str) -> str:
    """The beginning of an answer that is longer than hosts take, in whole lines, with a line that says so."""
    if len(answer) <= MOST_CHARACTERS:
        return answer
    end = answer.rfind("\n", 0, MOST_CHARACTERS) + 1 or MOST_CHARACTERS
    break_ = "" if answer[end - 1] == "\n" else "\n"
    return (
        f"{answer[:end]}{break_}{NOTE} these are {end:,} of the answer's {len(answer):,} characters; ask for less: "
        "expand shows a range of lines, search the lines that match]\n"
    )


def ranged(code: str, first: int, last: int, wanted: int | None = None) -> str:
    """Numbered lines, and a line that says so where there are more of those that were wanted (None: of all)."""
    lines = split_lines(code)
    missing = min(len(lines) if wanted is None else wanted, len(lines)) > last
    more = MORE_LINES.format(lines=last - first + 1) if missing else ""
    return numbered("".join(lines[first - 1 : last]), first) + more


def numbered(text: str, first: int) -> str:
    return "".join(f"{number}\t{_shortened(line)}" for number, line in enumerate(split_lines(text), first))


def _shortened(line: str) -> str:
    """A line as it is, or the beginning of a very long one."""
    if len(line) <= MOST_OF_A_LINE:
        return line
    end = "\n" if line.endswith("\n") else ""
    return f"{line[:MOST_OF_A_LINE]} {NOTE} {MOST_OF_A_LINE:,} of the line's {len(line):,} characters]{end}"
