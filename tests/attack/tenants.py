"""A front that tenants share: what one may not use can't be reached, and nobody is in another's way.

Replicas are small servers that speak Triton's protocol, so that what reaches one is known. The victim is a tenant with
an open connection, and comes anew from another address than the attacker's, too."""

import contextlib
import itertools
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from lamr_model.spec import bundled_repository, load_spec
from lamr_serving.front import control
from lamr_serving.front.rendering import REFUSALS

from tests.attack.case import Case
from tests.attack.front_attacks import CALL, CROWDS, FLOODS
from tests.attack.front_callers import READY, Caller
from tests.attack.odd_lines import odd_lines
from tests.attack.odd_requests import NAME, frame
from tests.attack.place import LAMR, Place
from tests.serving.front.conftest import Replica, Site, inference, stub_of

HERE = "127.0.0.1"
_STATUS = re.compile(r"(?:(?<=HTTP/1\.[01] )|(?<=grpc-status: ))\d+")
Head = Callable[[Caller], list[tuple[str, str]]]  # the headers of a call
SETTINGS = "max_connections = 120\naddress_connections = 80\nquota_seconds = 2"
_site: list[Site] = []
_addresses = itertools.cycle(range(2, 250))  # an address that is refused often isn't answered any more


@contextlib.contextmanager
def setting() -> Iterator[None]:
    """A front with two tenants before one replica."""
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        root = stack.enter_context(tempfile.TemporaryDirectory(prefix="lamr-"))
        patch.setenv("LAMR_FRONT_DIR", f"{root}/run")
        site = Site(Path(root), stack)
        site.replicas.append(stack.enter_context(Replica(load_spec(bundled_repository()))))
        site.write(
            {"victim": "", "attacker": "limits = { concurrent = 8, requests = 100, bytes = 500_000 }"},
            SETTINGS,
        )
        site.start()
        _site.append(site)
        try:
            yield
        finally:
            _site.clear()


def attacker(key: str | None = None) -> Caller:
    """The tenant that attacks, from an address of its own, or a stranger with another key."""
    (site,) = _site
    address = f"127.0.1.{next(_addresses)}"
    return Caller((HERE, site.port), site.keys["attacker"] if key is None else key, address)


def _asked(*heads: Head, body: bytes = CALL) -> Callable[[Place], str]:
    """Call with each of these heads; the statuses of gRPC or HTTP, or how it ended."""

    def attempt(_: Place) -> str:
        found = Counter[str]()
        for head in heads:
            said = attacker().ask("", body, head=head(attacker()))
            found[said.get("grpc-status") or said.get(":status") or said["ended"].rstrip(" 0123456789")] += 1
        return str(dict(sorted(found.items())))

    return attempt


def _headers(*more: tuple[str, str], path: str = READY) -> Head:
    return lambda caller: caller.headers(path, *more)


def _lines(_: Place) -> str:
    """Each odd request in HTTP/1.1, on a connection of its own that is left to the front."""
    wrong = {}
    for name, (sent, expected) in odd_lines(attacker()).items():
        with attacker().connect(sent) as connection:
            connection.settimeout(1.0)
            answer = b""
            with contextlib.suppress(OSError):
                while data := connection.recv(1 << 16):
                    answer += data
        found = " ".join(_STATUS.findall(answer.decode("latin-1")))
        if found != expected:
            wrong[name] = found
    return f"{len(wrong)} wrong {wrong or ''}"


def _keys(*keys: tuple[str, str]) -> Head:
    return lambda caller: [
        *replace(caller, key="").headers(),
        *(("authorization", scheme + key.replace("KEY", caller.key)) for scheme, key in keys),
    ]


def _meanwhile(attack: Callable[[Caller], str]) -> Callable[[Place], str]:
    """Attack once, with a victim that calls all the while, and comes anew."""

    def attempt(_: Place) -> str:
        site = _site[0]
        done, ended = threading.Event(), Counter[str]()
        slow: list[float] = []

        def calls(anew: bool) -> None:
            stub = stub_of(_channel(site))
            while not done.is_set():
                if anew:
                    stub = stub_of(_channel(site))
                begun = time.monotonic()
                try:
                    stub.ModelInfer(inference(), metadata=site.metadata("victim"), timeout=10)
                    ended["answered"] += 1
                except grpc.RpcError as error:
                    ended[f"LOST {error.code().name} {error.details()}"] += 1
                slow.append(time.monotonic() - begun)
                time.sleep(0.02)

        callers = [threading.Thread(target=calls, args=(anew,)) for anew in (False, True)]
        for each in callers:
            each.start()
        try:
            said = attack(attacker())
        finally:
            time.sleep(0.2)
            done.set()
            for each in callers:
                each.join()
        states = {each.state for each in control.read_status(site.file).replicas}
        lost = sum(ended.values()) - ended.pop("answered", 0)
        return f"{lost} lost {dict(ended) or ''}, {'slow' if max(slow) > 5 else 'quick'}, replica {states}; {said}"

    return attempt


def _channel(site: Site) -> grpc.Channel:
    return grpc.insecure_channel(f"{HERE}:{site.port}", options=[("grpc.use_local_subchannel_pool", 1)])


def _modes(place: Place) -> str:
    """What `lamr front key` and `lamr front render` write, with an umask that lets everybody read."""
    file, folder = place.folder / "tenants.toml", place.folder / "rendered"
    for words in (("key", "alice", "-t", file), ("render", "-o", folder, "-t", file)):
        place.run("sh", "-c", 'umask 0; exec "$@"', "sh", LAMR, "front", *words)
    written = [file, *folder.iterdir()]
    modes = {oct(each.stat().st_mode & 0o777) for each in written}
    return f"{len(written) > 5} {modes} {oct(folder.stat().st_mode & 0o777)}"


SERVICE = READY.removesuffix("ModelReady")
PATHS = (
    *("RepositoryIndex", "/RepositoryIndex", "repositoryindex", "%52epositoryIndex", "ModelReady/../RepositoryIndex"),
    *("ModelReady?x=1", "ModelReady?", "ModelReady/", "modelready", "ModelReady%00", "ModelReady;x", "..%2fModelReady"),
    *("ModelStreamInfer", "ModelStatistics", "TraceSetting", "LogSettings", "RepositoryModelLoad"),
    *("RepositoryModelUnload", "SystemSharedMemoryRegister", "SystemSharedMemoryStatus"),
    *("SystemSharedMemoryUnregister", "CudaSharedMemoryRegister"),
)  # fmt: skip
SERVICES = (
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/grpc.health.v1.Health/Check",
    "//x",
    "/",
)
ENCODINGS = (
    [("grpc-encoding", "gzip")],
    [("grpc-encoding", "foo")],
    [("grpc-encoding", "")],
    [("grpc-encoding", "GZIP")],
    [("grpc-encoding", "identity"), ("grpc-encoding", "gzip")],
    [("content-encoding", "gzip")],
)
# The words before a key, and the key; KEY is the right one.
ODD_KEYS = (
    ("Bearer ", "wrong"),
    ("Bearer ", ""),
    ("Bearer ", "KEY wrong"),
    ("Bearer ", "KEY, Bearer wrong"),
    ("Bearer Bearer ", "KEY"),
    ("Basic ", "KEY"),
    ("Bearer  ", "KEY"),
    ("Bearer ", "KEY\xff"),
    ("Bearer ", "x" * 20_000),
    ("Bearer ", "sha256:" + "0" * 64),
)
TWO_KEYS = (("KEY", "wrong"), ("wrong", "KEY"), ("KEY", "KEY"))
BREAKING = (
    ("x y", "a"),
    ("transfer-encoding", "chunked"),
    ("connection", "close"),
    ("content-length", "2"),
    ("content-length", "2000"),
    ("x", "a\r\nb: c"),
    ("X", "a"),
    (":path", "/x"),
)
CHOKING = (
    ("grpc-timeout", "garbage"),
    ("grpc-timeout", "1n"),
    ("x-bin", "!!!!"),
    ("x", "y" * 12_000),
    ("grpc-tags-bin", "AA"),
)
KINDS = ("text/plain", "application/grpcx", "application/json", "")
LOST_NONE = r"0 lost , quick, replica \{'up'\}; .*"
# In HTTP/1.1 each is closed; in HTTP/2 those that are told why stay until they have idled, and so many are told.
GONE = rf"{LOST_NONE[:-2]}(0|{REFUSALS}) of \d+ stay.*"


def _of_kind(kind: str) -> Head:
    return lambda caller: [
        (name, kind if name == "content-type" else value) for name, value in caller.headers()
    ]


def _case(kind: str, name: str, attempt: Callable[[Place], str], holds: str) -> Case:
    return Case(kind, name, attempt, holds, seconds=20)


CASES: tuple[Case, ...] = (
    _case(
        "models",
        f"{len(PATHS)} paths that aren't a client's",
        _asked(*(_headers(path=SERVICE + path) for path in PATHS)),
        rf"\{{'7': {len(PATHS)}\}}",
    ),
    _case("models", "other services", _asked(*(_headers(path=path) for path in SERVICES)), r"\{'7': 4\}"),
    _case(
        "compression",
        "gzip, deflate and what is said of them",
        _asked(*(_headers(*more) for more in ENCODINGS)),
        rf"\{{'12': {len(ENCODINGS)}\}}",
    ),
    _case(
        "compression",
        "the flag alone",
        _asked(_headers(), _headers(("grpc-encoding", "identity")), body=frame(NAME, 1)),
        r"\{'12': 2\}",
    ),
    _case(
        "keys",
        f"{len(ODD_KEYS)} keys in odd forms",
        _asked(*(_keys(each) for each in ODD_KEYS)),
        rf"\{{'16': {len(ODD_KEYS)}\}}",
    ),
    _case(
        "keys",
        "two keys, one of them right",
        _asked(*(_keys(*(("Bearer ", key) for key in pair)) for pair in TWO_KEYS)),
        r"\{'16': 3\}",
    ),
    Case("keys", "what `lamr front key` and `render` write", _modes, r"True \{'0o600'\} 0o700", quick=True),
    _case(
        "headers",
        "headers that break HTTP/2",
        _asked(*(_headers(each) for each in BREAKING)),
        r"\{'connection ended': 1, 'stream reset': 7\}",
    ),
    _case(
        "headers",
        "headers that a gRPC server chokes on",
        _asked(*(_headers(each) for each in CHOKING)),
        rf"\{{'0': {len(CHOKING)}\}}",
    ),
    _case(
        "headers",
        "two content types, and others",
        _asked(_headers(("content-type", "text/plain")), *(_of_kind(kind) for kind in KINDS)),
        rf"\{{'415': {len(KINDS) + 1}\}}",
    ),
    _case("headers", "odd requests in HTTP/1.1", _lines, "0 wrong "),
    *(
        _case("connections", name, _meanwhile(attack), GONE if name.startswith("refused") else LOST_NONE)
        for name, attack in CROWDS.items()
    ),
    *(_case("floods", name, _meanwhile(attack), LOST_NONE) for name, attack in FLOODS.items()),
)
