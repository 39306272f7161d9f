"""The result of a pruning, as plain data, and those for code that no model has judged.

There is too little of that code, nothing in it, or an error that lets it pass. This module knows how tokens are
counted; it knows no transport, neither chunks nor scores."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from lamr_base.errors import LamrError, unseen_lines
from lamr_base.records import dataclass
from lamr_model.counters import DEFAULT, counted_by, token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.words import query_terms
from lamr_postprocess import (
    Cut,
    Encoding,
    PrunedCode,
    approximate_tokens,
    line_spans,
    prune_lines,
)
from lamr_postprocess.minified import parts_around

from lamr_client.effort import Effort
from lamr_client.prune_options import PruneOptions

Status = Literal["pruned", "passthrough"]


@dataclass(frozen=True)
class Timings:
    """The seconds that the parts of a call took, by the clock on the wall.

    Attributes:
        encode: checking, tokenizing and planning chunks.
        infer: until the last chunk was answered, retries and waiting included.
        postprocess: line scores, selection, repair and rendering.
        total: the whole call."""

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
        line_scores: one score in [0, 1] for each line of the original; all 0 where nothing was scored.
        reasons: why each kept line was kept: `semantic`, `dependency`, `keep` (the caller's wish), `outcome` (it
            says how a tool's run ended) or `repair:<kind>`; empty where nothing was scored.
        relevance: how likely the code holds what the query looks for (P("yes") of the most relevant chunk, for a model
            whose scoring knows no presence); None where nothing was scored.
        tokens_in, tokens_out: tokens of the original and of `text`, markers included, by the call's `tokenizer`;
            estimated where the line model alone answered and no limit had to be kept.
        tokenizer: what counted them: a name of `lamr_model.counters.TOKENIZERS`, or a file's path.
        status: `pruned` if anything was cut, else `passthrough`, and `reason` says why: an error was met and
            `on_error="passthrough"`, all was selected, the code fits into the budget, holds nothing, or has fewer
            tokens than `min_tokens`.
        reason: why passthrough, or what was not done as usual ("… does not parse: line level", or the error that ended
            the reading); None if all was.
        language: the code's language by its usual name; None if it wasn't found out.
        cuts: the removed runs of lines.
        model: the model's name and version.
        threshold: how likely lines had to be: as the caller said, or the model's as it adapted to the scores of
            this code. None where lines were taken in falling order of score (`ratio`, `max_tokens`) or not scored.
        query_read: what the model read of the query and the task, where they were too long to be read whole; None
            where they weren't.
        effort: what the encoder read and why no more; None where nothing was scored.
        failures: of a tool's output, how many lines that say that something failed are shown, and how many there are.
        unseen: how many of the lines in `text` have invisible characters; `reason` says so, too.
        encoding: how the code was encoded, where it was given as bytes; see `to_bytes`.
        timings: how long the call took."""

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
    failures: tuple[int, int] = (0, 0)
    unseen: int = 0
    tokenizer: str = DEFAULT
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
            "failures": cut.failures,
            "unseen": unseen_lines(cut.text),
        }
        return dataclasses.replace(self, **kept, status="pruned", cuts=cut.cuts, **more)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, in JSON's types: line numbers in `reasons` become strings, cuts `{start, end}`.

        The effort becomes its few words, the encoding its name.
        Line scores are rounded to six places."""
        data = dataclasses.asdict(self)
        data["kept_lines"] = list(self.kept_lines)
        data["line_scores"] = [round(score, 6) for score in self.line_scores]
        data["reasons"] = {str(line): reason for line, reason in self.reasons.items()}
        data["effort"] = None if self.effort is None else str(self.effort)
        data["encoding"] = self.encoding.name
        data["cuts"] = [dataclasses.asdict(cut) for cut in self.cuts]
        return data

    def to_bytes(self) -> bytes:
        """Return the text in the encoding of the code, so that kept lines are those of the file byte for byte."""
        return self.encoding.encode(self.text)

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


MOST_COUNTED_CHARS = 1 << 20
"""The tokens of a longer text that passes through are estimated: counting them would take more than about a second."""

MOST_EXCERPT_TOKENS = 2_000
"""Of the parts of a minified text, where no budget says less."""


def unjudged(
    encoder: PromptEncoder,
    asked: QueryDocument,
    options: PruneOptions,
    tokens: int,
    count: Callable[[str], int],
) -> PruneResult:
    """Return the result for code without lines to choose from, for too little of it, and for none. `tokens`: how many
    tokens the code has. `count`: how many tokens a text has."""
    text = asked.source.text
    if asked.minified:
        return _parts_of_lines(_whole(encoder, text, options, tokens, asked.minified), asked, options, count)
    why = "the code holds nothing but white space: kept as it is" if text else "the code is empty"
    if tokens < options.min_tokens and not asked.source.layout.blank.all():
        why = f"passed through: {tokens} tokens, fewer than min_tokens {options.min_tokens}"
    return _whole(encoder, text, options, tokens, why)


def passthrough(
    encoder: PromptEncoder, text: str, options: PruneOptions, error: LamrError, begin: float
) -> PruneResult:
    """Return what `on_error="passthrough"` gives for an error.

    The tokens of a text beyond `MOST_COUNTED_CHARS` are estimated, because counting them would take longer than the
    caller was ready to wait."""
    counter = token_counter(options.tokenizer, encoder)
    count = counter.count_tokens if len(text) <= MOST_COUNTED_CHARS else approximate_tokens
    result = _whole(encoder, text, options, count(text), f"{type(error).__name__}: {error}")
    unseen = unseen_lines(text)
    return dataclasses.replace(result, unseen=unseen, timings=Timings(total=time.perf_counter() - begin))


def _whole(encoder: PromptEncoder, text: str, options: PruneOptions, tokens: int, why: str) -> PruneResult:
    """Return the text as it came, with all lines kept and nothing scored."""
    scores = [0.0] * len(line_spans(text))
    known = {"language": options.language, "model": model_name(encoder), "reason": why}
    known["tokenizer"] = counted_by(options.tokenizer)
    return PruneResult.whole(text, scores, tokens, **known)


def _parts_of_lines(
    whole: PruneResult, asked: QueryDocument, options: PruneOptions, count: Callable[[str], int]
) -> PruneResult:
    """Return code without lines to choose from: as it came, or what fits into a budget, or parts of its lines."""
    text, tokens, why, language = whole.text, whole.tokens_in, asked.minified, asked.source.language
    whole = dataclasses.replace(whole, language=language.name)
    shares = [] if options.ratio is None else [tokens / options.ratio]
    limit = min([*shares, *([options.max_tokens] if options.max_tokens else [])], default=math.inf)
    lines = whole.kept_lines
    title = language.comment.wrap(f"... {why}; the parts around what is looked for") + "\n"
    if options.excerpts and count(title) <= limit:
        words = query_terms(asked.given.text)
        most = min(limit, MOST_EXCERPT_TOKENS)
        parts = parts_around(
            text,
            asked.source.spans,
            words,
            language.comment,
            lambda it: count(title + it) <= most,
        )
        cut = PrunedCode(title + parts, (), {}, (Cut(1, len(lines)),), language.name, None)
        why = why if parts else f"{why}; nothing that fits matches the query"
    elif tokens > limit:
        cut = prune_lines(
            asked.source,
            [0.0] * len(lines),
            count_tokens=count,
            **options.cutting,
        )
        why = f"{why}; excerpts would show the parts around what is looked for"
    else:
        return whole
    return whole.cut_to(cut, count(cut.text), reason=why)


def model_name(encoder: PromptEncoder) -> str:
    """Return the model's name and version, as results carry them."""
    return f"{encoder.spec.name} {encoder.spec.version}"
