"""What a training run leaves in its folder: `state.pt`, `best.pt`, `log.jsonl` and TensorBoard's event files.

A checkpoint is written whole or not at all, and the log of a resumed run has each step once.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch

from lamr_training.errors import RunError

STATE, BEST, LOG, BOARD = "state.pt", "best.pt", "log.jsonl", "tensorboard"


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Replace a checkpoint; the old one stays until the new one is on the disk.

    Raises:
        RunError: the disk is full, or the file can't be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as stream:
            torch.save(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except (OSError, RuntimeError) as error:  # torch wraps some write errors in the latter
        part.unlink(missing_ok=True)
        kept = "; the one before it is intact" if path.exists() else ""
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise RunError(
            f"{path}: the checkpoint of step {state.get('step', '?')} couldn't be written ({reason}){kept}. Make room "
            "and run the same command again"
        ) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_checkpoint(path: Path) -> dict[str, Any] | None:
    """What `write_checkpoint` wrote; None if the file doesn't exist.

    Raises:
        RunError: the file can't be read.
    """
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # a damaged file fails in as many ways as there are bytes
        raise RunError(f"{path}: damaged ({error}); remove it to start anew") from error
    return state


def final_weights(state: dict[str, Any]) -> dict[str, Any]:
    """The weights that a run's checkpoint leaves: their running average if the run keeps one, else the last ones."""
    weights: dict[str, Any] = state["average"] or state["model"]
    return weights


class RunLog:
    """Rows of figures by step, in `log.jsonl` and for TensorBoard (where its package is installed)."""

    def __init__(self, folder: Path, step: int) -> None:
        """Open a run's log and cut off the rows of later steps, which will come again.

        Args:
            folder: the run's folder.
            step: the step that the run goes on from; 0 at its start.
        """
        self._path = folder / LOG
        self._cut(step)
        self._board = _summary_writer(folder / BOARD, step)

    def write(self, step: int, group: str, row: dict[str, Any]) -> None:
        """Append a row.

        Args:
            step: the step that the figures belong to.
            group: "train" or "validation"; TensorBoard shows the figures of a group together.
            row: figures by name.
        """
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"step": step, **row}) + "\n")
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(f"{group}/{name}", value, step)

    def close(self) -> None:
        """Write out what TensorBoard still holds back."""
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cut(self, step: int) -> None:
        if not self._path.exists():
            return
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if _step(line) <= step]
        if len(kept) < len(lines):
            part = self._path.with_name(LOG + ".part")
            part.write_text("".join(kept), encoding="utf-8")
            part.replace(self._path)


def _step(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")  # a row that a kill tore


def _summary_writer(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - slow to import, and an extra
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=step + 1, flush_secs=10)
