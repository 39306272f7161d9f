"""The vectors that words begin with: those of a sentence encoder, which puts words of like meaning near each other.

A word that few records hold keeps what it began with, so that rare words have neighbours too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import torch
from lamr_contract.words import split_words, stem
from torch import Tensor
from torch.nn import functional as F

from lamr_training.model.backbone import load_minilm

_AT_ONCE = 256
_SAMPLE = 12_000  # the most frequent words, whose principal components are those of all


def surfaces(texts: Iterable[str], words: Sequence[str]) -> list[str]:
    """Return each word as it is written most often: a stem such as `decod` says nothing to an encoder.

    Args:
        texts: texts with these words.
        words: terms (`lamr_contract.words`).
    """
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for word in split_words(text):
            written[stem(word)][word] += 1
    return [
        word.replace("_", " ") if "_" in word or word not in written else written[word].most_common(1)[0][0]
        for word in words
    ]


def start_vectors(texts: Sequence[str], width: int) -> Tensor:
    """Return vectors float32 `[V, width]` of V short texts, the most frequent first.

    They are means over the encoder's last states, of length 1, less their mean, along their principal components.
    """
    backbone, tokenizer = load_minilm()
    backbone.eval()
    rows = []
    with torch.no_grad():
        for first in range(0, len(texts), _AT_ONCE):
            encoded = tokenizer.encode_batch(list(texts[first : first + _AT_ONCE]))
            longest = max(len(each.ids) for each in encoded)
            ids = torch.tensor([each.ids + [0] * (longest - len(each.ids)) for each in encoded])
            held = torch.tensor([[1] * len(each.ids) + [0] * (longest - len(each.ids)) for each in encoded])
            states = backbone(input_ids=ids, attention_mask=held).last_hidden_state
            means = (states * held[..., None]).sum(dim=1) / held.sum(dim=1, keepdim=True)
            rows.append(F.normalize(means, dim=1))
    vectors = torch.cat(rows)
    vectors = vectors - vectors.mean(dim=0)
    _, _, components = torch.linalg.svd(vectors[:_SAMPLE], full_matrices=False)
    return vectors @ components[:width].T
