"""Writes a causal language model as a complete, verified Triton model repository with the one model `lamr_perplexity`.

The modules that it calls make the graph, its configuration and comparisons."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from lamr_model import names
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.perplexity.causal_scorer import IntArray, causal_tokenizer
from lamr_model.perplexity.causal_spec import CausalSpec, causal_files
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_export.causal_model import TOLERANCE, CausalModel
from lamr_export.causal_source import load_causal
from lamr_export.config import check_name
from lamr_export.errors import CheckpointError, ExportError
from lamr_export.onnx_tracing import OLDEST_CONTAINER, OLDEST_ONNXRUNTIME, causal_to_onnx, save_onnx
from lamr_export.repository_writer import ModelReport, check_target, files_of, replacing
from lamr_export.triton import causal_config
from lamr_export.verify import LONGEST, ExportedGraph, standard_texts

_TEXT_TOKENS, _TEXTS = 512, 4  # of a text, and texts in a batch: a second or two of a 0.5B model


@dataclass(frozen=True)
class CausalVerification:
    """How an exported causal model differs from the PyTorch model, in nats."""

    batches: int  # how many of them were compared
    tokens: int
    error: float  # the largest absolute difference of a log-probability
    mean_error: float  # the mean absolute difference
    packed_error: float


def verify_causal(
    model: CausalModel, onnx_file: Path, random: Sequence[list[IntArray]], text: Sequence[list[IntArray]]
) -> CausalVerification:
    """Compare an exported causal model with its PyTorch model."""
    graph = ExportedGraph(onnx_file, [names.LOG_PROB])
    differences: list[NDArray[np.float32]] = []
    packed_error = 0.0
    for number, batch in enumerate((*random, *text)):
        found = _run(graph, batch)
        with torch.inference_mode():
            expected = model(*(torch.from_numpy(value) for value in encoder_feed(batch).values())).numpy()
        differences.append(np.abs(found - expected))
        if number < len(random):
            alone = np.concatenate([_run(graph, [ids]) for ids in batch])
            packed_error = max(packed_error, float(np.abs(found - alone).max()))
    every = np.concatenate(differences)
    return CausalVerification(
        len(differences), len(every), float(every.max()), float(every.mean(dtype=float)), packed_error
    )


def random_ids(model: CausalModel, max_tokens: int) -> list[list[IntArray]]:
    """Random ids in ragged batches, with lengths from 1 to the longest that is served (at most `LONGEST`)."""
    generator = np.random.default_rng(0)
    longest = min(max_tokens, LONGEST)
    few = max(2, longest // 8)
    lengths = [[1], [longest], [1, 2, *generator.integers(1, few, 4).tolist(), 1, few]]
    return [[generator.integers(0, model.vocabulary, length) for length in batch] for batch in lengths]


def text_ids(tokenizer: Tokenizer, max_tokens: int) -> list[list[IntArray]]:
    """The beginnings of files of the standard library, as batches."""
    most = min(max_tokens, _TEXT_TOKENS)
    ids = [np.array(tokenizer.encode(code[: 16 * most]).ids[:most], np.int64) for _, code in standard_texts()]
    return [ids[first : first + _TEXTS] for first in range(0, len(ids), _TEXTS)]


def _run(graph: ExportedGraph, batch: list[IntArray]) -> NDArray[np.float32]:
    values: NDArray[np.float32] = graph(encoder_feed(batch))[0]
    if values.shape != (sum(map(len, batch)),) or not np.isfinite(values).all():
        raise ExportError(f"{names.LOG_PROB} has shape {list(values.shape)}, or holds NaN or infinity")
    return values


SERVED_TOKENS = 4096
"""The longest sequence that is served unless a caller says otherwise: attention's scores grow with its square, to a
gigabyte at this length with the fourteen heads of a 0.5B model."""
BATCH_SIZE = 16


@dataclass(frozen=True, kw_only=True)
class CausalReport(ModelReport):
    """One exported causal model; its version is a digest of its weights."""

    vocabulary: int  # the number of token ids, and the longest sequence that is served
    max_tokens: int
    packed: bool  # whether its layers see sequences without padding
    verification: CausalVerification  # how the exported model differs from the PyTorch model

    def summary(self) -> str:
        """A few lines for a terminal."""
        checked = self.verification
        return "\n".join(
            (
                f"{self.name} {self.version}, fingerprint {self.fingerprint}: log-probabilities of sequences up to "
                f"{self.max_tokens:,} tokens",
                f"{sum(self.files.values()) / 1e6:.1f} MB, {self.parameters / 1e6:.1f} M parameters, ONNX opset "
                f"{self.opset}: onnxruntime {OLDEST_ONNXRUNTIME} or later, Triton {OLDEST_CONTAINER} or later",
                f"against PyTorch on {checked.tokens:,} tokens: log-probabilities differ by at most "
                f"{checked.error:.1e} ({checked.mean_error:.1e} on average), packed from one by one by "
                f"{checked.packed_error:.1e}",
            )
        )


def export_causal(  # noqa: PLR0913 - each is one choice of the command line
    checkpoint: str | Path,
    output: str | Path,
    *,
    revision: str | None = None,
    name: str | None = None,
    max_tokens: int | None = None,
    max_batch_size: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> CausalReport:
    """Export any Hugging Face causal language model to a model repository that Triton can load.

    Args:
        checkpoint: its folder, or what else `load_causal` loads; see `export_repository` for all that isn't named here.
        max_tokens: the longest sequence that is served; if None, the model's window, but not more than `SERVED_TOKENS`.
        max_batch_size: the most sequences in one execution; `BATCH_SIZE` if None.

    Raises:
        CheckpointError: the checkpoint can't be read, isn't supported, or has a smaller window.
        ModelMismatchError: its tokenizer can't be read.
        ExportError: see `export_repository`."""
    check_name(name)
    target = Path(output)
    check_target(target, [names.PERPLEXITY], causal_files(target))
    source = load_causal(checkpoint, revision, progress)
    model = source.model
    if max_tokens is not None and not 1 <= max_tokens <= model.max_tokens:
        raise CheckpointError(f"the model takes 1 to {model.max_tokens} tokens, not {max_tokens}")
    spec = CausalSpec(
        name=name or source.name,
        version=source.digest,
        vocabulary=model.vocabulary,
        max_tokens=max_tokens or min(model.max_tokens, SERVED_TOKENS),
        tokenizer_sha256=hashlib.sha256(source.tokenizer_json).hexdigest(),
    )
    parameters = sum(weights.numel() for weights in model.parameters())
    with replacing(target) as fresh:
        place = causal_files(fresh)
        place.mkdir(parents=True)
        (place / names.SPEC_FILE).write_text(spec.to_json(), encoding="utf-8")
        (place / names.TOKENIZER_FILE).write_bytes(source.tokenizer_json)
        text = causal_config(spec, source.tokenizer_json, max_batch_size or BATCH_SIZE, parameters)
        names.config_file(fresh, names.PERPLEXITY).write_text(text, encoding="utf-8")
        progress("tracing the model")
        save_onnx(causal_to_onnx(model, spec.max_tokens), place)
        progress("comparing it with PyTorch")
        tokenizer = causal_tokenizer(place / names.TOKENIZER_FILE)
        batches = random_ids(model, spec.max_tokens), text_ids(tokenizer, spec.max_tokens)
        checked = verify_causal(model, place / names.ONNX_FILE, *batches)
        for what, error in (
            ("log-probabilities differ from PyTorch's", checked.error),
            ("packed batches differ from single sequences", checked.packed_error),
        ):
            if error > TOLERANCE:
                raise ExportError(
                    f"the exported model is wrong: {what} by {error:.2e} (allowed {TOLERANCE:.0e})"
                )
        report = CausalReport(
            **{each: getattr(spec, each) for each in ("name", "version", "fingerprint")},
            parameters=parameters,
            vocabulary=spec.vocabulary,
            max_tokens=spec.max_tokens,
            packed=model.packed,
            files=files_of(fresh),
            verification=checked,
        )
        (place / names.REPORT_FILE).write_text(report.to_json(), encoding="utf-8")
    return report
