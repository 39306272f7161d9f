"""A server's temporary folder is complete, is recognized when left behind, and goes with its shared memory."""

import importlib.metadata
import os
import secrets
import subprocess
import sys

import pytest
from lamr_serving.errors import ServerStartError
from lamr_serving.launcher import workspace
from lamr_serving.launcher.bundle import check_numpy, check_stub, find_bundle
from lamr_serving.launcher.server_options import ServerOptions
from lamr_serving.launcher.supervisor import SHARED_MEMORY
from lamr_serving.launcher.workspace import environment, package_folders


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files: this test's own."""
    monkeypatch.setattr(workspace.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


@pytest.fixture
def made(temporary):
    """A workspace under this test's folder."""
    repository = temporary / "a repository; with $odd 'name'"
    repository.mkdir()
    result = workspace.create_workspace(find_bundle(), repository, package_folders())
    yield result
    workspace.remove(result.root)


def test_its_interpreter_finds_the_packages_and_nothing_from_the_environment(made):
    code = "import sys, numpy, onnxruntime, lamr_model.crf, lamr_serving; print(sys.prefix, *sys.path, sep='\\n')"
    shown = subprocess.run(
        [made.root / "bin" / "python3", "-I", "-c", code], capture_output=True, text=True, check=True, env={}
    ).stdout.splitlines()
    assert shown[0] == str(made.root)
    assert set(package_folders()) <= set(shown)


def test_it_holds_what_triton_needs_whose_stub_runs_there(made, tmp_path):
    assert made.root.parent == tmp_path
    assert (made.root / "backends" / "python" / "libtriton_python.so").is_file()
    assert (made.root / "backends" / "onnxruntime" / "model.py").is_file()
    assert made.models.resolve().name.startswith("a repository")
    assert made.root.stat().st_mode & 0o077 == 0
    check_stub(find_bundle(), environment(find_bundle(), made, ServerOptions()))


def test_a_stub_without_its_libraries_or_bash_is_explained(made):
    bundle = find_bundle()
    broken = made.root / "stub"
    broken.write_text("#!/bin/sh\necho 'libpython3.1.so.1.0: cannot open shared object file' >&2\nexit 127\n")
    broken.chmod(0o755)
    variables = environment(bundle, made, ServerOptions())
    with pytest.raises(ServerStartError, match=r"(?s)cannot open shared object file.*apt install libpython3"):
        check_stub(type(bundle)(**{**vars(bundle), "stub": broken}), variables)
    with pytest.raises(ServerStartError, match="bash"):
        check_stub(bundle, {"PATH": str(made.root)})


def test_a_numpy_that_the_stub_misreads_is_refused(monkeypatch):
    check_numpy("1.26.4")
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "2.1.0" if name == "numpy" else version(name)
    )
    with pytest.raises(ServerStartError, match=r"numpy 2\.1\.0 is installed.*numpy<2"):
        find_bundle()


def test_without_the_wheel_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ServerStartError, match=r"pip install '\.\[serve\]'"):
        find_bundle()


def test_a_folder_in_use_survives_a_sweep_and_an_abandoned_one_goes(made):
    region = SHARED_MEMORY / f"{made.root.name}-region"
    region.write_bytes(b"x")
    workspace.sweep()
    assert made.root.exists()
    assert region.exists()
    os.close(made.lock)
    workspace.sweep()
    assert not made.root.exists()
    assert not region.exists()


@pytest.mark.parametrize(
    "name",
    [f"lamr-serving-{end}" for end in ("[x-z]", "*", "", "12345678901z", "????????????", "000000000000\n")],
)
def test_a_name_that_is_no_servers_is_left_alone(temporary, name):
    region = SHARED_MEMORY / f"lamr-serving-x-{secrets.token_hex(4)}"  # which these names match as patterns
    region.write_bytes(b"x")
    try:
        (temporary / name).mkdir()
        (temporary / name / workspace.LOCK).touch()
        workspace.sweep()
        assert (temporary / name).exists()
        workspace.remove(temporary / name)
        assert region.exists() == (name != "lamr-serving-")
    finally:
        region.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "kind", ["link", "file", "fifo", "half made", "lock is a link", "lock is a fifo", "somebody else's"]
)
def test_what_only_looks_like_a_dead_servers_folder_is_left_alone(temporary, monkeypatch, kind):
    victim = temporary / "victim"
    victim.mkdir()
    (victim / workspace.LOCK).touch()
    root = temporary / f"{workspace.PREFIX}{'0' * 12}"
    if kind == "link":
        root.symlink_to(victim)
    elif kind == "file":
        root.touch()
    elif kind == "fifo":
        os.mkfifo(root)
    else:
        root.mkdir()
    if kind == "lock is a link":
        (root / workspace.LOCK).symlink_to(victim / workspace.LOCK)
    elif kind == "lock is a fifo":
        os.mkfifo(root / workspace.LOCK)
    elif kind == "somebody else's":
        (root / workspace.LOCK).touch()
        user = os.geteuid()
        monkeypatch.setattr(workspace.os, "geteuid", lambda: user + 1)
    workspace.sweep()
    assert os.path.lexists(root) or kind == "lock is a fifo"
    assert (victim / workspace.LOCK).exists()


def test_shared_memory_of_others_and_links_stay(made, tmp_path):
    victim = tmp_path / "victim"
    victim.touch()
    link = SHARED_MEMORY / f"{made.root.name}-link"
    link.symlink_to(victim)
    try:
        workspace.remove_shared_memory(made.root.name)
        assert link.is_symlink()
        assert victim.exists()
    finally:
        link.unlink()


def test_a_temporary_folder_that_bash_would_trip_over_or_a_missing_home_is_not_used(tmp_path, monkeypatch):
    odd = tmp_path / "has space"
    odd.mkdir()
    monkeypatch.setattr(workspace.tempfile, "gettempdir", lambda: str(odd))
    assert odd not in workspace._parents()

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(workspace.Path, "home", no_home)
    assert workspace._parents()


def test_importing_the_package_loads_no_torch_and_no_server():
    code = (
        "import sys, lamr_serving; lamr_serving.TritonServer, lamr_serving.server_status;"
        "print([name for name in ('torch', 'pytriton', 'onnxruntime', 'tritonclient') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
