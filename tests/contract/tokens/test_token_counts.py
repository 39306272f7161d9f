"""Counts by words and lines are those of the tokenizer, and a tokenizer of another kind is not counted so."""

from __future__ import annotations

import random

import pytest
from lamr_contract.encoding import PromptEncoder
from lamr_contract.spec import bundled_repository
from lamr_contract.tokens.token_counts import TokenCounts
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

from benchmarks.sources import library_module

# What tokens are made of, what ends and joins them, and what a normalizer drops, parts or decomposes.
PIECES = (
    *(
        "self.",
        "(self",
        '(f"',
        "self",
        "f",
        '"',
        "(",
        ")",
        "ies",
        "s",
        "es",
        "cook",
        "HTTPServer",
        "a",
        "B",
        "1",
    ),
    *("_", "__", "\n", "\n    ", "\n\n", "\r\n", "\r", "\t", " ", "  ", "\n\t", "\0", "\x01", "\x0b", "\x0c"),
    *(
        "\x7f",
        "\x1c",
        "\x85",
        "\xa0",
        "\u200b",
        "\u2028",
        "\u3000",
        "\ufeff",
        "\ufffd",
        "\u2066",
        "é",
        "ß",
        "İ",
    ),
    *(
        "ﬁ",
        "漢",
        "字",
        "한",
        "ᄀ",
        "\u0301",
        "\u0338",
        "Σ",
        "😀",
        "—",
        "“",
        "²",
        "ǅ",
        "و",
        "\u064b",
        "x" * 120,
    ),
    *("[SEP]", "[UNK]", "])", "...", "**", "'''", "==", "->", "):", "()", "},", "({"),
)


@pytest.fixture(scope="module")
def bundled() -> PromptEncoder:
    return PromptEncoder.from_repository(bundled_repository())


def test_texts_of_all_kinds_of_characters_have_the_tokenizers_count(bundled):
    counts, chance = TokenCounts.of(bundled._tokenizer), random.Random(0)
    assert counts is not None
    texts = ["".join(chance.choices(PIECES, k=chance.randrange(14))) for _ in range(3_000)]
    encodings = bundled._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    expected = [len(encoding) for encoding in encodings]
    assert counts.count(texts).tolist() == expected
    assert [int(counts.count([text])[0]) for text in texts[:500]] == expected[:500]  # now from memory


@pytest.mark.parametrize(
    "text",
    [
        library_module("argparse.py"),
        library_module("argparse.py").replace("\n", "\r\n"),
        "word_" * 20_000,
        " " * 20_000 + "end",
        "\n    a" * 20_000,
        "é" * 9_000 + " " + "x.y" * 9_000,
    ],
    ids=["code", "CRLF", "no space", "only spaces", "indented lines", "one word"],
)
def test_files_have_as_many_tokens_as_they_are_encoded_to(bundled, text):
    assert bundled.count_tokens(text) == len(bundled.encode_document(text)[0])


def test_what_is_known_is_not_asked_for_again_and_memory_is_bounded(monkeypatch):
    asked: list[str] = []

    def ask(texts: list[str]) -> list[int]:
        asked.extend(texts)
        return [len(text) for text in texts]

    counts = TokenCounts(ask, [])
    asked.clear()
    assert counts.count(["alpha beta\n", "alpha beta\ngamma"]).tolist() == [11, 16]
    assert sorted(asked) == ["\n", "alpha", "beta", "gamma"]
    assert counts.count(["gamma beta", "alpha beta"]).tolist() == [10, 10]
    assert len(asked) == 4
    monkeypatch.setattr("lamr_contract.tokens.token_counts._MOST_UNITS", 100)
    monkeypatch.setattr("lamr_contract.tokens.token_counts._MOST_LINES", 100)
    for number in range(1_000):
        assert counts.count([f"name{number}\n"]).tolist() == [len(f"name{number}") + 1]
    assert len(counts._units) <= 100
    assert len(counts._lines) <= 100


def wordpiece(normalizer, pre_tokenizer=None) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.BertPreTokenizer()
    return tokenizer


def test_a_plain_wordpiece_is_counted_by_words():
    assert TokenCounts.of(wordpiece(normalizers.BertNormalizer())) is not None


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.Replace("-", ""),
        normalizers.Replace("_", "x"),
        normalizers.NFKC(),
        *(normalizers.Sequence([normalizers.BertNormalizer(), each]) for each in [normalizers.Strip()]),
    ],
)
def test_a_normalizer_that_may_join_words_is_not(normalizer):
    assert TokenCounts.of(wordpiece(normalizer)) is None


@pytest.mark.parametrize(
    ("expression", "content"),
    [("a.b", " "), ("[^a]", " "), ("^a", " "), (r"\s+", ""), ("(?![a-z])", "x"), ("(?=a)", "x"), ("a*", "")],
)
def test_an_expression_that_sees_more_than_letters_is_not(expression, content):
    assert TokenCounts.of(wordpiece(normalizers.Replace(Regex(expression), content))) is None


def test_other_tokenizers_are_not():
    assert TokenCounts.of(wordpiece(None, pre_tokenizers.Whitespace())) is None
    assert TokenCounts.of(Tokenizer(models.BPE())) is None
    spaced = wordpiece(None)
    spaced.add_tokens([AddedToken("a b", normalized=False)])
    assert TokenCounts.of(spaced) is None
    inexact = wordpiece(None)
    inexact.add_tokens([AddedToken("ab", normalized=True)])
    assert TokenCounts.of(inexact) is None
