"""Writes a checkpoint as a complete, verified Triton model repository, whole or not at all.

The module knows which file goes where (docs/architecture.md, "Model repository"). The modules that it calls make
graphs, configurations and comparisons."""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnxruntime
import torch
from lamr_base.errors import InvalidInputError
from lamr_model import names
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkRequest
from lamr_model.spec import ModelSpec, client_files
from lamr_serving.engines import PRECISIONS

from lamr_export import onnx_tracing
from lamr_export.checkpoint import checkpoint_folder, copy_client_files, load_checkpoint, tokenizer_path
from lamr_export.config import check_name, served_config, serving_terms
from lamr_export.errors import CheckpointError, ExportError
from lamr_export.model import LamrModel
from lamr_export.part_graphs import write_parts
from lamr_export.quantize import quantize_encoder
from lamr_export.triton import decoder_program, default_batch_size, model_config
from lamr_export.verify import (
    SampleText,
    Verification,
    calibration_texts,
    feed_of,
    random_batches,
    standard_texts,
    text_batches,
    verify_encoder,
)


def check_target(target: Path, models: Collection[str], described: Path) -> None:
    """Refuse to replace anything but an absent or empty folder, or a model repository of the same kind. Raises
    `ExportError`: it is something else."""
    if not target.exists():
        return
    if not target.is_dir():
        raise ExportError(f"{target} is a file; name a folder for the model repository")
    entries = list(target.iterdir())
    strange = sorted(
        path.name for path in entries if path.is_dir() and path.name not in (*models, "__pycache__")
    )
    if entries and (strange or not (described / names.SPEC_FILE).is_file()):
        content = f" (it holds {', '.join(strange[:3])})" if strange else ""
        raise ExportError(
            f"{target} isn't a model repository of ours{content}; name another folder or empty it"
        )


def files_of(folder: Path) -> dict[str, int]:
    """The size of each file below a folder in bytes, by its path there."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A folder beside the target, which takes the target's place if the block succeeds and is removed if it fails.

    Files at the top of the old repository (a README, a licence) are kept. Raises `ExportError`: the target can't be
    written."""
    fresh, old = (target.parent / f".{target.name}.{os.getpid()}.{kind}" for kind in ("new", "old"))
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh.mkdir()
            yield fresh
            if target.exists():
                for path in target.iterdir():
                    if path.is_file():
                        shutil.copy2(path, fresh / path.name)
                target.rename(old)
            fresh.rename(target)
        except OSError as error:
            if old.exists() and not target.exists():
                old.rename(target)
            raise ExportError(f"{target} can't be written: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class ModelReport:
    """What the reports of all exported models have."""

    name: str  # which model it is
    version: str
    fingerprint: str
    parameters: int  # the number of the PyTorch model's parameters
    opset: int = onnx_tracing.OPSET  # of the ONNX file
    torch: str = torch.__version__  # the versions that verified it
    onnxruntime: str = onnxruntime.__version__
    files: dict[str, int]  # the size of each file in bytes, by its path in the repository

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


@dataclass(frozen=True, kw_only=True)
class ExportReport(ModelReport):
    """One exported model repository."""

    precision: str  # the precision of the encoder's products, one of `lamr_serving.engines.PRECISIONS`
    ir_version: int = onnx_tracing.IR_VERSION  # of the ONNX file, and what can load it
    oldest_onnxruntime: str = onnx_tracing.OLDEST_ONNXRUNTIME
    oldest_container: str = onnx_tracing.OLDEST_CONTAINER
    max_batch_size: int  # the most requests in one execution
    verification: Verification  # how the exported encoder differs from the PyTorch model

    @property
    def total_bytes(self) -> int:
        """The size of all files but the report."""
        return sum(self.files.values())

    def to_json(self) -> str:
        return json.dumps({**dataclasses.asdict(self), "total_bytes": self.total_bytes}, indent=2) + "\n"

    def summary(self) -> str:
        """A few lines for a terminal."""
        checked = self.verification
        return "\n".join(
            (
                f"{self.name} {self.version} ({self.precision}), fingerprint {self.fingerprint}",
                f"{self.total_bytes / 1e6:.1f} MB, {self.parameters / 1e6:.1f} M parameters, ONNX opset {self.opset}: "
                f"onnxruntime {self.oldest_onnxruntime} or later, Triton {self.oldest_container} or later",
                f"against PyTorch on {checked.tokens:,} tokens: fused features differ by at most "
                f"{checked.fused_error:.1e} ({checked.fused_relative:.1e} of their size on average), "
                f"relevance by {checked.relevance_error:.1e}, packed from one by one by {checked.packed_error:.1e}",
                f"keep decisions changed: {checked.changed_percent:.2f} % of {checked.decisions:,} "
                f"(kept are {checked.kept_percent:.1f} %); in or out of the likeliest quarter: "
                f"{checked.moved_percent:.2f} %; keep probability by {checked.keep_prob_mean_error:.1e} on average",
            )
        )


def with_files(text: str, files: dict[str, int]) -> str:
    """Return a report's text for a repository whose other files have been written anew."""
    return (
        json.dumps({**json.loads(text), "files": files, "total_bytes": sum(files.values())}, indent=2) + "\n"
    )


TOLERANCES: tuple[tuple[str, Callable[[Verification], float], float], ...] = (
    (
        "fused features differ from PyTorch's, relative to their size,",
        lambda checked: checked.fused_relative,
        1e-4,
    ),
    ("a fused feature differs from PyTorch's", lambda checked: checked.fused_error, 1e-2),
    ("relevance differs from PyTorch's", lambda checked: checked.relevance_error, 1e-3),
    ("packed batches differ from single sequences", lambda checked: checked.packed_error, 1e-3),
)
"""What a graph in fp32 may differ by. A network that amplifies rounding is some 1e-3 from float64 at a few tokens, in
PyTorch and as a graph, while its root mean square error stays near 1e-5. A wrong graph is further off in the mean."""


@dataclass(frozen=True, kw_only=True)
class ServingTerms:
    """What a repository says in place of its checkpoint."""

    # with the first digits of the weights' digest as version; None for the checkpoint's own
    name: str | None = None
    scoring: str | None = None  # `paper` or `emission` instead of the checkpoint's (see `lamr_model.rules`)
    # the most code tokens of a chunk, cut at lines; None for the checkpoint's chunks
    chunk_tokens: int | None = None
    max_batch_size: int | None = None  # the most requests in one execution; None: it follows from the window


def export_repository(  # noqa: PLR0913 - keywords with defaults
    checkpoint: str | Path,
    output: str | Path,
    precision: str = "fp32",
    terms: ServingTerms = ServingTerms(),
    *,
    revision: str | None = None,
    texts: Sequence[SampleText] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> ExportReport:
    """Export a checkpoint to a model repository that Triton can load.

    Args:
        checkpoint: a folder that `load_checkpoint` reads, or what else `checkpoint_folder` finds one by.
        output: the repository's folder; a repository in it is replaced, another folder is refused.
        precision: `fp32`; `int8` for quantized weights and products; or `bf16`, whose file is that of fp32 (and is
            verified as such) with a configuration that asks OpenVINO for bf16 products.
        terms: what differs from the checkpoint's own.
        revision: the revision of a checkpoint that is named by its Hugging Face id.
        texts: pairs of a query and code on which changed decisions are counted; questions about the standard library
            if None.
        progress: takes a line before each step.

    Raises:
        CheckpointError: the checkpoint can't be read.
        ExportError: the target can't be replaced or written, the name can't be shown, the model can't be traced, or the
            written encoder doesn't compute what the checkpoint does."""
    if precision not in PRECISIONS:
        raise ExportError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    check_name(terms.name)
    target = Path(output)
    check_target(target, names.MODELS, client_files(target))
    checkpoint = checkpoint_folder(checkpoint, revision, progress)
    progress(f"reading {checkpoint}")
    model = load_checkpoint(checkpoint)
    weights = weights_digest(model)
    model.config = served_config(model.config, terms.scoring, terms.chunk_tokens)
    if terms.name is not None:
        model.config = dataclasses.replace(model.config, name=terms.name, version=weights[:8])
    progress(serving_terms(model.config))
    tokenizer = tokenizer_path(checkpoint)
    spec = model.config.spec(hashlib.sha256(tokenizer.read_bytes()).hexdigest(), weights)
    positions = model.backbone.config.max_position_embeddings
    if spec.chunking.window > positions:
        raise CheckpointError(
            f"the window is {spec.chunking.window} tokens, but the backbone has {positions} positions"
        )
    size = terms.max_batch_size or default_batch_size(spec.chunking.window)
    with replacing(target) as folder:
        for part in (names.ENSEMBLE, names.ENCODER, names.DECODER):
            names.version_folder(folder, part).mkdir(parents=True)
        client, decoder = (
            names.version_folder(folder, names.ENSEMBLE),
            names.version_folder(folder, names.DECODER),
        )
        (client / names.SPEC_FILE).write_text(spec.to_json(), encoding="utf-8")
        copy_client_files(tokenizer, client)
        model.decoder_weights().save(decoder / names.WEIGHTS_FILE)
        (decoder / names.PROGRAM_FILE).write_bytes(decoder_program())
        width = model.heads.norm.normalized_shape[0]
        parameters = sum(weights.numel() for weights in model.parameters())
        for part in names.MODELS:
            text = model_config(part, spec, width, size, precision, parameters)
            names.config_file(folder, part).write_text(text, encoding="utf-8")
        progress(f"tracing the encoder ({precision})")
        encoder = names.version_folder(folder, names.ENCODER)
        graph = onnx_tracing.encoder_to_onnx(model)
        if precision == "int8":
            progress("calibrating and quantizing it")
            samples = [feed_of(batch) for batch in _text_batches(spec, tokenizer, calibration_texts())]
            # Random ids widen the bounds that real text shows, because an unknown file may hold any token.
            probes = [feed_of(batch) for batch in random_batches(model, seed=1)]
            graph = quantize_encoder(graph, samples, probes)
        onnx_tracing.save_onnx(graph, encoder)
        if model.config.similarity is not None and model.config.lexical is not None:
            write_parts(encoder, model.config.lexical.separator_id)
        progress("comparing it with PyTorch")
        chunks = _text_batches(spec, tokenizer, standard_texts() if texts is None else texts)
        checked = verify_encoder(model, encoder / names.ONNX_FILE, random_batches(model), chunks)
        for what, error_of, allowed in () if precision == "int8" else TOLERANCES:
            if (error := error_of(checked)) > allowed:
                raise ExportError(
                    f"the exported encoder is wrong: {what} by {error:.2e} (allowed {allowed:.0e})"
                )
        report = ExportReport(
            **{each: getattr(spec, each) for each in ("name", "version", "fingerprint")},
            precision=precision,
            parameters=parameters,
            max_batch_size=size,
            files=files_of(folder),
            verification=checked,
        )
        (encoder / names.REPORT_FILE).write_text(report.to_json(), encoding="utf-8")
    return report


def weights_digest(model: LamrModel) -> str:
    """Return what names a model's weights: a SHA-256 of its tensors, whatever layout and files they came from."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        values = tensor.detach().cpu().contiguous().numpy()
        digest.update(f"{name}\0{values.dtype.str}\0{values.shape}\0".encode())
        digest.update(values.data)
    return digest.hexdigest()


def _text_batches(spec: ModelSpec, tokenizer: Path, texts: Sequence[SampleText]) -> list[list[ChunkRequest]]:
    try:
        return text_batches(PromptEncoder(tokenizer, spec), texts)
    except InvalidInputError as error:
        raise ExportError(f"a sample text can't be encoded: {error}") from error
