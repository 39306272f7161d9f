"""Text that hosts add: notices of shortened outputs, and words around a user's own message.

Two tables for all hosts; a row is a host's words by where they stand. The text around them is a file's or a user's, so
that a notice counts only at the very beginning, at the very end, or once or twice in between."""

import re
from collections.abc import Sequence
from typing import Literal

from lamr_base.records import dataclass

Place = Literal["above", "between", "below"]
MOST_BETWEEN = 2  # notices between the ends of one output; a text with more of them is about notices


@dataclass(frozen=True)
class Notice:
    """One host's words; several hosts can share some.

    Above, they begin the text; below, they begin a line and go to the text's end, another notice left out; between,
    they stand anywhere. Groups of the pattern: `first` is the number of the first line that is shown, `total` how many
    lines the whole output has; an empty `tail` says that its end is shown."""

    host: str
    where: Place
    pattern: re.Pattern[str]


def _above(host: str, pattern: str) -> Notice:
    return Notice(host, "above", re.compile(pattern))


def _between(host: str, pattern: str) -> Notice:
    return Notice(host, "between", re.compile(pattern))


def _below(host: str, pattern: str) -> Notice:
    return Notice(host, "below", re.compile(pattern))


NOTICES: Sequence[Notice] = (
    _above(
        "claude-code",
        r"<system-reminder>\n?\[Truncated: PARTIAL view(?: \u2014 (?:[^\n]{1,4096}?: )?showing lines "
        r"(?P<first>\d+)-\d+ of (?P<total>\d+))?"
        r"[^\n]{0,5000}?\]\n?</system-reminder>\n*",
    ),
    _above(
        "claude-code",
        r"<persisted-output>\nOutput too large \([^\n]{1,40}\)\. Full output saved to: [^\n]{1,4096}\n\n"
        r"Preview \([^\n]{1,40}\):\n",
    ),
    _between("claude-code", r"\n\n\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\.\n\n"),
    _below("claude-code", r"\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\."),
    _below("claude-code", r"</persisted-output>"),
    _above(
        "codex",
        r"(?:Warning: truncated output \(original token count: \d+\)\n)?Total output lines: (?P<total>\d+)\n\n",
    ),
    _between(
        "codex",
        r"\n\[\.\.\. (?:omitted \d+ of (?P<total>\d+) lines|output truncated to fit \d+ bytes) \.\.\.\]\n\n?",
    ),
    _between("codex", "\u2026\\d+ (?:tokens|chars) truncated\u2026"),
    _above(
        "copilot-cli",
        r"Output too large to read at once \([^\n]{1,40}\)\. Saved to: [^\n]{1,4096}\n"
        r"Consider using tools [^\n]{1,400}\n\nPreview \([^\n]{1,40}\):\n",
    ),
    _above(
        "gemini-cli",
        r"\s*IMPORTANT: The file content has been truncated\.\nStatus: Showing lines (?P<first>\d+)-\d+ of "
        r"(?P<total>\d+) total lines\.\nAction: [^\n]{1,600}\n\n--- FILE CONTENT \(truncated\) ---\n",
    ),
    _above(
        "gemini-cli",
        r"(?:Output: )?Output too large\. Showing first [^\n]{1,40} and last [^\n]{1,40} characters\. For full output "
        r"see: [^\n]{1,4096}\n",
    ),
    _between("gemini-cli", r"\n\n\.\.\. \[[\d.,'\s]{1,20} characters omitted\] \.\.\.\n\n"),
    _above("mini-swe-agent", r"<warning>\n[^<]{1,2000}</warning>\s*<output_head>\n"),
    _between(
        "mini-swe-agent",
        r"\n</output_head>\n<elided_chars>\n\d+ characters elided\n</elided_chars>\n<output_tail>\n",
    ),
    _below("mini-swe-agent", r"</output_tail>"),
    _above(
        "opencode",
        r"(?P<tail>)\.\.\.\d+ (?:lines|bytes) truncated\.\.\.\n\nThe tool call succeeded [^\n]{1,4400}\n",
    ),
    _above("opencode", r"(?P<tail>)\.\.\.output truncated\.\.\.\n\nFull output saved to: [^\n]{1,4096}\n\n"),
    _below("opencode", r"\.\.\.\d+ (?:lines|bytes) truncated\.\.\."),
    _below("opencode", r"The tool call succeeded but the output was truncated\."),
    _below("opencode", r"Use (?:the Task tool|Grep) to "),
    _below("opencode", r"\((?:End of file|File has more lines|Output |Showing lines )"),
    _below("opencode", r"\[Output truncated\. Continue reading with offset: "),
    _between("openhands", r"<response clipped><NOTE>[^<]{1,600}</NOTE>"),
    _between("openhands", r"\n?\[\.\.\. Observation truncated due to length \.\.\.\]\n?"),
    _below("pi", r"\[Showing lines (?P<first>\d+)-\d+ of (?P<total>\d+)"),
    _below("pi", r"\[(?:Showing last |Output truncated\. |\d+ more lines in file)"),
    _below("copilot-cli", r"<shellId:"),
    _below("gemini-cli", r"</untrusted_context>$"),
    _below("gemini-cli", r"(?:Process Group PGID|Exit Code): \d+$|Background PIDs: [\d, ]+$"),
)
"""Hosts' words, from their sources and from recorded sessions (November 2026)."""
_PATTERNS_ABOVE, _PATTERNS_BETWEEN, _PATTERNS_BELOW = (
    tuple(notice.pattern for notice in NOTICES if notice.where == where)
    for where in ("above", "between", "below")
)


@dataclass(frozen=True)
class TruncationInfo:
    """Facts from notices: the number of the first line shown, and how many the whole has, None if unstated; and
    whether its end alone is shown."""

    first: int | None = None
    total: int | None = None
    tail: bool = False


NOTHING_STATED = TruncationInfo()


@dataclass(frozen=True)
class Gap:
    """A place where a host left lines out: first and one-past-last character of its notice, with the line before and
    the one after it, which may be parts of lines."""

    start: int
    stop: int


def above(text: str, begin: int) -> int:
    """The end of the notice at `begin`; `begin` if there is none."""
    found = (pattern.match(text, begin) for pattern in _PATTERNS_ABOVE)
    return max((match.end() for match in found if match), default=begin)


def is_below(line: str) -> bool:
    return any(pattern.match(line) for pattern in _PATTERNS_BELOW)


def gaps(text: str) -> list[Gap]:
    """The places of a text where a host left out what stood between, in their order."""
    found = sorted(match.span() for pattern in _PATTERNS_BETWEEN for match in pattern.finditer(text))
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
    """Facts from the notices in parts of an output; the first part stands above the text."""
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


@dataclass(frozen=True)
class Inserted:
    """One host's words; several hosts can share some.

    They stand `around` what the user wrote, between the row's begin and end; `among` it, with what stands between; or
    `instead` of it, so that nothing of the message is the user's. Around and instead, the message begins with them."""

    host: str
    where: Literal["around", "among", "instead"]
    begin: re.Pattern[str]
    end: str = ""  # around, empty stands for the end of the message


def _around(host: str, begin: str, end: str = "") -> Inserted:
    return Inserted(host, "around", re.compile(begin, re.DOTALL), end)


def _among(host: str, *elements: str) -> tuple[Inserted, ...]:
    return tuple(Inserted(host, "among", re.compile(f"<{name}>"), f"</{name}>") for name in elements)


def _instead(host: str, *begin: str) -> Inserted:
    return Inserted(host, "instead", re.compile("|".join(begin)))


INSERTED: Sequence[Inserted] = (
    _around(
        "mini-swe-agent",
        r"Please solve this issue: ",
        "\n\nYou can execute bash commands and edit files to implement the necessary changes.",
    ),
    _around(
        "mini-swe-agent",
        r"<pr_description>\s*Consider the following PR (?:pr_)?description:",
        "</pr_description>",
    ),
    _around(
        "swe-agent",
        r"<uploaded_files>[^<]{0,4096}</uploaded_files>\s*I've uploaded an? [^\n]{0,4096} Consider the following PR "
        r"description:\s*<pr_description>",
        "</pr_description>",
    ),
    _around(
        "swe-agent",
        r"<uploaded_files>[^<]{0,4096}</uploaded_files>\s*<pr_description>\s*I've uploaded an? [^\n]{0,4096}\n\s*"
        r"Consider the following PR description:",
        "</pr_description>",
    ),
    *(
        _around(
            "swe-agent",
            r"We're currently (?:solving the following issue within our repository\. Here's the issue text|"
            r"attempting to solve the following problem):\s*ISSUE:",
            end,
        )
        for end in ("\nINSTRUCTIONS:\n", "\n(Open file: ")
    ),
    _around(
        "openhands",
        r"(?:<uploaded_files>[^<]{0,4096}</uploaded_files>\s*)?I(?: have access to|'ve uploaded) an? [^\n]{0,4096} "
        r"Consider the following issue description:\s*<issue_description>",
        "</issue_description>",
    ),
    _around(
        "openhands",
        r"Here is the description of the software issue that must be resolved:\s*<issue_description>",
        "</issue_description>",
    ),
    _around(
        "openhands",
        r"You will be tasked to fix an issue from an open-source repository\..*?\n## Issue Description\n",
        "\n# Workflow\n",
    ),
    _around(
        "codex", r"# (?:Context from my IDE setup|Files mentioned by the user):.*?\n## My request for Codex:"
    ),
    _around("cline", r"<user_input\b[^<>]{0,99}>", "</user_input>"),
    _around("cursor", r"(?:<timestamp>[^<]{0,99}</timestamp>\s*)?<user_query>", "</user_query>"),
    *_among("claude-code", "system-reminder", "ide_opened_file", "ide_selection"),
    *_among("cursor", "system_reminder", "attached_files"),
    *_among("codex", "environment_context"),
    *_among("copilot-cli", "current_datetime"),
    *_among("gemini-cli", "hook_context"),
    *_among("cline", "environment_details"),
    _instead(
        "claude-code",
        r"<(?:command-|local-command|bash-(?:input|stdout)|task-notification|skill)",
        r"Caveat: |\[Request interrupted|Stop hook|Operation stopped by hook",
        r"This session is being continued|Base directory for this skill",
    ),
    _instead(
        "codex",
        r"<(?:environment_context|user_instructions|INSTRUCTIONS|permissions|turn_aborted|subagent_notification|"
        r"user_shell_command|collaboration_mode)",
        r"# AGENTS\.md",
    ),
    _instead("gemini-cli", r"<session_context>", r"This is the Gemini CLI\. We are setting up the context"),
    _instead("pi", r"The conversation history before this point was compacted into the following summary:"),
)
"""Hosts' words, from their sources, their programs and recorded sessions (November 2026)."""
_AROUND, _AMONG, _INSTEAD = (
    tuple(row for row in INSERTED if row.where == where) for where in ("around", "among", "instead")
)


def spoken(message: str) -> str:
    """The part of a user's message that a person wrote; empty where a program wrote it all."""
    words = message
    for row in _AMONG:
        words = _without(words, row)
    words = words.strip()
    if any(row.begin.match(words) for row in _INSTEAD):
        return ""
    within = (_within(words, row) for row in _AROUND)
    return next((own for own in within if own is not None), words).strip()


def _without(message: str, row: Inserted) -> str:
    """A message without a host's words; those without an end stay, and the end is looked for once."""
    kept, at = list[str](), 0
    for begun in row.begin.finditer(message):
        if begun.start() < at:
            continue
        end = message.find(row.end, begun.end())
        if end < 0:
            break
        kept.append(message[at : begun.start()])
        at = end + len(row.end)
    return "".join(kept) + message[at:]


def _within(message: str, row: Inserted) -> str | None:
    """The text between a host's words; None if the message doesn't match."""
    begun = row.begin.match(message)
    if begun is None:
        return None
    end = message.find(row.end, begun.end()) if row.end else len(message)
    return None if end < 0 else message[begun.end() : end]
