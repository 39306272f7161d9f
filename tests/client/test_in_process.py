"""The in-process transport on a small real ONNX encoder and a real decoder."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from lamr_client import (
    ChunkRequest,
    DeadlineExceededError,
    InProcessTransport,
    LamrError,
    ModelMismatchError,
    Pruner,
)
from lamr_model.crf import Decoder, DecoderWeights
from lamr_model.names import DECODER, ENCODER, ONNX_FILE, WEIGHTS_FILE, version_folder
from onnx import TensorProto, helper, numpy_helper

from tests.tiny import BERT_PROMPT, make_spec, program, wordpiece, write_client_files

VOCABULARY, D, H, K = 400, 6, 5, 2
ENCODER_FILE = version_folder(Path(), ENCODER) / ONNX_FILE
DECODER_FILE = version_folder(Path(), DECODER) / WEIGHTS_FILE


def encoder_model() -> onnx.ModelProto:
    """fused = an embedding of each token; relevance = sigmoid of a number of each sequence's first token."""
    random = np.random.default_rng(0)
    constants = {
        "embedding": random.normal(size=(VOCABULARY, D)).astype(np.float32),
        "worth": random.normal(size=(VOCABULARY, 1)).astype(np.float32),
        "zero": np.array([0], np.int64),
        "last": np.array([-1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["embedding", "input_ids"], ["fused"]),
        helper.make_node("Slice", ["cu_seqlens", "zero", "last"], ["starts"]),
        helper.make_node("Gather", ["input_ids", "starts"], ["first_ids"]),
        helper.make_node("Gather", ["worth", "first_ids"], ["logits"]),
        helper.make_node("Sigmoid", ["logits"], ["relevance"]),
    ]
    graph = helper.make_graph(
        nodes,
        "encoder",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["T"]),
            helper.make_tensor_value_info("cu_seqlens", TensorProto.INT32, ["B1"]),
            helper.make_tensor_value_info("max_len", TensorProto.FLOAT, ["L"]),
        ],
        [
            helper.make_tensor_value_info("fused", TensorProto.FLOAT, ["T", D]),
            helper.make_tensor_value_info("relevance", TensorProto.FLOAT, ["B", 1]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def decoder_weights() -> DecoderWeights:
    random = np.random.default_rng(1)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    return DecoderWeights(
        norm_weight=draw(D),
        norm_bias=draw(D),
        hidden_weight=draw(H, D),
        hidden_bias=draw(H),
        emission_weight=draw(2 * K, H),
        emission_bias=draw(2 * K),
        gate_weight=draw(K, D),
        gate_bias=draw(K),
        rubric_crf_transitions=draw(K, 2, 2),
        rubric_crf_start=draw(K, 2),
        rubric_crf_end=draw(K, 2),
        fused_crf_transitions=draw(2, 2),
        fused_crf_start=draw(2),
        fused_crf_end=draw(2),
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    tokenizer = wordpiece()
    path = write_client_files(tmp_path_factory.mktemp("model"), make_spec(tokenizer, BERT_PROMPT), tokenizer)
    for file in (ENCODER_FILE, DECODER_FILE):
        (path / file).parent.mkdir(parents=True)
    onnx.save(encoder_model(), path / ENCODER_FILE)
    decoder_weights().save(path / DECODER_FILE)
    return path


def requests(lengths, want_rubrics=True):
    random = np.random.default_rng(2)
    return [ChunkRequest(random.integers(0, VOCABULARY, n), (1, n - 1), want_rubrics) for n in lengths]


def test_equals_the_encoder_and_decoder_one_by_one(model):
    embedding = numpy_helper.to_array(encoder_model().graph.initializer[0])
    worth = numpy_helper.to_array(encoder_model().graph.initializer[1])
    decoder = Decoder(decoder_weights())
    asked = requests([30, 3, 200, 17, 90, 55])
    with InProcessTransport(model, max_batch_tokens=128, threads=1) as transport:
        together = transport.infer_many(asked)
        alone = [transport.infer(request) for request in asked]
    for request, *results in zip(asked, together, alone, strict=True):
        code = request.input_ids[1:-1]
        expected = decoder.decode(embedding[code], np.array([0, len(code)]), want_rubrics=True)
        for result in results:
            np.testing.assert_array_equal(result.keep, expected.keep)
            np.testing.assert_allclose(result.keep_prob, expected.keep_prob, atol=1e-5)
            np.testing.assert_allclose(result.rubric_prob, expected.rubric_prob, atol=1e-5)
            np.testing.assert_allclose(result.gate, expected.gate, atol=1e-5)
            assert result.relevance == pytest.approx(
                1 / (1 + np.exp(-worth[request.input_ids[0], 0])), abs=1e-6
            )


def test_rubrics_only_on_demand(model):
    mixed = [requests([9], True)[0], requests([9], False)[0]]
    with InProcessTransport(model) as transport:
        with_rubrics, without = transport.infer_many(mixed)
    assert with_rubrics.rubric_prob.shape == (7, K)
    assert without.rubric_prob is None
    assert without.gate is None


def test_pruner_runs_in_process_and_threads_share_it(model):
    with Pruner(model=model) as pruner:
        expected = pruner.prune("which area?", program(30), path="a.py")
        results = [None] * 4

        def work(i):
            results[i] = pruner.prune("which area?", program(30), path="a.py")

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert expected.relevance is not None
    assert {result.kept_lines for result in results} == {expected.kept_lines}


def test_deadline_between_runs(model):
    with InProcessTransport(model, max_batch_tokens=8) as transport, pytest.raises(DeadlineExceededError):
        transport.infer_many(requests([8] * 5000), 0.05)


def test_closed_transport_says_so(model):
    transport = InProcessTransport(model)
    transport.close()
    transport.close()
    with pytest.raises(LamrError, match="closed"):
        transport.infer(requests([9])[0])


@pytest.mark.parametrize("file", [ENCODER_FILE, DECODER_FILE])
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "garbage"])
def test_damaged_files_are_named(model, tmp_path, file, damage):
    for name in (ENCODER_FILE, DECODER_FILE):
        target = tmp_path / name
        target.parent.mkdir(parents=True)
        target.write_bytes((model / name).read_bytes())
    data = (tmp_path / file).read_bytes()
    broken = {"truncated": data[: len(data) // 2], "empty": b"", "garbage": b"\x00\xff" * 500}
    if damage == "missing":
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(broken[damage])
    with pytest.raises(ModelMismatchError, match=file.name):
        InProcessTransport(tmp_path)


def test_encoder_of_another_contract_is_refused(model, tmp_path):
    for name in (ENCODER_FILE, DECODER_FILE):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes((model / name).read_bytes())
    other = encoder_model()
    other.graph.input[0].name = "tokens"
    for node in other.graph.node:
        node.input[:] = ["tokens" if name == "input_ids" else name for name in node.input]
    onnx.save(other, tmp_path / ENCODER_FILE)
    with pytest.raises(ModelMismatchError, match=r"tokens.*the model takes"):
        InProcessTransport(tmp_path)


def test_unknown_provider_is_named(model):
    with pytest.raises(LamrError, match="NoSuchExecutionProvider"):
        InProcessTransport(model, providers=["NoSuchExecutionProvider"])


def test_without_onnxruntime_the_remedy_is_told(model):
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from lamr_client import Pruner, LamrError\n"
        f"try: Pruner(model={str(model)!r}).warm()\n"
        "except LamrError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install '.[local]'" in done.stdout
