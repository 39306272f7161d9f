"""Items about repositories, the baselines' budgets, and a report on a small repository with a real history."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from lamr_evaluation import Problem, RecordError
from lamr_evaluation.repositories import (
    METHODS,
    Corpus,
    RepositoryItem,
    RepositoryReport,
    evaluate_repositories,
    read_items,
)
from lamr_repositories.file_index import index_file
from numpy.typing import NDArray
from tokenizers import pre_tokenizers

from tests.repositories.conftest import FILES, POOL, QUERY, folder, git, repository

__all__ = ["folder", "repository"]
CLOSE = POOL.splitlines().index("    def close(self):") + 1


def item(root: Path, **fields: object) -> RepositoryItem:
    gold = {"src/pool.py": (CLOSE + 2, CLOSE + 3)}
    base = {
        "repository": "a/pools",
        "revision": git(root, "rev-parse", "HEAD"),
        "query": QUERY,
        "gold": gold,
        "id": "1",
    }
    return RepositoryItem(**{**base, **fields})  # type: ignore[arg-type]


def test_items_come_back_from_their_file(repository: Path, tmp_path: Path) -> None:
    items = [item(repository), item(repository, id="2", language="go", names_it=True)]
    rows = [{name: value for name, value in vars(each).items() if name != "row"} for each in items]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_items(tmp_path / "items.jsonl") == items


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"query": " "}, "the query is empty"),
        ({"gold": {}}, "gold must name lines"),
        ({"gold": {"a.py": [0]}}, "lines count from 1"),
        ({"gold": [1]}, "expected an object"),
        ({"other": 1}, "expected an object"),
    ],
)
def test_a_row_that_is_no_item_is_named(tmp_path: Path, row: dict[str, object], words: str) -> None:
    good = {"repository": "a/b", "revision": "c", "query": "q", "gold": {"a.py": [1]}}
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(good) + "\n" + json.dumps({**good, **row}) + "\n")
    with pytest.raises(RecordError, match=words) as caught:
        read_items(file)
    assert caught.value.row == 2


def words(text: str) -> int:
    return len(pre_tokenizers.Whitespace().pre_tokenize_str(text))


def count_each(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array([words(text) for text in texts], np.int64)


@pytest.mark.parametrize("name", METHODS)
def test_baselines_keep_their_budget_and_find_what_is_named(name: str) -> None:
    texts = {
        path: text
        for path, text in FILES.items()
        if text.strip() and "\0" not in text and "vendor" not in path
    }
    kind = {"py": "python", "go": "go", "ts": "typescript", "md": "markdown"}
    languages = {path: kind.get(path.rsplit(".", 1)[-1], "text") for path in texts}
    indexes = {path: index_file(text, languages[path]) for path, text in texts.items()}
    corpus = Corpus(QUERY, indexes, languages, texts.__getitem__, count_each)
    for budget in (0, 60, 250, 100_000):
        shown = METHODS[name](corpus, budget)
        lines = [
            texts[path].splitlines(keepends=True)[n - 1] for path, numbers in shown.items() for n in numbers
        ]
        assert sum(map(words, lines)) <= budget
    assert CLOSE in METHODS[name](corpus, 250)["src/pool.py"]


def test_a_report_measures_all_methods_at_all_budgets(repository: Path) -> None:
    hard = item(
        repository,
        id="2",
        query="colour of the mixed retry",
        gold={"src/retry.go": (7,), "src/pool.py": (1,)},
    )
    report = evaluate_repositories(
        [item(repository), hard], lambda _: repository / ".git", budgets=(400, 16_000)
    )
    assert set(report.methods) == {"pack", *METHODS}
    assert len(report.outcomes) == 2 * 2 * len(report.methods)
    assert report.over_budget == 0
    [easy] = [o for o in report.outcomes if (o.item, o.method, o.budget) == ("1", "pack", 16_000)]
    assert (easy.lines, easy.whole, easy.files) == (1.0, 1.0, 1.0)
    assert "packs over budget: 0" in report.table()
    assert json.loads(report.to_json())["means"]["lines"]["bm25 functions"]["16000"] > 0


def test_an_item_that_cant_be_measured_is_counted_and_named(repository: Path) -> None:
    items = [item(repository), item(repository, id="gone", revision="0" * 40), item(repository, id="3")]
    problems: list[Problem] = []

    def report(*rows: RepositoryItem, tell: bool = True) -> RepositoryReport:
        return evaluate_repositories(
            rows, lambda _: repository / ".git", budgets=(400,), on_problem=problems.append if tell else None
        )

    found = report(*items)
    assert [each.id for each in found.items] == ["1", "3"]
    assert {each.item for each in found.outcomes} == {"1", "3"}
    assert found.left_out == tuple(problems)
    assert (problems[0].line, problems[0].reason.split(":")[0]) == (2, "gone")
    assert "has no revision" in problems[0].reason
    assert "2 items of 1 repositories; 1 left out" in found.table()
    assert json.loads(found.to_json())["left_out"][0]["line"] == 2
    assert found.interval("pack", "bm25 functions", 400)
    with pytest.raises(RecordError, match=r"line 2: gone: .*has no revision"):
        report(*items, tell=False)
    with pytest.raises(RecordError, match="no item can be measured; line 1: gone"):
        report(items[1])


def test_rows_that_are_no_items_can_be_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    good = {"repository": "a/b", "revision": "c", "query": "q", "gold": {"a.py": [1]}}
    file.write_text("\n{\n" + json.dumps(good) + "\n")
    problems: list[Problem] = []
    assert [each.row for each in read_items(file, problems.append)] == [3]
    assert [each.line for each in problems] == [2]
