"""Prune a real standard-library file for a real question, through a Triton server started for it and stopped again.

Run by `make demo`; needs `pip install 'lamr-server[serve]'`.
"""

from __future__ import annotations

import argparse
import sysconfig
import time
from pathlib import Path

from lamr_client import Pruner
from lamr_serving import TritonServer, server_status

STDLIB = Path(sysconfig.get_path("stdlib"))
FILE = "configparser.py"
QUERY = "How does ConfigParser resolve %(name)s references in a value, and what stops endless recursion?"


def main() -> None:
    """Serve, prune, print, stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=STDLIB / FILE, help=f"default: the standard library's {FILE}")
    parser.add_argument("-q", "--query", default=QUERY)
    arguments = parser.parse_args()
    code = arguments.file.read_bytes()

    begin = time.perf_counter()
    with TritonServer() as server:
        ready = time.perf_counter() - begin
        status = server_status(server.grpc_address)
        print(f"server     {status.server_name} {status.server_version} on {server.grpc_address}, ready in {ready:.1f} s")
        print(f"model      {status.model_name} {status.model_version}")
        print(f"file       {arguments.file.name}, {code.count(bytes([10])):,} lines")
        print(f"query      {arguments.query}\n")
        with Pruner(server.grpc_address) as pruner:
            result = pruner.prune(arguments.query, code, path=arguments.file, line_numbers=True)
    print(result.text)
    print(f"tokens     {result.tokens_in:,} before, {result.tokens_out:,} after")
    print(f"lines      {len(result.kept_lines):,} of {len(result.line_scores):,} kept, relevance {result.relevance:.2f}")
    print(f"timings    {result.timings}")
    print("server     stopped")


if __name__ == "__main__":
    main()
