"""Whole evaluations: who is measured how, and what comes out."""

import dataclasses
import inspect
import json

import lamr_client
import numpy as np
import pytest
from lamr_base.errors import InvalidInputError
from lamr_base.resampling import Bootstrap
from lamr_evaluation.baselines import BASELINES
from lamr_evaluation.errors import RecordError
from lamr_evaluation.measure import PrunerScorer, Selector, evaluate, evaluate_pruner
from lamr_evaluation.records import Problem, Record
from lamr_evaluation.report import HEADINGS, plot_recall

FAST = Bootstrap(draws=200)
CODE = "".join(f"if x{n}:\n    y{n} = {n}\n" for n in range(10))


class Result:
    def __init__(self, text, kept_lines, line_scores):
        self.text = text
        self.kept_lines = kept_lines
        self.line_scores = line_scores


class Pruner:
    """Keeps the lines that name a word of the query; `text` is what it answers, right or wrong."""

    def __init__(self, text=None):
        self.text = text
        self.paths = []

    def prune(self, query, code, *, task="", path=None):
        self.paths.append(path)
        lines = code.splitlines()
        scores = [float(any(word in line for word in query.split())) for line in lines]
        kept = [number for number, score in enumerate(scores, 1) if score]
        return Result("x = 1" if self.text is None else self.text, kept, scores)


def items():
    return [
        Record(
            f"y{n}", CODE, (2 * n + 2,), path=f"{n % 4}.py", project="ab"[n % 2], kind=["how", "why"][n // 5]
        )
        for n in range(10)
    ]


def by_name(report):
    return {scorer.name: scorer for scorer in report.scorers}


def test_a_perfect_pruner_has_perfect_figures_and_beats_the_baselines():
    pruner = Pruner()
    report = evaluate_pruner(items(), pruner, bootstrap=FAST)
    assert [scorer.name for scorer in report.scorers] == ["lamr", *BASELINES]
    best = by_name(report)["lamr"].overall
    assert (best.items, best.mean.precision, best.mean.recall, best.mean.f1) == (10, 1.0, 1.0, 1.0)
    assert best.mean.kept == pytest.approx(1 / 20)
    assert best.mean.area == pytest.approx(1 - 1 / 40)
    assert best.mean.parses == 1.0
    assert pruner.paths == [item.path for item in items()]
    gap = {difference.other: difference for difference in report.differences}
    assert set(gap) == set(BASELINES)
    assert gap["random-paragraphs"].overall.low.area > 0


def test_others_are_measured_at_the_reference_s_kept_fraction():
    report = evaluate_pruner(items(), Pruner(), baselines={"grep": BASELINES["grep±5"]}, bootstrap=FAST)
    other = by_name(report)["grep"].overall.mean
    assert other.kept == pytest.approx(1 / 20)
    seen = []
    baselines = {"grep": BASELINES["grep±5"]}
    alone = evaluate(items(), baselines, bootstrap=FAST, progress=lambda *step: seen.append(step))
    assert seen == [("grep", done, 10) for done in range(1, 11)]
    assert by_name(alone)["grep"].overall.mean.kept == pytest.approx(0.25)
    assert by_name(alone)["grep"].overall.mean.recall == by_name(alone)["grep"].overall.mean.recall_25


def test_text_that_no_longer_parses_is_counted_only_where_the_file_did():
    broken = [*items(), Record("y1", "def f(:\n", (1,))]
    report = evaluate_pruner(broken, Pruner(text="if x:"), baselines={}, bootstrap=FAST)
    assert by_name(report)["lamr"].overall.mean.parses == 0.0
    only_broken = evaluate_pruner(broken[-1:], Pruner(text="if x:"), baselines={}, bootstrap=FAST)
    assert np.isnan(by_name(only_broken)["lamr"].overall.mean.parses)


class Choosy(Pruner):
    """Refuses what its name says that it refuses."""

    def prune(self, query, code, *, task="", path=None):
        if query in {"y2", "y5"}:
            raise InvalidInputError(f"{query} isn't for me")
        return super().prune(query, code, path=path)


def test_refused_items_are_named_and_left_out_of_every_scorer_s_figures():
    problems = []
    report = evaluate_pruner(items(), Choosy(), bootstrap=FAST, on_problem=problems.append)
    assert problems == list(report.left_out)
    assert problems == [
        Problem(3, "lamr refuses it: y2 isn't for me"),
        Problem(6, "lamr refuses it: y5 isn't for me"),
    ]
    others = [item for item in items() if item.query not in {"y2", "y5"}]
    without = evaluate_pruner(others, Pruner(), bootstrap=FAST)
    for scorer, same in zip(report.scorers, without.scorers, strict=True):
        np.testing.assert_equal(dataclasses.asdict(scorer.overall), dataclasses.asdict(same.overall))
    assert "8 items, 4 files; 2 left out; 95 %" in report.table()
    left_out = json.loads(report.to_json())["left_out"]
    assert left_out[0] == {"line": 3, "reason": "lamr refuses it: y2 isn't for me"}


def test_refusals_end_the_evaluation_where_nobody_is_told_or_nothing_is_left():
    pruner = Choosy()
    with pytest.raises(RecordError, match="line 3: lamr refuses it: y2 isn't for me") as caught:
        evaluate_pruner(items(), pruner, bootstrap=FAST)
    assert caught.value.row == 3
    assert len(pruner.paths) == 2
    refused = [item for item in items() if item.query in {"y2", "y5"}]
    with pytest.raises(RecordError, match="none of 2 items can be measured; line 1: lamr refuses it: y2"):
        evaluate_pruner(refused, Choosy(), bootstrap=FAST, on_problem=lambda problem: None)
    with pytest.raises(ValueError, match="scores"):
        evaluate(items(), {"odd": lambda query, code: np.zeros(3)}, on_problem=lambda problem: None)


def test_groups_and_all_figures_are_there_in_json_without_nan():
    scorer = by_name(evaluate(items(), BASELINES, bootstrap=FAST))["bm25-functions"]
    assert {kind: summary.items for kind, summary in scorer.by_kind.items()} == {"how": 5, "why": 5}
    assert {project: summary.items for project, summary in scorer.by_project.items()} == {"a": 5, "b": 5}
    report = evaluate([*items(), Record("q", "a\n", ())], BASELINES, reference="grep±5", bootstrap=FAST)
    data = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert (data["items"], data["files"], data["reference"]) == (11, 5, "grep±5")
    scorer = data["scorers"][0]
    assert set(scorer) == {"name", "overall", "by_kind", "by_project", "by_language", "curve", "seconds"}
    assert scorer["overall"]["mean"]["parses"] is None
    assert len(scorer["curve"]) == 101
    assert len(data["differences"]) == len(BASELINES) - 1


def test_a_table_and_a_picture_name_everybody(tmp_path):
    report = evaluate_pruner(items(), Pruner(), bootstrap=FAST)
    table = report.table()
    for text in ("10 items, 4 files", "lamr minus:", *BASELINES, "how", "why", "lamr by project"):
        assert text in table
    blocks = {block.split("  ")[0]: block.splitlines() for block in table.split("\n\n")}
    assert [row.split()[0] for row in blocks["95 % intervals"][1:]] == ["lamr", *BASELINES]
    assert blocks["95 % intervals"][1].split()[1:4] == ["1.000", "to", "1.000"]
    for title, labels in (("lamr by kind", ["how", "why"]), ("lamr by project", ["a", "b"])):
        assert blocks[title][0].split()[-len(HEADINGS) :] == list(HEADINGS)
        assert [row.split()[:3] for row in blocks[title][1:]] == [[label, "5", "1.000"] for label in labels]
    block = table.split("\n\n")[1].splitlines()
    assert len({len(line) for line in block}) == 1
    plot_recall(report, tmp_path / "recall.png")
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_to_evaluate_or_an_unknown_reference_is_refused():
    with pytest.raises(ValueError, match="no items"):
        evaluate([], BASELINES)
    with pytest.raises(ValueError, match="no scorer is called 'x'; there are bm25-functions"):
        evaluate(items(), BASELINES, reference="x")


@pytest.mark.parametrize(
    "result", [Result("", [1], [0.5]), Result("", [21], [0.5] * 20), Result("", [0], [0.5] * 20)]
)
def test_a_result_for_other_lines_is_refused(result):
    class Wrong:
        def prune(self, query, code, *, task="", path=None):
            return result

    scorer = PrunerScorer(Wrong())
    assert isinstance(scorer, Selector)
    with pytest.raises(ValueError, match=r"0\.py has 20 lines, but its pruning speaks of others"):
        scorer.select(items()[0])


def test_the_client_s_pruner_is_one_that_can_be_measured():
    np.testing.assert_array_equal(PrunerScorer(Pruner())("b", "a\nb\n"), [0.0, 1.0])  # without an item, too
    inspect.signature(lamr_client.Pruner.prune).bind(None, "query", "code", path="a.py")
    fields = {field.name for field in dataclasses.fields(lamr_client.PruneResult)}
    assert {"text", "kept_lines", "line_scores"} <= fields


def test_options_go_with_every_call_of_the_pruner():
    heard = []

    class Hearing(Pruner):
        def prune(self, query, code, *, effort, within, **options):
            heard.append((effort, within))
            return super().prune(query, code, **options)

    evaluate_pruner(
        items(), Hearing(), options={"effort": "auto", "within": 1.0}, baselines={}, bootstrap=FAST
    )
    assert heard == [("auto", 1.0)] * len(items())
