"""The encoder on two threads: tokens a second in fp32, in our int8 (constant scales and scales by row) and in
onnxruntime's own dynamic int8.

    python benchmarks/encoder.py [--backbone FOLDER] [--threads 2] [--json]

The model has the shape of lamr-mini (MiniLM-L6; 384 fused features, --fused-width 1152 for those of version 0.1) with
random weights unless a backbone's folder is named; errors say something only with real weights. Times are CPU seconds
over threads, medians of calls that take turns, so that a busy machine disturbs them little.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from lamr_contract.packed_batch import encoder_feed
from lamr_contract.spec import Chunking, PromptTemplate
from lamr_export import LamrConfig, LamrModel, Lexical
from lamr_export.onnx_encoder import encoder_to_onnx
from lamr_export.quantize import quantize_encoder
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import BertConfig, BertModel

BATCHES = {"1 x 400": [400], "8 x 256": [256] * 8, "8 ragged": [40, 300, 120, 220, 256, 80, 180, 256]}
JOINED = 3 * 384  # width of the three layers side by side
ROUNDS = 7


@dataclass(frozen=True)
class Row:
    """One graph on one batch; errors are root mean squares relative to fp32's features."""

    graph: str
    batch: str
    megabytes: float
    tokens_per_second: float
    over_fp32: float
    error: float
    batch_dependence: float


def build(backbone: Path | None, fused_width: int = 384) -> LamrModel:
    torch.manual_seed(0)
    config = LamrConfig(
        name="benchmark",
        version="0",
        backbone={},
        prompt=PromptTemplate("[CLS]", "[SEP]", "[SEP]"),
        chunking=Chunking(512, 256, 32),
        fusion_layers=(2, 4, 6),
        fusion_width=None if fused_width == JOINED else fused_width,
        lexical=Lexical(102, (0, 100, 101, 102, 103), (8, 32)),
    )
    shape = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    return LamrModel.from_backbone(backbone or BertModel(shape), config).eval()


def graphs(model: LamrModel, folder: Path) -> dict[str, Path]:
    fp32 = encoder_to_onnx(model)
    onnx.save(fp32, folder / "fp32.onnx")
    calibration = [
        encoder_feed(samples(lengths, seed)) for seed, lengths in enumerate(BATCHES.values(), start=1)
    ]
    onnx.save(quantize_encoder(fp32, calibration), folder / "int8.onnx")
    onnx.save(quantize_encoder(fp32), folder / "int8, scales by row.onnx")
    plain = onnx.ModelProto()
    plain.CopyFrom(fp32)
    del plain.graph.value_info[:]  # the tool trips over them
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


def session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # spinning counts as CPU time
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def samples(lengths: list[int], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    found = []
    for length in lengths:
        ids = rng.integers(1000, 30000, length)
        ids[[0, 12, -1]] = 101, 102, 102
        found.append(ids)
    return found


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(np.square(a - b).mean() / np.square(b).mean()))


def compare(paths: dict[str, Path], batch: str, threads: int) -> list[Row]:
    sessions = {name: session(path, threads) for name, path in paths.items()}
    requests = samples(BATCHES[batch])
    feed = encoder_feed(requests)
    features = {name: one.run(["fused"], feed)[0] for name, one in sessions.items()}
    alone = {
        name: np.concatenate([one.run(["fused"], encoder_feed([request]))[0] for request in requests])
        for name, one in sessions.items()
    }
    times: dict[str, list[float]] = {name: [] for name in sessions}
    for _ in range(ROUNDS):
        for name, one in sessions.items():
            started = time.process_time()
            one.run(["fused", "relevance"], feed)
            times[name].append((time.process_time() - started) / threads)
    speed = {name: len(feed["input_ids"]) / statistics.median(taken) for name, taken in times.items()}
    return [
        Row(
            graph=name,
            batch=batch,
            megabytes=paths[name].stat().st_size / 1e6,
            tokens_per_second=speed[name],
            over_fp32=speed[name] / speed["fp32"],
            error=relative(features[name], features["fp32"]),
            batch_dependence=relative(features[name], alone[name]),
        )
        for name in sessions
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--backbone", type=Path, help="a Hugging Face BERT of MiniLM-L6's shape")
    parser.add_argument("--fused-width", type=int, default=384)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = graphs(build(arguments.backbone, arguments.fused_width), Path(folder))
        rows = [row for batch in BATCHES for row in compare(paths, batch, arguments.threads)]
    if arguments.json:
        print(json.dumps({"threads": arguments.threads, "rows": [asdict(row) for row in rows]}, indent=2))
        return 0
    print(
        f"{'batch':10}{'graph':26}{'MB':>7}{'tokens/s':>10}{'x fp32':>8}{'error':>8}{'batch dependence':>18}"
    )
    for row in rows:
        print(
            f"{row.batch:10}{row.graph:26}{row.megabytes:7.1f}{row.tokens_per_second:10,.0f}{row.over_fp32:8.2f}"
            f"{row.error:8.3f}{row.batch_dependence:18.1e}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
