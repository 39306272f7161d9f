"""What an index would get: a source distribution, and from it a wheel of pure Python that an index would take."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOME = "https://code.example/lamr"
LARGE = 200_000
"""Bytes from which on a file is built as an empty one: names are looked at, and weights take long to compress."""
LEFT_OUT = shutil.ignore_patterns(
    ".*", "build", "dist", "*.egg-info", "tests", "docs", "runs", "work", "__pycache__"
)


def run(*words: str, within: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, cwd=within, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy(source: str, target: str) -> None:
    if Path(source).stat().st_size < LARGE:
        shutil.copyfile(source, target)
    else:
        Path(target).touch()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both files, built with an address of the project as a release has one."""
    source = tmp_path_factory.mktemp("release") / "lamr"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT, copy_function=copy)
    project = source / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    named = text.replace(
        '# [project.urls]\n# Repository = "https://…"', f'[project.urls]\nRepository = "{HOME}"'
    )
    assert named != text or "\n[project.urls]\n" in text
    project.write_text(named, encoding="utf-8")
    run("build", "--no-isolation", within=source)
    return source / "dist"


def test_an_index_would_take_both(built: Path) -> None:
    files = sorted(str(path) for path in built.iterdir())
    assert len(files) == 2
    run("twine", "check", "--strict", *files, within=built)


def test_the_wheel_is_pure_and_whole(built: Path) -> None:
    (wheel,) = built.glob("*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    folders = [path for path in ROOT.glob("*/lamr_*") if path.parent.name != "model_repository"]
    for folder in (*folders, ROOT / "model_repository"):
        inside = "lamr_model_repository" if folder.name == "model_repository" else folder.name
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"{inside}/{path.relative_to(folder).as_posix()}" in names
    assert all(name.startswith("lamr_") for name in names)
    (triton,) = (line for line in text.splitlines() if line.startswith("Requires-Dist: nvidia-pytriton"))
    assert 'sys_platform == "linux"' in triton
    assert 'platform_machine == "x86_64"' in triton
    assert f"]({HOME}/blob/main/docs/install.md)" in text
    assert f"]({HOME}/raw/main/docs/images/recall.png)" in text
    assert "](docs/" not in text


def test_the_source_holds_what_the_wheel_is_made_of(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "setup.py"} <= names
