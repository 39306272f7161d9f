"""Makes questions of several kinds about one file, each with the lines that answer it.

Every kind is a function from a file to drafts; `KINDS` is the table of them. What a definition is, and where statements
begin, the facts say; this module knows no language.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from lamr_contract.words import split_words
from tree_sitter import Node

from lamr_training.made import templates
from lamr_training.made.facts import Branch, Definition, Facts, rows_of
from lamr_training.made.phrases import Phrase, name_phrase, sentence_phrase
from lamr_training.made.wording import cased, documented, is_code, reworded, sentence_of, shown, text_of
from lamr_training.records.headers import headers_of
from lamr_training.records.paths import holds_tests
from lamr_training.records.raised import complaint, raised_sites

LONGEST = 70
"""Most rows of a definition that is gold as a whole, a docstring apart."""
SHORTEST = 3
TELLING = 6
"""Fewest rows of a definition that is asked for by its name: accessors and the like say no more than that."""
LONGEST_RUN = 12
"""Most rows of the statements below a comment, and of the block around a message."""

MOST_USES = 8
"""Rows that use a constant which is asked for."""
LONG = 35
"""Rows of a function of which one branch is asked for."""
LONGEST_BRANCH = 40
_CALL = re.compile(r"\b([A-Za-z_]\w{3,}[!?]?)\s*\(")


@dataclass(frozen=True, eq=False)
class MadeFile:
    """A file to ask about: its facts, its path, and its language's name."""

    facts: Facts
    path: str
    language: str

    @property
    def module(self) -> str:
        """The file's name without its ending."""
        return self.path.rsplit("/", 1)[-1].split(".")[0]

    @cached_property
    def functions(self) -> dict[str, Definition]:
        """The functions whose name no other has, by name."""
        every = [each for each in self.facts.definitions if each.kind != "class"]
        counts = Counter(each.name for each in every)
        return {each.name: each for each in every if counts[each.name] == 1}

    @cached_property
    def said(self) -> dict[int, str]:
        """The sentence that says what a definition is, by the row of its name, for those that have one."""
        return {each.head: text for each in self.facts.definitions if (text := self._sentence(each))}

    def _sentence(self, definition: Definition) -> str:
        if definition.comment is None:
            return ""
        rows = definition.comment.rows
        sentence = documented(text_of(self.facts.lines[rows.start : rows.stop]), definition.name)
        return "" if is_code(sentence) else sentence

    def called(self, caller: Definition) -> list[Definition]:
        """The file's short functions that a function calls, those apart that lie in it or around it."""
        own = [row for row in caller.code if row > caller.head]
        names = dict.fromkeys(name for row in own for name in _CALL.findall(self.facts.lines[row]))
        known = [self.functions[name] for name in names if name in self.functions and name[-2:] != "__"]
        return [each for each in known if _is_short(each) and not set(each.rows) & set(caller.rows)]


@dataclass(frozen=True)
class Draft:
    """A question with the rows that answer it and the rows to cut from the file; rows count from 0."""

    query: str
    gold: frozenset[int]
    cut: frozenset[int] = frozenset()


_T = TypeVar("_T")
Kind = Callable[[MadeFile, random.Random], Iterator[Draft]]


def docstring(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """The first sentence of a definition's documentation asks for it; the documentation is cut."""
    for definition in _shuffled(file.facts.definitions, rng):
        if definition.head in file.said and _is_short(definition):
            text = reworded(file.said[definition.head], rng, 0.4)
            yield _without_comment(cased(text, rng), definition)


def question(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A question on one definition, in words from its documentation, which is cut, or from its name."""
    for definition in _shuffled(file.facts.definitions, rng):
        if not _is_short(definition):
            continue
        phrase = sentence_phrase(file.said.get(definition.head, ""), rng, 0.8)
        cut = phrase is not None
        if not phrase and _telling(definition) and rng.random() < 0.4:
            phrase = name_phrase(definition, rng, 0.8)
        if phrase:
            names = [each.name for each in file.called(definition)]
            headers = [each.header for each in _branches(file, definition)]
            tail = templates.tail(names, headers, rng)
            text = cased(templates.about_one(definition, phrase, file.module, tail, rng), rng)
            yield _without_comment(text, definition) if cut else Draft(text, frozenset(definition.rows))


def several(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A question on a function with one or two that it calls; all of them answer it."""
    for caller in _shuffled(list(file.functions.values()), rng):
        called = file.called(caller) if _telling(caller) else []
        if called:
            chosen = [caller, *rng.sample(called, min(len(called), rng.choice([1, 1, 2])))]
            phrases = [_phrase(each, file, rng) for each in chosen]
            text = templates.about_several(chosen, phrases, file.module, rng)
            yield Draft(cased(text, rng), frozenset().union(*(each.rows for each in chosen)))


def block(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A question on one branch of a long function; the function's header and the branch answer it."""
    for definition in _shuffled(file.facts.definitions, rng):
        if definition.kind == "class" or len(definition.code) < LONG:
            continue
        branches = [e for e in _branches(file, definition) if 4 <= len(e.rows) <= LONGEST_BRANCH]
        for each in rng.sample(branches, min(2, len(branches))):
            text = templates.about_block(definition, _phrase(definition, file, rng), each.header, rng)
            if text:
                head = range(definition.first, definition.head + 1)
                yield Draft(cased(text, rng), frozenset(head).union(each.rows))


def comment(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A comment in a function, cut from the code, asks for the statements below it.

    A single statement says little without the header of the block that the comment begins.
    """
    for each in _shuffled(file.facts.comments, rng):
        text = text_of(file.facts.lines[each.first : each.last + 1])
        sentence = sentence_of(text)
        if not sentence or is_code(sentence) or len(sentence.split()) < 5:
            continue
        body = file.facts.statements_after(each, LONGEST_RUN)
        if body and not file.facts.lines[body[-1]].rstrip().endswith(":"):  # the label of a case says nothing
            asked = templates.about_comment(reworded(sentence, rng, 0.5), rng)
            above = headers_of([body[0] + 1], file.facts.lines)[-1:] if len(body) == 1 else ()
            header = {each.first - 1} if above == (each.first,) else set()
            yield Draft(cased(asked, rng), frozenset(header.union(body)), frozenset(each.rows))


def error(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A message that the code raises or logs once, tests apart, asks for the block that leads to it."""
    if holds_tests(file.path):
        return  # which expect messages of other files
    text = "\n".join(file.facts.lines)
    for site in _shuffled(raised_sites(text), rng):
        start, stop = (len(text[:at].encode("utf-8", "surrogatepass")) for at in site.span("text"))
        statement = file.facts.statement_at(start, stop)
        if statement is None or len(rows_of(statement)) > LONGEST_RUN or text.count(site["text"]) > 1:
            continue
        gold = frozenset(_block_of(statement, file.facts))
        yield Draft(complaint(site, file.path, file.language, rng), gold)


def name(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """The words of a name ask for the function that bears it."""
    for definition in _shuffled(file.facts.definitions, rng):
        parts = split_words(definition.name)
        if len(parts) >= 3 and definition.kind != "class" and _telling(definition):
            owner = split_words(definition.owner) if definition.owner and rng.random() < 0.3 else []
            text = cased(reworded(" ".join(parts + owner), rng, 0.7), rng)
            yield Draft(text, frozenset(definition.rows))


def calls(file: MadeFile, rng: random.Random) -> Iterator[Draft]:
    """A question on how one function uses another one; the call and the called function answer it."""
    functions = [each for each in file.facts.definitions if each.kind != "class"]
    for caller in _shuffled(functions, rng):
        called = file.called(caller) if len(caller.code) >= 4 else []
        if not called:
            continue
        callee = rng.choice(called)
        gold = set(callee.rows)
        if len(caller.code) <= 30:
            gold.update(caller.rows)
        else:
            call = re.compile(rf"\b{re.escape(callee.name)}\s*\(")
            sites = [row for row in caller.code if row > caller.head and call.search(file.facts.lines[row])]
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
    "docstring": (docstring, 0.2),
    "question": (question, 0.2),
    "comment": (comment, 0.18),
    "error": (error, 0.13),
    "several": (several, 0.09),
    "calls": (calls, 0.08),
    "name": (name, 0.05),
    "setting": (setting, 0.04),
    "block": (block, 0.03),
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


def _branches(file: MadeFile, definition: Definition) -> list[Branch]:
    """The compound statements of a function."""
    return [each for each in file.facts.branches if definition.head < each.rows[0] <= definition.last]


def _phrase(definition: Definition, file: MadeFile, rng: random.Random) -> Phrase:
    """What a definition does, in words from its documentation or its name."""
    said = sentence_phrase(file.said.get(definition.head, ""), rng, 0.8)
    named = name_phrase(definition, rng, 0.8)
    for phrase in (said, named) if rng.random() < 0.6 else (named, said):
        if phrase and phrase.verb and len(phrase.rest.split()) <= 14:
            return phrase
    return Phrase("use", shown(definition.name, rng))


def _without_comment(text: str, definition: Definition) -> Draft:
    """A question whose words stand in a definition's documentation."""
    cut = frozenset(definition.comment.rows if definition.comment else ())
    return Draft(text, frozenset(definition.rows) - cut, cut)


def _is_short(definition: Definition) -> bool:
    """Whether a definition can be gold as a whole."""
    return SHORTEST <= len(definition.code) <= LONGEST


def _telling(definition: Definition) -> bool:
    """Whether a definition's name is worth a question: it is no accessor, constructor or test."""
    return (
        TELLING <= len(definition.code) <= LONGEST
        and definition.name != definition.owner
        and split_words(definition.name)[:1] not in (["test"], ["set"], ["get"], ["it"])
    )


def _shuffled(items: list[_T], rng: random.Random) -> list[_T]:
    return rng.sample(items, len(items))
