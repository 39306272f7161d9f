"""The training loop: AdamW, warmup and decay, early stopping, exact resumption.

Everything a run is made of lies in its folder (`run_folder`). Batch order and dropout follow from the seed and the
step, so a resumed run repeats the uninterrupted one. Under `torch.distributed` every process takes its own batches and
gradients are averaged; on CPUs that are shared, one thread a process beats many threads in one, which wait for each
other at every operation. This module knows no corpus and no export.
"""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from lamr_export.attention import PackedLayout
from lamr_export.heads import HeadOutput
from lamr_export.model import LamrModel
from torch import Tensor, nn
from tqdm import tqdm

from lamr_training.errors import RunError
from lamr_training.loop.batches import Batch, epochs, make_batch
from lamr_training.loop.devices import average_gradients, find_place
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.interrupts import stop_requests
from lamr_training.loop.losses import LossTerms, lamr_loss
from lamr_training.loop.optimization import make_optimizer, rate_factor, set_dropout
from lamr_training.loop.run_folder import BEST, STATE, RunLog, read_checkpoint, write_checkpoint
from lamr_training.loop.settings import TrainingSettings
from lamr_training.loop.validation import validate


def train(  # noqa: PLR0913 - keywords with defaults
    model: LamrModel,
    data: ExampleSet,
    folder: Path,
    settings: TrainingSettings,
    *,
    validation: ExampleSet | None = None,
    stop_after: int | None = None,
) -> LamrModel:
    """Train until `settings.steps`, going on from the folder's checkpoint if there is one.

    Args:
        model: at its start; a checkpoint's weights replace its own.
        data, validation: examples.
        folder: of this run.
        stop_after: leave off at that step as if the process had ended (a checkpoint is written).

    Ctrl-C and SIGTERM end the step, write a checkpoint and then interrupt. With `settings.patience` training ends when
    so many validations in a row brought no better F1, and the best weights are what remains.

    Raises:
        RunError: no examples, a checkpoint of another run, a loss that isn't finite, or a full disk.
    """
    if not len(data):
        raise RunError("there are no training examples; build the corpus with more packages or shorter files")
    if settings.patience and validation is None:
        raise RunError("early stopping needs validation examples; set patience to 0 or add some")
    folder.mkdir(parents=True, exist_ok=True)
    place = find_place()
    model.to(place.device)
    set_dropout(model, settings.dropout)
    each = settings.accumulate * place.world
    run = _Run(model, make_optimizer(model, settings), folder, settings, each)
    step = run.resume()
    order = epochs(data, settings.tokens, settings.seed, step * each)
    end = step if run.ended else min(settings.steps, stop_after or settings.steps)
    started = time.monotonic()
    model.train()
    steps = range(step + 1, end + 1)
    with ExitStack() as stack:
        log = stack.enter_context(RunLog(folder, step)) if place.first else None
        stop = stack.enter_context(stop_requests())
        for now in tqdm(
            steps, initial=step, total=settings.steps, unit="step", mininterval=10, disable=not place.first
        ):
            torch.manual_seed((settings.seed * 1_000_003 + now) * place.world + place.rank)
            mine = [next(order) for _ in range(each)][place.rank :: place.world]
            batches = [make_batch(data, chosen).to(place.device) for chosen in mine]
            run.window.append(_step(model, run.optimizer, batches, settings, now))
            run.follow(now)
            if now % settings.log_every == 0:
                if log:
                    log.write(now, "train", {**run.means(), "seconds": round(time.monotonic() - started, 1)})
                run.window.clear()
            if validation is not None and now % settings.validate_every == 0:
                if log:
                    found = validate(model, validation, settings.tokens)
                    log.write(now, "validation", asdict(found))
                    run.judge(found.f1)
                    model.train()
                run.ended = place.any(run.ended)
            run.ended = run.ended or (now == settings.steps and run.best >= 0)
            leave = place.any(stop.asked)
            if log and (now % settings.checkpoint_every == 0 or now == end or leave or run.ended):
                run.save(now)
            if run.ended:
                break
            if leave:
                raise KeyboardInterrupt
    run.settle()
    return model.eval()


@dataclass(eq=False)
class _Run:
    """What a run goes on from.

    Attributes:
        each: batches of a step, over all processes.
        window: figures of the steps since the last row of the log.
        best, stale: highest F1 so far, and how many validations ago it was.
        ended: whether a run with early stopping has ended; the model then has its best weights.
        average: running average of the weights, if the settings ask for one.
    """

    model: LamrModel
    optimizer: torch.optim.Optimizer
    folder: Path
    settings: TrainingSettings
    each: int
    window: list[dict[str, float]] = field(default_factory=list)
    best: float = -1.0
    stale: int = 0
    ended: bool = False
    average: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take a step's weights into the average; early on with a greater share, or it would be of the start."""
        if (
            not self.settings.average or self.settings.patience
        ):  # early stopping leaves its best weights instead
            return
        share = max(1 - self.settings.average, 1 / step)
        for name, value in self.model.state_dict().items():
            if not value.is_floating_point():
                self.average[name] = value.clone()
            elif name in self.average:
                self.average[name].lerp_(value, share)
            else:
                self.average[name] = value.clone()

    def settle(self) -> None:
        """Give the model what the run is to leave: the average, if there is one."""
        if self.average:
            self.model.load_state_dict(self.average)

    def means(self) -> dict[str, float]:
        """Of the window, by name."""
        return {name: round(float(np.mean([w[name] for w in self.window])), 5) for name in self.window[0]}

    def judge(self, f1: float) -> None:
        """Note a validation's F1; keep the weights if it's the best."""
        if not self.settings.patience:
            return
        if f1 > self.best:
            self.best, self.stale = f1, 0
            write_checkpoint(self.folder / BEST, {"model": self.model.state_dict()})
        else:
            self.stale += 1
            self.ended = self.stale >= self.settings.patience

    def save(self, step: int) -> None:
        """Write the checkpoint; a run with early stopping that has ended leaves its best weights."""
        if self.ended:
            self.model.load_state_dict((read_checkpoint(self.folder / BEST) or {})["model"])
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": step,
            "seed": self.settings.seed,
            "tokens": self.settings.tokens,
            "each": self.each,
            "window": self.window,
            "best": self.best,
            "stale": self.stale,
            "ended": self.ended,
            "average": self.average,
        }
        write_checkpoint(self.folder / STATE, state)

    def resume(self) -> int:
        """Take the folder's checkpoint, if there is one, and say which step it is of.

        Raises:
            RunError: it is another run's, or damaged.
        """
        path = self.folder / STATE
        state = read_checkpoint(path)
        if state is None:
            return 0
        try:
            order = (self.settings.seed, self.settings.tokens, self.each)
            if (state["seed"], state["tokens"], state.get("each", self.each)) != order:
                raise ValueError(
                    "its seed, token budget or batches a step differ from the settings, so the batch order would too"
                )
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.window = state.get("window", [])
            self.best, self.stale = state.get("best", -1.0), state.get("stale", 0)
            self.ended = state.get("ended", False)
            device = next(self.model.parameters()).device
            self.average = {name: value.to(device) for name, value in state.get("average", {}).items()}
            return int(state["step"])
        except (KeyError, ValueError, RuntimeError) as error:
            raise RunError(
                f"{path}: can't go on from it ({error}); name another folder or remove it"
            ) from error


def forward(model: LamrModel, batch: Batch, bf16: bool = False) -> tuple[HeadOutput, Tensor]:
    """Head outputs of the batch's code tokens, and relevance `[B]` as log-odds. With `bf16` the encoder's matrix
    products are in bfloat16; heads, chains and losses stay in float32."""
    packing = PackedLayout.of(batch.cu_seqlens, batch.max_len, batch.input_ids.shape[0])
    with torch.autocast(batch.input_ids.device.type, torch.bfloat16, enabled=bf16):
        fused, relevance = model.features(batch.input_ids, packing)
    return model.heads(fused[batch.code].float()), relevance[:, 0].float()


def _step(
    model: LamrModel,
    optimizer: torch.optim.Optimizer,
    batches: list[Batch],
    settings: TrainingSettings,
    step: int,
) -> dict[str, float]:
    factor = rate_factor(step, settings)
    for group in optimizer.param_groups:
        group["lr"] = group["full_rate"] * factor
    total: dict[str, float] = {}
    for batch in batches:
        output, relevance = forward(model, batch, settings.bf16)
        terms = lamr_loss(
            output,
            relevance,
            model.heads,
            batch.labels,
            batch.relevance,
            batch.groups,
            batch.code_cu_seqlens,
            settings.loss,
            batch.evidence,
            batch.aggregate,
        )
        (terms.total / len(batches)).backward()
        for name, value in _numbers(terms, output.gate).items():
            total[name] = total.get(name, 0.0) + value / len(batches)
    average_gradients(model)
    norm = nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    if not math.isfinite(total["loss"]) or not torch.isfinite(norm):
        raise RunError(f"step {step}: the loss isn't finite any more; lower the learning rate and resume")
    optimizer.step()
    optimizer.zero_grad()
    return {**total, "norm": float(norm), "tokens": float(sum(len(b.input_ids) for b in batches))}


def _numbers(terms: LossTerms, gate: Tensor) -> dict[str, float]:
    rubrics = {f"nll_{k}": float(value) for k, value in enumerate(terms.rubrics)}
    gates = {f"gate_{k}": float(value) for k, value in enumerate(gate.detach().mean(dim=0))}
    return {
        "loss": float(terms.total.detach()),
        "nll": float(terms.fused),
        **rubrics,
        "mse": float(terms.relevance),
        "listwise": float(terms.listwise),
        "ranking": float(terms.ranking),
        **gates,
    }
