"""Turns records into what associations are learned from: the words of a query and of each line of its file, as numbers.

Words are the contract's terms, so what is learned here is what a client looks up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from lamr_contract.asked import AskedDocument
from lamr_contract.layout import line_layout
from lamr_contract.scoring.associations import line_words
from lamr_contract.scoring.features import (
    ABOVE_PREFIX,
    AROUND,
    ASKED,
    BEGINS,
    BELOW_PREFIX,
    COMMENT,
    IMPORTS,
    INDENT,
    LENGTH,
    MARKS,
    OPENING,
    OWN,
    PASSAGE,
    REPEATS,
    WINDOWS,
)
from lamr_contract.words import TermIndex, query_terms
from lamr_evaluation.records import Record
from numpy.typing import NDArray

from lamr_training.fits.network import divides

KNOWN_FEATURES = (
    *(WINDOWS, AROUND, PASSAGE, OWN),
    *(COMMENT, MARKS, IMPORTS, LENGTH, REPEATS, INDENT, OPENING, BEGINS),
    *(ABOVE_PREFIX + name for name in (AROUND, OWN, PASSAGE)),
    *(BELOW_PREFIX + name for name in (OWN, AROUND)),
    ASKED,
)
"""What is known of a line without vectors: what the query's own words and forms say, and whether the query asks."""
LONGEST_QUERY = 2_500
"""How many characters of a query and its task are counted."""
_LONGEST_WORD = 24
_QUERY_COUNT = 3  # a word of a query counts as much as three lines' words: there are far fewer of them


@dataclass(frozen=True, eq=False)
class WordExample:
    """One file of L lines and its query, with words by their number in a vocabulary.

    Attributes:
        query: int32 [q], the query's known words.
        words: int32 [n], the known words of all lines, line after line, without repeats in a line.
        counts: int32 [L], how many of them each line has.
        gold, inked: bool [L], which lines are needed, and which aren't blank.
        blocks: int32 [L], the number of each line's block.
        features: float16 [L, F], `KNOWN_FEATURES`.
        project: the record's project.
    """

    query: NDArray[np.int32]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    gold: NDArray[np.bool_]
    inked: NDArray[np.bool_]
    blocks: NDArray[np.int32]
    features: NDArray[np.float16]
    project: str

    @property
    def teaches(self) -> bool:
        """Whether some of the lines with ink are needed and some aren't."""
        return divides(self.gold, self.inked)


def frequent_words(records: Iterable[Record], most: int, least: int) -> list[str]:
    """Return the most frequent words of queries and lines, the most frequent first.

    Args:
        records: the records.
        most: how many words at most.
        least: how often the rarest of them occurs, in lines and three times in queries.
    """
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(TermIndex.of(record.code, line_layout(record.code)).occurrences()[0])
        for term in query_terms(record.words[:LONGEST_QUERY]):
            counts[term] += _QUERY_COUNT
    common = (word for word, count in counts.most_common() if count >= least and len(word) <= _LONGEST_WORD)
    return [word for _, word in zip(range(most), common, strict=False)]


def word_example(asked: AskedDocument, record: Record, vocabulary: Mapping[str, int]) -> WordExample:
    """Return what is learned from a record.

    Args:
        asked: the record's file and query as a client prepares them; its tokens aren't needed.
        record: a whole file and its query.
        vocabulary: the number of each word.
    """
    layout, features = asked.layout, asked.features
    words, lines = line_words(features.index, vocabulary)
    numbers = [vocabulary[term] for term in query_terms(asked.query) if term in vocabulary]
    return WordExample(
        query=np.array(numbers, np.int32),
        words=words.astype(np.int32),
        counts=np.bincount(lines, minlength=len(layout.blank)).astype(np.int32),
        gold=record.gold & ~layout.blank,
        inked=~layout.blank,
        blocks=layout.blocks.astype(np.int32),
        features=features.matrix(KNOWN_FEATURES).astype(np.float16),
        project=record.project,
    )
