"""The training loop on two random layers."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lamr_export.model import LamrModel
from lamr_training.backbone import Vocabulary
from lamr_training.errors import RunError
from lamr_training.loop.examples import ExampleSet, make_batch
from lamr_training.loop.run_folder import STATE, TrainingSettings, rate_factor
from lamr_training.loop.trainer import batch_loss, forward, train, validate
from lamr_training.recipes.runs import PRESETS

from tests.training.samples import tiny_model

SETTINGS = replace(
    PRESETS["tiny"].settings, steps=16, tokens=2048, learning_rate=1e-3, head_rate=3e-3, seed=1
)


def test_bf16_comes_close_to_float32(words: Vocabulary, data: ExampleSet) -> None:
    model = tiny_model(words).eval()
    batch = make_batch(data, np.arange(4))
    with torch.no_grad():
        exact, half = forward(model, batch), forward(model, batch, bf16=True)
    assert half[0].emissions.dtype == half[1].dtype == torch.float32
    assert 0 < (half[0].emissions - exact[0].emissions).abs().max() < 0.1


def test_figures_that_are_printed_while_a_model_trains_are_shares(
    words: Vocabulary, data: ExampleSet
) -> None:
    metrics = validate(tiny_model(words), data, 512)
    assert all(0 <= value <= 1 for value in (metrics.f1, metrics.recall_25, metrics.area))


def test_the_rate_rises_stays_and_falls() -> None:
    settings = TrainingSettings(steps=100, warmup=0.1, decay=0.5)
    rates = [rate_factor(step, settings) for step in range(1, 101)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9:50] == [1.0] * 41
    assert rates[-1] == pytest.approx(0.02)
    assert all(a > b for a, b in itertools.pairwise(rates[50:]))


def mean_loss(model: LamrModel, data: ExampleSet) -> float:
    """The mean loss of all chunks, without dropout."""
    with torch.no_grad():
        return float(batch_loss(model.eval(), make_batch(data, np.arange(len(data))), SETTINGS.loss)[0].total)


def test_training_lowers_the_loss_and_resumes_exactly(
    tmp_path: Path, words: Vocabulary, data: ExampleSet
) -> None:
    whole = train(tiny_model(words), data, tmp_path / "whole", SETTINGS, validation=data)
    train(tiny_model(words), data, tmp_path / "parts", SETTINGS, stop_after=5)
    resumed = train(tiny_model(words, seed=9), data, tmp_path / "parts", SETTINGS)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
    rows = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    again = [json.loads(line) for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()]
    assert losses == [row["loss"] for row in again if "loss" in row]
    assert any("area" in row for row in rows)
    # On the same chunks: the loss of single batches depends on which chunks they hold.
    assert mean_loss(whole, data) < 0.8 * mean_loss(tiny_model(words), data)


def test_a_run_leaves_the_average_of_its_steps(tmp_path: Path, words: Vocabulary, data: ExampleSet) -> None:
    settings = replace(SETTINGS, warmup=0.0, decay=0.0)
    steps = [train(tiny_model(words), data, tmp_path / "steps", settings, stop_after=n) for n in range(1, 5)]
    settings = replace(settings, steps=4, average=0.6)
    train(tiny_model(words), data, tmp_path / "run", settings, stop_after=2)
    left = train(tiny_model(words), data, tmp_path / "run", settings).state_dict()
    name = "heads.hidden.weight"
    first, second, third, fourth = (model.state_dict()[name] for model in steps)
    # Shares of the mean so far are 1/n until that is less than 0.4.
    mean = (first + second) / 2
    mean = 0.6 * mean + 0.4 * third
    mean = 0.6 * mean + 0.4 * fourth
    assert torch.allclose(left[name], mean, atol=1e-6)
    assert not torch.allclose(left[name], fourth, atol=1e-6)
    saved = torch.load(tmp_path / "run" / STATE, weights_only=True)
    assert torch.equal(saved["average"][name], left[name])
    assert torch.equal(saved["model"][name], fourth)


def test_a_failed_checkpoint_leaves_the_last_one(
    tmp_path: Path, words: Vocabulary, data: ExampleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny_model(words), data, tmp_path, SETTINGS, stop_after=2)
    before = (tmp_path / STATE).read_bytes()

    def full(state: object, stream: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(
        RunError, match=r"step 3 couldn't be written \(No space left on device\); the one before"
    ):
        train(tiny_model(words), data, tmp_path, SETTINGS, stop_after=3)
    assert (tmp_path / STATE).read_bytes() == before
    assert not (tmp_path / f"{STATE}.part").exists()


def test_runs_that_cannot_go_on_say_why(tmp_path: Path, words: Vocabulary, data: ExampleSet) -> None:
    with pytest.raises(RunError, match="no training examples"):
        train(tiny_model(words), ExampleSet.of([]), tmp_path, SETTINGS)
    train(tiny_model(words), data, tmp_path, SETTINGS, stop_after=1)
    with pytest.raises(RunError, match="batch order"):
        train(tiny_model(words), data, tmp_path, replace(SETTINGS, seed=5))
