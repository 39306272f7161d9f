"""Decoding on one core: the CRF's passes, its loss, and the heads, as times and as ratios measured in one run.

    python benchmarks/decoding.py [--json]

Times are the median CPU time of several calls in one thread, so that a busy machine disturbs them little; the wall
clock's median stands beside it. Needs torch and pytorch-crf, which the ratios are taken against.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy starts its threads
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import torch
from lamr_decoding import Decoder, DecoderWeights, LinearChainCrf, marginals, nll, viterbi
from torchcrf import CRF


@dataclass(frozen=True)
class Time:
    """Median milliseconds of a call."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Row:
    """One line of the table. `value` is compared with `target` as `at_most` says; no target: for information."""

    what: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = True
    wall_ms: float | None = None

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target


def measure(*calls: Callable[[], object], rounds: int = 5, repeats: int = 1) -> list[Time]:
    """Medians of each of `calls`; they take turns, so that the machine's other load falls on all of them."""
    times: list[list[tuple[float, float]]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, taken in zip(calls, times, strict=True):
            for _ in range(repeats):
                started = time.process_time(), time.perf_counter()
                call()
                if turn:  # the first turn warms up
                    taken.append((time.process_time() - started[0], time.perf_counter() - started[1]))
    return [Time(*(statistics.median(each) * 1e3 for each in zip(*taken, strict=True))) for taken in times]


def batch(sequences: int, length: int) -> tuple[np.ndarray, np.ndarray, LinearChainCrf]:
    rng = np.random.default_rng(0)
    emissions = (rng.normal(size=(sequences * length, 2)) * 2).astype(np.float32)
    crf = LinearChainCrf(np.array([[1.5, -1.0], [-1.2, 1.0]]), np.array([0.3, -0.2]), np.array([0.1, 0.4]))
    return emissions, np.arange(sequences + 1) * length, crf


def reference(crf: LinearChainCrf) -> CRF:
    """pytorch-crf with the same potentials."""
    other = CRF(2, batch_first=True)
    with torch.no_grad():
        other.transitions.copy_(torch.as_tensor(crf.transitions))
        other.start_transitions.copy_(torch.as_tensor(crf.start))
        other.end_transitions.copy_(torch.as_tensor(crf.end))
    return other


def decoding(length: int, most_ms: float, least_ratio: float | None) -> list[Row]:
    """Viterbi + marginals of 16 sequences, and pytorch-crf's Viterbi alone."""
    emissions, cu_seqlens, crf = batch(16, length)
    padded, other = torch.as_tensor(emissions).reshape(16, length, 2), reference(crf)
    mask = torch.ones((16, length), dtype=torch.bool)

    @torch.no_grad()
    def theirs() -> object:
        return other.decode(padded, mask)

    def best() -> object:
        return viterbi(emissions, cu_seqlens, crf)

    def both() -> object:
        return viterbi(emissions, cu_seqlens, crf), marginals(emissions, cu_seqlens, crf)

    one, two, reference_time = measure(best, both, theirs)
    name = f"16 x {length:,} tokens"
    return [
        Row(f"Viterbi + marginals, {name}", two.cpu, "ms", most_ms, wall_ms=two.wall),
        Row("Viterbi alone", one.cpu, "ms", wall_ms=one.wall),
        Row("pytorch-crf's decode (Viterbi)", reference_time.cpu, "ms", wall_ms=reference_time.wall),
        Row(
            "  pytorch-crf's decode over our Viterbi",
            reference_time.cpu / one.cpu,
            "x",
            least_ratio,
            at_most=False,
        ),
        Row("  pytorch-crf's decode over our Viterbi + marginals", reference_time.cpu / two.cpu, "x"),
    ]


def looped_nll(emissions: torch.Tensor, labels: torch.Tensor, crf: LinearChainCrf) -> torch.Tensor:
    """Negative log-likelihood of [B, L, 2] by a plain loop over the L tokens."""
    alpha = crf.start + emissions[:, 0]
    score = alpha.gather(1, labels[:, :1])[:, 0]
    for i in range(1, emissions.shape[1]):
        alpha = torch.logsumexp(alpha[:, :, None] + crf.transitions, dim=1) + emissions[:, i]
        step = crf.transitions[labels[:, i - 1], labels[:, i]]
        score = score + step + emissions[:, i].gather(1, labels[:, i : i + 1])[:, 0]
    return torch.logsumexp(alpha + crf.end, dim=1) - score - crf.end[labels[:, -1]]


def loss() -> list[Row]:
    """Forward and backward of the loss on 16 x 512 tokens, float64."""
    values, cu_seqlens, potentials = batch(16, 512)
    emissions = torch.as_tensor(values, dtype=torch.float64).requires_grad_()
    parts = (potentials.transitions, potentials.start, potentials.end)
    crf = LinearChainCrf(*(torch.as_tensor(part).requires_grad_() for part in parts))
    labels = torch.as_tensor(np.random.default_rng(1).integers(0, 2, len(values)))
    inputs = [emissions, crf.transitions, crf.start, crf.end]

    def ours_once() -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(nll(emissions, labels, cu_seqlens, crf).sum(), inputs)

    def looped() -> tuple[torch.Tensor, ...]:
        shaped = emissions.reshape(16, 512, 2), labels.reshape(16, 512)
        return torch.autograd.grad(looped_nll(*shaped, crf).sum(), inputs)

    pairs = zip(ours_once(), looped(), strict=True)
    apart = max(float((ours - theirs).abs().max()) for ours, theirs in pairs)
    ours, theirs = measure(ours_once, looped)
    return [
        Row("NLL forward + backward, 16 x 512 tokens", ours.cpu, "ms", wall_ms=ours.wall),
        Row("the same by a loop over tokens", theirs.cpu, "ms", wall_ms=theirs.wall),
        Row("  loop over ours", theirs.cpu / ours.cpu, "x", 20, at_most=False),
        Row("  largest difference of a gradient", apart, "", 1e-5),
    ]


def heads() -> list[Row]:
    """The whole decoder on fused states of a small backbone, and how much of it is its one matrix product."""
    D, H, K = 1152, 256, 2
    rng = np.random.default_rng(2)

    def draw(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) * shape[-1] ** -0.5).astype(np.float32)

    crf_parts = (draw(K, 2, 2), draw(K, 2), draw(K, 2), draw(2, 2), draw(2), draw(2))
    weights = DecoderWeights(
        draw(D), draw(D), draw(H, D), draw(H), draw(2 * K, H), draw(2 * K), draw(K, D), draw(K), *crf_parts
    )
    decoder = Decoder(weights)
    rows = []
    for sequences, length in ((1, 400), (16, 512)):
        fused = rng.normal(size=(sequences * length, D)).astype(np.float32)
        cu_seqlens = np.arange(sequences + 1) * length
        right = np.ascontiguousarray(weights.hidden_weight.T)
        product, whole = measure(
            partial(np.matmul, fused, right),
            partial(decoder.decode, fused, cu_seqlens, want_rubrics=True),
            rounds=9,
        )
        name = f"{sequences} x {length} tokens, D = {D}"
        rows.append(Row(f"decoder with rubrics, {name}", whole.cpu, "ms", wall_ms=whole.wall))
        rows.append(Row("  share that is the product with H x D weights", 100 * product.cpu / whole.cpu, "%"))
    return rows


def show(rows: list[Row]) -> None:
    print(f"{'':58}{'CPU / ratio':>14}{'wall':>10}  target")
    for row in rows:
        wall = f"{row.wall_ms:.2f}" if row.wall_ms is not None else ""
        target = ""
        if row.target is not None:
            target = f"{'<=' if row.at_most else '>='} {row.target:g}  {'met' if row.met else 'MISSED'}"
        print(f"{row.what:58}{row.value:>10.3g} {row.unit:3}{wall:>10}  {target}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Decoding on one core, as ratios.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = [*decoding(512, 10, None), *decoding(4096, 25, 50), *loss(), *heads()]
    if arguments.json:
        versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
        figures = [asdict(row) | {"what": row.what.strip(), "met": row.met} for row in rows]
        print(json.dumps({"machine": platform.machine(), "versions": versions, "rows": figures}, indent=2))
    else:
        show(rows)
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
