"""The lines of a file that a tool's result shows, freed from what the host puts around and before them."""

import json
from itertools import pairwise
from typing import Any

from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_postprocess.listing import NUMBERED_BLANK, NUMBERS

from lamr_agents.sessions.notices import above, is_below

OUTPUT, EXIT_CODE = "output", "returncode"  # keys of `packed_output`
_HEAD, _TAIL, _LEFT_OUT = "output_head", "output_tail", "elided_chars"
"""Keys of an output that mini-swe-agent shortened, in its default configuration."""
_GAP = "\n</output_head>\n<elided_chars>\n{} characters elided\n</elided_chars>\n<output_tail>\n"
"""The same host's notice in its other configurations, which `notices` knows."""
_NUMBERED_SHARE, _CONSECUTIVE_SHARE = 0.9, 0.95
_BEFORE = (
    expression(
        r"\A(?:(?:Command|Chunk ID|Exit code|Wall time|Process exited|Original token count|Total output lines).*\n)+"
        r"Output:\n"
    ),
    expression(r"\A<returncode>.*?</returncode>\s*"),
    expression(r"\A<path>[^<\n]{0,4096}</path>\s*<type>[^<\n]{0,99}</type>\s*"),
    expression(r"\ARead file [^\n]{0,4096}, lines \d+-\d+\n"),
    expression(r"\AHere's the result of running `cat -n` on .*:\n"),
    expression(r"\A<untrusted_context>\nOutput: "),
)
_OPENING = expression(r"<(?P<tag>file|content|output)>\n?")
_CLOSING = expression(r"</(?P<tag>file|content|output)>")
_REMINDER, _REMINDER_ENDS = "<system-reminder>", "</system-reminder>"
_MOST_NOTICES = 50  # below one result
_LONGEST_HEAD = 1 << 16  # characters of what a host puts before a text


@dataclass(frozen=True)
class ShownLines:
    """Lines of a file without their ends, and the number of the first, None where the result gives no numbers."""

    lines: tuple[str, ...]
    first: int | None


def shown_lines(result: str) -> ShownLines:
    """The lines that a result shows; line numbers before them are taken off."""
    packed = packed_output(result)
    lines = framed(result if packed is None else packed[OUTPUT])[1].split("\n")
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
            return ShownLines(tuple(line[match.end() :] for match, line in matches), numbers[0])
    return ShownLines(tuple(lines), None)


def framed(result: str) -> tuple[str, str, str]:
    """A result in three parts that make it up: what the host puts before the file's text, the text, and what after.

    What looks like a host's words counts at the very beginning and end alone. In between it is the file's own."""
    first = 0
    for pattern in _BEFORE:
        found = pattern.match(result[first : first + _LONGEST_HEAD])
        first += found.end() if found else 0
    first = above(result, first)
    opening = _OPENING.match(result, first)
    tag = opening["tag"] if opening else ""
    begin = opening.end() if opening else first
    stop, closed = _above_notices(result, begin, tag)
    if opening and not closed:  # the file's own
        begin = first
        stop, _ = _above_notices(result, begin, "")
    return result[:begin], result[begin:stop], result[stop:]


def _above_notices(result: str, begin: int, tag: str) -> tuple[int, bool]:
    """The end of a file's text above the host's words below it, and whether the open tag, if any, is closed there.

    Below a notice of the host, another tag may be closed, because not every host opens what it closes."""
    stop, closed, pending = len(result), "", 0
    for _ in range(_MOST_NOTICES):
        end = begin + len(result[begin:stop].rstrip())
        line_start = max(begin, result.rfind("\n", begin, end) + 1)
        line = result[line_start:end]
        if found := _CLOSING.fullmatch(line):
            if closed:
                break
            closed, pending, stop = found["tag"], stop, line_start
        elif is_below(line):
            stop, pending = line_start, 0
        elif line.endswith(_REMINDER_ENDS) and (start := _reminder(result, begin, end)) >= 0:
            stop = start
        else:
            break
    if pending and closed != tag:
        stop, closed = pending, ""
    if stop < len(result):
        stop = begin + len(result[begin:stop].rstrip("\n"))
    return stop, bool(tag) and closed == tag


def _reminder(result: str, begin: int, end: int) -> int:
    """The start of the reminder that ends at `end`, if it begins a line; negative otherwise."""
    start = result.rfind(_REMINDER, begin, end)
    return start if start == begin or result[start - 1 : start] == "\n" else -1


def packed_output(result: str) -> dict[str, Any] | None:
    """The JSON object that a result is, where it has what a command printed as `OUTPUT`; None for another result.

    Codex writes such objects, and mini-swe-agent's own configuration beside an exit code, the two ends of a long output
    apart. Another object with that key can be the text of a file."""
    first = result.startswith(f'{{"{OUTPUT}"')
    if not first and not (result.startswith("{") and f'"{EXIT_CODE}"' in result):
        return None
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return None
    if EXIT_CODE in value and all(isinstance(value.get(end), str) for end in (_HEAD, _TAIL)):
        head, tail, left_out = (value.pop(key, 0) for key in (_HEAD, _TAIL, _LEFT_OUT))
        value[OUTPUT] = f"{head}{_GAP.format(left_out)}{tail}"
    is_one = isinstance(value.get(OUTPUT), str) and (first or EXIT_CODE in value)
    return value if is_one else None
