"""A model repository is checked before Triton sees it, and the error names the file at fault."""

import dataclasses
import json
import os
import re

import numpy as np
import pytest
from lamr_model.crf import DecoderWeights
from lamr_model.names import SPEC_FILE
from lamr_model.rules import Scoring
from lamr_model.spec import client_files, load_spec
from lamr_serving import ModelRepositoryError, check_repository

FILES = (
    "lamr/config.pbtxt",
    "lamr/1/lamr.json",
    "lamr/1/tokenizer.json",
    "lamr_encoder/config.pbtxt",
    "lamr_encoder/1/model.onnx",
    "lamr_decoder/config.pbtxt",
    "lamr_decoder/1/model.py",
    "lamr_decoder/1/decoder.npz",
)


def refused(repository, *parts):
    with pytest.raises(ModelRepositoryError) as caught:
        check_repository(repository.root)
    for part in parts:
        assert part in str(caught.value)


def edit(repository, file, pattern, replacement):
    path = repository.root / file
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"))
    assert count
    path.write_text(text, encoding="utf-8")


def test_a_whole_repository_passes(tiny):
    assert check_repository(tiny.root) == tiny.spec


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file_is_named(tiny_copy, file):
    (tiny_copy.root / file).unlink()
    refused(tiny_copy, str(tiny_copy.root / file), "missing")


@pytest.mark.parametrize("file", [file for file in FILES if not file.endswith((".py", ".pbtxt", ".onnx"))])
def test_a_truncated_file_is_named(tiny_copy, file):
    path = tiny_copy.root / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    refused(tiny_copy, str(path))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("file", FILES)
def test_a_pipe_in_place_of_a_file_is_named_and_never_opened(tiny_copy, file):
    (tiny_copy.root / file).unlink()
    os.mkfifo(tiny_copy.root / file)
    refused(tiny_copy, str(tiny_copy.root / file), "regular file")


@pytest.mark.parametrize("file", ["lamr/1/lamr.json", "lamr/1/tokenizer.json"])
def test_a_deeply_nested_file_is_named(tiny_copy, file):
    (tiny_copy.root / file).write_text("[" * 100_000)
    refused(tiny_copy, str(tiny_copy.root / file))


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ModelRepositoryError, match="not a folder"):
        check_repository(tmp_path / "nothing")


def test_another_models_fingerprint(tiny_copy):
    edit(tiny_copy, "lamr/config.pbtxt", tiny_copy.spec.fingerprint, "0123456789abcdef")
    refused(tiny_copy, "config.pbtxt", "0123456789abcdef", tiny_copy.spec.fingerprint, "different models")


def test_no_fingerprint(tiny_copy):
    edit(tiny_copy, "lamr/config.pbtxt", "lamr_fingerprint", "something_else")
    refused(tiny_copy, "config.pbtxt", "(none)")


def test_another_models_tokenizer(tiny_copy):
    (tiny_copy.root / "lamr/1/tokenizer.json").write_text(json.dumps({"version": "2.0"}))
    refused(tiny_copy, "tokenizer.json is not the tokenizer")


def test_a_configuration_that_does_not_parse_is_named_with_the_place(tiny_copy):
    edit(tiny_copy, "lamr_encoder/config.pbtxt", "max_batch_size: 16", "max_batch_size: many")
    refused(tiny_copy, "lamr_encoder/config.pbtxt", "many")


def test_a_configuration_that_was_cut_within_a_comment_though_the_rest_parses(tiny_copy):
    path = tiny_copy.root / "lamr_encoder/config.pbtxt"
    path.write_text(path.read_text() + "# Batches fill while the one before th")
    refused(tiny_copy, "lamr_encoder/config.pbtxt", "has been cut")


def test_the_named_onnx_file_is_the_one_that_counts(tiny_copy):
    edit(tiny_copy, "lamr_encoder/config.pbtxt", r"\Z", '\ndefault_model_filename: "int8.onnx"')
    refused(tiny_copy, "int8.onnx")
    (tiny_copy.root / "lamr_encoder/1/model.onnx").rename(tiny_copy.root / "lamr_encoder/1/int8.onnx")
    check_repository(tiny_copy.root)


@pytest.mark.parametrize("names", ["rubrics", "width"])
def test_a_decoder_of_another_size(tiny_copy, names):
    path = tiny_copy.root / "lamr_decoder/1/decoder.npz"
    arrays = dict(np.load(path))
    if names == "width":
        widths = {"norm.weight": 0, "norm.bias": 0, "hidden.weight": 1, "gate.weight": 1}
        arrays.update({name: np.repeat(arrays[name], 2, axis) for name, axis in widths.items()})
    else:
        for name in ("emission.weight", "emission.bias", "gate.weight", "gate.bias"):
            arrays[name] = np.repeat(arrays[name], 2, 0)
        for name in ("transitions", "start", "end"):
            arrays[f"rubric_crf.{name}"] = np.repeat(arrays[f"rubric_crf.{name}"], 2, 0)
    np.savez(path, **arrays)
    refused(tiny_copy, str(path), "4 rubrics" if names == "rubrics" else "12 features")


def test_a_chain_where_the_scoring_wants_none(tiny_copy):
    spec = load_spec(tiny_copy.root)
    free = dataclasses.replace(spec, scoring=Scoring("emission"))
    (client_files(tiny_copy.root) / SPEC_FILE).write_text(free.to_json(), encoding="utf-8")
    edit(tiny_copy, "lamr/config.pbtxt", spec.fingerprint, free.fingerprint)
    path = tiny_copy.root / "lamr_decoder/1/decoder.npz"
    weights = DecoderWeights.load(path)
    dataclasses.replace(weights, fused_crf_start=np.ones(2, np.float32)).save(path)
    refused(tiny_copy, str(path), "with a chain", "--scoring emission")
    weights.without_chain().save(path)
    check_repository(tiny_copy.root)
