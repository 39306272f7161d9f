"""A process that runs files through lamr and checks the results, so that a file which takes for ever can be ended."""

import dataclasses
import multiprocessing
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.world.corpus import Item
from benchmarks.world.formats import format_named, read_as

CHECKING = "the checks themselves"


@dataclass
class Report:
    """What a file gave."""

    id: str  # of the file, like its format, as `--file` and `--only` take them; a pack's is that of its project
    format: str
    damage: str = ""  # what was done to the file before; empty for nothing
    bytes: int = 0  # of the file
    structured: bool = False  # whether lamr reads it by a grammar
    cases: int = 0  # how many results were checked
    judged: int = 0  # how many of them could be parsed again, and how many of these don't parse
    broken: int = 0
    refused: list[str] = field(default_factory=list)  # what was refused, in words
    seconds: float = 0.0  # CPU time of the longest call, and which it was
    slowest: str = ""
    # the faults, as `checks.Violation` has them
    violations: list[dict[str, Any]] = field(default_factory=list)
    trouble: str = ""  # why the checks themselves ended early; empty where they didn't

    def add(self, outcome: Any, violations: Sequence[Any]) -> None:
        """Count a result, and what is wrong with it."""
        self.cases += 1
        self.violations += [dataclasses.asdict(each) for each in violations]
        if outcome.refused:
            self.refused.append(f"{outcome.case}: {outcome.refused}")
        if outcome.seconds >= self.seconds:
            self.seconds, self.slowest = outcome.seconds, outcome.case


def checked(item: Item, tools: Any, seed: int, *, tell: Any = lambda _: None, show: Any = None) -> Report:
    """Run one file.

    Args:
        item: the file.
        tools: a `cases.Tools`.
        seed: of what is chosen by chance; the file's name goes into it.
        tell: called with each case's name before it begins.
        show: called with each outcome and its violations; None for nothing."""
    from lamr_postprocess import detect_language
    from lamr_postprocess.listing import read_listing

    from benchmarks.world import cases
    from benchmarks.world.checks import Checked, Outcome, Violation
    from benchmarks.world.mutants import alike

    chance = random.Random(f"{seed} {item.label}")
    report = Report(item.id, item.format, item.damage, len(item.data))
    text = cases.as_text(item.data)
    report.structured = bool(detect_language(text, item.path).grammar)
    form = read_as(format_named(item.format), item.data)
    tell(CHECKING)
    file = Checked(text, form, Path(item.path).name, is_listing=read_listing(text) is not None)
    plain = item.data.decode("utf-8", "replace").encode() == item.data
    calls = list(cases.calls_of(dataclasses.replace(item, data=item.data), text, tools, chance))
    if not plain or chance.random() < 0.05:
        calls.append(("command", lambda: cases.through_command(item, tools, chance)))
    for name, call in calls:
        tell(name)
        outcome = cases.outcome_of(name, call)
        tell(CHECKING)
        found = list(file.violations(outcome))
        if outcome.refused and not outcome.refused.startswith("BudgetError"):
            found.append(Violation(1, name, "a file refused", detail=outcome.refused))
        report.add(outcome, found)
        if show is not None:
            show(outcome, found)
    tell("lossless")
    outcome, found = Outcome("lossless"), list(alike(text, chance))
    report.add(outcome, found)
    if show is not None:
        show(outcome, found)
    report.judged, report.broken = file.judged, file.broken
    return report


def checked_pack(
    name: str, items: list[Item], tools: Any, seed: int, *, tell: Any = lambda _: None
) -> Report:
    """Pack some files, and check each that is in the pack."""
    from benchmarks.world import cases
    from benchmarks.world.checks import Checked, Violation

    chance = random.Random(f"{seed} {name}")
    report = Report(name, "pack", "", sum(len(item.data) for item in items))
    tell("pack")
    for item, outcome in cases.packed(items, tools, chance):
        tell(CHECKING)
        if item is None:
            file = Checked("x" * report.bytes, None)
            found = list(file.violations(outcome))
            if outcome.budget is not None and outcome.tokens > outcome.budget:
                found.append(Violation(4, outcome.case, "over budget", detail=f"{outcome.tokens} tokens"))
            if outcome.refused:
                found.append(Violation(1, outcome.case, "files refused", detail=outcome.refused))
        elif item.data.decode("utf-8", "replace").encode() != item.data:
            continue  # in an encoding that the checks don't know; the command's output is compared by bytes
        else:
            file = Checked(
                cases.as_text(item.data), read_as(format_named(item.format), item.data), Path(item.path).name
            )
            found = list(file.violations(outcome))
            report.judged, report.broken = report.judged + file.judged, report.broken + file.broken
        found = [
            dataclasses.replace(each, case=f"{outcome.case} of {item.label if item else name}")
            for each in found
        ]
        report.add(outcome, found)
    return report


def _work(connection: Connection, seed: int) -> None:
    """The process: an item or a list of items in, names of cases and a report out, until None comes."""
    from benchmarks.world.cases import Tools

    with tempfile.TemporaryDirectory() as folder:
        tools = Tools.made(Path(folder))
        connection.send(("ready", None))

        def tell(name: str) -> None:
            connection.send(("case", name))

        while (asked := connection.recv()) is not None:
            if isinstance(asked, Item):
                report = checked(asked, tools, seed, tell=tell)
            else:
                report = checked_pack(*asked, tools, seed, tell=tell)
            connection.send(("report", report))


class Worker:
    """The other process, made anew when a file takes too long or ends it.

    Args:
        seed: see `checked`.
        limit: seconds by the clock that one call may take before the process is ended."""

    def __init__(self, seed: int, limit: float) -> None:
        self._seed, self._limit = seed, limit
        self._process: Any = None
        self._connection: Connection

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._seed), daemon=True)
        self._process.start()
        theirs.close()
        assert self._connection.recv()[0] == "ready"

    def run(self, asked: Item | tuple[str, list[Item]]) -> Report:
        """The report of a file or of a pack; one that took too long, or whose process died, says so."""
        if self._process is None:
            self._begin()
        self._connection.send(asked)
        case = ""
        try:
            while self._connection.poll(self._limit):
                kind, said = self._connection.recv()
                if kind == "report":
                    return said  # type: ignore[no-any-return]
                case = said
            why = f"no answer in {self._limit:.0f} s"
        except (EOFError, ConnectionError):
            why = "the process died"
        self.end()
        if isinstance(asked, Item):
            report = Report(asked.id, asked.format, asked.damage, len(asked.data))
        else:
            report = Report(asked[0], "pack")
        if case == CHECKING:
            report.trouble = why
        else:
            report.violations.append({"invariant": 5, "case": case, "kind": why, "line": 0, "detail": ""})
        return report

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
