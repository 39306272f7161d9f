"""HAProxy takes every rendering, and starts with it, from a folder that is the user's own."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from lamr_serving.errors import FrontError
from lamr_serving.front.control import FOLDER_VARIABLE, MOST_PATH_BYTES, RunFolder, read_status
from lamr_serving.front.fleet import Fleet, FrontSettings, Replica
from lamr_serving.front.rendering import FrontPaths, render, write

FULL = "weight = 0.5\nwindow = 3\nmodels = ['lamr', 'big.model-2']\ncertificates = ['agent a']\n" + (
    "limits = { concurrent = 5, requests = 9, bytes = 10_000 }"
)


def named_files(folder: Path, authority: trustme.CA) -> str:
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
        settings += "\n" + named_files(site.folder / folder, authority)
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


def test_a_path_that_is_too_long_for_sockets_and_a_file_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / ("long" * 20)))
    with pytest.raises(FrontError, match=rf"at most {MOST_PATH_BYTES}; set {FOLDER_VARIABLE}"):
        RunFolder(tmp_path / "tenants.toml").make()
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv(FOLDER_VARIABLE, "/dev/null/front")
    with pytest.raises(FrontError, match=FOLDER_VARIABLE):
        RunFolder(tmp_path / "tenants.toml").make()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, which fronts run in."""
    with tempfile.TemporaryDirectory(prefix="lamr-") as name:
        monkeypatch.setenv(FOLDER_VARIABLE, name)
        yield Path(name)


def test_the_folder_is_the_users_own(short: Path) -> None:
    folder = RunFolder(short / "tenants.toml")
    folder.path.symlink_to(short)
    with pytest.raises(FrontError, match="folder"):
        folder.make()
    folder.path.unlink()
    folder.make()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    with folder.held():
        assert (folder.path / "lock").stat().st_mode & 0o777 == 0o600


def test_what_is_written_is_for_its_owner_alone(tmp_path: Path) -> None:
    fleet = Fleet(FrontSettings(), (Replica("one", "127.0.0.1:9"),), ())
    places = FrontPaths(tmp_path / "made" / "files", tmp_path / "sockets")
    before = os.umask(0)
    try:
        written = write(render(fleet, places, "tenants.toml"), places)
        write(render(fleet, places, "tenants.toml"), places)  # again
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (*written, places.state_file)} == {0o600}
    assert {folder.stat().st_mode & 0o777 for folder in (places.folder, places.sockets)} == {0o700}
    written[0].unlink()
    written[0].symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        write(render(fleet, places, "tenants.toml"), places)
    assert not (tmp_path / "elsewhere").exists()
