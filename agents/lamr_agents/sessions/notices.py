"""What hosts say of an output that they shortened, and where: above the text, between its two ends, or below it.

One table for all hosts; a row is an expression, with groups for what it says of the lines that are shown. The text
around notices is a file's, so that one of them counts only in its place: at the very beginning, at the very end, or
once or twice in between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Where = Literal["above", "between", "below"]

NOTE = "[lamr:"
"""How each notice of lamr's own begins; the hook's process, which imports nothing, has it as `thin.NOTE`."""
MOST_BETWEEN = 2
"""Notices between the ends of one output; a text with more of them is about notices."""


@dataclass(frozen=True)
class Notice:
    """One host's words; several hosts can share some.

    Above, they begin the text; below, they begin a line and go to the text's end, another notice left out; between,
    they stand anywhere. Groups of the pattern: `first` is the number of the first line that is shown, `total` how many
    lines the whole output has; an empty `tail` says that its end is shown.
    """

    host: str
    where: Where
    pattern: re.Pattern[str]


def _row(host: str, where: Where, pattern: str) -> Notice:
    return Notice(host, where, re.compile(pattern))


NOTICES: Sequence[Notice] = (
    _row(
        "claude-code",
        "above",
        r"<system-reminder>\n?\[Truncated: PARTIAL view(?: \u2014 (?:[^\n]{1,4096}?: )?showing lines "
        r"(?P<first>\d+)-\d+ of (?P<total>\d+))?"
        r"[^\n]{0,5000}?\]\n?</system-reminder>\n*",
    ),
    _row(
        "claude-code",
        "above",
        r"<persisted-output>\nOutput too large \([^\n]{1,40}\)\. Full output saved to: [^\n]{1,4096}\n\n"
        r"Preview \([^\n]{1,40}\):\n",
    ),
    _row("claude-code", "between", r"\n\n\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\.\n\n"),
    _row("claude-code", "below", r"\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\."),
    _row("claude-code", "below", r"</persisted-output>"),
    _row(
        "codex",
        "above",
        r"(?:Warning: truncated output \(original token count: \d+\)\n)?Total output lines: (?P<total>\d+)\n\n",
    ),
    _row(
        "codex",
        "between",
        r"\n\[\.\.\. (?:omitted \d+ of (?P<total>\d+) lines|output truncated to fit \d+ bytes) \.\.\.\]\n\n?",
    ),
    _row("codex", "between", "\u2026\\d+ (?:tokens|chars) truncated\u2026"),
    _row(
        "copilot-cli",
        "above",
        r"Output too large to read at once \([^\n]{1,40}\)\. Saved to: [^\n]{1,4096}\n"
        r"Consider using tools [^\n]{1,400}\n\nPreview \([^\n]{1,40}\):\n",
    ),
    _row(
        "gemini-cli",
        "above",
        r"\s*IMPORTANT: The file content has been truncated\.\nStatus: Showing lines (?P<first>\d+)-\d+ of "
        r"(?P<total>\d+) total lines\.\nAction: [^\n]{1,600}\n\n--- FILE CONTENT \(truncated\) ---\n",
    ),
    _row(
        "gemini-cli",
        "above",
        r"(?:Output: )?Output too large\. Showing first [^\n]{1,40} and last [^\n]{1,40} characters\. For full output "
        r"see: [^\n]{1,4096}\n",
    ),
    _row("gemini-cli", "between", r"\n\n\.\.\. \[[\d.,'\s]{1,20} characters omitted\] \.\.\.\n\n"),
    _row("mini-swe-agent", "above", r"<warning>\n[^<]{1,2000}</warning>\s*<output_head>\n"),
    _row(
        "mini-swe-agent",
        "between",
        r"\n</output_head>\n<elided_chars>\n\d+ characters elided\n</elided_chars>\n<output_tail>\n",
    ),
    _row("mini-swe-agent", "below", r"</output_tail>"),
    _row(
        "opencode",
        "above",
        r"(?P<tail>)\.\.\.\d+ (?:lines|bytes) truncated\.\.\.\n\nThe tool call succeeded [^\n]{1,4400}\n",
    ),
    _row(
        "opencode",
        "above",
        r"(?P<tail>)\.\.\.output truncated\.\.\.\n\nFull output saved to: [^\n]{1,4096}\n\n",
    ),
    _row("opencode", "below", r"\.\.\.\d+ (?:lines|bytes) truncated\.\.\."),
    _row("opencode", "below", r"The tool call succeeded but the output was truncated\."),
    _row("opencode", "below", r"Use (?:the Task tool|Grep) to "),
    _row("opencode", "below", r"\((?:End of file|File has more lines|Output |Showing lines )"),
    _row("opencode", "below", r"\[Output truncated\. Continue reading with offset: "),
    _row("openhands", "between", r"<response clipped><NOTE>[^<]{1,600}</NOTE>"),
    _row("openhands", "between", r"\n?\[\.\.\. Observation truncated due to length \.\.\.\]\n?"),
    _row("pi", "below", r"\[Showing lines (?P<first>\d+)-\d+ of (?P<total>\d+)"),
    _row("pi", "below", r"\[(?:Showing last |Output truncated\. |\d+ more lines in file)"),
    _row("copilot-cli", "below", r"<shellId:"),
    _row("gemini-cli", "below", r"</untrusted_context>$"),
    _row("gemini-cli", "below", r"(?:Process Group PGID|Exit Code): \d+$|Background PIDs: [\d, ]+$"),
)
"""Hosts' words, from their sources and from recorded sessions (November 2026)."""
_ABOVE = tuple(notice.pattern for notice in NOTICES if notice.where == "above")
_BELOW = tuple(notice.pattern for notice in NOTICES if notice.where == "below")
_BETWEEN = tuple(notice.pattern for notice in NOTICES if notice.where == "between")


@dataclass(frozen=True)
class TruncationInfo:
    """What notices say: the number of the first line that is shown, and how many the whole has, None where unsaid; and
    whether its end alone is shown.
    """

    first: int | None = None
    total: int | None = None
    tail: bool = False


NOTHING_STATED = TruncationInfo()


@dataclass(frozen=True)
class Gap:
    """Where a host left something out: the first and one-past-last character of its notice, with the line before and
    the one after it, which may be parts of lines.
    """

    start: int
    stop: int


def above(text: str, begin: int) -> int:
    """Where the notice ends that begins a text there; `begin` where none does."""
    found = (pattern.match(text, begin) for pattern in _ABOVE)
    return max((match.end() for match in found if match), default=begin)


def is_below(line: str) -> bool:
    """Whether a line is one of those that hosts put below a text."""
    return any(pattern.match(line) for pattern in _BELOW)


def gaps(text: str) -> list[Gap]:
    """The places of a text where a host left out what stood between, in their order."""
    found = sorted(match.span() for pattern in _BETWEEN for match in pattern.finditer(text))
    if not 0 < len(found) <= MOST_BETWEEN:
        return []
    places: list[Gap] = []
    for start, stop in found:
        begin, after = text.rfind("\n", 0, start) + 1, text.find("\n", stop)
        if places and begin < places[-1].stop:  # both in one line
            begin = places.pop().start
        places.append(Gap(begin, len(text) if after < 0 else after + 1))
    return places


def stated(*parts: str) -> TruncationInfo:
    """What the notices in some parts of an output say; the first part is what stands above the text, if any does."""
    first = total = None
    tail = False
    for place, part in enumerate(parts):
        for notice in NOTICES:
            found = notice.pattern.search(part) if notice.pattern.groups else None
            if found:
                said = found.groupdict()
                first = first or int(said.get("first") or 0) or None
                total = total or int(said.get("total") or 0) or None
                tail = tail or (place == 0 and said.get("tail") is not None)
    return TruncationInfo(first, total, tail)
