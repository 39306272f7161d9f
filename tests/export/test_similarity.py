"""Query and code are encoded apart: neither depends on the other, and relevance is their cosine."""

import numpy as np
import pytest
import torch
from lamr_export.attention import Buckets, PackedLayout, _by_kernel, _written_out, packed_attention
from lamr_export.config import LamrConfig
from lamr_export.errors import CheckpointError
from lamr_export.lexical_features import LexicalFeatures, Similarity
from torch.nn import functional as F

from .models import BERTS, SEPARATOR, bert, packed

LENGTHS = [9, 30, 1, 16]
PARTS = [2, 7, 7, 23, 1, 0, 16, 0]


def packing_of(batch):
    ids, bounds, max_len = batch
    return PackedLayout.of(bounds, max_len, len(ids))


@pytest.mark.parametrize("way", [_written_out, _by_kernel, packed_attention])
def test_parts_of_a_split_packing_attend_to_themselves(way) -> None:
    torch.manual_seed(0)
    batch = packed(LENGTHS)
    counts = torch.tensor([2, 7, 1, 16])  # the last two have no second part
    found = packing_of(batch).split(counts)
    bounds = torch.tensor([0, *PARTS]).cumsum(0).to(torch.int32)
    expected = PackedLayout.of(bounds, torch.zeros(30), sum(LENGTHS))
    assert torch.equal(found.position, expected.position)
    q, k, v = (torch.randn(sum(LENGTHS), heads, 8, requires_grad=True) for heads in (4, 2, 2))
    out = way(q, k, v, found, scale=0.3, causal=False)
    wanted = packed_attention(q, k, v, expected, scale=0.3, causal=False)
    torch.testing.assert_close(out, wanted, atol=1e-5, rtol=0)
    one = torch.randn_like(out)
    for got, other in zip(
        torch.autograd.grad(out, (q, k, v), one), torch.autograd.grad(wanted, (q, k, v), one), strict=True
    ):
        torch.testing.assert_close(got, other, atol=1e-5, rtol=0)


def test_bfloat16_in_buckets_is_near_and_a_causal_backbone_has_no_parts() -> None:
    torch.manual_seed(0)
    packing = packing_of(packed(LENGTHS)).split(torch.tensor([2, 7, 1, 16]))
    q, k, v = (torch.randn(sum(LENGTHS), 4, 8) for _ in range(3))
    exact = packed_attention(q, k, v, packing, scale=0.3, causal=False)
    found = packed_attention(*(x.bfloat16() for x in (q, k, v)), packing, scale=0.3, causal=False)
    torch.testing.assert_close(found.float(), exact, atol=0.02, rtol=0)
    x = torch.randn(sum(LENGTHS), 4, 8)
    with pytest.raises(CheckpointError, match="causal"):
        packed_attention(x, x, x, packing, scale=0.3, causal=True)


def test_buckets_hold_every_token_once_and_little_padding() -> None:
    lengths = torch.tensor([3, 200, 5, 0, 190, 4, 210])
    ends = lengths.cumsum(0)
    found = Buckets.of(ends - lengths, ends)
    slots = torch.cat([places.flatten() for places in found.tokens])
    assert torch.equal(slots[found.to_packed], torch.arange(int(lengths.sum())))
    assert [list(places.shape) for places in found.tokens] == [[2, 4], [1, 5], [3, 210]]


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
    lexical = LexicalFeatures(bert().config.lexical, 120, 12)
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
    packing = PackedLayout.of(torch.tensor([0, 6, 9], dtype=torch.int32), torch.zeros(6), 9)
    along = torch.arange(9.0)
    (found,) = Similarity((1,), 4, 4)._means(along, types, packing)
    np.testing.assert_allclose(found[2:6].detach(), [2.5, 3.0, 4.0, 4.5])
    np.testing.assert_allclose(found[7:].detach(), [7.5, 7.5])


def test_similarity_needs_to_know_the_query() -> None:
    config = bert().config
    with pytest.raises(CheckpointError, match="needs lexical features"):
        bert(lexical=None, similarity=(3,))
    apart = bert(similarity=(3, 11)).config
    assert LamrConfig.from_json(apart.to_json()) == apart
    assert config.similarity is None
