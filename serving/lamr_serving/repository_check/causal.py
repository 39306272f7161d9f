"""The check of a causal language model in a repository: complete, readable, and all of one model."""

from __future__ import annotations

from pathlib import Path

from lamr_contract.errors import ModelMismatchError
from lamr_contract.names import (
    FINGERPRINT_PARAMETER,
    ONNX_FILE,
    PERPLEXITY,
    SPEC_FILE,
    SPEC_PARAMETER,
    TOKENIZER_FILE,
    TOKENIZER_PARAMETER,
    config_file,
)
from lamr_contract.perplexity.causal_spec import CausalSpec, causal_files, from_parameter, load_causal_spec

from lamr_serving.errors import ModelRepositoryError
from lamr_serving.repository_check.reading import check_graph, check_readable, check_tokenizer, read_config

BACKEND = "onnxruntime"


def check_causal(repository: Path) -> CausalSpec:
    """Check every file of the causal language model in a repository.

    Returns:
        its spec.

    Raises:
        ModelRepositoryError: a file is missing, unreadable, truncated or of another model; the message names it.
    """
    path = config_file(repository, PERPLEXITY)
    config = read_config(path)
    folder = causal_files(repository)
    onnx = folder / (config.default_model_filename or ONNX_FILE)
    for file in (folder / SPEC_FILE, folder / TOKENIZER_FILE, onnx):
        check_readable(file)
    if config.backend != BACKEND:
        raise ModelRepositoryError(f"{path} must say backend: {BACKEND!r}, not {config.backend!r}", path=path)
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
    check_graph(onnx)
    return spec
