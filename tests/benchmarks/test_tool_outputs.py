"""Outputs of real tools: labels come from how a project was made, and what they name stands in every result."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_client import Pruner
from lamr_client.mock_transport import uniform_answer

from benchmarks.report import read_figures, run
from benchmarks.tool_outputs import __main__ as program
from benchmarks.tool_outputs import making
from benchmarks.tool_outputs.checking import Hooks, missing, pruned, shown
from benchmarks.tool_outputs.making import Label, Output
from tests.agents.samples import pruner as answering

FOLDER = Path(__file__).parent / "outputs"
KEPT = [*program.kept_in(FOLDER)]
LABELS = [
    Label("failure", 2, "FAILED b", "b"),
    Label("failure", 9, "__ b __", "b"),
    Label("failure", 3, "FAILED c", "c"),
    Label("summary", 4, "2 failed, 1 passed"),
]
OUTPUT = Output("pytest", "plain", "many", "pytest", 1, "", LABELS)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\nFAILED b\nFAILED c\n2 failed, 1 passed\n", []),
        ("__ b __\n\x1b[31mFAILED c\x1b[0m  \n 10 %\r2 failed, 1 passed", []),
        ("FAILED b\n2 failed, 1 passed\n", ["FAILED c"]),
        ("FAILED bc\n2 failed, 1 passed, 3 skipped\n", ["FAILED b", "FAILED c", "2 failed, 1 passed"]),
        ("a 1/2 FAILED b\nFAILED c\n[1] 2 failed, 1 passed\n", ["FAILED b"]),
        ("FAILED b\nFAILED c\n12 failed, 1 passed\n", ["2 failed, 1 passed"]),
    ],
)
def test_a_line_that_is_gone_is_found(text: str, left: list[str]) -> None:
    assert [label.text for label in missing(LABELS, text)] == left


def test_a_result_that_states_how_many_failures_it_shows_may_lack_some_but_no_total() -> None:
    left = shown(OUTPUT, "", "", "FAILED b\n1 of 2 failures shown\n").missing
    assert [label.kind for label in left] == ["summary"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Projects of 40 items."""
    monkeypatch.setattr(making, "SCENARIOS", {"many": (40, 3), "one": (40, 1)})
    monkeypatch.setattr(making, "PLAN", {"plain": ("many",), "exit": ("one",)})


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("tool", ["bash-steps", "make"])
def test_labels_are_known_from_how_the_project_was_made(tool: str) -> None:
    (made, of_shell) = making.outputs(tool, making.tools()[tool])
    failing = {item.name for item in making.items_of(40, 3, numbered=False) if item.fails}
    assert {label.of for label in made.labels if label.kind == "failure"} == failing
    assert [label.kind for label in of_shell.labels if not label.of] == ["summary", "exit"]
    for output in (made, of_shell):
        rows = output.text.split("\n")
        assert all(making.on_a_terminal(rows[label.line - 1]) == label.text for label in output.labels)
    assert of_shell.labels[-1].text == f"exit code {made.code}"


@pytest.mark.usefixtures("small")
def test_the_program_makes_keeps_and_checks_outputs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def figures(*words: str) -> dict[str, float]:
        monkeypatch.setattr("sys.argv", ["tool_outputs", *words, "--json"])
        run(program.PARSER, program.measure)
        return {each.name: each.value for each in read_figures(capsys.readouterr().out)}

    assert figures("--only", "bash-steps", "--keep", str(tmp_path), "--unchecked") == {"outputs": 2}
    (first, *_) = program.kept_in(tmp_path)
    assert json.loads((tmp_path / f"{first.name}.json").read_text())["tool"] == "bash-steps"
    assert figures("--like", str(tmp_path), "--effort", "instant")["results"] == 2 * (8 + 24)


@pytest.fixture(scope="module")
def lines_alone() -> Iterator[Pruner]:
    """The line model."""
    with Pruner() as pruner:
        yield pruner


@pytest.fixture(scope="module")
def reading() -> Iterator[Pruner]:
    """A model that finds nothing in any line, so that nothing is kept for its sake."""
    with answering(lambda request: uniform_answer(request, 0.001)) as pruner:
        yield pruner


@pytest.mark.parametrize("output", KEPT, ids=lambda output: output.name)
def test_what_fails_stands_in_every_result(
    output: Output, lines_alone: Pruner, reading: Pruner, tmp_path: Path
) -> None:
    results = [
        *Hooks(tmp_path, lines_alone).shown(output),
        *pruned(output, lines_alone, "instant"),
        *pruned(output, reading, "full"),
    ]
    assert len(results) == 8 + 24 + 24
    lacking = [(each.way, each.asked, [*each.missing]) for each in results if each.missing]
    assert not lacking
