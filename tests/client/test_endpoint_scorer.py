"""An endpoint's log-probabilities are those of its model, in whichever form it tells them; errors have names."""

from contextlib import contextmanager

import numpy as np
import pytest
from lamr_client import (
    AccessDeniedError,
    EndpointScorer,
    InvalidInputError,
    ModelMismatchError,
    ServerError,
    ServerUnavailableError,
)
from lamr_export import TorchScorer
from lamr_repositories.compression import CompressionOptions, compress

from tests.repositories.compression.causal_models import SAMPLE, write_causal

from .endpoint_server import MODEL, SPLIT, Script, serving

QUESTION = "How long does a retry wait?"


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> TorchScorer:
    return TorchScorer(write_causal("llama", tmp_path_factory.mktemp("endpoint") / "tiny"))


@pytest.mark.parametrize(("kind", "window"), [("prompt_logprobs", 2047), ("echo", 2047), ("llama.cpp", 999)])
def test_each_form_gives_the_models_numbers(local, kind: str, window: int) -> None:
    random = np.random.default_rng(0)
    sequences = [random.integers(0, 300, length) for length in (7, 1, 19)]
    sequences[2][[5, 18]] = SPLIT
    firsts = [3, 0, 4]
    with serving(Script(local, kind)) as url, EndpointScorer(url) as scorer:
        assert (scorer.name, scorer.max_tokens, scorer.key) == (MODEL, window, None)
        assert scorer.by_token == (kind == "llama.cpp")
        assert scorer.encode("é = 1").tolist() == local.encode("é = 1").tolist()
        expected = local.log_probs(sequences, firsts)
        for ours, theirs in zip(scorer.log_probs(sequences, firsts), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
        assert [len(each) for each in scorer.log_probs(sequences)] == [7, 1, 19]
        with pytest.raises(InvalidInputError, match=f"1 to {window}"):
            scorer.log_probs([np.zeros(window + 1, np.int64)])


@pytest.mark.parametrize("kind", ["prompt_logprobs", "echo", "llama.cpp"])
def test_the_same_code_is_chosen(local, kind: str) -> None:
    options = CompressionOptions(rank_only=True)
    expected = compress(SAMPLE, QUESTION, local, options, path="sample.py")
    with serving(Script(local, kind)) as url, EndpointScorer(url) as scorer:
        found = compress(SAMPLE, QUESTION, scorer, options, path="sample.py")
    assert found.order == expected.order
    assert found.text == expected.text != SAMPLE


def test_a_host_that_tells_of_no_prompt_is_told_apart(local) -> None:
    with (
        serving(Script(local, "none")) as url,
        pytest.raises(ModelMismatchError, match=r"no log-probabilities of a prompt.*GGUF"),
    ):
        EndpointScorer(url)


def test_a_host_that_counts_no_tokens_is_told_apart(local) -> None:
    script = Script(local, "echo")
    known = script.answer
    script.answer = lambda path, body: None if path == "/tokenize" else known(path, body)
    with serving(script) as url, pytest.raises(ModelMismatchError, match=r"counts no tokens.*Ollama.*GGUF"):
        EndpointScorer(url)


def test_a_model_is_chosen_by_name_among_several(local) -> None:
    script = Script(local, "echo")
    script.models = [{"id": "other"}, {"id": MODEL}]
    with serving(script) as url:
        with pytest.raises(InvalidInputError, match=r"several models.*#NAME.*other, tiny"):
            EndpointScorer(url)
        with pytest.raises(ModelMismatchError, match=r"no model 'x'; it has other, tiny"):
            EndpointScorer(f"{url}#x")
        with EndpointScorer(f"{url}#{MODEL}") as scorer:
            assert scorer.name == MODEL
    assert script.asked[-1][1]["model"] == MODEL


def test_what_passes_is_tried_again(local) -> None:
    script = Script(local, "echo")
    with serving(script) as url, EndpointScorer(url) as scorer:
        script.failures = [429, 503, 500]
        np.testing.assert_allclose(
            scorer.log_probs([np.arange(9)])[0], local.log_probs([np.arange(9)])[0], atol=1e-5
        )
        script.failures = [400]
        with pytest.raises(ServerError, match="refuses a request"):
            scorer.log_probs([np.arange(9)])


def test_a_key_opens_the_server_and_stays_on_encrypted_ways(local) -> None:
    script = Script(local, "echo")
    script.key = "secret"
    with serving(script) as url:
        with pytest.raises(AccessDeniedError, match="LAMR_API_KEY"):
            EndpointScorer(url)
        EndpointScorer(url, api_key="secret").close()
    with pytest.raises(InvalidInputError, match="unencrypted"):
        EndpointScorer("http://example.invalid/v1", api_key="secret")


def test_nobody_is_there(free_port) -> None:
    with pytest.raises(ServerUnavailableError, match="nothing answers"):
        EndpointScorer(f"http://127.0.0.1:{free_port}/v1")
    with pytest.raises(InvalidInputError, match="an endpoint's address"):
        EndpointScorer("ftp://127.0.0.1/v1")


@contextmanager
def spoiled(local, spoil):
    """A scorer whose endpoint's answers are spoiled once it is known."""
    script = Script(local, "echo")
    with serving(script) as url, EndpointScorer(url) as scorer:
        script.spoil = spoil
        yield scorer


def numbers(values):
    def spoil(answer):
        for choice in answer.get("choices", []):
            choice["logprobs"]["token_logprobs"] = values
        return answer

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        numbers([None, -1.0]),
        numbers([None, *["x"] * 20]),
        numbers([None, *[float("nan")] * 20]),
        numbers([None, *[0.5] * 20]),
        lambda answer: {"choices": []},
        lambda answer: [],
        lambda answer: "none",
    ],
)
def test_damaged_answers_have_a_name(local, spoil) -> None:
    told = pytest.raises(ModelMismatchError, match="log-probabilities of the prompt")
    with spoiled(local, spoil) as scorer, told:
        scorer.log_probs([np.arange(9)])


@pytest.mark.parametrize("data", [b"", b"<html>", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_has_a_name(local, data) -> None:
    words = r"without JSON|log-probabilities of the prompt"
    told = pytest.raises((ServerError, ModelMismatchError), match=words)
    with spoiled(local, lambda answer: data) as scorer, told:
        scorer.log_probs([np.arange(9)])


@pytest.mark.parametrize("tokens", [None, ["x"], {"a": 1}, [[1, 2]], [2.5e300]])
def test_damaged_tokens_have_a_name(local, tokens) -> None:
    told = pytest.raises(ModelMismatchError, match="the tokens of a text")
    with spoiled(local, lambda answer: {"tokens": tokens}) as scorer, told:
        scorer.encode("a")
