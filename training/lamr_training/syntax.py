"""Facts about one Python file: its syntax tree, functions, classes, spans, docstrings and comments.

Line numbers are 1-based. This module knows the syntax tree; it knows no queries and no labels.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field

from lamr_postprocess import split_lines

FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_COMMENT = re.compile(r"^\s*#+:?\s?(.*)$")
_MARKUP = re.compile(r":[\w:]+:`[~!.]?([^`<]*?)(?:\s*<[^`]*>)?`|`+([^`]*)`+")


@dataclass(frozen=True, eq=False)
class Entity:
    """A function, method or class.

    Attributes:
        name: its own name.
        owner: the name of the class that it is defined in, or "".
        kind: "function", "method" or "class".
        node: its node in the syntax tree.
        first, last: its first and last line, decorators included.
        header: the last line of its signature.
        doc: the first sentence of its docstring as plain text, or "".
        doc_lines: the lines of its docstring; empty without one.
    """

    name: str
    owner: str
    kind: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    first: int
    last: int
    header: int
    doc: str
    doc_lines: range

    @property
    def lines(self) -> range:
        """All lines of the entity."""
        return range(self.first, self.last + 1)

    @property
    def length(self) -> int:
        """The number of its lines without the docstring's."""
        return len(self.lines) - len(self.doc_lines)


@dataclass(frozen=True, eq=False)
class ParsedFile:
    """A file that parses.

    Attributes:
        text: the file.
        lines: its lines, without line ends.
        tree: its syntax tree.
        entities: its functions, methods and classes in source order.
        functions, classes: those of the entities that are functions or methods, and those that are classes.
    """

    text: str
    lines: list[str]
    tree: ast.Module
    entities: list[Entity]
    functions: list[Entity] = field(default_factory=list)
    classes: list[Entity] = field(default_factory=list)


def words(name: str) -> list[str]:
    """The lower-case words of an identifier: `parseHTTPHeader_2` gives parse, http, header, 2."""
    return [word.lower() for word in _WORD.findall(name)]


def span(node: ast.AST) -> range:
    """The lines of a statement with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)])  # type: ignore[attr-defined]
    return range(first, (node.end_lineno or node.lineno) + 1)  # type: ignore[attr-defined]


def header_end(node: ast.AST) -> int:
    """The last line of a compound statement's header."""
    body = getattr(node, "body", None)
    first: int = node.lineno  # type: ignore[attr-defined]
    if not isinstance(body, list) or not body:
        return span(node)[-1]
    return max(first, span(body[0])[0] - 1)


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring, without markup, on one line."""
    text = re.split(r"(?<=[.!?])\s+(?=[A-Z`\n])|\n\s*\n|:\n", docstring.strip(), maxsplit=1)[0]
    plain = _MARKUP.sub(lambda m: m[1] or m[2] or "", text)
    return " ".join(plain.split()).rstrip(".:")


def parse_tree(text: str) -> ast.Module | None:
    """The syntax tree of a text whose lines end with `\\n`; None if it isn't Python of this interpreter's grammar.

    A text with carriage returns, form feeds or null characters gives None too, because `ast` numbers its lines in a way
    of its own.
    """
    if "\r" in text or "\f" in text or "\x00" in text:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # MemoryError: too deep for the parser
        return None


def parse_lines(code: str) -> tuple[list[str], ast.Module | None]:
    """The lines of any text, without their ends, and its syntax tree, whose nodes have these lines' numbers.

    Line ends of every kind and form feeds are allowed. The tree is None where the text isn't Python that parses; that
    alone decides whether a document gets dependency labels.
    """
    lines = [line.rstrip("\r\n") for line in split_lines(code)]
    return lines, parse_tree("\n".join(lines).replace("\f", ""))  # a form feed separates pages, not lines


def parse_file(text: str) -> ParsedFile | None:
    """Parse a file and collect its entities; None if `parse_tree` gives no tree."""
    tree = parse_tree(text)
    if tree is None:
        return None
    parsed = ParsedFile(text, text.split("\n"), tree, [])
    _collect(tree, "", parsed)
    return parsed


def _collect(node: ast.AST, owner: str, parsed: ParsedFile) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FunctionNode, ast.ClassDef)):
            entity = _entity(child, owner)
            parsed.entities.append(entity)
            (parsed.classes if entity.kind == "class" else parsed.functions).append(entity)
            if isinstance(child, ast.ClassDef):
                _collect(child, child.name, parsed)
        elif isinstance(child, (ast.If, ast.Try)):
            _collect(child, owner, parsed)


def _entity(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, owner: str) -> Entity:
    lines = span(node)
    doc, doc_lines = "", range(0)
    head = node.body[0]
    if (
        isinstance(head, ast.Expr)
        and isinstance(head.value, ast.Constant)
        and isinstance(head.value.value, str)
    ):
        doc, doc_lines = first_sentence(head.value.value), span(head)
    kind = "class" if isinstance(node, ast.ClassDef) else "method" if owner else "function"
    return Entity(node.name, owner, kind, node, lines[0], lines[-1], header_end(node), doc, doc_lines)


def called_names(node: ast.AST) -> dict[str, list[int]]:
    """The names that are called inside a node (the last part of dotted ones), with the lines of the calls."""
    lines: dict[str, list[int]] = {}
    for child in ast.walk(node):
        if isinstance(child, ast.Call):
            name = getattr(child.func, "attr", None) or getattr(child.func, "id", None)
            if name:
                lines.setdefault(name, []).append(child.lineno)
    return lines


def statement_at(node: ast.AST, line: int) -> range:
    """The lines of the innermost statement of `node` that holds a line; a compound one counts with its header only."""
    best = span(node) if hasattr(node, "lineno") else range(line, line + 10**6)
    for child in ast.walk(node):
        if isinstance(child, ast.stmt):
            lines = range(span(child)[0], header_end(child) + 1)
            if line in lines and len(lines) <= len(best):
                best = lines
    return best if len(best) < 10**6 else range(line, line + 1)


def comment_blocks(lines: list[str]) -> list[tuple[range, str]]:
    """The lines and the text of each run of whole-line comments."""
    blocks: list[tuple[range, str]] = []
    number = 1
    while number <= len(lines):
        match = _COMMENT.match(lines[number - 1])
        start, parts = number, []
        while match:
            parts.append(match[1].strip())
            number += 1
            match = _COMMENT.match(lines[number - 1]) if number <= len(lines) else None
        if parts:
            blocks.append((range(start, number), " ".join(parts)))
        number += 1
    return blocks
