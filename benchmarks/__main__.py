"""`make bench`: every quick benchmark in turn, each a program of its own that can be run alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAMS = ("decoding.py", "postprocess.py", "client.py", "serving.py", "end_to_end.py")


def main() -> int:
    """Run them; the exit code is 1 if one failed."""
    failed = []
    for name in PROGRAMS:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, Path(__file__).parent / name], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
