"""What the line model reads of each line before any learned vector: its form, its place, and the query's words in it.

Positions are lines with ink: blank ones say nothing and are left out. The module knows words, layouts and learned
weights of words as numbers; it knows no vectors and no layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from lamr_base.arrays import Float32Array, Float64Array
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout
from numpy.typing import NDArray

from lamr_model.bm25 import rarity as rarity_of
from lamr_model.scoring.document_words import DocumentWords
from lamr_model.scoring.evidence import lexical_views, moving_sum
from lamr_model.scoring.query_words import FEATURES, QueryWords
from lamr_model.words import TermCounts

FORMS = (
    *("comment", "marks", "imports", "length", "repeats", "indent", "opening", "begins"),
    *("named", "rarity", "words", "asks"),
)
"""What is known of a line without its words' match: the forms of `LineForms`; steps of indentation, a quarter each;
whether it may head others and whether it begins a block; how near it is to a line that the query names; how rare its
words are, and how many; whether the query asks."""
LEXICAL = ("own", "own_share", "block_share", "above_own", "above_above", "own_sum", "wide_sum")
"""How the query's words match, each word by its weight: in the line, by the best of the file; what the line and its
block have of the query's weight; the first of the line that heads it, and of the one that heads that; the sums in the
line, and in it and ten lines on both sides, as logarithms."""
EVIDENCE = (
    *("windows", "passages", "around", "rare"),
    *("above_around", "above_rare", "above_passages", "below_rare", "below_around"),
)
"""BM25 and rarity of the query's rarest words (`LexicalViews`), the same of the line that heads it, and the means over
the lines that it heads."""
IN_FILE = ("absent", "rarity", "heads", "heads_share")
"""What a file says of a query's word: whether it lacks it, how rare it is, whether lines that head others have it, and
which share of its lines these are."""
WIDE = 10
MOST_EVIDENCE = 48
"""Of a query's words the rarest that the file has make up the evidence; it costs time for each word and line."""
MOST_WORDS = 400
"""Of a query's words those that say most about the file are weighed; the others are left out."""
_DEEPEST = 12  # steps of indentation beyond which a line is no deeper than others
LEAST_SUM = 1e-6
"""What is added to a sum that others are divided by."""
_MOST_LETTERS = 10  # longer words count no more
LONGEST = 120
"""The characters beyond which a longer line is no longer than others."""
# The two characters that a line of comment begins with. A `#` before a letter is a directive in C, before `[` an
# attribute in Rust. What begins with `*` goes on in a comment of several lines.
_COMMENT_SIGNS = ("//", "/*", "*/", "* ", "*\n", "**", "# ", "#\n", "##", "#!", "--", '""', "''")
_COMMENT_CODES = np.array([ord(sign[0]) * 256 + ord(sign[1]) for sign in _COMMENT_SIGNS])
# What a line begins with that makes names of other files known, or names the file's own package.
_IMPORT_SIGNS = (
    *("import ", "import(", "from ", "export * from", "require", "use ", "pub use ", "extern crate "),
    *("using ", "namespace ", "package ", "#include", "# include", "#import", "include ", "include_once"),
)
_BEGINS_IMPORT = np.array([any(sign[0] == chr(point) for sign in _IMPORT_SIGNS) for point in range(129)])


@dataclass(frozen=True, eq=False)
class Positions:
    """The I lines with ink among L, and how they belong together."""

    layout: LineLayout  # the L lines
    lines: NDArray[np.int64]  # [I], their numbers
    place: NDArray[np.int64]  # [L], the position of each line; -1 for a blank one
    blocks: NDArray[np.int64]  # [I], the number of each one's block, from 0 without gaps
    header: NDArray[np.int64]  # [I], the position of the line that heads each one; -1 without one

    @classmethod
    def of(cls, words: DocumentWords) -> Positions:
        """Return the positions of a document's lines."""
        layout = words.layout
        lines = np.flatnonzero(~layout.blank)
        place = np.full(len(layout.blank) + 1, -1, np.int64)  # the last one for a line that has no header
        place[lines] = np.arange(len(lines))
        blocks = layout.blocks[lines]
        dense: NDArray[np.int64] = np.cumsum(np.diff(blocks, prepend=blocks[:1]) > 0)
        return cls(layout, lines, place[:-1], dense, place[words.header[lines]])

    @cached_property
    def block_starts(self) -> NDArray[np.int64]:
        """The first position of each block, int64 [B]."""
        starts: NDArray[np.int64] = np.flatnonzero(np.diff(self.blocks, prepend=-1))
        return starts

    def above(self, values: Float64Array) -> Float64Array:
        """Return the values [I] of the line that heads each line; 0 without one."""
        return np.where(self.header >= 0, values[self.header], 0.0)

    def below(self, values: Float64Array) -> Float64Array:
        """Return the means of values [I] over the lines that each line heads; 0 for one that heads none."""
        inside = self.header >= 0
        headed = np.bincount(self.header[inside], minlength=len(self))
        sums = np.bincount(self.header[inside], values[inside], len(self))
        below: Float64Array = sums / np.maximum(headed, 1)
        return below

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, eq=False)
class Matches:
    """Which words of a query stand in which lines."""

    terms: tuple[str, ...]  # the Q terms that are weighed
    features: Float32Array  # [Q, F], what is known of them, that of the file included
    rarity: Float64Array  # [Q], how rare each is in the file
    # position, word: [m], a position and a word that stands there, each pair once
    position: NDArray[np.int64]
    word: NDArray[np.int64]
    count: NDArray[np.int64]  # [m], how often it stands there
    block: NDArray[np.int64]  # [m], the block of each of these positions

    @cached_property
    def of_blocks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A block and a word that stands in it, int64 [b] both; each pair once, ascending."""
        count = max(1, len(self.terms))
        pairs = np.unique(self.block * count + self.word)
        return pairs // count, pairs % count

    @classmethod
    def of(cls, query: QueryWords, words: DocumentWords, positions: Positions) -> Matches:
        """Find a query's words in a document."""
        there = np.array([words.place.get(term, -1) for term in query.terms], np.int64)
        frequency = np.append(words.frequency, 0)[there]
        lines = len(words.layout.blank)
        rarity = rarity_of(frequency, lines)
        if len(there) > MOST_WORDS:
            chosen = _telling(there >= 0, rarity, query.features[:, 0])
            query = QueryWords(tuple(query.terms[place] for place in chosen), query.features[chosen])
            there, frequency, rarity = there[chosen], frequency[chosen], rarity[chosen]
        heads = np.bincount(words.term, words.headed[words.line] > 0, len(words.terms) + 1)[there]
        heads = np.where(there >= 0, heads, 0.0)
        in_file = (there < 0, rarity / 8, heads > 0, heads / np.maximum(frequency, 1))
        features = np.concatenate([query.features, np.stack(in_file, axis=1)], axis=1, dtype=np.float32)
        asked = np.full(len(words.terms) + 1, -1, np.int64)
        asked[there[there >= 0]] = np.flatnonzero(there >= 0)
        word = asked[words.term]
        held = word >= 0
        position = positions.place[words.line[held]]
        held_words = (word[held], words.count[held])
        return cls(query.terms, features, rarity, position, *held_words, positions.blocks[position])


def _telling(present: NDArray[np.bool_], rarity: Float64Array, counts: Float32Array) -> NDArray[np.int64]:
    """Return the places, ascending, of the `MOST_WORDS` words that say most about a file."""
    worth = present * (rarity + counts / 2) + counts / 20
    places: NDArray[np.int64] = np.sort(np.argsort(-worth, kind="stable")[:MOST_WORDS])
    return places


def line_features(
    forms: LineForms, words: DocumentWords, positions: Positions, named: Float64Array, query: QueryWords
) -> Float32Array:
    """Return `FORMS` of the positions, float32 [I, F]. `named`: float64 [L], how near each line is to one that the
    query names."""
    layout, lines = positions.layout, positions.lines
    count = len(layout.blank)
    sizes = np.bincount(words.line, minlength=count)
    rarity = np.bincount(words.line, words.rarity[words.term], count) / np.maximum(sizes, 1)
    columns = (
        *(forms.comment, forms.marks, forms.imports, forms.length, forms.repeats),
        *(_depths(layout) / 4, layout.opening, np.diff(layout.blocks, prepend=-1)),
        *(named, rarity / 8, np.log1p(sizes) / 3, np.full(count, _asks(query))),
    )
    return np.stack([np.asarray(column, np.float32)[lines] for column in columns], axis=1)


def _asks(query: QueryWords) -> float:
    return float(query.features[0, FEATURES.index("asks")]) if len(query.features) else 0.0


def lexical(matches: Matches, positions: Positions, weights: Float64Array) -> Float64Array:
    """Return `LEXICAL` of the positions, float64 [I, 7]. `weights`: float64 [Q], what each word weighs."""
    count, blocks = len(positions), int(positions.blocks[-1]) + 1 if len(positions) else 0
    total = weights.sum() + LEAST_SUM
    own: Float64Array = np.bincount(matches.position, weights[matches.word], count).astype(np.float64)
    held, word = matches.of_blocks
    block = np.bincount(held, weights[word], blocks)[positions.blocks]
    wide = np.maximum(moving_sum(own, WIDE), 0.0)  # rounding leaves less
    best = own / (own.max(initial=0.0) + LEAST_SUM)
    above = positions.above(best)
    sums = (np.log1p(own), np.log1p(wide))
    return np.stack([best, own / total, block / total, above, positions.above(above), *sums], axis=1)


def evidence(matches: Matches, words: DocumentWords, positions: Positions) -> Float64Array:
    """Return `EVIDENCE` of the positions, float64 [I, 9]."""
    there = np.unique(matches.word)
    rarest = np.sort(there[np.argsort(-matches.rarity[there], kind="stable")[:MOST_EVIDENCE]])
    column = np.full(len(matches.terms), -1, np.int64)
    column[rarest] = np.arange(len(rarest))
    chosen = np.flatnonzero(column[matches.word] >= 0)
    counts = np.zeros((len(rarest), len(words.lengths)))  # word by word, as they are weighed
    counts[column[matches.word[chosen]], positions.lines[matches.position[chosen]]] = matches.count[chosen]
    views = lexical_views(TermCounts(counts.T, words.lengths), positions.layout)
    windows, around, passages, own = (
        view[positions.lines] for view in (views.windows, views.around, views.passages, views.own)
    )
    above = map(positions.above, (around, own, passages))
    below = map(positions.below, (own, around))
    return np.stack([windows, passages, around, own, *above, *below], axis=1)


def together(query: QueryWords, matches: Matches) -> float:
    """Return the largest share of a query's words that one block has, in [0, 1]; longer words count more."""
    block, word = matches.of_blocks
    of_block = np.bincount(block, _letters(matches.terms)[word])
    return float(of_block.max(initial=0.0)) / max(1, int(_letters(query.terms).sum()))


def _letters(terms: tuple[str, ...]) -> Float64Array:
    return np.array([min(len(term), _MOST_LETTERS) for term in terms], np.float64)


def _depths(layout: LineLayout) -> Float64Array:
    """Return how many steps of the file's own indentation each line has, float64 [L], at most `_DEEPEST`."""
    indented = layout.columns[(layout.columns > 0) & ~layout.blank]
    step = max(1.0, float(np.quantile(indented, 0.1))) if len(indented) else 1.0
    depths: Float64Array = np.where(layout.blank, 0.0, np.minimum(layout.columns / step, _DEEPEST))
    return depths


@dataclass(frozen=True, eq=False)
class LineForms:
    """The forms of L lines."""

    # [L], whether the line begins like a comment in any usual language. What stands in the middle of a docstring
    # isn't found, because only a grammar would know.
    comment: NDArray[np.bool_]
    marks: NDArray[np.bool_]  # [L], whether the line has no letter, digit or underscore, but isn't blank
    imports: NDArray[np.bool_]  # [L], whether the line begins like an import in any usual language
    # [L], the line's characters between its white space, as a share of `LONGEST`, in [0, 1]
    length: Float64Array
    # [L], the logarithm of how many lines are the same but for white space around them; 0 for blank ones
    repeats: Float64Array


def line_forms(lines: Sequence[str], layout: LineLayout) -> LineForms:
    """Return the forms of a text's lines."""
    lines = list(map(str.strip, lines))
    count = Counter(lines)
    inked = ~layout.blank
    lengths = np.fromiter(map(len, lines), np.float64, len(lines))
    alike = np.fromiter(map(count.__getitem__, lines), np.float64, len(lines))
    return LineForms(
        comment=_in_comment(layout),
        marks=inked & ~_holds_words(layout),
        imports=_imports(lines, layout),
        length=np.minimum(lengths, LONGEST) / LONGEST * inked,
        repeats=np.log(np.where(inked, alike, 1.0)),
    )


def _imports(lines: list[str], layout: LineLayout) -> NDArray[np.bool_]:
    imports = np.zeros(len(lines), np.bool_)
    inked = np.flatnonzero(~layout.blank)
    begins = np.minimum(layout.points[layout.first[inked]], 128)
    for place in inked[_BEGINS_IMPORT[begins]].tolist():
        imports[place] = lines[place].startswith(_IMPORT_SIGNS)
    return imports


def _in_comment(layout: LineLayout) -> NDArray[np.bool_]:
    points = layout.points
    if not len(points):
        return np.zeros(len(layout.blank), np.bool_)
    first = np.minimum(layout.first, len(points) - 1)
    pairs = np.minimum(points[[first, np.minimum(first + 1, len(points) - 1)]].astype(np.int64), 255)
    comment: NDArray[np.bool_] = np.isin(pairs[0] * 256 + pairs[1], _COMMENT_CODES) & ~layout.blank
    return comment


def _holds_words(layout: LineLayout) -> NDArray[np.bool_]:
    """Return which lines have a letter, a digit or an underscore, bool [L]."""
    if not len(layout.spans):
        return np.zeros(0, np.bool_)
    holds: NDArray[np.bool_] = np.logical_or.reduceat(layout.kinds > 0, layout.spans[:, 0])
    return holds
