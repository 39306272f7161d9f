"""A fleet in data: where the front listens, the replicas behind it, and the tenants with what they may.

`tenants_file` reads a fleet, `rendering` writes HAProxy's configuration for it.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from lamr_contract.names import ENSEMBLE, LINE_MODEL


@dataclass(frozen=True)
class Settings:
    """The front itself.

    Attributes:
        listen: `host:port` for clients.
        operations: `host:port` of `/metrics`, `/ready` and `/live`, for the people who run it.
        certificate: a PEM file of the server's certificate chain and private key; None listens without TLS.
        client_ca: a PEM file; a client with a certificate signed by it is the tenant that lists the certificate's name.
        replica_ca: a PEM file; the front speaks TLS to the replicas and wants certificates signed by it.
        replica_certificate: a PEM file of the certificate chain and key that the front shows to the replicas.
        max_request_bytes: the largest request that passes. HAProxy holds each request in a buffer of about this size,
            so that it can be sent again when a replica dies.
        max_connections: of clients. When so many are there, those that idle are closed.
        address_connections: of one address (an IPv6 network of 64 bits), when more than half of `max_connections` are
            there; None is a quarter of them, and at least 64.
        quota_seconds: the period that requests and bytes are counted over. It starts at multiples of itself.
        queue_seconds: how long a request may wait for its turn.
        answer_seconds: how long a replica may take to answer.
        busy_tenants: how many tenants of mean weight the pool has room for at once when windows are derived.
        follow_dns: whether replicas' names are looked up again while the front runs, by the name servers of
            `/etc/resolv.conf`. A name that has no address yet is a replica that isn't there.
    """

    listen: str = "127.0.0.1:8443"
    operations: str = "127.0.0.1:8405"
    certificate: Path | None = None
    client_ca: Path | None = None
    replica_ca: Path | None = None
    replica_certificate: Path | None = None
    max_request_bytes: int = 60_000
    max_connections: int = 4096
    address_connections: int | None = None
    quota_seconds: int = 10
    queue_seconds: int = 15
    answer_seconds: int = 65
    busy_tenants: int = 4
    follow_dns: bool = False


@dataclass(frozen=True)
class Replica:
    """A Triton server.

    Attributes:
        name: in messages, logs and `lamr front drain`.
        grpc: `host:port` of its gRPC port.
        capacity: requests that the front has under way there at once; below the server's own queue limit.
        fingerprint: of the model that it serves. Calls that name a fingerprint go to the replicas that have it; None is
            a replica that such calls go to only where no replica has it.
    """

    name: str
    grpc: str
    capacity: int = 6
    fingerprint: str | None = None


@dataclass(frozen=True)
class ApiKey:
    """What is stored of an API key.

    Attributes:
        sha256: of the key, 64 hexadecimal digits. Keys are random, so a plain hash tells nothing about them.
        expires: when the key stops opening anything; None never.
    """

    sha256: str
    expires: datetime | None = None


@dataclass(frozen=True)
class Limits:
    """What a tenant may use; None is no limit.

    Attributes:
        concurrent: requests under way or waiting at once.
        requests, bytes: in each period of `Settings.quota_seconds`. What was refused isn't counted.
    """

    concurrent: int = 64
    requests: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Tenant:
    """Somebody who may ask.

    Attributes:
        name: in logs and metrics.
        weight: the share that the tenant gets of a busy pool, relative to the others'.
        window: requests in the pool at once; None derives it from the weight. The rest waits in the tenant's own queue.
        models: what it may ask for.
        keys: any of them is the tenant.
        certificates: common names of client certificates that are the tenant.
        limits: what it may use.
    """

    name: str
    weight: float = 1.0
    window: int | None = None
    models: tuple[str, ...] = (ENSEMBLE, LINE_MODEL)
    keys: tuple[ApiKey, ...] = ()
    certificates: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Fleet:
    """Everything that a front is rendered from."""

    settings: Settings
    replicas: tuple[Replica, ...]
    tenants: tuple[Tenant, ...]

    @property
    def capacity(self) -> int:
        """Requests that all replicas together take at once."""
        return sum(replica.capacity for replica in self.replicas)

    @property
    def versions(self) -> dict[str, tuple[Replica, ...]]:
        """The replicas of each fingerprint."""
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
        the weights, and a large fleet waits in the pool a little longer than a small one.
        """
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
