"""Long, noisy queries out of short ones: an issue as people write it, in which few words say what is looked for.

What surrounds the words is what trackers hold: templates, thanks, code, traces, versions, other issues. A model that
has only seen short queries takes all of it for what is asked. The module knows texts; it knows no lines and no model.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lamr_evaluation.records import Record

_CHAT = """
Hi all, thanks for this great project!
We have been using this in production for a while now.
I am not sure whether this is the right place to ask.
Sorry if this is a duplicate, I searched the tracker but could not find anything.
Let me know if you need more information.
This worked fine with the previous release.
Any help would be appreciated.
I can try to send a pull request if somebody points me to the right place.
Please note that I only tested it on Linux.
We noticed this after upgrading last week.
It happens every time, not only sometimes.
I would expect this to work without any further setup.
As a workaround we patched it locally.
Before I dig deeper: is this a known problem?
The documentation does not say anything about this case.
I first thought that it was our own configuration.
Thanks in advance for looking at it.
My colleague sees the same on another machine.
The attached example is as small as I could get it.
You may close this if it works as intended.
Take a look at the repository and make the necessary changes.
Make sure that existing tests still pass and add new ones where they make sense.
Do not change the public interface more than needed.
Follow the code style of the project.
""".strip().split("\n")
_TITLES = ("Bug report", "Question", "Problem with the latest version", "Feature request", "")
_PROBLEM = (
    *("### Description", "## Problem", "**Describe the bug**", "### What happened?", "#### Summary"),
    *("Description:", "### Current behaviour"),
)
_EXPECTED = (
    "### Expected behaviour",
    "**Expected behavior**",
    "## What I expected",
    "Expected:",
    "### Desired",
)
_STEPS = (
    *("### Steps to reproduce", "**To Reproduce**", "## Reproduction", "Minimal example:"),
    *("### How to reproduce", "Code:"),
)
_LOGS = ("### Logs", "**Additional context**", "## Output", "Stack trace:", "### Relevant log output")
_VERSIONS = ("### Environment", "**Environment:**", "## Versions", "Versions")
_ENVIRONMENT = (
    *("- OS: Ubuntu 22.04", "- OS: macOS 14.2", "- OS: Windows 11", "- OS: Debian 12", "- Python 3.{0}"),
    *("- Version: {0}.{1}.{2}", "- Node v{0}.{1}.0", "- Browser: Chrome {1}", "- Go 1.{0}"),
    *("- installed with the package manager", "- Architecture: x86_64", "- Docker: yes"),
)
_FUNCTIONS = [
    "run",
    "main",
    "call",
    "handle",
    "process",
    "execute",
    "apply",
    "dispatch",
    "__init__",
    "invoke",
]
_TRACED = (
    '  File "/usr/lib/site/{path}", line {line}, in {function}',
    "    at {function} ({path}:{line}:{column})",
    "\tat org.app.{function}({path}:{line})",
    "{path}:{line}: in `{function}'",
    "2024-06-1{digit}T0{digit}:12:22Z INFO {function} id={line}",
    "2024-03-0{digit}T1{digit}:41:07Z ERROR {function} id={line}",
)
_SHARES = {"steps": 0.7, "logs": 0.5, "environment": 0.4, "expected": 0.3, "related": 0.35, "snippet": 0.2}
"""How often an issue has each section."""
_MOST_RELATED = 300  # characters
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def noisy(rng: random.Random, record: Record, others: Iterable[Record]) -> Record:
    """Return a record with a long query that holds all that the short one and its task say.

    Args:
        rng: what chance decides.
        record: the record.
        others: records of the same project, whose code, paths and queries stand in the new query, too.
    """
    around = [record, *others]
    title, body = _title_and_body(rng, record.words.strip())
    head = [rng.choice(_PROBLEM)] if rng.random() < 0.6 else []
    sections = _sections(rng, around)
    main = "\n\n".join([*head, body])
    # People sometimes say what they want after all the rest.
    place = rng.randint(0, len(sections)) if rng.random() < 0.25 else 0
    parts = [title, *sections[:place], main, *sections[place:]]
    return replace(record, query="\n\n".join(part for part in parts if part), task="")


def _title_and_body(rng: random.Random, text: str) -> tuple[str, str]:
    first, *rest = _SENTENCE_END.split(text)
    title, body = (first, " ".join(rest)) if rng.random() < 0.7 else (rng.choice(_TITLES), text)
    if not body and rng.random() < 0.5:
        body = text
    before, after = (_chat(rng, 0, most) if rng.random() < 0.6 else "" for most in (2, 3))
    return title, "\n".join(part for part in (before, body, after) if part)


def _sections(rng: random.Random, around: Sequence[Record]) -> list[str]:
    makers = {
        "steps": lambda: f"{rng.choice(_STEPS)}\n\n{_chat(rng, 0, 1)}\n{_snippet(rng, around)}",
        "logs": lambda: f"{rng.choice(_LOGS)}\n\n```\n{_trace(rng, around)}\n```",
        "environment": lambda: f"{rng.choice(_VERSIONS)}\n\n{_environment(rng)}",
        "expected": lambda: f"{rng.choice(_EXPECTED)}\n\n{_chat(rng, 1, 2)}",
        "related": lambda: f"Related: {rng.choice(around).words[:_MOST_RELATED]}",
        "snippet": lambda: _snippet(rng, around),
    }
    sections = [make() for name, make in makers.items() if rng.random() < _SHARES[name]]
    return rng.sample(sections, len(sections)) if rng.random() < 0.5 else sections


def _chat(rng: random.Random, least: int, most: int) -> str:
    return " ".join(rng.sample(_CHAT, rng.randint(least, most)))


def _environment(rng: random.Random) -> str:
    rows = rng.sample(_ENVIRONMENT, rng.randint(2, 5))
    return "\n".join(row.format(rng.randint(0, 21), rng.randint(0, 120), rng.randint(0, 9)) for row in rows)


def _trace(rng: random.Random, around: Sequence[Record]) -> str:
    numbers = {"line": 900, "column": 80, "digit": 9}
    return "\n".join(
        rng.choice(_TRACED).format(
            path=rng.choice(around).path or "main.py",
            function=rng.choice(_FUNCTIONS),
            **{name: rng.randint(1, most) for name, most in numbers.items()},
        )
        for _ in range(rng.randint(3, 14))
    )


def _snippet(rng: random.Random, around: Sequence[Record]) -> str:
    lines, count = rng.choice(around).lines, rng.randint(4, 30)
    first = rng.randrange(max(1, len(lines) - count))
    return "\n".join(["```", *lines[first : first + count], "```"])
