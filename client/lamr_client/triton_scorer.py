"""`TritonScorer`: log-probabilities from a causal language model that a Triton server holds.

The model's description and tokenizer come from the server, so an address is all that a caller needs. This module knows
batches and retries; `grpc_transport` knows connections, deadlines and calls."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from lamr_base.errors import ModelMismatchError, ServerError
from lamr_base.records import dataclass
from lamr_model.encoder.packed_batch import cut_by_tokens
from lamr_model.names import INPUT_IDS, LOG_PROB, PERPLEXITY, SPEC_PARAMETER, TOKENIZER_PARAMETER
from lamr_model.perplexity.causal_scorer import (
    IntArray,
    Tokenized,
    check_sequences,
    only_asked,
    tokenizer_of,
)
from lamr_model.perplexity.causal_spec import CausalSpec, from_parameter
from numpy.typing import NDArray

from lamr_client import triton_wire as wire
from lamr_client.connection import Connection
from lamr_client.deadline import Attempts, Deadline, Retry, until_answered
from lamr_client.grpc_transport import GrpcChannel
from lamr_client.transport import Closing

IN_FLIGHT_TOKENS = 16_384
"""Tokens that are under way at once: enough to fill a server's batches, and few enough to be answered in time."""

MOST_CONFIG_BYTES = 64 << 20
"""Of a server's configuration, which holds the model's tokenizer, and of any other answer."""

Log = NDArray[np.float32]


class TritonScorer(Closing, Tokenized):
    """A `CausalScorer` on a server of `lamr_perplexity`.

        with TritonScorer("127.0.0.1:8001") as scorer:
            compression = compress(code, "How are retries limited?", scorer)

    Attributes:
        spec: what the server says of its model.
        tokenizer, name, max_tokens, key: see `CausalScorer`."""

    def __init__(
        self,
        address: str | Connection,
        *,
        timeout: float | None = None,
        connect_timeout: float = 30.0,
        retry: Retry | None = None,
    ) -> None:
        """Connect, and ask the server for its model's description and tokenizer.

        Args:
            address: `host:port` of the server's gRPC port, or whatever else `parse_connection` reads; a `Connection`
                for one that has a key or certificates.
            timeout: seconds for each call of `log_probs`; None waits for as long as it takes.
            connect_timeout: seconds until the server must have answered.
            retry: when a failed call is made again; None takes the client's usual.

        Raises:
            ServerError: nothing answers there.
            ModelMismatchError: the server has no such model, or its description or tokenizer is damaged.
            InvalidInputError: the address isn't one."""
        self._timeout, self._retry = timeout, retry or Retry()
        self._channel = _Channel(address)
        try:
            endpoint = self._channel.connect(Deadline(connect_timeout))
        except BaseException:
            self._channel.close()
            raise
        self.spec: CausalSpec = endpoint.spec
        self.tokenizer = tokenizer_of(endpoint.tokenizer, self._channel.address)
        self.name, self.max_tokens = self.spec.name, self.spec.max_tokens
        self.key: str | None = self.spec.fingerprint

    def log_probs(self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None) -> list[Log]:
        """See `CausalScorer.log_probs`.

        Raises:
            InvalidInputError: a sequence is empty or too long, or an id isn't in the vocabulary.
            ServerError, ModelMismatchError: the server failed, or holds another model by now.
            ClosedError: the scorer was closed."""
        check_sequences(sequences, self.max_tokens, self.spec.vocabulary)
        deadline = Deadline(self._timeout)
        results: dict[int, Log] = {}
        # Sequences of like lengths travel together: the server's attention pads its batches to the longest.
        for group in cut_by_tokens([len(ids) for ids in sequences], IN_FLIGHT_TOKENS):
            answers = self._ask([sequences[place] for place in group], deadline)
            results.update(zip(group, answers, strict=True))
        return only_asked([results[place] for place in range(len(sequences))], firsts)

    def close(self) -> None:
        """Let go of the connection; closing twice is harmless."""
        self._channel.close()

    def _ask(self, sequences: list[IntArray], deadline: Deadline) -> list[Log]:
        def ask(failure: ServerError | None) -> list[Log]:
            deadline.remaining(failure)
            return self._channel.ask(sequences, deadline)

        return until_answered(ask, Attempts(self._retry, deadline))


@dataclass(frozen=True)
class _Endpoint(wire.ModelEndpoint):
    """The served causal model, and the content of its `tokenizer.json`."""

    spec: CausalSpec
    tokenizer: bytes


class _Channel(GrpcChannel[IntArray, Log, _Endpoint]):
    """A channel that takes token ids, int64 `[t]`, and gives their log-probabilities, float32 `[t]`."""

    def __init__(self, address: str | Connection) -> None:
        super().__init__(address, PERPLEXITY, None, MOST_CONFIG_BYTES)
        self._first: CausalSpec | None = None

    def _read_config(self, config: Any) -> _Endpoint:
        parameters = {name: value.string_value for name, value in config.parameters.items()}
        if absent := {SPEC_PARAMETER, TOKENIZER_PARAMETER} - set(parameters):
            raise ModelMismatchError(
                f"{self._model} at {self.address} says nothing of its {', '.join(sorted(absent))}; serve a repository "
                "written by `lamr export --perplexity`",
                server=self.address,
            )
        spec = CausalSpec.from_json(parameters[SPEC_PARAMETER], self.address)
        if self._first is not None and spec != self._first:
            raise ModelMismatchError(
                f"{self.address} serves {spec.name} {spec.version} by now, and not {self._first.name} "
                f"{self._first.version}; make a new scorer",
                server=self.address,
            )
        self._first = spec
        tokenizer = from_parameter(parameters[TOKENIZER_PARAMETER], spec, self.address)
        return _Endpoint(
            self.address, self._model, config.max_batch_size > 0, spec.fingerprint, spec, tokenizer
        )

    def _tensors(self, request: IntArray, endpoint: _Endpoint) -> tuple[list[Any], list[Any]]:
        from tritonclient.grpc import InferRequestedOutput  # noqa: PLC0415

        ids = np.ascontiguousarray(request, np.int64)
        return [wire.input_tensor(INPUT_IDS, ids, "INT64", endpoint.batched)], [
            InferRequestedOutput(LOG_PROB)
        ]

    def read(self, answer: Any, request: IntArray, endpoint: _Endpoint) -> Log:
        values: Log = wire.read_output(answer, LOG_PROB, np.dtype(np.float32), (len(request),), endpoint)
        if not np.isfinite(values).all():
            raise ModelMismatchError(
                f"{endpoint.model} at {endpoint.address} gives no log-probability for each of {len(request)} tokens; "
                "export and serve the model again",
                server=endpoint.address,
            )
        return values
