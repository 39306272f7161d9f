"""A causal model's repository is checked before Triton sees it, and the error names the file at fault."""

import dataclasses
import hashlib
import json

import pytest
from lamr_base.errors import ModelMismatchError
from lamr_export.triton import causal_config
from lamr_model.perplexity.causal_spec import (
    CausalSpec,
    causal_files,
    from_parameter,
    load_causal_spec,
    to_parameter,
)
from lamr_serving import ModelRepositoryError, check_repository

TOKENIZER = json.dumps(
    {"version": "1.0", "model": {"type": "WordLevel", "vocab": {"é": 0}, "unk_token": "é"}}
)
SPEC = CausalSpec("tiny", "abc", 50, 512, hashlib.sha256(TOKENIZER.encode()).hexdigest())
FILES = ("config.pbtxt", "1/lamr.json", "1/tokenizer.json", "1/model.onnx")


def write_config(root, spec=SPEC, tokenizer=TOKENIZER):
    (root / "lamr_perplexity" / "config.pbtxt").write_text(causal_config(spec, tokenizer.encode(), 16, 0))


@pytest.fixture
def root(make_repository):
    """A causal model's repository, with any graph in it."""
    made = make_repository()
    folder = causal_files(made.root)
    folder.mkdir(parents=True)
    (folder / "lamr.json").write_text(SPEC.to_json(), encoding="utf-8")
    (folder / "tokenizer.json").write_text(TOKENIZER, encoding="utf-8")
    (made.root / "lamr_encoder" / "1" / "model.onnx").rename(folder / "model.onnx")
    for model in ("lamr", "lamr_encoder", "lamr_decoder"):
        (made.root / model).rename(made.root.parent / f"{model}-away")
    write_config(made.root)
    return made.root


def test_a_whole_repository_passes(root):
    assert check_repository(root) == load_causal_spec(root) == SPEC


def test_one_with_a_pruner_beside_it_passes(root, tiny):
    (root / "lamr").symlink_to(tiny.root / "lamr")
    (root / "lamr_encoder").symlink_to(tiny.root / "lamr_encoder")
    (root / "lamr_decoder").symlink_to(tiny.root / "lamr_decoder")
    assert check_repository(root) == tiny.spec
    (causal_files(root) / "model.onnx").unlink()
    with pytest.raises(ModelRepositoryError, match="lamr_perplexity"):
        check_repository(root)


@pytest.mark.parametrize(
    ("file", "harm"), [*((file, "missing") for file in FILES), *((file, "cut") for file in FILES[:-1])]
)
def test_a_broken_file_is_named(root, file, harm):
    path = root / "lamr_perplexity" / file
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    with pytest.raises(
        ModelRepositoryError, match=r"export the model again|not a model configuration"
    ) as caught:
        check_repository(root)
    assert path.name in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"version": "other"}, {"max_tokens": 9}, {"vocabulary": 9}, {"tokenizer_sha256": "0" * 64}]
)
def test_a_configuration_of_another_model_is_refused(root, change):
    write_config(root, dataclasses.replace(SPEC, **change))
    with pytest.raises(ModelRepositoryError, match="different models"):
        check_repository(root)


def test_another_tokenizer_is_refused(root):
    write_config(root, tokenizer=TOKENIZER + " ")
    with pytest.raises(ModelRepositoryError, match="isn't that of tiny"):
        check_repository(root)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        SPEC.to_json().replace("512", '"512"'),
        SPEC.to_json().replace("50", "0"),
    ],
)
def test_what_is_no_description_is_refused(text):
    with pytest.raises(ModelMismatchError, match="causal model's spec"):
        CausalSpec.from_json(text)


@pytest.mark.parametrize("text", ["", "?", to_parameter(b"other"), to_parameter(TOKENIZER.encode())[:-40]])
def test_what_is_no_tokenizer_is_refused(text):
    with pytest.raises(ModelMismatchError, match="tokenizer"):
        from_parameter(text, SPEC, "host:1")


def test_a_tokenizer_comes_back_as_it_was():
    assert from_parameter(to_parameter(TOKENIZER.encode()), SPEC, "host:1") == TOKENIZER.encode()
