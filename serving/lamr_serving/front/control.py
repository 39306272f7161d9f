"""Changing and watching a front that runs: reload, drain, status.

The module knows what must happen in which order, so that nothing is lost and a revoked key opens nothing any
more."""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lamr_base.private_files import open_private, private_folder, take_lock, write_whole

from lamr_serving.errors import FrontError, FrontStartError
from lamr_serving.front import haproxy
from lamr_serving.front.fleet import Fleet
from lamr_serving.front.rendering import CONFIG, FrontPaths, render, write
from lamr_serving.front.tenants_file import read_fleet

API = "api"  # where clients come in
POOL = "replicas"
VERSION_PREFIX = f"{POOL}-"  # pools for one version of the model
TENANT_PREFIX = "tenant-"
POLL_SECONDS = 0.1
CROWDED = 0.8  # share of all connections: `max_connections` and the spare ones
CURRENT = "current"
KEPT = 2  # generations: the one in force, and the one before it, which an old worker may still name
FOLDER_VARIABLE = "LAMR_FRONT_DIR"
MOST_PATH_BYTES = 80
"""Of the folder. A Unix socket's path has at most 107 bytes, and HAProxy adds a number and an ending while it binds."""


@dataclass(frozen=True)
class ReplicaStatus:
    """A replica as the front sees it."""

    name: str
    address: str
    state: str  # `up`, `down`, `drained` or HAProxy's own word
    why: str  # what the last check found
    under_way: int  # requests there now
    capacity: int
    answered: int  # requests that were sent there since the front was started or reloaded


@dataclass(frozen=True)
class TenantStatus:
    """A tenant at a running front."""

    name: str
    window: int  # requests that it may have in the pool at once
    in_pool: int  # requests there now, and in the tenant's own queue
    queued: int
    requests: int  # since the front was started or reloaded; `requests` holds both
    refused: int
    queue_ms: int  # mean wait of the last requests


@dataclass(frozen=True)
class FrontStatus:
    """A running front."""

    replicas: tuple[ReplicaStatus, ...]
    tenants: tuple[TenantStatus, ...]
    waiting: int  # requests in the pool that wait for a replica
    refused_strangers: int  # refusals of requests that no known tenant made, or that no client may make


class RunFolder:
    """The folder of a running front: generations of rendered files, and the sockets through which it is spoken to.

    <temporary folder>/lamr-front-<user>/<hash of the tenants file's path>/
        lock                       held while a front runs
        7/haproxy.cfg, 7/*.map     what was rendered, one folder for each reload
        current                    link to the one in force
        admin.sock, master.sock    HAProxy's own
        state                      which replicas are drained or down, for the next generation"""

    def __init__(self, tenants: Path) -> None:
        parent = os.environ.get(FOLDER_VARIABLE)
        root = Path(parent) if parent else Path(tempfile.gettempdir()) / f"lamr-front-{os.getuid()}"
        self.path = root / hashlib.sha256(str(tenants.resolve()).encode()).hexdigest()[:12]

    def make(self) -> None:
        if (length := len(os.fsencode(self.path))) > MOST_PATH_BYTES:
            raise FrontError(
                f"{self.path} has {length} bytes, and sockets in it need at most {MOST_PATH_BYTES}; set "
                f"{FOLDER_VARIABLE} to a folder with a shorter path"
            )
        try:
            if os.environ.get(FOLDER_VARIABLE):  # whoever named it says who may enter it
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            else:
                private_folder(self.path.parent)
            private_folder(self.path)
        except OSError as error:
            raise FrontError(
                f"{error.filename}: {error.strerror}; set {FOLDER_VARIABLE} to a folder of this user"
            ) from error

    @property
    def current(self) -> FrontPaths:
        folder = self.path / CURRENT
        return FrontPaths(folder.resolve() if folder.exists() else folder, self.path)

    @property
    def config(self) -> Path:
        return self.path / CURRENT / CONFIG

    def next_generation(self) -> FrontPaths:
        return FrontPaths(self.path / str(max(self._generations(), default=0) + 1), self.path)

    def _generations(self) -> list[int]:
        return sorted(int(each.name) for each in self.path.glob("[0-9]*") if each.name.isdigit())

    def put_in_force(self, folder: Path) -> None:
        link = self.path / f".{CURRENT}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)
        link.replace(self.path / CURRENT)

    def forget(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove all generations but the latest ones."""
        in_force = (self.path / CURRENT).resolve()
        for number in self._generations()[:-KEPT]:
            if (folder := self.path / str(number)) != in_force:
                self.forget(folder)

    @contextlib.contextmanager
    def held(self, name: str = "lock") -> Iterator[None]:
        descriptor = open_private(self.path / name)
        try:
            if not take_lock(descriptor):
                raise FrontStartError(
                    "a front of this file runs already, or is being reloaded; `lamr front status` shows it"
                )
            yield
        finally:
            os.close(descriptor)


def prepare(tenants: Path, folder: RunFolder) -> tuple[Fleet, Path]:
    """Read the file, render it into a new generation and let HAProxy check it. It isn't put in force."""
    fleet = read_fleet(tenants)
    folder.make()
    places = folder.next_generation()
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
    the reload can't use them. Requests under way are answered by the old process, new ones by the new."""
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
    has, closes those on which nothing is asked."""
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
    """Send a replica no more requests, and wait until it has answered those that it has."""
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
    _set_state(tenants, replica, "ready")


def read_status(tenants: Path) -> FrontStatus:
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
