"""Labels a JSONL file of records in parallel and in order, and goes on where an interrupted run stopped.

While it runs, labelled records lie in `TARGET.part`, and a journal beside it says after each portion how far input and
output belong together; the target itself appears whole at the end. A record that can't be used is reported and left
out. This module knows files and processes; it doesn't know what the labels mean.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO

from lamr_contract.children import standing_elsewhere
from lamr_evaluation.problems import Problem
from lamr_repositories.progress import OnProgress

from lamr_training.errors import RecordError, TrainingError
from lamr_training.labels.journal import Journal
from lamr_training.labels.portions import LabelledPortion, Portion, label_portion, prepare_labeller
from lamr_training.labels.settings import LabelSettings

PORTION = 64
"""How many rows a process labels at a time."""

Report = Callable[[Problem], None]


@dataclass
class LabelSummary:
    """What became of a file.

    Attributes:
        labelled: how many records were written.
        bad: the records that were left out, each with its reason.
        unparsed: the records whose code isn't Python that parses; they have no dependency labels.
        resumed: how many input lines an earlier run had done.
    """

    labelled: int = 0
    bad: list[Problem] = field(default_factory=list)
    unparsed: list[Problem] = field(default_factory=list)
    resumed: int = 0

    def to_json(self) -> str:
        """The summary as one JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)


def label_file(  # noqa: PLR0913 - keywords with defaults
    source: Path,
    target: Path,
    settings: LabelSettings | None = None,
    *,
    workers: int = 1,
    weights: bool = False,
    progress: OnProgress | None = None,
    report: Report | None = None,
) -> LabelSummary:
    """Add `labels` to every record of a file: for each rubric and the aggregate, the 1-based lines it keeps.

    Args:
        source: a JSONL file of records; their other fields are carried over.
        target: the JSONL file to write.
        settings: the constants of the labels.
        workers: how many processes label; 1 labels in this one.
        weights: whether to add `weights` too: for each rubric the lines with a weight above 0, as pairs.
        progress: called with "records", the number of lines done, and the number of all lines.
        report: called with each record that is left out or doesn't parse.

    An interrupted run with the same file and settings goes on where it stopped.

    Raises:
        RecordError: the file can't be read, is empty, or holds no usable record.
        TrainingError: a process died.
    """
    settings = settings or LabelSettings()
    if target.exists() and source.exists() and target.samefile(source):
        raise RecordError(f"{target}: would overwrite its own input; name another file")
    try:
        total = _count_lines(source)
        with ExitStack() as stack:
            stream = stack.enter_context(source.open("rb"))
            journal = stack.enter_context(
                Journal.open(source, target, {**asdict(settings), "weights": weights})
            )
            run = _Run(journal, report)
            if progress and run.summary.resumed:
                progress("records", run.summary.resumed, total)
            label = partial(label_portion, settings=settings, weights=weights)
            for portion in _labelled(_portions(stream, journal.line, journal.read), label, workers, source):
                run.take(portion)
                if progress:
                    progress("records", journal.line, total)
            if not run.summary.labelled:
                raise RecordError(f"{source}: {_why_nothing(run.summary)}")
            journal.finish()
    except OSError as error:
        raise RecordError(f"{error.filename or target}: {error.strerror or error}") from error
    return run.summary


class _Run:
    """Takes labelled portions in their order, refuses repeated ids, and writes, counts and reports."""

    def __init__(self, journal: Journal, report: Report | None) -> None:
        self._journal, self._report = journal, report
        self._ids: dict[str, int] = {}
        self.summary = LabelSummary(resumed=journal.line)
        for portion in journal.past:
            self._count(portion)

    def take(self, portion: LabelledPortion) -> None:
        named = [(number, name) for number, name in zip(portion.numbers, portion.ids, strict=True) if name]
        for number, name in named:
            first = self._ids.setdefault(name, number)
            if first != number:
                portion.refuse(number, f"the id {name!r} is that of line {first} already")
        portion.bad.sort()
        self._journal.write(portion)
        self._count(portion)
        if self._report:
            for problem in sorted((*portion.bad, *portion.unparsed)):
                self._report(problem)

    def _count(self, portion: LabelledPortion) -> None:
        pairs = zip(portion.ids, portion.numbers, strict=True)
        self._ids.update((name, number) for name, number in pairs if name)
        self.summary.labelled += len(portion.numbers)
        self.summary.bad += portion.bad
        self.summary.unparsed += portion.unparsed


def _why_nothing(summary: LabelSummary) -> str:
    if not summary.bad:
        return "holds no records; expected one JSON object a line"
    return (
        f"none of {len(summary.bad)} records can be used; line {summary.bad[0].line}: {summary.bad[0].reason}"
    )


def _count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")


def _portions(stream: BinaryIO, line: int, offset: int) -> Iterator[Portion]:
    """The rows of a file from an offset on, where so many lines come before."""
    stream.seek(offset)
    while lines := [row for row in (stream.readline() for _ in range(PORTION)) if row]:
        offset += sum(map(len, lines))
        yield Portion(line, lines, offset)
        line += len(lines)


def _labelled(
    portions: Iterator[Portion], label: Callable[[Portion], LabelledPortion], workers: int, source: Path
) -> Iterator[LabelledPortion]:
    """Label portions in their order; a few of them wait for each process."""
    if workers == 1:
        yield from map(label, portions)
        return
    waiting: deque[tuple[Portion, Future[LabelledPortion]]] = deque()
    pool = ProcessPoolExecutor(workers, get_context("spawn"), prepare_labeller, (os.getpid(), Path.cwd()))
    try:
        for portion in portions:
            with standing_elsewhere():  # this starts the processes
                waiting.append((portion, pool.submit(label, portion)))
            if len(waiting) > 3 * workers:
                yield waiting.popleft()[1].result()
        while waiting:
            yield waiting[0][1].result()
            waiting.popleft()
    except BrokenProcessPool as error:
        first = waiting[0][0].line + 1 if waiting else 1
        raise TrainingError(
            f"{source}: a labelling process died at line {first} or soon after; run again to go on, with "
            "`--workers 1` to see which record it is"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
