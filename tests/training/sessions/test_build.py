"""Records out of recorded sessions in a repository that the test makes."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from lamr_evaluation.mirrors import locate
from lamr_evaluation.records import Record, read_records
from lamr_training.records.manifest import Repository, write_histories
from lamr_training.records.parts import Repositories
from lamr_training.sessions.build import ReadSettings, SessionSettings, build_sessions

from tests.training.records.repository import Repository as Made

CWD = "/home/ann/headers"
TASK = "The header parser loses what stands after a second colon; see /home/ann/notes.md for the report."
SAID = "I'll look at how the parser splits a line."
FILE = [f"def helper_{n}(value):\n    return value + {n}" for n in range(60)]
FILE[30] = "def split(line):\n    return line.split(':', 1)[0]"
LINES = "\n".join(FILE).split("\n")
GOLD = (61, 62)


def numbered(lines: list[str]) -> str:
    return "".join(f"{n:6}\t{line}\n" for n, line in enumerate(lines, 1))


def line(kind: str, *parts: dict) -> str:
    said = {"role": kind, "content": list(parts)}
    return json.dumps({"parentUuid": None, "sessionId": "s", "cwd": CWD, "message": said}) + "\n"


def tool(call: str, name: str, **arguments: object) -> str:
    return line("assistant", {"type": "tool_use", "id": call, "name": name, "input": arguments})


def read(call: str, path: str, lines: list[str] = LINES, said: str = SAID) -> str:
    shown = {"type": "tool_result", "tool_use_id": call, "content": numbered(lines)}
    words = line("assistant", {"type": "text", "text": said}) if said else ""
    return words + tool(call, "Read", file_path=path) + line("user", shown)


def edit(
    path: str, old: str = FILE[30], new: str = "def split(line):\n    return line.partition(':')"
) -> str:
    return tool("e", "Edit", file_path=path, old_string=old, new_string=new)


def task(words: str = TASK) -> str:
    return line("user", {"type": "text", "text": words})


PADDING = line("user", {"type": "tool_result", "tool_use_id": "p", "content": "ok " * 8000})
"""Makes a log large enough to be one."""
PARSER = f"{CWD}/src/parser.py"


def built(folder: Path, files: dict[str, str], apart: Path | None = None, **changes: object) -> list[Record]:
    made = Made(folder / "mirror" / "someone+headers")
    commit = made.commit("Checkpoint", {name: text + PADDING for name, text in files.items()})
    row = Repository("someone/headers", commit, "MIT", "python", "train")
    place = functools.partial(locate, folder=folder / "mirror")
    build_sessions(Repositories([row], place, apart), folder / "out", settings=SessionSettings(**changes))
    return list(read_records(folder / "out" / "train.jsonl"))


def test_a_big_read_asks_in_the_agents_words_for_the_lines_that_it_edits_later(tmp_path: Path) -> None:
    (record,) = built(tmp_path, {"22/56/0/full.jsonl": task() + read("a", PARSER) + edit(PARSER)})
    assert record.query == SAID
    assert record.task == TASK.replace("/home/ann", "~")
    assert (record.path, record.project) == ("src/parser.py", "someone/headers")
    assert (record.kind, record.language) == ("session", "python")
    assert record.lines == tuple(LINES)
    assert record.kept_frags == GOLD
    counts = json.loads((tmp_path / "out" / "counts.json").read_text())
    assert counts["train"] == {"kinds": {"session": 1}, "languages": {"python": 1}}


def test_without_words_of_its_own_the_agent_asks_with_its_task(tmp_path: Path) -> None:
    (record,) = built(tmp_path, {"full.jsonl": task() + read("a", PARSER, said="") + edit(PARSER)})
    assert record.query.startswith("The header parser loses")
    assert record.task == ""


def test_a_session_that_grows_from_checkpoint_to_checkpoint_counts_once_and_whole(tmp_path: Path) -> None:
    early = task() + read("a", PARSER)
    files = {"1/full.jsonl": early, "2/full.jsonl": early + edit(PARSER), "3/full.jsonl": early}
    (record,) = built(tmp_path, files)
    assert record.kept_frags == GOLD


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (task() + read("a", PARSER), "nothing of it was needed"),
        (
            task() + read("a", "/usr/lib/python3/ast.py") + edit("/usr/lib/python3/ast.py"),
            "not the project's",
        ),
        (task() + read("a", f"{CWD}/vendor/x.py") + edit(f"{CWD}/vendor/x.py"), "vendored"),
        (task() + read("a", f"{CWD}/src/flask/app.py") + edit(f"{CWD}/src/flask/app.py"), "an evaluation's"),
        (task() + read("a", PARSER) + edit(PARSER, "\n".join(LINES), "pass"), "nearly all of it was needed"),
        (task(f"Use ghp_{'a' * 36} for it.") + read("a", PARSER) + edit(PARSER), "it holds a secret"),
        ('{"a": 1}\n', "no session"),
    ],
)
def test_what_is_left_out(log: str, why: str, tmp_path: Path) -> None:
    assert built(tmp_path, {"full.jsonl": log}) == [], why


def test_no_file_no_task_and_no_repository_gives_too_many(tmp_path: Path) -> None:
    paths = [f"{CWD}/src/part_{n}.py" for n in range(4)]
    log = ""
    for n in range(12):
        path = paths[n % 4]
        log += task(f"Task number {n // 6}: {TASK}") + read(f"c{n}", path) + edit(path, FILE[n])
    files = {"full.jsonl": log}
    assert len(built(tmp_path / "a", files, per_task=99, per_file=99)) > 8
    assert len(built(tmp_path / "b", files, per_task=3, per_file=99)) == 6
    assert len(built(tmp_path / "c", files, per_task=99, per_file=1)) == 4
    few = built(tmp_path / "d", files, per_task=99, per_file=99, per_repository=4)
    assert {record.path for record in few} == {f"src/part_{n}.py" for n in range(4)}
    short = ReadSettings(most_lines=100)
    assert built(tmp_path / "e", files, reads=short) == []


def test_files_like_those_of_evaluations_are_left_out(tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(Record("q", "\n".join(LINES[20:]), (1,)).to_json() + "\n", encoding="utf-8")
    log = task() + read("a", PARSER) + edit(PARSER)
    assert built(tmp_path, {"full.jsonl": log}, apart=items) == []


def test_the_command_makes_records(tmp_path: Path) -> None:
    made = Made(tmp_path / "someone+headers")
    log = task() + read("a", PARSER) + edit(PARSER) + PADDING
    commit = made.commit("Checkpoint", {"full.jsonl": log})
    manifest = tmp_path / "m.json"
    write_histories([Repository("someone/headers", commit, "MIT", "python", "validation")], manifest)

    command = [
        sys.executable,
        "-m",
        "lamr_cli.main",
        "corpus",
        "sessions",
        "-o",
        str(tmp_path / "out"),
        "--json",
    ]
    more = ["--manifest", str(manifest), "--mirror", str(tmp_path)]
    done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"train": 0, "validation": 1, "suite": 0}
