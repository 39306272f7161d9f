"""From an edit to its records: the message itself, and what else an agent could have asked to get there.

What programs and tests print, and names to grep for, ask too: each function looks at one edit and gives a question with
its lines, or None where the file has nothing of the kind. In long texts with a task in them (issue reports, to-do
lists, an assignment with rules around it) one commit's message is what matters; sentences from a table and, in lists,
other commits' subjects stand around it. `SHARES` is the table of kinds. Records that find nothing in their file are
made here too.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamr_evaluation.records import Record

from lamr_training.histories.edits import Edit
from lamr_training.histories.intents import intent
from lamr_training.histories.messages import Message
from lamr_training.records.headers import headers_of
from lamr_training.records.manifest import Repository
from lamr_training.records.paths import holds_tests, shown_language
from lamr_training.records.raised import complaint, count_words, raised_sites

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


_TEST_NAMES = re.compile(
    r"\bdef\s+(test_\w+)|\bfunc\s+(Test\w+)|\bfn\s+(\w{8,})\s*\(\s*\)|\bvoid\s+(\w{8,})\s*\(\s*\)|"
    r"\bTask\s+(\w{8,})\s*\(|\bfunction\s+(test\w+|it_\w+)|\b(?:it|test|specify|context|describe)\s*\(?\s*[\"'`]([^\"'`]{12,120})[\"'`]|"
    r"\bTEST(?:_F|_P|_CASE)?\s*\(\s*(?:\w+\s*,\s*)?(\w{6,})\s*\)|\bTEST_CASE\s*\(\s*\"([^\"]{10,100})\"",
)
_ASSERTION = re.compile(r"\b(?:assert\w*|expect|should\w*|Assert\.\w+|EXPECT_\w+|ASSERT_\w+|require\.\w+)\b")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{4,}")


@dataclass(frozen=True)
class Question:
    """Words, and the lines that answer them; `kind` says what they are."""

    kind: str
    text: str
    gold: tuple[int, ...]
    headers: tuple[int, ...] = ()


def error(edit: Edit, rng: random.Random) -> Question | None:
    """A message that the file raises or logs asks for the statement and the condition that leads there."""
    found = raised_sites(edit.code)
    if not found:
        return None
    site = rng.choice(found)
    first = edit.code.count("\n", 0, site.start()) + 1
    last = edit.code.count("\n", 0, site.end()) + 1
    own = tuple(range(first, last + 1))
    headers = headers_of(own, edit.lines)
    text = complaint(site, edit.path, edit.language, rng)
    return Question("error", text, tuple(sorted({*own, *headers[-1:]})), headers[:-1])


def failing_test(edit: Edit, rng: random.Random) -> Question | None:
    """A test that the same commit added asks for the lines that the commit changed."""
    found = []
    for path, lines in edit.tests.items():
        for number, line in enumerate(lines):
            for match in _TEST_NAMES.finditer(line):
                name = next(group for group in match.groups() if group)
                if len(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)) >= 3:
                    found.append((path, name, lines[number + 1 : number + 25]))
    if not found:
        return None
    path, name, body = rng.choice(found)
    assertion = next((line.strip() for line in body if _ASSERTION.search(line)), "")
    file = path.rsplit("/", 1)[-1]
    forms = [
        f"FAILED {path}::{name}",
        f"{name} fails",
        f"Make the test {name} in {file} pass.",
        f"Which code does {name} exercise?",
        f"not ok - {name}",
        f"1 failing: {name} ({path})",
    ]
    text = rng.choice(forms)
    if assertion and rng.random() < 0.6:
        text += rng.choice(["\n    {}", "\nE   {}", ": {}", "\n> {}"]).format(assertion[:200])
    return Question("test", text, edit.gold, edit.headers)


def identifier(edit: Edit, rng: random.Random) -> Question | None:
    """A name that changed lines hold, and few others, asks for all lines that hold it."""
    counts = Counter(name for line in edit.lines for name in set(_IDENTIFIER.findall(line)))
    own = Counter(name for n in edit.gold for name in set(_IDENTIFIER.findall(edit.lines[n - 1])))
    rare = sorted(name for name, count in own.items() if counts[name] - count <= 3 and counts[name] <= 10)
    rare = [name for name in rare if not name.islower() or "_" in name or len(name) >= 7]
    if not rare:
        return None
    name = rng.choice(rare)
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    gold = tuple(n for n, line in enumerate(edit.lines, 1) if pattern.search(line))
    forms = [
        "{}", "{}", "grep -n {}", "grep -rn \"{}\" .", "where is {} used", "usages of {}", r"\b{}\b",
        "Find all references to `{}`.", "rg {}", "Let me see where {} is used.", "what is {} for?",
    ]  # fmt: skip
    return Question("grep", rng.choice(forms).format(name), gold, headers_of(gold, edit.lines))


SHARES = {"task": 0.25, "intent": 0.3, "error": 0.15, "test": 0.3, "grep": 0.15}
"""How many edits also give a record of a kind, beside that of the message itself."""
ABSENT = 0.2
"""Of the records that have an answer, so many are asked of another file again: one in six of all."""
_ABSENT_WEIGHT = 1 + (SHARES["error"] + SHARES["grep"]) / (1 + sum(SHARES.values()))
"""Names and messages could stand in the other file too, so the other kinds give their share of absent answers."""


def records(found: Sequence[Edit], row: Repository, seed: int) -> Iterator[Record]:
    """All records of a repository's edits, in the edits' order."""
    said = [edit.message for edit in found]
    for edit in found:
        rng = random.Random(f"{seed}:{row.repository}:{edit.sha}:{edit.path}")
        for question in _questions(edit, said, row, rng):
            record = _record(edit, question, row)
            if record is None:
                continue
            yield record
            if question.kind not in {"error", "grep"} and rng.random() < ABSENT * _ABSENT_WEIGHT:
                other = _elsewhere(edit, found, rng)
                if other:
                    yield _without_answer(record, other, row)


def _questions(
    edit: Edit, said: Sequence[Message], row: Repository, rng: random.Random
) -> Iterator[Question]:
    kind = "edit-test" if holds_tests(edit.path) else "edit"
    yield Question(kind, _wording(edit.message, rng), edit.gold, edit.headers)
    wanted = {name for name, share in SHARES.items() if rng.random() < share}
    sentence = intent(edit.message.subject, edit.path, [edit.lines[n - 1] for n in edit.headers], rng)
    if "intent" in wanted:
        yield Question("intent", sentence, edit.gold, edit.headers)
    if "task" in wanted:
        others = [each for each in rng.sample(said, min(len(said), 8)) if each != edit.message]
        project = row.repository.split("/")[1]
        text = task(edit.message, others, project, edit.language, rng)
        text = f"{sentence}\n\n{text}" if rng.random() < 0.35 else text
        yield Question("task", text, edit.gold, edit.headers)
    for name, make in (("error", error), ("test", failing_test), ("grep", identifier)):
        question = make(edit, rng) if name in wanted else None
        if question:
            yield question


def _wording(message: Message, rng: random.Random) -> str:
    """Subject, body or both; a conventional prefix stays half the time."""
    subject = message.prefix + message.subject if rng.random() < 0.5 else message.subject
    draw = rng.random()
    if count_words(message.body) < 6 or (draw < 0.4 and count_words(message.subject) >= 4):
        return subject
    return message.body if draw < 0.6 and count_words(message.body) >= 12 else f"{subject}\n\n{message.body}"


def _record(edit: Edit, question: Question, row: Repository) -> Record | None:
    if not question.gold or len(question.gold) > 0.4 * len(edit.lines):
        return None
    return Record(
        question.text,
        edit.code,
        question.gold,
        path=edit.path,
        project=row.repository,
        kind=question.kind,
        id=f"{row.repository}@{edit.sha[:12]}:{edit.path}#{question.kind}",
        language=shown_language(edit.language, row.language),
        frame=tuple(n for n in question.headers if n not in question.gold),
    )


def _elsewhere(edit: Edit, found: Sequence[Edit], rng: random.Random) -> Edit | None:
    """A file of the project that the commit didn't touch."""
    away = (other for other in rng.sample(found, min(len(found), 12)) if other.path not in edit.touched)
    return next(away, None)


def _without_answer(record: Record, other: Edit, row: Repository) -> Record:
    return Record(
        record.query,
        other.code,
        (),
        score=0.0,
        path=other.path,
        project=row.repository,
        kind="absent",
        id=f"{record.id}-absent",
        language=shown_language(other.language, row.language),
    )
