"""`lamr front run` as a process: it starts HAProxy again when that dies, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from lamr_serving.errors import FrontStartError
from lamr_serving.front import control
from lamr_serving.front.running import Front
from lamr_serving.launcher.server_options import free_ports

from tests.command import run_main

from .conftest import SECONDS, inference, stub_of


def lamr(*arguments: str, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lamr_cli.main", "front", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def process(site, replica):
    """`lamr front run` on a file with one tenant."""
    site.write({"alice": ""})
    with lamr("run", "--tenants", str(site.file)) as command:
        words = command.stderr.readline() + command.stderr.readline()
        assert "1 tenant at http://127.0.0.1" in words, words
        yield command
        if command.poll() is None:
            command.kill()
        command.communicate()


def ask(site) -> None:
    stub_of(site.channel()).ModelInfer(
        inference(), metadata=site.metadata("alice"), wait_for_ready=True, timeout=SECONDS
    )


def test_it_answers_and_stops_when_told(site, replica, process) -> None:
    ask(site)
    replica.hold.clear()
    under_way = stub_of(site.channel()).ModelInfer.future(inference(), metadata=site.metadata("alice"))
    site.until(lambda: len(replica.asked_with) == 2)
    process.send_signal(signal.SIGTERM)
    assert "after the requests under way" in process.stderr.readline()
    replica.hold.set()
    assert under_way.result(SECONDS)  # answered after all
    process.send_signal(signal.SIGINT)  # whatever else is open
    out, words = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert words.endswith("stopped\n")
    assert out.count('"tenant":"alice"') == 2


def test_a_killed_haproxy_is_started_again(site, process) -> None:
    ask(site)
    for victim in (0, 1):  # the master, and a worker
        (master,) = children(process.pid)
        (worker,) = children(master)
        os.kill((master, worker)[victim], signal.SIGKILL)
        site.until(lambda each=(master, worker): not any(map(running, each)))
        ask(site)
        assert children(process.pid) != [master]
        assert control.read_status(site.file).replicas[0].state == "up"


def test_nothing_outlives_a_killed_command(site, process) -> None:
    (master,) = children(process.pid)
    (worker,) = children(master)
    process.kill()
    process.wait(20)  # the lock is free when the last of its threads is gone
    site.until(lambda: not running(master) and not running(worker))
    with Front(site.file, report=site.report):  # lock, ports and sockets are free
        ask(site)


def test_one_file_has_one_front(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    with pytest.raises(FrontStartError, match="runs already"), Front(site.file):
        pass
    ask(site)


def test_from_nothing_to_two_tenants(site, replica) -> None:
    """The three commands of docs/front.md, with a replica in place of `lamr serve`."""
    file = ["--tenants", str(site.file)]
    made = run_main("front", "key", "alice", "bob", *file)
    assert made.returncode == 0, made.stderr
    site.keys = dict(line.split() for line in made.stdout.splitlines())
    assert list(site.keys) == ["alice", "bob"]
    site.port, operations = free_ports("127.0.0.1", 2)
    text = site.file.read_text()
    for default, own in (("8443", site.port), ("8405", operations), ("8001", replica.port)):
        text = text.replace(f"127.0.0.1:{default}", f"127.0.0.1:{own}")
    site.file.write_text(text)
    assert "bob" in run_main("front", "check", *file).stdout
    with lamr("run", *file) as command:
        command.stderr.readline()
        for name in ("alice", "bob"):
            stub_of(site.channel()).ModelInfer(
                inference(), metadata=site.metadata(name), wait_for_ready=True, timeout=SECONDS
            )
        with pytest.raises(grpc.RpcError):
            stub_of(site.channel()).ModelInfer(inference())
        asked = run_main("front", "status", *file)
        assert asked.returncode == 0, asked.stderr
        assert "up" in asked.stdout
        assert "refused 1 requests without a valid key" in asked.stdout
        command.terminate()
        command.terminate()
        command.communicate(timeout=SECONDS)
