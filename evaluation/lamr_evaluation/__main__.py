"""`python -m lamr_evaluation` builds a suite, and measures the lexical baselines alone.

`lamr eval` measures a model; this command shows items and baselines without one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lamr_contract.private_files import cache_folder

from lamr_evaluation.baselines import BASELINES
from lamr_evaluation.benchmark import QUESTION_KINDS, summary
from lamr_evaluation.measure import evaluate
from lamr_evaluation.plot import plot_recall
from lamr_evaluation.records import read_records, write_records
from lamr_evaluation.suites import SUITES, build_suite


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lamr_evaluation", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="write a suite's items; downloads their pinned sources")
    build.add_argument("output", type=Path, help="JSONL file to write")
    build.add_argument("--suite", choices=tuple(SUITES), default="questions", help="which (%(default)s)")
    build.add_argument("--mirror", type=Path, help="folder of bare repositories named owner+name")
    build.add_argument("--cache", type=Path, default=cache_folder(), help="for downloads (%(default)s)")
    measure = commands.add_parser("baselines", help="measure the lexical baselines on items")
    measure.add_argument("items", type=Path, help="JSONL file to read")
    measure.add_argument("--questions", action="store_true", help="written questions only")
    measure.add_argument("--json", action="store_true", help="print JSON instead of tables")
    measure.add_argument("--plot", type=Path, help="picture of recall against kept lines to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code: 0, or 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "build":
            items = build_suite(options.suite, options.cache, options.mirror)
            write_records(items, options.output)
            text = summary(items)
        else:
            items = list(read_records(options.items))
            if options.questions:
                items = [item for item in items if item.kind in QUESTION_KINDS]
            report = evaluate(items, BASELINES)
            text = report.to_json() if options.json else report.table()
            if options.plot:
                plot_recall(report, options.plot)
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
