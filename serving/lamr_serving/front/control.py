"""Changing and watching a front that runs: reload, drain, status.

The module knows what must happen in which order, so that nothing is lost and a revoked key opens nothing any more.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lamr_base.private_files import write_whole

from lamr_serving.front import haproxy
from lamr_serving.front.errors import FrontError, FrontStartError
from lamr_serving.front.fleet import Fleet
from lamr_serving.front.rendering import CONFIG, FrontPaths, render, write
from lamr_serving.front.run_folder import RunFolder
from lamr_serving.front.tenants_file import read_fleet

API = "api"  # where clients come in
POOL = "replicas"
VERSION_PREFIX = f"{POOL}-"  # of the pools of one version of the model
TENANT_PREFIX = "tenant-"
POLL_SECONDS = 0.1
CROWDED = 0.8  # of the connections that clients may have: `max_connections` and the spare ones


@dataclass(frozen=True)
class ReplicaStatus:
    """A replica as the front sees it.

    Attributes:
        state: `up`, `down`, `drained` or HAProxy's own word.
        why: what the last check found.
        under_way: requests there now.
        answered: requests that were sent there since the front was started or reloaded.
    """

    name: str
    address: str
    state: str
    why: str
    under_way: int
    capacity: int
    answered: int


@dataclass(frozen=True)
class TenantStatus:
    """A tenant at a running front.

    Attributes:
        window: requests that it may have in the pool at once.
        in_pool, queued: requests there now, and in the tenant's own queue.
        requests, refused: since the front was started or reloaded; `requests` holds both.
        queue_ms: mean wait of the last requests.
    """

    name: str
    window: int
    in_pool: int
    queued: int
    requests: int
    refused: int
    queue_ms: int


@dataclass(frozen=True)
class FrontStatus:
    """A running front.

    Attributes:
        waiting: requests in the pool that wait for a replica.
        refused_strangers: refusals of requests that no known tenant made, or that no client may make.
    """

    replicas: tuple[ReplicaStatus, ...]
    tenants: tuple[TenantStatus, ...]
    waiting: int
    refused_strangers: int


def prepare(tenants: Path, folder: RunFolder) -> tuple[Fleet, Path]:
    """Read the file, render it into a new generation and let HAProxy check it. It isn't put in force.

    Returns:
        the fleet, and the generation's folder.

    Raises:
        TenantsFileError, FrontStartError: what is wrong.
    """
    fleet = read_fleet(tenants)
    folder.make()
    places = folder.places(folder.next_generation())
    try:
        write(render(fleet, places, str(tenants)), places)
        haproxy.check_config(haproxy.find_haproxy(), places.folder / CONFIG)
    except BaseException:
        folder.forget(places.folder)
        raise
    return fleet, places.folder


def reload(tenants: Path) -> Fleet:
    """Put a changed file of tenants into force in the front that runs.

    Keys that the file has no more are revoked first, in the process that serves now, so that connections which outlive
    the reload can't use them. Requests under way are answered by the old process, new ones by the new.

    Raises:
        TenantsFileError: the file can't be used; nothing was changed.
        FrontStartError: HAProxy can't start with it; the front goes on as it was, but for revoked keys.
        FrontNotRunningError: no front of this file runs.
    """
    folder = RunFolder(tenants)
    haproxy.ask(folder.current.admin_socket, "show info")
    with folder.held("reload"):
        fleet, new = prepare(tenants, folder)
        before = folder.current
        _revoke(before, new)
        save_state(before)
        folder.put_in_force(new)
        answer = haproxy.ask(before.master_socket, "reload")
        if "Success=1" not in answer:
            folder.put_in_force(before.folder)
            folder.forget(new)
            raise FrontStartError(
                "HAProxy keeps its old configuration, because it can't start with the new one:\n"
                f"{haproxy.complaints(answer)}"
            )
        folder.sweep()
    return fleet


def make_room(tenants: Path) -> bool:
    """Close the connections of idle clients, if clients have nearly all that there are.

    HAProxy closes none for another's sake. But a new worker begins with none, and the old one, which answers what it
    has, closes those on which nothing is asked.

    Returns:
        whether there was need.

    Raises:
        FrontError: it can't be done now, for instance since the front is being reloaded.
    """
    folder = RunFolder(tenants)
    places = folder.current
    api = haproxy.read_statistics(places.admin_socket, f"{API} 1 -1")[0]
    if _number(api["scur"]) < CROWDED * _number(api["slim"]):
        return False
    with folder.held("reload"):
        save_state(places)
        answer = haproxy.ask(places.master_socket, "reload")
    if "Success=1" not in answer:
        raise FrontStartError(
            f"HAProxy can't start again to close idle connections:\n{haproxy.complaints(answer)}"
        )
    return True


def drain(
    tenants: Path, replica: str, seconds: float, on_wait: Callable[[int], None] = lambda _: None
) -> None:
    """Send a replica no more requests, and wait until it has answered those that it has.

    Raises:
        FrontError: there is no such replica, or it didn't get empty in time; it stays drained then.
        FrontNotRunningError: no front of this file runs.
    """
    places = _set_state(tenants, replica, "drain")
    deadline = time.monotonic() + seconds
    while left := _find(places, replica).under_way:
        on_wait(left)
        if time.monotonic() > deadline:
            raise FrontError(
                f"{replica} still has {left} requests after {seconds:g} s; it gets no new ones. "
                f"Wait again with the same command, or give up with `lamr front drain {replica} --undo`"
            )
        time.sleep(POLL_SECONDS)


def undrain(tenants: Path, replica: str) -> None:
    """Send a drained replica requests again, once its checks find it ready. It raises what `drain` raises."""
    _set_state(tenants, replica, "ready")


def read_status(tenants: Path) -> FrontStatus:
    """What a running front does."""
    rows = haproxy.read_statistics(RunFolder(tenants).current.admin_socket)
    api = next(row for row in rows if (row["pxname"], row["svname"]) == (API, "FRONTEND"))
    tenant_rows: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        if row["pxname"].startswith(TENANT_PREFIX):
            tenant_rows.setdefault(row["pxname"].removeprefix(TENANT_PREFIX), {})[row["svname"]] = row
    tenants_seen = tuple(_tenant(name, row["BACKEND"], row["pool"]) for name, row in tenant_rows.items())
    return FrontStatus(
        replicas=_replicas(rows),
        tenants=tenants_seen,
        waiting=sum(_number(row["qcur"]) for row in rows if _is_pool(row) and row["svname"] == "BACKEND"),
        refused_strangers=_number(api["dreq"]) - sum(tenant.refused for tenant in tenants_seen),
    )


def save_state(places: FrontPaths) -> None:
    """Write down which replicas are drained or down, for the process that comes next."""
    write_whole(places.state_file, haproxy.ask(places.admin_socket, f"show servers state {POOL}"))


def _revoke(before: FrontPaths, new: Path) -> None:
    for name in ("keys.map", "certificates.map"):
        file = before.folder / name
        wanted = dict(line.rsplit(" ", 1) for line in (new / name).read_text(encoding="utf-8").splitlines())
        for entry in haproxy.read_map(before.admin_socket, file):
            if entry not in wanted:
                haproxy.order(before.admin_socket, f"del map {file} {entry}")


def _set_state(tenants: Path, replica: str, state: str) -> FrontPaths:
    places = RunFolder(tenants).current
    _find(places, replica)
    haproxy.order(places.admin_socket, f"set server {POOL}/{replica} state {state}")
    with contextlib.suppress(OSError):
        save_state(places)
    return places


def _find(places: FrontPaths, replica: str) -> ReplicaStatus:
    found = {each.name: each for each in _replicas(haproxy.read_statistics(places.admin_socket))}
    if replica not in found:
        raise FrontError(f"there is no replica {replica!r}; there are {', '.join(found)}")
    return found[replica]


def _is_pool(row: dict[str, str]) -> bool:
    return row["pxname"] == POOL or row["pxname"].startswith(VERSION_PREFIX)


def _replicas(rows: list[dict[str, str]]) -> tuple[ReplicaStatus, ...]:
    """Each replica once, with what it does in all pools that it is in."""
    places: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if _is_pool(row) and row["svname"] != "BACKEND":
            places.setdefault(row["svname"], []).append(row)
    return tuple(_replica(each) for each in places.values())


def _replica(rows: list[dict[str, str]]) -> ReplicaStatus:
    row = next(each for each in rows if each["pxname"] == POOL)
    state = row["status"].lower()
    return ReplicaStatus(
        name=row["svname"],
        address=row["addr"],
        state={"drain": "drained"}.get(state, state),
        why=row["last_chk"],
        under_way=sum(_number(each["scur"]) for each in rows),
        capacity=_number(row["slim"]),
        answered=sum(_number(each["stot"]) for each in rows),
    )


def _tenant(name: str, backend: dict[str, str], pool: dict[str, str]) -> TenantStatus:
    return TenantStatus(
        name=name,
        window=_number(pool["slim"]),
        in_pool=_number(pool["scur"]),
        queued=_number(backend["qcur"]) + _number(pool["qcur"]),
        requests=_number(backend["stot"]),
        refused=_number(backend["dreq"]),
        queue_ms=_number(backend["qtime"]),
    )


def _number(text: str) -> int:
    return int(text) if text else 0
