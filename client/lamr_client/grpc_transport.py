"""`GrpcTransport`: asks a Triton server about chunks over one gRPC channel, from threads.

`grpc_channel` knows connections, deadlines and calls; `triton_wire` knows what travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamr_contract.model_io import ChunkRequest, ChunkResult
from lamr_contract.names import ENSEMBLE
from lamr_contract.spec import ModelSpec

from lamr_client import triton_wire as wire
from lamr_client.connection import Connection
from lamr_client.deadline import Deadline
from lamr_client.grpc_channel import GrpcChannel
from lamr_client.transport import Transport


class GrpcTransport(GrpcChannel[ChunkRequest, ChunkResult, wire.Endpoint], Transport):
    """One channel to one server.

    The served model's fingerprint is compared with the client's before any code is sent, and again after a failure. It
    travels with each call, too: a front chooses the server by it, and a server of another model refuses it.
    """

    def __init__(
        self, address: str | Connection, spec: ModelSpec | None = None, *, model: str = ENSEMBLE
    ) -> None:
        """Open a channel; nothing is sent yet.

        Args:
            address: see `GrpcChannel`.
            spec: what the client's files say of their model, to compare with the served one; None compares nothing.
            model: the ensemble's name.
        """
        super().__init__(address, model, spec.fingerprint if spec else None, wire.most_answer_bytes(spec))
        self._spec = spec

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        return self.infer_many([request], timeout)[0]

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        """See `Transport.infer_many`; all are under way at once. Nobody reads what comes too late."""
        return self.ask(requests, Deadline(timeout))

    def _read_config(self, config: Any) -> wire.Endpoint:
        return wire.check_config(config, self.address, self._model, self._spec)

    def _tensors(self, request: ChunkRequest, endpoint: wire.Endpoint) -> tuple[list[Any], list[Any]]:
        return wire.inputs_of(request, endpoint), wire.outputs_of(request)

    def _result(self, answer: Any, request: ChunkRequest, endpoint: wire.Endpoint) -> ChunkResult:
        return wire.result_of(answer, request, endpoint)
