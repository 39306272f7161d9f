"""The figures of gate and chains are those of the parameters."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lamr_training.loop.chains import rubric_chains
from lamr_training.loop.example_set import ExampleSet
from lamr_training.model.vocabulary import Vocabulary

from tests.training.samples import tiny_model


def test_gate_shares_sum_to_one_and_runs_follow_the_transitions(words: Vocabulary, data: ExampleSet) -> None:
    model = tiny_model(words)
    with torch.no_grad():
        model.heads.rubric_crf.transitions[0] = torch.tensor([[1.0, -1.0], [-0.5, np.log(7.0) - 0.5]])
    semantic, dependency, fused = rubric_chains(model, data)
    assert semantic.gate + dependency.gate == pytest.approx(1.0, abs=1e-3)
    assert semantic.run == pytest.approx(8.0, abs=0.01), "1 / P(keep to drop) with odds of 7 to 1"
    assert semantic.transitions[0] == (1.0, -1.0)
    assert fused.name == "fused"
    assert "keep>keep +1.45" in str(semantic)
