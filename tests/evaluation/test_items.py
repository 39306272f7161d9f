"""Evaluation items: what is read, what is refused, and with which words."""

import json

import numpy as np
import pytest
from lamr_evaluation.items import DataError, EvalItem, read_items, split_lines, write_items

GOOD = {"query": "where?", "code": "a = 1\n\nb = 2\n", "kept_frags": [3]}


def write(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\r\nb\rc\n", ["a", "b", "c"]),
        ("a\x0cb\x1cc\u2028d\n\n", ["a\x0cb\x1cc\u2028d", ""]),
    ],
)
def test_a_line_ends_at_newline_or_carriage_return_only(code, lines):
    assert split_lines(code) == lines


def test_gold_and_counted_lines():
    item = EvalItem("q", "a\n\n  \nb\n", (4, 1, 4))
    assert item.kept_frags == (1, 4)
    np.testing.assert_array_equal(item.gold, [True, False, False, True])
    np.testing.assert_array_equal(item.counted, [True, False, False, True])


def test_an_item_may_have_no_gold_line():
    assert not EvalItem("q", "a\nb\n", ()).gold.any()


def test_write_then_read_gives_the_same_items(tmp_path):
    items = [
        EvalItem("é?", "a\r\nb\x0c\u2028", (1, 2), 0.5, "p/a.py", "p", "how"),
        EvalItem("q", "x\n", ()),
    ]
    assert write_items(items, tmp_path / "items.jsonl") == 2
    assert read_items(tmp_path / "items.jsonl") == items


def test_blank_lines_are_skipped_and_integer_scores_taken(tmp_path):
    path = write(tmp_path / "items.jsonl", "", {**GOOD, "score": 1, "path": None}, "   ")
    assert read_items(path) == [EvalItem("where?", GOOD["code"], (3,))]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object, not list"),
        ("[" * 100_000, "nested too deeply"),
        ({"query": "q", "kept_frags": []}, "missing `code`"),
        ({}, "missing `query`, `code`, `kept_frags`"),
        ({**GOOD, "query": "  "}, "`query` is empty"),
        ({**GOOD, "query": 3}, "`query` must be a string, not int"),
        ({**GOOD, "kept_frags": [4]}, "line 4, but `code` has lines 1 to 3"),
        ({**GOOD, "kept_frags": [0, 1]}, "line 0, but"),
        ({**GOOD, "kept_frags": ["1"]}, "integers only"),
        ({**GOOD, "kept_frags": [True]}, "integers only"),
        ({**GOOD, "kept_frags": 3}, "`kept_frags` must be a list"),
        ({**GOOD, "score": 1.5}, "`score` is 1.5"),
        ({**GOOD, "score": "high"}, "`score` must be a number"),
        ('{"query": "q", "code": "a", "kept_frags": [1], "score": NaN}', "`score` is nan"),
        ({**GOOD, "kind": 5}, "`kind` must be a string"),
    ],
)
def test_bad_lines_are_named_with_file_and_line(tmp_path, row, words):
    path = write(tmp_path / "items.jsonl", GOOD, row)
    with pytest.raises(DataError) as caught:
        read_items(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert words in str(caught.value)
    assert read_items(path, skip_bad=True) == [EvalItem("where?", GOOD["code"], (3,))]


@pytest.mark.parametrize("skip_bad", [False, True])
def test_an_empty_set_is_refused(tmp_path, skip_bad):
    with pytest.raises(DataError, match="holds no items"):
        read_items(write(tmp_path / "items.jsonl", ""), skip_bad=skip_bad)


def test_missing_and_binary_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"absent\.jsonl: can't be read"):
        read_items(tmp_path / "absent.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(DataError, match=r"binary\.jsonl: not UTF-8"):
        read_items(tmp_path / "binary.jsonl")
