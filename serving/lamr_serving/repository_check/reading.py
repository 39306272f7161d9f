"""Reads what repositories of all kinds have: configurations, tokenizers, graphs.

Whether an ONNX file is complete is told without loading it, by its protobuf structure and the sizes of external data.
The check reads field headers only, so a file of gigabytes takes milliseconds and no memory.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamr_contract.files import MOST_TOKENIZER_BYTES, check_regular, read_regular
from lamr_contract.names import SPEC_FILE

from lamr_serving.errors import ModelRepositoryError


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


# onnx.proto: ModelProto, GraphProto, TensorProto, StringStringEntryProto
MODEL_IR_VERSION, MODEL_GRAPH, MODEL_OPSETS = 1, 7, 8
GRAPH_NODE, GRAPH_INITIALIZER = 1, 5
TENSOR_NAME, TENSOR_EXTERNAL = 8, 13
ENTRY_KEY, ENTRY_VALUE = 1, 2

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class BrokenOnnxError(ModelRepositoryError):
    """The file isn't a complete ONNX model. The message says what is wrong."""


@dataclass(frozen=True)
class _Field:
    """One protobuf field: its number, and the place of its content in the file."""

    number: int
    start: int
    end: int


def check_onnx(path: Path) -> None:
    """Check that `path` is a complete ONNX model and that its external data files are long enough.

    Raises:
        BrokenOnnxError: the file is truncated or not ONNX, or an external data file is missing or short.
        OSError: the file can't be read.
    """
    if path.stat().st_size == 0:
        raise BrokenOnnxError("the file is empty")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:7] == b"version":
            raise BrokenOnnxError("it is a Git LFS pointer, not the model; fetch it with `git lfs pull`")
        model = list(_fields(data, 0, len(data)))
        graphs = [field for field in model if field.number == MODEL_GRAPH]
        present = {field.number for field in model}
        if len(graphs) != 1 or not {MODEL_IR_VERSION, MODEL_OPSETS} <= present:
            raise BrokenOnnxError("it ends before the model does, or it isn't an ONNX model")
        graph = list(_fields(data, graphs[0].start, graphs[0].end))
        if not any(field.number == GRAPH_NODE for field in graph):
            raise BrokenOnnxError("its graph has no nodes")
        for field in graph:
            if field.number == GRAPH_INITIALIZER:
                _check_external(data, field, path.parent)


def _check_external(data: mmap.mmap, tensor: _Field, folder: Path) -> None:
    """Check the file that a tensor's values lie in, if they lie outside the model."""
    entries: dict[str, str] = {}
    name = ""
    for field in _fields(data, tensor.start, tensor.end):
        if field.number == TENSOR_NAME:
            name = _text(data, field)
        elif field.number == TENSOR_EXTERNAL:
            pair = {item.number: _text(data, item) for item in _fields(data, field.start, field.end)}
            entries[pair.get(ENTRY_KEY, "")] = pair.get(ENTRY_VALUE, "")
    if "location" not in entries:
        return
    outside = folder / entries["location"]
    if not outside.is_file():
        raise BrokenOnnxError(f"its data file {outside} is missing")
    try:
        needed = int(entries.get("offset", "0")) + int(entries.get("length", "0"))
    except ValueError as error:
        raise BrokenOnnxError(f"tensor {name!r} has an unreadable place in {outside}") from error
    if outside.stat().st_size < needed:
        raise BrokenOnnxError(
            f"its data file {outside} is truncated: {outside.stat().st_size} bytes, "
            f"but tensor {name!r} ends at {needed}"
        )


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[_Field]:
    """The fields of the message in `data[start:end]`. Each one must lie wholly inside it."""
    at = start
    while at < end:
        key, at = _varint(data, at, end)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            content = at
            _, at = _varint(data, at, end)
        elif wire in (FIXED64, FIXED32):
            content, at = at, at + (8 if wire == FIXED64 else 4)
        elif wire == BYTES:
            size, content = _varint(data, at, end)
            at = content + size
        else:
            raise BrokenOnnxError("it isn't an ONNX model, or it is damaged")
        if at > end:
            raise BrokenOnnxError(f"it is truncated: {end - start} bytes where at least {at - start} belong")
        yield _Field(number, content, at)


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise BrokenOnnxError("it is truncated")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise BrokenOnnxError("it isn't an ONNX model, or it is damaged")


def _text(data: mmap.mmap, field: _Field) -> str:
    return data[field.start : field.end].decode("utf-8", errors="replace")
