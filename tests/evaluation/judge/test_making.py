"""Made items: the truth is true, the question doesn't tell it, and the same sources give the same items."""

import ast
import re
import zipfile
from pathlib import Path

import pytest
from lamr_base.errors import InvalidInputError
from lamr_evaluation import DataError
from lamr_evaluation.judge import Item
from lamr_evaluation.judge.make import ItemSources, MakingOptions, make_items
from lamr_model.counters import token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository

from tests.evaluation.judge.material import CODE
from tests.repositories.conftest import git

COUNT = token_counter(None, PromptEncoder.from_repository(bundled_repository()))
SMALL = {"min_tokens": 20, "max_tokens": 4000}


def made(*sources: Path, **options: object) -> list[Item]:
    return make_items(ItemSources(sources), MakingOptions(**{**SMALL, "per_file": 99, **options}), COUNT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "wire"
    (root / "tests").mkdir(parents=True)
    (root / "client.py").write_text(CODE)
    (root / "tests" / "test_client.py").write_text(CODE)
    (root / "notes.md").write_text("PAUSE = 1\n" * 50)
    return root


def by_rule(items: list[Item]) -> dict[str, list[Item]]:
    return {rule: [each for each in items if each.made == rule] for rule in {each.made for each in items}}


def test_every_rule_of_choices_finds_its_own(folder: Path) -> None:
    found = by_rule(made(folder, tasks=("choice",)))
    assert set(found) == {"constant", "caller", "default", "description"}
    tree = ast.parse(CODE)
    values = {n.targets[0].id: ast.unparse(n.value) for n in tree.body if isinstance(n, ast.Assign)}
    for item in found["constant"]:
        name = item.query.removeprefix("What is the value of ").rstrip("?")
        assert item.answer == values[name]
        assert CODE.splitlines()[item.gold[0] - 1] == f"{name} = {item.answer}"
    assert {(each.query, each.answer) for each in found["caller"]} == {
        ("Which function calls connect?", "send"),
        ("Which function calls open_wire?", "connect"),
        ("Which function calls send?", "fetch"),
    }
    assert ("What is the default of the parameter depth of __init__?") not in {
        e.query for e in found["default"]
    }
    assert {each.path for each in found["default"]} == {"client.py"}


def test_a_description_is_cut_out_of_the_code(folder: Path) -> None:
    [item] = [
        each
        for each in made(folder, tasks=("choice",))
        if each.answer == "fetch" and each.made == "description"
    ]
    assert "what the server answers for a path" in item.query
    assert "what the server answers" not in item.code
    shown = item.code.splitlines()
    assert shown[item.gold[0] - 1].strip().startswith("def fetch(")
    assert shown[item.gold[-1] - 1].strip() == "return None"
    ast.parse(item.code)


def test_choices_are_of_the_same_kind_and_in_no_telling_order(folder: Path) -> None:
    items = made(folder, tasks=("choice",))
    assert all(len(set(each.choices)) == 4 and each.choices == tuple(sorted(each.choices)) for each in items)
    assert all(
        {choice.isdigit() for choice in each.choices} == {True} for each in items if each.made == "constant"
    )


def test_a_completion_is_what_comes_next_and_the_code_can_help(folder: Path) -> None:
    items = made(folder, tasks=("completion",))
    assert items
    for item in items:
        assert CODE.startswith(f"{item.code}{item.query}\n{item.answer}\n")
        gold = [item.code.splitlines()[number - 1] for number in item.gold]
        words = set(re.findall(r"\w{4,}", item.answer)) - set(re.findall(r"\w+", item.query))
        assert words
        assert all(words & set(re.findall(r"\w+", line)) for line in gold)


def test_the_same_sources_and_seed_give_the_same_items_without_tests_and_prose(folder: Path) -> None:
    assert {each.path for each in made(folder)} == {"client.py"}
    assert made(folder, count=3) == made(folder, count=3)
    assert made(folder, count=3) != made(folder, count=3, seed=1)
    assert len({each.id for each in made(folder)}) == len(made(folder))


def test_counts_and_bounds_are_kept(folder: Path) -> None:
    assert len(made(folder, tasks=("choice",), count=2)) == 2
    assert len(made(folder, tasks=("choice",), per_file=1)) == 1
    for item in made(folder, max_tokens=250):
        assert 20 <= COUNT.count_tokens(item.code) <= 250
        assert item.code in CODE or item.made == "description"
        if item.task == "choice":
            assert all(choice in item.code for choice in item.choices)
    assert made(folder, min_tokens=5000, max_tokens=6000) == []


def test_very_long_files_are_left_out_and_others_give_a_few_candidates(tmp_path: Path) -> None:
    function = "def name_{0}(first):\n    total_{0} = first\n    total_{0} += {0}\n    shown = name_{1}(LIMIT_{1})\n\n"
    text = "".join(f"LIMIT_{n} = {n}\n" for n in range(300))
    text += "".join(function.format(n, n - 1) for n in range(300))
    (tmp_path / "long.py").write_text(text)
    (tmp_path / "longer.py").write_text(text * 10)
    items = made(tmp_path, per_file=2, count=50, max_tokens=100_000)
    assert {(each.path, each.task) for each in items} == {("long.py", "choice"), ("long.py", "completion")}
    assert len(items) == 4


def test_a_wheel_is_read_as_a_folder_is(folder: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "wire-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("client.py", CODE)
        archive.writestr("tests/test_client.py", CODE)
    items = made(wheel, tasks=("completion",))
    assert {each.project for each in items} == {"wire-1.0"}
    assert sorted(each.query for each in items) == sorted(
        e.query for e in made(folder, tasks=("completion",))
    )
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"no zip")
    with pytest.raises(DataError, match="can't be read as a wheel"):
        made(broken)


@pytest.mark.parametrize("bare", [False, True])
def test_a_history_tells_which_lines_changed(folder: Path, tmp_path: Path, bare: bool) -> None:
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin with a client that knows how to wait")
    (folder / "client.py").write_text(CODE.replace("PAUSE = 25", "PAUSE = 50"))
    message = "Wait twice as long between two attempts (#12)\n\nFixes #12\nSigned-off-by: A <a@b.c>"
    git(folder, "commit", "-q", "-am", message)
    place = folder
    if bare:
        place = tmp_path / "wire+bare" / "repo"
        git(tmp_path, "clone", "-q", "--bare", str(folder), str(place))
    [item] = made(place, tasks=("place",))
    assert item.query == "Wait twice as long between two attempts"
    assert item.code == CODE
    assert item.gold == (4,)
    assert item.made.startswith("commit ")
    assert item.project == ("wire+bare" if bare else "wire")


def test_options_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="swap them"):
        MakingOptions(min_tokens=10, max_tokens=5)
    with pytest.raises(InvalidInputError, match="not for open"):
        MakingOptions(tasks=("open",))
