"""What lamr starts stands elsewhere than its caller, and imports nothing from there."""

import os
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from lamr_base import children

TRAP = "from pathlib import Path\nPath(__file__).with_name('sprung').touch()\nraise SystemExit('a trap')\n"
NAMES = ("random", "numpy", "pickle", "socket", "struct", "lamr_model", "sitecustomize", "usercustomize")


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's folder, which is the current one: a module there says that it ran."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(TRAP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(module: str = "json", function: str = "tool", *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        children.python(module, function, *arguments),
        cwd=children.standing_place(),
        env=children.environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("named", ["", ".", os.pathsep, f".{os.pathsep}..", "sub"])
def test_a_child_imports_nothing_from_the_current_folder(
    trap: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (trap / "sub").mkdir()
    (trap / "sub" / "numpy.py").write_text(TRAP)
    monkeypatch.setenv("PYTHONPATH", named)
    monkeypatch.setattr(sys, "path", ["", ".", str(trap), *sys.path])
    program = "import os, sys, numpy, random, pickle; print(os.getcwd(), sys.path)"
    (trap / "own").mkdir()
    (trap / "own" / "told.py").write_text(f"def tell():\n    {program}\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(trap / "own")])
    done = run("told", "tell", "an argument")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{os.sep} [")
    assert "''" not in done.stdout
    assert f"'{trap}'" not in done.stdout
    assert not list(trap.rglob("sprung"))


def test_named_folders_stay_on_the_path(
    trap: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory
) -> None:
    other = tmp_path_factory.mktemp("other")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(other), "", str(trap)]))
    assert children.environment()["PYTHONPATH"] == str(other)
    assert children.environment()["PYTHONSAFEPATH"] == "1"
    monkeypatch.setattr(sys, "path", [str(other), "", "__an_entry_of_a_finder__", str(trap / "gone")])
    assert children.import_path() == [str(other), "__an_entry_of_a_finder__", str(trap / "gone")]
    (trap / "__an_entry_of_a_finder__").mkdir()  # now it would name a folder of the stranger's
    assert children.import_path() == [str(other), str(trap / "gone")]


@pytest.mark.parametrize(
    "folder", [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), str(children._HOME_OF_LAMR)]
)
def test_what_is_installed_stays_though_one_stands_there(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path(folder).is_dir():
        folder = site.getsitepackages()[0]
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["", folder])
    assert children.import_path() == [folder]


def test_a_program_forgets_the_current_folder(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", ["", str(trap), *before])
    for name in ("PYTHONPATH", children.SAFE_PATH):  # which this process's other tests must not inherit
        monkeypatch.setenv(name, "")
    children.forget_current_folder()
    assert "" not in sys.path
    assert str(trap) not in sys.path


def test_standing_elsewhere_ends(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ".")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with children.standing_elsewhere():
        assert Path.cwd() == Path(children.standing_place())
        assert (os.environ["PYTHONPATH"], os.environ["PYTHONSAFEPATH"]) == ("", "1")
    assert Path.cwd() == trap
    assert os.environ["PYTHONPATH"] == "."
    assert "PYTHONSAFEPATH" not in os.environ


def test_nothing_of_a_fresh_start_lies_in_the_place_where_children_stand() -> None:
    assert not any(each.suffix == ".py" for each in Path(children.standing_place()).iterdir())
