"""A fitted network of lines finds what no line says by itself, and serves what was trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from lamr_contract.layout import line_layout
from lamr_contract.scoring.rules import Scoring
from lamr_training.model.vocabulary import Vocabulary
from lamr_training.recipes.network_fit import (
    NETWORK_FEATURES,
    NetworkFile,
    NetworkModule,
    NetworkSettings,
    fit_network,
    network_files,
)
from lamr_training.recipes.scored_checkpoint import line_scoring
from lamr_training.recipes.scoring_fit import compare

from tests.training.recipes.test_line_fit import RUBRICS, files
from tests.training.samples import tiny_model

SETTINGS = NetworkSettings(epochs=60, files=4, rate=1e-2)


def test_lines_below_what_the_query_names_are_found() -> None:
    scored = files(16, "area = ")
    for file in scored:  # what is needed is the line below the one that shares the query's words
        below = np.flatnonzero(np.roll(file.gold()[0], 1)) + 1
        object.__setattr__(file.record, "kept_frags", tuple(below.tolist()))
    fitted = fit_network(network_files(scored[:12], RUBRICS), SETTINGS)
    assert fitted.network is not None
    unweighed = Scoring("lines", dict.fromkeys(NETWORK_FEATURES, 0.0))
    found, chance = (compare(scored[12:], scoring, RUBRICS, 0.5).area for scoring in (fitted, unweighed))
    assert found > chance + 0.3


def test_what_is_served_is_what_was_trained() -> None:
    taught = network_files(files(4, "area = "), RUBRICS)
    torch.manual_seed(1)
    settings = NetworkSettings(width=5, reach=1, strides=(1, 2))
    usual = np.concatenate([file.features for file in taught])
    mean, spread = (
        torch.tensor(each, dtype=torch.float32) for each in (usual.mean(axis=0), usual.std(axis=0) + 1)
    )
    model = NetworkModule(mean, spread, settings).eval()
    fitted = fit_network(taught, NetworkSettings(width=5, reach=1, strides=(1, 2), epochs=1))
    assert fitted.network is not None
    served = fitted.network.of(NETWORK_FEATURES, 1, (1, 2), model.parameters_of_lines())
    for file, scored in zip(taught, files(4, "area = "), strict=True):
        batch = torch.tensor(file.features[None], dtype=torch.float32)
        inked, blocks = torch.tensor(file.inked[None], dtype=torch.float32), torch.tensor(file.blocks[None])
        with torch.no_grad():
            trained = model(batch, inked, blocks)[0].double().numpy()
        logits = served.logits(file.features, line_layout(scored.record.code))
        np.testing.assert_allclose(logits - logits.mean(), trained - trained.mean(), atol=0.02)


def test_the_same_seed_gives_the_same_network() -> None:
    taught = network_files(files(4, "area = "), RUBRICS)
    before = torch.random.get_rng_state()
    one, again = (fit_network(taught, NetworkSettings(epochs=1)) for _ in range(2))
    assert one == again
    assert torch.equal(before, torch.random.get_rng_state())
    assert one != fit_network(taught, NetworkSettings(epochs=1, seed=1))


def test_a_model_that_has_a_network_keeps_it_where_files_are_few(words: Vocabulary) -> None:
    told = files(6, "area = ")
    config = tiny_model(words).config
    assert line_scoring(told, config).network is None
    network = fit_network(network_files(told, RUBRICS), NetworkSettings(epochs=1))
    taught = replace(config, scoring=Scoring(told=replace(network, bias=2.0)))
    assert line_scoring(told, taught) == network


def test_files_whose_lines_are_all_alike_teach_nothing() -> None:
    taught = network_files(files(2, "area = "), RUBRICS)
    alike = [NetworkFile(f.features, np.zeros_like(f.gold), f.inked, f.blocks) for f in taught]
    with pytest.raises(ValueError, match="no file has both"):
        fit_network(alike)
