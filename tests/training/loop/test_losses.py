"""The objective, term by term."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from lamr_training.backbone import Vocabulary
from lamr_training.loop.examples import ExampleSet, make_batch
from lamr_training.loop.losses import SEGMENT, LossWeights, listwise_loss, ranking_loss
from lamr_training.loop.trainer import batch_loss, forward

from tests.training.samples import tiny_model


def test_every_term_of_the_loss_counts(words: Vocabulary, data: ExampleSet) -> None:
    model = tiny_model(words).eval()
    batch = make_batch(data, np.arange(4))
    output, relevance = forward(model, batch)

    def loss(weights: LossWeights) -> float:
        return float(batch_loss(model, batch, weights)[0].total.detach())

    base = loss(LossWeights())
    none = LossWeights(rubric=0.0, relevance=0.0, balance=0.0)
    fused, mse = loss(none), loss(replace(none, relevance=1.0)) - loss(none)
    first = loss(replace(none, rubric=1.0, rubrics=(1.0, 0.0)))
    second = loss(replace(none, rubric=1.0, rubrics=(0.0, 1.0)))
    ranks = loss(replace(none, listwise=1.0)) - loss(none)
    assert ranks == pytest.approx(
        float(listwise_loss(relevance, batch.relevance > 0, batch.relevance <= 0, batch.groups).detach()),
        abs=1e-5,
    )
    segments = loss(replace(none, ranking=1.0)) - loss(none)
    odds = output.emissions[:, 0, 1] - output.emissions[:, 0, 0] + 4.0 * batch.evidence
    own = ranking_loss(odds, batch.labels[:, 0], batch.groups, batch.code_cu_seqlens)
    assert segments == pytest.approx(float(own.detach()), abs=1e-5)
    assert segments > 0
    entropy = loss(none) - loss(replace(none, balance=1.0))
    assert 0 < entropy <= np.log(2) + 1e-6
    assert base == pytest.approx(
        0.4 * fused + 0.6 * (first + 0.7 * second) + 0.05 * mse - 0.002 * entropy, abs=1e-5
    )


def test_a_chunk_with_gold_lines_competes_with_those_of_its_file() -> None:
    scores = torch.tensor([2.0, -1.0, 0.5, 7.0, 3.0], requires_grad=True)
    wanted, groups = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.6]) > 0, torch.tensor([0, 0, 0, 1, 2])
    loss = listwise_loss(scores, wanted, ~wanted, groups)
    expected = -np.log(np.exp(2.0) / (np.exp(2.0) + np.exp(-1.0) + np.exp(0.5)))
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    loss.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    assert scores.grad[0] < 0 < scores.grad[2]
    assert scores.grad[3:].abs().max() == 0, "nothing to compete with"
    assert listwise_loss(scores, wanted, ~wanted, torch.arange(5)).item() == 0


def test_gold_segments_compete_with_those_of_their_files_chunks_and_a_line_by_its_own_tokens() -> None:
    lengths = [SEGMENT + 3, 2 * SEGMENT, SEGMENT]
    cu_seqlens = torch.tensor(np.cumsum([0, *lengths]), dtype=torch.int32)
    odds = torch.zeros(sum(lengths))
    labels = torch.zeros(sum(lengths), dtype=torch.int64)
    labels[:SEGMENT] = 1
    labels[lengths[0] : lengths[0] + 2] = 1  # too few tokens to be gold, too many to be none
    odds[:SEGMENT] = 2.0
    odds[SEGMENT : lengths[0]] = -1.0
    odds[lengths[0] + SEGMENT : lengths[0] + lengths[1]] = 0.5
    odds[-SEGMENT:] = 9.0
    loss = ranking_loss(odds, labels, torch.tensor([0, 0, 1]), cu_seqlens)
    expected = -np.log(np.exp(2.0) / (np.exp(2.0) + np.exp(-1.0) + np.exp(0.5)))
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    cu_seqlens = torch.tensor([0, 2 * SEGMENT], dtype=torch.int32)
    odds, labels = torch.zeros(2 * SEGMENT), torch.zeros(2 * SEGMENT, dtype=torch.int64)
    labels[2:6] = 1
    odds[2:6], odds[6:SEGMENT], odds[SEGMENT:] = 2.0, -9.0, 0.5
    loss = ranking_loss(odds, labels, torch.zeros(1), cu_seqlens)
    assert loss.item() == pytest.approx(-np.log(np.exp(2.0) / (np.exp(2.0) + np.exp(0.5))), abs=1e-6)
    labels[5] = 0  # three tokens are hardly a line
    assert ranking_loss(odds, labels, torch.zeros(1), cu_seqlens).item() == 0


def test_files_count_the_same_or_what_is_ranked_does() -> None:
    scores = torch.tensor([1.0, 1.0, 1.0, 0.0, 3.0, 0.0])
    positive = torch.tensor([True, True, True, False, True, False])
    groups = torch.tensor([0, 0, 0, 0, 1, 1])
    first, second = (float(np.log1p(np.exp(-score))) for score in (1.0, 3.0))
    each = listwise_loss(scores, positive, ~positive, groups)
    even = listwise_loss(scores, positive, ~positive, groups, even=True)
    assert each.item() == pytest.approx((3 * first + second) / 4, abs=1e-6)
    assert even.item() == pytest.approx((first + second) / 2, abs=1e-6)
