"""What the table picks for the processors that people have."""

import pytest
from lamr_serving.cpus import cpu_features
from lamr_serving.engines import ENGINES, choose


@pytest.mark.parametrize(
    ("features", "precision"),
    [
        (("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_tile"), "bf16"),
        (("avx2", "avx512f", "avx512_vnni", "avx512_bf16"), "int8"),
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


def test_the_last_row_suits_every_machine():
    assert ENGINES[-1].suits(())


def test_features_are_read_from_both_kinds_of_machine(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni\n\nflags\t: other\n")
    assert cpu_features(file) == {"fpu", "avx2", "avx512_vnni"}
    file.write_text("processor : 0\nFeatures\t: fp asimddp\n")
    assert "asimddp" in cpu_features(file)
    file.write_text("nothing of the kind\n")
    assert cpu_features(file) == frozenset()
    assert cpu_features(tmp_path / "absent") == frozenset()
