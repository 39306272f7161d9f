"""A fitted network of lines finds what no line says by itself, and serves what was trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lamr_contract.scoring.network import LineNetwork
from lamr_contract.scoring.scorer import Scorer
from lamr_contract.scoring.weights import LineWeights
from lamr_training.fits.network import (
    NETWORK_FEATURES,
    NetworkFile,
    NetworkModule,
    NetworkSettings,
    fit_network,
    network_file,
)
from lamr_training.fits.scored_files import compare

from tests.contract.scoring.test_associations import made
from tests.tiny import line_weights, lines_scoring
from tests.training.fits.files import RUBRICS, files

SETTINGS = NetworkSettings(epochs=60, files=4, rate=1e-2)


ASSOCIATIONS = made(("area", "shape", "name"))


def taught_by(count: int) -> list[NetworkFile]:
    return [network_file(file, RUBRICS, ASSOCIATIONS) for file in files(count, "area = ")]


def test_lines_below_what_the_query_names_are_found() -> None:
    scored = files(16, "area = ")
    for file in scored:  # what is needed is the line below the one that shares the query's words
        below = np.flatnonzero(np.roll(file.record.gold, 1)) + 1
        object.__setattr__(file.record, "kept_frags", tuple(below.tolist()))
    network = fit_network([network_file(file, RUBRICS, ASSOCIATIONS) for file in scored[:12]], SETTINGS)
    found, chance = (
        compare(scored[12:], Scorer(lines_scoring(), RUBRICS, weights), 0.5).area
        for weights in (LineWeights(network, ASSOCIATIONS), line_weights(own=0.0))
    )
    assert found > chance + 0.3


def test_what_is_served_is_what_was_trained() -> None:
    scored = files(4, "area = ")
    taught = [network_file(file, RUBRICS, ASSOCIATIONS) for file in scored]
    torch.manual_seed(1)
    usual = np.concatenate([file.features for file in taught])
    mean, spread = (
        torch.tensor(each, dtype=torch.float32) for each in (usual.mean(axis=0), usual.std(axis=0) + 1)
    )
    model = NetworkModule(mean, spread, NetworkSettings(width=5, reach=1, strides=(1, 2))).eval()
    served = LineNetwork.of(NETWORK_FEATURES, 1, (1, 2), model.parameters_of_lines())
    for file, one in zip(taught, scored, strict=True):
        batch = torch.tensor(file.features[None], dtype=torch.float32)
        inked, blocks = torch.tensor(file.inked[None], dtype=torch.float32), torch.tensor(file.blocks[None])
        with torch.no_grad():
            trained = model(batch, inked, blocks)[0].double().numpy()
        logits = served.logits(file.features, one.asked.layout)
        np.testing.assert_allclose(logits - logits.mean(), trained - trained.mean(), atol=0.02)


def test_the_same_seed_gives_the_same_network() -> None:
    taught = taught_by(4)
    before = torch.random.get_rng_state()
    one, again, other = (
        fit_network(taught, NetworkSettings(epochs=1, seed=seed)).weights for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert torch.equal(before, torch.random.get_rng_state())
    assert (one != other).any()


def test_files_whose_lines_are_all_alike_teach_nothing() -> None:
    taught = taught_by(2)
    alike = [NetworkFile(f.features, np.zeros_like(f.gold), f.inked, f.blocks) for f in taught]
    with pytest.raises(ValueError, match="no file has both"):
        fit_network(alike)
