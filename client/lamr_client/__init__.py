"""The client: a query and code in, the code that matters out, through a server or in this process.

Importing this package loads neither gRPC nor onnxruntime nor asyncio; the first use that needs one of them
does."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamr_base.errors import (
    AccessDeniedError,
    BrokenOffError,
    ClosedError,
    DeadlineExceededError,
    InvalidInputError,
    LamrError,
    MissingPackageError,
    ModelMismatchError,
    OverloadedError,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
)
from lamr_model.encoding import Chunk, PromptEncoder
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.rules import Scoring
from lamr_model.spec import Chunking, ModelSpec, PromptTemplate, bundled_repository, load_spec

from lamr_client.connection import Connection, parse_connection
from lamr_client.pruner import Pruner
from lamr_client.result import PruneResult, Timings
from lamr_client.transport import AsyncTransport, Transport

if TYPE_CHECKING:
    from lamr_postprocess import BudgetError

    from lamr_client.async_grpc_transport import AsyncGrpcTransport
    from lamr_client.async_pruner import AsyncPruner
    from lamr_client.endpoint_scorer import EndpointScorer
    from lamr_client.grpc_transport import GrpcTransport
    from lamr_client.in_process import InProcessTransport
    from lamr_client.mock_transport import AsyncMockTransport, MockTransport, uniform_answer
    from lamr_client.triton_scorer import TritonScorer

__all__ = [
    "AccessDeniedError",
    "AsyncGrpcTransport",
    "AsyncMockTransport",
    "AsyncPruner",
    "AsyncTransport",
    "BrokenOffError",
    "BudgetError",
    "Chunk",
    "ChunkRequest",
    "ChunkResult",
    "Chunking",
    "ClosedError",
    "Connection",
    "DeadlineExceededError",
    "EndpointScorer",
    "GrpcTransport",
    "InProcessTransport",
    "InvalidInputError",
    "LamrError",
    "MissingPackageError",
    "MockTransport",
    "ModelMismatchError",
    "ModelSpec",
    "OverloadedError",
    "PromptEncoder",
    "PromptTemplate",
    "PruneResult",
    "Pruner",
    "QuotaExceededError",
    "Scoring",
    "ServerError",
    "ServerUnavailableError",
    "Timings",
    "Transport",
    "TritonScorer",
    "bundled_repository",
    "load_spec",
    "parse_connection",
    "uniform_answer",
]

_LATER = {
    "AsyncGrpcTransport": "lamr_client.async_grpc_transport",
    "AsyncMockTransport": "lamr_client.mock_transport",
    "AsyncPruner": "lamr_client.async_pruner",
    "BudgetError": "lamr_postprocess",
    "EndpointScorer": "lamr_client.endpoint_scorer",
    "GrpcTransport": "lamr_client.grpc_transport",
    "InProcessTransport": "lamr_client.in_process",
    "MockTransport": "lamr_client.mock_transport",
    "TritonScorer": "lamr_client.triton_scorer",
    "uniform_answer": "lamr_client.mock_transport",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
