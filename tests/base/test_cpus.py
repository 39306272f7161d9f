"""How many CPUs a process may use: its affinity mask and its control group's quota, whichever is less."""

import os
from pathlib import Path

import pytest
from lamr_base.cpus import CPU_MAX, usable_cpus
from lamr_model.encoder.encoder_session import open_encoder
from lamr_model.names import ENCODER, ONNX_FILE, version_folder
from lamr_model.spec import bundled_repository

HOST_CPUS = 64


@pytest.fixture
def large_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(HOST_CPUS)))


@pytest.mark.usefixtures("large_host")
@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("9900000 100000", HOST_CPUS),
        ("max 100000", HOST_CPUS),
        ("nonsense", HOST_CPUS),
    ],
)
def test_a_quota_bounds_the_cpus(tmp_path: Path, quota: str, expected: int) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    assert usable_cpus(tmp_path / "cpu.max") == expected


@pytest.mark.usefixtures("large_host")
def test_without_a_control_group_the_mask_counts(tmp_path: Path) -> None:
    assert usable_cpus(tmp_path / "missing") == HOST_CPUS


def test_without_a_mask_the_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert usable_cpus(tmp_path / "missing") == 12


@pytest.mark.usefixtures("large_host")
def test_pruning_in_process_keeps_to_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, **kwargs: "300000 100000" if path == CPU_MAX else read(path, **kwargs)
    )
    session = open_encoder(version_folder(bundled_repository(), ENCODER) / ONNX_FILE)
    assert session.get_session_options().intra_op_num_threads == 3
