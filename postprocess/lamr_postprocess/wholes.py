"""What can't be parted in a text without a tree, and the blocks of a template's tags.

The `wholes` expressions of a language's table say what stands together whatever its indentation: a block comment, a
here-document, a text over several lines, a front matter. A line that its end says goes on (`goes_on`) stands with the
next one. A template adds its tags, and the blocks that they open and close; a language's words may do so,
too."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.atomic import Found, found_in, masked
from lamr_postprocess.clock import in_time
from lamr_postprocess.languages import Language
from lamr_postprocess.languages.table import NEVER, Scan
from lamr_postprocess.lines import BOM, BoolArray, IntArray
from lamr_postprocess.pairs import Pairs, paired, pairs_in, tags_in
from lamr_postprocess.source_file import SourceFile

_NONE = -1
_MOST_CALL_ROWS = 12
_MOST_HEADER_ROWS = 12
_CLOSING = ")]}"
_ENDS_STATEMENT = expression(r"[;{}][ \t]*$|^[ \t]*(?:(?:case|when)\b.*|[\w-]+):[ \t]*$")
_BEGINS_BODY = expression(r"\{|(?i:begin|is|as|then|do|loop)")


@dataclass(frozen=True, eq=False)
class Wholes:
    """What of R rows stands together."""

    head: IntArray  # [R], the first row of what each row belongs to; its own number where it stands by itself
    # [R], the row whose tag or word opens the block that each row lies in, negative for none
    around: IntArray
    inside: IntArray  # [R], the row whose bracket is open where each row begins, negative for none
    # rows of tags or words that need each other: those of one block
    together: tuple[tuple[int, ...], ...] = ()
    tags: tuple[int, ...] = ()  # rows that begin with a tag of a block, whose indentation says nothing
    # rows of comments or of a template's tags alone, which no other row stands under
    remarks: tuple[int, ...] = ()
    code: tuple[str, ...] = ()  # the rows with comments blanked out and other texts made quotes


def wholes_of(source: SourceFile) -> Wholes:
    """Find what stands together in a text; its language's table says what to look for."""
    lines, spans, language = source.body_lines, source.layout.spans, source.language
    rows = len(lines)
    # Expressions know one end of a line, and no mark of the byte order; offsets stay.
    text = source.body.replace("\r\n", " \n").replace("\r", "\n").replace(BOM, " ")
    found = list(found_in(text, language.wholes))
    inked = masked(text, found, '"')
    pairs = source.pairs or _brackets(inked, spans, language)
    around, tags = np.full(rows, _NONE), list[int]()
    together: list[tuple[int, ...]] = [(pair.first, pair.last) for pair in pairs.pairs]
    own = ((each, (*language.wholes, *each.tags)) for each in language.words)
    for kind, wholes in (*own, *((each, each.tags) for each in language.templates)):
        signs = [each for each in found_in(text, wholes) if each[2] in kind.tags]
        tokens = tags_in(text, signs, spans, kind)
        blocks = paired(tokens, rows)
        around = np.maximum(around, blocks.between)
        together += [(pair.first, *pair.branches, pair.last) for pair in blocks.pairs]
        begin = (row for _, _, row, at, _ in tokens if not text[int(spans[row, 0]) : at].strip())
        tags += begin if kind.anywhere else ()
        found += signs if kind in language.templates else ()
    joined, ended, touched = _joined(text, found, spans)
    said_apart = set(tags)
    code = tuple("" if at in said_apart else inked[i:k] for at, (i, k) in enumerate(spans.tolist()))
    bare = masked(text, sorted((each for each in found if each[2].says_nothing), key=itemgetter(0)), " ")
    remarks = [row for row in sorted(touched) if not bare[slice(*spans[row])].strip()]
    joined[[row + 1 for row in _going(code, language) if row not in ended]] = True
    for first, last in (*_spread(inked, code, spans, pairs, language), *pairs.texts):
        joined[first + 1 : last + 1] = True
    head = np.maximum.accumulate(np.where(joined[:rows], 0, np.arange(rows)))
    return Wholes(head, around, pairs.around, tuple(together), tuple(tags), tuple(remarks), code)


def _brackets(inked: str, spans: IntArray, language: Language) -> Pairs:
    """The brackets of a format without a scan, if rows that begin with one close a block."""
    which = language.brackets
    if not re.match(language.frames or NEVER, which[-1:]):
        return Pairs(len(spans))
    signs, pairs = re.escape(which), dict(zip(which[::2], which[1::2], strict=True))
    return pairs_in(inked, spans, Scan(signs, (), pairs, f"[{signs}]"))


def _joined(text: str, found: Sequence[Found], spans: IntArray) -> tuple[BoolArray, set[int], set[int]]:
    """Which of R rows stand with the one before, bool [R + 1]; which end what is over several; which hold remarks."""
    rows = len(spans)
    joined, ended, remarks = np.zeros(rows + 1, np.bool_), set[int](), set[int]()
    if not found:
        return joined, ended, remarks
    places = np.array([(start, end) for start, end, _ in found])
    first, last = np.searchsorted(spans[:, 1], places - np.array([0, 1]), side="right").T
    # Rows that something begins before and ends in or behind: the sum of what has begun and not ended.
    change = np.zeros(rows + 2, np.int64)
    np.add.at(change, first + 1, 1)
    np.add.at(change, last + 1, -1)
    for (_, end, whole), begin, row in zip(found, first.tolist(), last.tolist(), strict=True):
        if begin < row and not text[end : int(spans[row, 1])].strip():
            ended.add(row)
        if whole.says_nothing:
            remarks.update(range(begin, row + 1))
    return np.cumsum(change)[: rows + 1] > 0, ended, remarks


def _going(code: Sequence[str], language: Language) -> Iterator[int]:
    """The rows that go on in the next one; blank ones and comments between go on, too."""
    goes_on, going_back = (re.compile(each or NEVER) for each in (language.goes_on, language.goes_back))
    going, last = False, _NONE
    for row, line in enumerate(in_time(code)):
        if not line.strip():
            continue
        if (going and line.lstrip()[0] not in _CLOSING) or (last != _NONE and going_back.match(line)):
            yield from range(last, row)
        going, last = goes_on.search(line.rstrip()) is not None, row


def _spread(
    text: str, code: Sequence[str], spans: IntArray, pairs: Pairs, language: Language
) -> Iterator[tuple[int, int]]:
    """The first and last row of statements that are spread over rows: heads with their bodies, calls, long headers."""
    braces, round_ones = ([pair for pair in pairs.pairs if text[pair.opening] == each] for each in "{(")
    begins = [pair.first for pair in braces]
    for first, last, *_ in round_ones if language.calls else ():
        inner = bisect_left(begins, first)
        if last - first < _MOST_CALL_ROWS and not (inner < len(begins) and begins[inner] <= last):
            yield first, last
    inked = [row for row, line in enumerate(code) if line.strip()]
    for found in re.finditer(language.heads, text, re.MULTILINE) if language.heads else ():
        first, last = np.searchsorted(spans[:, 1], (found.start(), found.end() - 1), side="right").tolist()
        body = bisect_right(inked, last)
        yield first, inked[body] if body < len(inked) else last
    closing = {pair.first: pair.last for pair in braces}
    indents = [len(line) - len(line.lstrip()) for line in code]
    for at, row in enumerate(inked):
        line = code[row].strip()
        if line.endswith("{") or _BEGINS_BODY.fullmatch(line):
            end = row if len(line) == 1 or not line.endswith("{") else closing.get(row, row)
            first = _header(code, inked[max(0, at - _MOST_HEADER_ROWS) : at], indents, indents[end])
            if first < row and (end == row or indents[end] < indents[row]):
                yield first, row


def _header(code: Sequence[str], before: Sequence[int], indents: Sequence[int], depth: int) -> int:
    """The row at a depth that begins the header which these rows end, or a number beyond all rows for none."""
    for number, row in enumerate(reversed(before)):
        if _ENDS_STATEMENT.search(code[row].rstrip()) or indents[row] < depth:
            break
        if indents[row] == depth:
            return row if number else len(code)
    return len(code)
