"""The encoder as an ONNX graph of standard operators, with dynamic sizes and without traces of the exporting machine.

The module knows torch's exporter and what has to be cleaned in its output. It neither quantizes
nor writes a repository.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import torch
from lamr_contract.names import (
    CU_SEQLENS,
    ENCODER,
    FUSED,
    INPUT_IDS,
    MAX_LEN,
    ONNX_DATA_FILE,
    ONNX_FILE,
    RELEVANCE,
)
from onnx import GraphProto, ModelProto
from torch import Tensor, nn

from lamr_export.attention import PackedLayout
from lamr_export.errors import ExportError
from lamr_export.model import LamrModel

# Triton 24.10 brings onnxruntime 1.19, which reads opsets up to 21 and IR versions up to 10. Opset 20 is the first
# with Gelu as one operator.
OPSET = 20
IR_VERSION = 10
OLDEST_ONNXRUNTIME = "1.19"
OLDEST_CONTAINER = "24.10"

# Names of the first dimension of each input and output.
INPUTS = {INPUT_IDS: "tokens", CU_SEQLENS: "bounds", MAX_LEN: "slots"}
OUTPUTS = {FUSED: "tokens", RELEVANCE: "sequences"}
_LARGEST_FILE = 1_900_000_000  # bytes; protobuf can't hold 2 GiB


class ServedEncoder(nn.Module):
    """`LamrModel.forward` for requests that nobody has checked, sharing a batch with others' requests.

    An id outside the vocabulary or a sequence beyond the window would fail the whole batch, or take its memory. Here it
    turns its own sequence's features into NaN, which the decoder refuses, and leaves the other sequences alone.
    """

    def __init__(self, model: LamrModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, max_len: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a packed batch as `LamrModel.forward` does."""
        window = self.model.config.chunking.window
        known = input_ids.clamp(0, self.model.backbone.config.vocab_size - 1)
        packing = PackedLayout.of(cu_seqlens, max_len, input_ids.shape[0], limit=window)
        unknown = (known != input_ids).to(torch.int64).index_select(0, packing.to_padded)
        refused = (unknown.view(packing.starts.shape[0], -1).sum(dim=1) > 0) | (
            packing.lasts - packing.starts >= window
        )
        shift = torch.where(refused, torch.nan, 0.0).index_select(0, packing.sequence)
        fused, relevance = self.model.encode(known, packing, shift)
        return fused + shift[:, None], relevance  # added again, because quantized products don't pass NaN on


def encoder_to_onnx(model: LamrModel) -> ModelProto:
    """Export the encoder as it is served (`ServedEncoder`).

    Raises:
        ExportError: the backbone can't be traced with dynamic sizes, or the graph holds operators outside ONNX's
            own domain.
    """
    lengths = [3, 7, 4]
    example = (
        torch.arange(sum(lengths)) % model.backbone.config.vocab_size,
        torch.tensor([0, *lengths]).cumsum(0).to(torch.int32),
        torch.zeros(max(lengths)),
    )
    dynamic = {name: {0: torch.export.Dim.DYNAMIC} for name in INPUTS}
    training = model.training
    try:
        with torch.no_grad(), _quiet():
            program = torch.onnx.export(
                ServedEncoder(model).eval(),
                example,
                dynamo=True,
                opset_version=OPSET,
                input_names=list(INPUTS),
                output_names=list(OUTPUTS),
                dynamic_shapes=dynamic,
                verbose=False,
            )
    except Exception as error:  # the exporter wraps whatever the backbone's code raised
        raise ExportError(f"the encoder can't be traced: {_root_cause(error)}") from error
    finally:
        model.train(training)
    assert program is not None
    return _clean(program.model_proto)


def save_onnx(model: ModelProto, folder: Path) -> None:
    """Write `model.onnx` into a folder. Weights beyond 2 GB go to `model.onnx.data` beside it."""
    weights = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    outside = weights > _LARGEST_FILE
    onnx.save_model(
        model,
        folder / ONNX_FILE,
        save_as_external_data=outside,
        **({"all_tensors_to_one_file": True, "location": ONNX_DATA_FILE} if outside else {}),
    )


def _clean(model: ModelProto) -> ModelProto:
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
    graph.name, graph.doc_string = ENCODER, ""
    for item in (
        model,
        graph,
        *graph.node,
        *graph.input,
        *graph.output,
        *graph.initializer,
        *graph.value_info,
    ):
        del item.metadata_props[:]
        item.doc_string = ""
    _name_dimensions(graph)
    for number, node in enumerate(graph.node):  # the exporter names them after Python modules
        node.name = f"{node.op_type}_{number}"
    return model


def _name_dimensions(graph: GraphProto) -> None:
    """Name sizes by their meaning. The exporter calls them `s72` or `s40 - 1`.

    Shapes of intermediate values stay in the file, because onnxruntime doesn't infer all of them, and it fuses a
    residual sum with its LayerNorm only where it knows them.
    """
    names = {}
    for values, meanings in ((graph.output, OUTPUTS), (graph.input, INPUTS)):  # `s40 - 1` before `s40`
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
