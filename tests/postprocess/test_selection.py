"""Thresholds, shares, budgets and wishes; what is bounded is the finished text."""

from __future__ import annotations

import ast
import re
import time
from itertools import pairwise

import numpy as np
import pytest
from lamr_postprocess import BudgetError, SourceFile, approximate_tokens, line_spans, prune_lines
from lamr_postprocess.document import analyse
from lamr_postprocess.lines import split_lines
from lamr_postprocess.prune import BARE
from lamr_postprocess.selection import BudgetSearch, highest_thresholds

CODE = (
    "import os\n\n\ndef first(a):\n    b = os.path.join(a, 'some name', 'another name')\n    return b\n\n\n"
    + (
        "def second(c):\n    d = c * 2 + 1234567890 + 1234567890\n    print('a long line to print', d)\n    return d\n"
    )
)


def words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def smooth(lines: int, rng: np.random.Generator) -> np.ndarray:
    noise = rng.random(lines + 8)
    return np.convolve(noise, np.ones(9) / 9, "valid")


def test_budgets_are_kept_and_used(python_files: list[tuple[str, str]], rng: np.random.Generator) -> None:
    used = []
    for turn in range(60):
        name, code = python_files[turn % len(python_files)]
        total = words(code)
        budget = int(rng.integers(30, max(total, 40)))
        if turn % 3 == 0 or total <= budget:
            budget = max(30, total // 4)
        pruned = prune_lines(
            code, smooth(len(line_spans(code)), rng), path=name, max_tokens=budget, count_tokens=words
        )
        assert words(pruned.text) <= budget
        ast.parse(pruned.text)
        if total > budget:
            used.append((words(pruned.text) / budget, budget, name))
    # What is left isn't spent on lines further down the ranking, which a larger budget wouldn't keep.
    large = [share for share, budget, _ in used if budget >= 200]
    assert len(large) > 15
    assert min(large) >= 0.7, sorted(used)[:5]
    assert np.mean(large) >= 0.92


def test_a_larger_budget_keeps_what_a_smaller_one_kept(
    python_files: list[tuple[str, str]], rng: np.random.Generator
) -> None:
    for name, code in python_files[:20]:
        scores, kept = smooth(len(line_spans(code)), rng), set[int]()
        for budget in (200, 400, 800, 1600, 3200):
            pruned = prune_lines(code, scores, path=name, max_tokens=budget, count_tokens=words)
            assert kept <= set(pruned.kept_lines), (name, budget)
            kept = set(pruned.kept_lines)


def test_a_function_is_whole_before_lines_of_others_follow() -> None:
    bodies = [f"    first = a + {n}\n    second = first * {n}\n    return second\n" for n in range(40)]
    code = "".join(f"def function_{n}(a):\n{body}\n" for n, body in enumerate(bodies))
    scores = np.full(len(line_spans(code)), 0.05)
    scores[[50, 100, 150]] = 0.5
    scores[[52, 53]] = 0.45
    pruned = prune_lines(code, scores, language="python", max_tokens=60)
    assert {51, 52, 53, 54} <= set(pruned.kept_lines)


def test_a_budget_takes_no_blank_line_for_its_score() -> None:
    log = "".join(f"{i} started and then went on for some time\n" for i in range(9)) + "\nended\n"
    blank, near, far = np.eye(11)[9], np.eye(11)[[8, 10]].sum(0), np.eye(11)[[4, 10]].sum(0)
    for scores, lines in ((blank + far / 2, (5, 11)), (near, (9, 10, 11))):
        pruned = prune_lines(log, scores, path="a.log", threshold=0.3, max_tokens=35, count_tokens=words)
        assert pruned.kept_lines == lines


def test_a_budget_steps_over_many_lines_that_need_too_much() -> None:
    document = analyse(SourceFile("".join(f"line {n}\n" for n in range(60))), repair=False)

    def measure(kept: np.ndarray) -> int:
        return 1_000 if kept[:20].any() else int(kept.sum())

    prices = np.where(np.arange(60) < 20, 1_000.0, 1.0)
    search = BudgetSearch(document, np.arange(60), 60, np.zeros(60, bool), prices, 0, measure)
    codes, used = search.fill(10)
    assert used == 10
    assert np.flatnonzero(codes).tolist() == list(range(20, 30))


@pytest.mark.parametrize(("budget", "imports"), [(70, False), (400, True)])
def test_a_budget_pays_the_best_lines_before_what_binds_their_names(budget: int, imports: bool) -> None:
    names = [f"name_{n}" for n in range(40)]
    calls = "".join(f"    print({name})\n" for name in names[20:])
    code = f"from somewhere import (\n    {', '.join(names)},\n)\n\n\ndef shown():\n{calls}\n\nx = 1\ny = 2\n"
    scores = np.zeros(len(line_spans(code)))
    scores[6:14] = 1  # prints of names
    pruned = prune_lines(code, scores, language="python", max_tokens=budget, count_tokens=words)
    assert set(range(6, 15)) <= set(pruned.kept_lines)
    assert (1 in pruned.kept_lines) == imports
    assert (pruned.note == BARE) != imports
    ast.parse(pruned.text)


def test_wanted_lines_bring_what_binds_their_names_into_any_budget() -> None:
    code = "from a import (\n    b,\n    c,\n)\n\n\ndef d():\n    return b\n\n\ndef e():\n    return c\n"
    pruned = prune_lines(code, np.eye(12)[11], language="python", max_tokens=38, keep=[8], count_tokens=words)
    assert {1, 7, 8} <= set(pruned.kept_lines)


def test_too_small_a_budget_is_an_error_with_both_numbers() -> None:
    with pytest.raises(BudgetError, match="has 10 tokens but max_tokens is 3") as caught:
        prune_lines(CODE, np.zeros(12), language="python", max_tokens=3, count_tokens=words, keep=[1])
    assert (caught.value.needed, caught.value.max_tokens) == (10, 3)


def test_a_ratio_keeps_a_share_and_says_that_nothing_fits(
    python_files: list[tuple[str, str]], rng: np.random.Generator
) -> None:
    for name, code in python_files[:15]:
        scores = smooth(len(line_spans(code)), rng)
        pruned = prune_lines(code, scores, path=name, ratio=4)
        assert approximate_tokens(pruned.text) <= approximate_tokens(code) / 4 or pruned.note
    pruned = prune_lines("x = 1\n", [0.0], language="python", ratio=50)
    assert pruned.note == "the smallest valid output has 5 tokens, more than the ratio's 0"


def test_small_text_passes_through() -> None:
    pruned = prune_lines(CODE, np.zeros(12), language="python", min_tokens=500)
    assert pruned.text == CODE
    assert pruned.note == f"passed through: {approximate_tokens(CODE)} tokens, fewer than min_tokens 500"
    assert prune_lines(CODE, np.zeros(12), language="python", min_tokens=5).kept_lines == ()
    both = prune_lines(CODE, np.zeros(12), language="python", min_tokens=500, max_tokens=40)
    assert approximate_tokens(both.text) <= 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0.5}, "ratio must be at least 1"),
        ({"ratio": float("nan")}, "ratio"),
        ({"max_tokens": -1}, "negative"),
        ({"keep": [(5, 3)]}, "keep range 5-3"),
        ({"keep": [0]}, "start at 1"),
        ({"keep": ["("]}, "not a regular expression"),
    ],
)
def test_bad_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prune_lines(CODE, np.zeros(12), language="python", **options)


def test_a_budget_takes_the_best_lines_first_and_a_text_within_it_whole() -> None:
    scores = np.array([0, 0, 0, 0, 0.9, 0, 0, 0, 0, 0.8, 0, 0])
    tight = prune_lines(CODE, scores, language="python", max_tokens=45)
    assert 5 in tight.kept_lines
    assert 10 not in tight.kept_lines
    assert prune_lines(CODE, np.zeros(12), language="python", max_tokens=10_000).text == CODE
    assert prune_lines(CODE, np.arange(12) == 4, language="python", repair=False).kept_lines == (5,)


def test_search_in_a_long_file_analyses_it_once(rng: np.random.Generator) -> None:
    code = "".join(f"def f{i}(a):\n    b = a + {i}\n    return f{max(i - 1, 0)}(b)\n\n" for i in range(2_500))
    scores = smooth(10_000, rng)
    began = time.process_time()
    prune_lines(code, scores, language="python")
    once = time.process_time() - began
    began = time.process_time()
    pruned = prune_lines(code, scores, language="python", max_tokens=20_000)
    # 2 to 4 times; the search tries a hundred thresholds and more.
    assert time.process_time() - began < 10 * once
    assert 0.85 * 20_000 <= approximate_tokens(pruned.text) <= 20_000


@pytest.mark.parametrize("budget", [{"max_tokens": 1000}, {"ratio": 1.0}, {"max_tokens": 60}])
def test_a_threshold_holds_within_a_budget(budget: dict[str, float]) -> None:
    scores = np.array([0, 0, 0, 0, 0.9, 0, 0, 0, 0, 0.3, 0.3, 0])
    pruned = prune_lines(CODE, scores, language="python", threshold=0.5, min_cut=0, **budget)  # type: ignore[arg-type]
    assert {line for line, why in pruned.reasons.items() if why == "semantic"} == {5}
    assert 5 in pruned.kept_lines
    assert pruned.cuts
    assert prune_lines(CODE, scores, language="python", ratio=1.0).text == CODE


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        ("first", r"write keep=\['first'\]"),
        (re.compile("first"), r"write keep=\[re"),
        (7, r"write keep=\[7\]"),
        (np.int64(7), "not int64"),
        ((10, 12), r"keep=\[\(10, 12\)\] for the lines 10 to 12, or keep=\[10, 12\] for these two"),
        (None, "not NoneType"),
        ([True], "not True in it"),
        ([1.5], "not 1.5 in it"),
        ([(1, 2, 3)], "in it"),
        ([None], "in it"),
    ],
)
def test_what_keep_cant_be_is_refused_with_what_was_meant(keep: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        prune_lines(CODE, np.zeros(12), language="python", keep=keep)  # type: ignore[arg-type]


def test_keep_takes_numbers_ranges_expressions_and_whatever_counts() -> None:
    pruned = prune_lines(
        CODE, np.zeros(12), language="python", keep=[5, (10, 11), re.compile(r"RETURN d", re.I), "^def f"]
    )
    assert [n for n, why in pruned.reasons.items() if why == "keep"] == [4, 5, 10, 11, 12]
    assert pruned.reasons[1] == "repair:import"
    assert prune_lines(CODE, np.zeros(12), language="python", keep=[(12, 99), 400]).reasons[12] == "keep"
    for keep in ([5, (9, 10)], iter([5, [9, 10]]), (np.int64(5), (np.int32(9), 10), "no such")):
        kept = prune_lines(CODE, np.zeros(12), language="python", keep=keep).reasons  # type: ignore[arg-type]
        assert [line for line, why in kept.items() if why == "keep"] == [5, 9, 10]


def test_without_a_budget_a_small_answer_is_whole_and_a_large_file_gives_less_of_what_looks_alike() -> None:
    small, large = (
        "\n\n\n".join(f"def f{n}(x):\n    y = x + {n}\n    return y" for n in range(functions)) + "\n"
        for functions in (3, 300)
    )
    shares = []
    for code in (small, large):
        scores = [0.45] * len(split_lines(code))
        scores[0] = scores[1] = 0.95
        kept = prune_lines(code, scores, language="python", answering=0.4).kept_lines
        assert kept[:3] == (1, 2, 3)  # the function is whole, though its last line scores little
        shares.append(len(kept) / len(scores))
    assert shares[0] == 1
    assert 0.1 < shares[1] < 0.4


def test_without_a_budget_a_higher_threshold_keeps_less(
    python_files: list[tuple[str, str]], rng: np.random.Generator
) -> None:
    for path, code in python_files[:3]:
        scores = rng.beta(0.5, 2, len(split_lines(code)))
        kept = [
            {*prune_lines(code, scores, path=path, answering=t).kept_lines} for t in (0, 0.1, 0.3, 0.6, 1)
        ]
        assert all(more >= less for more, less in pairwise(kept))
        assert len(kept[0]) == len(scores)
        assert not kept[-1]


def test_what_scores_nothing_is_not_kept_for_the_function_that_it_stands_in() -> None:
    code = "def icon():\n    return (\n        'iVBORw0KGgo'\n    )\n"
    document = analyse(SourceFile(code, "icon.py"))
    highest = highest_thresholds(document, np.array([0.9, 0.9, 0.0, 0.9]))
    assert highest[2] == 0
    assert highest[[0, 1, 3]].min() > 0.4
