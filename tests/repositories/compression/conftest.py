"""Tiny causal models in folders, each written and loaded once."""

from __future__ import annotations

import pytest
from lamr_export import TorchScorer

from .causal_models import write_causal


@pytest.fixture(scope="session")
def causal_scorer(tmp_path_factory):
    """A function from a model's kind to its scorer."""
    made: dict[str, TorchScorer] = {}

    def get(kind: str) -> TorchScorer:
        if kind not in made:
            made[kind] = TorchScorer(write_causal(kind, tmp_path_factory.mktemp("causal") / kind))
        return made[kind]

    return get
