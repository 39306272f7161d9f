"""The lines of a file that a tool's result shows, freed from what the host puts around and before them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lamr_postprocess.listing import NUMBERED_BLANK, NUMBERS

OUTPUT, EXIT_CODE = "output", "returncode"
"""Keys of `packed_output`."""
_NUMBERED_SHARE, _CONSECUTIVE_SHARE = 0.9, 0.95
_BEFORE = (
    re.compile(
        r"\A(?:(?:Command|Chunk ID|Exit code|Wall time|Process exited|Original token count|Total output lines).*\n)+"
        r"Output:\n"
    ),
    re.compile(r"\A<returncode>.*?</returncode>\s*"),
    re.compile(r"\A<path>[^<\n]{0,4096}</path>\s*<type>[^<\n]{0,99}</type>\s*"),
    re.compile(r"\A<(?:file|content|output)>\n?"),
    re.compile(r"\AHere's the result of running `cat -n` on .*:\n"),
)
_AFTER = re.compile(
    r"(?<!\n)\n*(?:<system-reminder>|</file>|</content>|</output>|<shellId:|\(End of file|\(File has more lines|"
    r"\(Output |\[\d+ more lines in file|\[Showing lines |\(Showing lines ).*\Z",
    re.DOTALL,
)


@dataclass(frozen=True)
class Shown:
    """Lines of a file without their ends, and the number of the first, None where the result gives no numbers."""

    lines: tuple[str, ...]
    first: int | None


def shown_lines(result: str) -> Shown:
    """The lines that a result shows; line numbers before them are taken off."""
    packed = packed_output(result)
    text = result if packed is None else packed[OUTPUT]
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


def packed_output(result: str) -> dict[str, Any] | None:
    """The JSON object that a result is, where it has what a command printed as `OUTPUT`; None for another result.

    Codex writes such objects, and mini-swe-agent's own configuration beside an exit code. Another object with that key
    can be the text of a file.
    """
    first = result.startswith(f'{{"{OUTPUT}"')
    if not first and not (result.startswith("{") and f'"{EXIT_CODE}"' in result):
        return None
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return None
    is_one = isinstance(value.get(OUTPUT), str) and (first or EXIT_CODE in value)
    return value if is_one else None
