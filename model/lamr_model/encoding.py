"""Turns a query and a source file into the token sequences that a model was trained on.

Training, evaluation and client build their inputs here, so a served model sees what it has learned from. The module
knows the tokenizer, the prompt and the window; it knows no transport and no scores."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from lamr_base.errors import InvalidInputError, ModelMismatchError
from lamr_base.expressions import expression
from lamr_base.files import MOST_TOKENIZER_BYTES, read_regular
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout, line_layout
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_model.chunking import LineStarts, fixed_chunks, header_tokens, plan_chunks
from lamr_model.names import TOKENIZER_FILE
from lamr_model.query_truncation import Query, TruncatedQuery, read
from lamr_model.spec import Chunking, ModelSpec, client_files, load_spec
from lamr_model.tokens.token_tables import TokenTable
from lamr_model.tokens.tokenizer_files import parse_tokenizer
from lamr_model.words import TermIndex

SLICE_CHARS, MOST_SLICE_CHARS = 2048, 8192
_SLICES_AT_ONCE = 16
# Where a slice ends: before a single space between two ASCII letters or digits, where that is sure to change nothing.
_LAST_SAFE = expression(r".*[A-Za-z0-9](?= [A-Za-z0-9])", re.DOTALL)
_NEXT_SAFE = expression(r"[A-Za-z0-9](?= [A-Za-z0-9])")
# The next best places for a cut: before spaces inside or at the end of a line, then before a line that isn't indented.
_SECOND_BEST = (expression(r".*(?<=\S)(?= )", re.DOTALL), expression(r".*\n(?=\S)", re.DOTALL))


def slice_bounds(text: str) -> list[int]:
    """Return where the slices of a text begin, and where the last one ends.

    A slice begins at a single space between two words, about `SLICE_CHARS` characters after the one before. Where there
    is no such space for `MOST_SLICE_CHARS` characters, it begins at the next best place, or anywhere."""
    bounds = [0]
    while bounds[-1] + SLICE_CHARS < len(text):
        bounds.append(_end_of_slice(text, bounds[-1]))
    return bounds if bounds[-1] == len(text) else [*bounds, len(text)]


def _end_of_slice(text: str, start: int) -> int:
    short, hard = start + SLICE_CHARS, min(start + MOST_SLICE_CHARS, len(text))
    # A space is seen together with the character behind it.
    safe = _LAST_SAFE.match(text, start, short + 2) or _NEXT_SAFE.search(text, short, hard + 2)
    if safe or hard == len(text):
        return safe.end() if safe else hard
    matches = (pattern.match(text, start + 1, hard) for pattern in _SECOND_BEST)
    return next((match.end() for match in matches if match), hard)


def in_groups(slices: Iterator[str]) -> Iterator[list[str]]:
    """Yield slices, or short texts, in groups of as many as are tokenized at once."""
    while group := list(itertools.islice(slices, _SLICES_AT_ONCE)):
        yield group


READ_SHARE = 0.3
"""The share of the window that a query and a task may take; of longer ones the most telling parts are read."""
MIN_CODE_TOKENS = 32
"""A query must leave room for so many code tokens; with fewer, a chunk says too little about its code."""
# What a control token looks like: `<think>`, `[SEP]`, `<|im_end|>`.
_CONTROL = expression(r"<.*\w.*>|\[.*\w.*\]")


@dataclass(frozen=True, eq=False)
class Chunk:
    """One model input.

    Attributes:
        input_ids: int64 [t], the tokens of prompt, query, headers and code.
        document_span: first and one-past-last code token within `input_ids`.
        tokens: first and one-past-last of the same tokens within the document."""

    input_ids: NDArray[np.int64]
    document_span: tuple[int, int]
    tokens: tuple[int, int]


class Chunks(Sequence[Chunk]):
    """The chunks of a document, each made when it is asked for, so that those of a large one needn't all be held.

    Attributes:
        ranges: int64 [C, 2], the range of each one's tokens within the document."""

    def __init__(self, ranges: NDArray[np.int64], make: Callable[[int], Chunk]) -> None:
        """Keep what makes a chunk. `ranges`: see the class. `make`: gives a chunk by its place, from 0."""
        self.ranges, self._make = ranges, make

    def __len__(self) -> int:
        return len(self.ranges)

    @overload
    def __getitem__(self, place: int) -> Chunk: ...
    @overload
    def __getitem__(self, place: slice) -> list[Chunk]: ...
    def __getitem__(self, place: int | slice) -> Chunk | list[Chunk]:
        places = range(len(self))[place]
        return self._make(places) if isinstance(places, int) else [self._make(each) for each in places]


class PromptEncoder:
    """The tokenizer, prompt and window of one model. Safe to share between threads.

    The text of users can't forge special tokens, because these are recognized in the prompt only. So is every other
    control token that the prompt uses, such as `<think>`.

    Attributes:
        spec: what the encoder follows.
        prompt_tokens: the number of the prompt's tokens, without query and code."""

    def __init__(self, tokenizer: Tokenizer | str | Path, spec: ModelSpec) -> None:
        """Tokenize the prompt.

        Args:
            tokenizer: a `tokenizer.json`, which is checked against `spec.tokenizer_sha256`, or a tokenizer, which is
                copied.
            spec: prompt and window.

        Raises:
            ModelMismatchError: the file is missing, unreadable or another one, or the prompt fills the
                window."""
        self.spec = spec
        text = (
            tokenizer.to_str() if isinstance(tokenizer, Tokenizer) else _read_checked(Path(tokenizer), spec)
        )
        try:
            self._tokenizer = parse_tokenizer(text)
        except ValueError as error:
            raise ModelMismatchError(
                f"{tokenizer}: not a tokenizer ({error}); export the model again",
                path=None if isinstance(tokenizer, Tokenizer) else tokenizer,
            ) from error
        template = spec.prompt
        pieces = [self._tokenize(piece)[0] for piece in (template.before, template.between, template.after)]
        self._before, self._between, self._after = pieces
        self._tokenizer.encode_special_tokens = True
        self._protect_prompt_tokens()
        self._tables: dict[str, TokenTable] = {}
        self.prompt_tokens = sum(map(len, pieces))
        if spec.chunking.window - self.prompt_tokens < 1 + self._least_code(spec.chunking):
            raise ModelMismatchError(
                f"the prompt of {spec.name} takes {self.prompt_tokens} of a window of {spec.chunking.window} tokens "
                "and leaves no room for a query and code; export the model with a larger window"
            )

    @classmethod
    def from_repository(cls, repository: Path) -> PromptEncoder:
        """Return the encoder of a model repository. Raises `ModelMismatchError`: `lamr.json` or `tokenizer.json` is
        missing or doesn't belong to the other."""
        return cls(client_files(repository) / TOKENIZER_FILE, load_spec(repository))

    def encode_query(self, query: str) -> NDArray[np.int64]:
        """Return the token ids int64 [q] of a query with the prompt's text around it; `code_room` says if they fit."""
        prompt = self.spec.prompt
        return self._tokenize(prompt.query_before + query + prompt.query_after)[0]

    def read_query(self, query: Query, index: Callable[[], TermIndex]) -> TruncatedQuery:
        """Return what the model reads of a query and its task about a document: all, or what there is room for.

        Args:
            query: what is asked.
            index: gives the document's words; it is called only where not all can be read."""
        beside = self.prompt_tokens + self._least_code(self.spec.chunking)
        room = min(int(READ_SHARE * self.spec.chunking.window), self.spec.chunking.window - beside)
        return read(query, index, self._count_queries, room)

    def _count_queries(self, queries: Sequence[str]) -> NDArray[np.int64]:
        prompt = self.spec.prompt
        return self.count_each([prompt.query_before + query + prompt.query_after for query in queries])

    def encode_document(
        self, code: str, check: Callable[[], object] = lambda: None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokenize a whole file in bounded memory.

        The text goes through the tokenizer in slices that begin at a single space between two words (`text_slices`).
        There, byte-level BPE and WordPiece give the tokens of the whole text, whatever tokens they have for line ends
        and indentation.

        Args:
            code: the file's text.
            check: called between slices; what it raises ends the work.

        Returns:
            ids int64 [n] and offsets int64 [n, 2]: first and one-past-last character in `code` of each
            token."""
        return self._tokenize(code, check)

    def count_tokens(self, text: str) -> int:
        """Return how many tokens `encode_document` would give."""
        return int(self.count_each([text[a:b] for a, b in itertools.pairwise(slice_bounds(text))]).sum())

    def count_each(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return how many tokens each of n short texts has by itself, int64 [n]; long ones are for `count_tokens`."""
        encodings = (
            encoding
            for group in in_groups(iter(texts))
            for encoding in self._tokenizer.encode_batch_fast(group, add_special_tokens=False)
        )
        return np.fromiter(map(len, encodings), np.int64, len(texts))

    def line_costs(self, lines: Sequence[str]) -> NDArray[np.float64]:
        """Return how many tokens each of L lines has by itself, float64 [L]."""
        return self.count_each(lines).astype(np.float64)

    def table(self, name: str) -> TokenTable:
        """Return the table of a large model's tokenizer, one of `token_tables.TABLES`, or `token_tables.ANY`."""
        if name not in self._tables:
            self._tables[name] = TokenTable(name, lambda words: self.count_each(words).tolist())
        return self._tables[name]

    def code_room(self, query_tokens: int, chunking: Chunking | None = None) -> int:
        """Return how many code tokens a chunk holds beside the prompt and the query. Raises `InvalidInputError`: the
        query leaves room for less than `MIN_CODE_TOKENS`, or than a chunk that is smaller."""
        chunking = chunking or self.spec.chunking
        left = chunking.window - self.prompt_tokens - query_tokens
        least = self._least_code(chunking)
        if left < least:
            raise InvalidInputError(
                f"the query has {query_tokens} tokens, but the window of {chunking.window} has room for "
                f"{chunking.window - self.prompt_tokens - least} beside the prompt and the code; shorten the query",
                argument="query",
            )
        return min(chunking.tokens, left)

    def chunk(  # noqa: PLR0913  # what one document is
        self,
        query_ids: NDArray[np.int64],
        ids: NDArray[np.int64],
        offsets: NDArray[np.int64],
        code: str,
        chunking: Chunking | None = None,
        *,
        layout: LineLayout | None = None,
    ) -> Chunks:
        """Return a document's chunks in order.

        Args:
            query_ids: what `encode_query` returned.
            ids, offsets: what `encode_document(code)` returned.
            code: the document's text.
            chunking: takes the place of the model's own.
            layout: `line_layout(code)`, where it is at hand.

        Raises:
            InvalidInputError: the query leaves no room for code."""
        chunking = chunking or self.spec.chunking
        room = self.code_room(len(query_ids), chunking)
        prompt = np.concatenate([self._before, query_ids, self._between])
        layout = layout or line_layout(code)
        starts = LineStarts.of(offsets, layout)
        if chunking.cut == "tokens":
            plan = fixed_chunks(len(ids), room, chunking.overlap)
        else:
            plan = plan_chunks(offsets, layout, room, chunking.overlap, starts)
        headers = header_tokens(offsets, layout, plan, chunking.headers, starts)
        beside = chunking.window - len(prompt) - len(self._after)

        def make(place: int) -> Chunk:
            first, last = plan[place].tolist()
            above = headers[place][: beside - (last - first)]
            head = len(prompt) + len(above)
            input_ids = np.concatenate([prompt, ids[above], ids[first:last], self._after])
            return Chunk(input_ids, (head, head + last - first), (first, last))

        return Chunks(plan, make)

    def _tokenize(
        self, text: str, check: Callable[[], object] = lambda: None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        bounds = slice_bounds(text)
        slices = (text[a:b] for a, b in itertools.pairwise(bounds))
        encodings = (
            e
            for group in in_groups(slices)
            for e in self._tokenizer.encode_batch(group, add_special_tokens=False)
        )
        ids, offsets = [np.zeros(0, np.int64)], [np.zeros((2, 0), np.int64)]
        for start, encoding in zip(bounds, encodings, strict=False):
            check()
            count = len(encoding)
            ids.append(np.fromiter(encoding.ids, np.int64, count))
            spans = np.fromiter(itertools.chain.from_iterable(encoding.offsets), np.int64, 2 * count)
            offsets.append(spans.reshape(-1, 2).T + start)
        # From here on firsts and lasts are read by column, so each column lies together in memory.
        columns = np.empty((2, sum(map(len, ids))), np.int64)
        return np.concatenate(ids), np.concatenate(offsets, axis=1, out=columns).T

    def _protect_prompt_tokens(self) -> None:
        """Make the prompt's control tokens special, so that `encode_special_tokens` covers them all.

        Other added tokens stay as they are, because a code-aware tokenizer has some for indentation and common
        marks."""
        prompt = "".join((self.spec.prompt.before, self.spec.prompt.between, self.spec.prompt.after))
        used = [
            token
            for token in self._tokenizer.get_added_tokens_decoder().values()
            if not token.special and token.content in prompt and _CONTROL.fullmatch(token.content)
        ]
        for token in used:
            token.special = True
        if used:
            self._tokenizer.add_special_tokens(used)

    @staticmethod
    def _least_code(chunking: Chunking) -> int:
        """Return the number of code tokens that a query must leave room for."""
        return min(MIN_CODE_TOKENS, chunking.tokens)


def _read_checked(path: Path, spec: ModelSpec) -> str:
    """Return the text of the tokenizer file that a spec was written for."""
    try:
        data = read_regular(path, MOST_TOKENIZER_BYTES)
    except OSError as error:
        raise ModelMismatchError(
            f"{path} can't be read ({error.strerror}); export the model again", path=path
        ) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != spec.tokenizer_sha256:
        raise ModelMismatchError(
            f"{path} isn't the tokenizer of {spec.name} {spec.version}: sha256 {digest[:16]}…, expected "
            f"{spec.tokenizer_sha256[:16]}…; export the model again",
            path=path,
        )
    return data.decode("utf-8", "replace")
