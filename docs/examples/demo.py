"""Prune a real standard-library file for a real question, through a Triton server started for it and stopped again.

Run by `make demo`; needs `pip install '.[serve]'`."""

from __future__ import annotations

import argparse
import sysconfig
import time
from pathlib import Path

from lamr_client import Pruner, bundled_repository
from lamr_serving import TritonServer

FILE = Path(sysconfig.get_path("stdlib")) / "configparser.py"
QUERY = "How does ConfigParser resolve %(name)s references in a value, and what stops endless recursion?"


def main() -> None:
    """Serve, prune, print, stop."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "file", nargs="?", type=Path, default=FILE, help=f"default: the library's {FILE.name}"
    )
    parser.add_argument("-q", "--query", default=QUERY)
    arguments = parser.parse_args()
    code = arguments.file.read_bytes()

    begin = time.perf_counter()
    with TritonServer(bundled_repository()) as server:
        started = time.perf_counter() - begin
        with Pruner(server.addresses.grpc, timeout=300) as pruner:
            result = pruner.prune(arguments.query, code, path=arguments.file, line_numbers=True)
        print(result.text)
        print(f"{server.info}\n")
        pid = server.pid
    spent = result.timings
    print(f"file      {arguments.file}")
    print(f"query     {arguments.query}")
    print(
        f"lines     {len(result.line_scores):,} before, {len(result.kept_lines):,} kept, {len(result.cuts)} cuts"
    )
    print(f"tokens    {result.tokens_in:,} before, {result.tokens_out:,} after")
    print(f"relevance {result.relevance:.2f}")
    print(f"effort    {result.effort}")
    print(
        f"seconds   {spent.total:.2f} = encode {spent.encode:.2f} + infer {spent.infer:.2f} + "
        f"postprocess {spent.postprocess:.2f}; starting the server took {started:.1f}"
    )
    print(f"server    {'still there!' if Path(f'/proc/{pid}').exists() else 'gone'} (process {pid})")


if __name__ == "__main__":
    main()
