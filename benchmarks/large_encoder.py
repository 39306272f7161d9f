"""The encoder on CPU in the shape of Qwen3-0.6B: how close it comes to the matrix product that the machine can do.

    python -m benchmarks.large_encoder [--layers 4] [--precision fp32|int8|bf16] [--threads N] [--json]

Random weights; by default 4 of the 28 layers, at full width, and the fusion block. The encoder runs on the engine that
`lamr_serving.engines` names for this machine and a wide encoder, through the session that a server would open; where
that engine isn't installed it runs on the next one, and a note says so. The time of 28 layers is that of the layers
that ran, times 28 over their number, plus the fusion block's. Operations are those of the products
(`qwen_shape.Operations`). Beside them stands the rate of bare products of the layers' own shapes, measured in turn with
the encoder: PyTorch's in bf16 where the processor has it and in fp32 elsewhere, or the engine's own where that is
faster and not int8. The decoder on features of this width and four copies of them are timed as well."""

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from lamr_base.cpus import cpu_features, usable_cpus
from lamr_export.onnx_tracing import INPUTS, encoder_to_onnx
from lamr_export.quantize import quantize_encoder
from lamr_model.encoder.packed_batch import encoder_feed
from lamr_model.names import ENCODER_OUTPUTS, RELEVANCE
from lamr_serving.engines import ENGINES, PRECISIONS, Engine, choose, engine_for
from lamr_serving.onnx_backend.session import PROVIDERS
from onnx import helper, numpy_helper

from benchmarks import random_models
from benchmarks.qwen_shape import ATTENDED, FUSED, INNER, LAYERS, WIDTH, Operations, build, linear
from benchmarks.report import Figure, option_parser, run
from benchmarks.sessions import server_session
from benchmarks.timing import time_in_turns

TARGETS = {512: 70.0, 2048: 55.0}  # tokens -> percent of the product's rate
ROUNDS = {512: 7, 2048: 5}
SMALL_VOCABULARY = 8192
# One product after the other, in the shapes of a layer.
CHAIN = 2 * (
    *((WIDTH, ATTENDED), (ATTENDED, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH)),
    *((WIDTH, INNER), (INNER, WIDTH), (WIDTH, INNER), (INNER, WIDTH)),
)

Products = dict[
    str, Callable[[int], Callable[[], object]]
]  # by name, from the number of tokens to the action


def pick(precision: str | None) -> tuple[Engine, str | None]:
    """The engine to measure, and a note where a better one isn't installed."""
    available = onnxruntime.get_available_providers()

    def installed(engine: Engine) -> bool:
        return engine.provider == "cpu" or PROVIDERS[engine.provider][0] in available

    if precision is not None:
        return engine_for(precision), None
    best, features = choose(width=WIDTH), cpu_features()
    if installed(best):
        return best, None
    next_best = next(one for one in ENGINES if one.suits(features, WIDTH) and installed(one))
    return next_best, f"{best} would suit this machine: {PROVIDERS[best.provider][1]}"


def write_graphs(folder: Path, layers: int, precision: str) -> dict[str, Path]:
    """Write the whole encoder, and its backbone alone, which is what relevance needs."""
    with torch.no_grad():
        graph = encoder_to_onnx(build(layers, SMALL_VOCABULARY))
    if precision == "int8":
        rng = np.random.default_rng(0)
        lengths = (300, 150, 62)
        batch = [rng.integers(0, SMALL_VOCABULARY, length) for length in lengths]
        graph = quantize_encoder(graph, [encoder_feed(batch)])
    backbone = onnx.utils.Extractor(graph).extract_model(list(INPUTS), [RELEVANCE])
    models = {"whole": graph, "backbone": backbone}
    for name, model in models.items():
        onnx.save(model, folder / f"{name}.onnx")
    return {name: folder / f"{name}.onnx" for name in models}


def write_chain(folder: Path) -> Path:
    """Write a graph of bare products, one after the other."""
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


def torch_chain(dtype: torch.dtype) -> Callable[[int], Callable[[], object]]:
    """PyTorch's products, as an action for each number of tokens."""
    weights = [(torch.randn(out, width) / width**0.5).to(dtype) for width, out in CHAIN]

    def action(tokens: int) -> Callable[[], object]:
        begin = torch.randn(tokens, WIDTH).to(dtype)

        def multiply() -> object:
            x = begin
            for weight in weights:
                x = torch.nn.functional.linear(x, weight)
            return x

        return multiply

    return action


def engine_chain(path: Path, engine: Engine, threads: int) -> Callable[[int], Callable[[], object]]:
    """The engine's own products, as an action for each number of tokens."""
    session = server_session(path, threads, engine.accelerators)

    def action(tokens: int) -> Callable[[], object]:
        begin = np.random.default_rng(0).normal(size=(tokens, WIDTH)).astype(np.float32)
        return partial(session.run, None, {"x0": begin})

    return action


def length_figures(
    tokens: int, layers: int, sessions: dict[str, onnxruntime.InferenceSession], products: Products
) -> Iterator[Figure | str]:
    """Times, rates and the share of the product's rate for one sequence of so many tokens."""
    feed = encoder_feed([np.random.default_rng(0).integers(0, SMALL_VOCABULARY, tokens)])
    calls = {
        "whole": partial(sessions["whole"].run, ENCODER_OUTPUTS, feed),
        "backbone": partial(sessions["backbone"].run, [RELEVANCE], feed),
        **{name: make(tokens) for name, make in products.items()},
    }
    timings = time_in_turns(calls, ROUNDS[tokens])
    seconds = {name: timing.wall_median for name, timing in timings.items()}
    layer, fusion = seconds["backbone"] / layers, seconds["whole"] - seconds["backbone"]
    whole = LAYERS * layer + fusion
    rate = Operations.of(tokens).whole() / whole
    fastest = min(products, key=seconds.__getitem__)
    product = linear(CHAIN, tokens) / seconds[fastest]
    yield f"{tokens:,} tokens, beside products of {fastest}"
    yield Figure(f"  a layer, {tokens:,} tokens", 1e3 * layer, "ms")
    yield Figure(f"  fusion, {tokens:,} tokens", 1e3 * fusion, "ms")
    yield Figure(f"  {LAYERS} layers and fusion, {tokens:,} tokens", whole, "s")
    yield Figure(f"  0.6B encoder, {tokens:,} tokens", tokens / whole, "tokens/s")
    yield Figure(f"  its rate, {tokens:,} tokens", rate / 1e9, "GFLOP/s")
    yield Figure(f"  a product's rate, {tokens:,} tokens", product / 1e9, "GFLOP/s")
    share = 100 * rate / product
    yield Figure(
        f"0.6B encoder, {tokens:,} tokens: of a product's rate", share, "%", TARGETS[tokens], at_least=True
    )


def outside_figures(tokens: int = 512) -> Iterator[Figure]:
    """The decoder on a chunk's features of this width, and four copies of them."""
    decoder, _ = random_models.decoder(FUSED)
    fused = np.random.default_rng(0).normal(size=(tokens, FUSED)).astype(np.float32)
    calls = {
        "decoder": partial(decoder.decode, fused, [0, tokens]),
        "four copies": lambda: [fused.copy() for _ in range(4)],
    }
    for name, timing in time_in_turns(calls, 9).items():
        yield Figure(f"{name}, {tokens} tokens of {FUSED} features", 1e3 * timing.wall_median, "ms")


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Write the graphs, open them as a server would, and measure every length."""
    torch.set_num_threads(options.threads)
    engine, missing = pick(options.precision)
    yield f"{options.layers} of {LAYERS} layers, {engine}, {options.threads} threads"
    if missing:
        yield missing
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_graphs(folder, options.layers, engine.precision)
        gc.collect()  # the PyTorch model and two graphs in memory
        sessions = {
            name: server_session(path, options.threads, engine.accelerators) for name, path in paths.items()
        }
        has_bf16 = {"amx_bf16", "avx512_bf16"} & cpu_features()
        products: Products = {
            f"PyTorch, {'bf16' if has_bf16 else 'fp32'}": torch_chain(
                torch.bfloat16 if has_bf16 else torch.float32
            )
        }
        if engine.precision != "int8":
            products[str(engine)] = engine_chain(write_chain(folder), engine, options.threads)
        for tokens in TARGETS:
            yield from length_figures(tokens, options.layers, sessions, products)
    yield from outside_figures()


PARSER = option_parser(__doc__)
PARSER.add_argument("--layers", type=int, default=4, help="layers to measure, of 28 (%(default)s)")
PARSER.add_argument("--precision", choices=PRECISIONS, help="instead of this machine's choice")
PARSER.add_argument("--threads", type=int, default=usable_cpus(), help="threads of a run (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
