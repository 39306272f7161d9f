"""The client: a query and code in, the code that matters out, through a server or in this process.

Importing this package loads neither gRPC nor onnxruntime nor asyncio; the first use that needs one of them
does."""

from typing import TYPE_CHECKING

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
from lamr_base.lazy import lazily
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

__all__ = ["AccessDeniedError", "AsyncGrpcTransport", "AsyncMockTransport", "AsyncPruner", "AsyncTransport"]
__all__ += ["BrokenOffError", "BudgetError", "Chunk", "ChunkRequest", "ChunkResult", "Chunking"]
__all__ += ["ClosedError", "Connection", "DeadlineExceededError", "EndpointScorer", "GrpcTransport"]
__all__ += ["InProcessTransport", "InvalidInputError", "LamrError", "MissingPackageError", "MockTransport"]
__all__ += ["ModelMismatchError", "ModelSpec", "OverloadedError", "PromptEncoder", "PromptTemplate"]
__all__ += ["PruneResult", "Pruner", "QuotaExceededError", "Scoring", "ServerError", "ServerUnavailableError"]
__all__ += ["Timings", "Transport", "TritonScorer", "bundled_repository", "load_spec", "parse_connection"]
__all__ += ["uniform_answer"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "lamr_client.async_grpc_transport": "AsyncGrpcTransport",
        "lamr_client.async_pruner": "AsyncPruner",
        "lamr_client.endpoint_scorer": "EndpointScorer",
        "lamr_client.grpc_transport": "GrpcTransport",
        "lamr_client.in_process": "InProcessTransport",
        "lamr_client.mock_transport": "AsyncMockTransport MockTransport uniform_answer",
        "lamr_client.triton_scorer": "TritonScorer",
        "lamr_postprocess": "BudgetError",
    },
)
