"""Whether two versions of lamr prune alike: the SHA-256 of every result on given files, compared line by line.

    python -m benchmarks.same_output FILE ... > before.txt        # at one commit
    python -m benchmarks.same_output FILE ... --compare before.txt   # at another; exit code 1 if anything differs

Every file is pruned in process by the bundled model for questions made of its own name and words, with the default
threshold, a budget, a ratio and line numbers. The hash is over the text, the kept lines, the reasons and the line
scores, so that a difference in the last digit of a score shows as well."""

import argparse
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from lamr_client import Pruner
from lamr_client.prune_options import decode_code

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "budget": {"max_tokens": 600},
    "ratio": {"ratio": 4.0, "line_numbers": True},
}


def question(path: Path) -> str:
    """A question that names the file and the first longer words of its middle line."""
    lines = [
        line.strip() for line in decode_code(path.read_bytes()).text.splitlines() if len(line.strip()) > 20
    ]
    return f"How does {path.stem} handle {lines[len(lines) // 2][:60] if lines else 'errors'}?"


def rows(paths: list[Path]) -> list[str]:
    """One line a file and set of options: hash, suffix, name, options, and how many lines were kept."""
    lines = []
    with Pruner(timeout=600) as pruner:
        for path in paths:
            for name, options in OPTIONS.items():
                result = pruner.prune(
                    question(path), path.read_bytes(), path=path.name, effort="full", **options
                )
                data = result.to_dict()
                fields = {
                    key: data[key] for key in ("text", "kept_lines", "reasons", "line_scores", "relevance")
                }
                digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
                kept = f"{len(result.kept_lines)}/{len(result.line_scores)}"
                lines.append(f"{digest} {path.suffix} {path.name} {name} {kept}")
    return lines


def main() -> int:
    """Print the rows, or compare them with those of another version."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--compare", type=Path, help="rows that another version printed")
    options = parser.parse_args()
    here = rows(options.files)
    if options.compare is None:
        print("\n".join(here))
        return 0
    there = options.compare.read_text(encoding="utf-8").splitlines()
    changed = [(a, b) for a, b in zip(there, here, strict=True) if a != b]
    for before, after in changed:
        print(f"- {before}\n+ {after}")
    suffixes = Counter(path.suffix for path in options.files)
    print(f"{len(here) - len(changed)} of {len(here)} results alike; files by suffix: {dict(suffixes)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
