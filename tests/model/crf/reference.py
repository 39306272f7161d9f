"""What the tests compare with: enumeration of all labelings, plain loops over tokens, and pytorch-crf."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from lamr_model.crf import DecoderWeights, LinearChainCrf
from torchcrf import CRF

Floats = npt.NDArray[np.float64]
Draw = Callable[..., Floats]


@dataclass(frozen=True)
class Exact:
    """One sequence by enumeration. `labels`: the best labeling, keep winning at the last difference."""

    score: float
    labels: list[int]
    log_partition: float
    keep: Floats
    scores: dict[tuple[int, ...], float]


def brute_force(emissions: Floats, crf: LinearChainCrf) -> Exact:
    n = len(emissions)
    labelings = np.array(list(itertools.product([0, 1], repeat=n)))
    scores = crf.start[labelings[:, 0]] + crf.end[labelings[:, -1]]
    scores = scores + emissions[np.arange(n), labelings].sum(1)
    scores = scores + crf.transitions[labelings[:, :-1], labelings[:, 1:]].sum(1)
    top = scores.max()
    weights = np.exp(scores - top)
    best = max(labelings[scores == top].tolist(), key=lambda y: y[::-1])
    keep = weights @ labelings / weights.sum()
    each = {tuple(y): float(s) for y, s in zip(labelings.tolist(), scores, strict=True)}
    return Exact(float(top), best, float(top + np.log(weights.sum())), keep, each)


def random_crf(draw: Draw) -> LinearChainCrf:
    return LinearChainCrf(draw((2, 2)), draw((2,)), draw((2,)))


def random_batch(rng: np.random.Generator, draw: Draw, longest: int, most: int = 4) -> tuple[Floats, Floats]:
    """Emissions and cu_seqlens of 1 to `most` sequences of 1 to `longest` tokens."""
    lengths = rng.integers(1, longest + 1, rng.integers(1, most + 1))
    cu_seqlens = np.concatenate([[0], np.cumsum(lengths)])
    return draw((cu_seqlens[-1], 2)), cu_seqlens


def spans(cu_seqlens: Floats) -> list[slice]:
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(cu_seqlens)]


def viterbi_loop(emissions: Floats, crf: LinearChainCrf) -> list[int]:
    """Textbook Viterbi, token by token; on a tie the predecessor that keeps."""
    scores = [(crf.start + emissions[0]).tolist()]
    pointers = []
    transitions = crf.transitions.tolist()
    for prune, keep in emissions[1:].tolist():
        before = scores[-1]
        steps = [[before[j] + transitions[j][k] for j in (0, 1)] for k in (0, 1)]
        pointers.append([int(step[1] >= step[0]) for step in steps])
        scores.append([max(steps[0]) + prune, max(steps[1]) + keep])
    prune, keep = (scores[-1] + crf.end).tolist()
    labels = [int(keep >= prune)]
    for pointer in reversed(pointers):
        labels.append(pointer[labels[-1]])
    return labels[::-1]


def pytorch_crf(crf: LinearChainCrf) -> CRF:
    other = CRF(2, batch_first=True).double()
    with torch.no_grad():
        other.transitions.copy_(torch.as_tensor(crf.transitions))
        other.start_transitions.copy_(torch.as_tensor(crf.start))
        other.end_transitions.copy_(torch.as_tensor(crf.end))
    return other


def padded(emissions: Floats, cu_seqlens: Floats) -> tuple[torch.Tensor, torch.Tensor]:
    """The batch as pytorch-crf takes it: [B, L, 2] and its mask [B, L]."""
    parts = [torch.as_tensor(emissions[span]) for span in spans(cu_seqlens)]
    mask = [torch.ones(len(part), dtype=torch.bool) for part in parts]
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(parts, batch_first=True), pad(mask, batch_first=True)


def random_weights(D: int, H: int, K: int, seed: int = 0) -> DecoderWeights:
    rng = np.random.default_rng(seed)

    def draw(*shape: int, scale: float = 1.0) -> npt.NDArray[np.float32]:
        return (rng.normal(size=shape) * scale).astype(np.float32)

    return DecoderWeights(
        norm_weight=1 + draw(D, scale=0.2),
        norm_bias=draw(D, scale=0.2),
        hidden_weight=draw(H, D, scale=D**-0.5),
        hidden_bias=draw(H, scale=0.5),
        emission_weight=draw(2 * K, H, scale=H**-0.5),
        emission_bias=draw(2 * K, scale=0.5),
        gate_weight=draw(K, D, scale=D**-0.5),
        gate_bias=draw(K, scale=0.5),
        rubric_crf_transitions=draw(K, 2, 2),
        rubric_crf_start=draw(K, 2),
        rubric_crf_end=draw(K, 2),
        fused_crf_transitions=draw(2, 2),
        fused_crf_start=draw(2),
        fused_crf_end=draw(2),
    )
