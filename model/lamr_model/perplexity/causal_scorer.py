"""`CausalScorer`: what gives the log-probability of each token of a text, given those before it.

One interface, wherever the model runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from lamr_base.errors import InvalidInputError, ModelMismatchError
from lamr_base.files import MOST_TOKENIZER_BYTES, read_regular
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_model.tokens.tokenizer_files import parse_tokenizer

IntArray = NDArray[np.int64]


class CausalScorer(Protocol):
    """A causal language model, as far as perplexities and likelihoods need it."""

    name: str  # what people call the model
    # names the model's weights and how they are run, so that answers may be kept; None where they may not
    key: str | None
    max_tokens: int  # the longest sequence that the model takes

    def encode(self, text: str) -> IntArray:
        """Return a text's token ids, int64 `[t]`.

        Special tokens that the model puts around every text are among them; those that the text itself spells are
        read as plain text. Raises `ServerError`, `ModelMismatchError`: the model failed."""
        ...

    def log_probs(
        self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None
    ) -> list[NDArray[np.float32]]:
        """Return the natural logarithms of the tokens' probabilities.

        Many sequences in one call cost less than one by one: those that begin alike may be read together.

        Args:
            sequences: token ids, int64 `[t]` each, t from 1 to `max_tokens`; they may be of any lengths, and any
                number of them.
            firsts: the first token of each sequence that is asked for; None asks for all.

        Returns:
            float32 `[t]` for each: of each token given those before it in its sequence; 0 for the first token, and for
            those before the first that is asked for.

        Raises:
            InvalidInputError: a sequence is empty or too long, or an id isn't in the vocabulary.
            ServerError, ModelMismatchError: the model failed."""
        ...


class Tokenized:
    """`CausalScorer.encode` by a `tokenizers.Tokenizer`."""

    tokenizer: Tokenizer  # the model's own; see `causal_tokenizer`

    def encode(self, text: str) -> IntArray:
        """See `CausalScorer.encode`."""
        return np.array(self.tokenizer.encode(text).ids, np.int64)


def only_asked(
    log_probs: Sequence[NDArray[np.float32]], firsts: Sequence[int] | None
) -> list[NDArray[np.float32]]:
    """Return log-probabilities with 0 before the first one that is asked for; see `CausalScorer.log_probs`."""
    if firsts is None:
        return list(log_probs)
    return [
        np.where(np.arange(len(values)) < first, np.float32(0), values)
        for values, first in zip(log_probs, firsts, strict=True)
    ]


def causal_tokenizer(file: Path) -> Tokenizer:
    """Read a causal model's `tokenizer.json`; see `tokenizer_of`. Raises `ModelMismatchError`: the file is missing or
    no tokenizer."""
    try:
        content = read_regular(file, MOST_TOKENIZER_BYTES)
    except OSError as error:
        raise _unreadable(str(file), error) from error
    return tokenizer_of(content, str(file))


def tokenizer_of(content: bytes, source: str) -> Tokenizer:
    """Read the content of a causal model's `tokenizer.json`, without truncation and padding.

    Special tokens that the file puts before every text (a beginning of text) are added; those that the text itself
    spells are read as plain text. `source`: the file or server that they come from, for errors. Raises
    `ModelMismatchError`: it is no tokenizer."""
    try:
        tokenizer = parse_tokenizer(content.decode("utf-8"))
    except ValueError as error:
        raise _unreadable(source, error) from error
    tokenizer.encode_special_tokens = True
    return tokenizer


def _unreadable(source: str, error: Exception) -> ModelMismatchError:
    return ModelMismatchError(
        f"{source} can't be read as a tokenizer ({error}); a model's folder must hold a tokenizer.json, which "
        "transformers writes for its fast tokenizers",
        path=source,
    )


def check_sequences(sequences: Sequence[IntArray], max_tokens: int, vocabulary: int | None = None) -> None:
    """Raise InvalidInputError for a sequence that is empty or longer than `max_tokens`, or an id that isn't in a
    vocabulary of so many ids, where it is known."""
    for ids in sequences:
        if not 1 <= len(ids) <= max_tokens:
            raise InvalidInputError(
                f"a sequence has {len(ids)} tokens; the model takes 1 to {max_tokens}", argument="sequences"
            )
        if ids.min() < 0 or (vocabulary is not None and ids.max() >= vocabulary):
            raise InvalidInputError(
                f"a token id lies outside the vocabulary of {vocabulary}", argument="sequences"
            )
