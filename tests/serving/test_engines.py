"""The engine that the table picks for the processors that people have, and what an installation says of itself."""

from typing import get_args

import pytest
from google.protobuf import json_format, text_format
from lamr_base.cpus import cpu_features
from lamr_cli.export import Precision
from lamr_model.names import PRECISION_PARAMETER
from lamr_serving import local_status, status
from lamr_serving.engines import ENGINES, PRECISIONS, WIDE, choose, engine_for
from lamr_serving.onnx_backend.session import read_config
from tritonclient.grpc import model_config_pb2

ZEN5 = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16")


@pytest.mark.parametrize(
    ("features", "precision"),
    [
        (("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_tile"), "bf16"),
        (ZEN5, "int8"),
        (("avx2", "avx_vnni"), "int8"),
        (("asimd", "asimddp"), "int8"),
        (("avx2", "fma"), "fp32"),
        ((), "fp32"),
    ],
)
def test_choice(features, precision):
    engine = choose(features)
    assert engine.precision == precision
    assert engine.reason


@pytest.mark.parametrize(
    ("width", "features", "precision"),
    [(384, ZEN5, "int8"), (WIDE, ZEN5, "bf16"), (WIDE, ("avx512_vnni",), "int8"), (WIDE, (), "fp32")],
)
def test_a_wide_encoder_may_suit_another_engine(width, features, precision):
    assert choose(features, width).precision == precision


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_what_it_writes_is_what_triton_and_the_backend_read(engine):
    text = f'name: "x" max_batch_size: 1\n{engine.pbtxt()}\n'
    parsed = text_format.Parse(text, model_config_pb2.ModelConfig())
    assert parsed.parameters[PRECISION_PARAMETER].string_value == engine.precision
    config = read_config(json_format.MessageToJson(parsed, preserving_proto_field_name=True))
    assert config.accelerators.get("CPU", {}) == engine.accelerators.get("CPU", {})
    assert engine.reason in text


def test_features_are_read_from_both_kinds_of_machine(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni\n\nflags\t: other\n")
    assert cpu_features(file) == {"fpu", "avx2", "avx512_vnni"}
    file.write_text("processor : 0\nFeatures\t: fp asimddp\n")
    assert "asimddp" in cpu_features(file)
    file.write_text("nothing of the kind\n")
    assert cpu_features(file) == frozenset()
    assert cpu_features(tmp_path / "absent") == frozenset()


def test_every_precision_has_an_engine_the_last_of_which_suits_every_machine():
    assert set(PRECISIONS) == {"fp32", "bf16", "int8"}
    assert [engine_for(precision).precision for precision in PRECISIONS] == list(PRECISIONS)
    assert ENGINES[-1].suits((), width=0)
    assert ENGINES[-1].suits((), width=8192)
    assert tuple(sorted(get_args(Precision))) == tuple(sorted(PRECISIONS))


@pytest.mark.parametrize(
    ("features", "reason"),
    [(("amx_bf16", "avx512_vnni"), "integer dot products"), (("avx2",), status.UNSUITED)],
)
def test_the_engine_is_what_the_bundled_model_can_use(
    features: tuple[str, ...], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamr_serving.engines.cpu_features", lambda: frozenset(features))
    monkeypatch.setattr("lamr_serving.status.cpu_features", lambda: frozenset(features))
    found = local_status()
    assert str(found.engine).startswith("int8 on cpu: ")
    assert reason in str(found.engine)
    assert found.small_engine.startswith("bf16 on openvino: ") == ("amx_bf16" in features)
