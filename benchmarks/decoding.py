"""Decoding on one core: the CRF's passes, its loss, and the heads, as times and as ratios measured in one run.

    python -m benchmarks.decoding [--json]

Times are the median CPU time of several calls in one thread, so that a busy machine disturbs them little. The ratios
are taken against torch and pytorch-crf, which must be installed."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy starts its threads
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from lamr_model.crf import LinearChainCrf, marginals, viterbi
from lamr_training.loop.losses import Potentials, nll
from torchcrf import CRF

from benchmarks.random_models import decoder
from benchmarks.report import Figure, option_parser, run
from benchmarks.timing import time_in_turns

ROUNDS = 5


def batch(sequences: int, length: int) -> tuple[np.ndarray, np.ndarray, LinearChainCrf]:
    """Random emissions [T, 2] of sequences of one length, their bounds [B + 1], and a chain's potentials."""
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


def decoding_figures(length: int, most_ms: float, least_ratio: float | None) -> Iterator[Figure]:
    """Viterbi and marginals of 16 sequences, and pytorch-crf's Viterbi alone."""
    emissions, cu_seqlens, crf = batch(16, length)
    padded, other = torch.as_tensor(emissions).reshape(16, length, 2), reference(crf)
    mask = torch.ones((16, length), dtype=torch.bool)
    calls = {
        "viterbi": partial(viterbi, emissions, cu_seqlens, crf),
        "both": lambda: (viterbi(emissions, cu_seqlens, crf), marginals(emissions, cu_seqlens, crf)),
        "reference": torch.no_grad()(partial(other.decode, padded, mask)),
    }
    seconds = {name: timing.cpu_median for name, timing in time_in_turns(calls, ROUNDS).items()}
    size = f"16 x {length:,} tokens"
    yield Figure(f"Viterbi + marginals, {size}, one core", 1e3 * seconds["both"], "ms", most_ms)
    yield Figure(f"  Viterbi alone, {size}", 1e3 * seconds["viterbi"], "ms")
    yield Figure(f"  pytorch-crf's decode (Viterbi), {size}", 1e3 * seconds["reference"], "ms")
    ratio = seconds["reference"] / seconds["viterbi"]
    yield Figure(f"  pytorch-crf's decode over our Viterbi, {size}", ratio, "x", least_ratio, at_least=True)
    ratio = seconds["reference"] / seconds["both"]
    yield Figure(f"  pytorch-crf's decode over our Viterbi + marginals, {size}", ratio, "x")


def looped_nll(emissions: torch.Tensor, labels: torch.Tensor, crf: Potentials) -> torch.Tensor:
    """Negative log-likelihood of [B, L, 2] by a plain loop over the L tokens."""
    transitions, start, end = crf
    alpha = start + emissions[:, 0]
    score = alpha.gather(1, labels[:, :1])[:, 0]
    for i in range(1, emissions.shape[1]):
        alpha = torch.logsumexp(alpha[:, :, None] + transitions, dim=1) + emissions[:, i]
        step = transitions[labels[:, i - 1], labels[:, i]]
        score = score + step + emissions[:, i].gather(1, labels[:, i : i + 1])[:, 0]
    return torch.logsumexp(alpha + end, dim=1) - score - end[labels[:, -1]]


def loss_figures() -> Iterator[Figure]:
    """Forward and backward pass of the loss on 16 x 512 tokens, in float64."""
    values, cu_seqlens, potentials = batch(16, 512)
    emissions = torch.as_tensor(values, dtype=torch.float64).requires_grad_()
    arrays = (potentials.transitions, potentials.start, potentials.end)
    transitions, start, end = (torch.as_tensor(part).requires_grad_() for part in arrays)
    crf, bounds = (transitions, start, end), torch.as_tensor(cu_seqlens)
    labels = torch.as_tensor(np.random.default_rng(1).integers(0, 2, len(values)))
    inputs = [emissions, *crf]

    def scanned() -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(nll(emissions, labels, bounds, crf), inputs)

    def looped() -> tuple[torch.Tensor, ...]:
        shaped = emissions.reshape(16, 512, 2), labels.reshape(16, 512)
        return torch.autograd.grad(looped_nll(*shaped, crf).sum(), inputs)

    pairs = zip(scanned(), looped(), strict=True)
    difference = max(float((ours - theirs).abs().max()) for ours, theirs in pairs)
    timings = time_in_turns({"scan": scanned, "loop": looped}, ROUNDS)
    scan, loop = timings["scan"].cpu_median, timings["loop"].cpu_median
    yield Figure("CRF loss, forward + backward, 16 x 512 tokens", 1e3 * scan, "ms")
    yield Figure("  the same by a loop over tokens", 1e3 * loop, "ms")
    yield Figure("  CRF loss by a loop over ours, with gradients", loop / scan, "x", 20, at_least=True)
    yield Figure("  largest difference of a gradient", difference, "", 1e-5)


def head_figures() -> Iterator[Figure]:
    """The whole decoder on fused features of a small backbone, and how much of it is its one matrix product."""
    width = 1152
    whole, weights = decoder(width)
    rng = np.random.default_rng(2)
    for sequences, length in ((1, 400), (16, 512)):
        fused = rng.normal(size=(sequences * length, width)).astype(np.float32)
        cu_seqlens = np.arange(sequences + 1) * length
        calls = {
            "product": partial(np.matmul, fused, np.ascontiguousarray(weights.hidden_weight.T)),
            "whole": partial(whole.decode, fused, cu_seqlens, want_rubrics=True),
        }
        seconds = {name: timing.cpu_median for name, timing in time_in_turns(calls, 9).items()}
        size = f"{sequences} x {length} tokens, D = {width}"
        yield Figure(f"decoder with rubrics, {size}", 1e3 * seconds["whole"], "ms")
        yield Figure(f"  share of the product, {size}", 100 * seconds["product"] / seconds["whole"], "%")


def measure(_: argparse.Namespace) -> Iterator[Figure]:
    """All figures in turn, in one thread."""
    torch.set_num_threads(1)
    yield from decoding_figures(512, 10, None)
    yield from decoding_figures(4096, 25, 50)
    yield from loss_figures()
    yield from head_figures()


PARSER = option_parser(__doc__)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
