"""What a person wrote of a message of theirs: hosts put words of their own around it, among it and in its place.

One table for all hosts; a row is a host's words by where they stand and how they begin and end. Programs write such
messages by templates, so that words count only where a template has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Where = Literal["around", "among", "instead"]


@dataclass(frozen=True)
class Inserted:
    """One host's words; several hosts can share some.

    They stand `around` what the user wrote, between the row's begin and end; `among` it, with what stands between; or
    `instead` of it, so that nothing of the message is the user's. Around and instead, the message begins with them.
    """

    host: str
    where: Where
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
        "codex",
        r"# (?:Context from my IDE setup|Files mentioned by the user):.*?\n## My request for Codex:",
    ),
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
    """What stands between a host's words; None where the message isn't made so."""
    begun = row.begin.match(message)
    if begun is None:
        return None
    end = message.find(row.end, begun.end()) if row.end else len(message)
    return None if end < 0 else message[begun.end() : end]
