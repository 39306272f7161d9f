"""A model repository is checked before Triton sees it, and the error names the file at fault."""

import dataclasses
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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_missing_damaged_or_a_pipe_is_named(tiny_copy, file):
    path = tiny_copy.root / file
    damages = {}
    if not file.endswith((".py", ".pbtxt", ".onnx")):
        damages = {path.read_bytes()[: path.stat().st_size * 2 // 3]}
    if file.endswith(".json"):
        damages |= {b"[" * 100_000}
    for content in damages:
        path.write_bytes(content)
        refused(tiny_copy, str(path))
    path.unlink()
    refused(tiny_copy, str(path), "missing")
    os.mkfifo(path)  # never opened
    refused(tiny_copy, str(path), "regular file")


def test_a_whole_repository_passes_and_a_folder_that_is_none_does_not(tiny, tmp_path):
    assert check_repository(tiny.root) == tiny.spec
    with pytest.raises(ModelRepositoryError, match="not a folder"):
        check_repository(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("file", "old", "new", "messages"),
    [
        (
            "lamr/config.pbtxt",
            r'"[0-9a-f]{16}"',
            '"0123456789abcdef"',
            ("0123456789abcdef", "{own}", "different models"),
        ),
        ("lamr/config.pbtxt", "lamr_fingerprint", "something_else", ("(none)",)),
        ("lamr/1/tokenizer.json", "1.0", "2.0", ("is not the tokenizer",)),
        ("lamr_encoder/config.pbtxt", "max_batch_size: 16", "max_batch_size: many", ("many",)),
        ("lamr_encoder/config.pbtxt", r"\Z", "# Batches fill while the one before th", ("has been cut",)),
    ],
    ids=["another fingerprint", "no fingerprint", "another tokenizer", "unreadable", "cut within a comment"],
)
def test_what_belongs_to_another_model_or_cant_be_read_is_named(tiny_copy, file, old, new, messages):
    edit(tiny_copy, file, old, new)
    refused(tiny_copy, file, *(each.format(own=tiny_copy.spec.fingerprint) for each in messages))


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
