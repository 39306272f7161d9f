"""Requests become one run, whose outputs go back to them; each gets its own answer or its own error."""

import json

import numpy as np
import pytest
from lamr_serving.onnx_backend.backend import (
    OnnxBackend,
    OutputSizeError,
    RequestError,
    assemble,
    batch_input,
    check_request,
    split,
)
from lamr_serving.onnx_backend.session import BatchInput, OnnxModelConfig, TensorConfig

INT64, FP32 = np.dtype(np.int64), np.dtype(np.float32)
BOTH = ("twice", "first")


def config(**parameters):
    return OnnxModelConfig(
        name="m",
        file="model.onnx",
        inputs=(TensorConfig("ids", INT64, (-1,)),),
        outputs=(TensorConfig("twice", FP32, (-1,)), TensorConfig("first", FP32, (1,))),
        batch_inputs=(),
        scatter={"twice": "ids"},
        parameters=parameters,
        accelerators={},
    )


class Session:
    """A session that doubles ids and raises on ids from 100 on, as a gather beyond the vocabulary does."""

    def __init__(self, rows=None):
        self.runs = []
        self._rows = rows

    def __call__(self, names, feed):
        self.runs.append((tuple(names), feed["ids"].tolist()))
        if (feed["ids"] >= 100).any():
            raise RuntimeError("indices element out of data bounds")
        rows = self._rows or len(self.runs[-1][1])
        results = {"twice": feed["ids"] * 2.0, "first": np.arange(rows, dtype=np.float32)[:, None]}
        return [results[name] for name in names]


@pytest.fixture
def pb(fake_triton):
    return fake_triton


def ids(pb, *values, outputs=("twice",)):
    return pb.Request({"ids": np.array([values], np.int64)}, outputs)


def test_a_batch_is_one_run(pb):
    session = Session()
    responses = OnnxBackend(config(), session, pb).execute([ids(pb, 1, 2), ids(pb, 3), ids(pb, 4, 5, 6)])
    assert [response.tensors["twice"].tolist() for response in responses] == [[[2, 4]], [[6]], [[8, 10, 12]]]
    assert session.runs == [(("twice",), [1, 2, 3, 4, 5, 6])]


@pytest.mark.parametrize(
    ("parameters", "bad", "message", "runs"),
    [
        ({}, (), "ids is empty", 1),
        ({"max_sequence_tokens": "3"}, (1, 2, 3, 4), "4 elements, but the model's window is 3", 1),
        ({"vocabulary_size": "4"}, (1, 4), "an id outside the vocabulary of 4", 1),
        ({"vocabulary_size": "4"}, (2, -1), "an id outside the vocabulary of 4", 1),
        ({}, (500,), "out of data bounds", 4),
    ],
)
def test_a_bad_request_fails_alone(pb, parameters, bad, message, runs):
    session = Session()
    requests = [ids(pb, 1, 2), ids(pb, *bad), ids(pb, 3)]
    first, refused, last = OnnxBackend(config(**parameters), session, pb).execute(requests)
    assert message in refused.error.message()
    assert (refused.error.code_number == pb.TritonError.INVALID_ARG) == (runs == 1)
    assert (first.tensors["twice"].tolist(), last.tensors["twice"].tolist()) == ([[2, 4]], [[6]])
    assert len(session.runs) == runs
    assert session.runs[0] == (("twice",), [1, 2, *(bad if runs > 1 else ()), 3])


def test_only_refused_requests_means_no_run(pb):
    session = Session()
    responses = OnnxBackend(config(), session, pb).execute([ids(pb), ids(pb)])
    assert all(response.error for response in responses)
    assert session.runs == []


def test_outputs_are_made_only_when_asked_for_and_a_wrong_number_of_rows_fails_everybody(pb):
    requests = [ids(pb, 1, outputs=BOTH), ids(pb, 2, 3, outputs=BOTH)]
    responses = OnnxBackend(config(), Session(rows=7), pb).execute(requests)
    assert all("first of shape (7, 1) for 2 rows" in response.error.message() for response in responses)
    session = Session(rows=2)
    responses = OnnxBackend(config(), session, pb).execute([ids(pb, 1, outputs=BOTH), ids(pb, 2)])
    assert set(responses[0].tensors) == {"twice", "first"}
    assert set(responses[1].tensors) == {"twice"}
    assert session.runs[0][0] == ("twice", "first")


def test_a_batch_over_the_token_budget_is_split_by_length(pb):
    session = Session()
    lengths = [3, 1, 4, 2, 9, 1]
    requests = [ids(pb, *range(10 * place, 10 * place + length)) for place, length in enumerate(lengths)]
    responses = OnnxBackend(config(max_batch_tokens="6"), session, pb).execute(requests)
    for place, (length, response) in enumerate(zip(lengths, responses, strict=True)):
        assert response.tensors["twice"].tolist() == [[2 * (10 * place + at) for at in range(length)]]
    assert [len(tokens) for _, tokens in session.runs] == [
        4,
        3,
        4,
        9,
    ]  # 1+1+2, then one each; 9 is over the budget


def test_a_request_for_another_model_is_refused(pb):
    def asked(value, fingerprint):
        inputs = {"ids": np.array([[value]], np.int64)}
        return pb.Request(
            inputs, ("twice",), json.dumps({"lamr_fingerprint": fingerprint}) if fingerprint else ""
        )

    model = config(lamr_fingerprint="abcd")
    requests = [asked(1, "abcd"), asked(2, "dcba"), asked(3, None)]
    first, second, third = OnnxBackend(model, Session(), pb).execute(requests)
    assert "is abcd, but the request is for dcba" in second.error.message()
    assert (first.tensors["twice"].tolist(), third.tensors["twice"].tolist()) == ([[2]], [[6]])
    (anyones,) = OnnxBackend(config(), Session(), pb).execute([asked(2, "dcba")])
    assert anyones.tensors["twice"].tolist() == [[4]]


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


def row(*values):
    return {"ids": np.array([values], np.int64)}


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_bounds_of_requests(dtype):
    kind = "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"
    tensor = batch_input(BatchInput(kind, "t", np.dtype(dtype), "ids"), [(1, 3), (1, 1), (1, 4)])
    np.testing.assert_array_equal(tensor, [0, 3, 4, 8])
    assert tensor.dtype == dtype


def test_ragged_inputs_lie_end_to_end_and_outputs_go_back():
    requests = [row(1, 2, 3), row(4), row(5, 6)]
    feed = assemble(RAGGED, requests)
    np.testing.assert_array_equal(feed["ids"], [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(feed["cu"], [0, 3, 4, 6])
    fused = np.arange(12, dtype=np.float32).reshape(6, 2)
    shares = split(RAGGED, {"fused": fused, "score": np.array([[0.1], [0.2], [0.3]])}, requests)
    np.testing.assert_array_equal(shares[0]["fused"], fused[None, 0:3])
    np.testing.assert_array_equal(shares[1]["fused"], fused[None, 3:4])
    np.testing.assert_array_equal(shares[2]["fused"], fused[None, 4:6])
    assert [share["score"].tolist() for share in shares] == [[[0.1]], [[0.2]], [[0.3]]]


def test_bounds_of_requests_and_the_longest_become_shapes():
    item = BatchInput("BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", "t", FP32, "ids")
    assert batch_input(item, [(1, 3), (1, 7), (1, 4)]).shape == (7,)
    request = row(1, 2, 3)
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
        split(RAGGED, outputs, [row(1, 2, 3), row(4), row(5, 6)])
