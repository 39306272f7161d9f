"""`tenants.toml`: reading it into a fleet, with the line of whatever is wrong, and adding keys to it.

What the file may say is in the types of `fleet`, and so is what follows from it."""

import contextlib
import dataclasses
import difflib
import re
from pathlib import Path
from typing import Any

from lamr_base.lazy import toml_parser
from lamr_base.private_files import write_whole

from lamr_serving.errors import FrontError, TenantsFileError
from lamr_serving.front.fleet import (
    HASH_SCHEME,
    NAME,
    TABLES,
    ApiKey,
    Fleet,
    FrontSettings,
    Replica,
    Tables,
    Tenant,
    TenantLimits,
)

STARTER = """\
# Who may ask, and what answers. `lamr front check` reads this file; `lamr front reload` puts changes into force.

[front]
listen = "127.0.0.1:8443"        # for clients; another address than loopback needs a certificate
# certificate = "server.pem"     # certificate chain and private key
operations = "127.0.0.1:8405"    # /metrics, /ready and /live

[replicas.one]                   # lamr serve --port 8001
grpc = "127.0.0.1:8001"
"""
_LOOPBACK = re.compile(r"(127\.[\d.]+|localhost|\[::1\]):\d+")
_MISSING = {
    "grpc": 'give the address of its gRPC port: grpc = "host:port"',
    "hash": f'give hash = "{HASH_SCHEME}…", as `lamr front key` writes it',
}
_WRONG = {
    "string_type": "must be text in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "tuple_type": "must be a list",
    "dict_type": "must be a table",
    "dataclass_type": "must be a table",
}
"""Messages for pydantic's types of errors; the checks of `fleet` have their own."""
_KeyPath = tuple[str | int, ...]  # of a value: names of tables and keys, and indices of arrays of tables


class _TomlFile:
    """A file of TOML, with the line of each value."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        toml = toml_parser()
        try:
            self.values: dict[str, Any] = toml.loads(text)
        except toml.TOMLDecodeError as error:
            place = re.search(r"at line (\d+)", str(error))
            message = re.sub(r" \(at [^)]*\)$", "", str(error))
            line = int(place[1]) if place else text.count("\n") + 1
            raise TenantsFileError(f"not TOML: {message}", path=path, line=line) from error
        self._lines = _key_lines(text)

    def fail(self, message: str, *names: str | int) -> TenantsFileError:
        """The error about a value, at its line or that of the nearest table around it that the file names."""
        where = ".".join(str(name) for name in names if isinstance(name, str))
        lines = (self._lines.get(names[:end]) for end in range(len(names), 0, -1))
        return TenantsFileError(
            f"{where}: {message}" if where else message,
            path=self._path,
            line=next((line for line in lines if line is not None), None),
        )


def read_fleet(path: Path) -> Fleet:
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
    """Read the text of a file of tenants, from whose place relative paths begin. It raises what `read_fleet` raises."""
    file = _TomlFile(path, text)
    for kind in ("replicas", "tenants"):
        tables = file.values.get(kind)
        for name, table in tables.items() if isinstance(tables, dict) else ():
            if isinstance(table, dict):
                if "name" in table:
                    raise file.fail("not known here; the table's own name is it", kind, name, "name")
                table["name"] = name
    try:
        read = TABLES.validate_python(file.values, context={"folder": path.absolute().parent})
    except ValueError as error:  # pydantic's
        raise _in_our_words(file, error) from error
    _check_settings(file, read.front)
    fleet = Fleet(read.front, tuple(read.replicas.values()), tuple(read.tenants.values()))
    if not fleet.replicas:
        raise file.fail('no replica; add [replicas.one] with grpc = "host:port"')
    _check_unique(file, fleet.replicas, fleet.tenants)
    return fleet


def add_keys(path: Path, keys: dict[str, ApiKey]) -> None:
    """Add a key to each of some tenants, which are added where the file hasn't got them. A missing file is written.

    Everything that the file holds stays as it is, and the new lines follow at its end."""
    text = path.read_text(encoding="utf-8") if path.exists() else STARTER
    known = {tenant.name for tenant in parse_fleet(path, text).tenants}
    for name, key in keys.items():
        try:
            NAME.validate_python(name)
        except ValueError as error:
            raise TenantsFileError(f"tenant {name!r}: {_said(_first(error))}", path=path) from error
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


def _first(error: Any) -> Any:
    return error.errors()[0]


def _in_our_words(file: _TomlFile, error: ValueError) -> TenantsFileError:
    first = _first(error)
    *table, name = first["loc"]
    if first["type"] == "missing":
        return file.fail(_MISSING[str(name)], *table)
    if name == "[key]":
        return file.fail(_said(first), *table)
    if first["type"] == "unexpected_keyword_argument":
        known = _known(tuple(table))
        near = difflib.get_close_matches(str(name), known, 1)
        meant = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(known))}"
        return file.fail(f"not known here; {meant}", *table, name)
    return file.fail(_said(first), *table, name)


def _said(error: Any) -> str:
    own = error["type"] == "value_error"
    return str(error["ctx"]["error"]) if own else _WRONG.get(error["type"], error["msg"])


def _known(table: _KeyPath) -> list[str]:
    if table[2:3] == ("keys",):
        return ["expires", "hash"]
    kinds: dict[str, Any] = {"front": FrontSettings, "replicas": Replica, "tenants": Tenant}
    kind = TenantLimits if table[2:] else kinds[str(table[0])] if table else Tables
    return [each.name for each in dataclasses.fields(kind) if each.name != "name"]


def _check_settings(file: _TomlFile, settings: FrontSettings) -> None:
    if settings.certificate is None and not _LOOPBACK.fullmatch(settings.listen):
        raise file.fail(
            "keys and code would travel unencrypted; give a certificate, or listen on 127.0.0.1",
            "front",
            "listen",
        )
    if settings.certificate is None and settings.client_ca is not None:
        raise file.fail("needs a certificate of the server, too", "front", "client_ca")
    if settings.replica_certificate is not None and settings.replica_ca is None:
        raise file.fail("needs replica_ca, too", "front", "replica_certificate")


def _check_unique(file: _TomlFile, replicas: tuple[Replica, ...], tenants: tuple[Tenant, ...]) -> None:
    """Refuse an address, key or certificate that stands twice: it would mean either of two."""
    seen: dict[str, str] = {}
    for replica in replicas:
        if (other := seen.setdefault(replica.grpc, replica.name)) != replica.name:
            raise file.fail(f"replica {other} has the same address", "replicas", replica.name, "grpc")
    for tenant in tenants:
        for index, key in enumerate(tenant.keys):
            place = f"{tenant.name} {index}"
            if (other := seen.setdefault(key.sha256, place)) != place:
                why = f"tenant {other.split()[0]} has the same key"
                raise file.fail(why, "tenants", tenant.name, "keys", index, "hash")
        for name in tenant.certificates:
            if (other := seen.setdefault(f"cn {name}", tenant.name)) != tenant.name:
                why = f"tenant {other} has the same certificate {name!r}"
                raise file.fail(why, "tenants", tenant.name, "certificates")


_HEADER = re.compile(r"\s*(?P<array>\[?)\[(?P<key>[^\[\]]+)\]")
_PAIR = re.compile(r"\s*(?P<key>[\w.\s\"'-]+?)\s*=")


def _key_lines(text: str) -> dict[_KeyPath, int]:
    """The line of each table header and key of valid TOML, counted from 1; `tomllib` tells no lines."""
    lines: dict[_KeyPath, int] = {}
    counts: dict[_KeyPath, int] = {}
    table: _KeyPath = ()
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            table = tuple(_names(header["key"]))
            lines.setdefault(table, number)
            if header["array"]:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
                lines[table] = number
        elif pair := _PAIR.match(line):
            lines.setdefault((*table, *_names(pair["key"])), number)
    return lines


def _names(key: str) -> list[str]:
    toml, names = toml_parser(), list[str]()
    with contextlib.suppress(toml.TOMLDecodeError):
        value = toml.loads(f"{key} = 0")
        while isinstance(value, dict):
            ((name, value),) = value.items()
            names.append(name)
    return names
