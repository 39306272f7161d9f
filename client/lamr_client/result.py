"""The result of a pruning, as plain data. This module knows no transport and no model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lamr_postprocess import Cut, Encoding, PrunedCode

from lamr_client.effort import Effort

Status = Literal["pruned", "passthrough"]


@dataclass(frozen=True)
class Timings:
    """The seconds that the parts of a call took, by the clock on the wall.

    Attributes:
        encode: checking, tokenizing and planning chunks.
        infer: until the last chunk was answered, retries and waiting included.
        postprocess: line scores, selection, repair and rendering.
        total: the whole call.
    """

    encode: float = 0.0
    infer: float = 0.0
    postprocess: float = 0.0
    total: float = 0.0


@dataclass(frozen=True)
class PruneResult:
    """Pruned code and why each line was kept. Line numbers are those of the original, from 1.

    Attributes:
        text: the kept lines, byte for byte and in order, with a marker for every cut; the original text if `status`
            is `passthrough`.
        kept_lines: the numbers of the lines that are in `text`.
        line_scores: one score in [0, 1] for each line of the original, which the threshold is compared with; all 0
            where nothing was scored.
        reasons: why each kept line was kept: `semantic`, `dependency`, `keep` (the caller's wish) or `repair:<kind>`;
            empty where nothing was scored.
        relevance: how likely the code holds what the query looks for (P("yes") of the most relevant chunk, for a model
            whose scoring knows no presence); None where nothing was scored.
        tokens_in, tokens_out: tokens of the original and of `text`, markers included, by the call's `tokenizer`;
            estimated where the line model alone answered and no limit had to be kept.
        status: `pruned` if anything was cut, else `passthrough`, and `reason` says why: an error was met and
            `on_error="passthrough"`, all was selected, the code fits into the budget, holds nothing, or has fewer
            tokens than `min_tokens`.
        reason: why passthrough, or what was not done as usual ("… does not parse: line level", or the error that ended
            the reading); None if all was.
        language: the code's language by its usual name; None if it wasn't found out.
        cuts: the removed runs of lines.
        model: the model's name and version.
        threshold: what the line scores were compared with: the caller's, or the model's as it adapted to the scores of
            this code. None where lines were taken in falling order of score (`ratio`, `max_tokens`) or not scored.
        query_read: what the model read of the query and the task, where they were too long to be read whole; None
            where they weren't.
        effort: what the encoder read and why no more; None where nothing was scored.
        encoding: how the code was encoded, where it was given as bytes; see `to_bytes`.
        timings: how long the call took.
    """

    text: str
    kept_lines: tuple[int, ...]
    line_scores: tuple[float, ...]
    reasons: Mapping[int, str]
    relevance: float | None
    tokens_in: int
    tokens_out: int
    status: Status
    reason: str | None
    language: str | None
    cuts: tuple[Cut, ...]
    model: str
    threshold: float | None = None
    query_read: str | None = None
    effort: Effort | None = None
    encoding: Encoding = field(default_factory=Encoding)
    timings: Timings = field(default_factory=Timings)

    @classmethod
    def whole(cls, text: str, scores: Sequence[float], tokens: int, **more: Any) -> PruneResult:
        """Return the result that keeps all lines of a text, with their scores and with the fields that `more` names."""
        lines = tuple(range(1, len(scores) + 1))
        result = cls(
            text=text,
            kept_lines=lines,
            line_scores=tuple(scores),
            reasons={},
            cuts=(),
            relevance=None,
            tokens_in=tokens,
            tokens_out=tokens,
            status="passthrough",
            reason=None,
            language=None,
            model="",
        )
        return dataclasses.replace(result, **more)

    def cut_to(self, cut: PrunedCode, tokens: int, **more: Any) -> PruneResult:
        """Return a whole result with some of its lines cut, and with the fields that `more` names."""
        kept: dict[str, Any] = {
            "text": cut.text,
            "kept_lines": cut.kept_lines,
            "reasons": cut.reasons,
            "tokens_out": tokens,
        }
        return dataclasses.replace(self, **kept, status="pruned", cuts=cut.cuts, **more)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, in JSON's types: line numbers in `reasons` become strings, cuts `{start, end}`.

        The effort becomes its few words, the encoding its name.
        Line scores are rounded to six places, but for those that rounding would move across the threshold, which isn't
        rounded. So what is printed gives the same lines again.
        """
        data = dataclasses.asdict(self)
        data["kept_lines"] = list(self.kept_lines)
        data["line_scores"] = [self._rounded(score) for score in self.line_scores]
        data["reasons"] = {str(line): reason for line, reason in self.reasons.items()}
        data["effort"] = None if self.effort is None else str(self.effort)
        data["encoding"] = self.encoding.name
        data["cuts"] = [dataclasses.asdict(cut) for cut in self.cuts]
        return data

    def _rounded(self, score: float) -> float:
        short, bound = round(score, 6), self.threshold
        return short if bound is None or (short >= bound) == (score >= bound) else score

    def to_bytes(self) -> bytes:
        """Return the text in the encoding of the code, so that kept lines are those of the file byte for byte."""
        return self.encoding.encode(self.text)

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)
