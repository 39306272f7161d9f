"""Requests become one run and its outputs go back to them, as Triton's C++ backends do it."""

import numpy as np
import pytest
from lamr_serving.onnx_backend.backend import (
    OutputSizeError,
    RequestError,
    assemble,
    batch_input,
    check_request,
    split,
)
from lamr_serving.onnx_backend.session import BatchInput, OnnxModelConfig, TensorConfig

INT64, FP32 = np.dtype(np.int64), np.dtype(np.float32)


def model(inputs, outputs, batch_inputs=(), scatter=None):
    return OnnxModelConfig(
        name="m",
        file="model.onnx",
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        batch_inputs=tuple(batch_inputs),
        scatter=scatter or {},
        parameters={},
        accelerators={},
    )


RAGGED = model(
    [TensorConfig("ids", INT64, (-1,))],
    [TensorConfig("fused", FP32, (-1, 2)), TensorConfig("score", FP32, (1,))],
    [BatchInput("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "cu", np.dtype(np.int32), "ids")],
    {"fused": "ids"},
)


def ids(*values):
    return {"ids": np.array([values], np.int64)}


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_bounds_of_requests(dtype):
    kind = "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"
    tensor = batch_input(BatchInput(kind, "t", np.dtype(dtype), "ids"), [(1, 3), (1, 1), (1, 4)])
    np.testing.assert_array_equal(tensor, [0, 3, 4, 8])
    assert tensor.dtype == dtype


def test_the_longest_request_becomes_a_shape():
    item = BatchInput("BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", "t", FP32, "ids")
    assert batch_input(item, [(1, 3), (1, 7), (1, 4)]).shape == (7,)


def test_ragged_inputs_lie_end_to_end_and_outputs_go_back():
    requests = [ids(1, 2, 3), ids(4), ids(5, 6)]
    feed = assemble(RAGGED, requests)
    np.testing.assert_array_equal(feed["ids"], [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(feed["cu"], [0, 3, 4, 6])
    fused = np.arange(12, dtype=np.float32).reshape(6, 2)
    shares = split(RAGGED, {"fused": fused, "score": np.array([[0.1], [0.2], [0.3]])}, requests)
    np.testing.assert_array_equal(shares[0]["fused"], fused[None, 0:3])
    np.testing.assert_array_equal(shares[1]["fused"], fused[None, 3:4])
    np.testing.assert_array_equal(shares[2]["fused"], fused[None, 4:6])
    assert [share["score"].tolist() for share in shares] == [[[0.1]], [[0.2]], [[0.3]]]


def test_a_single_request_is_not_copied():
    request = ids(1, 2, 3)
    assert np.shares_memory(assemble(RAGGED, [request])["ids"], request["ids"])


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "ids is missing"),
        ({"ids": np.zeros((1, 0), np.int64)}, "ids is empty"),
        ({"ids": np.zeros((2, 4), np.int64)}, "one row, not 2"),
        ({"ids": np.zeros(4, np.int64)}, "1 dimensions where 2 belong"),
        ({"ids": np.zeros((1, 4), np.int32)}, "int32 where int64 belongs"),
    ],
)
def test_requests_that_would_spoil_a_batch(request_, message):
    with pytest.raises(RequestError, match=message):
        check_request(RAGGED, request_)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"fused": np.zeros((5, 2), np.float32)}, "10 values of fused where 12 belong"),
        ({"score": np.zeros((2, 1), np.float32)}, r"score of shape \(2, 1\) for 3 rows"),
    ],
)
def test_outputs_of_another_size_are_refused(outputs, message):
    with pytest.raises(OutputSizeError, match=message):
        split(RAGGED, outputs, [ids(1, 2, 3), ids(4), ids(5, 6)])
