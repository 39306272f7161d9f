"""The quantizer on graphs small enough to check by hand, and weights as levels whose errors cancel."""

import numpy as np
import onnx
import onnxruntime
import pytest
from lamr_export.integer_graph import LONG_VECTOR, WEIGHT_LEVELS, gptq_levels
from lamr_export.quantize import quantize_encoder
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(0)


def graph(nodes, weights, width, integer_input=False):
    kind = TensorProto.INT64 if integer_input else TensorProto.FLOAT
    return helper.make_model(
        helper.make_graph(
            nodes,
            "test",
            [helper.make_tensor_value_info("x", kind, ["T"] if integer_input else ["T", width])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, name) for name, value in weights.items()],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )


def run(model, x):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["y"], {"x": x})[0]


def linear(kind="MatMul", shape=(64, 32), bias=True):
    weights = {"w": RANDOM.normal(size=shape).astype(np.float32)}
    if kind == "MatMul":
        return graph([helper.make_node("MatMul", ["x", "w"], ["y"])], weights, shape[0])
    weights = {
        "w": np.ascontiguousarray(weights["w"].T),
        "b": RANDOM.normal(size=shape[1]).astype(np.float32),
    }
    names = ["x", "w", "b"] if bias else ["x", "w"]
    return graph([helper.make_node("Gemm", names, ["y"], transB=1)], weights, shape[0])


@pytest.mark.parametrize("model", [linear(), linear("Gemm"), linear("Gemm", bias=False)])
def test_products_stay_within_rounding(model):
    x = RANDOM.normal(size=(50, 64)).astype(np.float32) * np.exp(RANDOM.normal(size=(50, 1)) * 3).astype(
        np.float32
    )
    x[7] = 0
    got, expected = run(quantize_encoder(model), x), run(model, x)
    # A row's rounding is half a step of 1/127 of its largest value; a column's half a step of 1/63 of its own.
    bound = np.abs(x).max(1, keepdims=True) * (0.5 / 127 + 0.5 / WEIGHT_LEVELS) * 64 * 4 + 1e-6
    assert (np.abs(got - expected) < bound).all()
    relative = np.linalg.norm(got - expected, axis=1) / np.maximum(np.linalg.norm(expected, axis=1), 1e-9)
    assert np.delete(relative, 7).max() < 0.05
    np.testing.assert_array_equal(got[7], expected[7])


def test_every_row_has_its_own_scale_and_the_largest_values_do_not_saturate():
    model = quantize_encoder(linear())
    x = RANDOM.normal(size=(4, 64)).astype(np.float32)
    loud = np.concatenate([x, 1000 * x])
    np.testing.assert_array_equal(run(model, loud)[:4], run(model, x))
    model = graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": np.full((64, 16), 2, np.float32)}, 64
    )
    x = np.full((3, 64), 5, np.float32)
    np.testing.assert_allclose(run(quantize_encoder(model), x), np.full((3, 16), 640, np.float32), rtol=1e-5)


def test_a_shared_input_is_quantized_once():
    weights = {name: RANDOM.normal(size=(32, 32)).astype(np.float32) for name in ("a", "b")}
    nodes = [helper.make_node("MatMul", ["x", name], [f"{name}y"]) for name in weights]
    model = quantize_encoder(graph([*nodes, helper.make_node("Add", ["ay", "by"], ["y"])], weights, 32))
    assert [node.op_type for node in model.graph.node].count("QuantizeLinear") == 1


def test_embeddings_have_a_scale_a_row_long_vectors_are_halved_and_short_ones_kept():
    table = (
        RANDOM.normal(size=(300, 32)).astype(np.float32) * np.logspace(-3, 1, 300, dtype=np.float32)[:, None]
    )
    table[5] = 0
    model = graph([helper.make_node("Gather", ["w", "x"], ["y"])], {"w": table}, 0, integer_input=True)
    ids = np.arange(300)
    got = run(quantize_encoder(model), ids)
    assert (np.abs(got - table) <= np.abs(table).max(1, keepdims=True) * 0.51 / 127 + 3.2e-5).all()
    np.testing.assert_array_equal(got[5], table[5])
    for size, kind in ((LONG_VECTOR, TensorProto.FLOAT16), (LONG_VECTOR - 1, TensorProto.FLOAT)):
        values = RANDOM.uniform(size=size).astype(np.float32)
        model = graph([helper.make_node("Gather", ["w", "x"], ["y"])], {"w": values}, 0, integer_input=True)
        quantized = quantize_encoder(model)
        assert [tensor.data_type for tensor in quantized.graph.initializer] == [kind]
        np.testing.assert_allclose(run(quantized, np.arange(size)), values, rtol=1e-3)


def test_narrow_matrices_and_the_argument_are_left_alone():
    model = linear(shape=(64, 8))
    before = model.SerializeToString()
    assert quantize_encoder(model).graph.node[0].op_type == "MatMul"
    quantize_encoder(linear())
    assert model.SerializeToString() == before
    assert onnx.load_from_string(before).graph.initializer[0].data_type == TensorProto.FLOAT


def batches(x, parts=4):
    return [{"x": part} for part in np.array_split(x, parts)]


def test_calibrated_products_take_constant_scales_and_their_bias():
    x = RANDOM.normal(size=(400, 64)).astype(np.float32)
    x[:, 5] *= 20  # one loud channel, as transformers have
    model = linear("Gemm")
    quantized = quantize_encoder(model, batches(x))
    assert [node.op_type for node in quantized.graph.node] == [
        "Mul",
        "QuantizeLinear",
        "MatMulIntegerToFloat",
    ]
    got, expected = run(quantized, x), run(model, x)
    assert np.linalg.norm(got - expected) < 0.03 * np.linalg.norm(expected)


def test_weights_are_rounded_for_the_inputs_that_were_seen():
    x = (RANDOM.normal(size=(2_000, 8)) @ RANDOM.normal(size=(8, 64))).astype(np.float32)
    model = linear("Gemm")

    def error(quantized, inputs):
        return np.linalg.norm(run(quantized, inputs) - run(model, inputs))

    seen, unseen = np.split(x, 2)
    noise = RANDOM.normal(size=(1_000, 64)).astype(np.float32)
    # The probes give both room for the same inputs; only the levels of the weights differ.
    fitted, blind = (quantize_encoder(model, batches(each), batches(seen)) for each in (seen, noise))
    assert error(fitted, unseen) < 0.8 * error(blind, unseen)


def test_loud_channels_of_a_narrowing_product_are_exact():
    weights = {"w": RANDOM.normal(size=(256, 64)).astype(np.float32), "b": np.ones(64, np.float32)}
    weights["w"][17] *= 8
    model = graph([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], weights, 256)
    x = RANDOM.normal(size=(400, 256)).astype(np.float32)
    x[:, 17] *= 0.01
    x[::20, 17] = 40  # as a first token has
    quantized = quantize_encoder(model, batches(x))
    kinds = [node.op_type for node in quantized.graph.node]
    assert kinds == ["Mul", "QuantizeLinear", "MatMulIntegerToFloat", "Gather", "MatMul", "Add"]
    (loud,) = (tensor for tensor in quantized.graph.initializer if tensor.name == "x/loud")
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(loud), [17])
    # Nobody asked how far it goes: what is multiplied in float32 can't leave its range.
    x[0, 17] = 4_000
    got, expected = run(quantized, x), run(model, x)
    assert np.linalg.norm(got[1:] - expected[1:]) < 0.02 * np.linalg.norm(expected[1:])
    np.testing.assert_allclose(got[0], expected[0], rtol=0.01, atol=3)


def test_constant_scales_leave_neighbours_alone_and_rows_that_differ_in_loudness_have_their_own():
    x = RANDOM.normal(size=(40, 64)).astype(np.float32)
    model = quantize_encoder(linear("Gemm"), batches(x))
    np.testing.assert_array_equal(run(model, np.concatenate([x, 1000 * x]))[:40], run(model, x))
    x = RANDOM.normal(size=(400, 64)).astype(np.float32)
    x[::100] *= 1000
    kinds = [node.op_type for node in quantize_encoder(linear(), batches(x)).graph.node]
    assert "MatMulIntegerToFloat" not in kinds


def test_a_following_bias_is_taken_in_and_a_residual_is_not_fused_with_its_norm():
    weights = {"w": RANDOM.normal(size=(64, 64)).astype(np.float32)}
    weights |= {name: RANDOM.normal(size=64).astype(np.float32) for name in ("b", "gain", "shift")}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["linear"]),
        helper.make_node("Add", ["linear", "x"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "gain", "shift"], ["y"]),
    ]
    x = RANDOM.normal(size=(200, 64)).astype(np.float32)
    model = graph(nodes, weights, 64)
    quantized = quantize_encoder(model, batches(x))
    kinds = [node.op_type for node in quantized.graph.node]
    assert kinds == ["Mul", "QuantizeLinear", "MatMulIntegerToFloat", "Sum", "LayerNormalization"]
    got, expected = run(quantized, x), run(model, x)
    assert np.linalg.norm(got - expected) < 0.03 * np.linalg.norm(expected)


MOST_LEVELS = 63


@pytest.fixture
def weight(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(200, 48)).astype(np.float32)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def scale_of(weight: np.ndarray) -> np.ndarray:
    return np.abs(weight).max(axis=0) / MOST_LEVELS


def off(inputs: np.ndarray, weight: np.ndarray, levels: np.ndarray) -> float:
    return float(np.linalg.norm(inputs @ (levels * scale_of(weight)) - inputs @ weight))


def rounded(weight: np.ndarray) -> np.ndarray:
    return np.rint(weight / scale_of(weight))


def test_channels_that_move_together_make_up_for_each_other(
    rng: np.random.Generator, weight: np.ndarray
) -> None:
    hidden = rng.normal(size=(3_000, 20))
    inputs = (hidden @ rng.normal(size=(20, 200)) + 0.1 * rng.normal(size=(3_000, 200))).astype(np.float32)
    seen, unseen = np.split(inputs, 2)
    levels = gptq_levels(weight, scale_of(weight), seen.T @ seen, MOST_LEVELS)
    assert off(unseen, weight, levels) < 0.3 * off(unseen, weight, rounded(weight))


def test_channels_that_have_nothing_in_common_are_rounded_by_themselves(weight: np.ndarray) -> None:
    levels = gptq_levels(weight, scale_of(weight), np.diag(np.arange(1, 201)).astype(np.float32), MOST_LEVELS)
    np.testing.assert_array_equal(levels, rounded(weight))


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_fewer_samples_than_channels_and_silent_channels_do_no_harm(
    rng: np.random.Generator, weight: np.ndarray, rows: int
) -> None:
    inputs = rng.normal(size=(rows, 200)).astype(np.float32)
    inputs[:, 50:100] = 0
    levels = gptq_levels(weight, scale_of(weight), inputs.T @ inputs, MOST_LEVELS)
    others = rng.normal(size=(500, 200)).astype(np.float32)
    assert off(others, weight, levels) < 2 * off(others, weight, rounded(weight))
    np.testing.assert_array_equal(levels[50:100], rounded(weight)[50:100])


def test_levels_stay_within_bounds_and_the_gram_as_it_is(
    rng: np.random.Generator, weight: np.ndarray
) -> None:
    inputs = np.repeat(rng.normal(size=(500, 1)), 200, axis=1).astype(np.float32)
    levels = gptq_levels(weight, scale_of(weight), inputs.T @ inputs, MOST_LEVELS)
    assert levels.dtype == np.int8
    assert np.abs(levels).max() == MOST_LEVELS
    inputs = rng.normal(size=(300, 200)).astype(np.float32)
    gram = inputs.T @ inputs
    before = gram.copy()
    gptq_levels(weight, scale_of(weight), gram, MOST_LEVELS)
    np.testing.assert_array_equal(gram, before)
