"""Baselines find what they should, on Python and on anything else, and are fast."""

import itertools

import numpy as np
import pytest
from lamr_evaluation.baselines import BASELINES, functions, paragraphs, windows
from lamr_evaluation.records import bare_lines
from lamr_model.bm25 import bm25
from lamr_model.words import TermIndex, query_terms, split_words, stem, terms

from tests.timing import growth

CODE = '''"""Shop."""

LIMIT = 10

RETRIES = 3


class Basket:
    """A basket."""

    size = 0

    @property
    def total_price(self):
        return sum(self.prices)

    def add_item(self, item):
        def helper():
            return item

        self.items.append(helper())


def parse_voucher_code(text):
    return text.strip().upper()
'''
LINES = bare_lines(CODE)


def piece_texts(pieces, lines):
    return [
        "\n".join(np.array(lines, dtype=object)[pieces == n]).strip("\n") for n in range(pieces.max() + 1)
    ]


def test_functions_classes_and_module_level_are_pieces():
    assert [text.split("\n")[0].strip() for text in piece_texts(functions(CODE, LINES), LINES)] == [
        '"""Shop."""',
        "LIMIT = 10",
        "RETRIES = 3",
        "class Basket:",
        "size = 0",
        "@property",
        "def add_item(self, item):",
        "def parse_voucher_code(text):",
    ]


@pytest.mark.parametrize(
    "code", ["def f(:\n    pass\n\nx = 1\n", "a = '\x0c'\n\nb = 1\n", "fn main() {\n}\n\nfn b() {}\n"]
)
def test_files_that_are_not_python_are_cut_into_paragraphs_and_lines_into_windows(code):
    assert windows(["x"] * 5, 2).tolist() == [0, 0, 1, 1, 2]
    assert windows(["x"] * 5, 2, 1).tolist() == [0, 1, 1, 2, 2]
    lines = bare_lines(code)
    np.testing.assert_array_equal(functions(code, lines), paragraphs(lines))
    assert paragraphs(lines).max() == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("parseHTTPHeader_2", "parse http header 2"),
        ("_read_all", "read all"),
        ("GMLToken", "gml token"),
        ("x", "x"),
    ],
)
def test_split_words(name, words):
    assert " ".join(split_words(name)) == words


def test_terms_split_identifiers_and_strip_endings():
    assert terms("parse_HTTPHeaders") == ("pars", "http", "header", "parse_httpheaders")
    assert stem("retries") == "retr"
    assert stem("caching") == stem("cached") == stem("caches") == stem("cache")
    assert stem("uses") == "uses"
    assert query_terms("How does the ParserState use parse_args, and why?") == [
        "parser",
        "stat",
        "parserstate",
        "pars",
        "args",
        "parse_args",
    ]


def test_bm25_is_its_formula():
    counts = TermIndex("red blue\ngreen green\nred red red grey\n", 3).counts(["red", "green"])
    lengths, frequency = np.array([2, 2, 4]), np.array([[1, 0], [0, 2], [3, 0]])
    rarity = np.log(1 + (3 - np.array([2, 1]) + 0.5) / (np.array([2, 1]) + 0.5))
    norm = 1.2 * (1 - 0.75 + 0.75 * lengths / lengths.mean())
    expected = (rarity * frequency * 2.2 / (frequency + norm[:, None])).sum(axis=1)
    np.testing.assert_allclose(bm25(counts, np.arange(3)), expected)


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "random-paragraphs"])
@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("how are voucher codes parsed?", "    return text.strip().upper()"),
        ("where do items get added to it?", "        self.items.append(helper())"),
        ("what is the default limit?", "LIMIT = 10"),
    ],
)
def test_the_answer_is_at_the_top(name, query, line):
    scores = BASELINES[name](query, CODE)
    assert scores.shape == (len(LINES),)
    assert scores[LINES.index(line)] >= 0.95 * scores.max() > scores.min()


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize(
    "code", ["", "\n", "x", "a\r\nb\rc", "\u2028\x0c\n\n", "()\n" * 3, "日本 = 'ключ'\n"]
)
def test_any_text_and_any_query_give_one_finite_score_a_line(name, code):
    for query in ("", "?!", "the and of", "日本 ключ"):
        scores = BASELINES[name](query, code)
        assert scores.shape == (len(bare_lines(code)),)
        assert np.isfinite(scores).all()


def test_other_scripts_match_and_random_paragraphs_are_the_same_every_time_and_differ_by_query():
    assert BASELINES["grep±5"]("ключ?", "x = 1\n" * 9 + "日本 = 'ключ'\n").argmax() == 4
    score = BASELINES["random-paragraphs"]
    np.testing.assert_array_equal(score("a", CODE), score("a", CODE))
    assert (score("a", CODE) != score("b", CODE)).any()


def test_time_grows_with_the_file():
    def body(functions: int) -> str:
        return "".join(
            f"def function_{n}(argument_{n}):\n    value = argument_{n} + {n}\n    return value\n\n"
            for n in range(functions)
        )

    numbers = itertools.count()  # what was asked before is remembered

    def ask(body: str) -> None:
        BASELINES["bm25-functions"]("how is the value of function 17 computed?", f"# {next(numbers)}\n{body}")

    ask(body(10))
    assert growth(ask, body, 250, 16) < 64  # a square would be 256
