"""What a scorer reads of a served model's configuration and answers; a real server's are tests/repositories' matter."""

import dataclasses
import hashlib

import numpy as np
import pytest
from lamr_client import (
    ClosedError,
    InvalidInputError,
    ModelMismatchError,
    ServerUnavailableError,
    TritonScorer,
)
from lamr_client.triton_scorer import _Channel
from lamr_model.perplexity.causal_spec import CausalSpec, to_parameter
from tritonclient.grpc import model_config_pb2

from tests.tiny import byte_bpe

from .lying import infer_result

TOKENIZER = byte_bpe().to_str().encode()
SPEC = CausalSpec("tiny", "abc", 500, 64, hashlib.sha256(TOKENIZER).hexdigest())


def config(
    spec: CausalSpec = SPEC, tokenizer: bytes = TOKENIZER, **changed: str
) -> model_config_pb2.ModelConfig:
    message = model_config_pb2.ModelConfig(max_batch_size=8)
    texts = {"lamr_spec": spec.to_json(), "lamr_tokenizer": to_parameter(tokenizer), **changed}
    for name, text in texts.items():
        message.parameters[name].string_value = text
    return message


@pytest.fixture
def channel():
    made = _Channel("127.0.0.1:9")
    yield made
    made.close()


def test_a_configuration_says_what_a_client_needs(channel) -> None:
    endpoint = channel._read_config(config())
    assert (endpoint.spec, endpoint.tokenizer, endpoint.batched) == (SPEC, TOKENIZER, True)
    assert endpoint.parameters == {"lamr_fingerprint": SPEC.fingerprint}
    assert channel._read_config(config()) == endpoint


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (model_config_pb2.ModelConfig(), "says nothing of its lamr_spec, lamr_tokenizer"),
        (config(lamr_spec="{"), "not a causal model's spec"),
        (config(lamr_tokenizer="?"), "the tokenizer is damaged"),
        (config(tokenizer=b"{}"), "the tokenizer isn't that of tiny"),
    ],
)
def test_another_configuration_is_refused(channel, message, words) -> None:
    with pytest.raises(ModelMismatchError, match=words):
        channel._read_config(message)


def test_another_model_at_the_address_is_refused_later(channel) -> None:
    channel._read_config(config())
    with pytest.raises(ModelMismatchError, match="serves tiny other by now, and not tiny abc"):
        channel._read_config(config(dataclasses.replace(SPEC, version="other")))


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"log_prob": np.zeros((1, 2), np.float32)},
        {"log_prob": np.zeros((1, 3))},
        {"log_prob": np.array([[0.0, np.nan, -1.0]], np.float32)},
    ],
)
def test_an_answer_that_is_none_is_refused(channel, tensors) -> None:
    endpoint = channel._read_config(config())
    with pytest.raises(ModelMismatchError, match=r"gives (no )?log.prob"):
        channel.read(infer_result(**tensors), np.arange(3), endpoint)
    answer = infer_result(log_prob=np.array([[0.0, -2.0, -1.0]], np.float32))
    found = channel.read(answer, np.arange(3), endpoint)
    assert found.tolist() == [0, -2, -1]


def test_addresses_that_are_none_and_closed_channels_have_their_names() -> None:
    with pytest.raises(InvalidInputError, match="host:port"):
        TritonScorer("nowhere")
    with pytest.raises(ServerUnavailableError, match="can't be reached"):
        TritonScorer("127.0.0.1:9", connect_timeout=0.3)
    channel = _Channel("127.0.0.1:9")
    channel.close()
    from lamr_client.deadline import Deadline

    with pytest.raises(ClosedError):
        channel.ask([np.arange(3)], Deadline(1.0))
