"""How much it says when a token of the query occurs in the code: rare words say much, stop words nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from lamr_training.model.vocabulary import INDENTS, SPECIAL

# Words that say what kind of question it is, not what it's about; and code's own function words.
_STOP = """
    a an and are as at be been but by can could did do does doe for from had has have how i if in into is it its me my
    no not of on or our should so such than that the their them then there these they this those thi to under up use
    used using was we were what when where which while who why will with within would you your s t happen happens
    role code function method class module implement implemented implementation def self return import none true
    false elif else try except raise pass lambda async await yield global del assert cls
    """
STOP_WORDS = frozenset(_STOP.split())

# A token that fewer than this share of documents hold is as rare as can be; smaller counts are noise.
_RARE = 0.004


def rarity(tokenizer: Tokenizer, documents: Iterable[Sequence[int]]) -> Tensor:
    """The rarity of each token, float32 `[V]` in [0, 1]: its idf over documents, and 0 for marks and stop words."""
    size = tokenizer.get_vocab_size()
    count = np.zeros(size)
    total = 0
    for ids in documents:
        count[np.unique(np.asarray(ids, dtype=np.int64))] += 1
        total += 1
    idf = np.log((total + 1) / (count + 0.5)) / np.log(1 / _RARE)
    words = [tokenizer.id_to_token(number) or "" for number in range(size)]
    silent = [
        not w.removeprefix("##").isalnum() or w in STOP_WORDS or w in SPECIAL or w in INDENTS for w in words
    ]
    short = np.array([0.3 if len(w.removeprefix("##")) < 3 or w.startswith("##") else 1.0 for w in words])
    return torch.tensor(np.where(silent, 0.0, idf * short).clip(0, 1), dtype=torch.float32)
