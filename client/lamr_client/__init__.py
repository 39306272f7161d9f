"""The client: prompts, tokens, chunks, transports and merging, for servers and in process.

Importing this package loads neither gRPC nor onnxruntime; each is loaded by the first transport that needs it.
"""

from lamr_client.encoding import Chunk, PromptEncoder
from lamr_client.errors import (
    DeadlineExceededError,
    InvalidInputError,
    LamrError,
    ModelMismatchError,
    OverloadedError,
    ServerError,
    ServerUnavailableError,
)
from lamr_client.spec import Chunking, ModelSpec, PromptTemplate, Scoring, bundled_repository, load_spec

__all__ = [
    "Chunk",
    "Chunking",
    "DeadlineExceededError",
    "InvalidInputError",
    "LamrError",
    "ModelMismatchError",
    "ModelSpec",
    "OverloadedError",
    "PromptEncoder",
    "PromptTemplate",
    "Scoring",
    "ServerError",
    "ServerUnavailableError",
    "bundled_repository",
    "load_spec",
]
