"""A model repository small enough to build in milliseconds, whose every output can be computed by hand.

The encoder is a real packed ONNX graph: a token's features depend on its id and its position *within its own
sequence*, and the relevance on the sequence's sum, so that any mix-up between requests shows in the
numbers."""

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template
from types import ModuleType

import numpy as np
import onnx
import pytest
from lamr_model.spec import Chunking, ModelSpec, PromptTemplate, bundled_repository
from onnx import TensorProto, helper, numpy_helper

WIDTH = 6
VOCABULARY = 50
RUBRICS = ("semantic", "dependency")


def packed_encoder(table: np.ndarray) -> onnx.ModelProto:
    """A graph from ids `[T]`, cu_seqlens `[B + 1]` and max_len `[L]` to fused `[T, D]` and relevance `[B, 1]`.

    fused_t = table[id_t] + position of t in its sequence / 100, and zero where the position is not below L;
    relevance = sigmoid(mean of the sequence's first features)."""
    constants = {
        "table": table.astype(np.float32),
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "first": np.array([0], np.int64),
        "second": np.array([1], np.int64),
        "last": np.array([2**31], np.int64),
        "minus": np.array([-1], np.int64),
        "hundred": np.array(100, np.float32),
        "leading": np.zeros(1, np.float32),
    }
    steps = [
        ("Gather", ["table", "input_ids"], "embedded"),
        ("Cast", ["cu_seqlens"], "bounds", {"to": TensorProto.INT64}),
        ("Slice", ["bounds", "first", "minus"], "starts"),
        ("Slice", ["bounds", "second", "last"], "ends"),
        ("Shape", ["input_ids"], "total"),
        ("Squeeze", ["total"], "length"),
        ("Range", ["zero", "length", "one"], "index"),
        ("Unsqueeze", ["index", "second"], "index_column"),
        ("GreaterOrEqual", ["index_column", "ends"], "after"),
        ("Cast", ["after"], "after_count", {"to": TensorProto.INT64}),
        ("ReduceSum", ["after_count", "second"], "sequence", {"keepdims": 0}),
        ("Gather", ["starts", "sequence"], "own_start"),
        ("Sub", ["index", "own_start"], "position"),
        ("Shape", ["max_len"], "longest"),
        ("Less", ["position", "longest"], "inside"),
        ("Cast", ["inside"], "mask", {"to": TensorProto.FLOAT}),
        ("Unsqueeze", ["mask", "second"], "mask_column"),
        ("Cast", ["position"], "position_float", {"to": TensorProto.FLOAT}),
        ("Div", ["position_float", "hundred"], "shift"),
        ("Unsqueeze", ["shift", "second"], "shift_column"),
        ("Add", ["embedded", "shift_column"], "shifted"),
        ("Mul", ["shifted", "mask_column"], "fused"),
        ("Gather", ["embedded", "zero"], "feature", {"axis": 1}),
        ("CumSum", ["feature", "zero"], "running"),
        ("Concat", ["leading", "running"], "running_zero", {"axis": 0}),
        ("Gather", ["running_zero", "ends"], "until_end"),
        ("Gather", ["running_zero", "starts"], "until_start"),
        ("Sub", ["until_end", "until_start"], "sums"),
        ("Sub", ["ends", "starts"], "sizes"),
        ("Cast", ["sizes"], "sizes_float", {"to": TensorProto.FLOAT}),
        ("Div", ["sums", "sizes_float"], "means"),
        ("Sigmoid", ["means"], "flat_relevance"),
        ("Unsqueeze", ["flat_relevance", "second"], "relevance"),
    ]
    nodes = [helper.make_node(op, ins, [out], **dict(*rest)) for op, ins, out, *rest in steps]
    graph = helper.make_graph(
        nodes,
        "packed",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["T"]),
            helper.make_tensor_value_info("cu_seqlens", TensorProto.INT32, ["B1"]),
            helper.make_tensor_value_info("max_len", TensorProto.FLOAT, ["L"]),
        ],
        [
            helper.make_tensor_value_info("fused", TensorProto.FLOAT, ["T", table.shape[1]]),
            helper.make_tensor_value_info("relevance", TensorProto.FLOAT, ["B", 1]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def expected_encoder(table: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, float]:
    """The graph's output for one sequence: fused features `[n, D]` and relevance."""
    fused = table[ids] + np.arange(len(ids), dtype=np.float32)[:, None] / 100
    return fused.astype(np.float32), float(1 / (1 + np.exp(-table[ids, 0].mean())))


def decoder_arrays(rng: np.random.Generator, hidden: int = 8) -> dict[str, np.ndarray]:
    """Random decoder weights in the layout of `decoder.npz`."""
    rubrics = len(RUBRICS)
    shapes = {
        "norm.weight": (WIDTH,),
        "norm.bias": (WIDTH,),
        "hidden.weight": (hidden, WIDTH),
        "hidden.bias": (hidden,),
        "emission.weight": (2 * rubrics, hidden),
        "emission.bias": (2 * rubrics,),
        "gate.weight": (rubrics, WIDTH),
        "gate.bias": (rubrics,),
        "rubric_crf.transitions": (rubrics, 2, 2),
        "rubric_crf.start": (rubrics, 2),
        "rubric_crf.end": (rubrics, 2),
        "fused_crf.transitions": (2, 2),
        "fused_crf.start": (2,),
        "fused_crf.end": (2,),
    }
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@dataclass(frozen=True)
class TinyRepository:
    """A model repository on disk, and the table that its encoder computes with."""

    root: Path
    table: np.ndarray
    spec: ModelSpec


def write_repository(root: Path, batch: int = 16, delay: int = 0, name: str = "tiny") -> TinyRepository:
    """Write a complete repository into `root`."""
    rng = np.random.default_rng(7)
    table = rng.normal(size=(VOCABULARY, WIDTH)).astype(np.float32)
    tokenizer = json.dumps({"version": "1.0", "model": {"type": "WordLevel", "vocab": {}, "unk_token": "x"}})
    spec = ModelSpec(
        name=name,
        version="0.0.1",
        prompt=PromptTemplate("[CLS]", "[SEP]", "[SEP]"),
        chunking=Chunking(window=512, tokens=256, overlap=32),
        rubrics=RUBRICS,
        tokenizer_sha256=hashlib.sha256(tokenizer.encode()).hexdigest(),
    )
    values = {
        "batch": batch,
        "delay": delay,
        "width": WIDTH,
        "rubrics": len(RUBRICS),
        "fingerprint": spec.fingerprint,
        "name": name,
    }
    for config in (Path(__file__).parent / "configs").iterdir():
        text = Template(config.read_text(encoding="utf-8")).substitute(values)
        (root / config.stem / "1").mkdir(parents=True)
        (root / config.stem / "config.pbtxt").write_text(text, encoding="utf-8")
    (root / "lamr" / "1" / "lamr.json").write_text(spec.to_json(), encoding="utf-8")
    (root / "lamr" / "1" / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    onnx.save(packed_encoder(table), root / "lamr_encoder" / "1" / "model.onnx")
    (root / "lamr_encoder" / "1" / "report.json").write_text("{}", encoding="utf-8")
    program = Path("lamr_decoder", "1", "model.py")
    shutil.copyfile(bundled_repository() / program, root / program)
    np.savez(root / "lamr_decoder" / "1" / "decoder.npz", **decoder_arrays(rng))
    return TinyRepository(root, table, spec)


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., TinyRepository]:
    """Writes repositories into this test's folder."""

    def make(folder: str = "repository", **options: object) -> TinyRepository:
        return write_repository(tmp_path / folder, **options)

    return make


@pytest.fixture
def tiny_copy(make_repository: Callable[..., TinyRepository]) -> TinyRepository:
    """A repository that a test may break."""
    return make_repository()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyRepository:
    """A repository that tests only read."""
    return write_repository(tmp_path_factory.mktemp("tiny") / "repository")


@pytest.fixture(scope="session")
def make_shared_repository(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TinyRepository]:
    """Writes repositories that outlive one test."""

    def make(**options: int) -> TinyRepository:
        return write_repository(tmp_path_factory.mktemp("shared") / "repository", **options)

    return make


@pytest.fixture(scope="session", name="expected_encoder")
def expected_encoder_fixture() -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, float]]:
    """The encoder's arithmetic in numpy."""
    return expected_encoder


@pytest.fixture(scope="session")
def fake_triton() -> ModuleType:
    """Stand-ins for Triton's Python objects, as the module `triton_python_backend_utils`."""
    path = Path(__file__).with_name("fake_triton.py")
    spec = importlib.util.spec_from_file_location("fake_triton", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
