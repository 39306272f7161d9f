"""Pieces, words and outlines of one file."""

import numpy as np
import pytest
from lamr_model.bm25 import idf, length_norm, saturated
from lamr_model.words import TermIndex, query_terms
from lamr_postprocess import LANGUAGES, language_named, split_lines
from lamr_postprocess.definitions import definition_spans
from lamr_postprocess.layout import line_layout
from lamr_repositories.file_index import MOST_ROWS, FileIndex, cut, index_file, joined, term_number
from lamr_repositories.lexical import RARITY, Pieces
from lamr_repositories.segment import Segment, to_bytes

from tests.repositories.conftest import FILES, POOL

SAMPLES = {
    "python": ("class A:\n    @p\n    def one(self):\n        1\n\ndef two():\n    2\n", ["A", "one", "two"]),
    "javascript": ("class A {\n  one() {\n    1;\n  }\n}\nconst two = () => {\n  a();\n};\n", ["A", "one", "two"]),
    "typescript": ("interface A {\n  x: number;\n}\nfunction two(): void {\n  a();\n}\n", ["A", "two"]),
    "tsx": ("enum A {\n  X,\n}\nfunction two() {\n  return <p />;\n}\n", ["A", "two"]),
    "java": ("class A {\n  int one() {\n    return 1;\n  }\n}\n", ["A", "one"]),
    "go": ("package p\n\ntype A struct {\n\tx int\n}\n\nfunc (a A) One() int {\n\treturn 1\n}\n", ["A", "One"]),
    "rust": ("struct A {\n    x: u8,\n}\nimpl A {\n    fn one() -> u8 {\n        1\n    }\n}\n", ["A", "one"]),
    "c": ("struct a {\n  int x;\n};\nint one(struct a *b) {\n  return b->x;\n}\n", ["a", "one"]),
    "cpp": ("class A {\n  int one() {\n    return 1;\n  }\n};\n", ["A", "one"]),
    "objective-c": ("@implementation A\n- (int)one {\n  return 1;\n}\n@end\n", ["A", "one"]),
    "csharp": ("class A {\n  int One() {\n    return 1;\n  }\n}\n", ["A", "One"]),
    "ruby": ("class A\n  def one\n    1\n  end\nend\n", ["A", "one"]),
    "php": ("<?php\nclass A {\n  function one() {\n    return 1;\n  }\n}\n", ["A", "one"]),
    "kotlin": ("class A {\n  fun one(): Int {\n    return 1\n  }\n}\n", ["A", "one"]),
    "swift": ("struct A {\n  func one() -> Int {\n    return 1\n  }\n}\n", ["A", "one"]),
    "scala": ("class A {\n  def one(): Int = {\n    1\n  }\n}\n", ["A", "one"]),
    "dart": ("class A {\n  int one() {\n    return 1;\n  }\n}\n", ["A", "one"]),
    "lua": ("local function one()\n  return 1\nend\nfunction A.two()\n  return 2\nend\n", ["one", "two"]),
    "elixir": ("defmodule A do\n  def one do\n    1\n  end\nend\n", ["A", "one"]),
    "zig": ("const A = struct {\n  fn one() u8 {\n    return 1;\n  }\n};\n", ["A", "one"]),
    "shell": ("one() {\n  echo 1\n}\n", ["one"]),
    "terraform": ('resource "a" "b" {\n  c = 1\n}\n', ["b"]),
    "css": ("a {\n  b: c;\n}\n", ["a"]),
    "vue": ("<script>\nfunction one() {\n  return 1;\n}\n</script>\n", ["one"]),
    "svelte": ("<script>\nfunction one() {\n  return 1;\n}\n</script>\n", ["one"]),
}  # fmt: skip


def test_every_language_with_definitions_has_a_sample() -> None:
    assert SAMPLES.keys() >= {language.name for language in LANGUAGES if language.is_code}


@pytest.mark.parametrize("name", SAMPLES)
def test_outlines_name_the_definitions(name: str) -> None:
    code, expected = SAMPLES[name]
    index = index_file(code, name)
    assert index.outlined.tolist() == [len(expected)]
    lines = split_lines(code)
    assert all(
        word in lines[row] for word, (row, _) in zip(expected, index.definitions.tolist(), strict=True)
    )


def test_an_outline_shows_a_line_once() -> None:
    code = "class A { int one() { return 1; } int two() { return 2; } }\nclass B {\n  int three();\n}\n"
    assert index_file(code, "java").definitions.tolist() == [[0, 0], [1, 0], [2, 1]]


@pytest.mark.parametrize("path", [path for path, text in FILES.items() if text.strip() and "\0" not in text])
def test_pieces_hold_every_line_with_ink_once(path: str) -> None:
    text = FILES[path]
    layout = line_layout(text)
    lines = split_lines(text)
    definitions = definition_spans(text, language_named("python" if path.endswith("py") else "text"))
    spans = cut(lines, layout.blank, definitions)
    owners = np.zeros(len(lines), int)
    for first, stop in spans.tolist():
        owners[first:stop] += 1
    assert (owners[~layout.blank] == 1).all()
    assert (owners <= 1).all()
    assert (spans[:, 1] - spans[:, 0] <= MOST_ROWS).all()


def test_a_function_is_a_piece_with_the_comment_above_it() -> None:
    code = "import a\n\n# Adds.\n@decorated\ndef add(x):\n    return x\n\nvalue = 1\n"
    spans = cut(split_lines(code), line_layout(code).blank, definition_spans(code, language_named("python")))
    assert spans.tolist() == [[0, 1], [2, 6], [7, 8]]


def test_a_long_function_and_a_long_table_are_cut() -> None:
    long = "def long():\n" + "    a = 1\n\n" * 60
    table = "x = [\n" + "    1,\n" * 300 + "]\n"
    for code in (long, table):
        spans = cut(
            split_lines(code), line_layout(code).blank, definition_spans(code, language_named("python"))
        )
        assert len(spans) > 3


ARRAYS = tuple(FileIndex.__dataclass_fields__)
INDEXES = {path: index_file(text, "python") for path, text in FILES.items() if "\0" not in text}


def equal(one: FileIndex, other: FileIndex) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def test_an_index_of_many_files_comes_back_from_bytes() -> None:
    for index in (*INDEXES.values(), joined(list(INDEXES.values()))):
        assert equal(Segment(to_bytes(index)).read(), index)
    for data in (b"", b"junk", to_bytes(INDEXES["src/pool.py"])[:-9]):
        with pytest.raises(ValueError, match=r"no index|buffer|cut off|expected"):
            Segment(data).read()


def test_files_are_joined_and_taken_apart_again() -> None:
    whole = joined(list(INDEXES.values()))
    for place, index in enumerate(INDEXES.values()):
        assert equal(whole.of(np.array([place])), index)
    backwards = np.arange(0, len(INDEXES), 2)[::-1]
    assert equal(whole.of(backwards), joined(list(INDEXES.values())[::2][::-1]))


def test_names_that_come_after_what_lies_in_them_are_kept() -> None:
    index = joined([index_file("def two():\n    2\n" * 3, "python")] * 2)
    index.definitions[:] = index.definitions[::-1]
    assert equal(Segment(to_bytes(index)).read(), index)


def test_words_are_counted_as_a_line_index_counts_them() -> None:
    query = query_terms("waiting callers of a closed pool, PoolClosed")
    index = index_file(POOL, "python")
    wanted = np.array([term_number(term) for term in query], np.uint64)
    piece, term, times = Segment(to_bytes(index)).read(wanted).find(wanted)
    found = np.zeros((len(index.spans), len(query)))
    found[piece, term] = times
    counts = TermIndex(POOL, int(index.lines[0])).counts(query)
    expected = np.stack([counts.lines[a:b].sum(axis=0) for a, b in index.spans.tolist()])
    assert (found == expected).all()
    lengths = np.array([counts.lengths[a:b].sum() for a, b in index.spans.tolist()])
    assert np.allclose(index.lengths, lengths)


def test_the_table_ranks_as_bm25_over_all_pieces_does() -> None:
    """One file whose path says nothing has the scores of BM25 over its pieces, with the power of rarity."""
    query = "waiting callers closed pool"
    index = index_file(POOL, "python")
    pieces = Pieces.scored(["x"], index, query)
    lines = int(index.lines[0])
    counts = TermIndex(POOL, lines).counts(query_terms(query))
    segments = np.searchsorted(index.spans[:, 1], np.arange(lines), side="right")
    frequency, lengths = np.zeros((len(index.spans), counts.lines.shape[1])), np.zeros(len(index.spans))
    np.add.at(frequency, segments, counts.lines)
    np.add.at(lengths, segments, counts.lengths)
    assert np.allclose(
        pieces.by_piece, saturated(frequency, length_norm(lengths)[:, None]) @ idf(frequency) ** RARITY
    )
    assert saturated(np.zeros((0, 2)), length_norm(np.zeros(0))[:, None]).shape == (0, 2)


def test_words_of_a_path_count() -> None:
    index = index_file("x = limits\n", "python")
    pieces = Pieces.scored(["a/retry.py", "b/other.py"], joined([index, index]), "retry limits")
    assert pieces.by_piece[0] > pieces.by_piece[1] > 0


def test_files_without_words_do_no_harm() -> None:
    pieces = Pieces.scored(["a", "b"], joined([index_file("...\n", "text"), index_file("", "text")]), "?!")
    assert pieces.by_file.tolist() == [0, 0]
