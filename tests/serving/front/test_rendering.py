"""HAProxy takes every rendering, and starts with it."""

from pathlib import Path

import pytest
import trustme
from lamr_serving.front.control import read_status

FULL = "weight = 0.5\nwindow = 3\nmodels = ['lamr', 'big.model-2']\ncertificates = ['agent a']\n" + (
    "limits = { concurrent = 5, requests = 9, bytes = 10_000 }"
)


def files(folder: Path, authority: trustme.CA) -> str:
    """Settings that name one of each file."""
    folder.mkdir()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("localhost", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path(
        folder / "both.pem"
    )
    name = folder.name.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join(
        f'{key} = "{name}/{file}"'
        for key, file in (
            ("certificate", "both.pem"),
            ("client_ca", "ca.pem"),
            ("replica_ca", "ca.pem"),
            ("replica_certificate", "both.pem"),
        )
    )


@pytest.mark.parametrize(
    ("tenants", "settings", "folder"),
    [
        ({}, "", None),
        ({"alice": ""}, "", None),
        ({"alice": FULL, "b-2_c": ""}, "quota_seconds = 86400\nmax_request_bytes = 16000000", None),
        ({"alice": FULL}, "max_connections = 10\nqueue_seconds = 1\nanswer_seconds = 1", "pki"),
        ({"alice": ""}, "", "a folder's \"name\" with $HOME, #hash, \\ and 'quotes'"),
        ({f"tenant-{index}": f"weight = {1 + index % 5}" for index in range(120)}, "", None),
    ],
)
def test_haproxy_starts_with_it(site, authority, tenants, settings, folder) -> None:
    if folder:
        settings += "\n" + files(site.folder / folder, authority)
    site.write(tenants, settings, '[replicas.one]\ngrpc = "127.0.0.1:9"\n[replicas.two]\ngrpc = "[::1]:9"')
    site.start(wait=False)
    status = read_status(site.file)
    assert {tenant.name for tenant in status.tenants} == set(tenants)
    assert [replica.name for replica in status.replicas] == ["one", "two"]
    assert [replica.address for replica in status.replicas] == ["127.0.0.1:9", "[::1]:9"]
    if tenants.get("alice"):
        assert next(tenant.window for tenant in status.tenants if tenant.name == "alice") == 3


def test_a_name_without_an_address_is_a_replica_that_is_not_there(site) -> None:
    tables = '[replicas.one]\ngrpc = "replica-0.lamr.invalid:8001"\nfingerprint = "0123456789abcdef"\n'
    site.write({"alice": ""}, "follow_dns = true", tables)
    site.start(wait=False)
    (one,) = read_status(site.file).replicas
    assert one.state not in ("up", "drained")
