"""Checkpoint folders: round trips, SWE-Pruner's layout, and what is said about broken ones."""

import json

import pytest
import torch
from lamr_export import CheckpointError, LamrModel, load_checkpoint, save_checkpoint
from safetensors.torch import load_file, save_file

from .models import bert, packed, qwen3, write_swepruner, write_tokenizer

BUILDERS = {
    "qwen3": qwen3,
    "bert": bert,
    "bert-plain": lambda: bert(lexical=None),
    "bert-narrow": lambda: bert(fusion_width=48),
    "one rubric": lambda: qwen3(rubrics=("semantic",)),
}


@pytest.fixture
def folder(tmp_path):
    save_checkpoint(bert(), tmp_path / "checkpoint", write_tokenizer(tmp_path / "tokenizer.json"))
    return tmp_path / "checkpoint"


def change(folder, **tensors):
    """Rewrite the weights; None takes a tensor out."""
    path = folder / "model.safetensors"
    kept = {**load_file(path), **tensors}
    save_file({name: value for name, value in kept.items() if value is not None}, path)


@torch.no_grad()
@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_round_trip(build, tmp_path):
    model = build()
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    save_checkpoint(model, tmp_path / "a", tokenizer)
    loaded = load_checkpoint(tmp_path / "a")
    assert loaded.config == model.config
    assert not loaded.training
    batch = packed([9, 3])
    for ours, theirs in zip(model(*batch), loaded(*batch), strict=True):
        assert torch.equal(ours, theirs)
    save_checkpoint(loaded, tmp_path / "a", tmp_path / "a" / "tokenizer.json")  # in place
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == tokenizer.read_bytes()
    assert load_checkpoint(tmp_path / "a").config == model.config


def test_buffers_are_saved(tmp_path):
    model = bert()
    save_checkpoint(model, tmp_path, write_tokenizer(tmp_path / "t.json"))
    assert torch.equal(load_checkpoint(tmp_path).lexical.rarity, model.lexical.rarity)


def test_swepruner_folder_is_the_one_rubric_case(tmp_path):
    source = write_swepruner(tmp_path)
    model = load_checkpoint(tmp_path)
    config = model.config
    assert config.rubrics == ("semantic",)
    assert config.fusion_layers == (1, 2, 4)
    assert config.backbone["num_key_value_heads"] == 2
    assert config.backbone["head_dim"] == 16
    state = model.state_dict()
    torch.testing.assert_close(
        state["fusion_layers.0.in_proj_weight"], source["model.fusion_layers.0.in_proj_weight"].float()
    )
    transitions = source["model.compression_head.crf.transitions"].float()
    torch.testing.assert_close(state["heads.rubric_crf.transitions"][0], transitions.T)
    embedding = source["model.backbone.embed_tokens.weight"].float()
    yes, no = config.yes_token_id, config.no_token_id
    torch.testing.assert_close(state["relevance.direction.weight"][0], embedding[yes] - embedding[no])
    features, relevance = model(*packed([8, 4]))
    assert model.heads(features).gate.eq(1).all()
    assert relevance.shape == (2, 1)


def test_swepruner_backbone_computes_what_transformers_does(tmp_path):
    """Sizes that are read off the tensors give the published model's rotary base and norms."""
    from transformers import Qwen3Config, Qwen3Model

    source = write_swepruner(tmp_path)
    model = load_checkpoint(tmp_path)
    reference = Qwen3Model(
        Qwen3Config(
            **{
                k: v
                for k, v in model.config.backbone.items()
                if k.startswith(("vocab", "hidden_s", "inter", "num", "head"))
            },
            rope_theta=1_000_000,
        )
    )
    prefix = "model.backbone."
    reference.load_state_dict(
        {k.removeprefix(prefix): v.float() for k, v in source.items() if k.startswith(prefix)}
    )
    ids, bounds, max_len = packed([30])
    with torch.no_grad():
        expected = reference(ids[None]).last_hidden_state[0, -1]
        relevance = torch.sigmoid(expected @ model.relevance.direction.weight[0])
        torch.testing.assert_close(model(ids, bounds, max_len)[1][0, 0], relevance)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("compression_head_type", "ffn"), ("use_multi_layer_fusion", False), ("num_objectives", 2)],
)
def test_other_swepruner_variants_are_refused(tmp_path, setting, value):
    write_swepruner(tmp_path, **{setting: value})
    with pytest.raises(CheckpointError, match=setting):
        load_checkpoint(tmp_path)


def test_swepruner_with_another_backbone(tmp_path):
    tensors = write_swepruner(tmp_path)
    change(tmp_path, **{name: None for name in tensors if "q_norm" in name})
    with pytest.raises(CheckpointError, match=r"q_norm.*isn't a Qwen3"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load_checkpoint(folder)


def test_missing_folder(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere"):
        load_checkpoint(tmp_path / "nowhere")


def test_missing_and_unexpected_tensors_are_named(folder):
    change(folder, **{"heads.norm.weight": None})
    with pytest.raises(CheckpointError, match=r"missing tensors: heads\.norm\.weight"):
        load_checkpoint(folder)
    change(folder, **{"heads.norm.weight": torch.ones(96), "stranger": torch.ones(1)})
    with pytest.raises(CheckpointError, match="unexpected tensors: stranger"):
        load_checkpoint(folder)


def test_wrong_shape_names_both(folder):
    change(folder, **{"heads.norm.weight": torch.ones(95)})
    with pytest.raises(CheckpointError, match=r"heads\.norm\.weight has shape \[95\].*\[96\]"):
        load_checkpoint(folder)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named(folder, bad):
    change(folder, **{"heads.hidden.bias": torch.full((24,), bad)})
    with pytest.raises(CheckpointError, match=r"heads\.hidden\.bias holds NaN"):
        load_checkpoint(folder)


def test_integer_weights(folder):
    change(folder, **{"heads.hidden.bias": torch.zeros(24, dtype=torch.int64)})
    with pytest.raises(CheckpointError, match=r"heads\.hidden\.bias has type torch\.int64"):
        load_checkpoint(folder)


@pytest.mark.parametrize("size", [0, 5, 1000, -1])
def test_truncated_weights(folder, size):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CheckpointError, match="truncated or not a safetensors file"):
        load_checkpoint(folder)


@pytest.mark.parametrize("kind", ["bert", None])
def test_unknown_model_type_names_the_known(folder, kind):
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(CheckpointError, match=r"'lamr' and 'swepruner'"):
        load_checkpoint(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "3"])
def test_config_that_is_none(folder, text):
    (folder / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("fusion_layers", [1, 2, 9], "layers 1 to 2"),
        ("relevance", "maybe", "relevance must be one of"),
        ("relevance", "yes_no", "yes_token_id"),
        ("rubrics", [], "rubrics"),
        ("rubrics", ["a", "a"], "rubrics"),
        ("fusion_heads", 7, "doesn't divide"),
        ("prompt", {"before": ""}, "not a LaMR configuration"),
        ("lexical", {"separator": 1}, "not a LaMR configuration"),
        ("lexical", {"separator_id": 120}, "token id 120: .* 120 entries"),
        ("yes_token_id", -1, "token id -1"),
        ("stranger", 1, "stranger"),
        ("backbone", {"model_type": "no-such-thing"}, "no-such-thing"),
    ],
)
def test_contradictory_config(folder, field, value, message):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(folder)


def test_save_needs_a_tokenizer(tmp_path):
    with pytest.raises(CheckpointError, match="tokenizer"):
        save_checkpoint(bert(), tmp_path, tmp_path / "none.json")


def test_backbone_folder_to_start_from(tmp_path):
    """A Hugging Face folder gives the model its backbone; anything else is refused."""
    model = qwen3()
    model.backbone.save_pretrained(tmp_path / "backbone")
    started = LamrModel.from_backbone(tmp_path / "backbone", model.config)
    torch.testing.assert_close(started.backbone.state_dict(), model.backbone.state_dict())
    assert "_name_or_path" not in started.config.backbone
    with pytest.raises(CheckpointError, match="not a backbone"):
        LamrModel.from_backbone(tmp_path, model.config)


def shard(folder, **renamed):
    """Split the weights into two shards with an index; the index may name other shards."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    path.unlink()
    names = sorted(tensors)
    shards = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, held in shards.items():
        save_file({name: tensors[name] for name in held}, folder / file)
    places = {name: file for file, held in shards.items() for name in held} | renamed
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def test_shards_are_one_checkpoint(folder):
    expected = load_checkpoint(folder).state_dict()
    shard(folder)
    torch.testing.assert_close(load_checkpoint(folder).state_dict(), expected)


def test_shards_that_do_not_fit_their_index(folder):
    shard(folder, stranger="model-00001-of-00002.safetensors")
    with pytest.raises(CheckpointError, match=r"00001-of-00002\.safetensors: missing tensors: stranger"):
        load_checkpoint(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model-00002-of-00002\.safetensors is missing"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "not an index"),
        ("{}", "not an index"),
        ('{"weight_map": {"a": "../model.safetensors"}}', "outside its folder"),
    ],
)
def test_an_index_that_is_none(folder, index, message):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(index)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(folder)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weights_become_float32(folder, dtype):
    path = folder / "model.safetensors"
    halves = {name: value.to(dtype) for name, value in load_file(path).items()}
    save_file(halves, path)
    state = load_checkpoint(folder).state_dict()
    assert {value.dtype for value in state.values()} == {torch.float32}
    torch.testing.assert_close(state, {name: value.float() for name, value in halves.items()})


def test_pickled_weights_are_refused_with_the_remedy(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin is a pickle.*save_file\(torch\.load"):
        load_checkpoint(folder)


def test_a_pointer_to_large_file_storage_is_named(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:37\n")
    with pytest.raises(CheckpointError, match="git lfs pull"):
        load_checkpoint(folder)
