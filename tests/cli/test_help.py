"""The help of every command: it fits a terminal of 80 columns and has an example to type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from lamr_cli.main import app
from typer.testing import CliRunner

COLUMNS = 80


def commands(of: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    listed = getattr(of, "commands", None)
    if listed is None:
        yield words
        return
    for name, command in listed.items():
        yield from commands(command, (*words, name))


def lines_of(*words: str) -> list[str]:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(COLUMNS)})
    assert done.exit_code == 0
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("words", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_fits_and_has_an_example(words: tuple[str, ...]) -> None:
    lines = lines_of(*words)
    assert max(map(len, lines)) <= COLUMNS
    assert any(line.startswith(f" lamr {' '.join(words)}") for line in lines)


def test_paragraphs_are_broken_by_the_terminal_alone() -> None:
    lines = lines_of("prune")
    first = next(number for number, line in enumerate(lines) if "goes to standard output" in line)
    assert len(lines[first]) + len(lines[first + 1].split()[0]) >= COLUMNS - 2
    assert len(lines[first + 1]) > COLUMNS * 3 // 4


@pytest.mark.parametrize(
    "words",
    [(), ("front",), ("judge",), ("agents",)],
    ids=lambda words: " ".join(words) or "lamr",
)
def test_help_of_groups_fits(words: tuple[str, ...]) -> None:
    assert max(map(len, lines_of(*words))) <= COLUMNS
