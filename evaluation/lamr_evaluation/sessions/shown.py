"""The lines of a file that a tool's result shows, freed from what the host puts around and before them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise

from lamr_postprocess.listing import NUMBERED_BLANK, NUMBERS

_NUMBERED_SHARE, _CONSECUTIVE_SHARE = 0.9, 0.95
_BEFORE = (
    re.compile(
        r"\A(?:(?:Command|Chunk ID|Exit code|Wall time|Process exited|Original token count|Total output lines).*\n)+"
        r"Output:\n"
    ),
    re.compile(r"\A<returncode>.*?</returncode>\s*"),
    re.compile(r"\A<path>.*?</path>\s*<type>.*?</type>\s*"),
    re.compile(r"\A<(?:file|content|output)>\n?"),
    re.compile(r"\AHere's the result of running `cat -n` on .*:\n"),
)
_AFTER = re.compile(
    r"\n*(?:<system-reminder>|</file>|</content>|</output>|<shellId:|\(End of file|\(File has more lines|\(Output |"
    r"\[\d+ more lines in file|\[Showing lines |\(Showing lines ).*\Z",
    re.DOTALL,
)


@dataclass(frozen=True)
class Shown:
    """Lines of a file without their ends, and the number of the first, None where the result gives no numbers."""

    lines: tuple[str, ...]
    first: int | None


def shown_lines(result: str) -> Shown:
    """The lines that a result shows; line numbers before them are taken off."""
    text = _unpacked(result)
    for pattern in _BEFORE:
        text = pattern.sub("", text)
    lines = _AFTER.sub("", text).split("\n")
    if not lines[-1].strip():
        lines.pop()
    for prefix in NUMBERS:
        found = [(prefix.match(line) or NUMBERED_BLANK.match(line), line) for line in lines]
        matches = [(match, line) for match, line in found if match]
        if len(matches) < 3 or len(matches) < _NUMBERED_SHARE * len(lines):
            continue
        numbers = [int(match[1]) for match, _ in matches]
        steps = sum(after == before + 1 for before, after in pairwise(numbers))
        if steps >= _CONSECUTIVE_SHARE * (len(numbers) - 1):
            return Shown(tuple(line[match.end() :] for match, line in matches), numbers[0])
    return Shown(tuple(lines), None)


def framed(result: str) -> tuple[str, str, str]:
    """A result in three parts that make it up: what the host puts before the file's text, the text, and what after."""
    first = 0
    for pattern in _BEFORE:
        found = pattern.match(result[first:])
        first += found.end() if found else 0
    after = _AFTER.search(result, first)
    stop = after.start() if after else len(result)
    return result[:first], result[first:stop], result[stop:]


def _unpacked(result: str) -> str:
    """The output of a result that is a JSON object with one; else the result."""
    if not result.startswith('{"output"'):
        return result
    try:
        output = json.loads(result)["output"]
    except (ValueError, KeyError):
        return result
    return output if isinstance(output, str) else result
