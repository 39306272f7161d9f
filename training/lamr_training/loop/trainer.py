"""The training loop: AdamW, warmup and decay, exact resumption.

Batch order and dropout follow from the seed and the step, so a resumed run repeats the uninterrupted one. Under
`torch.distributed` every process takes its own batches, and gradients are averaged: on shared CPUs several processes
with one thread each beat one with several threads. Figures of validation chunks compare the steps of one
run."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from lamr_export.attention import PackedLayout
from lamr_export.model import HeadOutput, LamrModel
from lamr_model.crf import LinearChainCrf, marginals
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from lamr_training.errors import RunError
from lamr_training.loop.examples import Batch, ExampleSet, batch_plan, epochs, make_batch
from lamr_training.loop.losses import LossTerms, LossWeights, lamr_loss
from lamr_training.loop.run_folder import (
    RunLog,
    RunState,
    TrainingSettings,
    make_optimizer,
    rate_factor,
    set_dropout,
)


@dataclass(frozen=True)
class Process:
    """One process of a training run."""

    rank: int  # its number, from 0; the first one writes the files
    world: int  # how many processes there are
    device: torch.device  # where it computes

    @classmethod
    def current(cls) -> Process:
        """Return this process's place among those that `torch.distributed` has joined."""
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        joined = dist.is_initialized()
        return cls(dist.get_rank(), dist.get_world_size(), device) if joined else cls(0, 1, device)

    def any(self, flag: bool) -> bool:
        """Return whether `flag` is true in any process. Every process must call this at the same point."""
        if self.world == 1:
            return flag
        highest = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(highest, dist.ReduceOp.MAX)
        return bool(highest.item())


def average_gradients(model: nn.Module) -> None:
    """Replace the gradients of every process by their mean over all processes, in one message."""
    if not dist.is_initialized():
        return
    gradients: list[Tensor] = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


@dataclass(frozen=True)
class ChunkMetrics:
    """Figures over all code tokens of a set of chunks; ranks are over the whole set, not per file."""

    f1: float  # the F1 of the fused decision at 0.5 against the union of the rubrics' labels
    recall_25: float  # the share of semantic tokens among the best quarter
    area: float  # the area under the recall of semantic tokens over the kept share


def validate(model: LamrModel, data: ExampleSet, tokens: int) -> ChunkMetrics:
    """Measure a model, which is in eval mode afterwards."""
    model.eval()
    rows: list[tuple[NDArray[Any], ...]] = []
    own = model.heads.rubric_crf
    device = own.transitions.device
    semantic = LinearChainCrf(*map(_array, (own.transitions[0], own.start[0], own.end[0])))
    fused = LinearChainCrf(*map(_array, model.heads.fused_crf_tensors()))
    with torch.no_grad():
        for chosen in batch_plan(data.lengths, data.groups, tokens, 0):
            batch = make_batch(data, chosen).to(device)
            features, _ = model(batch.input_ids, batch.cu_seqlens, batch.max_len)
            output = model.heads(features[batch.code])
            bounds = _array(batch.code_cu_seqlens)
            rows.append(
                (
                    marginals(_array(output.fused_emissions), bounds, fused),
                    marginals(_array(output.emissions[:, 0]), bounds, semantic),
                    _array(batch.labels),
                )
            )
    keep, score, labels = map(np.concatenate, zip(*rows, strict=True))
    needed, decided = labels.any(axis=1), keep > 0.5
    curve = np.cumsum(labels[np.argsort(-score, kind="stable"), 0]) / max(1, labels[:, 0].sum())
    return ChunkMetrics(
        f1=float(2 * (needed & decided).sum() / max(1, needed.sum() + decided.sum())),
        recall_25=float(curve[int(0.25 * (len(curve) - 1))]),
        area=float(curve.mean()),
    )


def _array(values: Tensor) -> NDArray[Any]:
    return values.detach().cpu().numpy()


@contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """Within the context, the first signal sets the event and the second one interrupts as usual."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked  # only the main thread can handle signals
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def train(  # noqa: PLR0913 - keywords with defaults
    model: LamrModel,
    data: ExampleSet,
    folder: Path,
    settings: TrainingSettings,
    *,
    validation: ExampleSet | None = None,
    stop_after: int | None = None,
) -> LamrModel:
    """Train until `settings.steps`, going on from the folder's checkpoint if there is one. Ctrl-C and SIGTERM end the
    step, write a checkpoint and then interrupt."""
    if not len(data):
        raise RunError("there are no training examples; build the corpus with more packages or shorter files")
    folder.mkdir(parents=True, exist_ok=True)
    process = Process.current()
    model.to(process.device)
    set_dropout(model, settings.dropout)
    each = settings.accumulate * process.world  # batches of a step, over all processes
    run = RunState(model, make_optimizer(model, settings), folder, settings, each)
    step = run.resume()
    order = epochs(data, settings.tokens, settings.seed, step * each)
    end = min(settings.steps, stop_after or settings.steps)
    started = time.monotonic()
    model.train()
    log = RunLog(folder, step) if process.rank == 0 else None
    progress = {"initial": step, "total": settings.steps, "unit": "step", "mininterval": 10}
    with stop_requests() as stop:
        for now in tqdm(range(step + 1, end + 1), disable=log is None, **progress):
            torch.manual_seed((settings.seed * 1_000_003 + now) * process.world + process.rank)
            mine = [next(order) for _ in range(each)][process.rank :: process.world]
            batches = [make_batch(data, chosen).to(process.device) for chosen in mine]
            run.window.append(_step(model, run.optimizer, batches, settings, now))
            run.follow(now)
            if now % settings.log_every == 0:
                if log:
                    log.write(now, {**run.means(), "seconds": round(time.monotonic() - started, 1)})
                run.window.clear()
            if log and validation is not None and now % settings.validate_every == 0:
                log.write(now, asdict(validate(model, validation, settings.tokens)))
                model.train()
            leave = process.any(stop.is_set())
            if log and (now % settings.checkpoint_every == 0 or now == end or leave):
                run.save(now)
            if leave:
                raise KeyboardInterrupt
    run.settle()
    return model.eval()


def forward(model: LamrModel, batch: Batch, bf16: bool = False) -> tuple[HeadOutput, Tensor]:
    """Run a model on a batch. Shapes: returns float32 `[B]`."""
    packing = PackedLayout.of(batch.cu_seqlens, batch.max_len, batch.input_ids.shape[0])
    with torch.autocast(batch.input_ids.device.type, torch.bfloat16, enabled=bf16):
        fused, relevance = model.features(batch.input_ids, packing)
    return model.heads(fused[batch.code].float()), relevance[:, 0].float()


def batch_loss(
    model: LamrModel, batch: Batch, weights: LossWeights, bf16: bool = False
) -> tuple[LossTerms, Tensor]:
    """The objective on a batch (`lamr_loss`), and the gate float32 `[C, K]` of its code tokens."""
    output, relevance = forward(model, batch, bf16)
    return lamr_loss(output, relevance, model.heads, batch, weights), output.gate


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
        terms, gate = batch_loss(model, batch, settings.loss, settings.bf16)
        (terms.total / len(batches)).backward()
        for name, value in _numbers(terms, gate).items():
            total[name] = total.get(name, 0.0) + value / len(batches)
    average_gradients(model)
    norm = nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    if not math.isfinite(total["loss"]) or not torch.isfinite(norm):
        raise RunError(f"step {step}: the loss isn't finite any more; lower the learning rate and resume")
    optimizer.step()
    optimizer.zero_grad()
    return {**total, "norm": float(norm), "tokens": float(sum(len(b.input_ids) for b in batches))}


def _numbers(terms: LossTerms, gate: Tensor) -> dict[str, float]:
    shares = gate.detach().mean(dim=0)
    return {
        "loss": float(terms.total.detach()),
        "nll": float(terms.fused),
        **{f"nll_{k}": float(value) for k, value in enumerate(terms.rubrics)},
        "mse": float(terms.relevance),
        "listwise": float(terms.listwise),
        "ranking": float(terms.ranking),
        **{f"gate_{k}": float(value) for k, value in enumerate(shares)},
    }
