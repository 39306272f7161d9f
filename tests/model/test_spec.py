"""`lamr.json` reads back equal, and says which file is broken."""

import dataclasses
import json
import os
from functools import partial

import pytest
from lamr_client import ModelMismatchError, ModelSpec, Scoring, load_spec
from lamr_model.encoding import PromptEncoder
from lamr_model.names import SPEC_FILE, TOKENIZER_FILE
from lamr_model.spec import client_files, typed

from tests.tiny import QWEN_PROMPT, lines_scoring, make_spec, wordpiece, write_client_files


@pytest.fixture
def spec() -> ModelSpec:
    return make_spec(
        wordpiece(), QWEN_PROMPT, scoring=lines_scoring(bias=-1.0, shares=(0.2, 0.5)), threshold=0.3
    )


def test_fields_are_checked_by_their_types():
    @dataclasses.dataclass
    class Strange:
        field: set[int]

    with pytest.raises(KeyError, match="set"):
        typed(Strange({1}))


def test_a_digest_of_weights_reads_back_equal_and_appears_only_where_it_is(spec):
    trained = dataclasses.replace(spec, weights_sha256="1" * 64)
    assert ModelSpec.from_json(trained.to_json()) == trained
    assert "weights_sha256" not in spec.to_json()
    with pytest.raises(ModelMismatchError, match="weights_sha256 must be str"):
        ModelSpec.from_json(json.dumps(json.loads(spec.to_json()) | {"weights_sha256": 1}))


def test_json_and_file_read_back_equal(spec, tmp_path):
    assert ModelSpec.from_json(spec.to_json()) == spec
    assert load_spec(write_client_files(tmp_path / "model", spec, wordpiece())) == spec


@pytest.mark.parametrize(
    ("field", "value", "changes"),
    [
        ("name", "other", True),
        ("version", "2", True),
        ("tokenizer_sha256", "0" * 64, True),
        ("prompt", dataclasses.replace(QWEN_PROMPT, after="."), True),
        ("rubrics", ("semantic",), True),
        ("weights_sha256", "1" * 64, True),
        ("threshold", 0.9, False),  # a matter of the client's alone: the served model stays the same
        ("scoring", Scoring(), False),
    ],
)
def test_fingerprint_covers_what_the_server_must_share(spec, field, value, changes):
    assert (dataclasses.replace(spec, **{field: value}).fingerprint != spec.fingerprint) == changes


def lines(**rule) -> dict:
    """A scoring of lines as JSON has it."""
    return {"kind": "lines", "asked": {}, "told": rule}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data | {"format": 1}, "format 1, but this lamr reads format 2"),
        (lambda data: {key: data[key] for key in data if key != "prompt"}, "not a model spec.*prompt"),
        (lambda data: data | {"unknown": 1}, "not a model spec.*unknown"),
        (lambda data: data | {"chunking": {"window": 8, "tokens": 9, "overlap": 0}}, "tokens <= window"),
        (lambda data: data | {"scoring": {"kind": "magic"}}, "magic"),
        (lambda data: [1], "not a model spec"),
        (lambda data: "[" * 100_000, "not a model spec"),
        (lambda data: data | {"name": 5}, "name must be str"),
        (lambda data: data | {"rubrics": [1, 2], "scoring": {}}, "rubrics must be"),
        (lambda data: data | {"threshold": None}, "not a model spec"),
        (lambda data: data | {"threshold": "0.4"}, "not a model spec"),
        (lambda data: data | {"threshold": True}, "threshold must be float"),
        (lambda data: data | {"threshold": float("nan")}, "from 0 to 1, not nan"),
        (lambda data: data | {"threshold": 7}, "from 0 to 1, not 7"),
        (lambda data: data | {"threshold": -0.1}, "from 0 to 1"),
        (lambda data: data | {"prompt": dict.fromkeys(data["prompt"], 1)}, "before must be str"),
        (lambda data: data | {"chunking": {"window": 8.5, "tokens": 8, "overlap": 0}}, "window must be int"),
        (lambda data: data | {"scoring": lines(bias=float("inf"))}, "bias must be float"),
        (lambda data: data | {"scoring": lines(bias="x")}, "bias must be float"),
        (lambda data: data | {"scoring": lines(depth=1)}, "not a model spec.*depth"),
        (lambda data: data | {"scoring": {"kind": "lines", "asked": 5, "told": {}}}, "not a model spec"),
        (lambda data: data | {"scoring": {"kind": "lines"}}, "has the rules"),
        (lambda data: data | {"scoring": lines(shares=[0.5, 0.2])}, "must rise"),
        (lambda data: data | {"scoring": lines(shares=[0.5, float("nan")])}, "must rise"),
        (lambda data: data | {"scoring": lines(shares=5)}, "not a model spec"),
        (lambda data: data | {"scoring": lines(presence={"weights": {"best": "x"}})}, "weights must be"),
        (lambda data: data | {"scoring": lines(presence={"weights": {"magic": 1.0}})}, "magic"),
    ],
)
def test_broken_specs_are_refused(spec, damage, message):
    data = damage(json.loads(spec.to_json()))
    with pytest.raises(ModelMismatchError, match=message):
        ModelSpec.from_json(data if isinstance(data, str) else json.dumps(data))


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b'{"format": 1, "name"'])
def test_broken_files_are_named(tmp_path, content):
    folder = client_files(tmp_path)
    folder.mkdir(parents=True)
    if content is not None:
        (folder / SPEC_FILE).write_bytes(content)
    with pytest.raises(ModelMismatchError, match=r"lamr\.json"):
        load_spec(tmp_path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "sparse giant"])
@pytest.mark.parametrize("name", [SPEC_FILE, TOKENIZER_FILE])
def test_only_regular_files_of_a_sane_size_are_read(spec, tmp_path, name, kind):
    root = write_client_files(tmp_path / "model", spec, wordpiece())
    path = client_files(root) / name
    if kind == "sparse giant":
        os.truncate(path, 1 << 40)
    else:
        path.unlink()
        {"pipe": os.mkfifo, "device": partial(os.symlink, "/dev/zero"), "folder": os.mkdir}[kind](path)
    with pytest.raises(ModelMismatchError, match=name):
        PromptEncoder.from_repository(root)
