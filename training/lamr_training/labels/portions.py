"""Labels a portion of a file's rows: the part of the work that runs in other processes.

This module knows rows and labels; it knows no files.
"""

from __future__ import annotations

import gc
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lamr_evaluation.problems import Problem
from lamr_evaluation.records import Record, parse_row
from numpy.typing import NDArray

from lamr_training.labels.rubrics import RubricLabels, label_lines
from lamr_training.labels.settings import LabelSettings
from lamr_training.worker_process import prepare_worker

RUBRICS = ("semantic", "dependency", "context")
UNPARSED = "the code doesn't parse as Python; it gets no dependency labels"


@dataclass(frozen=True)
class Portion:
    """Consecutive rows of a file.

    Attributes:
        line: how many of the file's lines come before them.
        rows: the rows with their line ends.
        end: the offset in the file where they end, in bytes.
    """

    line: int
    rows: list[bytes]
    end: int


@dataclass
class LabelledPortion:
    """What became of a portion.

    Attributes:
        line: how many of the file's lines are done with it.
        end: how many of the file's bytes are.
        numbers, ids, rows: the line number, id (or "") and new text of each labelled record.
        bad: the records that are left out.
        unparsed: the labelled records whose code doesn't parse.
    """

    line: int
    end: int
    numbers: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    bad: list[Problem] = field(default_factory=list)
    unparsed: list[Problem] = field(default_factory=list)

    def refuse(self, number: int, reason: str) -> None:
        """Take a labelled record out again."""
        place = self.numbers.index(number)
        del self.numbers[place], self.ids[place], self.rows[place]
        self.bad.append(Problem(number, reason))


def label_portion(portion: Portion, settings: LabelSettings, weights: bool) -> LabelledPortion:
    """Label each row; blank ones are passed over."""
    labelled = LabelledPortion(portion.line + len(portion.rows), portion.end)
    for number, row in enumerate(portion.rows, portion.line + 1):
        if not row.strip():
            continue
        try:
            fields = parse_row(row)
            record = Record.from_row(fields)
            labels = label_lines(record.code, record.kept_frags, record.score, settings)
            fields["labels"] = {name: _numbers(getattr(labels, name)) for name in (*RUBRICS, "aggregate")}
            if weights:
                fields["weights"] = _weights(labels)
            text = json.dumps(fields, ensure_ascii=False).encode() + b"\n"
        except ValueError as error:
            labelled.bad.append(Problem(number, str(error)))
            continue
        labelled.numbers.append(number)
        labelled.ids.append(record.id)
        labelled.rows.append(text)
        if not labels.parsed:
            labelled.unparsed.append(Problem(number, UNPARSED))
    return labelled


def prepare_labeller(parent: int, folder: Path) -> None:
    """Set a labelling process up.

    Args:
        parent, folder: see `prepare_worker`.
    """
    prepare_worker(parent, folder)
    gc.set_threshold(100_000)  # syntax trees are many objects and no cycles


def _numbers(mask: NDArray[np.bool_]) -> list[int]:
    """The 1-based numbers of the lines in a mask."""
    numbers: list[int] = (np.flatnonzero(mask) + 1).tolist()
    return numbers


def _weights(labels: RubricLabels) -> dict[str, list[list[Any]]]:
    """For each rubric the 1-based number and the weight of each line that has one."""
    pairs: dict[str, list[list[Any]]] = {}
    for name in RUBRICS:
        weight = getattr(labels, f"{name}_weight")
        places = np.flatnonzero(weight)
        pairs[name] = [[int(n) + 1, round(float(w), 4)] for n, w in zip(places, weight[places], strict=True)]
    return pairs
