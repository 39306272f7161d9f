"""What one file of any language with a grammar holds: documented definitions, commented statements, branches.

Everything follows from the language's table: which nodes are comments, which are lists of statements, which statements
are nothing but a text (a docstring), which names define something. Rows count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import tree_sitter
from lamr_postprocess.captures import MEMBERS, read_names
from lamr_postprocess.definition_spans import DefinitionSpan, spans_in
from lamr_postprocess.languages import Language, ListKind
from lamr_postprocess.syntax import CostlySyntaxError, Source, parse

# Rows between a documentation comment and its definition: attributes, template parameters.
_LEAD = re.compile(r"\s*(?:#!?\[|@\w|\[\w|template\s*<|export\s*$|pub\s*$|static\s*$|inline\s*$)")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{5,}")
_FUNCTION = re.compile(
    r"function|method|constructor|closure|lambda|func_literal|arrow|do_block|initializer$|accessor"
)


@dataclass(frozen=True)
class Comment:
    """A comment, a run of comments on rows of their own, or a docstring; `node` is the last one."""

    first: int
    last: int
    node: tree_sitter.Node

    @property
    def rows(self) -> range:
        """All rows of the comment."""
        return range(self.first, self.last + 1)


@dataclass(frozen=True)
class Branch:
    """A compound statement of a function: its rows, and the text before its first list of statements."""

    rows: range
    header: str


@dataclass(frozen=True)
class Definition:
    """A function or type with what leads to it.

    Attributes:
        first, last: its rows, with attributes, decorators and docstring.
        head: the row of its name.
        name: its name.
        owner: the name of the type around it, or empty.
        kind: "function", "method" or "class".
        comment: its docstring, else the comment right above it.
    """

    first: int
    last: int
    head: int
    name: str
    owner: str
    kind: str
    comment: Comment | None

    @property
    def rows(self) -> range:
        """All rows of the definition."""
        return range(self.first, self.last + 1)

    @property
    def code(self) -> list[int]:
        """Its rows without a docstring's."""
        said = self.comment.rows if self.comment else ()
        return [row for row in self.rows if row not in said]


class Facts:
    """The facts of one parsed file."""

    def __init__(self, source: Source, language: Language, lines: list[str]) -> None:
        self.source = source
        self.language = language
        self.lines = lines

    @cached_property
    def comments(self) -> list[Comment]:
        """Comments that have their rows for themselves, those on adjoining rows as one."""
        comments: list[Comment] = []
        for node in self._nodes[0]:
            first, last = _rows(node)
            if self.lines[first][: _column(self.lines[first])].strip() or not self._alone(node, first, last):
                continue
            before = comments[-1] if comments else None
            joins = (
                before is not None
                and before.last + 1 == first
                and _column(self.lines[before.first]) == _column(self.lines[first])
                and not self.lines[first].lstrip().startswith("/*")
                and not self.lines[before.first].lstrip().startswith("/*")
            )
            if before is not None and joins:
                comments[-1] = Comment(before.first, last, node)
            else:
                comments.append(Comment(first, last, node))
        return comments

    @cached_property
    def definitions(self) -> list[Definition]:
        """Functions and types in the order of their rows, one a row."""
        ends = {comment.last: comment for comment in self.comments}
        texts = self._docstrings()
        definitions: list[Definition] = []
        around: list[DefinitionSpan] = []
        for span in spans_in(self.source):
            while around and around[-1].last < span.last:
                around.pop()
            first = self._beginning(span)
            while first and first - 1 not in ends and _LEAD.match(self.lines[first - 1]):
                first -= 1
            owner = around[-1].name if around and not around[-1].is_function else ""
            kind = "class" if not span.is_function else "method" if owner else "function"
            around.append(span)
            if not definitions or definitions[-1].head != span.head:
                said = texts.get(span.first) or ends.get(first - 1)
                definitions.append(Definition(first, span.last, span.head, span.name, owner, kind, said))
        return definitions

    @cached_property
    def branches(self) -> list[Branch]:
        """The compound statements in the order of their rows; definitions and what closures hold apart."""
        branches: dict[int, Branch] = {}
        for inner in self._nodes[1]:
            node = inner.parent
            while node is not None and not _FUNCTION.search(node.type) and not self._is_list(node.parent):
                node = node.parent
            if node is not None and not _FUNCTION.search(node.type) and node.start_byte not in branches:
                header = self.source.data[node.start_byte : inner.start_byte].decode("utf-8", "replace")
                branches[node.start_byte] = Branch(rows_of(node), header)
        return list(branches.values())

    @cached_property
    def constants(self) -> dict[str, tuple[range, str]]:
        """The rows and the owner of each constant of the file or of a type, by its name, which is in capitals."""
        constants: dict[str, tuple[range, str]] = {}
        names = read_names(self.source, self.language)
        for name, row, scope, role in names.bindings:
            text = name.decode("utf-8", "replace")
            outer = not scope or names.scopes[scope].kind == MEMBERS
            if role not in ("definition", "variable") or not outer or not _CONSTANT.fullmatch(text):
                continue
            start = int(self.source.rows[row][0]) + _column(self.lines[row])
            statement = self.statement_at(start, start + 1)
            around = [d for d in self.definitions if d.kind == "class" and d.first < row <= d.last]
            rows = range(row, row + 1) if statement is None else rows_of(statement)
            constants.setdefault(text, (rows, around[-1].name if around else ""))
        return constants

    def statements_after(self, comment: Comment, most: int) -> range | None:
        """The rows of the statements that a comment in a function stands above, up to a blank row; None without any.

        A run of more than `most` rows counts with its first statement alone.
        """
        node = comment.node.next_named_sibling
        if node is not None and self._is_list(node):  # grammars put a body's first comment before its list
            node = node.named_child(0)
        if node is None or not self._is_list(node.parent) or not self._in_function(node):
            return None
        first = end = comment.last + 1
        whole: range | None = None
        while node is not None and node.kind_id not in self.source.grammar.comments:
            start, last = _rows(node)
            if start != end or last < start:
                break
            if last - first + 1 > most:
                break
            whole = range(first, last + 1)
            end = last + 1
            node = node.next_named_sibling
        return whole

    def statement_at(self, start: int, stop: int) -> tree_sitter.Node | None:
        """The innermost statement around characters of the text given as byte offsets."""
        node = self.source.tree.root_node.descendant_for_byte_range(start, stop)
        while node is not None and not self._is_list(node.parent):
            node = node.parent
        return node

    def blocks_around(self, node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
        """The statements around a statement, innermost first, up to the function that holds it."""
        above = node.parent
        while above is not None and above.parent is not None and not _FUNCTION.search(above.type):
            if self._is_list(above.parent):
                yield above
            above = above.parent

    def _beginning(self, span: DefinitionSpan) -> int:
        """The first row of a definition with its decorators, which a statement around it may hold."""
        start = int(self.source.rows[span.first][0]) + _column(self.lines[span.first])
        statement = self.statement_at(start, start + 1)
        if statement is None or _rows(statement)[1] != span.last:
            return span.first
        return min(span.first, _rows(statement)[0])

    def _docstrings(self) -> dict[int, Comment]:
        """The texts that bodies begin with and that can be cut, by the first row of what the body belongs to."""
        docstrings: dict[int, Comment] = {}
        for body in self._nodes[1]:
            said, after = (body.named_child(n) if n < body.named_child_count else None for n in (0, 1))
            if said is None or after is None or said.named_child_count != 1 or body.parent is None:
                continue
            first, last = _rows(said)
            kind = self._kind_of(said.named_child(0))
            if kind and kind.by_row and self._alone(said, first, last):
                docstrings[_rows(body.parent)[0]] = Comment(first, last, said)
        return docstrings

    def _is_list(self, node: tree_sitter.Node | None) -> bool:
        """Whether a node's children are statements or members."""
        kind = self._kind_of(node)
        return kind is not None and not kind.is_literal

    def _kind_of(self, node: tree_sitter.Node | None) -> ListKind | None:
        specs = self.source.grammar.lists.get(node.kind_id) if node is not None else None
        if node is None or not specs:
            return None
        return specs.get(node.parent.kind_id if node.parent else -1) or specs.get(-1)

    def _in_function(self, node: tree_sitter.Node) -> bool:
        above = node.parent
        while above is not None and not _FUNCTION.search(above.type):
            above = above.parent
        return above is not None

    @cached_property
    def _nodes(self) -> tuple[list[tree_sitter.Node], list[tree_sitter.Node]]:
        """Comments, and lists of statements or members, in document order."""
        comments: list[tree_sitter.Node] = []
        lists: list[tree_sitter.Node] = []
        cursor = self.source.tree.walk()
        while True:
            node = cursor.node
            if node is not None and node.kind_id in self.source.grammar.comments:
                comments.append(node)
            else:
                if node is not None and self._is_list(node):
                    lists.append(node)
                if cursor.goto_first_child():
                    continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return comments, lists

    def _alone(self, node: tree_sitter.Node, first: int, last: int) -> bool:
        """Whether nothing but a comment stands on its rows."""
        starts, ends = int(self.source.rows[first][0]), int(self.source.rows[last][1])
        data = self.source.data
        return not data[starts : node.start_byte].strip() and not data[node.end_byte : ends].strip()


def facts_of(text: str, language: Language) -> Facts | None:
    """The facts of a text whose lines end with `\\n`; None where it can't be parsed."""
    if language.parses and not language.parses(text):
        return None
    try:
        source = parse(text, language)
    except CostlySyntaxError:
        return None
    return Facts(source, language, text.split("\n"))


def rows_of(node: tree_sitter.Node) -> range:
    """The rows of a node."""
    first, last = _rows(node)
    return range(first, last + 1)


def _rows(node: tree_sitter.Node) -> tuple[int, int]:
    """First and last row of a node; one that ends with a line end doesn't reach the next row."""
    first, (last, column) = node.start_point[0], node.end_point
    return first, last - (column == 0 and last > first)


def _column(line: str) -> int:
    return len(line) - len(line.lstrip())
