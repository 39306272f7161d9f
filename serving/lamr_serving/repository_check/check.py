"""The check of a model repository before Triton sees it: it must be complete, readable and of one model.

Triton would find most of these faults too, some after half a minute and some at the first request, but never a decoder
or tokenizer of another model. The module knows which files `lamr export` writes and how they belong together. It knows
nothing of processes.
"""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

from lamr_contract.errors import ModelMismatchError
from lamr_contract.files import MOST_TOKENIZER_BYTES, check_regular, read_regular
from lamr_contract.names import (
    DECODER,
    ENCODER,
    ENSEMBLE,
    FINGERPRINT_PARAMETER,
    FUSED,
    MODELS,
    ONNX_FILE,
    PROGRAM_FILE,
    SPEC_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    config_file,
    version_folder,
)
from lamr_contract.spec import ModelSpec, client_files, load_spec

from lamr_serving.errors import ModelRepositoryError
from lamr_serving.repository_check.onnx_file import BrokenOnnxError, check_onnx

BACKENDS = {ENCODER: "onnxruntime", DECODER: "python"}


def check_repository(repository: Path) -> ModelSpec:
    """Check every file of a model repository.

    Returns:
        the spec of the model in it.

    Raises:
        ModelRepositoryError: a file is missing, unreadable, truncated or of another model; the message names it.
    """
    if not repository.is_dir():
        raise ModelRepositoryError(
            f"{repository} is not a folder; name a model repository written by `lamr export`", path=repository
        )
    configs = {name: _config(config_file(repository, name)) for name in MODELS}
    onnx = version_folder(repository, ENCODER) / (configs[ENCODER].default_model_filename or ONNX_FILE)
    tokenizer = client_files(repository) / TOKENIZER_FILE
    program = version_folder(repository, DECODER) / PROGRAM_FILE
    weights = program.with_name(WEIGHTS_FILE)
    for path in (client_files(repository) / SPEC_FILE, tokenizer, onnx, program, weights):
        _readable(path)
    try:
        spec = load_spec(repository)
    except ModelMismatchError as error:
        raise ModelRepositoryError(str(error), path=error.path) from error
    _check_tokenizer(tokenizer, spec)
    _check_configs(repository, configs, spec)
    try:
        check_onnx(onnx)
    except (BrokenOnnxError, OSError) as error:
        raise ModelRepositoryError(
            f"{onnx} is not a complete ONNX model: {error}; export the model again", path=onnx
        ) from error
    _check_program(program)
    _check_weights(weights, spec, _width(configs[ENCODER]))
    return spec


def _config(path: Path) -> Any:
    """Read a `config.pbtxt` as Triton's ModelConfig message."""
    # The messages come with a gRPC client that takes a while to import.
    from google.protobuf import text_format  # type: ignore[import-untyped]  # noqa: PLC0415
    from tritonclient.grpc import model_config_pb2  # noqa: PLC0415

    _readable(path)
    try:
        text = read_regular(path).decode("utf-8")
        if text.rpartition("\n")[2].lstrip().startswith("#"):  # the lines before it may well parse
            raise ModelRepositoryError(
                f"{path} ends within a comment: it has been cut; export the model again", path=path
            )
        # Newer servers know fields that this client's messages don't have. Triton checks those.
        return text_format.Parse(text, model_config_pb2.ModelConfig(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ModelRepositoryError(f"{path} is not a model configuration: {error}", path=path) from error


def _readable(path: Path) -> None:
    try:
        check_regular(path)
        with path.open("rb"):
            pass
    except FileNotFoundError as error:
        raise ModelRepositoryError(f"{path} is missing; export the model again", path=path) from error
    except OSError as error:
        raise ModelRepositoryError(f"{path} can't be read: {error.strerror}", path=path) from error


def _check_configs(repository: Path, configs: dict[str, Any], spec: ModelSpec) -> None:
    ensemble = config_file(repository, ENSEMBLE)
    stored = configs[ENSEMBLE].parameters[FINGERPRINT_PARAMETER].string_value
    if stored != spec.fingerprint:
        raise ModelRepositoryError(
            f"{ensemble} carries the fingerprint {stored or '(none)'}, but {client_files(repository) / SPEC_FILE} "
            f"makes {spec.fingerprint}: they are of different models; export the model again",
            path=ensemble,
        )
    steps = {step.model_name for step in configs[ENSEMBLE].ensemble_scheduling.step}
    if not {ENCODER, DECODER} <= steps:
        raise ModelRepositoryError(
            f"{ensemble} must run {ENCODER} and {DECODER}, not {', '.join(steps) or 'nothing'}", path=ensemble
        )
    for name, backend in BACKENDS.items():
        if configs[name].backend != backend:
            raise ModelRepositoryError(
                f"{config_file(repository, name)} must say backend: {backend!r}, not {configs[name].backend!r}",
                path=config_file(repository, name),
            )


def _check_tokenizer(path: Path, spec: ModelSpec) -> None:
    content = read_regular(path, MOST_TOKENIZER_BYTES)
    if hashlib.sha256(content).hexdigest() == spec.tokenizer_sha256:
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


def _check_program(path: Path) -> None:
    """Check, without running it, that the program compiles and has the class that Triton looks for."""
    try:
        tree = ast.parse(read_regular(path), str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ModelRepositoryError(
            f"{path} is damaged ({error}); export the model again", path=path
        ) from error
    if not any(isinstance(node, ast.ClassDef) and node.name == "TritonPythonModel" for node in tree.body):
        raise ModelRepositoryError(
            f"{path} has no class TritonPythonModel; export the model again", path=path
        )


def _check_weights(path: Path, spec: ModelSpec, width: int) -> None:
    from lamr_decoding import DecoderWeights  # noqa: PLC0415  # numpy

    try:
        weights = DecoderWeights.load(path)
    except Exception as error:  # a damaged archive fails in many ways: zip, zlib, npy header, shapes
        raise ModelRepositoryError(
            f"{path} holds no decoder weights: {error}; export the model again", path=path
        ) from error
    rubrics, features = weights.rubrics, weights.fused_size
    if rubrics != len(spec.rubrics):
        raise ModelRepositoryError(
            f"{path} decodes {rubrics} rubrics, but the model has {', '.join(spec.rubrics)}; export the model again",
            path=path,
        )
    if spec.scoring.unchained and weights.chained:
        raise ModelRepositoryError(
            f"{path} decodes with a chain, but the model's scoring is {spec.scoring.kind!r}, which wants none; "
            f"export the model again with --scoring {spec.scoring.kind}"
        )
    if width > 0 and features != width:
        raise ModelRepositoryError(
            f"{path} takes {features} features a token, but {ENCODER} makes {width}; export the model again",
            path=path,
        )


def _width(config: Any) -> int:
    """The last dimension of the encoder's `fused` output; -1 when it isn't fixed."""
    return next(
        (int(output.dims[-1]) for output in config.output if output.name == FUSED and output.dims), -1
    )
