"""Processes that have imported what training needs: forked from one that imports it once, which takes seven seconds.

They begin as processes do that are started anew: with none of the test's own objects, threads or open
files."""

import os
import resource
import signal
import sys
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from lamr_export.checkpoint import load_checkpoint
from lamr_training.errors import RunError
from lamr_training.loop.examples import ExampleSet
from lamr_training.loop.run_folder import TrainingSettings
from lamr_training.loop.trainer import train

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 800
"""Seconds that a loaded machine may take for what takes ten."""


def forked() -> ForkServerContext:
    """The way to start such processes. They talk to each other on loopback."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with pytest.MonkeyPatch.context() as patch:  # for the process that they are forked from
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        forkserver.ensure_running()
    return context


def training(folder: Path, settings: TrainingSettings, most: int = 0) -> BaseProcess:
    """Start a process that trains a folder's `start` on its `data.npz`.

    Args:
        most: how many bytes a file may have at most, if not 0."""
    process = forked().Process(target=_train, args=(folder, settings, most))
    process.start()
    return process


def told(folder: Path) -> str:
    """What the processes of a folder have printed."""
    return "".join(path.read_text() for path in folder.glob("told-*.txt"))


def ended(process: BaseProcess) -> int:
    """Wait for a process, and return its exit code."""
    process.join(PATIENCE)
    assert process.exitcode is not None
    return process.exitcode


def _train(folder: Path, settings: TrainingSettings, most: int) -> None:
    with (folder / f"told-{os.getpid()}.txt").open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    torch.set_num_threads(1)
    if most:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        data = ExampleSet.load(folder / "data.npz")
        train(load_checkpoint(folder / "start"), data, folder / "run", settings)
    except KeyboardInterrupt:
        sys.exit(130)
    except RunError as error:
        print(error)
        sys.exit(2)
