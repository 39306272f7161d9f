"""The check of a model repository before Triton sees it: it must be complete, readable and of one model.

Triton would find many of these faults too, some after half a minute and some at the first request, but never a decoder
or tokenizer of another model. Whether graphs and programs are whole is left to it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lamr_contract.encoder.part_spec import PartSpec
from lamr_contract.errors import ModelMismatchError
from lamr_contract.files import MOST_TOKENIZER_BYTES, check_regular, read_regular
from lamr_contract.names import (
    DECODER,
    ENCODER,
    ENSEMBLE,
    FINGERPRINT_PARAMETER,
    FUSED,
    FUSION_FILE,
    LINE_MODEL,
    MODELS,
    ONNX_FILE,
    PART_FILE,
    PERPLEXITY,
    PROGRAM_FILE,
    SPEC_FILE,
    SPEC_PARAMETER,
    TOKENIZER_FILE,
    TOKENIZER_PARAMETER,
    WEIGHTS_FILE,
    config_file,
    version_folder,
)
from lamr_contract.perplexity.causal_spec import CausalSpec, causal_files, from_parameter, load_causal_spec
from lamr_contract.scoring.scorer import Scorer
from lamr_contract.spec import ModelSpec, client_files, load_spec

from lamr_serving.errors import ModelRepositoryError

BACKENDS = {ENCODER: "onnxruntime", DECODER: "python", LINE_MODEL: "python"}


def check_repository(repository: Path) -> ModelSpec | CausalSpec:
    """Check every file of a model repository: a pruner's, a causal language model's, or one with both.

    Returns:
        the spec of the model in it; of both, the pruner's.

    Raises:
        ModelRepositoryError: a file is missing, unreadable or of another model; the message names it.
    """
    if not repository.is_dir():
        raise ModelRepositoryError(
            f"{repository} is not a folder; name a model repository written by `lamr export`", path=repository
        )
    if (repository / PERPLEXITY).is_dir():
        causal = check_causal(repository)
        if not (repository / ENSEMBLE).is_dir():
            return causal
    lines = [LINE_MODEL] if (repository / LINE_MODEL).is_dir() else []
    configs = {name: read_config(config_file(repository, name)) for name in (*MODELS, *lines)}
    onnx = version_folder(repository, ENCODER) / (configs[ENCODER].default_model_filename or ONNX_FILE)
    tokenizer = client_files(repository) / TOKENIZER_FILE
    programs = [version_folder(repository, name) / PROGRAM_FILE for name in (DECODER, *lines)]
    weights = version_folder(repository, DECODER) / WEIGHTS_FILE
    for path in (client_files(repository) / SPEC_FILE, tokenizer, onnx, *programs, weights):
        check_readable(path)
    try:
        spec = load_spec(repository)
    except ModelMismatchError as error:
        raise ModelRepositoryError(str(error), path=error.path) from error
    check_tokenizer(tokenizer, spec.tokenizer_sha256)
    _check_scoring(repository, spec)
    _check_configs(repository, configs, spec)
    _check_parts(onnx)
    _check_weights(weights, spec, _width(configs[ENCODER]))
    return spec


def _check_configs(repository: Path, configs: dict[str, Any], spec: ModelSpec) -> None:
    ensemble = config_file(repository, ENSEMBLE)
    for name in {ENSEMBLE, LINE_MODEL} & configs.keys():
        path, stored = (
            config_file(repository, name),
            configs[name].parameters[FINGERPRINT_PARAMETER].string_value,
        )
        if stored != spec.fingerprint:
            raise ModelRepositoryError(
                f"{path} carries the fingerprint {stored or '(none)'}, but {client_files(repository) / SPEC_FILE} "
                f"makes {spec.fingerprint}: they are of different models; export the model again",
                path=path,
            )
    steps = {step.model_name for step in configs[ENSEMBLE].ensemble_scheduling.step}
    if not {ENCODER, DECODER} <= steps:
        raise ModelRepositoryError(
            f"{ensemble} must run {ENCODER} and {DECODER}, not {', '.join(steps) or 'nothing'}", path=ensemble
        )
    for name, backend in BACKENDS.items():
        if name in configs and configs[name].backend != backend:
            raise ModelRepositoryError(
                f"{config_file(repository, name)} must say backend: {backend!r}, not {configs[name].backend!r}",
                path=config_file(repository, name),
            )


def _check_scoring(repository: Path, spec: ModelSpec) -> None:
    try:
        scorer = Scorer.from_repository(repository, spec)
    except ModelMismatchError as error:
        raise ModelRepositoryError(str(error), path=error.path) from error
    if (folder := repository / LINE_MODEL).is_dir() and not scorer.instant:
        raise ModelRepositoryError(
            f"{folder} serves a line model, and {spec.name} has none; remove the folder", path=folder
        )


def _check_parts(onnx: Path) -> None:
    """Check the files of an encoder that reads query and code apart, where it has them."""
    try:
        spec = PartSpec.load(onnx.parent) if onnx.name == ONNX_FILE else None
    except ModelMismatchError as error:
        raise ModelRepositoryError(str(error), path=error.path) from error
    if spec is not None:
        for name in (PART_FILE, FUSION_FILE):
            check_readable(onnx.with_name(name))


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


def check_causal(repository: Path) -> CausalSpec:
    """Check every file of the causal language model in a repository.

    Returns:
        its spec.

    Raises:
        ModelRepositoryError: a file is missing, unreadable or of another model; the message names it.
    """
    path = config_file(repository, PERPLEXITY)
    config = read_config(path)
    folder = causal_files(repository)
    onnx = folder / (config.default_model_filename or ONNX_FILE)
    for file in (folder / SPEC_FILE, folder / TOKENIZER_FILE, onnx):
        check_readable(file)
    if config.backend != "onnxruntime":
        raise ModelRepositoryError(
            f"{path} must say backend: 'onnxruntime', not {config.backend!r}", path=path
        )
    carried = {
        name: config.parameters[name].string_value
        for name in (FINGERPRINT_PARAMETER, SPEC_PARAMETER, TOKENIZER_PARAMETER)
    }
    try:
        spec = load_causal_spec(repository)
        from_parameter(carried[TOKENIZER_PARAMETER], spec, str(path))
    except ModelMismatchError as error:
        raise ModelRepositoryError(str(error), path=error.path) from error
    if (carried[FINGERPRINT_PARAMETER], carried[SPEC_PARAMETER]) != (spec.fingerprint, spec.to_json()):
        raise ModelRepositoryError(
            f"{path} carries the fingerprint {carried[FINGERPRINT_PARAMETER] or '(none)'} and a description, but "
            f"{folder / SPEC_FILE} makes {spec.fingerprint}: they are of different models; export the model again",
            path=path,
        )
    check_tokenizer(folder / TOKENIZER_FILE, spec.tokenizer_sha256)
    return spec


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
