"""What prunes in process asks nothing of the machine that only Unix has; what needs Unix, or Triton, says so."""

import subprocess
import sys
from pathlib import Path

import pytest
from lamr_serving import ServerStartError
from lamr_serving.launcher.bundle import check_machine

CODE = "class Pool:\n    def close(self):\n        self.closed = True\n" + "\n".join(
    f"x{i} = {i}" for i in range(60)
)
LIKE_WINDOWS = """
import os, signal, socket, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
ABSENT = {
    socket: ["AF_UNIX"],
    signal: ["SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1"],
    os: ["fchmod", "fork", "geteuid", "getuid", "killpg", "mkfifo", "O_NOFOLLOW", "O_NONBLOCK", "sched_getaffinity"],
}
for module, names in ABSENT.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from lamr_cli.main import main
try:
    main()
finally:
    assert not [path for path in opened if path.startswith("/dev/shm")]
    assert "lamr_serving.launcher.supervisor" not in sys.modules
"""


def lamr(*words: str, within: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIKE_WINDOWS, *words], capture_output=True, text=True, cwd=within, check=False
    )


def test_prune_pack_and_view_run_without_what_only_unix_has(tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(CODE)
    pruned = lamr("prune", "pool.py", "-q", "How is a pool closed?", within=tmp_path)
    assert pruned.returncode == 0, pruned.stderr
    assert "def close" in pruned.stdout
    viewed = lamr("view", "pool.py", "-q", "How is a pool closed?", "-o", "page.html", within=tmp_path)
    assert viewed.returncode == 0, viewed.stderr
    packed = lamr(
        "pack", ".", "-q", "How is a pool closed?", "--max-tokens", "400", "--no-cache", within=tmp_path
    )
    assert packed.returncode == 0, packed.stderr


def test_a_command_that_needs_unix_says_so(tmp_path: Path) -> None:
    (tmp_path / "jobs.jsonl").write_text("")
    done = lamr("batch", "jobs.jsonl", "-o", "answers", within=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("lamr: this command needs Linux or macOS")


@pytest.mark.parametrize(
    ("system", "machine"),
    [("darwin", "arm64"), ("darwin", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64")],
)
def test_a_server_on_another_machine_is_refused_with_what_works_there(monkeypatch, system, machine) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    with pytest.raises(ServerStartError, match=r"Linux x86-64 only.*'\.\[local\]'.*container"):
        check_machine()
