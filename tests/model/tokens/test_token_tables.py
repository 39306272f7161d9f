"""Tables come near the tokenizers that they stand for, in thirty languages, and their counts add up by lines."""

import time
from pathlib import Path

import numpy as np
import pytest
from lamr_model.counters import DEFAULT, MODELS_OWN, TOKENIZERS, token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository
from lamr_model.tokens.token_tables import ANY, TABLES
from lamr_postprocess import split_lines

FIXTURES = Path(__file__).parents[2] / "postprocess" / "fixtures"
REAL = {
    "Cart.svelte": (379, 380, 422, 382, 380),
    "CartPanel.vue": (351, 349, 408, 349, 349),
    "CartRepository.kt": (647, 646, 722, 648, 646),
    "CartView.swift": (617, 616, 646, 617, 616),
    "Feeder.m": (735, 733, 858, 734, 733),
    "Ledger.java": (1958, 1910, 2195, 1922, 1910),
    "Orders.cs": (1720, 1699, 1830, 1716, 1699),
    "Orders.scala": (573, 569, 613, 571, 569),
    "cart.lua": (545, 543, 568, 548, 543),
    "cart_page.dart": (583, 573, 649, 574, 573),
    "cart_server.ex": (711, 709, 728, 716, 709),
    "catalogue.xml": (448, 447, 456, 456, 447),
    "cluster.tf": (436, 432, 472, 434, 432),
    "crawler.go": (1981, 1981, 2520, 1988, 1980),
    "dashboard.tsx": (1812, 1764, 1966, 1768, 1764),
    "deploy.sh": (614, 607, 624, 608, 607),
    "editor.jsonc": (402, 402, 411, 408, 402),
    "events.json": (370, 370, 357, 378, 370),
    "geometry.cpp": (1949, 1945, 2208, 1954, 1945),
    "hashtable.c": (2011, 2005, 2328, 2049, 2005),
    "interpreter.rs": (2162, 2143, 2513, 2149, 2143),
    "inventory.js": (2063, 2046, 2218, 2055, 2046),
    "library.rb": (1913, 1908, 1934, 1915, 1908),
    "page.html": (510, 508, 533, 513, 508),
    "project.toml": (339, 338, 383, 361, 338),
    "queue.zig": (564, 561, 626, 569, 561),
    "scheduler.ts": (2162, 2148, 2413, 2151, 2148),
    "services.yaml": (502, 502, 468, 520, 502),
    "shop.php": (1927, 1918, 2053, 1931, 1918),
    "styles.css": (386, 385, 434, 392, 385),
}
"""Tokens of each file by the real tokenizers, in the order of `TABLES`: tiktoken's ranks (o200k, cl100k, Qwen's), the
`tokenizer.json` that Anthropic published in 2023, and llama3-tokenizer-js 1.2.0."""


@pytest.fixture(scope="module")
def encoder() -> PromptEncoder:
    return PromptEncoder.from_repository(bundled_repository())


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_near_the_real_tokenizers(encoder: PromptEncoder, name: str) -> None:
    texts = [(FIXTURES / file).read_text(encoding="utf-8") for file in REAL]
    real = np.array([counts[TABLES.index(name)] for counts in REAL.values()])
    shares = token_counter(name, encoder).count_each(texts) / real
    assert np.abs(shares - 1).max() < (0.03 if name == DEFAULT else 0.06), dict(
        zip(REAL, shares, strict=True)
    )
    assert abs(np.mean(shares) - 1) < 0.015


def test_no_real_tokenizer_has_more_than_the_bound(encoder: PromptEncoder) -> None:
    texts = [(FIXTURES / file).read_text(encoding="utf-8") for file in REAL]
    assert (encoder.table(ANY).count_each(texts) >= np.max(list(REAL.values()), axis=1)).all()


def test_lines_add_up_to_the_text(encoder: PromptEncoder) -> None:
    text = "\r\n".join([*(f"name_{n} = call({n}, 'é漢\ud800')" for n in range(99)), "", "\t\x0c", "a\rb"])
    for name in TABLES:
        table = token_counter(name, encoder)
        assert table.count_tokens(text) == np.ceil(table.line_costs(split_lines(text)).sum().round(3))
        assert table.count_tokens(text) == table.count_each([text, "x"])[0]
    assert token_counter(None, encoder) is token_counter(DEFAULT, encoder)
    assert (*TABLES, ANY, MODELS_OWN) == TOKENIZERS


@pytest.mark.parametrize("part", [" ", "\x0c", "\u2028", "a", "A", "(", "é", "\r", "_", "9"])
def test_no_run_takes_the_time_of_its_square(encoder: PromptEncoder, part: str) -> None:
    began = time.process_time()
    assert token_counter(DEFAULT, encoder).count_tokens(part * 500_000) > 0
    assert time.process_time() - began < 30  # seconds of CPU; a square takes hours


def test_words_of_chance_and_columns_of_spaces_have_the_tokens_that_the_real_ones_give(
    encoder: PromptEncoder,
) -> None:
    letters = "".join(chr(97 + (n * n * 7 + n) % 26) for n in range(5_000))
    for text, least, most in ((letters, 1_700, 3_000), ((" " * 200 + "\n") * 100, 100, 320)):
        for name in TABLES:
            assert least < token_counter(name, encoder).count_tokens(text) < most, name
    assert encoder.table(ANY).count_tokens(letters) > 2_700
