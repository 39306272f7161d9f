"""What programs and tests print, and where it comes from: raised messages, failing tests, names to grep for.

Each function looks at one edit and gives a question with its lines, or None where the file has nothing of the kind.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass

from lamr_training.histories.edits import Edit
from lamr_training.records.headers import headers_of
from lamr_training.records.raised import complaint, raised_sites

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
