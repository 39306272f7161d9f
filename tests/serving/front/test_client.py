"""Our own client through the front: keys, certificates, quotas, and what the command line says."""

import asyncio
import json
import subprocess

import pytest
from lamr_cli.exits import INCOMPLETE
from lamr_client import (
    AccessDeniedError,
    AsyncPruner,
    InvalidInputError,
    Pruner,
    QuotaExceededError,
    ServerUnavailableError,
)
from lamr_serving import server_status

from tests.command import run_main
from tests.repositories.batch.rows import answers
from tests.tiny import IN_FULL

CODE = "def area(width, height):\n    return width * height\n\n\ndef other():\n    pass\n"
QUERY = "How is the area computed?"


@pytest.fixture
def secure(site, replica, authority):
    """A front with TLS, which takes keys and certificates."""
    authority.cert_pem.write_to_path(site.folder / "ca.pem")
    server = authority.issue_cert("127.0.0.1")
    server.private_key_and_cert_chain_pem.write_to_path(site.folder / "server.pem")
    agent = authority.issue_cert("agent.example", common_name="agent b")
    agent.private_key_pem.write_to_path(site.folder / "agent.key")
    agent.cert_chain_pems[0].write_to_path(site.folder / "agent.pem")
    site.write(
        {"alice": "limits = { requests = 4 }", "bob": 'certificates = ["agent b"]'},
        'certificate = "server.pem"\nclient_ca = "ca.pem"\nquota_seconds = 86400',
    )
    site.start()
    return site


def test_keys_and_certificates(secure) -> None:
    server, ca = f"https://127.0.0.1:{secure.port}", secure.folder / "ca.pem"
    own = {"cert": secure.folder / "agent.pem", "key": secure.folder / "agent.key"}
    with Pruner(server, api_key=secure.keys["alice"], ca=ca) as pruner:
        assert pruner.prune(QUERY, CODE, **IN_FULL).relevance is not None
    with Pruner(server, ca=ca, **own) as pruner:
        assert pruner.prune(QUERY, CODE, **IN_FULL).relevance is not None

    async def ask() -> str:
        async with AsyncPruner(server, ca=ca, **own) as pruner:
            return (await pruner.prune(QUERY, CODE, **IN_FULL)).relevance

    assert asyncio.run(ask()) is not None
    secure.until(lambda: len(secure.logged()) >= 6)
    assert {line["tenant"] for line in secure.logged()} == {"alice", "bob"}
    for wrong in ({}, {"api_key": "lamr_wrong"}):
        with Pruner(server, ca=ca, **wrong) as pruner, pytest.raises(AccessDeniedError, match="API key"):
            pruner.prune(QUERY, CODE, **IN_FULL)
    with (
        Pruner(server, api_key=secure.keys["alice"]) as pruner,
        pytest.raises(ServerUnavailableError, match="LAMR_CA"),
    ):
        pruner.prune(QUERY, CODE, **IN_FULL)
    with pytest.raises(InvalidInputError, match="unencrypted"):
        Pruner(f"10.0.0.1:{secure.port}", api_key=secure.keys["alice"])


def test_a_quota_is_an_error_of_its_own(secure) -> None:
    server, ca = f"https://127.0.0.1:{secure.port}", secure.folder / "ca.pem"
    with Pruner(server, api_key=secure.keys["alice"], ca=ca, timeout=20) as pruner:
        for _ in range(3):  # the first asks for the configuration, too
            assert pruner.prune(QUERY, CODE, **IN_FULL).relevance is not None
        with pytest.raises(QuotaExceededError, match="4 requests in 86400 s") as caught:
            pruner.prune(QUERY, CODE, **IN_FULL)
        assert caught.value.retry_after > 20
        result = pruner.prune(QUERY, CODE, on_error="passthrough", **IN_FULL)
    assert (result.text, result.status) == (CODE, "passthrough")


def test_the_command_line_takes_keys_from_the_environment(secure, monkeypatch) -> None:
    server = f"https://127.0.0.1:{secure.port}"
    (secure.folder / "area.py").write_text(CODE)
    monkeypatch.setenv("LAMR_SERVER", server)
    monkeypatch.setenv("LAMR_CA", str(secure.folder / "ca.pem"))

    def lamr(*arguments: str, key: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setenv("LAMR_API_KEY", key)
        return run_main(*arguments)

    prune = ["prune", str(secure.folder / "area.py"), "-q", QUERY, "--effort", "full", "--no-degrade"]
    done = lamr(*prune, key=secure.keys["bob"])
    assert done.returncode == 0, done.stderr
    assert "the one chunk" in done.stderr
    pack = ["pack", str(secure.folder), "--include", "area.py", "-q", QUERY, "--no-cache"]
    done = lamr(*pack, key=secure.keys["bob"])
    assert done.returncode == 0, done.stderr
    assert '<file path="area.py">' in done.stdout
    (secure.folder / "jobs.jsonl").write_text(json.dumps({"id": "a", "query": QUERY, "code": CODE}) + "\n")
    batch = ["batch", str(secure.folder / "jobs.jsonl"), "--server", server, "--no-cache"]
    done = lamr(*batch, "-o", str(secure.folder / "answers"), key=secure.keys["bob"])
    assert done.returncode == 0, done.stderr
    done = lamr(*batch, "-o", str(secure.folder / "refusals"), key="lamr_wrong")
    assert done.returncode == INCOMPLETE
    (refusal,) = answers(secure.folder / "refusals")
    assert "API key" in refusal["message"]
    assert "lamr_wrong" not in done.stderr + refusal["message"]
    refused = lamr(*prune, key="lamr_wrong")
    assert refused.returncode == 3
    assert "API key" in refused.stderr
    assert "lamr_wrong" not in refused.stderr
    assert lamr(*pack, key="lamr_wrong").returncode == 0, "a pack asks no server, so nobody sees its key"
    status = server_status(server, api_key=secure.keys["bob"], ca=secure.folder / "ca.pem")
    assert status.ready
    assert status.fingerprint
    assert status.models == ()
