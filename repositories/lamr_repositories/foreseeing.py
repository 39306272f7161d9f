"""Asks a causal language model which of the best candidates help to foresee the question: LongCodeZip's coarse stage.

Whole pieces are ranked, by how much each lowers the question's perplexity. Answers are kept by model, question and
piece.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from lamr_contract.cache import Cache
from lamr_contract.perplexity.causal_scorer import CausalScorer
from lamr_postprocess.lines import split_lines

from lamr_repositories.compression.coarse import falls
from lamr_repositories.compression.perplexity import Perplexity
from lamr_repositories.judging import Judged
from lamr_repositories.reading_time import JudgeCount

KIND = "perplexity"
_AT_ONCE = 16  # pieces between two writes of answers, which is what a kill can lose
_MOST_CHARACTERS = (
    16_384  # of a piece; the window cuts its beginning anyway, but only after all of it was encoded
)

_Place = tuple[int, int, int]


class Foreseer:
    """One causal model and one question."""

    def __init__(self, scorer: CausalScorer, query: str, cache: Cache) -> None:
        """Ask nothing yet.

        Args:
            scorer: gives log-probabilities.
            query: what is looked for.
            cache: keeps answers, unless the scorer has no key.
        """
        self._model, self._query = Perplexity(scorer), query
        self._cache = cache if scorer.key is not None else Cache(None)
        self._prefix = f"{scorer.key}\0{scorer.max_tokens}\0{query}\0"

    def judge(
        self,
        texts: Sequence[str],
        wanted: Iterable[_Place],
        most_chunks: int,
        count: JudgeCount,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> dict[int, Judged]:
        """Ask about the best pieces.

        The arguments are those of `Judge.judge`, with a piece for a candidate and for a chunk.

        Returns:
            what is known of each file that has a scored piece, by its place in `texts`: the fall of the question's log
            perplexity as `relevance`, and 0 as `keep`.

        Raises:
            ServerError, ModelMismatchError: see `CausalScorer.log_probs`.
        """
        chosen = list(itertools.islice(wanted, most_chunks))
        lines = {
            file: [line.rstrip("\r\n") for line in split_lines(texts[file])]
            for file in {file for file, *_ in chosen}
        }
        pieces = ["\n".join(lines[file][first:stop])[-_MOST_CHARACTERS:] for file, first, stop in chosen]
        keys = [
            hashlib.sha256((self._prefix + piece).encode("utf-8", "surrogatepass")).hexdigest()
            for piece in pieces
        ]
        kept = self._cache.get(KIND, keys).items()
        numbers = {
            key: float(np.frombuffer(data)[0]) for key, data in kept if len(data) == np.float64().nbytes
        }
        known = {key: number for key, number in numbers.items() if np.isfinite(number)}
        waiting = {key: piece for key, piece in zip(keys, pieces, strict=True) if key not in known}
        count.chosen = count.chunks = len(chosen)
        count.cached = sum(key in known for key in keys)
        for done in range(0, len(waiting), _AT_ONCE):
            known |= self._ask(dict(itertools.islice(waiting.items(), done, done + _AT_ONCE)))
            if on_progress:
                answered = len(chosen) - max(len(waiting) - done - _AT_ONCE, 0)
                on_progress(answered, len(chosen))
        found: dict[int, list[tuple[int, int, float]]] = {}
        for (file, first, stop), key in zip(chosen, keys, strict=True):
            found.setdefault(file, []).append((first, stop, known[key]))
        return {file: _spread(len(lines[file]), scored) for file, scored in found.items()}

    def _ask(self, pieces: Mapping[str, str]) -> dict[str, float]:
        values = falls(list(pieces.values()), self._query, self._model)
        self._cache.put(KIND, {key: value.tobytes() for key, value in zip(pieces, values, strict=True)})
        return dict(zip(pieces, values.tolist(), strict=True))


def _spread(lines: int, scored: Sequence[tuple[int, int, float]]) -> Judged:
    """Return pieces' values at their lines."""
    judged, relevance = np.zeros(lines, np.bool_), np.zeros(lines)
    for first, stop, value in scored:
        judged[first:stop] = True
        relevance[first:stop] = value
    return Judged(judged, relevance, np.zeros(lines))
