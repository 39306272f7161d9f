"""Labels a JSONL file of records, row by row. A record that can't be used is reported and left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lamr_contract.private_files import replaced
from lamr_evaluation.problems import Problem
from lamr_evaluation.records import Record, iter_rows, parse_row
from lamr_repositories.progress import OnProgress
from numpy.typing import NDArray

from lamr_training.errors import RecordError
from lamr_training.labels.rubrics import RubricLabels, label_lines

RUBRICS = ("semantic", "dependency")
UNPARSED = "the code doesn't parse as Python; it gets no dependency labels"

Report = Callable[[Problem], None]


@dataclass
class LabelSummary:
    """What became of a file.

    Attributes:
        labelled: how many records were written.
        bad: the records that were left out, each with its reason.
        unparsed: the records whose code isn't Python that parses; they have no dependency labels.
    """

    labelled: int = 0
    bad: list[Problem] = field(default_factory=list)
    unparsed: list[Problem] = field(default_factory=list)

    def to_json(self) -> str:
        """The summary as one JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)


def label_file(
    source: Path,
    target: Path,
    *,
    weights: bool = False,
    progress: OnProgress | None = None,
    report: Report | None = None,
) -> LabelSummary:
    """Add `labels` to every record of a file: for each rubric and the aggregate, the 1-based lines it keeps.

    Args:
        source: a JSONL file of records; their other fields are carried over.
        target: the JSONL file to write, which appears whole at the end.
        weights: whether to add `weights` too: for each rubric the lines with a weight above 0, as pairs.
        progress: called with "bytes", how many of them are read, and how many there are.
        report: called with each record that is left out or doesn't parse.

    Raises:
        RecordError: the file can't be read, is empty, or holds no usable record.
    """
    if target.exists() and source.exists() and target.samefile(source):
        raise RecordError(f"{target}: would overwrite its own input; name another file")
    summary = LabelSummary()
    rows = _labelled(source, summary, weights, report)
    try:
        total, done = source.stat().st_size, 0
        target.parent.mkdir(parents=True, exist_ok=True)
        with replaced(target) as part:
            with part.open("w", encoding="utf-8") as stream:
                for read, row in rows:
                    stream.write(row)
                    done += read
                    if progress:
                        progress("bytes", done, total)
            if not summary.labelled:
                raise RecordError(f"{source}: {_why_nothing(summary)}")
    except OSError as error:
        raise RecordError(f"{error.filename or target}: {error.strerror or error}") from error
    return summary


def _labelled(
    source: Path, summary: LabelSummary, weights: bool, report: Report | None
) -> Iterator[tuple[int, str]]:
    """The size of each row of a file, and its new text, which is empty for what is left out."""
    first_with: dict[str, int] = {}
    for number, line in iter_rows(source):
        problem, text = None, ""
        try:
            fields = parse_row(line)
            record = Record.from_row(fields)
            labels = label_lines(record.code, record.kept_frags, record.score)
            fields["labels"] = {name: _numbers(getattr(labels, name)) for name in (*RUBRICS, "aggregate")}
            if weights:
                fields["weights"] = _weights(labels)
            first = first_with.setdefault(record.id, number)
            if record.id and first != number:
                raise ValueError(f"the id {record.id!r} is that of line {first} already")
            text = json.dumps(fields, ensure_ascii=False) + "\n"
            text.encode()
        except ValueError as error:
            problem, text = Problem(number, str(error)), ""
            summary.bad.append(problem)
        else:
            summary.labelled += 1
            if not labels.parsed:
                problem = Problem(number, UNPARSED)
                summary.unparsed.append(problem)
        if report and problem:
            report(problem)
        yield len(line), text


def _why_nothing(summary: LabelSummary) -> str:
    if not summary.bad:
        return "holds no records; expected one JSON object a line"
    return (
        f"none of {len(summary.bad)} records can be used; line {summary.bad[0].line}: {summary.bad[0].reason}"
    )


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
