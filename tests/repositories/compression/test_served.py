"""A causal model on a real Triton answers as PyTorch does, and what it is asked wrongly ends in errors with a name."""

import contextlib
import dataclasses
import queue
import shutil
import threading

import numpy as np
import psutil
import pytest
from lamr_client import (
    DeadlineExceededError,
    InvalidInputError,
    ModelMismatchError,
    ServerUnavailableError,
    TritonScorer,
    bundled_repository,
)
from lamr_client.triton_wire import input_tensor
from lamr_export.triton import causal_config
from lamr_model.names import INPUT_IDS, LOG_PROB, PERPLEXITY, config_file
from lamr_model.perplexity.causal_spec import causal_files, load_causal_spec
from lamr_repositories.compression import CompressionOptions, compress
from lamr_serving import ServerOptions, TritonServer
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from .causal_models import SAMPLE, VOCAB

LENGTHS = (1, 2, 700, 3, 2048, 64, 65, 1, 300)
QUESTION = "How long does a retry wait?"


@pytest.fixture(scope="module")
def scorer(causal_server):
    with TritonScorer(causal_server.addresses.grpc, timeout=300) as made:
        yield made


@pytest.fixture(scope="module")
def raw(causal_server):
    client = InferenceServerClient(causal_server.addresses.grpc)
    yield client
    client.close()


def sequences(seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.integers(0, VOCAB, length) for length in LENGTHS]


def test_mixed_lengths_score_as_by_pytorch(causal_scorer, scorer) -> None:
    expected = causal_scorer("llama").log_probs(sequences())
    found = scorer.log_probs(sequences())
    assert [len(each) for each in found] == list(LENGTHS)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-3, rtol=0)
        assert ours[0] == 0
    assert min(each.min() for each in found) < -5
    assert scorer.log_probs([]) == []


def test_callers_at_once_get_their_own(causal_scorer, scorer) -> None:
    answers: dict[int, list[np.ndarray]] = {}

    def ask(seed: int) -> None:
        answers[seed] = scorer.log_probs(sequences(seed))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, found in answers.items():
        for ours, theirs in zip(found, causal_scorer("llama").log_probs(sequences(seed)), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-3, rtol=0)
    assert len(answers) == 3


def test_the_server_says_what_a_client_needs(causal_scorer, scorer) -> None:
    local = causal_scorer("llama")
    assert scorer.tokenizer.to_str() == local.tokenizer.to_str()
    assert scorer.tokenizer.encode("<|end|>").ids == local.tokenizer.encode("<|end|>").ids
    assert (scorer.max_tokens, scorer.spec.vocabulary) == (local.max_tokens, VOCAB)
    assert scorer.spec.version == local.key


@pytest.mark.parametrize("options", [{"rate": 0.5, "fine_ratio": 0.5, "min_lines": 2}, {"rank_only": True}])
def test_the_same_code_is_chosen(causal_scorer, scorer, options) -> None:
    local, served = (
        compress(SAMPLE, QUESTION, each, CompressionOptions(**options), path="sample.py")
        for each in (causal_scorer("llama"), scorer)
    )
    assert served.order == local.order
    assert [each.kept_lines for each in served.chunks] == [each.kept_lines for each in local.chunks]
    assert served.text == local.text != SAMPLE


@pytest.mark.parametrize(
    ("ids", "message"),
    [([], "0 tokens"), ([1] * 2049, "2049 tokens"), ([3, VOCAB], "vocabulary"), ([-1, 3], "vocabulary")],
)
def test_the_client_refuses_what_the_model_cannot_take(scorer, ids, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        scorer.log_probs([np.array([1, 2, 3]), np.array(ids, np.int64)])


@pytest.mark.parametrize(
    ("ids", "message"),
    [([], "empty"), ([1] * 2049, "2048"), ([3, VOCAB], "vocabulary of 320"), ([-1, 3], "vocabulary of 320")],
)
def test_the_server_refuses_it_from_strangers_and_goes_on(causal_scorer, scorer, raw, ids, message) -> None:
    tensor = input_tensor(INPUT_IDS, np.array(ids, np.int64), "INT64", batched=True)
    with pytest.raises(InferenceServerException, match=message):
        raw.infer(PERPLEXITY, [tensor])
    good = np.arange(9)
    np.testing.assert_allclose(
        scorer.log_probs([good])[0], causal_scorer("llama").log_probs([good])[0], atol=1e-3
    )


def test_other_requests_do_not_reach_the_model(raw) -> None:
    two = input_tensor(INPUT_IDS, np.ones((2, 3), np.int64), "INT64", batched=False)
    words = input_tensor(INPUT_IDS, np.ones(3, np.float32), "FP32", batched=True)
    for tensors in ([two], [words], []):
        with pytest.raises(InferenceServerException):
            raw.infer(PERPLEXITY, tensors)
    ids = input_tensor(INPUT_IDS, np.arange(4), "INT64", batched=True)
    assert raw.infer(PERPLEXITY, [ids]).as_numpy(LOG_PROB).shape == (1, 4)


def test_no_answer_in_time_has_its_name(causal_server) -> None:
    with (
        TritonScorer(causal_server.addresses.grpc, timeout=1e-4) as hasty,
        pytest.raises(DeadlineExceededError),
    ):
        hasty.log_probs(sequences())


def test_a_server_that_is_not_there_has_its_name() -> None:
    with pytest.raises(ServerUnavailableError):
        TritonScorer("127.0.0.1:9", connect_timeout=0.5)


def answered(scorer: TritonScorer, ids: np.ndarray) -> np.ndarray:
    """Ask until a server is back: the retries of one call may be over before, on a busy machine."""
    for _ in range(20):
        with contextlib.suppress(ServerUnavailableError):
            return scorer.log_probs([ids])[0]
    raise AssertionError("no server came back")


def test_a_killed_server_is_waited_for(causal_repository) -> None:
    with (
        TritonServer(causal_repository, ServerOptions(restart=True)) as server,
        TritonScorer(server.addresses.grpc) as scorer,
    ):
        before = answered(scorer, np.arange(50))
        psutil.Process(server.pid).kill()
        np.testing.assert_array_equal(before, answered(scorer, np.arange(50)))


def test_a_pruners_server_is_told_apart() -> None:
    with (
        TritonServer(bundled_repository()) as server,
        pytest.raises(ModelMismatchError, match="lamr_perplexity"),
    ):
        TritonScorer(server.addresses.grpc)


def test_a_stop_is_graceful_though_the_models_process_ends_first(causal_repository) -> None:
    """A supervisor that restarts servers must not take the unloaded model's process for one that died."""
    answers: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
    server = TritonServer(causal_repository, ServerOptions(restart=True))
    server.start()
    client = InferenceServerClient(server.addresses.grpc)
    ids = input_tensor(INPUT_IDS, np.arange(2000) % VOCAB, "INT64", batched=True)
    for _ in range(24):
        client.async_infer(PERPLEXITY, [ids], lambda result, error: answers.put(error))
    assert answers.get(timeout=120) is None
    assert server.stop() == 0
    assert "has died" not in server.log()
    errors = [answers.get(timeout=120) for _ in range(23)]
    assert {type(error) for error in errors} <= {type(None), InferenceServerException}
    client.close()


def test_a_replaced_model_is_noticed(causal_repository, tmp_path, free_port) -> None:
    other = tmp_path / "other"
    shutil.copytree(causal_repository, other)
    folder = causal_files(other)
    spec = dataclasses.replace(load_causal_spec(other), version="other")
    (folder / "lamr.json").write_text(spec.to_json(), encoding="utf-8")
    text = causal_config(spec, (folder / "tokenizer.json").read_bytes(), 16, 0)
    config_file(other, PERPLEXITY).write_text(text, encoding="utf-8")
    port = ServerOptions(grpc_port=free_port)
    with TritonServer(causal_repository, port) as first:
        scorer = TritonScorer(first.addresses.grpc)
        scorer.log_probs([np.arange(5)])
    with TritonServer(other, port), scorer, pytest.raises(ModelMismatchError, match=r"other|fingerprint"):
        answered(scorer, np.arange(5))
