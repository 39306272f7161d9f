"""Public sets, in the form in which their authors publish them; the rows are written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lamr_evaluation import Problem, RecordError
from lamr_evaluation.judge.formats import TAIL_LINES, read_public

from tests.evaluation.judge.material import CODE

ASKED = "How often does it try?\n\nA) Once\nB) Seven times,\n   at most\nC) For ever\nD) Never"


def written(folder: Path, rows: list[object], *, as_list: bool = False) -> Path:
    file = folder / "set.json"
    file.write_text(json.dumps(rows) if as_list else "".join(f"{json.dumps(row)}\n" for row in rows))
    return file


@pytest.mark.parametrize("as_list", [False, True])
def test_longcodeqa(tmp_path: Path, as_list: bool) -> None:
    row = {"repo": "wire", "question": ASKED, "correct_letter": "B", "repo_text": CODE, "is_hard": True}
    [item] = read_public(written(tmp_path, [row], as_list=as_list), "longcodeqa", None)
    assert (item.task, item.query, item.code, item.project) == (
        "choice",
        "How often does it try?",
        CODE,
        "wire",
    )
    assert item.answer == "Seven times,\n   at most"
    assert item.choices == ("Once", item.answer, "For ever", "Never")


@pytest.mark.parametrize("row", [{"gt": "    return wire"}, {"answers": ["    return wire"], "input": ""}])
def test_lcc(tmp_path: Path, row: dict) -> None:
    before = CODE.removesuffix("    return wire\n")
    [item] = read_public(written(tmp_path, [{"context": before, **row}]), "lcc", None)
    assert item.answer == "    return wire"
    assert f"{item.code}\n{item.query}" == before.rstrip("\n")
    assert item.query.count("\n") == TAIL_LINES - 1


def test_swe_qa_asks_about_the_root(tmp_path: Path) -> None:
    root = tmp_path / "wire"
    root.mkdir()
    (root / "client.py").write_text(CODE)
    file = written(tmp_path, [{"question": "How long is the pause?", "answer": "25 seconds"}])
    [item] = read_public(file, "swe-qa", root)
    assert (item.task, item.answer, item.project) == ("open", "25 seconds", "wire")
    assert CODE.rstrip() in item.code
    with pytest.raises(RecordError, match="--root"):
        read_public(file, "swe-qa", None)


@pytest.mark.parametrize(
    ("name", "row", "why"),
    [
        (
            "longcodeqa",
            {"question": ASKED, "correct_letter": "X", "repo_text": CODE},
            "correct_letter is 'X'",
        ),
        ("longcodeqa", {"question": "no choices", "correct_letter": "A", "repo_text": CODE}, "no choices"),
        ("longcodeqa", {"question": ASKED, "correct_letter": "A"}, "the field 'repo_text' is missing"),
        ("lcc", {"context": "one line", "gt": "x"}, "has only 1 lines"),
        ("lcc", {"context": 3, "gt": "x"}, "context must be text"),
        ("lcc", "text", "not a JSON object but str"),
    ],
)
def test_rows_of_another_form_are_named(tmp_path: Path, name: str, row: object, why: str) -> None:
    problems: list[Problem] = []
    assert read_public(written(tmp_path, [row]), name, None, problems.append) == []
    assert [each.line for each in problems] == [1]
    assert why in problems[0].reason
    with pytest.raises(RecordError, match=r"set\.json:1: "):
        read_public(written(tmp_path, [row]), name, None)


def test_a_list_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    file.write_text('[{"context": "a')
    with pytest.raises(RecordError, match="not JSON"):
        read_public(file, "lcc", None)
