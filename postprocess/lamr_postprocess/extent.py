"""How much of a text is damaged, by its tree, and where."""

from collections.abc import Iterator, Sequence

import tree_sitter
from lamr_base.records import dataclass

from lamr_postprocess.syntax import ParsedText


@dataclass(frozen=True, order=True)
class Extent:
    """How much of a text is damaged: the rows of the outermost nodes with errors, and the number of errors."""

    rows: int
    errors: int


def extent_of(tree: tree_sitter.Tree) -> Extent:
    """How much of a text is damaged, by its tree."""
    root = tree.root_node
    if not root.has_error:
        return Extent(0, 0)
    outer = [root] if root.is_error else [each for each in root.children if each.has_error or each.is_missing]
    rows = sum(node.end_point[0] - node.start_point[0] + 1 for node in outer)
    return Extent(rows, sum(node.end_point[0] - node.start_point[0] + 1 for node in _errors(outer)))


def error_rows(tree: tree_sitter.Tree) -> set[int]:
    """The rows that errors are in; none where the whole text is one."""
    root = tree.root_node
    nodes = () if root.is_error else _errors([root])
    return {row for node in nodes for row in range(node.start_point[0], _last_row(node) + 1)}


def broken_rows(source: ParsedText) -> frozenset[int]:
    """The rows that errors are in, or that were mended."""
    broken = error_rows(source.tree) if source.tree.root_node.has_error else set[int]()
    if source.damage is not None:
        broken.update(source.damage.rows)
        broken.update(row for first, last in source.damage.told for row in range(first, last + 1))
    return frozenset(broken)


def _last_row(node: tree_sitter.Node) -> int:
    """The last row that a node has a character in."""
    (first, _), (last, column) = node.start_point, node.end_point
    return last - (column == 0 and last > first)


def _errors(nodes: Sequence[tree_sitter.Node]) -> Iterator[tree_sitter.Node]:
    """The outermost errors in some nodes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node.is_missing or node.is_error:
            yield node
        else:
            stack += [each for each in node.children if each.has_error or each.is_missing]


def whole_texts(source: ParsedText) -> Iterator[tuple[int, int]]:
    """The first and last row of each comment and string of several rows that the grammar could read."""
    whole = source.grammar.comments | source.grammar.opaque
    stack = [source.tree.root_node]
    while stack:
        node = stack.pop()
        first, last = node.start_point[0], node.end_point[0]
        if first == last:
            continue
        if node.kind_id in whole and not node.has_error:
            yield first, last - (node.end_point[1] == 0)
        else:
            stack += node.children
