"""The exported graphs, fp32 and int8: what they compute, and what is in the file."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from lamr_export.onnx_tracing import IR_VERSION, OPSET, save_onnx
from lamr_model.crf import Decoder, DecoderWeights

from .conftest import MODELS
from .models import VOCAB, packed

BATCHES = [[1], [64], [1, 1, 1], [2, 63, 1, 17, 40], [64] * 8, [1, 64, 1]]


def session(path, optimize=True):
    options = onnxruntime.SessionOptions()
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(encoder, batch):
    feed = zip(("input_ids", "cu_seqlens", "max_len"), batch, strict=True)
    return encoder.run(["fused", "relevance"], {name: value.numpy() for name, value in feed})


@pytest.mark.parametrize("kind", MODELS)
def test_fp32_is_pytorch(exported, kind):
    made = exported(kind)
    encoder = session(made.onnx)
    for seed, lengths in enumerate(BATCHES):
        batch = packed(lengths, seed=100 + seed)
        with torch.no_grad():
            fused, relevance = made.model(*batch)
        got = run(encoder, batch)
        assert got[0].shape == (sum(lengths), 48 if kind == "bert-narrow" else 96)
        assert got[1].shape == (len(lengths), 1)
        np.testing.assert_allclose(got[0], fused.numpy(), atol=1e-3, rtol=0)
        np.testing.assert_allclose(got[1], relevance.numpy(), atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("kind", "precision"),
    [
        *(("swepruner", "fp32"), ("bert", "fp32"), ("bert", "int8"), ("swepruner", "int8")),
        *(("bert-apart", "fp32"), ("bert-apart", "int8")),
    ],
)
def test_a_request_does_not_depend_on_its_batch(exported, kind, precision):
    encoder = session(exported(kind, precision).onnx)
    ids, bounds, max_len = packed([5, 1, 60, 33, 2], seed=7)
    fused, relevance = run(encoder, (ids, bounds, max_len))
    for index, (start, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        alone = ids[start:end], torch.tensor([0, end - start], dtype=torch.int32), torch.zeros(end - start)
        got = run(encoder, alone)
        np.testing.assert_allclose(fused[start:end], got[0], atol=1e-5)
        np.testing.assert_allclose(relevance[index], got[1][0], atol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("wrong", ["too large", "negative", "too long"])
def test_a_bad_request_fails_alone(exported, precision, wrong):
    """Its features become NaN, which the decoder refuses. Its neighbours get what they would get without it."""
    encoder = session(exported("bert", precision).onnx)
    long = wrong == "too long"  # the window is 64 tokens, the backbone has 80 positions
    ids, bounds, max_len = packed([20, 100 if long else 30, 9], seed=5)
    if not long:
        ids[25] = VOCAB if wrong == "too large" else -1
    fused, relevance = run(encoder, (ids, bounds, max_len))
    start, end = bounds[1], bounds[2]
    assert np.isnan(fused[start:end]).all()
    assert np.isnan(relevance[1]).all()
    others = (
        torch.cat([ids[:start], ids[end:]]),
        torch.tensor([0, 20, 29], dtype=torch.int32),
        torch.zeros(20),
    )
    expected = run(encoder, others)
    np.testing.assert_allclose(np.delete(fused, np.s_[start:end], axis=0), expected[0], atol=1e-5)
    np.testing.assert_allclose(relevance[[0, 2]], expected[1], atol=1e-5)


def test_a_long_request_takes_no_more_attention_than_the_window(exported):
    """A hundred thousand tokens would ask for 40 GB of scores in one head."""
    encoder = session(exported("bert").onnx)
    fused, _ = run(encoder, packed([100_000, 5]))
    assert np.isnan(fused[:-5]).all()
    assert np.isfinite(fused[-5:]).all()


@pytest.mark.parametrize("kind", ["swepruner", "bert"])
def test_int8_is_close_to_pytorch_and_its_products_are_fused_and_exact(exported, kind):
    made = exported(kind, "int8")
    batch = packed([64, 30, 9], seed=3)
    with torch.no_grad():
        fused, relevance = made.model(*batch)
    got = run(session(made.onnx), batch)
    error = np.square(got[0] - fused.numpy()).mean() / np.square(fused.numpy()).mean()
    assert np.sqrt(error) < 0.1
    np.testing.assert_allclose(got[1], relevance.numpy(), atol=0.1)
    path = exported(kind, "int8").onnx
    batch = packed([64, 30, 9], seed=4)
    plain, fused = run(session(path, optimize=False), batch)[0], run(session(path), batch)[0]
    assert np.sqrt(np.square(plain - fused).mean() / np.square(plain).mean()) < 5e-3


@pytest.mark.parametrize(("kind", "precision"), [("swepruner", "fp32"), ("bert", "int8")])
def test_what_the_file_says(exported, kind, precision):
    path = exported(kind, precision).onnx
    model = onnx.load(path)
    onnx.checker.check_model(model)
    assert (model.ir_version, [(entry.domain, entry.version) for entry in model.opset_import]) == (
        IR_VERSION,
        [("", OPSET), *([("com.microsoft", 1)] if precision == "int8" else [])],
    )
    assert {node.domain for node in model.graph.node} == (
        {"", "com.microsoft"} if precision == "int8" else {""}
    )

    def shapes(values):
        return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}

    assert shapes(model.graph.input) == {
        "input_ids": ["tokens"],
        "cu_seqlens": ["bounds"],
        "max_len": ["slots"],
    }
    assert shapes(model.graph.output) == {"fused": ["tokens", 96], "relevance": ["sequences", 1]}
    for trace in (b".py", b"/home", b"/root", b"/tmp", b"site-packages", b"stack_trace"):
        assert trace not in path.read_bytes()


def test_an_int8_file_is_int8_and_graphs_have_no_leftovers_of_tracing(exported):
    model = onnx.load(exported("bert", "int8").onnx)
    sizes = {tensor.name: (tensor.data_type, list(tensor.dims)) for tensor in model.graph.initializer}
    left = [
        name
        for name, (kind, dims) in sizes.items()
        if kind == onnx.TensorProto.FLOAT and len(dims) == 2 and min(dims) >= 16
    ]
    assert left == []
    assert exported("bert", "int8").onnx.stat().st_size < exported("bert").onnx.stat().st_size
    for kind, layers in (("swepruner", 4), ("bert", 2)):
        kinds = [node.op_type for node in onnx.load(exported(kind).onnx).graph.node]
        assert kinds.count("Softmax") == layers + 1
        assert not {"IsNaN", "If", "Loop", "NonZero"} & set(kinds)
        assert kinds.count("Where") <= 3


@pytest.mark.parametrize("kind", MODELS)
def test_decoder_agrees_with_pytorch_heads(exported, kind):
    made = exported(kind)
    weights = DecoderWeights.load(made.root / "lamr_decoder" / "1" / "decoder.npz")
    width = made.model.heads.norm.normalized_shape
    features = torch.nn.functional.layer_norm(torch.randn(200, *width), width) * 2
    with torch.no_grad():
        expected = made.model.heads(features)
    emissions, gate = Decoder(weights).emissions(features.numpy())
    np.testing.assert_allclose(emissions, expected.emissions.numpy(), atol=1e-5)
    np.testing.assert_allclose(gate, expected.gate.numpy(), atol=1e-5)
    chained = not made.model.config.scoring.unchained
    assert chained == (kind != "swepruner")  # whose service scores without the chain
    for name, value in zip(
        ("transitions", "start", "end"), made.model.heads.fused_crf_tensors(), strict=True
    ):
        np.testing.assert_array_equal(getattr(weights.fused_crf, name), value.detach().numpy() * chained)
        own = getattr(made.model.heads.rubric_crf, name).detach().numpy()
        np.testing.assert_array_equal(getattr(weights, f"rubric_crf_{name}"), own)


def test_residual_sums_are_fused_where_that_helps(exported, tmp_path):
    """onnxruntime joins a residual sum with its LayerNorm where the file says the shapes; int8, for CPUs, keeps
    them apart, since the joint operator is slower there."""
    for precision in ("fp32", "int8"):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.optimized_model_filepath = str(tmp_path / f"{precision}.onnx")
        path = str(exported("bert", precision).onnx)
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        kinds = [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]
        assert kinds.count("SkipLayerNormalization") == (2 * 2 + 1 if precision == "fp32" else 0)
        assert kinds.count("MultiHeadAttention") == (0 if precision == "fp32" else 2 * (2 + 1))
        assert kinds.count("MatMulIntegerToFloat") == (6 * 2 + 2 if precision == "int8" else 0)


def test_large_models_keep_their_weights_beside_the_file(exported, tmp_path, monkeypatch):
    from lamr_export import onnx_tracing

    monkeypatch.setattr(onnx_tracing, "_LARGEST_FILE", 1000)
    source = exported("bert").onnx
    save_onnx(onnx.load(source), tmp_path)
    assert (tmp_path / "model.onnx.data").stat().st_mode == (tmp_path / "model.onnx").stat().st_mode
    assert (tmp_path / "model.onnx").stat().st_size < source.stat().st_size / 2
    batch = packed([9, 4])
    for a, b in zip(run(session(tmp_path / "model.onnx"), batch), run(session(source), batch), strict=True):
        np.testing.assert_array_equal(a, b)
