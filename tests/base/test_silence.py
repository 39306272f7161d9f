"""Nothing that lamr stands on reports home, however lamr is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from lamr_base.silence import SILENCE, missing

from tests.test_house import FOLDERS

REPORTING = {"onnxruntime", "ray", "huggingface_hub", "transformers"}
SPEAKS = "import os, sys; {0}; print([n for n in {1!r} if not os.environ.get(n)])"


def outside(code: str, home: Path) -> str:
    """What a program prints that starts in a home of its own, with none of the variables set."""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("package", ["lamr_export", "lamr_training"])
def test_packages_that_import_them_begin_with_silence(package: str, tmp_path: Path) -> None:
    assert outside(SPEAKS.format(f"import {package}", list(SILENCE)), tmp_path) == "[]"


def test_onnxruntime_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    code = "from lamr_base.silence import import_onnxruntime; print(import_onnxruntime().__version__)"
    assert outside(code, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SILENCE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.setenv("DO_NOT_TRACK", "")
    assert missing() == {n: v for n, v in SILENCE.items() if n != "RAY_USAGE_STATS_ENABLED"}


def test_they_are_imported_behind_it_alone() -> None:
    """Each such import stands in a package that begins with silence, or in a module that asks for it."""
    for package, folder in FOLDERS.items():
        begins = "keep_silent()" in (folder / "__init__.py").read_text(encoding="utf-8")
        for path in folder.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if begins or "keep_silent()" in text:
                continue
            found = {name for name in _imported(text) if name.split(".")[0] in REPORTING}
            assert not found or package == "lamr_cli", (
                f"{path} imports {found} before it is told to be silent"
            )


def _imported(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found
