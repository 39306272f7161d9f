"""`QueryWords`: the words of a query of any length, and what is known of each before a file is read.

A title says more than a sentence in the middle of a log, and a name in code more than a word of chatter. What each word
is worth, the line model decides; this module only describes words. It knows no file and no weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePosixPath

import numpy as np
from lamr_base.arrays import Float32Array
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_model.query_kind import asks
from lamr_model.query_truncation import bounded
from lamr_model.words import IDENTIFIER, STOP_WORDS, terms

FEATURES = (
    *("count", "first", "title", "code", "compound", "letters", "length"),
    *("rank", "unknown", "asks", "task", "path"),
)
"""What is known of a word: how often it occurs (logarithm); where first, as a share of the text; whether in the title;
whether it is ever written like code; whether it is an identifier of several words; its letters, as a share of twelve;
the logarithm of the query's length; that of its rank among the known words, and whether it is none; whether the query
asks; whether only the task has it; whether the file's name has it."""
_TITLE = 240  # characters of a title at most
_LONGEST_TITLE_LINE = 400
_LETTERS = 12
_UNKNOWN_RANK = 1.1  # beyond the last known word, which has 1
_BEFORE_CODE, _AFTER_CODE = frozenset("`./\\#$@-"), frozenset("`([/_")
_PATH_WORD = expression(r"\w+")


@dataclass(frozen=True, eq=False)
class QueryWords:
    """The distinct terms of a query, in their order."""

    terms: tuple[str, ...]  # the Q terms (`lamr_model.words`), without stop words
    features: Float32Array  # [Q, F], see `FEATURES`

    @classmethod
    def of(cls, query: str, task: str, path: str, ranks: Mapping[str, int]) -> QueryWords:
        """Read a query.

        Args:
            query, task: what is looked for, and what for; of very long texts the beginning and the end are read.
            path: the file's; empty where it isn't known.
            ranks: the place of each known word, the most frequent first."""
        query, task = bounded(query), bounded(task)
        text = f"{query}\n\n{task}" if task else query
        seen = _read(text, _title_end(query), len(query) if task else len(text))
        named = name_terms(path)
        length, asking = math.log1p(len(text)) / 10, float(asks(query))
        last = math.log1p(len(ranks))
        rows = [
            (
                *(*word.known(term, len(text)), length, *_ranked(ranks.get(term), last)),
                *(asking, float(word.in_task), float(term in named)),
            )
            for term, word in seen.items()
        ]
        features = np.array(rows, np.float32).reshape(len(rows), len(FEATURES))
        return cls(tuple(seen), features)


@dataclass
class _Seen:
    """What was seen of a term so far."""

    first: int
    count: int = 0
    title: bool = False
    code: bool = False
    compound: bool = False
    in_task: bool = True

    def known(self, term: str, length: int) -> tuple[float, ...]:
        return (
            *(math.log1p(self.count), self.first / max(1, length), float(self.title), float(self.code)),
            *(float(self.compound), min(len(term), _LETTERS) / _LETTERS),
        )


def _ranked(rank: int | None, last: float) -> tuple[float, float]:
    return (_UNKNOWN_RANK, 1.0) if rank is None else (math.log1p(rank) / max(last, 1e-9), 0.0)


def _title_end(query: str) -> int:
    """Return where a query's title ends: all of a short query, the first line, or so many characters."""
    if len(query) < _TITLE:
        return len(query)
    end = query.find("\n")
    return end if 0 < end < _LONGEST_TITLE_LINE else _TITLE


def _read(text: str, title_end: int, task_begins: int) -> dict[str, _Seen]:
    seen: dict[str, _Seen] = {}
    for match in IDENTIFIER.finditer(text):
        identifier = match[0]
        if identifier.lower() in STOP_WORDS:
            continue
        begin, end = match.span()
        code = _like_code(identifier, text[begin - 1 : begin], text[end : end + 2])
        parts = terms(identifier)
        for place, term in enumerate(parts):
            if len(term) < 2:
                continue
            word = seen.get(term)
            if word is None:
                word = seen[term] = _Seen(begin, compound=len(parts) > 1 and place == len(parts) - 1)
            word.count += 1
            word.title |= begin < title_end
            word.code |= code
            word.in_task &= begin >= task_begins
    return seen


def _like_code(identifier: str, before: str, after: str) -> bool:
    """Return whether an identifier is written like one in code, by itself and what stands beside it."""
    if "_" in identifier or (identifier[1:] != identifier[1:].lower() and not identifier.isupper()):
        return True
    if (before and before in _BEFORE_CODE) or (after and after[0] in _AFTER_CODE):
        return True
    return after[:1] in (".", ":") and after[1:].isalnum()


def name_terms(path: str) -> frozenset[str]:
    """Return the terms of a file's name without its ending."""
    stem = PurePosixPath(path.replace("\\", "/")).name.split(".")[0]
    return frozenset(term for word in _PATH_WORD.findall(stem) for term in terms(word))
