"""Reads what repositories of all kinds have: configurations, tokenizers, graphs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lamr_contract.files import MOST_TOKENIZER_BYTES, check_regular, read_regular
from lamr_contract.names import SPEC_FILE

from lamr_serving.errors import ModelRepositoryError
from lamr_serving.repository_check.onnx_file import BrokenOnnxError, check_onnx


def read_config(path: Path) -> Any:
    """Read a `config.pbtxt` as Triton's ModelConfig message.

    Raises:
        ModelRepositoryError: it is missing, unreadable or cut.
    """
    # The messages come with a gRPC client that takes a while to import.
    from google.protobuf import text_format  # type: ignore[import-untyped]  # noqa: PLC0415
    from tritonclient.grpc import model_config_pb2  # noqa: PLC0415

    check_readable(path)
    try:
        text = read_regular(path, MOST_TOKENIZER_BYTES).decode(
            "utf-8"
        )  # a causal model's carries its tokenizer
        if text.rpartition("\n")[2].lstrip().startswith("#"):  # the lines before it may well parse
            raise ModelRepositoryError(
                f"{path} ends within a comment: it has been cut; export the model again", path=path
            )
        # Newer servers know fields that this client's messages don't have. Triton checks those.
        return text_format.Parse(text, model_config_pb2.ModelConfig(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ModelRepositoryError(f"{path} is not a model configuration: {error}", path=path) from error


def check_readable(path: Path) -> None:
    """Check that a file is a regular one that can be read.

    Raises:
        ModelRepositoryError: it isn't.
    """
    try:
        check_regular(path)
        with path.open("rb"):
            pass
    except FileNotFoundError as error:
        raise ModelRepositoryError(f"{path} is missing; export the model again", path=path) from error
    except OSError as error:
        raise ModelRepositoryError(f"{path} can't be read: {error.strerror}", path=path) from error


def check_tokenizer(path: Path, sha256: str) -> None:
    """Check that a `tokenizer.json` is the one that the specification beside it was written for.

    Raises:
        ModelRepositoryError: it isn't.
    """
    content = read_regular(path, MOST_TOKENIZER_BYTES)
    if hashlib.sha256(content).hexdigest() == sha256:
        return
    try:
        json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelRepositoryError(
            f"{path} is damaged ({error}); export the model again", path=path
        ) from error
    raise ModelRepositoryError(
        f"{path} is not the tokenizer that {path.with_name(SPEC_FILE)} was written for; export the model again",
        path=path,
    )


def check_graph(path: Path) -> None:
    """Check that an ONNX file is complete.

    Raises:
        ModelRepositoryError: it isn't.
    """
    try:
        check_onnx(path)
    except (BrokenOnnxError, OSError) as error:
        raise ModelRepositoryError(
            f"{path} is not a complete ONNX model: {error}; export the model again", path=path
        ) from error
