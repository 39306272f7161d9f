"""What a language is to this package: a table.

One `Language` names node kinds of a tree-sitter grammar and the syntax of comments; the engine (`outline`, `names`,
`repair`, `render`) reads it and contains no language of its own. A language without a grammar has only names and
comments, and is pruned line by line. This module knows the table's columns, not its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Comment:
    """How a marker is wrapped so that it stands on a line of its own: `opening` + text + `closing`."""

    opening: str
    closing: str = ""

    def wrap(self, text: str) -> str:
        """The marker's text as a comment."""
        return f"{self.opening} {text}{self.closing and ' ' + self.closing}" if self.opening else text


@dataclass(frozen=True)
class ListKind:
    """A node whose children can be cut one by one: a block, a class body, a collection literal.

    Attributes:
        filler: statement that stands for an emptied list where the grammar wants one (Python's `pass`).
        keep_first: the first child is kept with the node instead, where no filler can stand (`case` in `match`).
        separators: anonymous tokens that belong to the child before them.
        items: only children of these kinds or in these fields can be cut; empty means every named child.
        fixed: children of these kinds or in these fields belong to the node and can't be cut.
        comment: comment syntax inside this list, where it differs from the language's.
        by_row: the node is one text whose rows can be cut like children (a docstring).
        delimited: the first and last row of such a text hold its quotes and belong to the node.
        least_rows: a node of fewer rows is no such list.
        unless: kinds of children that make the node no such list (an interpolation in a text).
        results: kinds that, standing last in a function's body, are kept with any statement of that body.
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

    @property
    def is_literal(self) -> bool:
        """The children are parts of one expression, not statements."""
        return self.by_row or "," in self.separators


@dataclass(frozen=True, eq=False)  # compared and hashed by identity: there is one table a language
class Language:
    """One row of the registry. Kinds are named as in the grammar's `node-types.json`.

    Attributes:
        name: normalized name, as `prune_lines(language=...)` takes and gives it.
        comment: of the markers.
        aliases: other names that callers use.
        suffixes: file name endings, with their dot; filenames: whole file names.
        shebangs: interpreter names, without version.
        hints: regular expressions (multi-line mode) that each speak for this language in a text without a name.
        headings: of a format without a grammar, regular expressions of lines that say what the lines after them belong
            to, outermost first; a kept line keeps its headings.
        extends: the language that this one adds to; where both are recognized by their hints, this one is meant.
        grammar: `module:function` of the grammar wheel; empty means line level.
        lists: kind, or `parent>kind`, of every node whose children can be cut one by one.
        comments: kinds of comment nodes.
        companions: kinds of clauses that stay with their statement (`else`, `except`, decorators).
        prefixes: kinds that belong to the child of the list that follows them (attributes before an item).
        padded: kinds whose leading and trailing white space is not theirs (text between tags).
        opaque: kinds that are never cut inside though the grammar gives them children (strings).
        names: tree-sitter query for scopes, bindings and uses; the captures are listed in `names.py`.
        builtins: names that are bound without the file's help.
        implicit_name: the name that a node captured as `@implicit` uses without spelling it.
        members_visible: functions in a class see its members by their bare names.
        parses: whether the language's own parser takes a text, where Python has one; it settles what the grammar
            marks as an error.
        joiners: characters that, at the start of an item, would make it go on with the item before where no semicolon
            parts them; such an item keeps its predecessor.
        continuation: a line that ends with this goes on in the next line.
    """

    name: str
    comment: Comment
    aliases: frozenset[str] = frozenset()
    suffixes: frozenset[str] = frozenset()
    filenames: frozenset[str] = frozenset()
    shebangs: frozenset[str] = frozenset()
    hints: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    extends: str = ""
    grammar: str = ""
    lists: Mapping[str, ListKind] = field(default_factory=dict)
    comments: frozenset[str] = frozenset()
    companions: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    padded: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    names: str = ""
    builtins: frozenset[str] = frozenset()
    implicit_name: str = ""
    members_visible: bool = True
    parses: Callable[[str], bool] | None = None
    joiners: str = ""
    continuation: str = ""


# A block comment can be cut between its first and last row; the marker takes the asterisk that such rows begin with.
BLOCK_COMMENT = ListKind(by_row=True, comment=Comment("*"))
