"""Puts a pack together: head, tree, the files that won lines, and outlines of others, within one budget.

While lines are chosen their tokens are counted one by one. The finished text is counted as a whole: where that is less,
more lines are taken, and where it is more, the last ones are given up until it fits."""

import collections
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from lamr_base.errors import visible
from lamr_base.records import dataclass
from lamr_model.counters import Counter
from lamr_postprocess import BudgetError, Cut, SourceFile
from lamr_postprocess.document import Document
from lamr_postprocess.lines import IntArray
from lamr_postprocess.render import Style, sample_marker

from lamr_repositories.allocation import Allocation, Competitor, KeptPart, PartPrices
from lamr_repositories.formats import FileText, PackFormat, PackHead

_INDENT = "  "


@lru_cache(maxsize=65_536)  # a process that stays needs all of a repository's for each question
def _parts(path: str) -> list[str]:
    return visible(path).split("/")


def tree_within(paths: Sequence[str], limit: int, count_tokens: Callable[[str], int]) -> str:
    """Return the deepest tree of paths of at most `limit` tokens; empty where none fits.

    It has one name a line; deeper folders stand as the number of their files, and the least tree counts the
    endings."""
    rows = [_parts(path) for path in sorted(paths)]
    ends = collections.Counter(
        each[-1][each[-1].rfind(".") :] if "." in each[-1] else each[-1] for each in rows
    )
    best, text = "", ", ".join(f"{count:,} {ending}" for ending, count in ends.most_common(8))
    for depth in range(1, max(map(len, rows), default=1) + 2):
        # Counting a text of so many characters would cost more than the tree is worth.
        if len(text) > limit * 8 or count_tokens(text) > limit:
            break
        best, text = text, "\n".join(_tree(rows, depth, ""))
    return best


def _tree(rows: Sequence[list[str]], depth: int, indent: str) -> Iterable[str]:
    """Yield the lines of a folder, of whose files the names on the way are given; so many levels are opened."""
    folders = collections.defaultdict[str, list[list[str]]](list)
    for name, *inside in rows:
        if inside:
            folders[name].append(inside)
    for name, below in sorted(folders.items()):
        if depth > 1:
            yield f"{indent}{name}/"
            yield from _tree(below, depth - 1, indent + _INDENT)
        else:
            yield f"{indent}{name}/ ({len(below):,} file{'s' if len(below) > 1 else ''})"
    yield from (indent + row[0] for row in rows if len(row) == 1)


TREE_SHARE = 0.02
"""The share of a budget that the tree may take; lines get the rest, and outlines what these leave."""
NAMES_SHARE = 0.05
"""The share of what lines get that is kept for the imports and definitions of names in the best files' lines."""
MOST_OUTLINES = 200
MOST_OUTLINE_CHARS = 120
ONE_OUTLINE_SHARE = 0.25
"""The share of the room for outlines that one file may take; a longer outline is shortened, or left out."""
_LEAST_LINE = 3  # tokens of an outline's line: a number, a colon and a name
_ROUNDS = 4
_WORTH_IT = 0.01  # the share of a budget that is worth another round


@dataclass(frozen=True)
class Outlined:
    """A file that can be shown by its definitions."""

    path: str  # the file
    definitions: IntArray  # int64 [n, 2], the row of each, and in how many others it lies

    @property
    def outer(self) -> IntArray:
        """Those that lie in no other one, which stand for all where there isn't room for more."""
        outer: IntArray = self.definitions[self.definitions[:, 1] == 0]
        return outer

    def lines(self, source: SourceFile, definitions: IntArray) -> list[str]:
        """Return one line of text for each of some definitions."""
        spans = source.spans[definitions[:, 0]].tolist()
        texts = (source.text[first:stop].strip()[:MOST_OUTLINE_CHARS] for first, stop in spans)
        rows = zip(definitions.tolist(), texts, strict=True)
        return [f"{_INDENT * (depth + 1)}{row + 1}: {text}" for (row, depth), text in rows]


@dataclass(frozen=True, eq=False)
class WrittenPart:
    """One file of a finished pack: what is kept of it, its text and its cuts."""

    part: KeptPart
    text: str
    cuts: tuple[Cut, ...]


@dataclass(frozen=True, eq=False)
class WrittenPack:
    """A finished pack: its text and tokens, the files in it, and the paths that it outlines."""

    text: str
    tokens: int
    parts: tuple[WrittenPart, ...]
    outlined: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Writer:
    """One way to write, one way to count, one budget."""

    form: PackFormat  # the format
    counter: Counter  # counts tokens
    max_tokens: int  # the budget
    line_numbers: bool  # whether lines carry their numbers
    languages: Mapping[str, str]  # the languages' names, by path
    # gives the texts of files by path; None for one that isn't as it was when it was indexed
    read: Callable[[Sequence[str]], Sequence[SourceFile | None]]
    # whether files stand in the order of their paths, and not of their best lines' scores
    by_path: bool = False

    def write(
        self,
        about: PackHead,
        paths: Sequence[str],
        competitors: Sequence[Competitor],
        ranked: Iterable[Outlined],
        on_progress: Callable[[int, int], None] | None = None,
    ) -> WrittenPack:
        """Fill the budget.

        Args:
            about: what the head says.
            paths: all files, for the tree.
            competitors: the files whose lines compete.
            ranked: files that may be outlined, best first; those that get into the pack are passed over.
            on_progress: called with the tokens used and those there are.

        Raises:
            BudgetError: not even the head fits."""
        # No more are made than are used when every competitor gets into the pack.
        outlined = list(itertools.islice(ranked, MOST_OUTLINES + len(competitors)))
        form = self.form.closed(paths, [about.query, *(each.source.text for each in competitors)])
        writer, count = replace(self, form=form), self.counter.count_tokens
        tree = tree_within(paths, int(self.max_tokens * TREE_SHARE), count)
        begun = form.head(about) + (form.tree(tree) if tree else "")
        limit = self.max_tokens - count("".join([begun, *form.files, *form.outlines, form.tail]))
        allocation = Allocation(competitors, writer._prices)
        allocation.fill(int(limit * (1 - NAMES_SHARE)), on_progress)
        allocation.bind(limit)
        for _ in range(_ROUNDS):
            allocation.fill(limit, on_progress)
            written = writer._written(begun, allocation)
            spare = allocation.tokens - count(form.between.join(map(writer._file, written.parts)))
            if written.tokens > self.max_tokens or spare < self.max_tokens * _WORTH_IT:
                break
            limit += spare
        # What was taken last is given up until the pack fits, and the tree at the very end.
        while written.tokens > self.max_tokens and allocation.drop_last():
            written = writer._written(begun, allocation)
        if written.tokens > self.max_tokens:
            written = writer._written(form.head(about), allocation)
        if written.tokens > self.max_tokens:
            raise BudgetError(written.tokens, self.max_tokens)
        return writer._outlined(written, outlined)

    def _prices(self, each: Competitor, document: Document) -> PartPrices:
        form, path = self.form, each.source.path
        heading = form.file(FileText(path, self.languages[path], "")) + form.between
        lines = each.source.lines
        if self.line_numbers:
            lines = [f"{number}\t{line}" for number, line in enumerate(lines, 1)]
        marker = sample_marker(document).lstrip()
        prices = self.counter.count_each([form.inside(line) for line in [heading, marker, *lines]])
        return PartPrices(int(prices[0]), prices[2:], int(prices[1]) + self.line_numbers)

    def _written(self, head: str, allocation: Allocation) -> WrittenPack:
        """Write what was chosen, without outlines."""
        style = Style(line_numbers=self.line_numbers)
        chosen = allocation.parts
        if self.by_path:
            chosen.sort(key=lambda part: part.competitor.source.path)
        parts = tuple(WrittenPart(part, *part.render(style)) for part in chosen)
        files = self.form.between.join(map(self._file, parts))
        text = head + self.form.files[0] + files + self.form.files[1] + self.form.tail
        return WrittenPack(text, self.counter.count_tokens(text), parts, ())

    def _file(self, each: WrittenPart) -> str:
        path = each.part.competitor.source.path
        return self.form.file(FileText(path, self.languages[path], each.text, each.cuts))

    def _outlined(self, written: WrittenPack, outlines: Sequence[Outlined]) -> WrittenPack:
        """Return a pack with as many outlines as fit into what is left."""
        form = self.form
        frame = self.counter.count_tokens("".join(form.outlines))
        shown = self._shown(outlines, written.parts, self.max_tokens - written.tokens - frame)
        body = written.text.removesuffix(form.tail)
        while shown:
            rows = form.between.join(form.outline(*each) for each in shown.items())
            text = body + form.outlines[0] + rows + form.outlines[1] + form.tail
            if (tokens := self.counter.count_tokens(text)) <= self.max_tokens:
                return WrittenPack(text, tokens, written.parts, tuple(shown))
            shown = dict(itertools.islice(shown.items(), len(shown) // 2))
        return written

    def _shown(
        self, outlines: Sequence[Outlined], parts: Sequence[WrittenPart], left: int
    ) -> dict[str, list[str]]:
        """Return the lines of outlines that fit, best first, none of which takes more than its share of the room."""
        inside = {each.part.competitor.source.path for each in parts}
        others = [each for each in outlines if each.path not in inside][:MOST_OUTLINES]
        prices = self.counter.count_each([each.path for each in others]).tolist()
        most = left * ONE_OUTLINE_SHARE
        # Most are too long whatever their lines are, so their files aren't read.
        least = (price + _LEAST_LINE * len(each.outer) for each, price in zip(others, prices, strict=True))
        short = [each for each, tokens in zip(others, least, strict=True) if tokens <= most]
        shown: dict[str, list[str]] = {}
        for each, source in zip(short, self.read([each.path for each in short]), strict=True):
            priced = [] if source is None else self._priced(each, source)
            fitting = [(lines, cost) for lines, cost in priced if cost <= min(most, left)]
            if fitting and fitting[0][0]:
                shown[each.path] = fitting[0][0]
                left -= fitting[0][1]
        return shown

    def _priced(self, each: Outlined, source: SourceFile) -> list[tuple[list[str], int]]:
        """Return an outline and what stands for it where there is less room, with their tokens.

        There is none of a file whose lines imitate the format's marks."""
        forms = [each.lines(source, some) for some in (each.definitions, each.outer)]
        if self.form.mark("\n".join(map(visible, forms[0])), "") != self.form.mark("", ""):
            return []
        texts = [self.form.outline(each.path, lines) + self.form.between for lines in forms]
        return list(zip(forms, self.counter.count_each(texts).tolist(), strict=True))
