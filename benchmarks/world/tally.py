"""Reports of files as figures and as a table by format."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.report import Figure
from benchmarks.world.checks import INVARIANTS, LEAST_SECONDS, SECONDS_A_KILOBYTE
from benchmarks.world.worker import Report

_KINDS = 40


@dataclass
class Row:
    """What the files of one format gave."""

    files: int = 0
    cases: int = 0
    judged: int = 0
    broken: int = 0
    refused: int = 0
    seconds: float = 0.0
    violations: Counter[int] = field(default_factory=Counter)

    def add(self, report: Report) -> None:
        """Count a file."""
        self.files += 1
        self.cases += report.cases
        self.judged += report.judged
        self.broken += report.broken
        self.refused += len(report.refused)
        self.seconds = max(self.seconds, report.seconds)
        self.violations.update(each["invariant"] for each in report.violations)

    def line(self, name: str) -> str:
        """The row of the table."""
        counts = "".join(f"{self.violations[number] or '.':>7}" for number in INVARIANTS)
        rate = f"{100 * (1 - self.broken / self.judged):.2f} %" if self.judged else "-"
        return (
            f"{name:<16}{self.files:>6}{self.cases:>8}{counts}{rate:>11}{self.judged:>8}{self.refused:>9}"
            f"{self.seconds:>8.2f} s"
        )


def table(reports: Iterable[Report]) -> Iterator[str]:
    """The table by format, then how often each kind of violation occurs, and in which formats."""
    rows: dict[str, Row] = defaultdict(Row)
    kinds: Counter[tuple[int, str]] = Counter()
    formats: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for report in reports:
        rows[report.format].add(report)
        for each in report.violations:
            kinds[each["invariant"], each["kind"]] += 1
            formats[each["invariant"], each["kind"]][report.format] += 1
    heads = "".join(f"{number:>7}" for number in INVARIANTS)
    yield f"{'format':<16}{'files':>6}{'cases':>8}{heads}{'parses':>11}{'of':>8}{'refused':>9}{'longest':>10}"
    yield from (rows[name].line(name) for name in sorted(rows))
    yield "  ".join(f"{number}: {words}" for number, words in INVARIANTS.items())
    for (number, kind), count in kinds.most_common(_KINDS):
        where = ", ".join(f"{name} {often}" for name, often in formats[number, kind].most_common(8))
        yield f"{count:>6} of invariant {number}: {kind:<50} {where}"


def figures(reports: Sequence[Report], *, formats: int) -> Iterator[Figure]:
    """The totals: violations of each invariant, and the share of results that parse as their files did."""
    counts = Counter(each["invariant"] for report in reports for each in report.violations)
    yield Figure("formats", len({report.format for report in reports} - {"pack"}), "", formats, at_least=True)
    yield Figure("files", sum(report.format != "pack" for report in reports))
    yield Figure("results checked", sum(report.cases for report in reports))
    for number, words in INVARIANTS.items():
        target = None if number == 2 else 0.0
        yield Figure(f"violations of invariant {number}: {words}", counts[number], "", target)
    for words, some, least in (
        ("by a grammar of lamr's", [report for report in reports if report.structured], 99.9),
        ("of any format", reports, None),
    ):
        if judged := sum(report.judged for report in some):
            rate = 100 * (1 - sum(report.broken for report in some) / judged)
            yield Figure(f"results that parse, {words}, of {judged:,}", rate, "%", least, at_least=True)
    yield Figure("calls refused", sum(len(report.refused) for report in reports))
    yield Figure("files that the checks gave up on", sum(bool(report.trouble) for report in reports))
    slowest = max(reports, key=lambda report: report.seconds, default=None)
    if slowest is not None:
        yield Figure("longest call, CPU", slowest.seconds, "s")


def bound() -> str:
    """The bound of the fifth invariant, in words."""
    return f"a call may take {LEAST_SECONDS:g} s of CPU and {SECONDS_A_KILOBYTE * 1e3:g} ms a kilobyte"
