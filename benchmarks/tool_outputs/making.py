"""Projects of which it is known what fails, and what real tools print of them: each output with what must survive.

`tools.toml` has a table a tool. Its words are filled with the names and numbers that a project was made with, so that
labels come from how the project was made and not from what an output looks like."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamr_base.lazy import toml_parser

SCENARIOS = {"passing": (60, 0), "one": (120, 1), "many": (90, 18), "large": (600, 6), "slow": (200, 60)}
"""How many items a project has (tests, functions, files), and how many of them fail."""
NUMBERED = ("one", "large", "slow")
"""The scenarios in which the items' names differ in numbers alone."""
PLAN = {
    "plain": ("passing", "one", "many", "large"),
    "quiet": ("passing", "one", "many"),
    "verbose": ("passing", "one", "many", "large"),
    "coloured": ("one", "many"),
    "parallel": ("one", "many"),
    "redirected": ("many",),
    "exit": ("passing", "one"),
    "broken": ("slow",),
}
"""The scenarios of each variant; the shell makes the last three of others."""
LEAST_LINES = 30  # a shorter output isn't worth a look
LONGEST = 300.0  # seconds that a command may take
HOME = Path.home()
HOMES = {"RUSTUP_HOME": HOME / ".rustup", "CARGO_HOME": HOME / ".cargo", "GOCACHE": HOME / ".cache/go-build"}
"""Where toolchains lie, since each command has a home of its own and none of the user's settings."""
_WORDS = (
    *("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel"),
    *("ironwood", "juniper", "larch", "maple", "oak", "pine", "rowan", "spruce"),
)
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()*+]\w|[=>78cDEHM])")
Holes = Mapping[str, str]


@dataclass(frozen=True)
class Label:
    """A line that must survive: `failure`, `summary` or `exit`, its number, what a terminal shows of it, and of which
    failing item it is. One line of each failing item suffices."""

    kind: str
    line: int
    text: str
    of: str = ""


@dataclass(frozen=True)
class Output:
    """What a tool printed: its standard output and errors in one, the exit code, and what must survive."""

    tool: str
    variant: str
    scenario: str
    command: str
    code: int
    text: str
    labels: Sequence[Label]

    @property
    def name(self) -> str:
        """What tells it from others."""
        return f"{self.tool}-{self.variant}-{self.scenario}"


@dataclass(frozen=True)
class Item:
    """A test, a function or a file of a project."""

    module: str
    name: str
    number: int
    fails: bool

    @property
    def holes(self) -> dict[str, str]:
        """What templates are filled with."""
        name, words = self.name, self.name.replace("_", " ")
        holes = {"name": name, "Name": words.title().replace(" ", ""), "Words": words.capitalize()}
        return {**holes, "module": self.module, "Module": self.module.title(), "n": str(self.number)}


def items_of(count: int, failing: int, *, numbered: bool) -> list[Item]:
    """The items of a project: those that fail lie apart, or, where names differ in numbers alone, in a row."""
    step = 1 if numbered else count // (failing + 1)
    fails = range(count // 2 if numbered else step, count, step)[:failing]
    items = []
    for n in range(count):
        module, word = ("part", "case") if numbered else (_WORDS[n // 20 % 16], _WORDS[n * 7 % 16])
        items.append(Item(f"{module}{n // 20:02d}", f"{word}_{n:03d}", n, n in fails))
    return items


def _filled(template: str, holes: Holes) -> str:
    return re.sub(r"@(\w+)@", lambda hole: holes.get(hole[1], hole[0]), template)


def _write_project(tool: Mapping[str, Any], items: Sequence[Item], folder: Path, pause: str) -> None:
    by_module: dict[str, list[Item]] = {}
    for item in items:
        by_module.setdefault(item.module, []).append(item)
    modules = "".join(_filled(tool.get("modules", ""), some[0].holes) for some in by_module.values())
    for path, content in tool["files"].items():
        one_a_file = [[item] for item in items]
        groups = one_a_file if "ame@" in path else [*by_module.values()] if "odule@" in path else [items]
        for some in groups:
            body = (_filled(tool["fails" if each.fails else "passes"], each.holes) for each in some)
            holes = {**some[0].holes, "pause": pause, "modules": modules, "items": "".join(body)}
            place = folder / _filled(path, holes)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_filled(_filled(content, holes), holes), encoding="utf-8")
            place.chmod(0o755 if content.startswith("#!") else 0o644)


def tools(only: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The tools of the table that are installed, or those of them that are named."""
    table = toml_parser().loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))
    there = {name: tool for name, tool in table.items() if all(map(shutil.which, tool["needs"]))}
    return {name: tool for name, tool in there.items() if not only or name in only}


def outputs(name: str, tool: Mapping[str, Any]) -> Iterator[Output]:
    """What a tool prints of each scenario in each of its variants, where that is long enough."""
    runs = dict(tool["runs"])
    runs |= {"redirected": f"{runs['plain']} 2>&1 | cat", "exit": f'{runs["plain"]}; echo "exit code $?"'}
    if "pause" in tool:
        slow = f'timeout {tool.get("seconds", 4)} bash -c "{runs.get("verbose", runs["plain"])}"'
        runs["broken"] = f'{slow}; echo "exit code $?"'
    for variant, scenarios in PLAN.items():
        for scenario in scenarios if variant in runs else ():
            size = tool.get("sizes", {}).get(scenario, SCENARIOS[scenario])
            items = items_of(*size, numbered=scenario in NUMBERED)
            with tempfile.TemporaryDirectory(prefix="project") as place:
                folder = Path(place, "app")
                _write_project(tool, items, folder, tool["pause"] if variant == "broken" else "")
                for before in tool.get("before", ()):
                    _run(before, folder)
                code, text = _run(runs[variant], folder)
                text = text.replace(place, "/work").replace(str(HOME), "/home/dev")
            told = list(labels(tool, items, text, variant))
            if text.count("\n") >= LEAST_LINES and told:
                yield Output(name, variant, scenario, runs[variant], code, text, told)


def _run(command: str, folder: Path) -> tuple[int, str]:
    """Run a command of the shell; its exit code and all that it prints."""
    homes = {name: str(place) for name, place in HOMES.items()}
    environment = {**homes, **os.environ, "LC_ALL": "C.UTF-8", "HOME": str(folder), "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1; {command}"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=LONGEST,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def on_a_terminal(line: str) -> str:
    """A line without colours and trailing space; of states that were written over each other, the last."""
    states = _CONTROL.sub("", line.replace("\x1b[1G", "\r")).rstrip().split("\r")
    return next((state for state in reversed(states) if state), "").rstrip()


def labels(tool: Mapping[str, Any], items: Sequence[Item], text: str, variant: str) -> Iterator[Label]:
    """The lines that must survive, by what the project was made with."""
    rows = [on_a_terminal(line) for line in text.split("\n")]
    failing = [item for item in items if item.fails]
    counts = {"failed": len(failing), "passed": len(items) - len(failing), "all": len(items)}
    counts |= {
        "modules": len({each.module for each in items}),
        "broken": len({each.module for each in failing}),
    }
    holes = {key: str(value) for key, value in counts.items()}
    for item in failing:
        of_item = _with(rows, tool["failure"], item.holes)
        heads = _with(
            rows, tool.get("head", ()), item.holes
        )  # of messages that name the item some rows below
        of_item |= {max(near) for n in of_item if (near := heads & {*range(n - 6, n + 1)})}
        yield from (Label("failure", n, rows[n - 1], item.name) for n in sorted(of_item))
    totals = _with(rows, tool.get("summary" if failing else "clean", ()), holes)
    yield from (Label("summary", n, rows[n - 1]) for n in sorted(totals))
    if variant in ("exit", "broken"):
        last = max((n for n, row in enumerate(rows, 1) if row), default=1)
        yield Label("exit", last, rows[last - 1])


def _with(rows: Sequence[str], templates: Sequence[str], holes: Holes) -> set[int]:
    """The numbers of rows with one of some words, where a number isn't the end of a longer one."""
    words = [_filled(each, holes) for each in templates]
    escaped = [rf"(?<!\d){re.escape(each)}" if each[0].isdigit() else re.escape(each) for each in words]
    return {n for n, row in enumerate(rows, 1) if any(re.search(each, row) for each in escaped)}
