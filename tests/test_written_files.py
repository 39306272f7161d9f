"""Every file that lamr writes is written whole or not at all: a list of all places, and each of them on a full disk."""

import ast
import contextlib
import dataclasses
import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lamr_agents import gemini_cli
from lamr_base.errors import LamrError
from lamr_base.private_files import replaced, write_whole
from lamr_cli.printing import write_page
from lamr_evaluation.records import Record, write_records
from lamr_export.checkpoint import copy_client_files, save_checkpoint
from lamr_export.repository_writer import replacing
from lamr_repositories.batch.storage import open_storage
from lamr_serving.front import control, haproxy
from lamr_serving.front.fleet import make_key
from lamr_serving.front.rendering import FrontPaths, write
from lamr_serving.front.tenants_file import add_keys
from lamr_training.loop.examples import ExampleSet
from lamr_training.loop.run_folder import RunLog, write_checkpoint

from tests.export.models import bert, write_tokenizer
from tests.model.crf.reference import random_weights
from tests.test_house import FOLDERS, ROOT

ROOM = 512
"""Bytes of a file that a disk takes which is nearly full."""
LONG = "x = 1  # much more than there is room for\n" * 100
RECORD = Record("what is x?", LONG, (1,))
FRESH = "a folder that takes its place when it is whole (lamr_export.repository_writer)"
HELPERS = ("replaced", "write_whole")
WRITERS = {
    "model/lamr_model/encoder/part_spec.py": FRESH,
    "model/lamr_model/scoring/weights.py": "bytes in memory",
    "export/lamr_export/quantize.py": "a temporary folder",
    "export/lamr_export/causal_repository.py": FRESH,
    "export/lamr_export/onnx_tracing.py": FRESH,
    "export/lamr_export/part_graphs.py": FRESH,
    "export/lamr_export/repository_writer.py": FRESH,
    "training/lamr_training/recipes/lines.py": FRESH,
    "serving/lamr_serving/front/running.py": "an empty file",
    "repositories/lamr_repositories/batch/storage.py": "a file beside it, synced, then renamed",
    "serving/lamr_serving/launcher/supervisor.py": "Triton's log, which is appended to and kept short",
    "serving/lamr_serving/launcher/workspace.py": "the folder of one run",
    "cli/lamr_cli/judge.py": "a temporary folder",
    "cli/lamr_cli/printing.py": "standard output and error",
    "training/lamr_training/loop/run_folder.py": "rows are appended, and a half one is cut off",
}
"""The files of the code that write files by themselves, and why a full disk loses nothing there."""
CALLS = {
    *(
        "write_text",
        "write_bytes",
        "savez",
        "savez_compressed",
        "save_file",
        "save_model",
        "copyfile",
        "copy2",
    ),
    *("copytree", "copy", "move", "mkstemp", "NamedTemporaryFile"),
}
MODULES = {"shutil", "np", "numpy", "torch", "tempfile", "onnx"}


def _writes(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    last = name.rpartition(".")[2]
    if last == "open" and not name.startswith(("os.", "tarfile.", "zipfile.")):
        given = [*call.args, *(each.value for each in call.keywords if each.arg == "mode")]
        modes = [each.value for each in given if isinstance(each, ast.Constant)]
        return any(isinstance(mode, str) and len(mode) < 4 and mode[:1] in "wax" for mode in modes if mode)
    if last in ("copy", "move"):
        return name.startswith("shutil.")
    return last in CALLS or (last == "save" and name.partition(".")[0] in MODULES)


def _goes_past_the_helpers(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    safe = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        and any(ast.unparse(item.context_expr).startswith(HELPERS) for item in node.items)
        for inner in ast.walk(node)
    }
    return any(isinstance(node, ast.Call) and node not in safe and _writes(node) for node in ast.walk(tree))


def test_the_list_names_all_that_write_files_by_themselves() -> None:
    files = [path for folder in FOLDERS.values() for path in folder.rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix() for path in files if _goes_past_the_helpers(path)}
    assert found == WRITERS.keys(), "write files by lamr_base.private_files, or say here why not"


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _examples(folder: Path) -> None:
    ExampleSet(
        np.zeros(9_000, np.int32),
        np.zeros((9_000, 2), np.uint8),
        np.zeros(1, np.int64),
        np.zeros((0, 2), np.int64),
        *(np.zeros(0, kind) for kind in (np.float32, np.int64, np.float16)),
    ).save(folder / "examples.npz")


def _repository(folder: Path) -> None:
    with replacing(folder / "repository") as fresh:
        (fresh / "large").write_text(LONG)


def _state(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(haproxy, "ask", lambda *_: LONG)
        control.save_state(FrontPaths(folder / "front", folder / "front"))


def _storage(folder: Path) -> None:
    storage = open_storage(str(folder / "batch"))
    try:
        storage.write("1.jsonl", LONG.encode())
    finally:
        storage.close()


WRITTEN: dict[str, Callable[[Path], Any]] = {
    "pages": lambda folder: write_page(folder / "page.html", LONG),
    "settings": lambda folder: write_whole(folder / "settings.json", LONG),
    "records": lambda folder: write_records([RECORD], folder / "out.jsonl"),
    "examples": _examples,
    "a run's checkpoint": lambda folder: write_checkpoint(folder / "state.pt", {"x": torch.zeros(9_000)}),
    "a run's log": lambda folder: RunLog(folder, 900),
    "a checkpoint": lambda folder: save_checkpoint(bert(), folder / "checkpoint", folder / "tokenizer.json"),
    "a checkpoint's tokenizer": lambda folder: copy_client_files(folder / "long.json", folder / "checkpoint"),
    "a repository": _repository,
    "a decoder": lambda folder: random_weights(64, 64, 2).save(folder / "decoder.npz"),
    "a front's files": lambda folder: write(
        {"haproxy.cfg": LONG}, FrontPaths(folder / "front", folder / "front")
    ),
    "a front's state": _state,
    "tenants": lambda folder: add_keys(folder / "tenants.toml", {"b": make_key()[1]}),
    "a batch": _storage,
    "what a host reads instead": lambda folder: gemini_cli._written(folder / "shown", "a.py", LONG),
}


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A folder with an older file in each place, short enough for the full disk."""
    old = (
        *("page.html", "settings.json", "out.jsonl", "examples.npz", "state.pt"),
        *("decoder.npz", "front/haproxy.cfg", "front/state", "batch/1.jsonl", "repository/1/lamr.json"),
        *("checkpoint/config.json", "checkpoint/model.safetensors", "checkpoint/tokenizer.json"),
    )
    for name in old:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old\n")
    (tmp_path / "records.jsonl").write_text(json.dumps(dataclasses.asdict(RECORD), default=list) + "\n")
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {step}}}\n' for step in range(1_000)))
    (tmp_path / "tenants.toml").write_text(f'#{"x" * ROOM}\n[replicas.one]\ngrpc = "a:1"\n', encoding="utf-8")
    (tmp_path / "long.json").write_text(LONG)
    write_tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "shown").mkdir(mode=0o700)
    open_storage(str(tmp_path / "batch")).close()
    for each in (tmp_path / "front").iterdir():
        each.chmod(0o600)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".part"  # which a batch removes when it begins again
    }


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a zip file that could not be closed
@pytest.mark.parametrize("name", WRITTEN)
def test_a_full_disk_leaves_each_file_as_it_was(before: Path, name: str) -> None:
    old = contents(before)
    with full_disk(), pytest.raises((OSError, LamrError)):
        WRITTEN[name](before)
    assert contents(before) == old
    WRITTEN[name](before)
    assert contents(before) != old


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    with replaced(Path("/dev/null")) as part:
        assert part == Path("/dev/null")
    write_page(Path("/dev/null"), "page")
    assert not Path("/dev/null").is_file()


def test_what_replaces_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.write_text("old")
    path.chmod(0o600)
    with replaced(path) as part:
        assert part.stat().st_mode & 0o777 == 0o600
        part.write_text("new")
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "new")
