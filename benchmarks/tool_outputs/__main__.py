"""Outputs of real tools, and whether what lamr shows of them still says what failed.

    python -m benchmarks.tool_outputs                            # the tools of tools.toml that are installed
    python -m benchmarks.tool_outputs --only pytest make --effort full
    python -m benchmarks.tool_outputs --keep DIR --unchecked     # only writes DIR/NAME.log and DIR/NAME.json
    python -m benchmarks.tool_outputs --like DIR                 # the outputs that lie there

Each output goes through the hook of every profile, as what a command printed and as a file that is read, and through
`prune` with six questions in three budgets and in none. A line that tells a failure, a total or an exit code must stand
in every result; in one that states "k of n failures shown", failures may be missing."""

import argparse
import dataclasses
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from lamr_agents.policy import PROFILES
from lamr_client import Pruner
from tqdm import tqdm

from benchmarks.report import Figure, option_parser, run
from benchmarks.tool_outputs.checking import BUDGETS, Hooks, pruned
from benchmarks.tool_outputs.making import Label, Output, outputs, tools

COLUMNS = (*PROFILES, *(f"{budget or 'no'} tokens" for budget in BUDGETS))


def kept_in(folder: Path, only: Sequence[str] = ()) -> Iterator[Output]:
    """The outputs of an earlier run."""
    for path in sorted(folder.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        labels = [Label(**each) for each in facts.pop("labels")]
        if not only or facts["tool"] in only:
            yield Output(**facts, text=path.with_suffix(".log").read_bytes().decode(), labels=labels)


def made(only: Sequence[str], folder: Path | None) -> Iterator[Output]:
    """What the tools print now, written into a folder if there is one."""
    for name, tool in tqdm(tools(only).items(), unit="tool", disable=None):
        for output in outputs(name, tool):
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                facts = dataclasses.asdict(output)
                (folder / f"{output.name}.log").write_bytes(facts.pop("text").encode())
                words = json.dumps(facts, indent=1, ensure_ascii=False)
                (folder / f"{output.name}.json").write_text(words + "\n", encoding="utf-8")
            yield output


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """A row a tool and a variant with the results that lack something, in a column a profile or budget; the totals."""
    found = kept_in(options.like, options.only) if options.like else made(options.only, options.keep)
    if options.unchecked:
        yield Figure("outputs", sum(1 for _ in found))
        return
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    counts: Counter[str] = Counter()
    notes = []
    with tempfile.TemporaryDirectory() as folder, Pruner() as pruner:
        hooks = Hooks(Path(folder), pruner)
        for output in found:
            results = [*hooks.shown(output), *pruned(output, pruner, options.effort)]
            lacking = [result for result in results if result.missing]
            counts.update(results=len(results), outputs=1, lacking=bool(lacking))
            counts.update(
                stated=sum(each.stated for each in results), refused=sum(each.refused for each in results)
            )
            for result in lacking:
                counts.update(label.kind for label in result.missing)
                for row in (output.tool, f"{output.variant}, {output.scenario}", "all"):
                    rows[row][result.way] += 1
                first = (
                    f"{result.missing[0].kind}, line {result.missing[0].line}: {result.missing[0].text:.80}"
                )
                notes.append(f"{output.name}, {result.way}, {result.asked}: {first}")
    yield f"{'results that lack something':<28}" + "".join(f"{each:>12}" for each in COLUMNS)
    for row in sorted(rows):
        yield f"{row:<28}" + "".join(f"{rows[row][each] or '.':>12}" for each in COLUMNS)
    yield from notes[: options.lines]
    yield Figure("outputs", counts["outputs"])
    yield Figure("results", counts["results"])
    yield Figure("results that state k of n failures", counts["stated"])
    yield Figure("results refused, since the budget is too small", counts["refused"])
    yield Figure("outputs of which a result lacks something", counts["lacking"], "", 0)
    for kind in ("failure", "summary", "exit"):
        yield Figure(f"missing: {kind}", counts[kind], "", 0)


PARSER = option_parser(__doc__)
PARSER.add_argument("--only", nargs="+", default=[], metavar="TOOL", help="tools by name: see tools.toml")
PARSER.add_argument(
    "--effort", default="auto", choices=("instant", "auto", "full"), help="of `prune` (%(default)s)"
)
PARSER.add_argument("--keep", type=Path, help="a folder for the outputs and what must survive of each")
PARSER.add_argument("--unchecked", action="store_true", help="make outputs only")
PARSER.add_argument("--like", type=Path, help="check the outputs of such a folder instead of new ones")
PARSER.add_argument("--lines", type=int, default=40, help="faulty results to be listed (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
