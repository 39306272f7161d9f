"""A causal model's repository is complete, says what it is, computes what PyTorch does, and replaces only its kind."""

import json
import shutil

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from google.protobuf import text_format
from lamr_export import ExportError, causal_repository, export_causal
from lamr_export.causal_model import CausalModel
from lamr_export.causal_source import load_causal
from lamr_export.errors import CheckpointError
from lamr_export.onnx_tracing import causal_to_onnx, save_onnx
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.perplexity.causal_spec import load_causal_spec
from lamr_serving import check_repository
from tritonclient.grpc import model_config_pb2

from tests.repositories.compression.causal_models import VOCAB, write_causal
from tests.traces import traced_once

from .test_causal_model import KINDS, LENGTHS, made

LONGEST = 1024
FILES = [
    "config.pbtxt",
    *(f"1/{name}" for name in ("lamr.json", "model.onnx", "report.json", "tokenizer.json")),
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_causal("qwen2", tmp_path_factory.mktemp("causal") / "small-coder")


@pytest.fixture(scope="module")
def exported(checkpoint, tmp_path_factory):
    root = tmp_path_factory.mktemp("exported") / "repository"
    lines: list[str] = []
    with traced_once(tmp_path_factory):
        report = export_causal(checkpoint, root, max_tokens=LONGEST, progress=lines.append)
    return root, report, lines


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "qwen2"])  # which `exported` compares
def test_the_graph_is_the_model_for_any_architecture(kind, tmp_path) -> None:
    config = KINDS[kind][0]()
    config.num_hidden_layers = 1  # tracing takes seconds a layer
    model = CausalModel(made(config))
    save_onnx(causal_to_onnx(model, 30), tmp_path)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    batch = [random.integers(0, 150, length) for length in LENGTHS]
    feed = encoder_feed(batch)
    with torch.no_grad():
        expected = model(*(torch.from_numpy(each) for each in feed.values())).numpy()
    np.testing.assert_allclose(session.run(None, feed)[0], expected, atol=1e-3, rtol=0)
    batch[2] = batch[2].copy()
    batch[2][5] = 150
    batch.append(random.integers(0, 150, 31))
    found = session.run(None, encoder_feed(batch))[0]
    refused = np.repeat([False, False, True, False, True], [len(ids) for ids in batch])
    assert np.isnan(found[refused]).all()
    kept = ~refused[: len(expected)]
    np.testing.assert_allclose(found[: len(expected)][kept], expected[kept], atol=1e-3, rtol=0)


def test_the_repository_is_complete_and_says_what_it_is(exported, checkpoint) -> None:
    root, report, lines = exported
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()) == [
        f"lamr_perplexity/{name}" for name in sorted(FILES)
    ]
    spec = load_causal_spec(root)
    assert check_repository(root) == spec
    assert (spec.name, spec.vocabulary, spec.max_tokens) == ("small-coder", VOCAB, LONGEST)
    assert json.loads((root / "lamr_perplexity/1/report.json").read_text()) == json.loads(report.to_json())
    assert report.verification.error < 1e-3
    assert report.verification.packed_error < 1e-3
    assert report.verification.tokens > 3000
    assert "small-coder" in report.summary()
    assert [line.split()[0] for line in lines] == ["reading", "tracing", "comparing"]


def test_graph_and_configuration_are_the_contract(exported) -> None:
    root, *_ = exported
    graph = onnx.load(root / "lamr_perplexity/1/model.onnx").graph
    (output,) = graph.output
    assert [dim.dim_param for dim in output.type.tensor_type.shape.dim] == ["tokens"]
    assert graph.name == "lamr_perplexity"
    text = (root / "lamr_perplexity/config.pbtxt").read_text(encoding="utf-8")
    config = text_format.Parse(text, model_config_pb2.ModelConfig())
    assert config.input[0].allow_ragged_batch
    assert config.HasField("dynamic_batching")
    assert [item.target_name[0] for item in config.batch_input] == ["cu_seqlens", "max_len"]
    assert config.batch_output[0].target_name[0] == "log_prob"
    parameters = {key: value.string_value for key, value in config.parameters.items()}
    assert parameters["vocabulary_size"] == str(VOCAB)
    assert parameters["max_sequence_tokens"] == str(LONGEST)


def test_only_its_own_kind_is_replaced(exported, checkpoint, tmp_path, monkeypatch) -> None:
    graph = onnx.load(exported[0] / "lamr_perplexity/1/model.onnx")
    monkeypatch.setattr(causal_repository, "causal_to_onnx", lambda *_: graph)
    out = tmp_path / "out"
    first = export_causal(checkpoint, out, max_tokens=LONGEST)
    (out / "README.md").write_text("mine")
    assert export_causal(checkpoint, out, max_tokens=LONGEST) == first
    assert (out / "README.md").read_text() == "mine"
    named = export_causal(checkpoint, out, max_tokens=LONGEST, name="ours")
    assert (named.name, named.version) == ("ours", first.version)
    (tmp_path / "other" / "src").mkdir(parents=True)
    with pytest.raises(ExportError, match="isn't a model repository"):
        export_causal(checkpoint, tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


def test_a_graph_that_is_wrong_is_not_written(exported, checkpoint, tmp_path, monkeypatch) -> None:
    graph = onnx.load(exported[0] / "lamr_perplexity/1/model.onnx")
    for node in graph.graph.node:
        if node.output[0] == graph.graph.output[0].name:
            node.output[0] = "right"
    graph.graph.node.append(onnx.helper.make_node("Neg", ["right"], [graph.graph.output[0].name]))
    monkeypatch.setattr(causal_repository, "causal_to_onnx", lambda *_: graph)
    with pytest.raises(ExportError, match="the exported model is wrong: log-probabilities differ"):
        export_causal(checkpoint, tmp_path / "out", max_tokens=LONGEST)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_exported_is_refused(checkpoint, tmp_path) -> None:
    for tokens in (0, 4096):
        with pytest.raises(CheckpointError, match="1 to 2048 tokens"):
            export_causal(checkpoint, tmp_path / "out", max_tokens=tokens)
    with pytest.raises(CheckpointError, match="not a folder"):
        export_causal(tmp_path / "nothing", tmp_path / "out")
    (tmp_path / "bare").mkdir()
    with pytest.raises(CheckpointError, match="holds no causal model"):
        export_causal(tmp_path / "bare", tmp_path / "out")
    (tmp_path / "bare" / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is missing"):
        export_causal(tmp_path / "bare", tmp_path / "out")


def test_pickles_and_code_are_not_read(checkpoint, tmp_path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(checkpoint, folder)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"no pickle, and never opened")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin is a pickle, .* convert it"):
        export_causal(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    shutil.copy(checkpoint / "model.safetensors", folder)
    assert (
        load_causal(folder).digest == load_causal(checkpoint).digest
    )  # the pickle beside it counts for nothing
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    foreign = {
        "model_type": "foreign",
        "auto_map": {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.M"},
    }
    (folder / "config.json").write_text(json.dumps(config | foreign), encoding="utf-8")
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match="transformers can load"):
        export_causal(folder, tmp_path / "out")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 64),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0{}"),
        ("config.json", b"{"),
        ("config.json", b'{"model_type": "qwen2", "hidden_size": "x"}'),
        ("config.json", b'{"model_type": "qwen2", "num_attention_heads": 0}'),
        ("config.json", b"[]"),
    ],
)
def test_a_broken_file_is_an_error_with_its_cause(checkpoint, tmp_path, name: str, content: bytes) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(checkpoint, folder)
    (folder / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=r"(?s)broken: .*\(.+\)|broken: \d+ tensors are missing"):
        export_causal(folder, tmp_path / "out")
