"""LongCodeZip's two stages: a file and a question in; the functions and sections that tell most about it out."""

import itertools
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass
from lamr_model.perplexity.causal_scorer import CausalScorer
from lamr_postprocess import PrunedCode, detect_language, language_named, prune_lines

from lamr_repositories.compression.coarse import function_chunks, mutual_information, order_of, take, target
from lamr_repositories.compression.fine import WHOLE, Sections, cut_sections, knapsack, rates
from lamr_repositories.compression.options import CompressionOptions
from lamr_repositories.compression.perplexity import Perplexity, by_question, preserved
from lamr_repositories.options import OnProgress


@dataclass(frozen=True, eq=False)
class ZippedChunk:
    """What became of one chunk."""

    score: float  # how much it lowers the question's perplexity; 0 where nothing was ranked
    taken: bool  # whether the coarse stage took it
    # the share of it that the fine stage aimed at; 1 without a fine stage, 0 for chunks that weren't taken
    rate: float
    sections: Sections | None  # its sections; None where it is kept or left out as a whole
    kept_sections: tuple[int, ...]  # the sections that are kept; empty without sections
    kept_lines: tuple[int, ...]  # the kept lines of it, from 0
    tokens: int  # of the whole chunk


@dataclass(frozen=True, eq=False)
class Compression:
    """A compressed file.

    Attributes:
        chunks: what became of each chunk, in the file's order.
        order: the chunks' places in falling order of score.
        pruned: the finished text with its markers, kept lines and reasons; None for chunks without a file.
        tokens_in, tokens: of the file and of the finished text, by the scorer's tokenizer; 0 without a
            file."""

    chunks: tuple[ZippedChunk, ...]
    order: tuple[int, ...]
    pruned: PrunedCode | None = None
    tokens_in: int = 0
    tokens: int = 0

    @property
    def text(self) -> str:
        """The finished text."""
        return self.pruned.text if self.pruned else ""

    def to_dict(self) -> dict[str, Any]:
        """Return text, kept lines, tokens, and what became of each chunk, as JSON takes them."""
        return {
            "text": self.text,
            "kept_lines": list(self.pruned.kept_lines) if self.pruned else [],
            "tokens_in": self.tokens_in,
            "tokens": self.tokens,
            "order": list(self.order),
            "chunks": [
                {
                    "score": each.score if np.isfinite(each.score) else None,
                    "taken": each.taken,
                    "rate": each.rate,
                    "tokens": each.tokens,
                    "kept_lines": list(each.kept_lines),
                }
                for each in self.chunks
            ],
        }

    def summary(self) -> str:
        """Return one line for a terminal."""
        taken = sum(each.taken for each in self.chunks)
        kept = len(self.pruned.kept_lines) if self.pruned else 0
        return (
            f"{taken:,} of {len(self.chunks):,} functions · {kept:,} lines · "
            f"{self.tokens_in:,} → {self.tokens:,} tokens"
        )


@dataclass(frozen=True, eq=False)
class _Job:
    """What is asked, of which model, and who is told."""

    question: str
    model: Perplexity
    options: CompressionOptions
    comment: str
    on_progress: OnProgress = field(default=lambda *_: None)


def compress(  # noqa: PLR0913  # one keyword an option
    code: str,
    question: str,
    scorer: CausalScorer,
    options: CompressionOptions | None = None,
    *,
    path: str | None = None,
    language: str | None = None,
    repair: bool = True,
    on_progress: OnProgress | None = None,
) -> Compression:
    """Compress a file for a question by LongCodeZip's two stages.

    Kept lines are unchanged, and every cut is marked. Rates are aims and not limits, as in the published method; repair
    adds to them.

    Args:
        code: the file's text.
        question: what is looked for, or the code to be completed.
        scorer: the causal language model.
        options: the published options.
        path: the file's name, which tells the language.
        language: the language's name, instead of the path.
        repair: whether to add the lines that the kept ones need to parse; LongCodeZip itself doesn't.
        on_progress: called with a stage's name, what is done of it and how much there is.

    Raises:
        InvalidInputError: the question is blank.
        ServerError, ModelMismatchError: the model failed."""
    known = language_named(language) if language else detect_language(code, path)
    parts = function_chunks(code, known)
    model = Perplexity(scorer)
    found = _compressed(
        [part.text for part in parts],
        _Job(
            question,
            model,
            options or CompressionOptions(),
            known.comment.opening,
            on_progress or (lambda *_: None),
        ),
    )
    scores = np.zeros(parts[-1].stop if parts else 0)
    for part, zipped in zip(parts, found.chunks, strict=True):
        scores[[part.first + line for line in zipped.kept_lines]] = 1.0
    pruned = prune_lines(code, scores, language=known.name, threshold=0.5, repair=repair)
    return Compression(found.chunks, found.order, pruned, model.count(code), model.count(pruned.text))


def compress_chunks(
    chunks: Sequence[str],
    question: str,
    scorer: CausalScorer,
    options: CompressionOptions | None = None,
    *,
    comment: str = "#",
) -> Compression:
    """Do the same with chunks of a caller's own, and write no text.

    Args:
        chunks: the texts to choose from.
        question, scorer, options: as in `compress`.
        comment: what a comment begins with.

    Raises:
        InvalidInputError, ServerError, ModelMismatchError: as in `compress`."""
    return _compressed(chunks, _Job(question, Perplexity(scorer), options or CompressionOptions(), comment))


def _compressed(chunks: Sequence[str], job: _Job) -> Compression:
    if not job.question.strip():
        raise InvalidInputError("the question is blank; say what you are looking for", argument="question")
    tokens = [job.model.count(chunk) for chunk in chunks]
    if sum(tokens) <= target(tokens, job.options):
        return Compression(tuple(map(_whole, chunks, tokens)), tuple(range(len(chunks))))
    job.on_progress("functions", 0, len(chunks))
    scores = mutual_information(chunks, job.question, job.model)
    job.on_progress("functions", len(chunks), len(chunks))
    order = order_of(scores)
    taken = take(order, tokens, job.options)
    shares = np.zeros(len(chunks))
    shares[taken] = _shares([chunks[place] for place in taken], scores[taken].tolist(), job.options)
    found = []
    for place, chunk in enumerate(chunks):
        score, rate = float(scores[place]), float(shares[place])
        if place in taken:
            found.append(_fine(chunk, score, rate, tokens[place], job))
            job.on_progress("sections", taken.index(place) + 1, len(taken))
        else:
            found.append(ZippedChunk(score, False, 0.0, None, (), (), tokens[place]))
    return Compression(tuple(found), tuple(order.tolist()))


def _shares(chunks: Sequence[str], scores: Sequence[float], options: CompressionOptions) -> list[float]:
    if options.rank_only:
        return [1.0] * len(chunks)
    ratio = options.rate if options.fine_ratio is None else options.fine_ratio
    lines = [chunk.count("\n") + 1 for chunk in chunks]
    shares: list[float] = rates(scores, lines, ratio, options.beta, options.min_lines).tolist()
    return shares


def _whole(
    chunk: str, tokens: int, score: float = 0.0, rate: float = 1.0, sections: Sections | None = None
) -> ZippedChunk:
    return ZippedChunk(score, True, rate, sections, (), tuple(range(chunk.count("\n") + 1)), tokens)


def _fine(chunk: str, score: float, rate: float, tokens: int, job: _Job) -> ZippedChunk:
    """Choose the sections of one function."""
    if rate >= WHOLE:
        return _whole(chunk, tokens, score, rate)
    sections = cut_sections(chunk, job.model)
    texts = sections.texts
    if sum(bool(text.strip()) for text in texts) < job.options.min_lines:
        return _whole(chunk, tokens, score, rate, sections)
    values = by_question(texts, job.question, job.model)
    anyway = preserved(texts, job.comment)
    kept = sorted(knapsack(values, [job.model.count(text) for text in texts], int(tokens * rate), anyway))
    spans = list(itertools.pairwise(sections.bounds.tolist()))
    rows = tuple(row for place in kept for row in range(*spans[place]))
    return ZippedChunk(score, True, rate, sections, tuple(kept), rows, tokens)
