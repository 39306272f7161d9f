"""Which HAProxy can run a front, how it asks replicas whether they are ready, and its messages in our words."""

import re
import socket
from pathlib import Path

import pytest
from lamr_serving.errors import FrontStartError
from lamr_serving.front import haproxy, health_check
from lamr_serving.front.rendering import SERVICE
from lamr_serving.front.running import in_plain_words

ABOUT = "HAProxy version {version}-1 2026/01/01\nFeature list : -51DEGREES {lua} +PCRE\n"


@pytest.mark.parametrize(
    ("version", "lua", "refusal"),
    [
        ("2.8.25", "+LUA", None),
        ("3.2.1", "+LUA", None),
        ("2.6.12", "+LUA", "is HAProxy 2.6, but 2.8 or later"),
        ("2.8.25", "-LUA", "built without Lua"),
        ("3.2.1", "", "built without Lua"),
    ],
)
def test_version_and_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, lua: str, refusal: str | None
) -> None:
    program = tmp_path / "haproxy"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{ABOUT.format(version=version, lua=lua)}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(haproxy, "_bundled", lambda: program)
    if refusal is None:
        assert haproxy.find_haproxy() == program
    else:
        with pytest.raises(FrontStartError, match=refusal):
            haproxy.find_haproxy()


DOWN = "0 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue."


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "[WARNING]  (34) : Server replicas/one is DOWN, reason: Layer4 connection problem, info: "
            f'"Connection refused at step 1 of tcp-check (connect)", check duration: 0ms. {DOWN}',
            "replica one isn't ready: Connection refused",
        ),
        (
            "[WARNING]  (34) : Server replicas/a-b is DOWN, reason: Layer7 timeout, check duration: 4001ms. "
            + DOWN,
            "replica a-b isn't ready: Layer7 timeout",
        ),
        (
            "[WARNING]  (34) : Server replicas/one is UP, reason: Layer7 check passed, code: 0, info: "
            '"(tcp-check)", check duration: 0ms. 1 active and 0 backup servers online.',
            "replica one is ready",
        ),
        (
            "[ALERT]    (34) : backend 'replicas' has no server available!",
            "no replica is ready; every call is refused until one is",
        ),
        (
            "[ALERT]    (34) : backend 'replicas-d3f7ef743a904628' has no server available!",
            "no replica with the model d3f7ef743a904628 is ready; calls for it are refused until one is",
        ),
        ("[WARNING]  (34) : Server replicas-d3f7ef743a904628/one is DOWN via replicas/one.", None),
        ("[NOTICE]   (34) : New worker (36) forked", None),
        ("[ALERT]    (34) : sendmsg()/writev() failed", "[ALERT]    (34) : sendmsg()/writev() failed"),
    ],
)
def test_words(line: str, words: str | None) -> None:
    assert in_plain_words(line) == words


def test_a_real_front_tells_of_its_replica(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    replica.stop()
    site.until(lambda: "no replica is ready" in site.report.getvalue())
    assert site.report.getvalue().startswith("lamr: replica r0 isn't ready: ")


@pytest.mark.parametrize(("ready", "good"), [(True, True), (False, False), (None, False)])
def test_the_call_is_answered_and_understood(replica, ready, good) -> None:
    replica.ready = ready
    received = b""
    with socket.create_connection(("127.0.0.1", replica.port), timeout=20) as connection:
        connection.sendall(bytes.fromhex(health_check.request(f"{SERVICE}ModelReady")))
        while not re.search(health_check.DECIDED, received.hex()):
            part = connection.recv(4096)
            assert part, received.hex()
            received += part
    assert bool(re.search(health_check.READY, received.hex())) is good
    assert bool(re.search(health_check.BAD, received.hex())) is not good
