"""The network: packing, attention, fusion and relevance against plain PyTorch and transformers."""

import pytest
import torch
from lamr_export import CheckpointError, LamrModel
from lamr_export.attention import PackedLayout
from torch import nn
from transformers import BertConfig, BertModel

from .models import BUILDERS, SEPARATOR, bert, packed, qwen3

LENGTHS = [5, 1, 33, 12, 2, 20]


@pytest.fixture(params=[kind for kind in BUILDERS if kind != "one rubric"])
def model(request):
    return BUILDERS[request.param]()


def one_by_one(model, ids, bounds):
    outputs = []
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        length = torch.tensor([0, end - start], dtype=torch.int32)
        outputs.append(model(ids[start:end], length, torch.zeros(end - start)))
    return torch.cat([fused for fused, _ in outputs]), torch.cat([relevance for _, relevance in outputs])


@torch.no_grad()
def test_packed_equals_one_by_one(model):
    ids, bounds, max_len = packed(LENGTHS)
    fused, relevance = model(ids, bounds, max_len)
    alone_fused, alone_relevance = one_by_one(model, ids, bounds)
    assert fused.shape == (sum(LENGTHS), model.config.fused_width(32))
    assert relevance.shape == (len(LENGTHS), 1)
    torch.testing.assert_close(fused, alone_fused, atol=1e-5, rtol=0)
    torch.testing.assert_close(relevance, alone_relevance, atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["qwen3", "bert-plain"])
def test_is_the_backbone_plus_multihead_attention(kind):
    """One sequence through transformers' own attention and `nn.MultiheadAttention` with the same weights."""
    model = BUILDERS[kind]()
    ids, bounds, max_len = packed([23])
    fused, relevance = model(ids, bounds, max_len)

    model.backbone.set_attn_implementation("eager")
    states = model.backbone(input_ids=ids[None], output_hidden_states=True)
    expected = torch.cat([states.hidden_states[n][0] for n in model.config.fusion_layers], dim=-1)
    attention = nn.MultiheadAttention(96, 8, batch_first=True)
    attention.load_state_dict(model.fusion_layers[0].state_dict())
    refined = attention(expected[None], expected[None], expected[None])[0][0]
    expected = model.fusion_norms[0](expected + refined)
    torch.testing.assert_close(fused, expected, atol=1e-5, rtol=1e-5)

    if model.config.relevance == "yes_no":
        chances = (states.last_hidden_state[0, -1] @ model.relevance.direction.weight[0]).sigmoid()
    else:
        chances = model.relevance.direction(states.last_hidden_state[0, 0]).sigmoid()
    torch.testing.assert_close(relevance.squeeze(), chances.squeeze())


def test_yes_no_direction_comes_from_the_embeddings():
    model = qwen3()
    embedding = model.backbone.embed_tokens.weight
    fresh = LamrModel.from_backbone(model.backbone, model.config)
    torch.testing.assert_close(fresh.relevance.direction.weight[0], embedding[7] - embedding[9])


@torch.no_grad()
def test_causal_backbone_sees_no_future_but_fusion_does():
    model = qwen3()
    ids, bounds, max_len = packed([16])
    changed = ids.clone()
    changed[10] = (ids[10] + 1) % 100 + 4
    seen = []
    model.backbone.layers[3].register_forward_hook(lambda _m, _i, out: seen.append(out))
    fused, other = model(ids, bounds, max_len)[0], model(changed, bounds, max_len)[0]
    torch.testing.assert_close(seen[0][0, :10], seen[1][0, :10])
    assert not torch.allclose(fused[:10], other[:10], atol=1e-4)


def test_lexical_features_by_hand():
    model = bert()
    lexical = model.lexical
    #                    query     sep  code            sep | a query without code words
    ids = torch.tensor([1, 50, 51, SEPARATOR, 51, 52, 50, 0, SEPARATOR, 1, 60, SEPARATOR, 50, SEPARATOR])
    bounds = torch.tensor([0, 9, 14], dtype=torch.int32)
    packing = PackedLayout.of(bounds, torch.zeros(9), len(ids))
    in_query, token_types = lexical.segments(ids, packing)
    assert in_query.tolist() == [True] * 3 + [False] * 6 + [True] * 2 + [False] * 3
    assert token_types.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1]
    lexical.rarity.fill_(0.5)
    lexical.rarity[[0, 1, SEPARATOR]] = 0
    assert lexical.matches(ids, in_query, packing).tolist() == [0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    lexical.rarity[51] = 0  # a stop word
    assert lexical.matches(ids, in_query, packing).tolist() == [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]


def test_neighbourhoods_and_coverage_by_hand():
    lexical = bert().lexical
    ids = torch.tensor([1, 50, 51, SEPARATOR, 51, 52, 50, 50, SEPARATOR, 60, SEPARATOR, 60])
    packing = PackedLayout.of(torch.tensor([0, 9, 12], dtype=torch.int32), torch.zeros(9), len(ids))
    in_query, types = lexical.segments(ids, packing)
    weighted = torch.tensor([0, 9, 9, 0, 0.5, 0, 0.25, 0.25, 0, 9, 0, 1.0])
    near, wide = lexical.densities(weighted, types, packing)  # windows 2 and 9
    sums = near / (1 - near)
    torch.testing.assert_close(sums[2:9], torch.tensor([0.5, 0.5, 0.75, 1.0, 1.0, 0.5, 0.5]))
    torch.testing.assert_close((wide / (1 - wide))[:9], torch.ones(9))
    torch.testing.assert_close((wide / (1 - wide))[9:], torch.ones(3))
    lexical.rarity.fill_(1.0)
    lexical.rarity[[1, SEPARATOR]] = 0
    lexical.rarity[52] = 0.1
    assert lexical.coverage(ids, in_query, packing).round(decimals=2).tolist() == [1.0] * 12
    ids[4] = 53
    expected = torch.tensor([1 / 2.001] * 9 + [1 / 1.001] * 3)
    torch.testing.assert_close(lexical.coverage(ids, in_query, packing), expected)


@torch.no_grad()
def test_untrained_lexical_features_change_only_token_types():
    model = bert()
    model.lexical.projection.weight.zero_()
    model.lexical.fused_projection.weight.zero_()
    types = model.backbone.embeddings.token_type_embeddings.weight
    types[1] = types[0]
    ids, bounds, max_len = packed([30])
    with_features = model(ids, bounds, max_len)[0]
    model.lexical = None
    torch.testing.assert_close(with_features, model(ids, bounds, max_len)[0])


def test_every_parameter_learns(model):
    """Gradients reach all weights through packing, fusion, relevance, heads and CRF parameters."""
    model.train()
    ids, bounds, max_len = packed(LENGTHS)
    fused, relevance = model(ids, bounds, max_len)
    out = model.heads(fused)
    crf = sum(p.sum() for p in (*model.heads.rubric_crf.parameters(), *model.heads.fused_crf.parameters()))
    (out.emissions.square().sum() + out.fused_emissions.square().sum() + relevance.sum() + crf).backward()
    silent = [
        name
        for name, p in model.named_parameters()
        if p.grad is None or not p.grad.isfinite().all() or p.grad.norm() == 0
    ]
    assert silent == []


def test_no_pooler_and_dropout_only_in_training():
    model = bert()
    assert not any("pooler" in name for name in model.state_dict())
    fused = model(*packed([30]))[0]
    assert torch.equal(model.heads(fused).emissions, model.heads(fused).emissions)
    model.train()
    assert not torch.equal(model.heads(fused).emissions, model.heads(fused).emissions)


def test_heads_by_hand_of_which_one_rubric_has_a_constant_gate():
    heads = qwen3().heads
    fused = torch.randn(7, 96)
    out = heads(fused)
    e = heads.emission(nn.functional.gelu(heads.hidden(heads.norm(fused))))
    torch.testing.assert_close(out.emissions[:, 0], e[:, :2])
    torch.testing.assert_close(out.emissions[:, 1], e[:, 2:])
    g = torch.softmax(heads.gate(fused), dim=-1)
    torch.testing.assert_close(out.fused_emissions, g[:, :1] * e[:, :2] + g[:, 1:] * e[:, 2:])
    heads = qwen3(rubrics=("semantic",)).heads
    out = heads(torch.randn(7, 96))
    assert torch.equal(out.gate, torch.ones(7, 1))
    assert torch.equal(out.fused_emissions, out.emissions[:, 0])
    assert torch.equal(heads.fused_crf_tensors()[0], heads.rubric_crf.transitions[0])
    arrays = heads.arrays()
    assert arrays["gate.weight"].shape == (1, 96)
    assert torch.equal(arrays["fused_crf.start"], arrays["rubric_crf.start"][0])


def test_nothing_crosses_sequences_even_as_nan(model):
    ids, bounds, max_len = packed([5, 20, 9])
    model.backbone.get_input_embeddings().weight.data[ids[7]] = torch.nan
    hit = torch.tensor([bool((part == ids[7]).any()) for part in ids.split([5, 20, 9])])
    assert 0 < hit.sum() < 3
    fused, relevance = model(ids, bounds, max_len)
    for part, bad in zip(fused.split([5, 20, 9]), hit, strict=True):
        assert bool(part.isnan().any()) == bool(bad)
    assert torch.equal(relevance.isnan().squeeze(1) & ~hit, torch.zeros(3, dtype=torch.bool))


def test_backbones_that_cannot_be_used_are_refused():
    model = qwen3()
    model.backbone.layers[1].self_attn.sliding_window = 8
    with pytest.raises(CheckpointError, match="sliding-window"):
        model(*packed([9]))
    model = bert()
    sizes = {**model.config.backbone, "type_vocab_size": 1}
    with pytest.raises(CheckpointError, match="two token types"):
        LamrModel.from_backbone(BertModel(BertConfig(**sizes)), model.config)
