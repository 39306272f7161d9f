"""What a benchmark reports: figures beside their targets, printed as lines or as one JSON object.

Every program of this folder is a parser and a function that takes the options and yields figures and notes as it
measures them. This module prints them and derives the exit code. It measures nothing."""

import argparse
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from lamr_base.cpus import usable_cpus
from lamr_model.spec import bundled_repository

MISSED = 1  # the exit code of a program of which a figure misses its target


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    name: str  # what was measured, unique within its program
    value: float  # the number
    unit: str = ""  # the number's unit, empty for counts and plain ratios
    # the bound that counts as met, or None where the figure is there for information
    target: float | None = None
    at_least: bool = False  # whether the target bounds the value from below; it bounds from above otherwise

    @property
    def met(self) -> bool | None:
        """Whether the value is within the target; None without a target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def ratio(self) -> float | None:
        """How many times better than its target the value is, so that 1 and more is met; None where either is 0."""
        if not (self.value and self.target):
            return None
        return self.value / self.target if self.at_least else self.target / self.value

    def __str__(self) -> str:
        line = f"{self.name:<62}{self.value:>10.4g} {self.unit:<9}"
        if self.target is None:
            return line.rstrip()
        return f"{line}{'>=' if self.at_least else '<='} {self.target:<6g} {'met' if self.met else 'MISSED'}"


Measure = Callable[[argparse.Namespace], Iterable[Figure | str]]


def option_parser(documentation: str | None) -> argparse.ArgumentParser:
    """A parser with the module's own text as its help, and with `--json`."""
    parser = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    return parser


def model_options(documentation: str | None) -> argparse.ArgumentParser:
    """A parser for programs that run a model repository: adds `--repository` and `--threads`."""
    parser = option_parser(documentation)
    parser.add_argument(
        "--repository",
        type=Path,
        default=bundled_repository(),
        help="model repository (default: the bundled one)",
    )
    parser.add_argument(
        "--threads", type=int, default=usable_cpus(), help="threads of the encoder (%(default)s)"
    )
    return parser


def run(parser: argparse.ArgumentParser, measure: Measure) -> int:
    """Parse the command line, measure and print; returns the exit code, 1 where a target is missed."""
    # Set as it is where images are built, it has each process compile all that it imports, as no user's does.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    options = parser.parse_args()
    figures: list[Figure] = []
    notes: list[str] = []
    for one in measure(options):
        if isinstance(one, Figure):
            figures.append(one)
        else:
            notes.append(one)
        if not options.json:
            print(one, flush=True)
    if options.json:
        print(json.dumps({"figures": [asdict(figure) for figure in figures], "notes": notes}, indent=2))
    return MISSED if any(figure.met is False for figure in figures) else 0


def read_figures(text: str) -> list[Figure]:
    """The figures that a program printed with `--json`. Raises `ValueError`: the text is no such output."""
    try:
        return [Figure(**entry) for entry in json.loads(text)["figures"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"these are no figures of a benchmark: {text[:100]!r}") from error
