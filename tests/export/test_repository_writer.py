"""A written model repository is complete, loadable and verified, and replaces another one wholly or not at all."""

import dataclasses
import hashlib
import json

import numpy as np
import onnx
import pytest
import torch
from google.protobuf import text_format
from lamr_export import (
    CheckpointError,
    ExportError,
    ServingTerms,
    export_repository,
    repository_writer,
    save_checkpoint,
)
from lamr_export.triton import default_batch_size, default_instances, model_config
from lamr_model.crf import DecoderWeights
from lamr_model.spec import Chunking, load_spec
from lamr_serving import check_repository
from tritonclient.grpc import model_config_pb2

from .conftest import TEXTS
from .models import CHUNKING, bert, write_tokenizer

FILES = {
    "lamr/config.pbtxt",
    "lamr/1/lamr.json",
    "lamr/1/tokenizer.json",
    "lamr_encoder/config.pbtxt",
    "lamr_encoder/1/model.onnx",
    "lamr_encoder/1/report.json",
    "lamr_decoder/config.pbtxt",
    "lamr_decoder/1/model.py",
    "lamr_decoder/1/decoder.npz",
}
PARTS = {f"lamr_encoder/1/{name}" for name in ("part.onnx", "fusion.onnx", "parts.json")}
ALL = [
    ("swepruner", "fp32"),
    ("bert", "fp32"),
    ("bert-plain", "fp32"),
    ("bert-narrow", "int8"),
    ("bert", "int8"),
    ("swepruner", "int8"),
    ("bert-apart", "int8"),
]


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def names(folder):
    return [path.name for path in folder.iterdir()]


def config(root, model):
    return text_format.Parse((root / model / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())


@pytest.fixture
def traced(exported, monkeypatch):
    """Exports the tiny BERT without tracing it again. A test may tamper with `traced.graph`."""
    made = exported("bert")

    class Traced:
        checkpoint = made.checkpoint
        graph = onnx.load(made.onnx)

        def export(self, output, precision="fp32", progress=lambda _: None, **terms):
            given = {"texts": TEXTS[:1], "progress": progress}
            return export_repository(self.checkpoint, output, precision, ServingTerms(**terms), **given)

    result = Traced()
    monkeypatch.setattr(repository_writer.onnx_tracing, "encoder_to_onnx", lambda _: result.graph)
    return result


@pytest.mark.parametrize(("kind", "precision"), ALL)
def test_repository_is_complete_and_belongs_together(exported, kind, precision):
    made = exported(kind, precision)
    assert files(made.root).keys() == FILES | (PARTS if kind == "bert-apart" else set())
    spec = check_repository(made.root)
    digest = hashlib.sha256((made.checkpoint / "tokenizer.json").read_bytes()).hexdigest()
    weights = repository_writer.weights_digest(made.model)
    assert spec == load_spec(made.root) == made.model.config.spec(digest, weights)
    assert not list(made.root.parent.glob(".*"))


def test_weights_that_were_trained_on_make_another_model_of_the_same_version() -> None:
    first, second, third = bert(), bert(), bert()
    with torch.no_grad():
        next(third.parameters()).view(-1)[0] += 1
    specs = [
        each.config.spec("0" * 64, repository_writer.weights_digest(each)) for each in (first, second, third)
    ]
    assert specs[0] == specs[1]
    assert specs[0].version == specs[2].version
    assert specs[0].fingerprint == specs[1].fingerprint != specs[2].fingerprint


@pytest.mark.parametrize(("kind", "precision"), ALL)
def test_report(exported, kind, precision):
    made = exported(kind, precision)
    stored = json.loads((made.root / "lamr_encoder/1/report.json").read_text())
    assert stored == {
        **json.loads(json.dumps(dataclasses.asdict(made.report))),
        "total_bytes": made.report.total_bytes,
    }
    assert stored["files"] == {
        name: len(data) for name, data in files(made.root).items() if not name.endswith("report.json")
    }
    assert (stored["precision"], stored["opset"], stored["fingerprint"]) == (
        precision,
        20,
        load_spec(made.root).fingerprint,
    )
    checked = made.report.verification
    assert checked.decisions > 100
    assert checked.heads_error < 1e-5
    assert checked.packed_error < 1e-5
    if precision == "fp32":
        assert checked.fused_error < 1e-3
        assert checked.fused_relative < 1e-5
        assert checked.changed_percent == 0
        assert checked.moved_percent < 0.5
    else:
        assert checked.fused_error > 1e-3
        if kind != "swepruner":  # its random weights put most tokens within a thousandth of the threshold
            assert checked.changed_percent < 20
        assert 0 < checked.keep_prob_mean_error < 0.01
        assert checked.moved_percent < 20
    steps = ["reading", "scoring", "tracing", *(["calibrating"] if precision == "int8" else []), "comparing"]
    assert [line.split()[0] for line in made.lines] == steps
    assert f"{checked.changed_percent:.2f} %" in made.report.summary()


def test_configurations_are_the_contract(exported):
    root = exported("bert").root
    ensemble, encoder, decoder = (config(root, name) for name in ("lamr", "lamr_encoder", "lamr_decoder"))
    assert (encoder.backend, decoder.backend, ensemble.platform) == ("onnxruntime", "python", "ensemble")
    assert encoder.input[0].allow_ragged_batch
    assert all(tensor.allow_ragged_batch for tensor in decoder.input)
    assert list(encoder.output[0].dims) == list(decoder.input[0].dims) == [-1, 96]
    kinds = [(item.Kind.Name(item.kind), item.target_name[0]) for item in encoder.batch_input]
    assert kinds == [
        ("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "cu_seqlens"),
        ("BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", "max_len"),
    ]
    assert [(item.target_name[0], item.source_input[0]) for item in encoder.batch_output] == [
        ("fused", "input_ids")
    ]
    queue = encoder.dynamic_batching.default_queue_policy
    assert queue.max_queue_size == 0  # a full queue kills Triton 24.10 (docs/lab/survival.md)
    assert queue.default_timeout_microseconds == 2_000_000
    assert queue.TimeoutAction.Name(queue.timeout_action) == "REJECT"
    assert decoder.HasField("dynamic_batching")
    assert not decoder.dynamic_batching.HasField("default_queue_policy")
    groups = [
        (group.count, group.Kind.Name(group.kind)) for m in (encoder, decoder) for group in m.instance_group
    ]
    assert groups == [(2, "KIND_CPU"), (1, "KIND_CPU")]
    assert {model.max_batch_size for model in (ensemble, encoder, decoder)} == {8}
    inside = {tensor.name for tensor in decoder.output} | {"relevance"}
    assert {tensor.name for tensor in ensemble.output} == inside
    parameters = {key: value.string_value for key, value in ensemble.parameters.items()}
    assert parameters == {
        "lamr_fingerprint": load_spec(root).fingerprint,
        "lamr_name": "tiny-bert",
        "lamr_version": "0",
    }


def test_names_are_escaped(exported):
    spec = dataclasses.replace(load_spec(exported("bert").root), name='a "b" \\ $c\n', version="ü")
    parsed = text_format.Parse(model_config("lamr", spec, 96, 8), model_config_pb2.ModelConfig())
    assert parsed.parameters["lamr_name"].string_value == spec.name
    assert parsed.parameters["lamr_version"].string_value == "ü"


def model_of(exported, chunking=None, **options):
    """The encoder's configuration as it is written for these options."""
    spec = load_spec(exported("bert").root)
    spec = dataclasses.replace(spec, chunking=chunking or spec.chunking)
    text = model_config("lamr_encoder", spec, 96, 8, **options)
    return text_format.Parse(text, model_config_pb2.ModelConfig())


def test_only_small_encoders_are_loaded_twice_and_long_windows_make_small_batches(exported):
    assert [default_instances(count) for count in (30_000_000, 600_000_000)] == [2, 1]
    assert model_of(exported, parameters=600_000_000).instance_group[0].count == 1
    windows = (64, 512, 1024, 2048, 8192, 32768)
    assert [default_batch_size(window) for window in windows] == [8, 8, 8, 4, 1, 1]


@pytest.mark.parametrize(
    ("parameters", "window", "seconds"),
    [(21_000_000, 320, 2), (21_000_000, 8192, 60), (600_000_000, 2048, 60), (600_000_000, 512, 60)],
)
def test_chunks_may_wait_longer_for_slow_encoders(exported, parameters, window, seconds):
    config = model_of(exported, Chunking(window, window // 2, 0), parameters=parameters)
    policy = config.dynamic_batching.default_queue_policy
    assert policy.default_timeout_microseconds == seconds * 1_000_000


@pytest.mark.parametrize(("window", "tokens"), [(320, 320), (8192, 2048)])
def test_warm_up_is_a_long_chunk_but_never_minutes(exported, window, tokens):
    config = model_of(exported, Chunking(window, window // 2, 0))
    assert [list(one.inputs["input_ids"].dims) for one in config.model_warmup] == [[tokens]]


@pytest.mark.parametrize(("precision", "provider"), [("fp32", None), ("int8", None), ("bf16", "openvino")])
def test_the_engine_is_asked_for_in_the_configuration(traced, tmp_path, precision, provider):
    report = traced.export(tmp_path / "out", precision)
    encoder = config(tmp_path / "out", "lamr_encoder")
    asked = encoder.optimization.execution_accelerators.cpu_execution_accelerator
    assert [one.name for one in asked] == ([provider] if provider else [])
    assert encoder.parameters["lamr_precision"].string_value == report.precision == precision
    if provider:
        assert json.loads(asked[0].parameters["load_config"]) == {
            "CPU": {"INFERENCE_PRECISION_HINT": precision}
        }


def test_old_repository_is_replaced_and_its_readme_kept(traced, tmp_path):
    out = tmp_path / "a" / "out"
    out.mkdir(parents=True)
    first = traced.export(out, name="ours", max_batch_size=3)
    spec, ensemble = load_spec(out), config(out, "lamr")
    assert (spec.name, spec.version) == ("ours", spec.weights_sha256[:8])
    assert ensemble.parameters["lamr_name"].string_value == "ours"
    assert first.max_batch_size == ensemble.max_batch_size == 3
    (out / "README.md").write_text("about this model")
    (out / "lamr_encoder" / "1" / "stale.bin").write_text("old")
    traced.export(out, "int8")
    assert files(out).keys() == FILES | {"README.md"}
    assert (out / "README.md").read_text() == "about this model"
    assert json.loads((out / "lamr_encoder/1/report.json").read_text())["precision"] == "int8"
    assert names(out.parent) == ["out"]
    assert out.stat().st_mode & 0o755 == 0o755
    (out / "another_model").mkdir()
    with pytest.raises(ExportError, match="another_model"):
        traced.export(out)


@pytest.mark.parametrize("content", ["notes.txt", "src/main.py", "lamr/other.txt"])
def test_other_folders_are_refused_untouched(tmp_path, content):
    path = tmp_path / "home" / content
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(ExportError, match="isn't a model repository"):
        export_repository(tmp_path / "nowhere", tmp_path / "home")
    assert files(tmp_path / "home") == {content: b"mine"}


def wide(folder):
    """A checkpoint whose chunks are longer than its backbone takes."""
    model = bert(chunking=Chunking(window=81, tokens=40, overlap=0))
    save_checkpoint(model, folder / "wide", write_tokenizer(folder / "t.json"))


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        ("nowhere", "out", {}, r"config\.json"),
        ("wide", "out", {}, r"81 tokens.*80 positions"),
        (None, "file", {}, "is a file"),
        (None, "file/out", {}, "can't be written"),
        (None, "out", {"precision": "fp8"}, "fp32, int8, bf16"),
        (None, "out", {"texts": [("w1 " * 70, "w2")]}, "sample text can't be encoded"),
        *(
            (None, "out", {"terms": ServingTerms(**terms)}, message)
            for terms, message in (
                *(({"name": name}, "printable") for name in ("", "  ", "a\nb", "\x1b[2J")),
                ({"scoring": "relative"}, "paper, emission, not 'relative'"),
                ({"chunk_tokens": 65}, "1 to 64 tokens"),
                ({"chunk_tokens": 0}, "1 to 64 tokens"),
            )
        ),
    ],
)
def test_what_cannot_be_exported_says_why_and_leaves_nothing(
    traced, tmp_path, source, target, options, message
):
    (tmp_path / "file").write_text("")
    if source == "wide":
        wide(tmp_path)
    before = sorted(names(tmp_path))
    checkpoint = tmp_path / source if source else traced.checkpoint
    with pytest.raises((ExportError, CheckpointError), match=message):
        export_repository(checkpoint, tmp_path / target, **options)
    assert sorted(names(tmp_path)) == before


def tamper_numbers(graph, by=0.1):
    """Shift one bias, so that everything still runs, but with other results."""
    bias = next(
        t for t in graph.initializer if list(t.dims) == [96] and t.data_type == onnx.TensorProto.FLOAT
    )
    values = onnx.numpy_helper.to_array(bias) + np.eye(96, dtype=np.float32)[5] * np.float32(by)
    bias.CopyFrom(onnx.numpy_helper.from_array(values, bias.name))


def tamper_a_little(graph):
    """Shift it by less than rounding can move a single feature of a network that amplifies it."""
    tamper_numbers(graph, 0.005)


def tamper_rows(graph):
    """Return the features of all tokens but the first."""
    last = next(node for node in graph.node if "fused" in node.output)
    last.output[list(last.output).index("fused")] = "all"
    for name, value in (("one", [1]), ("end", [2**60])):
        graph.initializer.append(onnx.numpy_helper.from_array(np.array(value), name))
    graph.node.append(onnx.helper.make_node("Slice", ["all", "one", "end"], ["fused"]))


def tamper_nan(graph):
    last = next(node for node in graph.node if "fused" in node.output)
    last.output[list(last.output).index("fused")] = "all"
    graph.initializer.append(onnx.numpy_helper.from_array(np.float32(np.nan), "nan"))
    graph.node.append(onnx.helper.make_node("Mul", ["all", "nan"], ["fused"]))


def tamper_operator(graph):
    graph.node[0].op_type = "NoSuchOperator"


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (tamper_numbers, r"differ from PyTorch's, relative to their size, by \d\.\d+e-03 \(allowed 1e-04\)"),
        (tamper_a_little, r"differ from PyTorch's, relative to their size, by \d\.\d+e-04 \(allowed 1e-04\)"),
        (tamper_rows, r"fused has shape \[0, 96\] instead of \[1, 96\]"),
        (tamper_nan, "fused holds NaN"),
        (tamper_operator, "can't load"),
    ],
)
def test_wrong_graph_is_never_shipped(traced, tmp_path, tamper, message):
    """The old repository stays when the new one fails its verification."""
    out = tmp_path / "out"
    traced.export(out)
    before = files(out)
    tamper(traced.graph.graph)
    with pytest.raises(ExportError, match=message):
        traced.export(out)
    assert files(out) == before
    assert names(tmp_path) == ["out"]


def test_swe_pruners_folder_is_served_as_its_service_scores(exported):
    made = exported("swepruner")
    spec = load_spec(made.root)
    assert (spec.scoring.kind, spec.threshold) == ("emission", 0.5)
    assert (spec.chunking.window, spec.chunking.tokens, spec.chunking.cut) == (8192, 8192, "tokens")
    assert not DecoderWeights.load(made.root / "lamr_decoder" / "1" / "decoder.npz").chained
    assert any(
        line.startswith("scoring emission, threshold 0.5; chunks filling the window") for line in made.lines
    )


def test_scoring_and_chunks_can_be_chosen(traced, tmp_path):
    lines: list[str] = []
    chosen = {"emission": (None, "emission"), "paper": (20, "paper")}
    for scoring, (tokens, kind) in chosen.items():
        traced.export(tmp_path / "new" / scoring, scoring=scoring, chunk_tokens=tokens, progress=lines.append)
        spec = load_spec(tmp_path / "new" / scoring)
        assert spec.scoring.kind == kind
        assert spec.chunking.tokens == (tokens or CHUNKING.tokens)
        assert spec.chunking.cut == "lines"
        weights = DecoderWeights.load(tmp_path / "new" / scoring / "lamr_decoder" / "1" / "decoder.npz")
        assert weights.chained == (scoring == "paper")
    assert "scoring paper, threshold 0.4; chunks of 20 tokens, cut at lines" in "\n".join(lines)
