"""The check of a model repository before Triton sees it: it must be complete, readable and of one model.

Triton would find many of these faults too, some after half a minute and some at the first request, but never a decoder
or tokenizer of another model. Whether graphs and programs are whole is left to it."""

import hashlib
import json
from pathlib import Path
from typing import Any

from lamr_base.errors import ModelMismatchError
from lamr_base.files import MOST_TOKENIZER_BYTES, check_regular, read_regular
from lamr_model import names
from lamr_model.encoder.part_spec import PartSpec
from lamr_model.perplexity.causal_spec import CausalSpec, causal_files, from_parameter, load_causal_spec
from lamr_model.scoring.scorer import Scorer
from lamr_model.spec import ModelSpec, client_files, load_spec

from lamr_serving.errors import ModelRepositoryError

AGAIN = "export the model again"


def check_repository(repository: Path) -> ModelSpec | CausalSpec:
    """Check every file of a model repository: a pruner's, a causal language model's, or one with both.

    Returns:
        the spec of the model in it; of both, the pruner's.

    Raises:
        ModelRepositoryError: a file is missing, unreadable or of another model; the message names it."""
    if not repository.is_dir():
        raise ModelRepositoryError(
            f"{repository} is not a folder; name a model repository written by `lamr export`", path=repository
        )
    try:
        causal = _check_causal(repository) if (repository / names.PERPLEXITY).is_dir() else None
        if causal is not None and not (repository / names.ENSEMBLE).is_dir():
            return causal
        return _check_pruner(repository)
    except ModelRepositoryError:
        raise
    except ModelMismatchError as error:
        raise ModelRepositoryError(str(error), path=error.path) from error


def _check_pruner(repository: Path) -> ModelSpec:
    configs = {name: read_config(names.config_file(repository, name)) for name in names.MODELS}
    file = configs[names.ENCODER].default_model_filename or names.ONNX_FILE
    onnx, decoder = (names.version_folder(repository, name) for name in (names.ENCODER, names.DECODER))
    onnx, program, weights = onnx / file, decoder / names.PROGRAM_FILE, decoder / names.WEIGHTS_FILE
    tokenizer = client_files(repository) / names.TOKENIZER_FILE
    for path in (client_files(repository) / names.SPEC_FILE, tokenizer, onnx, program, weights):
        _check_readable(path)
    spec = load_spec(repository)
    _check_tokenizer(tokenizer, spec.tokenizer_sha256)
    Scorer.from_repository(repository, spec)
    path = names.config_file(repository, names.ENSEMBLE)
    _check_carried(configs[names.ENSEMBLE], path, names.FINGERPRINT_PARAMETER, spec.fingerprint)
    apart = onnx.name == names.ONNX_FILE and PartSpec.load(onnx.parent) is not None
    for name in (names.PART_FILE, names.FUSION_FILE) if apart else ():  # it reads query and code apart
        _check_readable(onnx.with_name(name))
    outputs = configs[names.ENCODER].output
    widths = [int(output.dims[-1]) for output in outputs if output.name == names.FUSED and output.dims]
    _check_weights(weights, spec, widths[0] if widths else -1)  # -1 where it isn't fixed, too
    return spec


def _check_causal(repository: Path) -> CausalSpec:
    path, folder = names.config_file(repository, names.PERPLEXITY), causal_files(repository)
    config = read_config(path)
    for name in (names.SPEC_FILE, names.TOKENIZER_FILE, config.default_model_filename or names.ONNX_FILE):
        _check_readable(folder / name)
    spec = load_causal_spec(repository)
    from_parameter(config.parameters[names.TOKENIZER_PARAMETER].string_value, spec, str(path))
    _check_carried(config, path, names.FINGERPRINT_PARAMETER, spec.fingerprint)
    _check_carried(config, path, names.SPEC_PARAMETER, spec.to_json())
    _check_tokenizer(folder / names.TOKENIZER_FILE, spec.tokenizer_sha256)
    return spec


def _check_carried(config: Any, path: Path, parameter: str, expected: str) -> None:
    """Check that a configuration names the model that the specification beside it is of."""
    stored = config.parameters[parameter].string_value
    if stored != expected:
        raise ModelRepositoryError(
            f"{path} carries {parameter} {stored or '(none)'}, but {names.SPEC_FILE} makes {expected}: they are of "
            f"different models; {AGAIN}",
            path=path,
        )


def _check_weights(path: Path, spec: ModelSpec, width: int) -> None:
    from lamr_model.crf import DecoderWeights  # noqa: PLC0415  # numpy

    try:
        weights = DecoderWeights.load(path)
    except Exception as error:  # a damaged archive fails in many ways: zip, zlib, npy header, shapes
        raise ModelRepositoryError(f"{path} holds no decoder weights: {error}; {AGAIN}", path=path) from error
    rubrics, features = weights.rubrics, weights.fused_size
    if rubrics != len(spec.rubrics):
        raise ModelRepositoryError(
            f"{path} decodes {rubrics} rubrics, but the model has {', '.join(spec.rubrics)}; {AGAIN}",
            path=path,
        )
    if spec.scoring.unchained and weights.chained:
        raise ModelRepositoryError(
            f"{path} decodes with a chain, but the model's scoring is {spec.scoring.kind!r}, which wants none; "
            f"{AGAIN} with --scoring {spec.scoring.kind}"
        )
    if width > 0 and features != width:
        raise ModelRepositoryError(
            f"{path} takes {features} features a token, but {names.ENCODER} makes {width}; {AGAIN}", path=path
        )


def read_config(path: Path) -> Any:
    """Read a `config.pbtxt` as Triton's ModelConfig message."""
    # The messages come with a gRPC client that takes a while to import.
    from google.protobuf import text_format  # type: ignore[import-untyped]  # noqa: PLC0415
    from tritonclient.grpc import model_config_pb2  # noqa: PLC0415

    _check_readable(path)
    try:
        # A causal model's carries its tokenizer.
        text = read_regular(path, MOST_TOKENIZER_BYTES).decode("utf-8")
        if text.rpartition("\n")[2].lstrip().startswith("#"):  # the lines before it may well parse
            raise ModelRepositoryError(f"{path} ends within a comment: it has been cut; {AGAIN}", path=path)
        # Newer servers know fields that this client's messages don't have. Triton checks those.
        return text_format.Parse(text, model_config_pb2.ModelConfig(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ModelRepositoryError(f"{path} is not a model configuration: {error}", path=path) from error


def _check_readable(path: Path) -> None:
    try:
        check_regular(path)
        with path.open("rb"):
            pass
    except FileNotFoundError as error:
        raise ModelRepositoryError(f"{path} is missing; {AGAIN}", path=path) from error
    except OSError as error:
        raise ModelRepositoryError(f"{path} can't be read: {error.strerror}", path=path) from error


def _check_tokenizer(path: Path, sha256: str) -> None:
    """Check that a `tokenizer.json` is the one that the specification beside it was written for."""
    content = read_regular(path, MOST_TOKENIZER_BYTES)
    if hashlib.sha256(content).hexdigest() == sha256:
        return
    try:
        json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelRepositoryError(f"{path} is damaged ({error}); {AGAIN}", path=path) from error
    raise ModelRepositoryError(
        f"{path} is not the tokenizer that {path.with_name(names.SPEC_FILE)} was written for; {AGAIN}",
        path=path,
    )
