"""The supervisor with a stand-in for Triton: whatever way things end, nothing stays behind."""

import dataclasses
import json
import os
import secrets
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from lamr_serving.launcher import supervisor
from lamr_serving.launcher.supervisor import SHARED_MEMORY, Orders

from tests.processes import eventually, runs

# A server with one child, as Triton has stubs; says when both run. `deaf`: SIGTERM does nothing. `dies`: by itself.
SERVER = """
import os, signal, subprocess, sys, time
from pathlib import Path
root, manner = Path(sys.argv[1]), sys.argv[2]
signal.signal(signal.SIGTERM, signal.SIG_IGN if manner == "deaf" else lambda *_: sys.exit(0))
child = subprocess.Popen(["sleep", "600"])
region = Path("/dev/shm", root.name + "-region")
region.write_bytes(b"x")
try:
    os.chmod(os.open(region, os.O_RDWR), 0o644)  # as Triton does
except PermissionError:
    pass
(root / "new").write_text(str(child.pid))
(root / "new").rename(root / "child")
while manner != "dies":
    time.sleep(0.01)
sys.exit(7)
"""


class Running:
    """A supervisor, its server and the server's child."""

    def __init__(self, folder, manner="polite", stop_timeout=20.0, **orders):
        self.root = folder / f"lamr-test-{secrets.token_hex(4)}"
        self.root.mkdir()
        script = folder / "server.py"
        script.write_text(SERVER)
        lock = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT)
        orders = Orders(
            command=[sys.executable, "-I", "-S", str(script), str(self.root), manner],
            root=str(self.root),
            lock=lock,
            log=str(folder / "log"),
            parent=os.getpid(),
            stop_timeout=stop_timeout,
            **orders,
        )
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, json.dumps(dataclasses.asdict(orders))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(lock,),
        )
        os.close(lock)
        self.server = int(self.process.stdout.readline().split()[1])
        assert manner == "dies" or eventually((self.root / "child").exists)
        self.child = int((self.root / "child").read_text() or 0) if manner != "dies" else 0

    def next_line(self):
        return self.process.stdout.readline().decode().strip()

    def order(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def exit_line(self):
        return self.process.stdout.read().decode().strip()

    def alive(self):
        """Those of server and child that still run."""
        return [pid for pid in (self.server, self.child) if runs(pid)]

    def leftovers(self):
        """Folder and shared memory that still exist."""
        return [path for path in (self.root, *SHARED_MEMORY.glob(f"{self.root.name}*")) if path.exists()]


@pytest.fixture
def start(tmp_path):
    """A function that starts a `Running`. At the end of the test nothing of any of them may exist."""
    started = []

    def begin(*args, **kwargs):
        started.append(Running(tmp_path, *args, **kwargs))
        return started[-1]

    yield begin
    for running in started:
        running.process.kill()
        running.process.wait()
        for pid in running.alive():
            os.kill(pid, signal.SIGKILL)
        for path in SHARED_MEMORY.glob(f"{running.root.name}*"):
            path.unlink()


@pytest.mark.parametrize(
    ("manner", "seconds", "code"), [("polite", 20.0, 0), ("deaf", 0.3, -9), ("closed pipe", 20.0, 0)]
)
def test_stop_is_graceful_until_the_time_is_up_and_takes_everything_along(start, manner, seconds, code):
    running = start(manner, stop_timeout=seconds)
    if manner == "closed pipe":
        running.process.stdin.close()
    else:
        running.order(b"stop\n")
    assert running.exit_line() == f"exit {code}"
    assert running.alive() == []
    assert running.leftovers() == []


@pytest.mark.parametrize("restart", [False, True])
def test_kill_does_not_wait_and_starts_nothing_again(start, restart):
    running = start("deaf", restart=restart)
    running.order(b"ready\n")
    time.sleep(0.2)  # both orders in one read would be one
    begun = time.monotonic()
    running.order(b"kill\n")
    assert running.exit_line() == "exit -9"
    assert time.monotonic() - begun < 5
    assert running.alive() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_to_the_supervisor(start, number):
    running = start()
    running.process.send_signal(number)
    if number == signal.SIGINT:  # a terminal's Ctrl-C is passed on by whoever started us
        time.sleep(0.2)
        assert len(running.alive()) == 2
        running.order(b"stop\n")
    assert running.exit_line() == "exit 0"


def test_a_stub_that_dies_after_ready_is_noticed_at_once(start, tmp_path):
    running = start("deaf")
    running.order(b"ready\n")
    time.sleep(0.2)  # the order must be read before the child dies
    begun = time.monotonic()
    os.kill(running.child, signal.SIGKILL)
    assert running.exit_line() == "exit -9"
    assert time.monotonic() - begun < supervisor.GRACE
    assert (tmp_path / "log").read_text().count("a model process has died") == 1


def test_a_server_that_was_never_ready_is_not_started_again(start):
    running = start("dies", restart=True)
    assert running.exit_line() == "exit 7"
    assert running.leftovers() == []


def test_a_server_that_does_not_get_ready_again_is_given_up(start, monkeypatch):
    running = start(restart=True)
    running.order(b"ready\n")
    time.sleep(0.2)  # the order must be read before the server dies
    os.kill(running.server, signal.SIGKILL)
    starts = 0
    while (line := running.next_line()).startswith(("died", "pid")):
        if line.startswith("pid"):
            starts += 1
            os.kill(int(line.removeprefix("pid ")), signal.SIGKILL)
    assert line == "exit -9"
    assert starts == supervisor.MOST_FAILURES
    assert running.leftovers() == []


def test_a_log_that_has_grown_is_moved_aside(start, tmp_path):
    running = start(log_bytes=1000)
    (tmp_path / "log").write_bytes(b"x" * 1001)
    assert eventually((tmp_path / "log.1").exists)
    assert eventually(lambda: (tmp_path / "log").stat().st_size == 0)
    assert (tmp_path / "log.1").stat().st_size == 1001
    assert (tmp_path / "log.1").stat().st_mode & 0o777 == 0o600
    running.order(b"stop\n")
    assert running.exit_line() == "exit 0"


def test_nobody_else_may_read_what_the_server_writes_and_it_may_open_what_it_can(start):
    running = start()
    region = SHARED_MEMORY / f"{running.root.name}-region"
    assert region.stat().st_mode & 0o777 == 0o600
    assert "NoNewPrivs:\t1" in Path(f"/proc/{running.server}/status").read_text()
    limits = Path(f"/proc/{running.server}/limits").read_text().splitlines()
    soft, hard = next(line for line in limits if line.startswith("Max open files")).split()[3:5]
    assert soft == hard or int(soft) == supervisor.MOST_DESCRIPTORS


def test_without_filters_of_system_calls_shared_memory_is_closed_once_the_server_is_ready(start, tmp_path):
    running = start(filter=False)
    region = SHARED_MEMORY / f"{running.root.name}-region"
    assert region.stat().st_mode & 0o777 == 0o644
    running.order(b"ready\n")
    assert eventually(lambda: region.stat().st_mode & 0o777 == 0o600)
    assert eventually(lambda: "this system has no seccomp" in (tmp_path / "log").read_text())


def test_the_filter_lets_through_what_opens_nothing_to_others(tmp_path):
    code = textwrap.dedent("""
        import ctypes, os, sys
        from pathlib import Path
        from lamr_serving.launcher.supervisor import install_filter
        install_filter(ctypes.CDLL(None))
        file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
        for mode in (0o600, 0o700, 0o400, 0o000, 0o4700, 0o604, 0o640, 0o622, 0o601, 0o666, 0o1777):
            try:
                os.fchmod(file, mode)
                said = "done"
            except PermissionError:
                said = "refused"
            print(f"{mode:o}", said)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "file")], capture_output=True, text=True, check=True
    )
    said = dict(line.split() for line in done.stdout.splitlines())
    assert [mode for mode, what in said.items() if what == "done"] == ["600", "700", "400", "0", "4700"]


def test_a_socket_that_a_dead_server_left_goes_before_the_next_start(start, tmp_path):
    left = tmp_path / "socket"
    left.touch()
    start(sockets=[str(left)])
    assert not left.exists()


def test_a_killed_supervisor_leaves_no_stub_behind(start):
    """A server that is told to end while it loads goes without its stubs, which wait for it."""
    running = start()
    running.process.kill()
    running.process.wait()
    assert eventually(lambda: running.alive() == [])


def test_a_command_that_cannot_run_is_reported(tmp_path):
    orders = Orders(
        [str(tmp_path / "nothing")], str(tmp_path / "root"), 0, str(tmp_path / "log"), os.getpid(), 1.0
    )
    done = subprocess.run(
        [sys.executable, supervisor.__file__, json.dumps(dataclasses.asdict(orders))],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"error" in done.stdout
    assert b"nothing" in done.stdout


def test_a_parent_that_is_gone_stops_the_server_though_the_pipe_stays_open(tmp_path):
    """A forked worker of the parent may hold the pipe open for long after the parent was killed."""
    root = tmp_path / f"lamr-test-{secrets.token_hex(4)}"
    root.mkdir()
    (tmp_path / "server.py").write_text(SERVER)
    parent = textwrap.dedent(f"""
        import dataclasses, json, os, subprocess, sys, time
        from lamr_serving.launcher import supervisor
        from lamr_serving.launcher.supervisor import Orders
        lock = os.open({str(root / "lock")!r}, os.O_RDWR | os.O_CREAT)
        command = [sys.executable, "-I", "-S", {str(tmp_path / "server.py")!r}, {str(root)!r}, "polite"]
        orders = Orders(command, {str(root)!r}, lock, {str(tmp_path / "log")!r}, os.getpid(), 20.0)
        arguments = json.dumps(dataclasses.asdict(orders))
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(lock,))
        print(int(process.stdout.readline().split()[1]), process.stdin.fileno(), flush=True)
        if os.fork() == 0:
            os.close(1)  # the worker: holds the pipe, nothing else
            time.sleep(600)
        time.sleep(600)
    """)
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, start_new_session=True)
    server = int(process.stdout.readline().split()[0])
    try:
        assert eventually((root / "child").exists)
        process.kill()
        process.wait()
        assert eventually(lambda: not runs(server))
        assert eventually(lambda: not root.exists())
        assert list(Path(SHARED_MEMORY).glob(f"{root.name}*")) == []
    finally:
        os.killpg(process.pid, signal.SIGKILL)
