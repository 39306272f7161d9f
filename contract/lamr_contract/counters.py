"""What counts the tokens of budgets: so that no large model's tokenizer has more, by the reader's own, or by ours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import InvalidInputError
from lamr_contract.files import MOST_TOKENIZER_BYTES, read_regular
from lamr_contract.tokens.tokenizer_files import parse_tokenizer

MODELS_OWN = "model"
"""Stands for a file: budgets then count the pruning model's own tokens, as evaluations do."""


class Counter(Protocol):
    """Counts tokens."""

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text."""
        ...

    def count_each(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the tokens of each of n short texts, int64 [n]."""
        ...


class _ReadersTokenizer:
    """A tokenizer as its file has it, without truncation, padding and special tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def count_each(self, texts: Sequence[str]) -> NDArray[np.int64]:
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return np.fromiter(map(len, encodings), np.int64, len(encodings))


def token_counter(tokenizer: str | os.PathLike[str] | None, encoder: PromptEncoder) -> Counter:
    """Return what counts tokens.

    Args:
        tokenizer: the `tokenizer.json` of whoever will read the text; `MODELS_OWN` for the pruning model's; None counts
            so that the tokenizers of large models have no more (`token_limits`).
        encoder: the model's.

    Raises:
        InvalidInputError: the file can't be read or is no tokenizer.
    """
    if tokenizer is None:
        return encoder.limits
    if os.fspath(tokenizer) == MODELS_OWN:
        return encoder
    try:
        return _of_content(read_regular(Path(tokenizer), MOST_TOKENIZER_BYTES))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{tokenizer} is no tokenizer ({error}); name a tokenizer.json", argument="tokenizer"
        ) from error


@lru_cache(maxsize=2)  # parsing takes ten times as long as pruning a file
def _of_content(content: bytes) -> _ReadersTokenizer:
    return _ReadersTokenizer(parse_tokenizer(content.decode("utf-8")))
