"""Makes questions of several kinds about one file, each with the lines that answer it.

Every kind is a function from a file to drafts; `KINDS` is the table of them. What a definition is, and where statements
begin, the facts say; this module knows no language.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tree_sitter import Node

from lamr_training.corpus import templates
from lamr_training.corpus.phrases import name_phrase, sentence_phrase
from lamr_training.corpus.wording import cased, reworded
from lamr_training.histories.complaints import complaint, raised_sites
from lamr_training.histories.gold import headers_of
from lamr_training.histories.paths import holds_tests
from lamr_training.made.facts import Definition, Facts, rows_of
from lamr_training.made.prose import documented, is_code, sentence_of, text_of
from lamr_training.syntax import words

LONGEST = 70
"""Most rows of a definition that is gold as a whole."""
SHORTEST = 3
TELLING = 6
"""Fewest rows of a definition that is asked for by its name: accessors and the like say no more than that."""
LONGEST_RUN = 12
"""Most rows of the statements below a comment, and of the block around a message."""

MOST_USES = 8
"""Rows that use a constant which is asked for."""


@dataclass(frozen=True)
class MadeFile:
    """A file to ask about: its facts, its path, and its language's name."""

    facts: Facts
    path: str
    language: str

    @property
    def module(self) -> str:
        """The file's name without its ending."""
        return self.path.rsplit("/", 1)[-1].split(".")[0]


@dataclass(frozen=True)
class Draft:
    """A question with the rows that answer it and the rows to cut from the file; rows count from 0."""

    query: str
    gold: frozenset[int]
    cut: frozenset[int] = frozenset()


_T = TypeVar("_T")
Kind = Callable[[MadeFile, random.Random], Iterator[Draft]]


def docstring(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A documentation comment's first sentence asks for its definition; the comment is cut."""
    for definition, sentence, cut in _documented(file, rng):
        yield Draft(cased(reworded(sentence, rng, 0.4), rng), frozenset(definition.rows) - cut, cut)


def question(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A question on one definition, in words from its documentation comment, which is cut, or from its name."""
    said = {definition.head: (sentence, cut) for definition, sentence, cut in _documented(file, rng)}
    for definition in _shuffled(file.facts.definitions, rng):
        if not SHORTEST <= len(definition.rows) <= LONGEST:
            continue
        sentence, cut = said.get(definition.head, ("", frozenset()))
        phrase = sentence_phrase(sentence, rng, 0.8) if sentence else None
        if phrase is None:
            cut = frozenset()
            phrase = (
                name_phrase(definition, rng, 0.8) if _telling(definition) and rng.random() < 0.4 else None
            )
        if phrase:
            text = templates.about_one(definition, phrase, file.module, rng)
            yield Draft(cased(text, rng), frozenset(definition.rows) - cut, cut)


def comment(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A comment in a function, cut from the code, asks for the statements below it."""
    for each in _shuffled(file.facts.comments, rng):
        text = text_of(file.facts.lines[each.first : each.last + 1])
        sentence = sentence_of(text)
        if not sentence or is_code(sentence) or len(sentence.split()) < 5:
            continue
        body = file.facts.statements_after(each, LONGEST_RUN)
        if body and not file.facts.lines[body[-1]].rstrip().endswith(":"):  # the label of a case says nothing
            asked = templates.about_comment(reworded(sentence, rng, 0.5), rng)
            yield Draft(cased(asked, rng), frozenset(body), frozenset(range(each.first, each.last + 1)))


def error(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A message that the code raises or logs, tests apart, asks for the block that leads to it."""
    if holds_tests(file.path):
        return  # which expect messages of other files
    text = "\n".join(file.facts.lines)
    for site in _shuffled(raised_sites(text), rng):
        start, stop = (len(text[:at].encode("utf-8", "surrogatepass")) for at in site.span("text"))
        statement = file.facts.statement_at(start, stop)
        if statement is None or len(rows_of(statement)) > LONGEST_RUN:
            continue
        gold = frozenset(_block_of(statement, file.facts))
        yield Draft(complaint(site, file.path, file.language, rng), gold)


def name(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """The words of a name ask for the function that bears it."""
    for definition in _shuffled(file.facts.definitions, rng):
        parts = words(definition.name)
        if len(parts) >= 3 and definition.kind != "class" and _telling(definition):
            owner = words(definition.owner) if definition.owner and rng.random() < 0.3 else []
            text = cased(reworded(" ".join(parts + owner), rng, 0.7), rng)
            yield Draft(text, frozenset(definition.rows))


def calls(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A question on how one function uses another one; the call and the called function answer it."""
    functions = [d for d in file.facts.definitions if d.kind != "class"]
    counts: dict[str, list[Definition]] = {}
    for each in functions:
        counts.setdefault(each.name, []).append(each)
    for caller in _shuffled(functions, rng):
        if len(caller.rows) < 4:
            continue
        own = "\n".join(file.facts.lines[caller.head + 1 : caller.last + 1])
        called = dict.fromkeys(re.findall(r"\b([A-Za-z_]\w{3,}[!?]?)\s*\(", own))
        known = [counts[n][0] for n in called if len(counts.get(n, ())) == 1 and n != caller.name]
        known = [
            d for d in known if SHORTEST <= len(d.rows) <= LONGEST and not set(d.rows) & set(caller.rows)
        ]
        if not known:
            continue
        callee = rng.choice(known)
        gold = set(callee.rows)
        if len(caller.rows) <= 30:
            gold.update(caller.rows)
        else:
            sites = [
                row
                for row in range(caller.head + 1, caller.last + 1)
                if re.search(rf"\b{re.escape(callee.name)}\s*\(", file.facts.lines[row])
            ]
            gold.update(range(caller.first, caller.head + 1), sites)
        yield Draft(cased(templates.about_call(caller, callee, rng), rng), frozenset(gold))


def setting(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A question on what a constant is and where it is used."""
    for constant in _shuffled(list(file.facts.constants), rng):
        own, owner = file.facts.constants[constant]
        pattern = re.compile(rf"(?<![\w\"']){re.escape(constant)}(?![\w\"'])")
        places = {n for n, line in enumerate(file.facts.lines) if pattern.search(line)}
        called = any(f"{constant}(" in file.facts.lines[row] for row in places)  # a macro, not a constant
        if not called and 1 <= len(places - set(own)) <= MOST_USES and len(own) <= LONGEST_RUN:
            text = templates.about_setting(constant, owner, rng)
            yield Draft(cased(text, rng), frozenset(places.union(own)))


KINDS: dict[str, tuple[Kind, float]] = {
    "docstring": (docstring, 0.24),
    "question": (question, 0.18),
    "comment": (comment, 0.24),
    "error": (error, 0.16),
    "calls": (calls, 0.09),
    "name": (name, 0.05),
    "setting": (setting, 0.04),
}
"""Every kind of question with its share."""


def _block_of(statement: Node, facts: Facts) -> set[int]:
    """The rows of a statement with the short function or block around it, or with the header of a long one."""
    own = rows_of(statement)
    around = [d for d in facts.definitions if d.kind != "class" and d.first <= own[0] and own[-1] <= d.last]
    if around and len(around[-1].rows) <= LONGEST_RUN:
        return set(around[-1].rows)
    block = next(facts.blocks_around(statement), None)
    if block is None:
        return set(own)
    rows = rows_of(block)
    if len(rows) <= LONGEST_RUN:
        return {*rows, *own}
    return {*own, *(n - 1 for n in headers_of([n + 1 for n in own], facts.lines)[-1:])}


def _documented(file: MadeFile, rng: random.Random) -> Iterator[tuple[Definition, str, frozenset[int]]]:
    """Definitions that a comment describes, with its sentence and its rows."""
    for definition in _shuffled(file.facts.definitions, rng):
        above = definition.comment
        if above is None or not SHORTEST <= len(definition.rows) <= LONGEST:
            continue
        sentence = documented(text_of(file.facts.lines[above.first : above.last + 1]), definition.name)
        if sentence and not is_code(sentence):
            yield definition, sentence, frozenset(range(above.first, above.last + 1))


def _telling(definition: Definition) -> bool:
    """Whether a definition's name is worth a question: it is no accessor, constructor or test."""
    return (
        TELLING <= len(definition.rows) <= LONGEST
        and definition.name != definition.owner
        and words(definition.name)[:1] not in (["test"], ["set"], ["get"], ["it"])
    )


def _shuffled(items: list[_T], rng: random.Random) -> list[_T]:
    return rng.sample(items, len(items))
