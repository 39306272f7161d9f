"""The thin Triton model around the decoder, with stand-ins for Triton's objects."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from lamr_base.stalls import StallWatch
from lamr_model.crf import Decoder, DecoderWeights

ALL = ("keep", "keep_prob", "rubric_prob", "gate")


@pytest.fixture
def served(fake_triton, tiny, monkeypatch):
    """The model, its decoder, and a function that makes requests."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", fake_triton)
    monkeypatch.setattr(StallWatch, "start", lambda _: None)  # it would end the tests' own process
    path = tiny.root / "lamr_decoder" / "1" / "model.py"
    spec = importlib.util.spec_from_file_location("decoder_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.TritonPythonModel()
    config = {"parameters": {"lamr_fingerprint": {"string_value": "abcd"}}}
    model.initialize(
        {
            "model_repository": str(tiny.root / "lamr_decoder"),
            "model_version": "1",
            "model_config": json.dumps(config),
        }
    )
    weights = DecoderWeights.load(tiny.root / "lamr_decoder" / "1" / "decoder.npz")

    def request(fused, span, outputs=("keep", "keep_prob"), parameters=""):
        inputs = {"fused": fused[None], "document_span": np.array([span], np.int32)}
        return fake_triton.Request(inputs, outputs, parameters)

    return model, Decoder(weights), request


def states(length, seed=0):
    return np.random.default_rng(seed).normal(size=(length, 6)).astype(np.float32)


def test_each_request_gets_what_it_would_get_alone(served):
    model, decoder, request = served
    cases = [(states(9, 1), (2, 8)), (states(4, 2), (0, 4)), (states(30, 3), (29, 30))]
    responses = model.execute([request(fused, span, ALL) for fused, span in cases])
    for response, (fused, (start, end)) in zip(responses, cases, strict=True):
        alone = decoder.decode(fused[start:end], [0, end - start], want_rubrics=True)
        np.testing.assert_array_equal(response.tensors["keep"], alone.keep[None])
        np.testing.assert_allclose(response.tensors["keep_prob"], alone.keep_prob[None], atol=1e-5)
        np.testing.assert_allclose(response.tensors["rubric_prob"], alone.rubric_prob[None], atol=1e-5)
        np.testing.assert_allclose(response.tensors["gate"], alone.gate[None], atol=1e-5)
        assert response.tensors["keep"].dtype == np.uint8


def test_a_request_for_another_model_is_refused_and_others_get_the_outputs_that_they_ask_for(served):
    model, _, request = served
    parameters = ('{"lamr_fingerprint":"abcd"}', '{"lamr_fingerprint":"dcba"}', '{"other":1}', "")
    responses = model.execute([request(states(5), (0, 5), parameters=each) for each in parameters])
    assert [response.error is not None for response in responses] == [False, True, False, False]
    assert "fingerprint is abcd, but the request is for dcba" in responses[1].error.message()
    responses = model.execute([request(states(5), (0, 5)), request(states(5), (0, 5), ("gate",))])
    assert [set(response.tensors) for response in responses] == [{"keep", "keep_prob"}, {"gate"}]


@pytest.mark.parametrize("span", [(0, 6), (-1, 3), (3, 3), (4, 2), (2**31 - 1, 2**31 - 1)])
def test_a_bad_span_fails_alone(served, span):
    model, _, request = served
    responses = model.execute(
        [request(states(5), (0, 5)), request(states(5), span), request(states(5), (1, 2))]
    )
    assert "document_span" in responses[1].error.message()
    assert responses[0].tensors["keep"].shape == (1, 5)
    assert responses[2].tensors["keep"].shape == (1, 1)


def test_states_that_are_not_finite_fail_alone_and_several_rows_are_refused(served, fake_triton):
    model, _, request = served
    broken = states(5)
    broken[3] = np.nan
    responses = model.execute([request(states(5), (0, 5)), request(broken, (0, 5))])
    assert responses[0].error is None
    assert responses[1].error is not None
    model, _, _ = served
    rows = fake_triton.Request(
        {"fused": np.zeros((2, 4, 6), np.float32), "document_span": np.array([[0, 4], [0, 4]], np.int32)},
        ("keep",),
    )
    assert "one request a sequence" in model.execute([rows])[0].error.message()


def test_broken_weights_stop_the_load(served, fake_triton, tiny_copy):
    model, _, _ = served
    path = tiny_copy.root / "lamr_decoder" / "1" / "decoder.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(fake_triton.TritonModelException, match=r"decoder\.npz"):
        model.initialize({"model_repository": str(tiny_copy.root / "lamr_decoder"), "model_version": "1"})
