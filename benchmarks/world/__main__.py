"""Files as the world writes them: what lamr makes of them, checked by rules that hold for every file.

    python -m benchmarks.world                                     # the small set and this repository's own files
    python -m benchmarks.world --mirror DIR --files 3000           # bare repositories named owner+name
    python -m benchmarks.world --mirror DIR --file owner+name/path/to/file --seed 0

Each file goes through pruning at scores of chance, `Pruner` with the line model alone, the outline and the path of the
hook; the files of a project are packed together. A part of the files is damaged or spelled otherwise first. The rules
are those of `checks.py`; grammars of tree-sitter-language-pack and the languages' own programs say what parses. The
table has a row for each format. With `--output`, a run that was interrupted goes on where it was."""

import argparse
import dataclasses
import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.report import Figure, option_parser, run
from benchmarks.world import corpus, tally
from benchmarks.world.corpus import Item
from benchmarks.world.damage import damaged
from benchmarks.world.programs import PROGRAMS, there_are
from benchmarks.world.worker import Report, Worker, checked

_IN_A_PACK = 40


def mirrored(options: argparse.Namespace) -> Iterator[Item]:
    """The files of the mirror that the options choose."""
    like = {name for name, _ in _read(options.like) if "#" not in name.split("/")[0]}
    listed = sorted({name.split("/", 1)[0] for name in like}) or corpus.mirrored_projects(options.mirror)
    by_project: dict[str, list[corpus.Place]] = {}
    for project in tqdm(listed, unit="project", desc="listing", disable=None):
        if places := corpus.places_of(project, options.mirror):
            by_project[project] = places
    projects = listed if like else corpus.chosen_projects(by_project, options.projects, options.seed)
    places = [
        place
        for project in projects
        for place in by_project.get(project, [])
        if (not like or place.id in like) and (not options.only or place.format in options.only)
    ]
    most = len(places) if like else options.files
    yield from corpus.read_places(corpus.chosen_files(places, most, options.seed), options.mirror)


def items_of(options: argparse.Namespace) -> list[Item]:
    """The files, a part of them damaged."""
    if options.mirror is not None:
        found: Iterable[Item] = mirrored(options)
    else:
        found = corpus.own_files(options.files, options.seed)
    items = []
    for item in found:
        chance = random.Random(f"{options.seed} {item.id}")
        if chance.random() < options.damage:
            data, name = damaged(item.data, chance)
            items.append(dataclasses.replace(item, data=data, damage=name))
        else:
            items.append(item)
    return [item for item in items if not options.only or item.format in options.only]


def packs_of(items: Iterable[Item]) -> Iterator[tuple[str, list[Item]]]:
    """The files of each project, in groups that one pack takes."""
    by_project: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_project[item.id.split("/", 1)[0]].append(item)
    for project, several in sorted(by_project.items()):
        for at in range(0, len(several), _IN_A_PACK):
            yield f"{project}#{at // _IN_A_PACK}", several[at : at + _IN_A_PACK]


def reports_of(options: argparse.Namespace) -> list[Report]:
    """Run what isn't in the output's file yet, and write each report there."""
    done = _read(options.output)
    items = items_of(options)
    asked: list[Item | tuple[str, list[Item]]] = [*items, *([] if options.no_packs else packs_of(items))]
    worker = Worker(options.seed, options.seconds)
    reports = []
    try:
        for each in tqdm(asked, unit="file", disable=None):
            key = (each.id, each.damage) if isinstance(each, Item) else (each[0], "")
            report = done.get(key) or worker.run(each)
            reports.append(report)
            if options.output is not None and key not in done:
                with options.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(dataclasses.asdict(report), ensure_ascii=False) + "\n")
    except KeyboardInterrupt:
        print("interrupted: what is known so far", file=sys.stderr)
    finally:
        worker.end()
    return reports


def _read(output: Path | None) -> dict[tuple[str, str], Report]:
    if output is None or not output.exists():
        return {}
    rows = [Report(**json.loads(line)) for line in output.read_text(encoding="utf-8").splitlines()]
    return {(row.id, row.damage): row for row in rows}


def shown(options: argparse.Namespace) -> Iterator[Figure | str]:
    """One file, each of its results with what is wrong with it."""
    from benchmarks.world.cases import Tools

    item = _item(options)
    notes: list[str] = []

    def show(outcome: Any, violations: list[Any]) -> None:
        told = outcome.refused or outcome.error or f"{outcome.seconds:.2f} s"
        notes.append(f"-- {outcome.case}: {told}")
        for each in violations:
            notes.append(f"   invariant {each.invariant}, line {each.line}: {each.kind}: {each.detail}")
        if violations and outcome.text is not None:
            notes.append("\n".join(f"   | {line}" for line in outcome.text.splitlines()[: options.lines]))

    with tempfile.TemporaryDirectory() as folder:
        report = checked(item, Tools.made(Path(folder)), options.seed, show=show)
    yield f"{item.label}: {item.format}, {len(item.data):,} bytes"
    yield from notes
    yield from tally.figures([report], formats=1)


def _item(options: argparse.Namespace) -> Item:
    """The file that `--file` names: on disk, else among those that the other options choose."""
    path = Path(options.file)
    if path.is_file():
        form = corpus.format_of(path.name)
        if form is None:
            raise SystemExit(f"{path}: no format has such names; see benchmarks/world/formats.py")
        return Item(str(path), path.name, form.name, path.read_bytes())
    for item in items_of(options):
        if item.id == options.file:
            return item
    raise SystemExit(f"{options.file}: neither a file nor one of those that these options choose")


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """The table and the totals, or one file."""
    if options.file:
        yield from shown(options)
        return
    yield f"programs that parse: {', '.join(there_are(list(PROGRAMS)))}; {tally.bound()}"
    reports = reports_of(options)
    yield from tally.table(reports)
    yield from tally.figures(reports, formats=1 if options.only else options.formats)


PARSER = option_parser(__doc__)
PARSER.add_argument("--mirror", type=Path, help="folder of bare repositories named owner+name")
PARSER.add_argument("--projects", type=int, default=100, help="projects of the mirror (%(default)s)")
PARSER.add_argument("--files", type=int, default=300, help="files at the most (%(default)s)")
PARSER.add_argument("--formats", type=int, default=60, help="formats that there should be (%(default)s)")
PARSER.add_argument("--only", nargs="+", default=[], metavar="FORMAT", help="formats by name: see formats.py")
PARSER.add_argument(
    "--file", help="one file, by its path or by the id that the output has; prints what is wrong"
)
PARSER.add_argument(
    "--lines", type=int, default=60, help="lines of a result that --file prints (%(default)s)"
)
PARSER.add_argument("--seed", type=int, default=0, help="of all that is chosen by chance (%(default)s)")
PARSER.add_argument(
    "--damage", type=float, default=0.25, help="share of files that are damaged (%(default)s)"
)
PARSER.add_argument("--seconds", type=float, default=120.0, help="that one call may take (%(default)s)")
PARSER.add_argument("--no-packs", action="store_true", help="leave out packs")
PARSER.add_argument("--like", type=Path, help="the files of an earlier run, by its --output")
PARSER.add_argument(
    "--output", type=Path, help="a file of one JSON object a file, which an interrupted run goes on with"
)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
