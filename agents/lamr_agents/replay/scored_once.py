"""A pruner whose work is kept by content: another policy over the same sessions asks no model again.

A model's part is to score lines for a query; which lines stay is then decided by a threshold, wishes and repair, in
milliseconds. So the scores are kept, under a digest of all that they were made from, with the seconds that they took.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from lamr_client import Pruner, PruneResult
from lamr_client.result import Timings
from lamr_contract.cache import Cache
from lamr_contract.names import ENSEMBLE, SCORING_FILE, version_folder
from lamr_postprocess import approximate_tokens, prune_lines

from lamr_agents.judge import Prunes

KIND = "replay"
"""Of the cache's entries."""
_SELECTING = ("threshold", "keep", "markers")
"""The options of `Pruner.prune` that change which lines stay, and no line's score."""


@dataclass(frozen=True)
class _Scores:
    """What a model said of a text: scores of lines, how likely it answers, where it would cut, and how long it took."""

    lines: tuple[float, ...]
    relevance: float | None
    threshold: float | None
    seconds: float
    language: str | None
    model: str

    @classmethod
    def of(cls, result: PruneResult) -> _Scores:
        return cls(
            result.line_scores,
            result.relevance,
            result.threshold,
            result.timings.total,
            result.language,
            result.model,
        )

    def packed(self) -> bytes:
        stream = io.BytesIO()
        facts = json.dumps([self.relevance, self.threshold, self.seconds, self.language, self.model])
        np.savez_compressed(stream, lines=np.array(self.lines), facts=np.array(facts))
        return stream.getvalue()

    @classmethod
    def unpacked(cls, data: bytes) -> _Scores:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return cls(tuple(arrays["lines"].tolist()), *json.loads(str(arrays["facts"])))


def model_of(pruner: Pruner, repository: Path, server: str | None) -> str:
    """What tells a model, and the lamr that asks it, from others.

    Args:
        pruner: that asks.
        repository: the model repository that it reads.
        server: its address; None in process.
    """
    digest = hashlib.blake2b(
        pruner.spec.to_json().encode(), digest_size=16
    )  # which has the fingerprint of the weights
    digest.update((server or "").encode())
    scoring = version_folder(repository, ENSEMBLE) / SCORING_FILE
    digest.update(scoring.read_bytes() if scoring.exists() else b"")
    return f"{version('lamr-server')} {digest.hexdigest()}"


class ScoredOnce:
    """Asks a pruner for the scores of each text once, and selects anew for each policy.

    Args:
        pruner: scores lines.
        model: what tells its model, and how it is reached, from others.
        cache: keeps scores.
    """

    def __init__(self, pruner: Prunes, model: str, cache: Cache) -> None:
        self._pruner = pruner
        self._model = model
        self._cache = cache

    def prune(self, query: str, code: str, **options: Any) -> PruneResult:
        """As `Pruner.prune`; an answer that a fault left to the line model isn't kept.

        Raises:
            LamrError: as the pruner's.
        """
        selecting = {name: options.get(name) for name in _SELECTING}
        scoring = {name: value for name, value in options.items() if name not in selecting}
        key = _digest([self._model, query, code, *sorted(scoring.items())])
        scores = self._kept(key)
        if scores is None:
            markers = options["markers"]
            result = self._pruner.prune(query, code, threshold=None, keep=(), markers=markers, **scoring)
            scores = _Scores.of(result)
            if result.effort is None or not result.effort.faulty:
                self._cache.put(KIND, {key: scores.packed()})
        return _selected(scores, code, options["path"], selecting)

    def _kept(self, key: str) -> _Scores | None:
        data = self._cache.get(KIND, [key]).get(key)
        try:
            return None if data is None else _Scores.unpacked(data)
        except (ValueError, TypeError, KeyError, OSError):  # another version's
            return None


def _selected(scores: _Scores, code: str, path: str, selecting: Mapping[str, Any]) -> PruneResult:
    """What a pruner makes of scores."""
    begin = time.perf_counter()
    tokens = approximate_tokens(code)
    whole = PruneResult.whole(
        code,
        scores.lines,
        tokens,
        relevance=scores.relevance,
        language=scores.language,
        model=scores.model,
        threshold=scores.threshold if selecting["threshold"] is None else selecting["threshold"],
        timings=Timings(total=scores.seconds),
    )
    if scores.relevance is None or whole.threshold is None:
        return whole
    cut = prune_lines(
        code,
        np.array(scores.lines),
        path=path,
        answering=whole.threshold,
        keep=list(selecting["keep"]),
        markers=selecting["markers"],
    )
    left = approximate_tokens(cut.text)
    timings = Timings(total=scores.seconds + time.perf_counter() - begin)
    if not cut.cuts or left > tokens:
        return replace(whole, timings=timings)
    return whole.cut_to(cut, left, timings=timings)


def _digest(facts: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(facts).encode("utf-8", "surrogatepass"), digest_size=24).hexdigest()
