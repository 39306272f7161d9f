"""What counts the tokens of budgets: a table of a large model's tokenizer, a bound for all, a file, or our own."""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol, get_args

import numpy as np
from lamr_base.choices import TokenizerName
from lamr_base.errors import InvalidInputError
from lamr_base.files import MOST_TOKENIZER_BYTES, read_regular
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_model.encoding import PromptEncoder
from lamr_model.tokens.token_tables import TABLES
from lamr_model.tokens.tokenizer_files import parse_tokenizer

DEFAULT = TABLES[0]
"""Counts where nobody says what does."""
MODELS_OWN = "model"
"""Stands for a tokenizer: the pruning model's own."""
TOKENIZERS: tuple[str, ...] = get_args(TokenizerName)
"""The names that options take in place of a file."""


class Counter(Protocol):
    """Counts tokens."""

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text."""
        ...

    def count_each(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the tokens of each of n short texts, int64 [n]."""
        ...

    def line_costs(self, lines: Sequence[str]) -> NDArray[np.float64]:
        """Return about how many tokens each of L lines adds to a text, float64 [L]."""
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

    def line_costs(self, lines: Sequence[str]) -> NDArray[np.float64]:
        return self.count_each(lines).astype(np.float64)


def counted_by(tokenizer: str | os.PathLike[str] | None) -> str:
    """Return how a result says what counted its tokens: a name, or a file's path."""
    return DEFAULT if tokenizer is None else os.fspath(tokenizer)


def token_counter(tokenizer: str | os.PathLike[str] | None, encoder: PromptEncoder) -> Counter:
    """Return what counts tokens. `tokenizer`: one of `TOKENIZERS`, or the `tokenizer.json` of whoever will read the
    text; None for `DEFAULT`. Raises `InvalidInputError`: the name is unknown and no file, or the file is no
    tokenizer."""
    name = counted_by(tokenizer)
    if name in TOKENIZERS:
        return encoder if name == MODELS_OWN else encoder.table(name)
    assert tokenizer is not None
    try:
        return _of_content(read_regular(Path(tokenizer), MOST_TOKENIZER_BYTES))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{tokenizer} is no tokenizer ({error}); name a tokenizer.json, or one of {', '.join(TOKENIZERS)}",
            argument="tokenizer",
        ) from error


@lru_cache(maxsize=2)  # parsing takes ten times as long as pruning a file
def _of_content(content: bytes) -> _ReadersTokenizer:
    return _ReadersTokenizer(parse_tokenizer(content.decode("utf-8")))
