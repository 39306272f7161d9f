"""What a model reads of a query and a task that its window can't hold whole.

A model's window is shared by query and code, so a long query would leave no room for code. The intent is read whole
where it can be, and of a task the parts that say most about the document at hand: sentences and lines whose words are
rare in the document, each word counted once, after the maximal coverage of McDonald (2007). Other parts are left out,
and the reading says so."""

from collections.abc import Callable, Sequence

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_model.bm25 import rarity
from lamr_model.words import TermIndex, query_terms

CountEach = Callable[[Sequence[str]], NDArray[np.int64]]
"""Gives the number of tokens of each of n texts, int64 [n]."""
MOST_CHARACTERS = 1 << 16
"""How much of a query and of a task is looked at: three quarters of it at the beginning and the rest at the end."""
_LONGEST_PART = 240  # characters; a longer sentence or line is cut at white space
_PART = expression(r"\S(?:[^\r\n]*?[.!?;](?=\s)|[^\r\n]*)")
_PIECE = expression(rf"\S(?:.{{0,{_LONGEST_PART - 2}}}\S)?(?!\S)|\S{{1,{_LONGEST_PART}}}")
# The first part is the title of an issue and the summary of a message. Words of the intent are what a task is read for.
_TITLE, _SHARED = 2.0, 1.5


@dataclass(frozen=True)
class Query:
    """What is asked about a file, as the caller gave it."""

    text: str  # what is looked for
    task: str = ""  # what that serves; may be empty
    # what the session said and did before; may be empty. Line models read it, encoders don't.
    history: str = ""


@dataclass(frozen=True)
class TruncatedQuery:
    """What a model reads."""

    text: str  # the text that goes into the prompt; parts that lie apart stand on lines of their own
    whole: bool  # whether nothing was left out


def read(asked: Query, index: Callable[[], TermIndex], count_each: CountEach, room: int) -> TruncatedQuery:
    """Choose what is read of a query and its task.

    Args:
        index: gives the document's words; it is called only where not all can be read.
        count_each: gives the number of tokens of texts.
        room: the most tokens that are read."""
    query, task = asked.text, asked.task
    # A query alone is read as it is, white space included: other pruners' checkpoints were trained on that.
    whole = "\n\n".join(filter(None, (query.strip(), task.strip()))) if task.strip() else query
    # A token is at least one byte, so a text that is so much longer than its room needn't be counted.
    if len(whole) <= MOST_CHARACTERS and count_each([whole])[0] <= room:
        return TruncatedQuery(whole, True)
    query, task = bounded(query.strip()), bounded(task.strip())
    spent = int(count_each([query])[0]) + 1
    if spent > room:  # the intent itself is too long, and then the task is no more than a part of it
        told = _most_telling(_parts(f"{query}\n{task}"), "", index(), count_each, room)
        return TruncatedQuery("\n".join(told) or query[: room // 4 + 1], False)
    told = _most_telling(_parts(task), query, index(), count_each, room - spent)
    return TruncatedQuery("\n".join([query, *told]), False)


def bounded(text: str) -> str:
    """Return what is looked at of a query or a task: all of it, up to `MOST_CHARACTERS`."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[: MOST_CHARACTERS * 3 // 4] + "\n" + text[-MOST_CHARACTERS // 4 :]


def _parts(text: str) -> list[str]:
    """The distinct sentences and lines of a text, in their order, none of them long."""
    parts = (piece for part in _PART.findall(text) for piece in _PIECE.findall(part))
    return list(dict.fromkeys(parts))


def _most_telling(
    parts: Sequence[str], query: str, index: TermIndex, count_each: CountEach, room: int
) -> list[str]:
    """The parts, in their order, that together name most of what is rare in the document, within a room of tokens."""
    terms_of = [query_terms(part) for part in parts]
    terms = list(dict.fromkeys(term for each in terms_of for term in each))
    if not terms:
        return []
    worth = _rarity(terms, index) * np.where(np.isin(terms, query_terms(query)), _SHARED, 1.0)
    place = {term: index for index, term in enumerate(terms)}
    named = np.zeros((len(parts), len(terms)), np.bool_)
    for row, each in enumerate(terms_of):
        named[row, [place[term] for term in each]] = True
    costs = count_each(parts) + 1
    prior = np.ones(len(parts))
    prior[0] = _TITLE
    chosen: list[int] = []
    while True:
        gain = named @ worth * prior / np.sqrt(costs)
        gain[costs > room] = 0.0
        best = int(gain.argmax())
        if gain[best] <= 0:
            return [parts[index] for index in sorted(chosen)]
        chosen.append(best)
        room -= int(costs[best])
        worth[named[best]] = 0.0


def _rarity(terms: Sequence[str], index: TermIndex) -> Float64Array:
    """How rare each of Q terms is among the document's lines, float64 [Q]; little for those that it lacks."""
    holding = (index.counts(terms).lines > 0).sum(axis=0)
    lines = len(index.lengths)
    least = 0.1 * float(np.log1p(lines + 1.0))
    return np.where(holding > 0, rarity(holding, lines), least)
