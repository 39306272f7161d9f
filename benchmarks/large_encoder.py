"""The encoder on CPU in the shape of Qwen3-0.6B: how close it comes to the matrix product that the machine can do.

    python benchmarks/large_encoder.py [--layers 4] [--precision fp32|int8|bf16] [--threads N] [--json]

Random weights; 4 of the 28 layers by default, at full width, and the fusion block. It runs on the engine that
`lamr_serving.engines` names for this machine and a wide encoder, through the session that a server would open; where
that engine isn't installed, on the next one, and the output says so. Times of 28 layers are those of the layers that
ran, times 28 over their number, plus the fusion block's. Operations are those of the products (QKV, O, MLP, fusion and
attention; `qwen_shape.Operations`). Beside them stands the rate of bare products of the layers' own shapes, in bf16
where the processor has it and else in fp32, measured in turn with the encoder: the faster of PyTorch's and, unless it
runs in int8, the engine's. It also times the decoder on features of this width, and four copies of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from lamr_contract.cpus import cpu_features, usable_cpus
from lamr_contract.packed_batch import encoder_feed
from lamr_decoding import Decoder, DecoderWeights
from lamr_export.onnx_encoder import INPUTS, encoder_to_onnx
from lamr_export.quantize import quantize_encoder
from lamr_serving.engines import ENGINES, PRECISIONS, Engine, choose, engine_for
from lamr_serving.onnx_backend.config import OnnxModelConfig
from lamr_serving.onnx_backend.session import PROVIDERS, choose_providers, session_options
from onnx import helper, numpy_helper
from qwen_shape import FUSED, HEAD_WIDTH, HEADS, INNER, LAYERS, WIDTH, Operations, build, linear

TARGETS = {512: 70.0, 2048: 55.0}  # tokens, percent of the product's rate
ROUNDS = {512: 7, 2048: 5}
SMALL_VOCABULARY = 8192
ATTENDED = HEADS * HEAD_WIDTH
# One product after the other, in the shapes of a layer.
CHAIN = 2 * (
    *((WIDTH, ATTENDED), (ATTENDED, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH)),
    *((WIDTH, INNER), (INNER, WIDTH), (WIDTH, INNER), (INNER, WIDTH)),
)


@dataclass(frozen=True)
class Row:
    """One length. Seconds are medians; tokens a second and GFLOP/s are those of all 28 layers and fusion."""

    tokens: int
    seconds_layer: float
    seconds_fusion: float
    seconds_whole: float
    tokens_per_second: float
    gflops: float
    product_gflops: float
    product: str
    share_percent: float
    target: float


@dataclass(frozen=True)
class Figures:
    """What ran and what it reached; `missing` names the engine that would suit and isn't installed."""

    engine: str
    missing: str | None
    layers: int
    threads: int
    rows: list[Row]
    decoder_seconds: float
    copies_seconds: float


def pick(precision: str | None) -> tuple[Engine, str | None]:
    """The engine to measure, and how to install the better one that isn't there."""
    available = onnxruntime.get_available_providers()

    def installed(engine: Engine) -> bool:
        return engine.provider == "cpu" or PROVIDERS[engine.provider] in available

    if precision is not None:
        return engine_for(precision), None
    best, features = choose(width=WIDTH), cpu_features()
    if installed(best):
        return best, None
    next_best = next(one for one in ENGINES if one.suits(features, WIDTH) and installed(one))
    return next_best, f"{best} would suit this machine: pip install {best.package} in place of onnxruntime"


def write_graphs(folder: Path, layers: int, precision: str) -> dict[str, Path]:
    """The whole encoder, and its backbone alone (which only relevance needs)."""
    with torch.no_grad():
        graph = encoder_to_onnx(build(layers, SMALL_VOCABULARY))
    if precision == "int8":
        rng = np.random.default_rng(0)
        lengths = (300, 150, 62)
        graph = quantize_encoder(
            graph, [encoder_feed([rng.integers(0, SMALL_VOCABULARY, length) for length in lengths])]
        )
    backbone = onnx.utils.Extractor(graph).extract_model(list(INPUTS), ["relevance"])
    found = {}
    for name, model in (("whole", graph), ("backbone", backbone)):
        found[name] = folder / f"{name}.onnx"
        onnx.save(model, found[name])
    return found


def write_chain(folder: Path) -> Path:
    """Bare products, one after the other."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array((rng.normal(size=shape) / shape[0] ** 0.5).astype(np.float32), f"w{index}")
        for index, shape in enumerate(CHAIN)
    ]
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(len(CHAIN))]
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["tokens", WIDTH])
        for name in ("x0", f"x{len(CHAIN)}")
    ]
    graph = helper.make_graph(nodes, "products", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, folder / "products.onnx")
    return folder / "products.onnx"


def open_session(path: Path, engine: Engine, threads: int) -> onnxruntime.InferenceSession:
    """As a server's backend opens it."""
    parameters = {"intra_op_thread_count": str(threads)}
    config = OnnxModelConfig("", "", 1, (), (), (), {}, parameters, 0, engine.accelerators)
    providers = choose_providers(config, "CPU", 0, onnxruntime.get_available_providers())
    return onnxruntime.InferenceSession(str(path), session_options(config, onnxruntime), providers=providers)


def torch_chain(dtype: torch.dtype) -> Callable[[int], Callable[[], object]]:
    """PyTorch's products: function of the number of tokens to the action."""
    weights = [(torch.randn(out, width) / width**0.5).to(dtype) for width, out in CHAIN]

    def action(tokens: int) -> Callable[[], object]:
        begin = torch.randn(tokens, WIDTH).to(dtype)

        def run() -> object:
            x = begin
            for weight in weights:
                x = torch.nn.functional.linear(x, weight)
            return x

        return run

    return action


def medians(actions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each action; they take turns, after one turn that doesn't count."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            begun = time.perf_counter()
            action()
            if turn:
                times[name].append(time.perf_counter() - begun)
    return {name: statistics.median(taken) for name, taken in times.items()}


def measure_length(
    tokens: int,
    layers: int,
    sessions: dict[str, Any],
    products: dict[str, Callable[[int], Callable[[], object]]],
) -> Row:
    feed = encoder_feed([np.random.default_rng(0).integers(0, SMALL_VOCABULARY, tokens)])
    taken = medians(
        {
            "whole": lambda: sessions["whole"].run(["fused", "relevance"], feed),
            "backbone": lambda: sessions["backbone"].run(["relevance"], feed),
            **{name: make(tokens) for name, make in products.items()},
        },
        ROUNDS[tokens],
    )
    layer, fusion = taken["backbone"] / layers, taken["whole"] - taken["backbone"]
    whole = LAYERS * layer + fusion
    operations = Operations.of(tokens).whole()
    fastest = min(products, key=taken.__getitem__)
    product = linear(CHAIN, tokens) / taken[fastest]
    return Row(
        tokens=tokens,
        seconds_layer=layer,
        seconds_fusion=fusion,
        seconds_whole=whole,
        tokens_per_second=tokens / whole,
        gflops=operations / whole / 1e9,
        product_gflops=product / 1e9,
        product=fastest,
        share_percent=100 * operations / whole / product,
        target=TARGETS[tokens],
    )


def around(tokens: int = 512) -> tuple[float, float]:
    """Seconds of the decoder on a chunk's features of this width, and of four copies of them."""
    rng, hidden, rubrics = np.random.default_rng(0), 256, 2

    def draw(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) * shape[-1] ** -0.5).astype(np.float32)

    chains = draw(rubrics, 2, 2), draw(rubrics, 2), draw(rubrics, 2), draw(2, 2), draw(2), draw(2)
    dense = draw(hidden, FUSED), draw(hidden), draw(2 * rubrics, hidden), draw(2 * rubrics)
    decoder = Decoder(
        DecoderWeights(draw(FUSED), draw(FUSED), *dense, draw(rubrics, FUSED), draw(rubrics), *chains)
    )
    fused = draw(tokens, FUSED)
    taken = medians(
        {
            "decoder": lambda: decoder.decode(fused, [0, tokens]),
            "copies": lambda: [fused.copy() for _ in range(4)],
        },
        9,
    )
    return taken["decoder"], taken["copies"]


def measure(layers: int, precision: str | None, threads: int) -> Figures:
    torch.set_num_threads(threads)
    engine, missing = pick(precision)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_graphs(folder, layers, engine.precision)
        gc.collect()  # the PyTorch model and two graphs in memory
        sessions = {name: open_session(path, engine, threads) for name, path in paths.items()}
        has_bf16 = {"amx_bf16", "avx512_bf16"} & cpu_features()
        dtype = torch.bfloat16 if has_bf16 else torch.float32
        products = {f"PyTorch, {'bf16' if has_bf16 else 'fp32'}": torch_chain(dtype)}
        if engine.precision != "int8":
            chain = open_session(write_chain(folder), engine, threads)

            def own(tokens: int) -> Callable[[], object]:
                begin = np.random.default_rng(0).normal(size=(tokens, WIDTH)).astype(np.float32)
                return lambda: chain.run(None, {"x0": begin})

            products[str(engine)] = own
        rows = [measure_length(tokens, layers, sessions, products) for tokens in TARGETS]
    return Figures(str(engine), missing, layers, threads, rows, *around())


def show(figures: Figures) -> None:
    print(
        f"Qwen3-0.6B's shape, {figures.layers} of {LAYERS} layers measured, {figures.engine}, "
        f"{figures.threads} threads"
    )
    if figures.missing:
        print(f"  {figures.missing}")
    print(f"{'tokens':>8}{'s/layer':>9}{'s/28':>8}{'tokens/s':>10}{'GFLOP/s':>9}{'product':>9}{'share':>8}")
    for row in figures.rows:
        verdict = "met" if row.share_percent >= row.target else "MISSED"
        print(
            f"{row.tokens:8,}{row.seconds_layer:9.4f}{row.seconds_whole:8.2f}{row.tokens_per_second:10,.0f}"
            f"{row.gflops:9,.0f}{row.product_gflops:9,.0f}{row.share_percent:7.0f} %  "
            f">= {row.target:g} %  {verdict}  (product: {row.product})"
        )
    print(
        f"decoder on 512 tokens of {FUSED} features {1e3 * figures.decoder_seconds:.1f} ms, "
        f"four copies of them {1e3 * figures.copies_seconds:.1f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=4, help="of 28 (%(default)s)")
    parser.add_argument("--precision", choices=PRECISIONS, help="instead of this machine's choice")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    figures = measure(options.layers, options.precision, options.threads)
    if options.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        show(figures)
    return int(any(row.share_percent < row.target for row in figures.rows))


if __name__ == "__main__":
    sys.exit(main())
