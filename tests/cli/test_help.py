"""Help pages: they fit a terminal of 80 columns, and each command's has two examples that lamr can read."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from lamr_cli.main import app
from typer.testing import CliRunner

COLUMNS = 80
HEADINGS = ["Options", "Prune", "Agents", "Serve", "Models and evaluation"]


def commands(of: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    listed = getattr(of, "commands", None)
    if listed is None:
        yield words
        return
    for name, command in listed.items():
        yield from commands(command, (*words, name))


COMMANDS = list(commands(typer.main.get_command(app)))


def lines_of(*words: str) -> list[str]:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(COLUMNS)})
    assert done.exit_code == 0
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_and_has_two_examples(words: tuple[str, ...]) -> None:
    lines = lines_of(*words)
    assert max(map(len, lines)) <= COLUMNS
    assert (
        sum(f"lamr {' '.join(words)}" in line for line in lines if line.startswith(" ")) >= 3
    )  # and the usage
    assert not [line for line in lines if "<bool>" in line or "(dynamic)" in line]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_examples_name_options_that_there_are(words: tuple[str, ...]) -> None:
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    for example in re.findall(rf"^lamr {' '.join(words)}\b.*", command.help, re.MULTILINE):
        arguments = shlex.split(example)[1 + len(words) :]
        command.make_context(words[-1], arguments, resilient_parsing=True)


def test_paragraphs_are_broken_by_the_terminal_alone() -> None:
    lines = lines_of("prune")
    first = next(number for number, line in enumerate(lines) if "goes to standard output" in line)
    assert len(lines[first]) + len(lines[first + 1].split()[0]) >= COLUMNS - 2
    assert len(lines[first + 1]) > COLUMNS * 3 // 4


@pytest.mark.parametrize(
    "words",
    [(), ("front",), ("research",), ("research", "judge"), ("agents",)],
    ids=lambda words: " ".join(words) or "lamr",
)
def test_help_of_groups_fits(words: tuple[str, ...]) -> None:
    lines = lines_of(*words)
    assert max(map(len, lines)) <= COLUMNS
    assert not [line for line in lines if "<bool>" in line or "(dynamic)" in line]


def test_the_first_help_groups_at_most_twenty_commands() -> None:
    text = "\n".join(lines_of())
    assert re.findall(r"^╭─ ([\w ]+) ─", text, re.MULTILINE) == HEADINGS
    listed = re.findall(r"^│ (\w+)  ", text, re.MULTILINE)
    assert listed == list(typer.main.get_command(app).commands)
    assert len(listed) <= 20
