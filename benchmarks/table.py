"""The rows of the whole run's table: every figure that has a target, and those that no single program has.

This module reads what the programs found. It runs nothing and prints nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Figure

Figures = Mapping[str, list[Figure]]  # by program


@dataclass(frozen=True)
class Missing:
    """A row whose figure isn't there: its program failed, or reports it under another name."""

    name: str


def rows(figures: Figures, shipped: Mapping[str, Any]) -> Iterator[tuple[str, Figure | Missing]]:
    """Program and figure of every row, in the order of the programs.

    Args:
        figures: what each program that ran reported; empty where it failed.
        shipped: the report that `lamr export` wrote beside the shipped encoder."""
    for program, reported in figures.items():
        yield from ((program, figure) for figure in reported if figure.target is not None)
        if not reported and program != "gpu":  # which reports nothing on a machine without a GPU
            yield program, Missing("all of its figures")
    if {"throughput", "large_encoder"} <= figures.keys():
        yield "both", _outside_large(figures)
    yield "shipped", _verified(shipped, "keep decisions that int8 changes (at export)", "changed_percent")
    yield "shipped", _verified(shipped, "  in or out of the likeliest quarter", "moved_percent")


def _outside_large(figures: Figures) -> Figure | Missing:
    """Percent of the time that would be outside an encoder of the 0.6B shape, which isn't served here.

    Outside is a token's time outside lamr-mini's encoder, with the decoder's and four copies' time at the 0.6B shape's
    width on top; inside is the time of that shape's 28 layers at 512 tokens."""
    name = "time outside an encoder of the 0.6B shape"
    values = {figure.name.strip(): figure.value for program in figures.values() for figure in program}
    try:
        outside = values["time outside the encoder, a token"]
        outside += (
            sum(values[f"{what}, 512 tokens of 3072 features"] for what in ("decoder", "four copies")) / 512
        )
        inside = 1e3 / values["0.6B encoder, 512 tokens"]
    except KeyError:
        return Missing(name)
    return Figure(name, 100 * outside / (outside + inside), "%", 5)


def _verified(shipped: Mapping[str, Any], name: str, key: str) -> Figure | Missing:
    try:
        return Figure(name, float(shipped["verification"][key]), "%", 1)
    except (KeyError, TypeError, ValueError):
        return Missing(name)
