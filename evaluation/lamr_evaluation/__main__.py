"""`python -m lamr_evaluation OUTPUT` writes a suite's items for other programs; `lamr eval` measures on them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lamr_base.private_files import cache_folder

from lamr_evaluation.records import write_records
from lamr_evaluation.suites import SUITES, build_suite


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the items; returns the exit code: 0, or 2 if a source can't be had."""
    parser = argparse.ArgumentParser(prog="python -m lamr_evaluation", description=__doc__)
    parser.add_argument("output", type=Path, help="JSONL file to write")
    parser.add_argument("--suite", choices=SUITES, default="questions", help="which (%(default)s)")
    parser.add_argument("--mirror", type=Path, help="folder of bare repositories named owner+name")
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="for downloads (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        count = write_records(build_suite(options.suite, options.cache, options.mirror), options.output)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{count} items\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
