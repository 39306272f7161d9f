"""The training loop: AdamW, warmup and decay, exact resumption, a log that can be read while it runs.

Everything a run is made of lies in its folder: `log.jsonl` and `state.pt` (written whole or not at all). Batch order
and dropout follow from the seed and the step, so a resumed run repeats the uninterrupted one. Under
`torch.distributed` every process takes its own batches and gradients are averaged; on CPUs that are shared, one
thread a process beats many threads in one, which wait for each other at every operation. This module knows no corpus
and no export.
"""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from lamr_export.attention import Packing
from lamr_export.heads import HeadOutput
from lamr_export.model import LamrModel
from torch import Tensor, nn
from tqdm import tqdm

from lamr_training.batches import Batch, epochs, make_batch
from lamr_training.errors import RunError
from lamr_training.examples import ExampleSet
from lamr_training.losses import LossTerms, lamr_loss
from lamr_training.presets import TrainingSettings
from lamr_training.validation import validate

STATE = "state.pt"
LOG = "log.jsonl"


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

    Raises:
        RunError: no examples, a checkpoint of another run, or a loss that isn't finite.
    """
    if not len(data):
        raise RunError("there are no training examples; build the corpus with more packages or shorter files")
    folder.mkdir(parents=True, exist_ok=True)
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    _set_dropout(model, settings.dropout)
    optimizer = _optimizer(model, settings)
    step = _resume(model, optimizer, folder, settings)
    each = settings.accumulate * world
    order = epochs(data, settings.tokens, settings.seed, step * each)
    end = min(settings.steps, stop_after or settings.steps)
    window: list[dict[str, float]] = []
    started = time.monotonic()
    model.train()
    steps = range(step + 1, end + 1)
    for now in tqdm(steps, initial=step, total=settings.steps, unit="step", mininterval=10, disable=rank > 0):
        torch.manual_seed((settings.seed * 1_000_003 + now) * world + rank)
        mine = [next(order) for _ in range(each)][rank::world]
        window.append(_step(model, optimizer, [make_batch(data, chosen) for chosen in mine], settings, now))
        if rank > 0:
            continue
        if now % settings.log_every == 0:
            row = {name: round(float(np.mean([w[name] for w in window])), 5) for name in window[0]}
            _log(folder, {"step": now, **row, "seconds": round(time.monotonic() - started, 1)})
            window = []
        if validation is not None and now % settings.validate_every == 0:
            _log(folder, {"step": now, **asdict(validate(model, validation, settings.tokens))})
            model.train()
        if now % settings.checkpoint_every == 0 or now == end:
            _save(model, optimizer, folder, settings, now)
    return model.eval()


def forward(model: LamrModel, batch: Batch, bf16: bool = False) -> tuple[HeadOutput, Tensor]:
    """Head outputs of the batch's code tokens, and relevance `[B]` as log-odds. With `bf16` the encoder's matrix
    products are in bfloat16; heads, chains and losses stay in float32."""
    packing = Packing.of(batch.cu_seqlens, batch.max_len, batch.input_ids.shape[0])
    with torch.autocast(batch.input_ids.device.type, torch.bfloat16, enabled=bf16):
        fused, last = model.features(batch.input_ids, packing)
    relevance = model.relevance.logits(last.float(), packing)
    return model.heads(fused[batch.code].float()), relevance[:, 0]


def rate_factor(step: int, settings: TrainingSettings) -> float:
    """Share of the full learning rate at a step from 1: linear warmup, constant, linear decay to 0.02."""
    warmup, decay = settings.warmup * settings.steps, settings.decay * settings.steps
    rising = step / warmup if warmup else 1.0
    falling = 0.02 + 0.98 * (settings.steps - step) / decay if decay else 1.0
    return min(1.0, rising, falling)


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
        )
        (terms.total / len(batches)).backward()
        for name, value in _numbers(terms, output.gate).items():
            total[name] = total.get(name, 0.0) + value / len(batches)
    _average_gradients(model)
    norm = nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    if not math.isfinite(total["loss"]) or not torch.isfinite(norm):
        raise RunError(f"step {step}: the loss isn't finite any more; lower the learning rate and resume")
    optimizer.step()
    optimizer.zero_grad()
    return {**total, "norm": float(norm), "tokens": float(sum(len(b.input_ids) for b in batches))}


def _average_gradients(model: LamrModel) -> None:
    """Over all processes, in one message."""
    if not dist.is_initialized():
        return
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def _numbers(terms: LossTerms, gate: Tensor) -> dict[str, float]:
    rubrics = {f"nll_{k}": float(value) for k, value in enumerate(terms.rubrics)}
    gates = {f"gate_{k}": float(value) for k, value in enumerate(gate.detach().mean(dim=0))}
    return {
        "loss": float(terms.total.detach()),
        "nll": float(terms.fused),
        **rubrics,
        "mse": float(terms.relevance),
        "listwise": float(terms.listwise),
        **gates,
    }


def _optimizer(model: LamrModel, settings: TrainingSettings) -> torch.optim.Optimizer:
    layers = model.backbone.encoder.layer if hasattr(model.backbone, "encoder") else model.backbone.layers
    frozen: list[nn.Module] = list(layers[: settings.frozen_layers])
    if settings.frozen_embeddings:
        frozen.append(model.backbone.get_input_embeddings())
    for module in frozen:
        module.requires_grad_(False)
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            plain = parameter.ndim < 2 or "embeddings" in name or "crf" in name
            rate = _rate(name, settings)
            groups.setdefault((rate, 0.0 if plain else settings.weight_decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": found, "lr": rate, "full_rate": rate, "weight_decay": decay}
            for (rate, decay), found in groups.items()
        ],
        betas=(0.9, 0.98),
        fused=True,
    )


def _rate(name: str, settings: TrainingSettings) -> float:
    if name.startswith(
        ("backbone.", "heads.gate.")
    ):  # a gate that learns fast collapses before the heads differ
        return settings.learning_rate
    return settings.lexical_rate if name.startswith("lexical.") or "crf" in name else settings.head_rate


def _set_dropout(model: LamrModel, rate: float) -> None:
    for module in model.backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate


def _resume(
    model: LamrModel, optimizer: torch.optim.Optimizer, folder: Path, settings: TrainingSettings
) -> int:
    path = folder / STATE
    if not path.exists():
        return 0
    try:
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        if state["seed"] != settings.seed or state["tokens"] != settings.tokens:
            raise ValueError(
                "its seed or token budget differ from the settings, so the batch order would too"
            )
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        raise RunError(f"{path}: can't go on from it ({error}); name another folder or remove it") from error
    return int(state["step"])


def _save(
    model: LamrModel, optimizer: torch.optim.Optimizer, folder: Path, settings: TrainingSettings, step: int
) -> None:
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "step": step,
        "seed": settings.seed,
        "tokens": settings.tokens,
    }
    part = folder / (STATE + ".part")
    with part.open("wb") as stream:
        torch.save(state, stream)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(folder / STATE)


def _log(folder: Path, row: dict[str, Any]) -> None:
    with (folder / LOG).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(row) + "\n")
