"""A packed model as an ONNX graph of standard operators, with dynamic sizes and no trace of the exporting machine.

The encoder and a causal language model are exported as they are served. A causal model's softmax over the vocabulary is
summed up inside the graph: one number a token comes out."""

import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import onnx
import torch
from lamr_model.names import (
    CU_SEQLENS,
    ENCODER,
    FUSED,
    INPUT_IDS,
    LOG_PROB,
    MAX_LEN,
    ONNX_DATA_FILE,
    ONNX_FILE,
    PERPLEXITY,
    RELEVANCE,
)
from onnx import GraphProto, ModelProto
from torch import Tensor, nn

from lamr_export.attention import PackedLayout
from lamr_export.causal_model import CausalModel
from lamr_export.errors import ExportError
from lamr_export.model import LamrModel

# Triton 24.10 brings onnxruntime 1.19, which reads opsets up to 21 and IR versions up to 10. Opset 20 is the first
# with Gelu as one operator.
OPSET = 20
IR_VERSION = 10
OLDEST_ONNXRUNTIME = "1.19"
OLDEST_CONTAINER = "24.10"

# What the first dimension of each input and of outputs by token is called.
TOKENS = "tokens"
INPUTS = {INPUT_IDS: TOKENS, CU_SEQLENS: "bounds", MAX_LEN: "slots"}
_LARGEST_FILE = 1_900_000_000  # bytes; protobuf can't hold 2 GiB


def packed_to_onnx(module: nn.Module, name: str, vocabulary: int, outputs: Mapping[str, str]) -> ModelProto:
    """Export a module that reads a packed batch. Shapes: `module` int64 `[T]`."""
    lengths = [3, 7, 4]
    example = (
        torch.arange(sum(lengths)) % vocabulary,
        torch.tensor([0, *lengths]).cumsum(0).to(torch.int32),
        torch.zeros(max(lengths)),
    )
    dynamic = {key: {0: torch.export.Dim.DYNAMIC} for key in INPUTS}
    try:
        with torch.no_grad(), _quiet():
            program = torch.onnx.export(
                module.eval(),
                example,
                dynamo=True,
                opset_version=OPSET,
                input_names=list(INPUTS),
                output_names=list(outputs),
                dynamic_shapes=dynamic,
                verbose=False,
            )
    except Exception as error:  # the exporter wraps whatever the backbone's code raised
        raise ExportError(f"{name} can't be traced: {_root_cause(error)}") from error
    assert program is not None
    return _clean(program.model_proto, name, outputs)


def save_onnx(model: ModelProto, folder: Path) -> None:
    """Write `model.onnx` into a folder. Weights beyond 2 GB go to `model.onnx.data` beside it."""
    weights = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    outside = weights > _LARGEST_FILE
    onnx.save_model(
        model,
        folder / ONNX_FILE,
        save_as_external_data=outside,
        all_tensors_to_one_file=True,
        location=ONNX_DATA_FILE if outside else None,
    )
    if outside:  # onnx lets nobody but its owner read it, and a server may run as somebody else
        (folder / ONNX_DATA_FILE).chmod((folder / ONNX_FILE).stat().st_mode)


def _clean(model: ModelProto, name: str, outputs: Mapping[str, str]) -> ModelProto:
    """Name the dimensions, and drop traces of the exporting machine; the model is changed in place."""
    foreign = sorted({f"{node.domain}::{node.op_type}" for node in model.graph.node if node.domain})
    if foreign or model.functions:
        raise ExportError(f"the graph needs operators outside ONNX: {', '.join(foreign) or 'functions'}")
    opset = next(entry for entry in model.opset_import if not entry.domain)
    if opset.version != OPSET:
        raise ExportError(f"torch wrote opset {opset.version} instead of {OPSET}; install a newer onnxscript")
    del model.opset_import[:]
    model.opset_import.append(opset)
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version, model.doc_string = "lamr", "", ""
    graph = model.graph
    graph.name, graph.doc_string = name, ""
    values = (*graph.input, *graph.output, *graph.initializer, *graph.value_info)
    for item in (model, graph, *graph.node, *values):
        del item.metadata_props[:]
        item.doc_string = ""
    _name_dimensions(graph, outputs)
    for number, node in enumerate(graph.node):  # the exporter names them after Python modules
        node.name = f"{node.op_type}_{number}"
    return model


def _name_dimensions(graph: GraphProto, outputs: Mapping[str, str]) -> None:
    """Name sizes by their meaning. The exporter calls them `s72` or `s40 - 1`. Shapes of intermediate values stay in
    the file, because onnxruntime doesn't infer all of them, and it fuses a residual sum with its LayerNorm only where
    it knows them."""
    names: dict[str, str] = {}
    for values, meanings in ((graph.output, outputs), (graph.input, INPUTS)):  # `s40 - 1` before `s40`
        for value in values:
            first = value.type.tensor_type.shape.dim[0].dim_param
            names.setdefault(first, meanings[value.name])
    pattern = re.compile("|".join(rf"\b{re.escape(old)}\b" for old in names))
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_param = pattern.sub(lambda match: names[match[0]], dimension.dim_param)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's remarks on unused libraries and on its own internals."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


OUTPUTS = {FUSED: TOKENS, RELEVANCE: "sequences"}


class ServedEncoder(nn.Module):
    """`LamrModel.forward` for requests that nobody has checked, sharing a batch with others' requests. An id outside
    the vocabulary or a sequence beyond the window would fail the whole batch, or take its memory. Here it turns its own
    sequence's features into NaN, which the decoder refuses, and leaves the other sequences alone."""

    def __init__(self, model: LamrModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, max_len: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a packed batch as `LamrModel.forward` does."""
        window = self.model.config.chunking.window
        packing = PackedLayout.of(cu_seqlens, max_len, input_ids.shape[0], limit=window)
        known, shift = without_refused(input_ids, packing, self.model.backbone.config.vocab_size, window)
        fused, relevance = self.model.encode(known, packing, shift)
        return fused + shift[:, None], relevance  # added again, because quantized products don't pass NaN on


def without_refused(
    input_ids: Tensor, packing: PackedLayout, vocabulary: int, window: int
) -> tuple[Tensor, Tensor]:
    """Find the sequences of a packed batch that the model can't take. Shapes: `input_ids` int64 `[T]`; returns int64
    `[T]`, float32 `[T]`."""
    known = input_ids.clamp(0, vocabulary - 1)
    unknown = (known != input_ids).to(torch.int64).index_select(0, packing.to_padded)
    refused = (unknown.view(packing.starts.shape[0], -1).sum(dim=1) > 0) | (
        packing.lasts - packing.starts >= window
    )
    return known, torch.where(refused, torch.nan, 0.0).index_select(0, packing.sequence)


def encoder_to_onnx(model: LamrModel) -> ModelProto:
    """Export the encoder as it is served (`ServedEncoder`)."""
    training = model.training
    try:
        return packed_to_onnx(ServedEncoder(model), ENCODER, model.backbone.config.vocab_size, OUTPUTS)
    finally:
        model.train(training)


class ServedCausal(nn.Module):
    """`CausalModel.forward` for requests that nobody has checked, sharing a batch with others' requests. An id outside
    the vocabulary or a sequence beyond the window turns its own sequence's log-probabilities into NaN and leaves the
    other sequences alone."""

    def __init__(self, model: CausalModel, max_tokens: int) -> None:
        super().__init__()
        self.model, self.max_tokens = model, max_tokens

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, max_len: Tensor) -> Tensor:
        """Score a packed batch as `CausalModel.forward` does."""
        packing = PackedLayout.of(cu_seqlens, max_len, input_ids.shape[0], limit=self.max_tokens)
        known, shift = without_refused(input_ids, packing, self.model.vocabulary, self.max_tokens)
        return self.model.log_probs(known, packing) + shift


def causal_to_onnx(model: CausalModel, max_tokens: int) -> ModelProto:
    """Export a causal model as it is served (`ServedCausal`)."""
    served = ServedCausal(model, max_tokens)
    return packed_to_onnx(served, PERPLEXITY, model.vocabulary, {LOG_PROB: TOKENS})
