"""What a shown text says of its cuts: tests ask for what the markers name, whatever lines the shipped model keeps."""

import re

from lamr_agents.skimmed import names_lines

from tests.agents.samples import LINES

_MARKER = re.compile(r"\.\.\. (\d+)-(\d+) pruned")
LONGEST_READ = 40
"""Lines of a cut that are asked for: what an agent would read of it."""


IN_FULL = 'effort = "full"\n'
"""A user's settings by which all is read however busy the machine is; else there may be no time for it."""
IN_HASTE = "judged in haste (line model; server unavailable)"
"""What is said where a server is away and the line model answers."""


def nothing_is_lost(again: str, *above: str) -> bool:
    """Whether every line of `CODE` stands in a text that was shown again, or in what it names above itself."""
    shown = "\n".join((again, *(above if names_lines(again) else ())))
    return all(line in shown for line in LINES)


def is_cut(shown: str) -> bool:
    """Whether a text has a marker, with or without the numbers of its lines."""
    return re.search(r"\.\.\. \d+(?:-\d+| lines?)? pruned", shown) is not None


def largest_cut(shown: str) -> tuple[int, int]:
    """First and last line of the first lines of the largest cut."""
    cuts = [(int(first), int(last)) for first, last in _MARKER.findall(shown)]
    first, last = max(cuts, key=lambda cut: cut[1] - cut[0])
    return first, min(last, first + LONGEST_READ - 1)


def hidden_line(shown: str) -> str:
    """A line of `CODE` that no other is like and that the largest cut of it hides."""
    first, last = largest_cut(shown)
    return next(line for line in LINES[first - 1 : last] if "value_" in line)
