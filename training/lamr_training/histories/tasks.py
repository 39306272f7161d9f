"""Long texts with a task in them: issue reports, to-do lists, an assignment with rules around it.

One commit's message is what matters; sentences from a table and, in lists, other commits' subjects stand around it.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Sequence

from lamr_training.histories.messages import Message

_OPENINGS = (
    "I ran into this while using {project} in one of our services.",
    "This has come up several times now, so I'm writing it down properly.",
    "Found with the current main branch; an older version that I tried behaves the same.",
    "Hi, and thanks for the project!",
    "We upgraded {project} last week and I've been going through what is left to do.",
    "Not urgent, but it would help a lot.",
)
_ENVIRONMENTS = (
    "**Environment**\n\n- {project}: latest\n- OS: Linux (also seen on macOS)\n- {language}: as in the CI image",
    "### Version\n\nmain, built from source\n\n### Platform\n\nUbuntu 22.04, x86-64",
    "**Setup**: a clean checkout, default options, nothing else installed.",
)
_EXPECTATIONS = (
    "**What I expected**\n\nThat it behaves as documented.",
    "### Expected behavior\n\nNo surprise for the caller, and the existing tests still pass.",
    "I can provide more details, a test case or a pull request if that helps.",
    "### Additional context\n\nI searched the existing issues and didn't find a duplicate. There may be a simple "
    "workaround, but a proper solution in the library is preferable.",
)
_RULES = (
    "Keep the change small. Don't touch the tests, and don't change public names unless the description asks for it.",
    "Work step by step: explore the repository, find the relevant code, write a script that shows the problem, edit "
    "the source, run the script again, and think about edge cases.",
    "Follow the style of the surrounding code. Add a test when it makes sense. Don't commit; leave the changes in the "
    "work tree.",
    "When you are done, summarize what you changed and why, in a few sentences.",
    "The environment is already set up; you don't need to install anything.",
)
_LIST_OPENINGS = (
    "Please work through these points in {project}, one after the other:",
    "TODO for the next release of {project}:",
    "Here is what the review of {project} brought up. Start wherever you like, but do all of them.",
    "The following is left to do before {project} can be released.",
    "I've collected a few things about {project}. Could you take care of them?",
    "Several users of {project} reported problems or asked for changes:",
    "Milestone:",
)


def task(message: Message, others: Sequence[Message], project: str, language: str, rng: random.Random) -> str:
    """A text of several paragraphs.

    Args:
        message: what matters.
        others: messages of the same project that don't.
    """
    names = {"project": project, "language": language}
    if others and rng.random() < (0.3 if message.body else 0.6):
        return _list(message, others, names, rng)
    return _assignment(message, names, rng) if rng.random() < 0.4 else _issue(message, names, rng)


def _issue(message: Message, names: dict[str, str], rng: random.Random) -> str:
    title = rng.choice(["# {}", "**{}**", "{}", "Title: {}"]).format(message.subject)
    heading = rng.choice(["### Description\n\n", "**Describe the problem**\n\n", "", ""])
    parts = [title, *([heading + message.body] if message.body else [])]
    if rng.random() < 0.5:
        parts.insert(1, rng.choice(_OPENINGS).format(**names))
    if rng.random() < 0.4:
        parts.insert(rng.choice([1, len(parts)]), rng.choice(_ENVIRONMENTS).format(**names))
    if rng.random() < 0.5:
        parts.append(rng.choice(_EXPECTATIONS))
    return "\n\n".join(parts)


def _assignment(message: Message, names: dict[str, str], rng: random.Random) -> str:
    opening = rng.choice(
        [
            "The repository {project} ({language}) is checked out in the current directory. Solve the following issue.",
            "You are working on {project}, a project in {language}. Implement what is described below.",
            "Below is a request from the issue tracker of {project}. Make the necessary changes to the source files.",
        ]
    ).format(**names)
    inner = "\n\n".join(part for part in (message.subject, message.body) if part)
    framed = rng.choice(["<issue>\n{}\n</issue>", "---\n{}\n---", "{}", '"""\n{}\n"""']).format(inner)
    rules = rng.sample(_RULES, rng.choice([1, 2, 3]))
    bullets = "\n".join(f"- {rule}" for rule in rules) if rng.random() < 0.5 else "\n\n".join(rules)
    return "\n\n".join([opening, framed, bullets])


def _list(message: Message, others: Sequence[Message], names: dict[str, str], rng: random.Random) -> str:
    chosen = rng.sample(list(others), min(len(others), rng.choice([2, 3, 4, 5])))
    place = rng.randrange(len(chosen) + 1)
    chosen.insert(place, message)
    rows = []
    for number, each in enumerate(chosen, 1):
        body = f"\n{textwrap.indent(each.body, '   ')}" if each.body and rng.random() < 0.6 else ""
        rows.append(f"{number}. {each.subject}{body}")
    return "\n\n".join([rng.choice(_LIST_OPENINGS).format(**names), "\n".join(rows)])
