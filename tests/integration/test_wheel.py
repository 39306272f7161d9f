"""The wheel, installed with the `serve` extra into an empty environment outside the checkout, prunes and serves."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.integration.conftest import STDLIB

ROOT = Path(__file__).resolve().parents[2]
FILE = STDLIB / "glob.py"
QUERY = "How are special characters escaped?"
LIMIT = 30_000_000


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "LAMR", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("lamr_server-*.whl"))


@pytest.mark.timeout(600)
def test_the_model_fits(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    model = sum(size for name, size in sizes.items() if name.startswith("lamr_model_repository/"))
    assert 5_000_000 < model <= LIMIT
    assert not [name for name in sizes if name.startswith("tests/") or name.endswith(".pyc")]


@pytest.mark.server
@pytest.mark.timeout(600)
def test_installed_wheel_prunes_and_serves(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    python, lamr = environment / "bin" / "python", environment / "bin" / "lamr"
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", f"{wheel}[serve]", cwd=tmp_path)
    assert not list(environment.glob("lib/*/site-packages/torch"))

    here = run(
        lamr, "prune", FILE, "-q", QUERY, "--effort", "full", "--no-degrade", "--quiet", cwd=tmp_path
    ).stdout
    assert " pruned" in here

    server = subprocess.Popen(
        [lamr, "serve", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        assert ready["server"] == "triton"
        there = run(
            lamr,
            "prune",
            FILE,
            "-q",
            QUERY,
            "--effort",
            "full",
            "--no-degrade",
            "--quiet",
            "--server",
            ready["grpc"],
            cwd=tmp_path,
        ).stdout
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert there == here
    assert server.returncode == 0
