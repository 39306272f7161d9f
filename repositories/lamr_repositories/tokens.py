"""Counts tokens by the model's tokenizer, or by the tokenizer of whoever will read the pack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import InvalidInputError
from lamr_contract.files import MOST_TOKENIZER_BYTES, read_regular
from lamr_contract.tokenizer_files import parse_tokenizer
from lamr_postprocess.lines import IntArray
from tokenizers import Tokenizer


class Counter(Protocol):
    """Counts tokens."""

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text."""
        ...

    def count_each(self, texts: Sequence[str]) -> IntArray:
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

    def count_each(self, texts: Sequence[str]) -> IntArray:
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return np.fromiter(map(len, encodings), np.int64, len(encodings))


def token_counter(file: Path | None, encoder: PromptEncoder) -> Counter:
    """Return what counts tokens.

    Args:
        file: a `tokenizer.json`; None takes the model's own.
        encoder: the model's.

    Raises:
        InvalidInputError: the file can't be read or is no tokenizer.
    """
    if file is None:
        return encoder
    try:
        return _ReadersTokenizer(parse_tokenizer(read_regular(file, MOST_TOKENIZER_BYTES).decode("utf-8")))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{file} is no tokenizer ({error}); name a tokenizer.json", argument="tokenizer"
        ) from error
