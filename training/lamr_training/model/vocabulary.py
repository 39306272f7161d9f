"""Makes a code-aware WordPiece tokenizer out of an uncased BERT one, all of it inside `tokenizer.json`.

Line ends with their indentation and common pairs of marks become single tokens; camelCase and snake_case are split
before lower-casing; plurals lose their s, so that "parses headers" and `parse_header` share tokens; words that code is
full of get entries of their own, and entries that code never uses go. Offsets stay those of the original text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, normalizers
from torch import Tensor

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
INDENTS = (
    tuple("\n" + " " * n for n in range(0, 25, 4)) + tuple("\n" + "\t" * n for n in range(1, 5)) + ("\n\n",)
)
# A file with two-character line ends reads as the same file, because the weights of these are copies of those above.
CRLF = tuple("\r" + text for text in INDENTS[:7])
_MARKS = r"""
): () == -> [" "] [' '] (" ") (' ') ", ', ), != ** [] {} ... ''' "" '' += >= <= // }) ({ )) ]) (f" (self self.
"""
MARKS = (*dict.fromkeys(_MARKS.split()), '"""')
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?:[a-rt-z]|s[a-z]))"
_PLURALS = (
    (r"(?<=[a-z]{2})(?<!ser)(?<!cook)(?<!mov)ies(?![a-z0-9])", "y"),
    (r"(?:(?<=ss)|(?<=sh)|(?<=tch)|(?<=x))es(?![a-z0-9])", ""),
    (r"(?<=[a-z]{2}[b-hj-rtv-z])(?<!doe)(?<!goe)s(?![a-z0-9])", ""),
)


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer that was made out of another."""

    tokenizer: Tokenizer  # the new tokenizer
    origins: list[list[int]]  # for each of its entries the ids of the old entries that it is composed of


def code_normalizer() -> normalizers.Normalizer:
    """A normalizer that splits identifiers, lower-cases, and takes accents and plural endings off."""
    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(_CAMEL), " "),
            normalizers.Replace("_", " "),
            normalizers.BertNormalizer(
                clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
            ),
            *(normalizers.Replace(Regex(pattern), content) for pattern, content in _PLURALS),
        ]
    )


def count_words(tokenizer: Tokenizer, texts: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Count the words of texts after normalization.

    Returns:
        How often each word occurs, and in how many texts.
    """
    total: Counter[str] = Counter()
    texts_with: Counter[str] = Counter()
    normalizer, splitter = code_normalizer(), tokenizer.pre_tokenizer
    for text in texts:
        words = [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
        total.update(words)
        texts_with.update(set(words))
    return total, texts_with


def code_vocabulary(
    base: Tokenizer, texts: Iterable[str], size: int, new_words: int, least_texts: int = 8
) -> Vocabulary:
    """Build the tokenizer."""
    old = base.get_vocab()
    total, texts_with = count_words(base, texts)
    pieces = {word: base.model.tokenize(word) for word in total if word.isascii() and len(word) < 40}
    gains = {
        word: total[word] * (len(parts) - 1)
        for word, parts in pieces.items()
        if len(parts) > 1 and texts_with[word] >= least_texts and word.isalpha() and len(word) > 2
    }
    added = sorted(gains, key=lambda word: (-gains[word], word))[:new_words]
    used: Counter[str] = Counter()
    for word, parts in pieces.items():
        if word not in gains or total[word] < gains[word]:
            used.update({part.value: total[word] for part in parts})
    kept = [
        text
        for text in _kept(old, used, size - len(added) - len(INDENTS) - len(CRLF) - len(MARKS))
        if text not in MARKS
    ]
    entries = [*kept, *added, *INDENTS, *CRLF, *MARKS]
    origins = [[old[text]] for text in kept] + [[p.id for p in pieces[word]] for word in added]
    origins += [[old["."]] for _ in (*INDENTS, *CRLF)]
    origins += [base.encode(mark, add_special_tokens=False).ids for mark in MARKS]
    return Vocabulary(_assemble(base, entries), origins)


def _kept(old: dict[str, int], used: Counter[str], room: int) -> list[str]:
    """The old entries that stay, as many as there is room for.

    Special entries and single characters come first, then the entries that the texts use, the most used first, then
    the rest by rank in the old vocabulary, which has frequent words first.
    """
    ranked = sorted(old, key=old.__getitem__)
    basic = [t for t in ranked if t in SPECIAL or (t.isascii() and len(t.removeprefix("##")) == 1)]
    frequent = [t for t, count in sorted(used.items(), key=lambda item: (-item[1], item[0])) if count >= 3]
    rest = [t for t in ranked if not t.startswith("[unused") and t.isascii() and len(t) > 1]
    chosen = list(dict.fromkeys([*basic, *frequent, *rest]))[:room]
    return sorted(chosen, key=old.__getitem__)


def _assemble(base: Tokenizer, entries: list[str]) -> Tokenizer:
    data = json.loads(base.to_str())
    ids = {text: number for number, text in enumerate(entries)}
    data["model"]["vocab"] = ids
    data["normalizer"] = None
    data["post_processor"] = None  # the prompt template spells the special tokens
    data["truncation"] = data["padding"] = None
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    data["added_tokens"] = [
        {"id": ids[text], "content": text, **flags, "special": text in SPECIAL}
        for text in sorted((*SPECIAL, *INDENTS, *CRLF, *MARKS), key=ids.__getitem__)
    ]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.normalizer = code_normalizer()
    return tokenizer


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
