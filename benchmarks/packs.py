"""What `lamr pack` takes of time and memory on whole repositories, and what a second question takes.

    python -m benchmarks.packs REPOSITORY [REPOSITORY ...] [--rev HEAD] [--max-tokens 16000] [--json]

Each repository is packed three times by the command, with a cache of its own that begins empty: a question, another
one, and the first one again. A repository may be a work tree or bare; its last revision is packed. Seconds are those
of the stages as the command tells them, and those of the whole process by the clock; memory is the process's largest
resident set. What is unchanged for later questions is the index."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lamr_base.cpus import usable_cpus

from benchmarks.report import Figure, option_parser, run

QUESTIONS = ("Where are errors handled, and which are passed on?", "How are settings read and checked?")
FASTER = 5.0
"""How many times as fast the unchanged part of a second question has to be."""


@dataclass(frozen=True)
class Run:
    """One pack: its result as JSON, its seconds by the clock and of all CPUs together, and its memory in MB."""

    result: dict[str, Any]
    seconds: float
    cpu: float
    memory: float


def pack(repository: Path, question: str, cache: Path, options: argparse.Namespace) -> Run:
    """Run the command once. Raises `RuntimeError`: it failed; the message has its last words."""
    command = [sys.executable, "-m", "lamr_cli.main", "pack", str(repository), "-q", question]
    command += ["--revision", options.rev, "--max-tokens", str(options.max_tokens), "--cache", str(cache)]
    command += ["--json", "--quiet"]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        begun = time.perf_counter()
        redirected = [(os.POSIX_SPAWN_DUP2, said.fileno(), 1), (os.POSIX_SPAWN_DUP2, complained.fileno(), 2)]
        child = os.posix_spawn(sys.executable, command, os.environ, file_actions=redirected)
        _, status, usage = os.wait4(child, 0)
        seconds = time.perf_counter() - begun
        said.seek(0)
        complained.seek(0)
        if status:
            raise RuntimeError(complained.read().decode("utf-8", "replace")[-500:])
        return Run(json.loads(said.read()), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def figures(runs: Sequence[Run], budget: int) -> Iterator[Figure]:
    """The figures of one repository: what went in and out, stage by stage, then how later questions compare."""
    first, second, again = runs
    counts, took = first.result["counts"], first.result["seconds"]
    yield Figure("files", counts["files"])
    yield Figure("files ranked", counts["ranked"])
    yield Figure("tokens in", first.result["tokens_in"])
    for name, each in zip(("tokens out", "tokens out, second question"), runs, strict=False):
        yield Figure(name, each.result["tokens"], "", budget)
    for stage in ("index", "rank", "model", "allocate"):
        yield Figure(f"first question: {stage}", took[stage], "s")
    yield Figure("first question: the whole", first.seconds, "s")
    yield Figure("second question: the whole", second.seconds, "s")
    yield Figure("first question again: the whole", again.seconds, "s")
    yield Figure("first question: CPU", first.cpu, "s")
    yield Figure("second question: CPU", second.cpu, "s")
    yield Figure("largest memory", max(each.memory for each in runs), "MB")
    yield Figure(
        "unchanged part, first / second question: index",
        took["index"] / second.result["seconds"]["index"],
        "x",
        FASTER,
        at_least=True,
    )
    yield Figure(
        "packs that differ for the same question", float(first.result["text"] != again.result["text"]), "", 0
    )


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Figures by repository."""
    yield f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {usable_cpus()} CPUs"
    for repository in options.repositories:
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "cache.sqlite"
            questions = (*QUESTIONS, QUESTIONS[0])
            runs = [pack(repository, question, cache, options) for question in questions]
        label = "/".join(repository.resolve().parts[-2:])
        yield from (replace(each, name=f"{label}: {each.name}") for each in figures(runs, options.max_tokens))


PARSER = option_parser(__doc__)
PARSER.add_argument("repositories", nargs="+", type=Path, help="git repositories")
PARSER.add_argument("--rev", default="HEAD", help="what is packed of each (%(default)s)")
PARSER.add_argument("--max-tokens", type=int, default=16_000, help="of each pack (%(default)s)")

if __name__ == "__main__":
    raise SystemExit(run(PARSER, measure))
