"""What a language is to this package: a row of a table.

One `Language` names node kinds of a tree-sitter grammar and the syntax of comments; the engine (`outline`, `names`,
`repair`, `render`) reads it and contains no language of its own. A language without a grammar has only names and
comments, and is pruned line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lamr_postprocess.frames import Frames
from lamr_postprocess.lines import BoolArray


def name_set(text: str) -> frozenset[str]:
    """The names in a text, separated by spaces, as a set: a compact form for columns of many names."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Comment:
    """How a marker becomes a comment on a line of its own: `opening`, the text, `closing`."""

    opening: str
    closing: str = ""

    def wrap(self, text: str) -> str:
        """The marker's text as a comment."""
        return f"{self.opening} {text}{self.closing and ' ' + self.closing}" if self.opening else text


@dataclass(frozen=True)
class ListKind:
    """A node whose children can be cut one by one: a block, a class body, a collection literal.

    Attributes:
        filler: the statement that stands for an emptied list, where the grammar wants one (Python's `pass`).
        keep_first: whether the first child is kept with the node, where no filler can stand (`case` in `match`).
        separators: anonymous tokens that belong to the child before them.
        items: the kinds or fields of the children that can be cut; empty means every named child.
        fixed: the kinds or fields of the children that belong to the node and can't be cut.
        comment: the comment syntax inside this list, where it differs from the language's.
        by_row: whether the node is one text whose rows can be cut like children (a docstring).
        delimited: whether the first and last row of such a text hold its quotes and belong to the node.
        least_rows: the fewest rows of such a list.
        unless: kinds of children with which the node is no such list (an interpolation in a text).
        results: kinds that are kept with any statement of a function's body if they end it.
        endings: kinds that are kept with the node if they end it, because without them it would say the opposite (the
            `raise` of an `except`).
    """

    filler: str = ""
    keep_first: bool = False
    separators: frozenset[str] = frozenset()
    items: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()
    comment: Comment | None = None
    by_row: bool = False
    delimited: bool = True
    least_rows: int = 0
    unless: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()

    @property
    def is_literal(self) -> bool:
        """Whether the children are parts of one expression rather than statements."""
        return self.by_row or "," in self.separators


@dataclass(frozen=True, eq=False)  # compared and hashed by identity: there is one table a language
class Language:
    """One row of the registry. Kinds are named as in the grammar's `node-types.json`.

    Attributes:
        name: the normalized name, as `prune_lines(language=...)` takes and gives it.
        comment: the comment syntax of markers.
        aliases: other names that callers use.
        suffixes: endings of file names, with their dot.
        filenames: whole file names.
        shebangs: names of interpreters, without version.
        hints: regular expressions (multi-line mode) that each speak for this language in a text without a name.
        headings: for a format without a grammar, regular expressions of the lines that say what the lines after them
            belong to, outermost first; a kept line keeps its headings.
        frames: for a format without a grammar in which lines stand under the less indented line before them, a regular
            expression of how lines begin that close or go on with a block; None where indentation says nothing.
        blocks: for a format whose lines belong together by more than indentation and headings, a function from the
            lines and which of them are blank, bool [L], to what each needs. It takes the place of both.
        extends: the language that this one adds to; where the hints of both match, this one is meant.
        grammar: `module:function` of the grammar wheel; empty where the language is pruned line by line.
        lists: the kind, or `parent>kind`, of every node whose children can be cut one by one.
        comments: kinds of comment nodes.
        companions: kinds of clauses that stay with their statement (`else`, `except`, decorators).
        prefixes: kinds that belong to the child of the list that follows them (attributes before an item).
        padded: kinds whose leading and trailing white space doesn't belong to them (text between tags).
        opaque: kinds that are never cut inside though the grammar gives them children (strings).
        names: a tree-sitter query for scopes, bindings and uses; `captures.py` lists the captures.
        definitions: a tree-sitter query that captures, as `@name`, the names that people find their way by: those of
            functions, classes, types and the like, not of variables.
        builtins: names that are bound without the file's help.
        implicit_name: the name that a node captured as `@implicit` uses without spelling it.
        members_visible: whether functions in a class see its members by their bare names.
        parses: whether the language's own parser takes a text, for languages whose parser comes with Python; its answer
            decides about what the grammar marks as an error.
        joiners: characters that make an item that begins with them go on with the item before it, where no semicolon
            parts the two; such an item keeps its predecessor.
        continuation: the end of a line that goes on in the next line.
    """

    name: str
    comment: Comment
    aliases: frozenset[str] = frozenset()
    suffixes: frozenset[str] = frozenset()
    filenames: frozenset[str] = frozenset()
    shebangs: frozenset[str] = frozenset()
    hints: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    frames: str | None = None
    blocks: Callable[[Sequence[str], BoolArray], Frames] | None = None
    extends: str = ""
    grammar: str = ""
    lists: Mapping[str, ListKind] = field(default_factory=dict)
    comments: frozenset[str] = frozenset()
    companions: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    padded: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    names: str = ""
    definitions: str = ""
    builtins: frozenset[str] = frozenset()
    implicit_name: str = ""
    members_visible: bool = True
    parses: Callable[[str], bool] | None = None
    joiners: str = ""
    continuation: str = ""


# A block comment can be cut between its first and last row; the marker takes the asterisk that such rows begin with.
BLOCK_COMMENT = ListKind(by_row=True, comment=Comment("*"))
