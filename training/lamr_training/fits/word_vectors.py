"""The words that have vectors, and what these begin with: the states of a sentence encoder, which puts words of like
meaning near each other.

A word that few records hold keeps what it began with, so that rare words have neighbours too. The module knows records,
words and the published MiniLM.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import torch
from lamr_evaluation.records import Record
from lamr_model.words import TermIndex, query_terms, split_words, stem
from lamr_postprocess.layout import line_layout
from torch import Tensor
from torch.nn import functional as F

from lamr_training.model.backbone import load_minilm

_AT_ONCE = 256
_SAMPLE = 12_000  # the most frequent words, whose principal components are those of all
_LONGEST_QUERY, _LONGEST_WORD = 2_500, 24  # characters
_QUERY_COUNT = 3  # a word of a query counts as much as three lines' words: there are far fewer of them
_SHOWN = 6_000  # characters of a file that tell how words are written


@dataclass(frozen=True, kw_only=True)
class WordCounts:
    """Which words have vectors."""

    most: int = 30_000  # how many at most
    least: int = 4  # how often the rarest of them occurs, in lines and three times in queries
    records: int = 9_000  # the words of so many records are counted


def counted_words(records: Iterable[Record], counts: WordCounts) -> tuple[list[str], list[str]]:
    """Return the most frequent words of queries and lines, most frequent first, and each as it is written most often.

    A stem such as `decod` says nothing to an encoder.
    """
    found: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in islice(records, counts.records):
        found.update(TermIndex.of(record.code, line_layout(record.code)).occurrences()[0])
        for term in query_terms(record.words[:_LONGEST_QUERY]):
            found[term] += _QUERY_COUNT
        for word in chain.from_iterable(
            map(split_words, (*record.words.split(), *record.code[:_SHOWN].split()))
        ):
            written[stem(word)][word] += 1
    common = (word for word, n in found.most_common() if n >= counts.least and len(word) <= _LONGEST_WORD)
    words = list(islice(common, counts.most))
    return words, [
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
