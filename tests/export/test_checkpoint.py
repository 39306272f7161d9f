"""Checkpoint folders: round trips, SWE-Pruner's layout, and what is said about broken ones."""

import json
import shutil

import pytest
import torch
from lamr_export import CheckpointError, LamrModel, load_checkpoint, save_checkpoint
from safetensors.torch import load_file, save_file

from .models import BUILDERS, bert, packed, qwen3, write_swepruner, write_tokenizer


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
@pytest.mark.parametrize("kind", BUILDERS)
def test_round_trip(kind, tmp_path):
    model = BUILDERS[kind]()
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    save_checkpoint(model, tmp_path / "a", tokenizer)
    loaded = load_checkpoint(tmp_path / "a")
    assert loaded.config == model.config
    assert not loaded.training
    batch = packed([9, 3])
    for ours, theirs in zip(model(*batch), loaded(*batch), strict=True):
        assert torch.equal(ours, theirs)
    torch.testing.assert_close(loaded.state_dict(), model.state_dict(), rtol=0, atol=0)
    save_checkpoint(loaded, tmp_path / "a", tmp_path / "a" / "tokenizer.json")  # in place
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == tokenizer.read_bytes()
    assert load_checkpoint(tmp_path / "a").config == model.config


def test_swepruners_folder_is_the_one_rubric_case(tmp_path):
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
    from transformers import Qwen3Config, Qwen3Model

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


def without(name):
    return lambda folder: (folder / name).unlink()


def tensors(**changed):
    return lambda folder: change(folder, **changed)


def text(content, name="config.json"):
    return lambda folder: (folder / name).write_text(content)


def field(name, value):
    def damage(folder):
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))

    return damage


def cut(size):
    def damage(folder):
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:size])

    return damage


def index(content):
    def damage(folder):
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(content)

    return damage


def pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:37\n"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        *((without(name), name) for name in ("config.json", "model.safetensors", "tokenizer.json")),
        (shutil.rmtree, "checkpoint"),
        (tensors(**{"heads.norm.weight": None}), r"missing tensors: heads\.norm\.weight"),
        (tensors(stranger=torch.ones(1)), "unexpected tensors: stranger"),
        (tensors(**{"heads.norm.weight": torch.ones(95)}), r"heads\.norm\.weight has shape \[95\].*\[96\]"),
        *(
            (tensors(**{"heads.hidden.bias": torch.full((24,), bad)}), r"heads\.hidden\.bias holds NaN")
            for bad in (float("nan"), float("inf"))
        ),
        (
            tensors(**{"heads.hidden.bias": torch.zeros(24, dtype=torch.int64)}),
            r"heads\.hidden\.bias has type torch\.int64",
        ),
        *((cut(size), "truncated or not a safetensors file") for size in (0, 5, 1000, -1)),
        (pickled, r"pytorch_model\.bin is a pickle.*save_file\(torch\.load"),
        (text(POINTER, "model.safetensors"), "git lfs pull"),
        *((index(content), "not an index") for content in ("{", "{}")),
        (index('{"weight_map": {"a": "../model.safetensors"}}'), "outside its folder"),
        *((text(content), r"config\.json") for content in ("", "{", "[]", "3")),
        *((text(json.dumps({"model_type": kind})), "'lamr' and 'swepruner'") for kind in ("bert", None)),
        (field("fusion_layers", [1, 2, 9]), "layers 1 to 2"),
        (field("relevance", "maybe"), "relevance must be one of"),
        (field("relevance", "yes_no"), "yes_token_id"),
        (field("rubrics", []), "rubrics"),
        (field("rubrics", ["a", "a"]), "rubrics"),
        (field("fusion_heads", 7), "doesn't divide"),
        (field("prompt", {"before": ""}), "not a LaMR configuration"),
        (field("lexical", {"separator": 1}), "not a LaMR configuration"),
        (field("lexical", {"separator_id": 120}), "token id 120: .* 120 entries"),
        (field("yes_token_id", -1), "token id -1"),
        (field("stranger", 1), "stranger"),
        (field("backbone", {"model_type": "no-such-thing"}), "no-such-thing"),
    ],
)
def test_a_damaged_folder_is_refused_with_its_cause(folder, damage, message):
    damage(folder)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(folder)


def test_what_a_checkpoint_is_made_of_is_checked(tmp_path):
    with pytest.raises(CheckpointError, match="tokenizer"):
        save_checkpoint(bert(), tmp_path, tmp_path / "none.json")
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


def test_shards_are_one_checkpoint_and_fit_their_index(folder):
    expected = load_checkpoint(folder).state_dict()
    whole = (folder / "model.safetensors").read_bytes()
    shard(folder)
    torch.testing.assert_close(load_checkpoint(folder).state_dict(), expected)
    (folder / "model.safetensors").write_bytes(whole)
    shard(folder, stranger="model-00001-of-00002.safetensors")
    with pytest.raises(CheckpointError, match=r"00001-of-00002\.safetensors: missing tensors: stranger"):
        load_checkpoint(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model-00002-of-00002\.safetensors is missing"):
        load_checkpoint(folder)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weights_become_float32(folder, dtype):
    path = folder / "model.safetensors"
    halves = {name: value.to(dtype) for name, value in load_file(path).items()}
    save_file(halves, path)
    state = load_checkpoint(folder).state_dict()
    assert {value.dtype for value in state.values()} == {torch.float32}
    torch.testing.assert_close(state, {name: value.float() for name, value in halves.items()})
