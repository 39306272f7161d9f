"""Query and code encoded apart: what each may depend on, and that relevance is their cosine."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lamr_export.attention import Packing
from lamr_export.config import LamrConfig
from lamr_export.errors import CheckpointError
from lamr_export.lexical import LexicalEvidence
from lamr_export.similarity import Similarity
from torch.nn import functional as F

from .models import BERTS, SEPARATOR, bert, packed

LENGTHS = [9, 30, 1, 16]


def packing_of(batch):
    ids, bounds, max_len = batch
    return Packing.of(bounds, max_len, len(ids))


def test_a_split_packing_is_that_of_the_parts() -> None:
    batch = packed(LENGTHS)
    counts = torch.tensor([2, 7, 1, 16])  # the last two have no second part
    found = packing_of(batch).split(counts)
    parts = [2, 7, 7, 23, 1, 0, 16, 0]
    bounds = torch.tensor([0, *parts]).cumsum(0).to(torch.int32)
    expected = Packing.of(bounds, torch.zeros(30), sum(LENGTHS))
    for name in ("sequence", "position", "starts", "lasts", "to_packed", "key_mask", "key_bias"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name


def test_states_of_the_code_do_not_depend_on_the_query() -> None:
    model = BERTS["bert-apart"]()
    model.lexical.projection.weight.data.zero_()
    ids, bounds, max_len = packed([40])
    other = ids.clone()
    place = 3
    assert ids[place] != SEPARATOR
    other[place] = 4 + (ids[place] - 3) % 100
    one, two = (
        model._hidden_states(each, packing_of((each, bounds, max_len)), None)[0] for each in (ids, other)
    )
    first = int((ids == SEPARATOR).nonzero()[0]) + 1
    assert torch.equal(one[-1][first:], two[-1][first:])
    assert not torch.equal(one[-1][:first], two[-1][:first])
    fused = [model(each, bounds, max_len)[0] for each in (ids, other)]
    assert not torch.allclose(fused[0][first:], fused[1][first:]), "fusion attends to the query"


def test_relevance_is_the_cosine_of_mean_states() -> None:
    torch.manual_seed(0)
    batch = packed(LENGTHS)
    packing, states = packing_of(batch), torch.randn(sum(LENGTHS), 12)
    lexical = LexicalEvidence(bert().config.lexical, 120, 12)
    types = lexical.segments(batch[0], packing)[1]
    similarity = Similarity((2,), 12, 5)
    added, relevance = similarity(states, types, packing)
    assert added.abs().max() == 0, "an untrained projection leaves the features as they are"
    for number, (first, last) in enumerate(zip(batch[1][:-1].tolist(), batch[1][1:].tolist(), strict=True)):
        own, code = states[first:last], types[first:last] == 1
        if code.any():
            cosine = F.cosine_similarity(own[~code].mean(0), own[code].mean(0), dim=0)
            assert float(relevance[number]) == pytest.approx(12 * (float(cosine) - 0.4), abs=1e-5)


def test_windows_average_over_code_alone() -> None:
    types = torch.tensor([0, 0, 1, 1, 1, 1, 0, 1, 1])
    packing = Packing.of(torch.tensor([0, 6, 9], dtype=torch.int32), torch.zeros(6), 9)
    along = torch.arange(9.0)
    (found,) = Similarity((1,), 4, 4)._means(along, types, packing)
    np.testing.assert_allclose(found[2:6].detach(), [2.5, 3.0, 4.0, 4.5])
    np.testing.assert_allclose(found[7:].detach(), [7.5, 7.5])


def test_similarity_needs_to_know_the_query() -> None:
    config = bert().config
    with pytest.raises(CheckpointError, match="needs lexical evidence"):
        bert(lexical=None, similarity=(3,))
    apart = bert(similarity=(3, 11)).config
    assert LamrConfig.from_json(apart.to_json()) == apart
    assert config.similarity is None
