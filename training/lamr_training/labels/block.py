"""Labels a block of JSONL rows: the part of `label_file` that runs in other processes.

Knows rows and labels; knows no files.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lamr_evaluation.records import Problem, Record, parse_row
from numpy.typing import NDArray

from lamr_training.labels.rubrics import LabelSettings, RubricLabels, label_lines

RUBRICS = ("semantic", "dependency", "context")
UNPARSED = "the code doesn't parse as Python; it gets no dependency labels"


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a file.

    Attributes:
        line: how many lines there are before it.
        rows: with their line ends.
        end: where it ends in the file, in bytes.
    """

    line: int
    rows: list[bytes]
    end: int


@dataclass
class LabelledBlock:
    """A block's outcome.

    Attributes:
        line: how many of the file's lines are done with it.
        end: how many of its bytes.
        numbers, ids, rows: line number, id (or "") and text of each labelled record.
        bad, unparsed: records left out, and those whose code doesn't parse.
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


def label_block(block: Block, settings: LabelSettings, weights: bool) -> LabelledBlock:
    """Label each row; blank ones are passed over."""
    done = LabelledBlock(block.line + len(block.rows), block.end)
    for number, row in enumerate(block.rows, block.line + 1):
        if not row.strip():
            continue
        try:
            fields = parse_row(row)
            record = Record.from_row(fields)
            labels = label_lines(record.code, record.kept_frags, record.score, settings)
            fields["labels"] = {name: _lines(getattr(labels, name)) for name in (*RUBRICS, "aggregate")}
            if weights:
                fields["weights"] = _weights(labels)
            text = json.dumps(fields, ensure_ascii=False).encode() + b"\n"
        except ValueError as error:
            done.bad.append(Problem(number, str(error)))
            continue
        done.numbers.append(number)
        done.ids.append(record.id)
        done.rows.append(text)
        if not labels.parsed:
            done.unparsed.append(Problem(number, UNPARSED))
    return done


def prepare_worker(parent: int) -> None:
    """Set a new process up: Ctrl-C is the parent's to answer, and the parent's death is this process's too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000)  # syntax trees are many objects and no cycles
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _lines(mask: NDArray[np.bool_]) -> list[int]:
    lines: list[int] = (np.flatnonzero(mask) + 1).tolist()
    return lines


def _weights(labels: RubricLabels) -> dict[str, list[list[Any]]]:
    found = {}
    for name in RUBRICS:
        weight = getattr(labels, f"{name}_weight")
        places = np.flatnonzero(weight)
        found[name] = [[int(n) + 1, round(float(w), 4)] for n, w in zip(places, weight[places], strict=True)]
    return found
