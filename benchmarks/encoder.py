"""The encoder in fp32, in our int8 (constant scales, and scales by row) and in onnxruntime's own dynamic int8.

    python -m benchmarks.encoder [--backbone FOLDER] [--threads 2] [--json]

The model has the shape of lamr-mini (MiniLM-L6 and 384 fused features; `--fused-width 1152` leaves the three layers
unprojected). Its weights are random unless a backbone's folder is named, and errors mean something only with real
weights. Times are CPU seconds over threads, medians of calls that take turns, so that a busy machine disturbs them
little."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import torch
from lamr_export import LamrModel, Lexical
from lamr_export.onnx_tracing import encoder_to_onnx
from lamr_export.quantize import quantize_encoder
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.names import ENCODER_OUTPUTS, FUSED
from onnxruntime.quantization import QuantType, quantize_dynamic

from benchmarks.random_models import lamr_model, minilm
from benchmarks.report import Figure, option_parser, run
from benchmarks.sessions import NO_SPINNING, server_session
from benchmarks.timing import time_in_turns

BATCHES = {"1 x 400": [400], "8 x 256": [256] * 8, "8 ragged": [40, 300, 120, 220, 256, 80, 180, 256]}
JOINED = 3 * 384  # width of the three layers side by side
ROUNDS = 7
LEAST_SPEEDUP = 2.5  # of int8 over fp32, where a batch's sequences are of one length


def build(backbone: Path | None, fused_width: int) -> LamrModel:
    """The model of a backbone's folder, or of random weights."""
    torch.manual_seed(0)
    return lamr_model(
        backbone or minilm(),
        window=512,
        fusion_layers=(2, 4, 6),
        fusion_width=None if fused_width == JOINED else fused_width,
        lexical=Lexical(102, (0, 100, 101, 102, 103), (8, 32)),
    )


def write_graphs(model: LamrModel, folder: Path) -> dict[str, Path]:
    """Write the four graphs; each is named as its figures are."""
    fp32 = encoder_to_onnx(model)
    calibration = [
        encoder_feed(samples(lengths, seed)) for seed, lengths in enumerate(BATCHES.values(), start=1)
    ]
    onnx.save(fp32, folder / "fp32.onnx")
    onnx.save(quantize_encoder(fp32, calibration), folder / "int8.onnx")
    onnx.save(quantize_encoder(fp32), folder / "int8, scales by row.onnx")
    plain = onnx.ModelProto()
    plain.CopyFrom(fp32)
    del plain.graph.value_info[:]  # onnxruntime's quantizer trips over them
    onnx.save(plain, folder / "plain.onnx")
    quantize_dynamic(
        folder / "plain.onnx",
        folder / "int8, one scale a tensor.onnx",
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Gather", "Gemm"],
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )
    (folder / "plain.onnx").unlink()
    return {path.stem: path for path in sorted(folder.glob("*.onnx"))}


def samples(lengths: list[int], seed: int = 0) -> list[np.ndarray]:
    """Token ids of random chunks of the given lengths, each with a query of eleven tokens."""
    rng = np.random.default_rng(seed)
    chunks = []
    for length in lengths:
        ids = rng.integers(1000, 30000, length)
        ids[[0, 12, -1]] = 101, 102, 102
        chunks.append(ids)
    return chunks


def relative_error(values: np.ndarray, reference: np.ndarray) -> float:
    """Root mean square of the difference over that of the reference."""
    return float(np.sqrt(np.square(values - reference).mean() / np.square(reference).mean()))


def compare(paths: dict[str, Path], batch: str, threads: int) -> Iterator[Figure]:
    """Speed, error and dependence on the batch of each graph on one batch."""
    sessions = {name: server_session(path, threads, entries=NO_SPINNING) for name, path in paths.items()}
    requests = samples(BATCHES[batch])
    feed = encoder_feed(requests)
    features = {name: session.run([FUSED], feed)[0] for name, session in sessions.items()}
    calls = {name: partial(session.run, ENCODER_OUTPUTS, feed) for name, session in sessions.items()}
    timings = time_in_turns(calls, ROUNDS)
    for name, session in sessions.items():
        seconds = timings[name].cpu_median
        speedup = timings["fp32"].cpu_median / seconds
        target = LEAST_SPEEDUP if name == "int8" and batch != "8 ragged" else None
        alone = np.concatenate([session.run([FUSED], encoder_feed([request]))[0] for request in requests])
        yield Figure(f"{name}, {batch} tokens", sum(BATCHES[batch]) * threads / seconds, "tokens/s")
        yield Figure(f"  {name} encoder over fp32, {batch} tokens", speedup, "x", target, at_least=True)
        yield Figure(f"  {name}, {batch}: error", relative_error(features[name], features["fp32"]))
        yield Figure(f"  {name}, {batch}: packed against alone", relative_error(features[name], alone))


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """The figures of every batch."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write_graphs(build(options.backbone, options.fused_width), Path(folder))
        for name, path in paths.items():
            yield Figure(f"size of {name}", path.stat().st_size / 1e6, "MB")
        for batch in BATCHES:
            yield from compare(paths, batch, options.threads)


PARSER = option_parser(__doc__)
PARSER.add_argument("--backbone", type=Path, help="folder of a Hugging Face BERT of MiniLM-L6's shape")
PARSER.add_argument("--fused-width", type=int, default=384, help="fused features (%(default)s)")
PARSER.add_argument("--threads", type=int, default=2, help="threads of a run (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
