"""Batches of Triton requests on one session: each request gets its own answer or its own error."""

import json

import numpy as np
import pytest
from lamr_serving.onnx_backend.backend import OnnxBackend
from lamr_serving.onnx_backend.session import OnnxModelConfig, TensorConfig

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


def test_an_empty_request_fails_alone(pb):
    session = Session()
    responses = OnnxBackend(config(), session, pb).execute([ids(pb, 1), ids(pb), ids(pb, 2)])
    assert "ids is empty" in responses[1].error.message()
    assert responses[1].error.code_number == pb.TritonError.INVALID_ARG
    assert responses[0].tensors["twice"].tolist() == [[2]]
    assert responses[2].tensors["twice"].tolist() == [[4]]
    assert len(session.runs) == 1


def test_only_refused_requests_means_no_run(pb):
    session = Session()
    responses = OnnxBackend(config(), session, pb).execute([ids(pb), ids(pb)])
    assert all(response.error for response in responses)
    assert session.runs == []


def test_a_request_that_breaks_the_run_fails_alone(pb):
    responses = OnnxBackend(config(), Session(), pb).execute([ids(pb, 1), ids(pb, 500), ids(pb, 2)])
    assert "out of data bounds" in responses[1].error.message()
    assert responses[0].tensors["twice"].tolist() == [[2]]
    assert responses[2].tensors["twice"].tolist() == [[4]]


def test_a_wrong_number_of_rows_fails_everybody(pb):
    requests = [ids(pb, 1, outputs=BOTH), ids(pb, 2, 3, outputs=BOTH)]
    responses = OnnxBackend(config(), Session(rows=7), pb).execute(requests)
    assert all("first of shape (7, 1) for 2 rows" in response.error.message() for response in responses)


def test_outputs_are_made_and_sent_only_when_asked_for(pb):
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


def test_a_sequence_over_the_window_fails_alone(pb):
    session = Session()
    model = config(max_sequence_tokens="3")
    responses = OnnxBackend(model, session, pb).execute([ids(pb, 1, 2, 3), ids(pb, 1, 2, 3, 4)])
    assert responses[0].tensors["twice"].tolist() == [[2, 4, 6]]
    assert "4 elements, but the model's window is 3" in responses[1].error.message()
    assert session.runs == [(("twice",), [1, 2, 3])]


def test_a_sequence_with_an_unknown_id_fails_alone(pb):
    session = Session()
    model = config(vocabulary_size="4")
    responses = OnnxBackend(model, session, pb).execute([ids(pb, 1, 4), ids(pb, 0, 3), ids(pb, 2, -1)])
    assert responses[1].tensors["twice"].tolist() == [[0, 6]]
    for response in (responses[0], responses[2]):
        assert "an id outside the vocabulary of 4" in response.error.message()
    assert session.runs == [(("twice",), [0, 3])]


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
