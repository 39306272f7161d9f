"""`QueryDocument`: a document, what is asked about it, and what a model reads of both, prepared once.

Client, packs, fits and training all prepare their documents here, so that a model learns from and is fitted on what it
is served with. The module calls the others in order: the reading of query and task is chosen, encoded data is left out,
lines that the query names are found. Tokens are made when they are first needed, because what reads words alone needs
none. The module knows no scores."""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import cached_property

import numpy as np
from lamr_base.arrays import Float64Array, ranges
from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout
from lamr_postprocess.minified import minified
from lamr_postprocess.outputs import failing_lines
from lamr_postprocess.source_file import SourceFile
from numpy.typing import NDArray

from lamr_model.encoding import Chunks, PromptEncoder
from lamr_model.query_truncation import Query, TruncatedQuery
from lamr_model.scoring.line_model import LineModel, QueryLines
from lamr_model.scoring.named_lines import named_lines, named_text, nearness, placed_lines
from lamr_model.words import TermIndex

Tokens = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Ids int64 [n], and offsets int64 [n, 2]: first and one-past-last character of each token."""
NO_TOKENS: Tokens = (np.zeros(0, np.int64), np.zeros((0, 2), np.int64))
LEAST_RUN = 512
"""Characters that data has at least: more than any identifier, path or hash."""
_LEAST_SHARE = 0.8  # of a line's characters, for the line to be nothing but data
# Base64 and hexadecimal. The backslash is that of line ends in JSON's strings.
_LETTERS = frozenset(string.ascii_letters + string.digits + "+/=\\")
_WRITES_DATA = np.array([chr(point) in _LETTERS for point in range(128)] + [False])


@dataclass(frozen=True, eq=False)
class EncodedData:
    """Where a text of c characters and L lines holds bytes that are written out as letters, as notebooks hold images.

    Nobody reads them, and a model would make thousands of tokens of them, against which the rest would be judged."""

    spans: NDArray[np.int64]  # [k, 2], first and one-past-last character of each piece of data, ascending
    lines: NDArray[np.bool_]  # [L], lines that hold hardly anything else

    @classmethod
    def of(cls, layout: LineLayout) -> EncodedData:
        """Find a text's data: unbroken runs of at least `LEAST_RUN` characters that could be base64."""
        sizes = layout.spans[:, 1] - layout.spans[:, 0]
        long = np.flatnonzero(sizes >= LEAST_RUN)  # a run lies in one line, because no line end is data
        places = ranges(layout.spans[long, 0], sizes[long])
        written = np.zeros(len(places) + 2, np.int8)
        written[1:-1] = _WRITES_DATA[np.minimum(layout.points[places], 128)]
        edges = np.diff(written)
        begins, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
        runs = ends - begins >= LEAST_RUN
        spans = np.stack([places[begins[runs]], places[ends[runs] - 1] + 1], axis=1)
        line = np.searchsorted(layout.spans[:, 1], spans[:, 0], side="right")
        lengths = np.bincount(line, spans[:, 1] - spans[:, 0], minlength=len(layout.spans))
        return cls(spans, lengths > _LEAST_SHARE * sizes)

    def outside(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of n tokens begin outside all data, bool [n]. `offsets`: int64 [n, 2], first and one-past-last
        character of each token."""
        begun = np.searchsorted(self.spans[:, 0], offsets[:, 0], side="right")
        ended = np.searchsorted(self.spans[:, 1], offsets[:, 0], side="right")
        outside: NDArray[np.bool_] = begun == ended
        return outside

    def note(self) -> str:
        """Return what a user should know of the data, in words."""
        count = int(self.lines.sum())
        if not count:
            return "encoded data (images and the like) within lines was not judged"
        return f"{count} line{'s' * (count != 1)} of encoded data (images and the like) scored 0"


@dataclass(frozen=True, eq=False)
class QueryDocument:
    """A file of L lines and a query."""

    given: Query  # the query as the caller gave it
    source: SourceFile  # the file; its text is read without the numbers of a listing
    reading: TruncatedQuery  # what the encoder reads of the query and its task
    query_ids: NDArray[np.int64]  # [q], the tokens of the reading
    # makes the tokens of the text; it is called once, when they are first needed
    tokenize: Callable[[], Tokens]
    data: EncodedData | None  # the encoded data that isn't judged and scores 0; None where all is judged

    @classmethod
    def of(  # noqa: PLR0913  # keyword-only, each with a default
        cls,
        encoder: PromptEncoder,
        query: Query,
        source: SourceFile,
        *,
        reading: TruncatedQuery | None = None,
        tokens: Tokens | None = None,
        judge_data: bool = False,
        check: Callable[[], object] = lambda: None,
    ) -> QueryDocument:
        """Prepare a file.

        Args:
            encoder: the model's prompt and tokenizer.
            query: what is looked for. Its history is read beside the task and apart from it, by the line model alone.
            source: the file.
            reading: what is read of query and task, where several documents share one reading: the files of a pack
                compete, and their answers are kept by what was read.
            tokens: the tokens of the file's body, where they are at hand, such as in a cache; or `NO_TOKENS` for
                whoever reads words alone.
            judge_data: whether encoded data is judged like code, for callers who want the model's own selection.
            check: called between slices of text while tokens are made; what it raises ends the work.

        Raises:
            InvalidInputError: the query has no word that the tokenizer knows, or leaves no room for code."""
        reading = reading or encoder.read_query(query, lambda: TermIndex.of(source.body, source.layout))
        query_ids = encoder.encode_query(reading.text)
        if not len(query_ids):
            raise InvalidInputError(
                "the query has no word that the model's tokenizer knows; say it differently", argument="query"
            )
        encoder.code_room(len(query_ids))  # before time goes into the code
        data = None if judge_data else _data(source.layout)

        def tokenize() -> Tokens:
            return encoder.encode_document(source.body, check) if tokens is None else tokens

        return cls(query, source, reading, query_ids, tokenize, data)

    @cached_property
    def length(self) -> int:
        """How many tokens the text has, those that aren't judged included."""
        return len(self._tokens[0])

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids int64 [n] of the tokens that are judged."""
        return self._judged[0]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The characters int64 [n, 2] of the tokens that are judged."""
        return self._judged[1]

    @cached_property
    def _tokens(self) -> Tokens:
        return self.tokenize()

    @cached_property
    def _judged(self) -> Tokens:
        ids, offsets = self._tokens
        if self.data is None:
            return ids, offsets
        outside = self.data.outside(offsets)
        return (ids[outside], offsets[outside]) if outside.any() else (ids, offsets)

    @property
    def query(self) -> str:
        """What is looked for, as the model reads it."""
        return self.reading.text

    @cached_property
    def minified(self) -> str:
        """What the text is if it has no lines to choose from, whatever data is among them; empty of any other."""
        spans = self.source.layout.spans
        return minified(spans if self.data is None else spans[~self.data.lines])

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """The lines that query or task name, bool [L]: by number, and in the output of commands by what they hold."""
        source, listing = self.source, self.source.listing
        words = f"{self.given.text}\n{self.given.task}"
        if listing is not None and listing.places is not None:
            named = placed_lines(words, source.path, listing.places)
        else:
            named = named_lines(words, source.path, len(source.spans))
        if source.is_output or (listing is not None and listing.files > 1):
            named = named | named_text(words, source.text, source.spans)
        return named

    @cached_property
    def failing(self) -> NDArray[np.bool_]:
        """The lines of a command's output that tell of failures, bool [L]: tracebacks, failed tests, errors."""
        failing = np.zeros(len(self.source.spans), np.bool_)
        for rows in failing_lines(self.source.body_lines) if self.source.is_output else ():
            failing[list(rows)] = True
        return failing

    @cached_property
    def near_named(self) -> Float64Array:
        """How near each line is to one that is named, float64 [L]."""
        return nearness(self.named)

    def asked_lines(self, model: LineModel) -> tuple[QueryLines, ...]:
        """Return the query and the lines as a line model reads them: query and task whole, however long they are.

        Where a history is known, they follow once more with the history in the task's place."""
        given = self.given
        before = [Query(given.text, given.history)] if given.history.strip() else []
        return model.ask([given, *before], self.source, self.near_named)

    def chunks(self, encoder: PromptEncoder) -> Chunks:
        """Return the document's chunks in order; none for a text without tokens. `encoder`: what prepared it."""
        return encoder.chunk(
            self.query_ids, self.ids, self.offsets, self.source.body, layout=self.source.layout
        )


def _data(layout: LineLayout) -> EncodedData | None:
    """Return a text's encoded data; None without any. A text of nothing else is judged like any other."""
    data = EncodedData.of(layout)
    if not len(data.spans):
        return None
    inked = np.flatnonzero(layout.inked)
    return data if data.outside(np.stack([inked, inked], axis=1)).any() else None
