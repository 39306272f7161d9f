"""What a model's gate and chains have learned, in numbers that a person can judge.

A gate that gives one rubric everything has collapsed; a chain's transitions say how long its runs of kept tokens tend
to be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from lamr_export.model import LamrModel
from numpy.typing import NDArray

from lamr_training.loop.batches import batch_plan, make_batch
from lamr_training.loop.example_set import ExampleSet
from lamr_training.loop.trainer import forward

_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class RubricChain:
    """One rubric's share and chain.

    Attributes:
        name: the rubric's name; `fused` for the chain that decides.
        gate: the mean gate weight over code tokens; 1 for `fused`.
        transitions: log potentials, from (drop, keep) to (drop, keep).
        run: how many tokens a run of kept ones lasts on average where emissions say nothing: 1 / P(keep to drop).
    """

    name: str
    gate: float
    transitions: tuple[tuple[float, float], tuple[float, float]]
    run: float

    def __str__(self) -> str:
        (a, b), (c, d) = self.transitions
        return (
            f"{self.name:<12} gate {self.gate:.2f}   drop>drop {a:+.2f} drop>keep {b:+.2f} "
            f"keep>drop {c:+.2f} keep>keep {d:+.2f}   run {self.run:.1f} tokens"
        )


def rubric_chains(model: LamrModel, data: ExampleSet) -> list[RubricChain]:
    """The gate share and the chain of every rubric; the fused chain comes last.

    Args:
        model: a trained model.
        data: the examples that the gate's mean is taken over.
    """
    total, count = np.zeros(len(model.config.rubrics)), 0
    model.eval()
    with torch.no_grad():
        for chosen in batch_plan(data.lengths, data.groups, _BATCH_TOKENS, 0):
            gate = forward(model, make_batch(data, chosen))[0].gate
            total += gate.sum(dim=0).numpy()
            count += len(gate)
    own = model.heads.rubric_crf.transitions.detach().numpy()
    chains = [
        _chain(name, float(share), matrix)
        for name, share, matrix in zip(model.config.rubrics, total / max(1, count), own, strict=True)
    ]
    if len(chains) > 1:
        chains.append(_chain("fused", 1.0, model.heads.fused_crf_tensors()[0].detach().numpy()))
    return chains


def _chain(name: str, gate: float, matrix: NDArray[np.float32]) -> RubricChain:
    to_drop, to_keep = (float(value) for value in matrix[1])
    run = 1.0 + np.exp(to_keep - to_drop)
    rows = tuple(tuple(round(float(value), 4) for value in row) for row in matrix)
    return RubricChain(name, round(gate, 4), rows, round(float(run), 2))  # type: ignore[arg-type]
