"""What a training run goes on from: weights, optimizer, running average, best validation and step."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from lamr_export.model import LamrModel
from torch import Tensor

from lamr_training.errors import RunError
from lamr_training.loop.run_folder import BEST, STATE, read_checkpoint, write_checkpoint
from lamr_training.loop.settings import TrainingSettings


@dataclass(eq=False)
class RunState:
    """The state of one run.

    Attributes:
        model, optimizer: what is trained, and by what.
        folder: the run's folder.
        settings: the run's settings.
        batches_per_step: how many batches make a step, over all processes.
        window: the figures of the steps since the last row of the log.
        best: the highest F1 so far; -1 before the first validation.
        stale: how many validations ago that was.
        ended: whether a run with early stopping has ended; the model then has its best weights.
        average: the running average of the weights; empty if the settings ask for none.
    """

    model: LamrModel
    optimizer: torch.optim.Optimizer
    folder: Path
    settings: TrainingSettings
    batches_per_step: int
    window: list[dict[str, float]] = field(default_factory=list)
    best: float = -1.0
    stale: int = 0
    ended: bool = False
    average: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take a step's weights into the average.

        Early steps count with a greater share, or the average would be mostly of the start. A run with early stopping
        leaves its best weights instead and keeps no average.
        """
        if not self.settings.average or self.settings.patience:
            return
        share = max(1 - self.settings.average, 1 / step)
        for name, value in self.model.state_dict().items():
            if name in self.average and value.is_floating_point():
                self.average[name].lerp_(value, share)
            else:
                self.average[name] = value.clone()

    def settle(self) -> None:
        """Give the model the weights that the run is to leave: the average, if there is one."""
        if self.average:
            self.model.load_state_dict(self.average)

    def means(self) -> dict[str, float]:
        """The mean of each figure in the window, by name."""
        return {name: round(float(np.mean([row[name] for row in self.window])), 5) for name in self.window[0]}

    def judge(self, f1: float) -> None:
        """Note a validation's F1, and keep the weights if it is the best so far."""
        if not self.settings.patience:
            return
        if f1 > self.best:
            self.best, self.stale = f1, 0
            write_checkpoint(self.folder / BEST, {"model": self.model.state_dict()})
        else:
            self.stale += 1
            self.ended = self.stale >= self.settings.patience

    def save(self, step: int) -> None:
        """Write the checkpoint; a run that has ended by early stopping leaves its best weights there."""
        if self.ended:
            self.model.load_state_dict((read_checkpoint(self.folder / BEST) or {})["model"])
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": step,
            "seed": self.settings.seed,
            "tokens": self.settings.tokens,
            "batches_per_step": self.batches_per_step,
            "window": self.window,
            "best": self.best,
            "stale": self.stale,
            "ended": self.ended,
            "average": self.average,
        }
        write_checkpoint(self.folder / STATE, state)

    def resume(self) -> int:
        """Take the folder's checkpoint, if there is one.

        Returns:
            The step that the run goes on from; 0 without a checkpoint.

        Raises:
            RunError: the checkpoint is another run's, or damaged.
        """
        path = self.folder / STATE
        state = read_checkpoint(path)
        if state is None:
            return 0
        try:
            order = (self.settings.seed, self.settings.tokens, self.batches_per_step)
            if (state["seed"], state["tokens"], state["batches_per_step"]) != order:
                raise ValueError(
                    "its seed, token budget or batches a step differ from the settings, so the batch order would too"
                )
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.window, self.best = state["window"], state["best"]
            self.stale, self.ended = state["stale"], state["ended"]
            device = next(self.model.parameters()).device
            self.average = {name: value.to(device) for name, value in state["average"].items()}
            return int(state["step"])
        except (KeyError, ValueError, RuntimeError) as error:
            raise RunError(
                f"{path}: can't go on from it ({error}); name another folder or remove it"
            ) from error
