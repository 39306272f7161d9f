"""A training run: its settings, its optimizer, and the folder that it goes on from.

The folder holds `state.pt` (weights, optimizer, running average, step) and `log.jsonl`. A checkpoint is written whole
or not at all, and the log of a resumed run has each step once."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lamr_base.private_files import replaced, write_whole
from lamr_export.model import LamrModel
from torch import Tensor, nn

from lamr_training.errors import RunError
from lamr_training.loop.losses import LossWeights


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How one run trains a model."""

    steps: int = 1200  # how many optimizer steps the run takes
    tokens: int = 2048  # how many tokens a batch may hold
    accumulate: int = 1  # how many batches make one step
    learning_rate: float = 1.5e-4  # the backbone's full learning rate
    head_rate: float = 8e-4  # of everything that starts from random weights: fusion, heads, relevance
    lexical_rate: float = 3e-3  # the full rate of the projections of lexical evidence, which start at zero
    warmup: float = 0.05  # the share of the steps over which rates rise at the start
    decay: float = 0.4  # the share over which they fall at the end
    weight_decay: float = 0.01  # AdamW's weight decay
    clip: float = 1.0  # the greatest norm of a step's gradient
    loss: LossWeights = field(default_factory=LossWeights)  # the coefficients of the objective
    dropout: float = 0.0  # the dropout inside the backbone
    bf16: bool = False  # whether the encoder's matrix products are in bfloat16
    average: float = 0.0  # the share of the running average of the weights that each step leaves in it
    seed: int = 0  # the seed of batch order and dropout
    checkpoint_every: int = 50  # how many steps lie between two checkpoints, validations or rows of the log
    validate_every: int = 150
    log_every: int = 10


def rate_factor(step: int, settings: TrainingSettings) -> float:
    """The share of the full learning rate at a step: a linear warmup, a constant, and a linear decay to 0.02."""
    warmup, decay = settings.warmup * settings.steps, settings.decay * settings.steps
    rising = step / warmup if warmup else 1.0
    falling = 0.02 + 0.98 * (settings.steps - step) / decay if decay else 1.0
    return min(1.0, rising, falling)


def make_optimizer(model: LamrModel, settings: TrainingSettings) -> torch.optim.Optimizer:
    """AdamW with a rate for each kind of part."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        plain = parameter.ndim < 2 or "embeddings" in name or "crf" in name
        rate = _rate(name, settings)
        groups.setdefault((rate, 0.0 if plain else settings.weight_decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "lr": rate, "full_rate": rate, "weight_decay": decay}
            for (rate, decay), parameters in groups.items()
        ],
        betas=(0.9, 0.98),
        fused=True,
    )


def _rate(name: str, settings: TrainingSettings) -> float:
    # A gate that learns fast collapses before the heads differ.
    if name.startswith(("backbone.", "heads.gate.")):
        return settings.learning_rate
    starts_at_zero = name.startswith(("lexical.", "similarity.")) or "crf" in name
    return settings.lexical_rate if starts_at_zero else settings.head_rate


def set_dropout(model: LamrModel, rate: float) -> None:
    for module in model.backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate


STATE, LOG = "state.pt", "log.jsonl"


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Replace a checkpoint; the old one stays until the new one is on the disk."""
    try:
        with replaced(path) as part, part.open("wb") as stream:
            torch.save(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
    except (OSError, RuntimeError) as error:  # torch wraps some write errors in the latter
        kept = "; the one before it is intact" if path.exists() else ""
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise RunError(
            f"{path}: the checkpoint of step {state.get('step', '?')} couldn't be written ({reason}){kept}. Make room "
            "and run the same command again"
        ) from error


def read_checkpoint(path: Path) -> dict[str, Any] | None:
    """What `write_checkpoint` wrote; None if the file doesn't exist."""
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
    """Rows of figures by step, in `log.jsonl`."""

    def __init__(self, folder: Path, step: int) -> None:
        """Open a run's log and cut off the rows of later steps, which will come again."""
        self._path = folder / LOG
        lines = self._path.read_text(encoding="utf-8").splitlines(True) if self._path.exists() else []
        kept = [line for line in lines if _step(line) <= step]
        if len(kept) < len(lines):
            write_whole(self._path, "".join(kept))

    def write(self, step: int, row: dict[str, Any]) -> None:
        """Append the figures of a step, by name."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"step": step, **row}) + "\n")


def _step(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")  # a row that a kill tore


@dataclass(eq=False)
class RunState:
    """The state of one run."""

    model: LamrModel  # what is trained, and by what
    optimizer: torch.optim.Optimizer
    folder: Path  # the run's folder
    settings: TrainingSettings  # the run's settings
    batches_per_step: int  # how many batches make a step, over all processes
    window: list[dict[str, float]] = field(default_factory=list)
    average: dict[str, Tensor] = field(default_factory=dict)  # the running average of the weights

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take a step's weights into the average. Early steps count with a greater share, or the average would be
        mostly of the start."""
        if not self.settings.average:
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

    def save(self, step: int) -> None:
        """Write the checkpoint."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": step,
            "seed": self.settings.seed,
            "tokens": self.settings.tokens,
            "batches_per_step": self.batches_per_step,
            "window": self.window,
            "average": self.average,
        }
        write_checkpoint(self.folder / STATE, state)

    def resume(self) -> int:
        """Take the folder's checkpoint, if there is one."""
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
            self.window = state["window"]
            device = next(self.model.parameters()).device
            self.average = {name: value.to(device) for name, value in state["average"].items()}
            return int(state["step"])
        except (KeyError, ValueError, RuntimeError) as error:
            raise RunError(
                f"{path}: can't go on from it ({error}); name another folder or remove it"
            ) from error
