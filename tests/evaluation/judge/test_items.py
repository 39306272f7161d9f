"""Items: rows of three fields, files below a root, rows of `lamr eval`, and what is no item."""

import json
from pathlib import Path

import pytest
from lamr_evaluation import Problem, RecordError
from lamr_evaluation.judge import Item, read_items
from lamr_evaluation.judge.items import item_of

from tests.evaluation.judge.material import CODE, ITEMS


def written(folder: Path, *rows: object) -> Path:
    file = folder / "items.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def test_a_point_stands_for_the_whole_folder(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "inner").mkdir(parents=True)
    (root / "client.py").write_text(CODE)
    (root / "inner" / "b.go").write_text("package b\n")
    (root / "notes.md").write_text("no code\n")
    [item] = read_items(written(root, {"query": "q", "path": ".", "answer": "a"}))
    assert item.code == f"# file: client.py\n{CODE.rstrip()}\n\n# file: inner/b.go\npackage b\n"


def test_three_fields_are_enough_where_choices_or_gold_lines_tell_the_task(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CODE)
    row = {"query": "How long is the pause?", "path": "client.py", "answer": "25"}
    assert read_items(written(tmp_path, row)) == [Item("open", row["query"], CODE, "25", path="client.py")]
    rows = (
        {"query": "q", "code": "a\n", "answer": "x", "choices": ["x", "y"]},
        {"query": "q", "code": "a\nb\n", "kept_frags": [2]},
    )
    assert [each.task for each in read_items(written(tmp_path, *rows))] == ["choice", "place"]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.task)
def test_items_are_read_as_they_were_written(item: Item, tmp_path: Path) -> None:
    assert item_of(json.loads(item.to_json()), 1, tmp_path) == item


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([], "expected an object"),
        ({"query": "q", "answer": "a"}, "neither code nor path"),
        ({"query": "q", "answer": "a", "path": "../secret.py"}, "leads out of"),
        ({"query": "q", "answer": "a", "path": "gone.py"}, "can't be read below"),
        ({"query": "q", "answer": "a", "path": "data.bin"}, "no file of text"),
        ({"query": "q", "answer": "", "code": "x"}, "the answer is empty"),
        ({"query": 3, "answer": "a", "code": "x"}, "query must be text"),
        ({"query": "q", "answer": "a", "code": "x", "choices": ["b", "c"]}, "the answer among them"),
        ({"query": "q", "answer": "a", "code": "x", "facts": "a"}, "facts must be a list of texts"),
        ({"query": "q", "answer": "a", "code": "x", "gold": [9]}, "outside the code"),
        ({"query": "q", "task": "poem", "answer": "a", "code": "x"}, "task must be one of"),
        ({"query": "q", "task": "place", "code": "x\n", "gold": [1]}, "nothing to find"),
    ],
)
def test_what_is_no_item_is_named(row: object, why: str, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("x = 1\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "data.bin").write_bytes(b"\0\1\2" * 50)
    problems: list[Problem] = []
    file = written(root, row, {"query": "q", "code": "x", "answer": "a"})
    assert len(read_items(file, problems.append)) == 1
    assert [each.line for each in problems] == [1]
    assert why in problems[0].reason
    with pytest.raises(RecordError, match=r"items\.jsonl:1: "):
        read_items(file)


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("secret = 1\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "inside.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(RecordError, match="can't be read below"):
        read_items(written(root, {"query": "q", "path": "inside.py", "answer": "a"}))
