"""Somebody stands in a stranger's folder whose modules have the names of Python's, and runs lamr there."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lamr_client import bundled_repository

from tests.attack.case import Case
from tests.attack.place import Place
from tests.attack.served import served

TRAPS = (
    *("random", "numpy", "queue", "typing_extensions", "sitecustomize", "usercustomize", "json", "struct"),
    *("pickle", "socket", "signal", "onnxruntime", "multiprocessing", "subprocess", "lamr_model"),
    *("lamr_serving", "tokenizers", "triton_python_backend_utils"),
)
FOLDER_HOLDS = "exit [034];.*; nothing ran"


def trapped(place: Place) -> Path:
    """A folder of a stranger's, with modules that say when they run."""
    folder = place.folder / "repo"
    folder.mkdir(exist_ok=True)
    for name in TRAPS:
        (folder / f"{name}.py").write_text(
            f"open({str(place.folder / ('RAN-' + name))!r}, 'w')\nraise SystemExit(9)\n"
        )
    (folder / "a.txt").write_text("b = 2\n" * 20)
    rows = [{"query": "b", "code": "a = 1\n", "id": "1"}, {"query": "b", "path": "a.txt", "id": "2"}]
    (folder / "jobs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def ran(place: Place) -> str:
    found = sorted(path.name for path in place.folder.glob("RAN-*"))
    return f"EXECUTED {' '.join(found)}" if found else "nothing ran"


def from_the_folder(*arguments: str, send: bytes = b"", **variables: str) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        done = place.lamr(*arguments, cwd=trapped(place), send=send, seconds=30, variables=variables)
        return f"{done.said}; {ran(place)}"

    return attempt


def batch_with_relative_paths(place: Place) -> str:
    done = place.lamr("batch", "jobs.jsonl", "-o", "out", cwd=trapped(place), seconds=30)
    lines = "".join(path.read_text() for path in (place.folder / "repo" / "out").glob("*.jsonl"))
    return f"exit {done.code}; {lines.count('kept_lines')} answers; {ran(place)}"


def batch_on_ray(place: Place) -> str:
    done = place.lamr("batch", "jobs.jsonl", "-o", "out", "--ray", "local", cwd=trapped(place), seconds=40)
    return f"exit {done.code}; {ran(place)}"


def serve_with_relative_paths(place: Place) -> str:
    folder = trapped(place)
    (folder / "model").symlink_to(bundled_repository())
    with served(place, "model", "--log", "triton.log", cwd=folder) as server:
        said = server.prunes()
    mode = (folder / "triton.log").stat().st_mode & 0o777
    return f"{said}; {ran(place)}; log {mode:o}"


_case = partial(Case, "folder")
_quick = partial(Case, "folder", quick=True)
CASES = (
    _case(
        "a batch among modules of a stranger's",
        batch_with_relative_paths,
        "exit 0; 2 answers; nothing ran",
        10,
    ),
    _case(
        "a batch that names a server",
        from_the_folder("batch", "jobs.jsonl", "-o", "o", "--server", "127.0.0.1:9"),
        FOLDER_HOLDS,
        10,
    ),
    _case("a batch on Ray", batch_on_ray, "exit 0; nothing ran", 40),
    _quick("packing it", from_the_folder("pack", ".", "-q", "b", "--no-cache"), FOLDER_HOLDS, 3),
    _case("pruning in it", from_the_folder("prune", "a.txt", "-q", "b"), FOLDER_HOLDS, 5),
    _case("MCP in it", from_the_folder("mcp"), FOLDER_HOLDS, 5),
    _quick("status in it", from_the_folder("status"), FOLDER_HOLDS, 3),
    _case("serving with relative paths", serve_with_relative_paths, "answers; nothing ran; log 600", 15),
)
