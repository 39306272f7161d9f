"""What the line model learns from: a file's lines with a query, which of them are needed, and vectors to begin with.

Inputs of lines come from `lamr_model`, so a client computes what is learned here; sums over lines are written again in
a form that torch can differentiate. Vectors of words begin as the states of a sentence encoder, which puts words of
like meaning near each other; a word that few records hold keeps its first vector."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np
import torch
from lamr_base.arrays import Float32Array
from lamr_evaluation.records import Record
from lamr_model.encoding import PromptEncoder
from lamr_model.query_truncation import Query
from lamr_model.scoring.document_words import DocumentWords
from lamr_model.scoring.line_inputs import (
    FORMS,
    LEAST_SUM,
    WIDE,
    Matches,
    Positions,
    evidence,
    line_features,
    line_forms,
)
from lamr_model.scoring.line_layers import Relations
from lamr_model.scoring.line_vectors import LINE_POWER, known_words
from lamr_model.scoring.named_lines import nearness
from lamr_model.scoring.query_document import NO_TOKENS, QueryDocument
from lamr_model.scoring.query_words import QueryWords
from lamr_model.words import TermIndex, query_terms, split_words, stem
from lamr_postprocess import SourceFile
from lamr_postprocess.layout import line_layout
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from lamr_training.backbone import load_minilm

_AT_ONCE = 256
_SAMPLE = 12_000  # the most frequent words, whose principal components are those of all
_LONGEST_QUERY, _LONGEST_WORD = 2_500, 24  # characters
_QUERY_COUNT = 3  # a word of a query counts as much as three lines' words: there are far fewer of them
_SHOWN = 6_000  # characters of a file that tell how words are written


@dataclass(frozen=True, kw_only=True)
class WordCounts:
    """Which words have vectors."""

    most: int = 30_000  # how many at most
    least: int = 4  # how often the rarest of them occurs, in lines and three times in queries
    records: int = 9_000  # the words of so many records are counted


def counted_words(records: Iterable[Record], counts: WordCounts) -> tuple[list[str], list[str]]:
    """Return the most frequent words of queries and lines, most frequent first, and each as it is written most often. A
    stem such as `decod` says nothing to an encoder."""
    found: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in islice(records, counts.records):
        found.update(TermIndex.of(record.code, line_layout(record.code)).occurrences()[0])
        for term in query_terms(record.words[:_LONGEST_QUERY]):
            found[term] += _QUERY_COUNT
        for word in chain.from_iterable(
            map(split_words, (*record.words.split(), *record.code[:_SHOWN].split()))
        ):
            written[stem(word)][word] += 1
    common = (word for word, n in found.most_common() if n >= counts.least and len(word) <= _LONGEST_WORD)
    words = list(islice(common, counts.most))
    return words, [
        word.replace("_", " ") if "_" in word or word not in written else written[word].most_common(1)[0][0]
        for word in words
    ]


def start_vectors(texts: Sequence[str], width: int) -> Tensor:
    """Return vectors float32 `[V, width]` of V short texts, the most frequent first. They are means over the encoder's
    last states, of length 1, less their mean, along their principal components."""
    backbone, tokenizer = load_minilm()
    backbone.eval()
    rows = []
    with torch.no_grad():
        for first in range(0, len(texts), _AT_ONCE):
            encoded = tokenizer.encode_batch(list(texts[first : first + _AT_ONCE]))
            longest = max(len(each.ids) for each in encoded)
            ids = torch.tensor([each.ids + [0] * (longest - len(each.ids)) for each in encoded])
            held = torch.tensor([[1] * len(each.ids) + [0] * (longest - len(each.ids)) for each in encoded])
            states = backbone(input_ids=ids, attention_mask=held).last_hidden_state
            means = (states * held[..., None]).sum(dim=1) / held.sum(dim=1, keepdim=True)
            rows.append(F.normalize(means, dim=1))
    vectors = torch.cat(rows)
    vectors = vectors - vectors.mean(dim=0)
    _, _, components = torch.linalg.svd(vectors[:_SAMPLE], full_matrices=False)
    return vectors @ components[:width].T


_WEIGHTS = {"session": 3.0}  # by a record's kind; few records show what an agent really read for
_HEADERS = 6  # how many headers above a gold line frame it
_NAMED_GOLD = 0.85  # the share of queries that name lines whose lines are needed
_NAMED_COUNTS = (1, 1, 1, 5, 12)


@dataclass(frozen=True, eq=False)
class LineExample:
    """The I lines with ink of a file, and a query of Q words."""

    positions: Positions
    relations: Relations
    matches: Matches  # of the query's words
    query: NDArray[np.int64]  # int64 [Q], the number of each of them in the vocabulary; -1 for an unknown one
    words: NDArray[np.int64]  # int64 [n], the numbers of the lines' known words, line after line
    sizes: NDArray[np.int64]  # int64 [I], how many of them each line has
    forms: Float32Array  # float32 [I, F] each, see `line_inputs.FORMS` and `line_inputs.EVIDENCE`
    evidence: Float32Array
    gold: NDArray[np.bool_]  # bool [I], the lines that are needed
    frame: NDArray[np.bool_]  # bool [I]
    weight: float  # how much the file counts

    @property
    def teaches(self) -> bool:
        """Whether some of the lines are needed and some aren't."""
        return bool(self.gold.any() and not self.gold.all())

    def naming(self, rng: random.Random) -> LineExample:
        """Return the example as if the query named some of its lines by number, which mostly are needed ones."""
        needed, lines = np.flatnonzero(self.gold), self.positions.lines
        place = rng.choice(needed) if rng.random() < _NAMED_GOLD else rng.randrange(len(lines))
        named = np.zeros(len(self.positions.layout.blank), np.bool_)
        named[lines[place] : lines[place] + rng.choice(_NAMED_COUNTS)] = True
        forms = self.forms.copy()
        forms[:, FORMS.index("named")] = nearness(named)[lines]
        return replace(self, forms=forms)


def asked_without_tokens(encoder: PromptEncoder, record: Record) -> QueryDocument:
    """Return a record's file and query as a client prepares them, without tokens, which lines and words don't need."""
    source = SourceFile(record.code, record.path, listed=False)
    return QueryDocument.of(encoder, Query(record.query, record.task), source, tokens=NO_TOKENS)


def line_example(asked: QueryDocument, record: Record, vocabulary: Mapping[str, int]) -> LineExample:
    """Return what is learned from a record."""
    source = asked.source
    words = DocumentWords.of(TermIndex.of(source.body, source.layout), source.layout)
    positions = Positions.of(words)
    query = QueryWords.of(record.query, record.task, record.path, vocabulary)
    matches = Matches.of(query, words, positions)
    defined, using = (positions.place[lines] for lines in words.definitions)
    numbers, place = known_words(words, positions, vocabulary)
    gold = record.gold[positions.lines]
    forms = line_forms(source.body_lines, source.layout)
    return LineExample(
        positions,
        Relations.of(positions, defined, using),
        matches,
        np.array([vocabulary.get(term, -1) for term in matches.terms], np.int64),
        numbers,
        np.bincount(place, minlength=len(positions)),
        line_features(forms, words, positions, asked.near_named, query),
        evidence(matches, words, positions).astype(np.float32),
        gold,
        _frame(positions, defined, using, gold),
        _WEIGHTS.get(record.kind, 1.0),
    )


def _frame(
    positions: Positions, defined: NDArray[np.int64], using: NDArray[np.int64], gold: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which lines gold ones depend on, bool [I]."""
    frame = np.zeros(len(gold), np.bool_)
    frame[defined[gold[using]]] = True
    heads = positions.header[gold]
    for _ in range(_HEADERS):
        heads = np.unique(heads[heads >= 0])
        frame[heads] = True
        heads = positions.header[heads]
    return frame & ~gold


def lexical(example: LineExample, weights: Tensor) -> Tensor:
    """Return how the query's words match, `[I, 7]`, see `line_inputs.lexical`; weights are `[Q]`."""
    positions, matches = example.positions, example.matches
    blocks, header = torch.from_numpy(positions.blocks), torch.from_numpy(positions.header)
    total = weights.sum() + LEAST_SUM
    held = weights[torch.from_numpy(matches.word)]
    own = weights.new_zeros(len(positions)).index_add(0, torch.from_numpy(matches.position), held)
    held_block, held_word = map(torch.from_numpy, matches.of_blocks)
    block = weights.new_zeros(len(positions.block_starts)).index_add(0, held_block, weights[held_word])
    wide = nearby(own[:, None], WIDE)[:, 0]
    best = own / (own.amax() + LEAST_SUM)

    def above(values: Tensor) -> Tensor:
        return torch.where(header >= 0, values[header], 0.0)

    heads = above(best)
    sums = (own.log1p(), wide.log1p())
    return torch.stack([best, own / total, block[blocks] / total, heads, above(heads), *sums], dim=1)


def nearby(values: Tensor, reach: int) -> Tensor:
    """Return the sums `[I, C]` of values `[I, C]` over each line and `reach` lines on both sides."""
    taps = 2 * reach + 1
    return F.avg_pool1d(values.T[None], taps, 1, reach)[0].T * taps


def by_block(values: Tensor, blocks: Tensor) -> Tensor:
    """Return the sums `[B, C]` of values `[I, C]` over blocks."""
    return values.new_zeros(int(blocks[-1]) + 1, values.shape[1]).index_add(0, blocks, values)


def scaled(sums: Tensor, sizes: Tensor) -> Tensor:
    """Return sums over so many words, divided by a power of how many they are."""
    return sums / sizes.clamp(min=1) ** LINE_POWER
