"""A fleet in data: where the front listens, the replicas behind it, and the tenants with what they may.

`tenants_file` reads a fleet, by pydantic and the types here, `rendering` writes HAProxy's configuration for
it."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import date, datetime, time, timezone
from pathlib import Path
from typing import Annotated, Any

from lamr_base.errors import how_to_install
from lamr_model.names import ENSEMBLE

from lamr_serving.errors import FrontError

try:
    from pydantic import (
        AfterValidator,
        BeforeValidator,
        ConfigDict,
        Field,
        StrictBool,
        StrictFloat,
        StrictInt,
        StrictStr,
        TypeAdapter,
        ValidationInfo,
        with_config,
    )
except ImportError as error:
    raise FrontError(f"{error.name} isn't installed: {how_to_install('front')}") from error

HASH_SCHEME = "sha256:"
MOST = 1 << 31


def _between(least: float, most: float) -> AfterValidator:
    def check(value: float) -> float:
        if not least <= value <= most:
            raise ValueError(f"must be between {least:,} and {most:,}")
        return value

    return AfterValidator(check)


def _like(pattern: str, problem: str) -> AfterValidator:
    """A text that a pattern fits. In the problem, {} is the text."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(problem.format(value))
        return value

    return AfterValidator(check)


def _address(value: str) -> str:
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.*_-]+):(\d{1,5})", value)
    if match is None or not 0 < int(match[2]) < 1 << 16:
        raise ValueError(f'must be "host:port", not "{value}"')
    return value


def _file(value: Any, info: ValidationInfo) -> Path:
    """A file, which a relative path names from the folder in the validation's context."""
    if not isinstance(value, str):
        raise ValueError("must be text in quotes")
    assert info.context is not None
    path: Path = info.context["folder"] / value
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


def _time(value: Any) -> datetime:
    """A time, or a date's beginning; in UTC where it says nothing else."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        raise ValueError("must be a date (2027-01-31) or a time (2027-01-31T12:00:00Z)")
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


Name = Annotated[
    StrictStr,
    _like(
        "[a-z0-9][a-z0-9_-]{0,47}",
        "a name has up to 48 of a-z, 0-9, - and _, and begins with a letter or digit",
    ),
]
_Address = Annotated[StrictStr, AfterValidator(_address)]
_File = Annotated[Path, BeforeValidator(_file)]
_ModelName = Annotated[StrictStr, _like("[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", "{!r} is no model's name")]
_CommonName = Annotated[
    StrictStr,
    _like(r"[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,253}[^\s\x00-\x1f\x7f])?", "{!r} is no common name"),
]
_Fingerprint = Annotated[
    StrictStr,
    _like("[0-9a-f]{16}", "must be the 16 hexadecimal digits that `lamr status` shows for its server"),
]
_Digest = Annotated[
    StrictStr,
    _like(
        f"{HASH_SCHEME}[0-9a-f]{{64}}",
        f"must be {HASH_SCHEME} and 64 hexadecimal digits; a key itself never stands here",
    ),
    AfterValidator(lambda value: value.removeprefix(HASH_SCHEME)),
    Field(validation_alias="hash"),
]
_NOTHING_ELSE = ConfigDict(extra="forbid")


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class FrontSettings:
    """The front itself. Files are PEM."""

    listen: _Address = "127.0.0.1:8443"  # for clients
    operations: _Address = "127.0.0.1:8405"  # serves `/metrics`, `/ready` and `/live` to operators
    certificate: _File | None = None  # the server's certificate chain and private key; None for no TLS
    client_ca: _File | None = None
    """A client with a certificate signed by it is the tenant that lists the certificate's name."""
    replica_ca: _File | None = None  # the front speaks TLS to replicas and wants certificates signed by it
    replica_certificate: _File | None = None  # certificate chain and key that the front shows to replicas
    max_request_bytes: Annotated[StrictInt, _between(1_000, 16 << 20)] = 60_000
    """Of a request that passes. HAProxy holds each in a buffer of such a size, to send it again when a replica dies."""
    max_connections: Annotated[StrictInt, _between(10, 1_000_000)] = 4096
    """Of clients. When so many are there, those that idle are closed."""
    address_connections: Annotated[StrictInt, _between(1, 1_000_000)] | None = None
    """Of one address (an IPv6 network of 64 bits), when more than half of all are there; None for a quarter, or 64."""
    quota_seconds: Annotated[StrictInt, _between(1, 86_400)] = 10  # a period, which starts at multiples of it
    queue_seconds: Annotated[StrictInt, _between(1, 600)] = 15  # how long a request may wait for its turn
    answer_seconds: Annotated[StrictInt, _between(1, 3_600)] = 65  # how long a replica may take to answer
    busy_tenants: Annotated[StrictInt, _between(1, 10_000)] = 4  # tenants that the pool has room for at once
    follow_dns: StrictBool = False
    """Whether replicas' names are looked up again while the front runs. One without an address is a missing replica."""


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Replica:
    """A Triton server.

    Calls that name a fingerprint go to the replicas that have it; to those without one only where no replica has it."""

    name: str  # shown in messages and logs
    grpc: _Address  # its gRPC port's
    capacity: Annotated[StrictInt, _between(1, 10_000)] = 6  # requests there at once; below its queue's limit
    fingerprint: _Fingerprint | None = None  # its model's


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class ApiKey:
    """The stored part of an API key. Keys are random, so a plain hash tells nothing about them."""

    sha256: _Digest  # 64 hexadecimal digits
    expires: Annotated[datetime, BeforeValidator(_time)] | None = None  # None for never


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class TenantLimits:
    """Limits of a tenant; None is no limit. `requests` and `bytes` count in each period of `quota_seconds`."""

    concurrent: Annotated[StrictInt, _between(1, 100_000)] = 64  # requests under way or waiting at once
    requests: Annotated[StrictInt, _between(1, MOST)] | None = None  # without those that were refused
    bytes: Annotated[StrictInt, _between(1, MOST)] | None = None


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Tenant:
    """Somebody who may ask. What is more than the window waits in the tenant's own queue."""

    name: str  # shown in logs and metrics
    weight: Annotated[StrictFloat, _between(0.01, 100)] = 1.0  # its share of a busy pool, relative to others'
    window: Annotated[StrictInt, _between(1, 10_000)] | None = None  # None derives it from the weight
    models: tuple[_ModelName, ...] = (ENSEMBLE,)  # what it may ask for
    keys: tuple[ApiKey, ...] = ()  # any of them is the tenant
    certificates: tuple[_CommonName, ...] = ()  # common names of client certificates that are the tenant
    limits: TenantLimits = field(default_factory=TenantLimits)


@dataclass(frozen=True)
class Fleet:
    """Everything that a front is rendered from."""

    settings: FrontSettings
    replicas: tuple[Replica, ...]
    tenants: tuple[Tenant, ...]

    @property
    def capacity(self) -> int:
        return sum(replica.capacity for replica in self.replicas)

    @property
    def versions(self) -> dict[str, tuple[Replica, ...]]:
        found = dict.fromkeys(replica.fingerprint for replica in self.replicas if replica.fingerprint)
        return {
            fingerprint: tuple(each for each in self.replicas if each.fingerprint == fingerprint)
            for fingerprint in found
        }

    @property
    def address_connections(self) -> int:
        """Connections that one address may have when more than half of all are taken."""
        settings = self.settings
        return settings.address_connections or max(64, settings.max_connections // 4)

    def windows(self) -> dict[str, int]:
        """The window of each tenant, by name.

        As many tenants of mean weight as are expected to be busy at once fill the pool together. Windows are whole
        numbers, so they grow until the smallest is 1, and a little more where rounding is fairer then: shares follow
        the weights, and a large fleet waits in the pool a little longer than a small one."""
        weights = [tenant.weight for tenant in self.tenants if tenant.window is None]
        if not weights:
            return {tenant.name: tenant.window or 1 for tenant in self.tenants}
        busy = min(self.settings.busy_tenants, len(self.tenants))
        least = max(self.capacity * len(weights) / (busy * sum(weights)), 1 / min(weights))
        unit = min((least * (1 + step / 20) for step in range(11)), key=lambda one: _unfairness(weights, one))
        return {
            tenant.name: tenant.window or max(1, min(self.capacity, round(tenant.weight * unit)))
            for tenant in self.tenants
        }


@with_config(ConfigDict(extra="forbid", hide_input_in_errors=True))
@dataclass(frozen=True)
class Tables:
    """The file of tenants as it is written."""

    front: FrontSettings = field(default_factory=FrontSettings)
    replicas: dict[Name, Replica] = field(default_factory=dict)
    tenants: dict[Name, Tenant] = field(default_factory=dict)


NAME, TABLES = TypeAdapter(Name), TypeAdapter(Tables)
"""Checks of a name, and of the file."""


def _unfairness(weights: list[float], unit: float) -> float:
    """The largest relative error that rounding makes in a window; as good as none where it can't be seen."""
    return max(round(abs(round(weight * unit) / (weight * unit) - 1), 3) for weight in weights)


KEY_PREFIX = "lamr_"  # so that people, and scanners for leaked secrets, know what they have found
KEY_BYTES = 32


def make_key(expires: datetime | None = None) -> tuple[str, ApiKey]:
    """A new key, which is shown once, and what is stored of it."""
    key = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    return key, ApiKey(hash_of(key), expires)


def hash_of(key: str) -> str:
    """The SHA-256 of a key, or of a certificate's name, in hexadecimal digits, as HAProxy computes it."""
    return hashlib.sha256(key.encode()).hexdigest()
