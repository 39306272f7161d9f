"""Prune all Python files of a folder at once, as an agent's tool would: a failing server never loses a file.

python docs/examples/prune_folder.py FOLDER "What limits the number of open connections?" [HOST:PORT]"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from lamr_client import AsyncPruner, InvalidInputError, PruneResult


async def prune(pruner: AsyncPruner, query: str, file: Path) -> tuple[Path, PruneResult | None]:
    """Prune one file; the result is None for a file that isn't text."""
    try:
        return file, await pruner.prune(query, file.read_bytes(), path=file, on_error="passthrough")
    except InvalidInputError:  # not UTF-8: there is no text to pass through
        return file, None


def relevance(pair: tuple[Path, PruneResult | None]) -> float:
    """Return what files are sorted by."""
    return pair[1].relevance or 0.0 if pair[1] else 0.0


async def main() -> None:
    """Print the most relevant files first, each with the tokens that it costs an agent before and after."""
    folder, query, *server = sys.argv[1:]
    files = sorted(Path(folder).rglob("*.py"))
    async with AsyncPruner(server[0] if server else None, timeout=300) as pruner:
        results = await asyncio.gather(*(prune(pruner, query, file) for file in files))
    for file, result in sorted(results, key=relevance, reverse=True):
        if result is None:
            print(f"  not text  {file}")
        elif result.status == "passthrough":
            print(f"unpruned    {file}: {result.reason}")
        else:
            print(f"{result.relevance or 0:8.3f}    {file}: {result.tokens_in} → {result.tokens_out} tokens")


if __name__ == "__main__":
    asyncio.run(main())
