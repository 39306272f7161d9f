"""What a grammar that isn't lamr's says of a text: whether it parses, and which parts of it can't be parted.

Only what is parsed without an error is judged, so that a grammar's own faults count nowhere. Brackets are pygments'
tokens, which need no parse."""

import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import tree_sitter
from pygments.lexers import get_lexer_for_filename
from pygments.token import Operator, Punctuation
from pygments.util import ClassNotFound
from tree_sitter_language_pack import get_language

SECONDS = 10.0
_PIECE = 1 << 16
_COMMENT = re.compile(r"(?i:\w*comment\w*)")
_WHOLE = re.compile(
    r"(?i:\w*comment\w*)|string\w*|\w*_string|\w*string_literal\w*|template_literal|\w*here_?(?:doc|string)\w*|nowdoc\w*|"
    r"block_scalar|char\w*_literal|quoted_\w+|"
    r"start_tag|self_closing_tag|end_tag|STag|ETag|EmptyElemTag|CDSect|"
    r"minus_metadata|plus_metadata|front_?matter|directive|interpolation_statement|embedded_code"
)
_NOT_WHOLE = frozenset(
    {"string_array", "concatenated_string", "comment_directive", "string_content", "comments"}
)
_RAW = re.compile(r"raw_text|\w*script_element|\w*style_element")
_LINE_COMMENT = re.compile(r"[ \t]*(//[/!]?|--|#+|;+|%+|\"|')")
_FENCE = "fenced_code_block"


@dataclass(frozen=True)
class Part:
    """A part of a text that is kept or cut as a whole: the kind of its node, its first and last row from 0."""

    kind: str
    first: int
    last: int


@lru_cache(maxsize=256)
def _parser(grammar: str) -> tree_sitter.Parser:
    return tree_sitter.Parser(get_language(grammar))  # type: ignore[arg-type]  # its names are a Literal


def parsed(text: str, grammar: str) -> tree_sitter.Tree | None:
    """The tree of a text; None where the parser takes too long."""
    data = re.sub(rb"\r(?!\n)", b"\n", text.encode("utf-8", "surrogatepass")).replace(b"\0", b" ")
    end = time.monotonic() + SECONDS
    try:
        return _parser(grammar).parse(
            lambda offset, _: data[offset : offset + _PIECE],
            progress_callback=lambda _offset, _error: time.monotonic() > end,
        )
    except ValueError:  # what tree-sitter raises for a parse that its callback ends
        return None


def bracket_pairs(text: str, name: str) -> list[tuple[int, int]]:
    """The first and the last row of what brackets hold over several rows, by the tokens of a file of this name; nothing
    where a bracket of the text lacks its other half."""
    try:
        tokens = get_lexer_for_filename(name).get_tokens_unprocessed(re.sub(r"\r(?!\n)", "\n", text))
    except ClassNotFound:
        return []
    signs = (
        (at + offset, sign)
        for at, kind, value in tokens
        if kind in Punctuation or kind in Operator
        for offset, sign in enumerate(value)
        if sign in "()[]{}"
    )
    opened: list[tuple[str, int]] = []
    found: list[tuple[int, int]] = []
    for at, sign in signs:
        if sign in "([{":
            opened.append((sign, at))
        elif opened and opened[-1][0] + sign in {"()", "[]", "{}"}:
            found.append((opened.pop()[1], at))
        else:
            return []
    ends = [match.start() for match in re.finditer(r"\r\n?|\n", text)]
    rows = ((bisect_left(ends, first), bisect_left(ends, last)) for first, last in found)
    return [] if opened else [(first, last) for first, last in rows if first < last]


def whole_parts(tree: tree_sitter.Tree, lines: Sequence[str]) -> list[Part]:
    """The outermost parts of several rows that can't be parted; fenced code, too, whose fences need each other."""
    return [part for part in _parts(tree) if part.last < len(lines) and not _is_of_line_comments(part, lines)]


def _parts(tree: tree_sitter.Tree) -> Iterator[Part]:
    cursor = tree.walk()
    while True:
        node = cursor.node
        assert node is not None
        first, last = _rows(node)
        whole = first < last and (_is_whole(node.type) or node.type == _FENCE)
        if whole:
            yield Part(node.type, first, last)
        if first < last and not whole and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _is_whole(kind: str) -> bool:
    return kind not in _NOT_WHOLE and _WHOLE.fullmatch(kind) is not None


def _rows(node: tree_sitter.Node) -> tuple[int, int]:
    """First and last row of a node; white space at its ends isn't counted."""
    text = node.text or b""
    before = len(text) - len(text.lstrip())
    return (
        node.start_point.row + text.count(b"\n", 0, before),
        node.start_point.row + text.rstrip().count(b"\n"),
    )


def _is_of_line_comments(part: Part, lines: Sequence[str]) -> bool:
    """Whether every row is a comment by itself: some grammars make one node of such neighbours."""
    return _are_line_comments(lines[part.first : part.last + 1])


def _are_line_comments(lines: Sequence[str]) -> bool:
    return all(_LINE_COMMENT.match(line) for line in lines if line.strip())


def around(tree: tree_sitter.Tree, row: int, column: int) -> tuple[str, bool]:
    """What a marker's words stand in: the kind of the innermost part around them that isn't theirs, and whether they
    are a comment of their own.

    Args:
        tree: of the text that holds the marker.
        row: the marker's row.
        column: the byte in which its words begin."""
    point = tree_sitter.Point(row, column)
    node = tree.root_node.descendant_for_point_range(point, point)
    own = False
    while node is not None:
        first, last = _rows(node)
        alone = first == row == last
        if _COMMENT.fullmatch(node.type):
            if alone or _are_line_comments((node.text or b"").decode("utf-8", "replace").split("\n")):
                return "", True
            return node.type, False
        if _is_whole(node.type) or (_RAW.fullmatch(node.type) and not alone):
            return node.type, own
        node = node.parent
    return "", own
