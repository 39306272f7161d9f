"""`tenants.toml`: reading it into a fleet, with the line of whatever is wrong, and adding keys to it.

What follows from the values is in `fleet`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from lamr_contract.private_files import write_whole

from lamr_front.errors import FrontError, TenantsFileError
from lamr_front.fleet import ApiKey, Fleet, Limits, Replica, Settings, Tenant
from lamr_front.toml_table import Table, TomlFile

STARTER = """\
# Who may ask, and what answers. `lamr front check` reads this file; `lamr front reload` puts changes into force.

[front]
listen = "127.0.0.1:8443"        # for clients; another address than loopback needs a certificate
# certificate = "server.pem"     # certificate chain and private key
operations = "127.0.0.1:8405"    # /metrics, /ready and /live

[replicas.one]                   # lamr serve --port 8001
grpc = "127.0.0.1:8001"
"""
HASH_SCHEME = "sha256:"
MOST = 1 << 31
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_COMMON_NAME = re.compile(r"[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,253}[^\s\x00-\x1f\x7f])?")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.*_-]+):(\d{1,5})")
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_DIGEST = re.compile(rf"{HASH_SCHEME}[0-9a-f]{{64}}")
_LOOPBACK = re.compile(r"(127\.[\d.]+|localhost|\[::1\]):\d+")


def read_fleet(path: Path) -> Fleet:
    """Read a file of tenants.

    Raises:
        TenantsFileError: names the line and what is wrong there.
        FrontError: the extra `front` isn't installed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise TenantsFileError(
            "there is no such file; `lamr front key NAME` writes a first one", path=path
        ) from error
    except UnicodeDecodeError as error:
        raise TenantsFileError(f"not UTF-8 (byte {error.start})", path=path) from error
    except OSError as error:
        raise TenantsFileError(f"can't be read: {error.strerror}", path=path) from error
    return parse_fleet(path, text)


def parse_fleet(path: Path, text: str) -> Fleet:
    """Read the text of a file of tenants. It raises what `read_fleet` raises.

    Args:
        path: where the file lies, which relative paths begin at.
        text: what it holds.
    """
    file = TomlFile(path, text)
    root = Table(file, (), file.values)
    settings = _settings(root.table("front"), path.absolute().parent)
    replicas = tuple(_replica(name, table) for name, table in root.tables("replicas"))
    tenants = tuple(_tenant(name, table) for name, table in root.tables("tenants"))
    root.done()
    if not replicas:
        raise root.fail('no replica; add [replicas.one] with grpc = "host:port"')
    _check_unique(root, replicas, tenants)
    return Fleet(settings, replicas, tenants)


def add_keys(path: Path, keys: dict[str, ApiKey]) -> None:
    """Add a key to each of some tenants, which are added where the file hasn't got them. A missing file is written.

    Args:
        path: the file. Everything that it holds stays as it is, and the new lines follow at its end.
        keys: one key for each tenant's name.

    Raises:
        TenantsFileError: the file can't be used, or a name can't be one.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else STARTER
    known = {tenant.name for tenant in parse_fleet(path, text).tenants}
    for name, key in keys.items():
        if not _NAME.fullmatch(name):
            raise TenantsFileError(f"tenant {name!r}: {_name_problem()}", path=path)
        lines = [] if name in known else ["", f"[tenants.{name}]"]
        lines += ["", f"[[tenants.{name}.keys]]", f'hash = "{HASH_SCHEME}{key.sha256}"']
        if key.expires is not None:
            lines.append(f"expires = {key.expires.isoformat(timespec='seconds')}")
        text = text.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    try:
        parse_fleet(path, text)
    except TenantsFileError as error:
        raise TenantsFileError(
            "no key can be added at its end; write the tenant's keys as [[tenants.NAME.keys]] tables "
            f"({error})",
            path=path,
        ) from error
    try:
        write_whole(path, text)
    except OSError as error:
        raise FrontError(f"{path} can't be written: {error.strerror}") from error


def _settings(table: Table, folder: Path) -> Settings:
    settings = Settings(
        listen=table.take_or("listen", Settings.listen, _address_problem),
        operations=table.take_or("operations", Settings.operations, _address_problem),
        certificate=_file(table, "certificate", folder),
        client_ca=_file(table, "client_ca", folder),
        replica_ca=_file(table, "replica_ca", folder),
        replica_certificate=_file(table, "replica_certificate", folder),
        max_request_bytes=table.take_or(
            "max_request_bytes", Settings.max_request_bytes, _between(1_000, 16 << 20)
        ),
        max_connections=table.take_or("max_connections", Settings.max_connections, _between(10, 1_000_000)),
        address_connections=table.take("address_connections", int, _between(1, 1_000_000)),
        quota_seconds=table.take_or("quota_seconds", Settings.quota_seconds, _between(1, 86_400)),
        queue_seconds=table.take_or("queue_seconds", Settings.queue_seconds, _between(1, 600)),
        answer_seconds=table.take_or("answer_seconds", Settings.answer_seconds, _between(1, 3_600)),
        busy_tenants=table.take_or("busy_tenants", Settings.busy_tenants, _between(1, 10_000)),
        follow_dns=table.take_or("follow_dns", Settings.follow_dns),
    )
    table.done()
    if settings.certificate is None and not _LOOPBACK.fullmatch(settings.listen):
        raise table.fail(
            "keys and code would travel unencrypted; give a certificate, or listen on 127.0.0.1", "listen"
        )
    if settings.certificate is None and settings.client_ca is not None:
        raise table.fail("needs a certificate of the server, too", "client_ca")
    if settings.replica_certificate is not None and settings.replica_ca is None:
        raise table.fail("needs replica_ca, too", "replica_certificate")
    return settings


def _replica(name: str, table: Table) -> Replica:
    _check_name(name, table)
    grpc = table.take("grpc", str, _address_problem)
    if grpc is None:
        raise table.fail('give the address of its gRPC port: grpc = "host:port"')
    capacity = table.take_or("capacity", Replica.capacity, _between(1, 10_000))
    fingerprint = table.take("fingerprint", str, _fingerprint_problem)
    table.done()
    return Replica(name, grpc, capacity, fingerprint)


def _tenant(name: str, table: Table) -> Tenant:
    _check_name(name, table)
    tenant = Tenant(
        name,
        weight=table.take_or("weight", Tenant.weight, _weight_problem),
        window=table.take("window", int, _between(1, 10_000)),
        models=tuple(table.take_or("models", list(Tenant.models), _each(_MODEL, "is no model's name"))),
        keys=tuple(_key(entry) for entry in table.array("keys")),
        certificates=tuple(
            table.take_or("certificates", list[str](), _each(_COMMON_NAME, "is no common name"))
        ),
        limits=_limits(table.table("limits")),
    )
    table.done()
    return tenant


def _key(table: Table) -> ApiKey:
    digest = table.take("hash", str, _digest_problem)
    if digest is None:
        raise table.fail(f'give hash = "{HASH_SCHEME}…", as `lamr front key` writes it')
    expires = table.take("expires", datetime)
    table.done()
    return ApiKey(digest.removeprefix(HASH_SCHEME), expires)


def _limits(table: Table) -> Limits:
    limits = Limits(
        concurrent=table.take_or("concurrent", Limits.concurrent, _between(1, 100_000)),
        requests=table.take("requests", int, _between(1, MOST)),
        bytes=table.take("bytes", int, _between(1, MOST)),
    )
    table.done()
    return limits


def _file(table: Table, name: str, folder: Path) -> Path | None:
    given = table.take(name, str)
    if given is None:
        return None
    path = folder / given
    if not path.is_file():
        raise table.fail(f"there is no file {path}", name)
    return path


def _check_name(name: str, table: Table) -> None:
    if not _NAME.fullmatch(name):
        raise table.fail(_name_problem())


def _check_unique(root: Table, replicas: tuple[Replica, ...], tenants: tuple[Tenant, ...]) -> None:
    """Refuse an address, key or certificate that stands twice: it would mean either of two."""
    seen: dict[str, str] = {}
    for replica in replicas:
        if (other := seen.setdefault(replica.grpc, replica.name)) != replica.name:
            raise root.fail(f"replica {other} has the same address", "replicas", replica.name, "grpc")
    for tenant in tenants:
        for index, key in enumerate(tenant.keys):
            place = f"{tenant.name} {index}"
            if (other := seen.setdefault(key.sha256, place)) != place:
                raise root.fail(
                    f"tenant {other.split()[0]} has the same key",
                    "tenants",
                    tenant.name,
                    "keys",
                    index,
                    "hash",
                )
        for name in tenant.certificates:
            if (other := seen.setdefault(f"cn {name}", tenant.name)) != tenant.name:
                raise root.fail(
                    f"tenant {other} has the same certificate {name!r}",
                    "tenants", tenant.name, "certificates",
                )  # fmt: skip


def _name_problem() -> str:
    return "a name has up to 48 of a-z, 0-9, - and _, and begins with a letter or digit"


def _address_problem(value: str) -> str | None:
    match = _ADDRESS.fullmatch(value)
    if match is None or not 0 < int(match[2]) < 1 << 16:
        return f'must be "host:port", not "{value}"'
    return None


def _digest_problem(value: str) -> str | None:
    if _DIGEST.fullmatch(value):
        return None
    return f"must be {HASH_SCHEME} and 64 hexadecimal digits; a key itself never stands here"


def _fingerprint_problem(value: str) -> str | None:
    if _FINGERPRINT.fullmatch(value):
        return None
    return "must be the 16 hexadecimal digits that `lamr status` shows for its server"


def _weight_problem(value: float) -> str | None:
    return None if 0.01 <= value <= 100 else "must be between 0.01 and 100"


def _between(least: int, most: int) -> Callable[[int], str | None]:
    return lambda value: None if least <= value <= most else f"must be between {least:,} and {most:,}"


def _each(pattern: re.Pattern[str], problem: str) -> Callable[[Iterable[str]], str | None]:
    return lambda values: next(
        (f"{value!r} {problem}" for value in values if not pattern.fullmatch(value)), None
    )
