"""The walk over a syntax tree that finds units, their frames and the lists that they stand in.

`outline.py` defines these words. The walk goes through the tree once, without recursion, so that
depth has no limit, and enters only nodes that span rows. To it, rows are numbers."""

from __future__ import annotations

import re
from dataclasses import field, replace
from functools import cache
from itertools import repeat

import tree_sitter
from lamr_base.records import dataclass

from lamr_postprocess.clock import in_time
from lamr_postprocess.languages import Comment, ListKind
from lamr_postprocess.syntax import ERROR, ParsedText

NOBODY = -1
UNIT_COLUMNS, SEGMENT_COLUMNS = 5, 4
TOP = 0
"""The unit that owns what lies outside all lists, which is usually nothing."""
_BEGINNING = 200  # bytes of an item that tell what it is
_ANY = ListKind()
_MOST_JOINED = 6
"""Rows of comments that are kept or cut together: half a sentence misleads, and a whole licence is more than that."""


@dataclass(eq=False, slots=True)
class ItemList:
    """A list node."""

    owner: int  # the unit that the list stands in
    kind: ListKind  # the list's specification
    statement: int  # the statement that its items belong to, or `NOBODY` where each is one
    markup: int  # the comment syntax of its items
    items: list[int] = field(default_factory=list)  # the list's units in order, without comments
    last_kind: str = ""  # the name of the last item's kind
    counted: int = NOBODY  # the last item that has its value by others, or `NOBODY`
    chained: int = 1  # up to which of the items each needs the one before it
    has_values: bool = False  # whether an item has a value of its own
    core: int = NOBODY  # the last item that the others are nothing without, or `NOBODY`
    beside: list[int] = field(default_factory=list)  # those others


class _Place:
    """Where the walk is. What most places lack is the class's, since the walk makes one for each node that it enters.

    Attributes:
        unit: the unit around.
        items: the list around, if the node around is one.
        companion: whether the node around belongs to a clause that accompanies another.
        last_item: the last item of that list so far, or `NOBODY`.
        list_end: the last row of the innermost list around.
        kind: the kind of the node around.
        fields: the names of the fields of the node around by the ids of its children, if its list needs them.
        prefix: whether the last item belongs to the next one.
        directive, section: the last units that say what the items after them mean.
        remark: a comment that belongs to the next item.
        documents: comments that are nothing without the next item.
        outer: the place around.
        column: the first column of the innermost list around, if that list goes by columns."""

    items: ItemList | None = None
    last_item = NOBODY
    fields: dict[int, str] | None = None
    prefix = False
    directive = section = remark = NOBODY
    documents: tuple[int, ...] = ()

    list_end = NOBODY
    column = 0

    def __init__(self, unit: int, companion: bool, kind: int, outer: _Place | None) -> None:
        self.unit, self.companion, self.kind, self.outer = unit, companion, kind, outer
        if outer is not None:
            self.list_end, self.column = outer.list_end, outer.column

    def at(self, column: int) -> _Place:
        """The place that a comment in a column belongs to; one further left than a list belongs to a list around it."""
        place: _Place = self
        while (
            column < self.column
            and place.outer is not None
            and (column < place.column or place.items is None)
        ):
            place = place.outer
        return place


@dataclass(eq=False, slots=True)
class _CommentAbove:
    """The last comment that begins a row."""

    first: int  # the first row of the comments that it goes on with
    last: int  # last, column, parent: its last row, its first column, and the unit around it
    column: int
    parent: int
    run: list[int]  # the units of the comments right above one another that it ends; its own is the last

    def stands_on(self, row: int, column: int, parent: int) -> bool:
        """Whether what begins there begins right below the comment."""
        return self.last == row - 1 and self.column == column and self.parent == parent


class Walk:
    """One walk over a tree: the units found, and the segments of their frames in document order.

    Both are numbers in a row, because a tuple for each would take more memory than the text. Lists grow faster than
    arrays, and share most of the numbers.

    Attributes:
        units: of each unit `UNIT_COLUMNS` numbers: the unit around it, its first row, the last row of the list around,
            the unit of its statement, and its comment syntax.
        segments: of each segment `SEGMENT_COLUMNS` numbers: its first and last row, its unit, and whether it belongs to
            a clause that accompanies another."""

    def __init__(self, source: ParsedText) -> None:
        self.grammar = source.grammar
        self.source = source
        self.careful = source.tree.root_node.has_error and source.grammar.language.parses is not None
        self.data = source.data
        self.ends = [*source.rows[:, 1].tolist(), 0]  # of the rows; the last one is that before the first
        self.comment: Comment | None = None  # of the language around, where it isn't the file's own
        self.followers: list[tuple[int, int]] = []  # (item, the item before it, which it needs)
        self.meanings: list[tuple[int, int]] = []  # (unit, a unit that says what it means)
        self.remarked: list[tuple[int, int]] = []  # (comment, the item that it stands right above)
        meanings = self.grammar.meanings
        self.marks = {  # what says something of others, by the byte where it begins
            found.start(found.lastgroup) - 1: found.lastgroup
            for found in (meanings.finditer(b"\n" + self.data) if meanings else ())
            if found.lastgroup
        }
        self.broken: set[int] = set()
        self.units: list[int] = []
        self.comments: dict[Comment, int] = {}
        self.comment_above: _CommentAbove | None = None
        self.joined: list[int] = []  # union-find over units; each points to itself or to one before it
        self.lists: list[ItemList] = []
        self.segments: list[int] = []
        self.last_row = -1
        self.last_unit = NOBODY

    def run(self, rows: int) -> None:
        """Visit nodes in document order and enter those that span rows."""
        top = self.new_unit(NOBODY, 0, rows - 1, NOBODY, NOBODY)
        assert top == TOP
        place = _Place(top, False, NOBODY, None)
        place.list_end = rows - 1
        self.visit_all(self.source.tree, place)

    def visit_all(self, tree: tree_sitter.Tree, place: _Place) -> None:
        """Visit all nodes of a tree."""
        plain, ends = self.grammar.plain, self.ends
        stack: list[tuple[_Place, list[tree_sitter.Node]]] = []
        nodes = [tree.root_node]  # the last one first; each goes with all that it holds when it was visited
        for _ in in_time(repeat(None)):
            inner = None
            while nodes:
                node = nodes.pop()
                end = node.end_byte
                if node.start_byte >= end:
                    if node.is_missing or node.is_error:
                        self.add_broken(place)
                    continue
                kind = node.kind_id
                if kind in plain and (place.items is None or not node.is_named):
                    # What most nodes are: a part of one row of a frame, of which nothing more is to be known.
                    row = self.last_row
                    if end < ends[row] or (row := node.start_point[0]) == node.end_point[0]:
                        unit = place.unit if place.items is None else self.unit_of_token(kind, place)
                        if row > self.last_row or unit != self.last_unit:
                            self.emit(unit, row, row, place.companion)
                        continue
                elif kind == ERROR:
                    self.add_broken(place)
                inner = self.visit(node, kind, place)
                if inner is not None:
                    break
            if inner is not None:
                stack.append((place, nodes))
                place, nodes = inner, node.children[::-1]
            elif stack:
                place, nodes = stack.pop()
            else:
                return

    def add_broken(self, place: _Place) -> None:
        """Note an error in the frame around, or in the item before it if it stands in a list."""
        self.broken.add(place.unit if place.items is None else place.last_item)
        place.prefix = True

    def visit(self, node: tree_sitter.Node, kind: int, place: _Place) -> _Place | None:
        """Emit the node's rows, or return the place of its children if the walk must enter the node."""
        (row, left), (last, column) = node.start_point, node.end_point
        if column == 0 and last > row:
            last -= 1  # the node ends with the newline of the row before
        if kind not in self.grammar.plain:
            return self.visit_told(node, kind, (row, left, last), place)
        unit, is_item = self.unit_of(node, kind, row, left, place)
        companion = place.companion and not is_item
        if last == row or (self.careful and is_item and node.has_error):
            self.emit(unit, row, last, companion)
            return None
        return self.enter(node, row, last, _Place(unit, companion, kind, place))

    def visit_told(
        self, node: tree_sitter.Node, kind: int, edges: tuple[int, int, int], place: _Place
    ) -> _Place | None:
        """Visit a node whose kind the language's table names: its first row and column, and its last row, are known."""
        grammar, (row, left, last) = self.grammar, edges
        if kind in grammar.padded:
            row, last = _inked_rows(node, row)
            if row > last:
                return None
        if kind in grammar.comments:
            unit, is_item = self.comment_unit(node, row, last, place), True
        else:
            unit, is_item = self.unit_of(node, kind, row, left, place)
        companion = (place.companion and not is_item) or kind in grammar.companions
        spec = self.list_kind(node, grammar.lists[kind], place.kind) if kind in grammar.lists else None
        by_row = spec is not None and spec.by_row
        whole = (kind in grammar.comments or kind in grammar.opaque) and not by_row
        broken = self.careful and (kind == ERROR or (is_item and node.has_error))
        cut_inside = spec is not None and not (is_item and (spec.delimited or not by_row))
        if whole or broken or (last == row and not cut_inside):
            self.emit(unit, row, last, companion)
            return None
        inner = _Place(unit, companion, kind, place)
        if spec is None:
            return self.enter(node, row, last, inner)
        if by_row:
            self.emit_rows(unit, row, last, spec)
            return None
        inner.list_end, inner.column = last, left if spec.by_column else 0
        inner.items = ItemList(unit, spec, *self.shared(unit, spec))
        inner.fields = _fields(node) if spec.items or spec.fixed else None
        self.lists.append(inner.items)
        return inner

    def enter(self, node: tree_sitter.Node, row: int, last: int, inner: _Place) -> _Place | None:
        """Return the place inside a frame of several rows, if anything of it is known but the rows."""
        if node.child_count:
            return inner
        part = self.source.embedded.get(node.start_byte) if self.comment is None else None
        if part is None or inner.outer is None:
            self.emit(inner.unit, row, last, inner.companion)
        else:
            self.visit_part(part, inner.outer)
        return None

    def visit_part(self, part: ParsedText, place: _Place) -> None:
        """Visit a part in another language."""
        outer, self.grammar, self.comment = self.grammar, part.grammar, part.grammar.language.comment
        self.visit_all(part.tree, place)
        self.grammar, self.comment = outer, None

    def unit_of(
        self, node: tree_sitter.Node, kind: int, row: int, left: int, place: _Place
    ) -> tuple[int, bool]:
        """The unit that the node's tokens belong to, and whether the node is a unit itself."""
        items = place.items
        if items is None:
            return place.unit, False
        if not node.is_named:
            return self.unit_of_token(kind, place), False
        if place.fields is not None and not self.can_be_cut(node, kind, place.fields, items):
            return place.unit, False
        return self.item_unit(node, kind, (row, left), place, items), True

    def can_be_cut(self, node: tree_sitter.Node, kind: int, fields: dict[int, str], items: ItemList) -> bool:
        """Whether a child is one of the list's items, where not all are, by its kind or its field."""
        marks, spec = {self.grammar.names[kind], fields.get(node.id)}, items.kind
        return marks.isdisjoint(spec.fixed) and not (spec.items and marks.isdisjoint(spec.items))

    def item_unit(
        self, node: tree_sitter.Node, kind: int, begin: tuple[int, int], place: _Place, items: ItemList
    ) -> int:
        """A unit for an item of the list around, which begins in that row and column."""
        grammar, spec, (row, left) = self.grammar, items.kind, begin
        unit = self.new_unit(place.unit, row, place.list_end, items.statement, items.markup)
        if place.last_item != NOBODY:
            if place.prefix:
                self.join(unit, place.last_item)
            elif grammar.joiners and self.data[node.start_byte] in grammar.joiners and not spec.is_literal:
                self.followers.append((unit, place.last_item))
        above = self.comment_above
        if above is not None and above.last == row - 1 and above.stands_on(row, left, place.unit):
            self.remarked += [(each, unit) for each in above.run]
        place.last_item, place.prefix = unit, kind in grammar.prefixes
        items.items.append(unit)
        items.last_kind = grammar.names[kind]
        if kind in grammar.labels and node.children[-1].type == ":":
            place.prefix = True
        if self.marks:
            self.give_meaning(node, unit, place)
        if spec.counts:
            self.count(node, items)
        if spec.core:
            self.tell_core(node, items)
        return unit

    def unit_of_token(self, kind: int, place: _Place) -> int:
        """The unit that a node belongs to which is no unit itself: a separator belongs to the item before it."""
        items = place.items
        if items is None or place.last_item == NOBODY:
            return place.unit
        return place.last_item if self.grammar.names[kind] in items.kind.separators else place.unit

    def give_meaning(self, node: tree_sitter.Node, unit: int, place: _Place) -> None:
        """Note what says what an item means, and what the item says of those after it."""
        mark = self.marks.get(node.start_byte)
        if place.remark != NOBODY:
            self.join(unit, place.remark)
            place.remark = NOBODY
        self.meanings += [(each, unit) for each in place.documents]
        place.documents = ()
        if place.directive != NOBODY:
            self.meanings.append((unit, place.directive))
        if mark == "directives":
            place.directive = unit
        elif mark == "sections":
            place.section = unit
        elif place.section != NOBODY:
            self.meanings.append((unit, place.section))
        if mark == "remarks":
            place.prefix = True

    def count(self, node: tree_sitter.Node, items: ItemList) -> None:
        """Note the items without which the last one would have another value."""
        spec, units = items.kind, items.items
        counts = bool(spec.counter) and _expression(spec.counter).match(
            self.data, node.start_byte, node.end_byte
        )
        valued = node.type in spec.valued or any(node.child_by_field_name(each) for each in spec.valued)
        if spec.counter and not spec.valued:
            if counts and items.counted != NOBODY:
                self.meanings.append((units[-1], items.counted))
        elif counts or not (valued or (spec.counts_late and not items.has_values)):
            by_place = bool(spec.counter) and (counts or items.counted != NOBODY)
            first = items.chained if by_place else max(1, len(units) - 1)
            self.meanings += zip(units[first:], units[first - 1 :], strict=False)
            items.chained = len(units)
        items.has_values |= valued
        if counts:
            items.counted = units[-1]

    def tell_core(self, node: tree_sitter.Node, items: ItemList) -> None:
        """Note whether the last item is one that the others are nothing without."""
        begin = self.data[node.start_byte : min(node.end_byte, node.start_byte + _BEGINNING)]
        if _expression(items.kind.core).match(node.type.encode() + b" " + begin):
            items.core = items.items[-1]
        else:
            items.beside.append(items.items[-1])

    def comment_unit(self, node: tree_sitter.Node, row: int, last: int, place: _Place) -> int:
        """A unit for a comment; one that begins a row goes on with a short one right above, if there is one."""
        place = place.at(node.start_point[1])
        unit = self.new_unit(place.unit, row, place.list_end, *self.shared(place.unit, _ANY))
        if place.items is not None and place.items.kind.core and place.unit == TOP:
            place.items.beside.append(unit)
        if self.marks:
            self.give_comment_meaning(node, unit, place)
        above, self.comment_above = self.comment_above, None
        column = node.start_point[1]
        if row > self.last_row:
            first = row
            run = above.run if above and above.stands_on(row, column, place.unit) else []
            if above and run and last - above.first < _MOST_JOINED:
                self.join(unit, run[-1])
                first = above.first
            run.append(unit)
            if self.marks.get(node.start_byte) != "asides":
                self.comment_above = _CommentAbove(first, last, column, place.unit, run)
        return unit

    def give_comment_meaning(self, node: tree_sitter.Node, unit: int, place: _Place) -> None:
        """Note what a comment says of what comes after it, or of what it stands in."""
        mark = self.marks.get(node.start_byte)
        if mark == "directives":
            if place.directive != NOBODY:
                self.meanings.append((unit, place.directive))
            place.directive = unit
        elif mark == "remarks":
            place.remark = unit
        elif mark == "documents":
            place.documents += (unit,)
        elif mark == "asides":
            self.join(unit, place.unit)

    @staticmethod
    def list_kind(node: tree_sitter.Node, specs: dict[int, ListKind], parent_kind: int) -> ListKind | None:
        """The specification of a node that is a list, or None."""
        spec = specs.get(parent_kind) or specs.get(-1)
        if spec is None or not spec.depends:
            return spec
        if node.end_point[0] - node.start_point[0] + 1 < spec.least_rows:
            return None
        if spec.unless and any(child.type in spec.unless for child in node.children):
            return None
        if (
            spec.first_behind
            and node.prev_sibling is not None
            and node.prev_sibling.type in spec.first_behind
        ):
            spec = _with_first(spec)
        if spec.unfilled and node.children and node.children[0].type == spec.unfilled:
            spec = _may_be_empty(spec)
        return spec

    def new_unit(self, parent: int, row: int, list_end: int, statement: int, markup: int) -> int:
        """Make a unit; without a statement around, it is one itself."""
        number = len(self.joined)
        self.joined.append(number)
        self.units += (parent, row, list_end, number if statement == NOBODY else statement, markup)
        return number

    def shared(self, owner: int, kind: ListKind) -> tuple[int, int]:
        """The statement and the comment syntax that items of a list have in common."""
        comment, comments = kind.comment or self.comment, self.comments
        markup = NOBODY if comment is None else comments.setdefault(comment, len(comments))
        return self.units[UNIT_COLUMNS * owner + 3] if kind.is_literal else NOBODY, markup

    def emit(self, unit: int, row: int, last: int, companion: bool) -> None:
        """Give the rows `row` to `last` to the unit; a row that the previous segment touched joins both units."""
        if row <= self.last_row:
            self.join(unit, self.last_unit)
            row = self.last_row + 1
        if row <= last:
            self.segments += (row, last, unit, companion)
            self.last_row = last
        self.last_unit = unit

    def emit_rows(self, unit: int, row: int, last: int, kind: ListKind) -> None:
        """Emit a text whose inner rows are units by themselves, such as a docstring between its quotes."""
        edge = 1 if kind.delimited else 0
        if edge:
            self.emit(unit, row, row, False)
        shared = self.shared(unit, kind)
        for inner in range(row + edge, last + 1 - edge):
            self.emit(self.new_unit(unit, inner, last, *shared), inner, inner, False)
        if edge:
            self.emit(unit, last, last, False)

    def find(self, unit: int) -> int:
        """The unit that stands for all those that this one is joined with."""
        while self.joined[unit] != unit:
            self.joined[unit] = self.joined[self.joined[unit]]
            unit = self.joined[unit]
        return unit

    def join(self, one: int, other: int) -> None:
        """Make two units one group."""
        a, b = self.find(one), self.find(other)
        self.joined[max(a, b)] = min(a, b)

    def close_broken(self) -> None:
        """Join each unit that has an error in its frame with all units inside it, where nothing can be relied on."""
        if self.broken:
            self.broken.discard(NOBODY)
            for unit, parent in enumerate(self.units[::UNIT_COLUMNS]):
                if parent in self.broken:
                    self.join(unit, parent)
                    self.broken.add(unit)


@cache
def _with_first(kind: ListKind) -> ListKind:
    return replace(kind, keep_first=True)


@cache
def _may_be_empty(kind: ListKind) -> ListKind:
    return replace(kind, filler="", unfilled="")


@cache  # as many as tables have
def _expression(expression: str) -> re.Pattern[bytes]:
    return re.compile(expression.encode())


def _fields(node: tree_sitter.Node) -> dict[int, str]:
    """The field of each child that has one, by the child's id."""
    cursor, fields = node.walk(), {}
    within = cursor.goto_first_child()
    while within:
        if cursor.field_name is not None and cursor.node is not None:
            fields[cursor.node.id] = cursor.field_name
        within = cursor.goto_next_sibling()
    return fields


def _inked_rows(node: tree_sitter.Node, row: int) -> tuple[int, int]:
    """The first and last row of a node's text without the white space around it.

    A node of white space alone has a first row that is greater than its last."""
    text = node.text or b""
    inner = text.lstrip()
    first = row + text[: len(text) - len(inner)].count(b"\n")
    return (first, first + inner.rstrip().count(b"\n")) if inner else (row + 1, row)
