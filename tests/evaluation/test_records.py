"""Records: what is read, what is refused, and with which words."""

import json

import numpy as np
import pytest
from lamr_evaluation.errors import RecordError
from lamr_evaluation.records import Problem, Record, bare_lines, read_records, write_records

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
    assert bare_lines(code) == lines


def test_gold_and_counted_lines_of_which_there_may_be_none():
    record = Record("q", "a\n\n  \nb\n", (4, 1, 4))
    assert record.kept_frags == (1, 4)
    np.testing.assert_array_equal(record.gold, [True, False, False, True])
    np.testing.assert_array_equal(record.counted, [True, False, False, True])
    assert not Record("q", "a\nb\n", ()).gold.any()


def test_write_then_read_gives_the_same_records(tmp_path):
    records = [
        Record("é?", "a\r\nb\x0c\u2028", (2,), 0.5, "p/a.py", "p", "how", "first", frame=(1,)),
        Record("q", "x\n", ()),
    ]
    assert write_records(records, tmp_path / "records.jsonl") == 2
    again = list(read_records(tmp_path / "records.jsonl"))
    assert again == records
    assert [record.row for record in again] == [1, 2]


def test_unknown_origins_are_empty_texts_blank_lines_skipped_and_integer_scores_taken(tmp_path):
    path = write(tmp_path / "records.jsonl", {**GOOD, "path": None, "kind": "", "id": 7})
    (record,) = read_records(path)
    assert (record.path, record.project, record.kind, record.id) == ("", "", "", "7")
    assert set(json.loads(record.to_json())) == {"query", "code", "kept_frags", "score", "id"}
    path = write(tmp_path / "records.jsonl", "", {**GOOD, "score": 1, "path": None}, "   ")
    assert list(read_records(path)) == [Record("where?", GOOD["code"], (3,))]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "not JSON (Expecting property name enclosed in double quotes, column 2)"),
        ("[1]", "not a JSON object but list"),
        ("[" * 100_000, "nested too deeply"),
        ({"query": "q", "kept_frags": []}, "the field 'code' is missing"),
        ({}, "the fields 'query', 'code', 'kept_frags' are missing"),
        ({**GOOD, "query": "  "}, "the query is empty"),
        ({**GOOD, "query": 3}, "query must be text, not int"),
        ({**GOOD, "kept_frags": [4]}, "kept_frags holds 4, but the code has lines 1 to 3"),
        ({**GOOD, "kept_frags": [0, 1]}, "kept_frags holds 0, but"),
        ({**GOOD, "code": "", "kept_frags": [1]}, "kept_frags holds 1, but the code has no lines"),
        ({**GOOD, "kept_frags": ["1"]}, "kept_frags must be a list of line numbers"),
        ({**GOOD, "kept_frags": [True]}, "kept_frags must be a list of line numbers"),
        ({**GOOD, "kept_frags": 3}, "kept_frags must be a list of line numbers"),
        ({**GOOD, "frame": [9]}, "frame holds 9, but the code has lines 1 to 3"),
        ({**GOOD, "frame": 1}, "frame must be a list of line numbers"),
        ({**GOOD, "score": 1.5}, "score 1.5 is outside [0, 1]"),
        ({**GOOD, "score": "high"}, "score must be a number, not 'high'"),
        ({**GOOD, "score": True}, "score must be a number, not True"),
        ('{"query": "q", "code": "a", "kept_frags": [1], "score": NaN}', "score nan is outside"),
        ({**GOOD, "kind": 5}, "kind must be text, not int"),
        ({**GOOD, "id": "a"}, "the id 'a' is that of line 1 already"),
    ],
)
def test_bad_rows_are_named_with_file_and_line(tmp_path, row, words):
    path = write(tmp_path / "records.jsonl", {**GOOD, "id": "a"}, row, GOOD)
    with pytest.raises(RecordError) as caught:
        list(read_records(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert words in str(caught.value)
    assert (caught.value.path, caught.value.row) == (path, 2)
    problems = []
    assert [record.row for record in read_records(path, problems.append)] == [1, 3]
    assert problems == [Problem(2, str(caught.value).removeprefix(f"{path}:2: "))]


def test_a_row_that_is_not_utf8_is_one_bad_row(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"query": "\xff"}\n' + json.dumps(GOOD).encode())
    with pytest.raises(RecordError, match=r"records\.jsonl:1: not UTF-8"):
        list(read_records(path))
    problems = []
    assert [record.row for record in read_records(path, problems.append)] == [2]
    assert [problem.line for problem in problems] == [1]


@pytest.mark.parametrize("on_problem", [None, lambda problem: None])
def test_a_missing_file_is_refused_even_where_bad_rows_are_not(tmp_path, on_problem):
    with pytest.raises(RecordError, match=r"absent\.jsonl: can't be read \(No such file"):
        list(read_records(tmp_path / "absent.jsonl", on_problem))
