"""Makes the queries of made questions about one parsed file, each with the lines that answer it.

Every kind is a function from a file to drafts; `KINDS` is the table of them. Gold lines follow from the syntax tree.
This module reads no other files and writes no records.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lamr_training.corpus import templates
from lamr_training.corpus.phrases import doc_phrase, name_phrase
from lamr_training.corpus.wording import cased, reworded, shown
from lamr_training.syntax import (
    Entity,
    ParsedFile,
    called_names,
    comment_blocks,
    header_end,
    span,
    statement_at,
    words,
)

LONGEST = 70
"""Most lines of a function that is gold as a whole."""
_CODE_LIKE = re.compile(
    r"[=(){}\[\]<>]|type: ignore|noqa|pragma|copyright|licen[sc]e|https?:|TODO|XXX|FIXME", re.I
)


@dataclass(frozen=True)
class Draft:
    """A query and its answer.

    Attributes:
        query: the question.
        gold: 1-based gold lines, numbered before the cut.
        cut: 1-based lines that are cut from the file so that they don't give the answer away.
    """

    query: str
    gold: frozenset[int]
    cut: frozenset[int] = frozenset()


Kind = Callable[[ParsedFile, str, random.Random], Iterator[Draft]]


def without_doc(entity: Entity) -> frozenset[int]:
    """The lines of a docstring that can be cut without leaving the body empty; none otherwise."""
    body = entity.node.body
    if len(body) > 1 and len(entity.doc_lines) and body[1].lineno > entity.doc_lines[-1]:
        return frozenset(entity.doc_lines)
    return frozenset()


def gold_of(entity: Entity, cut: frozenset[int] = frozenset()) -> frozenset[int]:
    """The lines that answer "what does it do": all of an entity, or only head and constructor of a long class."""
    if entity.kind != "class" or len(entity.lines) <= LONGEST:
        return frozenset(entity.lines) - cut
    head = set(range(entity.first, entity.header + 1)) | set(entity.doc_lines)
    for child in entity.node.body:
        if isinstance(child, (ast.Assign, ast.AnnAssign)) or getattr(child, "name", "") == "__init__":
            head.update(span(child))
    return frozenset(head) - cut


def _shuffled(entities: list[Entity], rng: random.Random) -> list[Entity]:
    return rng.sample(entities, len(entities))


def docstring(file: ParsedFile, _module: str, rng: random.Random) -> Iterator[Draft]:
    """A docstring's first sentence asks for its function; mostly the docstring is cut."""
    for entity in _shuffled(file.entities, rng):
        if not 4 <= len(entity.doc.split()) <= 35 or not 3 <= entity.length <= LONGEST:
            continue
        cut = without_doc(entity) if rng.random() < 0.85 else frozenset()
        yield Draft(cased(reworded(entity.doc, rng, 0.4 if cut else 0.9), rng), gold_of(entity, cut), cut)


def name(file: ParsedFile, _module: str, rng: random.Random) -> Iterator[Draft]:
    """The words of a name ask for the function that bears it."""
    for entity in _shuffled(file.functions, rng):
        parts = words(entity.name)
        if len(parts) >= 2 and 3 <= entity.length <= LONGEST and not entity.name.startswith("__"):
            text = " ".join(parts + (words(entity.owner) if entity.owner and rng.random() < 0.3 else []))
            yield Draft(cased(reworded(text, rng, 0.7), rng), gold_of(entity))


def question(file: ParsedFile, module: str, rng: random.Random) -> Iterator[Draft]:
    """A question on one function or class, in words from its docstring (mostly cut) or name."""
    for entity in _shuffled(file.entities, rng):
        if entity.length < 3 or (entity.kind != "class" and entity.length > LONGEST):
            continue
        phrase = doc_phrase(entity, rng, 0.8)
        cut = without_doc(entity) if phrase and rng.random() < 0.6 else frozenset()
        phrase = phrase or name_phrase(entity, rng, 0.8)
        if phrase:
            text = templates.about_one(entity, phrase, module, rng)
            yield Draft(cased(text, rng), gold_of(entity, cut), cut)


def several(file: ParsedFile, module: str, rng: random.Random) -> Iterator[Draft]:
    """A question on two or three related functions: callers and callees, or methods of one class."""
    named = {entity.name: entity for entity in file.functions if entity.length <= LONGEST}
    for entity in _shuffled(list(named.values()), rng):
        callees = [named[n] for n in called_names(entity.node) if n in named and n != entity.name]
        mates = [e for e in named.values() if e.owner and e.owner == entity.owner and e is not entity]
        others = callees if callees and rng.random() < 0.75 else mates if rng.random() < 0.4 else callees
        if not others or (entity.name.startswith("__") and rng.random() < 0.7):
            continue
        chosen = [entity, *rng.sample(others, min(len(others), rng.choice([1, 1, 2])))]
        yield Draft(
            cased(templates.about_several(chosen, module, rng), rng), frozenset().union(*map(gold_of, chosen))
        )


def calls(file: ParsedFile, _module: str, rng: random.Random) -> Iterator[Draft]:
    """A question on how one function uses another one; the call and the called function answer it."""
    named = {entity.name: entity for entity in file.entities}
    for entity in _shuffled(file.functions, rng):
        used = called_names(entity.node)
        for callee in rng.sample(sorted(used), len(used)):
            other = named.get(callee)
            if other is None or other is entity or other.length > LONGEST or entity.length < 4:
                continue
            if entity.length <= 40:
                caller = frozenset(entity.lines)
            else:
                sites = [statement_at(entity.node, line) for line in used[callee]]
                caller = frozenset(range(entity.first, entity.header + 1)).union(*sites)
            text = templates.about_call(entity, other, rng)
            yield Draft(cased(text, rng), caller | gold_of(other))
            break


def error(file: ParsedFile, _module: str, rng: random.Random) -> Iterator[Draft]:
    """A message that the code raises or logs asks for the statement and the conditions that lead to it."""
    for entity in _shuffled(file.functions, rng):
        for node, path in _with_ancestors(entity.node):
            message = _message(node)
            if message is None:
                continue
            if entity.length <= 14:
                gold = frozenset(entity.lines)
            else:
                heads = [range(span(p)[0], header_end(p) + 1) for p in path if isinstance(p, ast.stmt)]
                gold = frozenset(span(node)).union(*heads)
            text = templates.about_error(_raised(node), message, entity, rng)
            yield Draft(cased(text, rng), gold)


def comment(file: ParsedFile, _module: str, rng: random.Random) -> Iterator[Draft]:
    """A comment, cut from the code, asks for the statements below it."""
    for lines, block_text in rng.sample(blocks := comment_blocks(file.lines), len(blocks)):
        plain = block_text.strip(" -=#.")
        if not 5 <= len(plain.split()) <= 40 or _CODE_LIKE.search(plain) or not plain.isascii():
            continue
        body = _paragraph(file.lines, lines[-1] + 1)
        if 2 <= len(body) <= 40:
            text = templates.about_comment(reworded(plain, rng, 0.5), rng)
            yield Draft(cased(text, rng), frozenset(body), frozenset(lines))


def setting(file: ParsedFile, _module: str, rng: random.Random) -> Iterator[Draft]:
    """A question on what a constant or class attribute is and where it is used."""
    holders: list[tuple[str, list[ast.stmt]]] = [("", file.tree.body)]
    holders += [(c.name, c.node.body) for c in file.classes]
    for owner, body in holders:
        for node in body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if not isinstance(target, ast.Name) or len(target.id) < 4 or target.id.startswith("__"):
                continue
            pattern = re.compile(rf"\b{re.escape(target.id)}\b")
            places = [n for n, line in enumerate(file.lines, 1) if pattern.search(line)]
            if 1 <= len(places) <= 8 and len(span(node)) <= 40 and rng.random() < 0.5:
                uses = [statement_at(file.tree, line) for line in places]
                text = templates.about_setting(target.id, owner, rng)
                yield Draft(cased(text, rng), frozenset(span(node)).union(*uses))


def block(file: ParsedFile, _module: str, rng: random.Random) -> Iterator[Draft]:
    """A question on one branch of a long function; the function's header and the branch answer it."""
    for entity in _shuffled(file.functions, rng):
        if entity.length < 35:
            continue
        branches = [
            n for n in ast.walk(entity.node) if isinstance(n, (ast.If, ast.For, ast.While, ast.Try, ast.With))
        ]
        branches = [n for n in branches if 4 <= len(span(n)) <= 40]
        for node in rng.sample(branches, min(2, len(branches))):
            text = templates.about_block(entity, node, rng)
            if text:
                yield Draft(
                    cased(text, rng),
                    frozenset(range(entity.first, entity.header + 1)) | frozenset(span(node)),
                )


KINDS: dict[str, tuple[Kind, float]] = {
    "docstring": (docstring, 0.16),
    "name": (name, 0.07),
    "question": (question, 0.27),
    "several": (several, 0.17),
    "calls": (calls, 0.10),
    "error": (error, 0.07),
    "comment": (comment, 0.06),
    "setting": (setting, 0.04),
    "block": (block, 0.06),
}
"""Every kind of query with its share of the corpus."""


def _with_ancestors(root: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(root, [])]
    while stack:
        node, path = stack.pop()
        yield node, path
        stack += [
            (child, [*path, node])
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.stmt, ast.ExceptHandler))
        ]


def _raised(node: ast.AST) -> str:
    call = getattr(node, "exc", None)
    return ast.unparse(call.func).rsplit(".", 1)[-1] if isinstance(call, ast.Call) else ""


def _message(node: ast.AST) -> str | None:
    call = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if isinstance(node, ast.Expr) and getattr(call.func, "attr", "") not in (
        "warning",
        "error",
        "warn",
        "exception",
    ):
        return None
    text = call.args[0]
    if isinstance(text, ast.BinOp):
        text = text.left
    if isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute):
        text = text.func.value
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        message = re.sub(r"\{[^{}]*\}|%\(\w+\)\w|%[sdrf]", "...", text.value)
    elif isinstance(text, ast.JoinedStr):
        message = "".join(str(p.value) if isinstance(p, ast.Constant) else "..." for p in text.values)
    else:
        return None
    return " ".join(message.split()) if 4 <= len(message.split()) <= 40 else None


def _paragraph(lines: list[str], start: int) -> range:
    """Lines from `start` to the next blank line, dedent or comment."""
    if start > len(lines) or not lines[start - 1].strip():
        return range(0)
    indent = len(lines[start - 1]) - len(lines[start - 1].lstrip())
    end = start
    while end <= len(lines) and lines[end - 1].strip():
        text = lines[end - 1]
        inner = len(text) - len(text.lstrip())
        if inner < indent or (inner == indent and end > start and text.lstrip().startswith("#")):
            break
        end += 1
    return range(start, end)


__all__ = ["KINDS", "LONGEST", "Draft", "Kind", "gold_of", "shown"]
