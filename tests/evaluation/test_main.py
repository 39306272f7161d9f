"""`python -m lamr_evaluation`: data on stdout, errors on stderr with code 2."""

import json

import pytest
from lamr_contract.private_files import cache_folder
from lamr_evaluation.__main__ import main
from lamr_evaluation.records import Record, write_records


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    write_records([Record("where is x set?", "y = 1\n\nx = 2\n", (3,))], path)
    return path


def test_baselines_as_tables_and_picture(items, tmp_path, capsys):
    assert main(["baselines", str(items), "--plot", str(tmp_path / "recall.png")]) == 0
    assert "bm25-functions" in capsys.readouterr().out
    assert (tmp_path / "recall.png").stat().st_size > 1000


def test_baselines_as_json(items, capsys):
    assert main(["baselines", str(items), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 1


def test_questions_only(items, capsys):
    assert main(["baselines", str(items), "--questions"]) == 2
    assert "no items" in capsys.readouterr().err
    with items.open("a") as file:
        file.write(Record("why?", "x = 1\n", (1,), kind="why").to_json() + "\n")
    assert main(["baselines", str(items), "--questions"]) == 0
    assert capsys.readouterr().out.startswith("1 items")


def test_bad_input_is_named_on_stderr(tmp_path, capsys):
    assert main(["baselines", str(tmp_path / "absent.jsonl")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "absent.jsonl: can't be read" in captured.err


def test_cache_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "lamr"
