"""A fleet as HAProxy's configuration: one file, and the maps that it looks tenants up in."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from lamr_base import admission
from lamr_base.errors import how_to_install
from lamr_base.private_files import private_file, write_whole
from lamr_model.names import FINGERPRINT_PARAMETER

from lamr_serving.errors import FrontError
from lamr_serving.front import health_check
from lamr_serving.front.fleet import Fleet, FrontSettings, hash_of

CONFIG = "haproxy.cfg"
GRPC_REQUEST = "grpc_request.lua"
TEMPLATES = Path(__file__).parent / "templates"
SERVICE = "/inference.GRPCInferenceService/"
INFER = f"{SERVICE}ModelInfer"
ABOUT_SERVER = ("ServerLive", "ServerReady", "ServerMetadata")
ABOUT_MODEL = ("ModelReady", "ModelMetadata", "ModelConfig")
_STEP = 16 << 10  # of which the size of a buffer is a multiple
HEADERS_BYTES = 4096
"""Room that a buffer needs beside the body: the head of the request, and HAProxy's own reserve."""

# Parameters of an inference that clients may send. Others name shared memory, sequences of other callers, or a place in
# the queue before them.
CLIENT_PARAMETERS = (FINGERPRINT_PARAMETER, "timeout")

_TRACE_HEADERS = (admission.TRACE_METADATA, admission.TRACE_STATE_METADATA)
PASSED_HEADERS = ("content-length", "user-agent", admission.FINGERPRINT_METADATA, *_TRACE_HEADERS)
MOST_HEADERS = 2048  # bytes of those that pass; a gRPC server breaks a call off that has 8 KiB

SILENT_SECONDS = 5  # until a client has said all that it has to say, and until it has taken some of an answer
IDLE_SECONDS = 600  # limit for a tenant's connection without a call
INNER = 1000  # connections between the two tiers, beside one for each request that windows let through
OPERATORS = 100  # connections to the address of operations
SPARE_SHARE, LEAST_SPARE = 4, 64
"""Places beside `max_connections`, for those who come while idle ones give way."""
REFUSALS, REFUSALS_SECONDS = 20, 10  # from one address, until it gets no more answers

# HTTP's status, gRPC's, and what a client reads. HAProxy makes these answers itself.
HTTP_ERRORS = (
    (400, 13, "bad request"),
    (408, 4, "the request was not received in time"),
    (500, 13, "the front failed; its log says more"),
    (502, 14, "the replica went away"),
    (503, 14, "the wait in the queue reached its limit"),
    (504, 4, "the replica did not answer in time"),
)
REPLICA_HEADER = "lamr-replica"  # from one tier to the other; clients don't get it
NO_REPLICA = "no replica is ready"
NO_VERSION = "no replica of this version of the model is ready"

# Nothing here is a client's text but path and trace; the path is escaped, and the trace has the form of one.
LOG_FIELDS = {
    "time": '"%[date,utime(%Y-%m-%dT%H:%M:%SZ)]"',
    "tenant": '"%[var(txn.tenant)]"',
    "path": '"%[var(txn.path),json(utf8ps)]"',
    "replica": '"%[var(txn.replica)]"',
    "http": "%ST",
    "grpc": '"%[var(txn.grpc)]"',
    "why": '"%[var(txn.why)]"',
    "termination": '"%ts"',
    "bytes_in": "%U",
    "bytes_out": "%B",
    "queue_ms": "%Tw",
    "answer_ms": "%Tr",
    "total_ms": "%Ta",
    "queued_before": "%bq",
    "trace": '"%[var(txn.trace)]"',
}


@dataclass(frozen=True)
class FrontPaths:
    """Paths of a front's files."""

    folder: Path  # holds the configuration and its maps
    sockets: Path  # holds what HAProxy makes when it runs; short, since a socket's path has at most 107 bytes

    @property
    def admin_socket(self) -> Path:
        return self.sockets / "admin.sock"

    @property
    def master_socket(self) -> Path:
        return self.sockets / "master.sock"

    @property
    def pool_socket(self) -> Path:
        return self.sockets / "pool.sock"

    @property
    def peer_socket(self) -> Path:
        return self.sockets / "peer.sock"

    @property
    def state_file(self) -> Path:
        return self.sockets / "state"


def render(fleet: Fleet, places: FrontPaths, source: str) -> dict[str, str]:
    """Return HAProxy's files by name. It is started with `CONFIG`, which names the others by their full paths."""
    try:
        import jinja2  # noqa: PLC0415
    except ImportError as error:
        raise FrontError(f"{error.name} isn't installed: {how_to_install('front')}") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # not HTML; `tenants_file` lets no character through that HAProxy would read
    )
    environment.filters |= {"quoted": _quoted, "unix": lambda path: f"unix@{_quoted(path)}"}
    files = _maps(fleet) | {GRPC_REQUEST: (TEMPLATES / GRPC_REQUEST).read_text(encoding="utf-8")}
    settings, windows = fleet.settings, fleet.windows()
    text = environment.get_template(f"{CONFIG}.jinja").render(
        {name: value for name, value in globals().items() if name.isupper()},
        admission=admission,
        source=re.sub(r"[^\x20-\x7e]", "?", source),
        s=settings,
        fleet=fleet,
        places=places,
        windows=windows,
        files={name: places.folder / name for name in files},
        most_clients=settings.max_connections + max(LEAST_SPARE, settings.max_connections // SPARE_SHARE),
        most_inner=INNER + sum(windows.values()),
        peer_address=f"unix@{_quoted(places.peer_socket)}",
        bufsize=-(-(settings.max_request_bytes + HEADERS_BYTES) // _STEP) * _STEP,
        bind_tls=_bind_tls(settings),
        server_tls=_server_tls(settings),
        http_errors=[{"http": http, "grpc": grpc, "message": message} for http, grpc, message in HTTP_ERRORS],
        gRPC_answers=_ANSWERS,
        refuse=_refuse,
        come_back=lambda seconds: admission.COME_BACK.format(seconds=seconds),
        log_format="{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in LOG_FIELDS.items()) + "}",
        health=health_check,
        ready_request=health_check.request(f"{SERVICE}ModelReady"),
    )
    return {CONFIG: text, **files}


def write(files: dict[str, str], places: FrontPaths) -> list[Path]:
    """Write HAProxy's files, for their owner alone, into folders that are made likewise if they aren't there."""
    for folder in (places.folder, places.sockets):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in files.items():
        private_file(places.folder / name, make=False)
        write_whole(places.folder / name, text)
    places.state_file.touch(mode=0o600)
    return [places.folder / name for name in files]


def _maps(fleet: Fleet) -> dict[str, str]:
    keys = [(key, tenant.name) for tenant in fleet.tenants for key in tenant.keys]
    tables = {
        "keys": [(key.sha256, name) for key, name in keys],
        "expiries": [(key.sha256, str(int(key.expires.timestamp()))) for key, _ in keys if key.expires],
        # A map's keys have no spaces, names may.
        "certificates": [(hash_of(name), each.name) for each in fleet.tenants for name in each.certificates],
    }
    lists = {
        "look": [f"{SERVICE}{call}" for call in (*ABOUT_SERVER, *ABOUT_MODEL)],
        "names_model": [f"{SERVICE}{call}" for call in ABOUT_MODEL],
    }
    maps = {name: "".join(f"{key} {value}\n" for key, value in rows) for name, rows in tables.items()} | {
        name: "".join(f"{row}\n" for row in rows) for name, rows in lists.items()
    }
    return {f"{name}.map": content for name, content in maps.items()}


def _refuse(status: int, message: str) -> str:
    """The beginning of a rule that answers with a gRPC status. Denials are counted in HAProxy's metrics."""
    return f'http-request deny status 200 hdr grpc-status {status} hdr grpc-message "{message}"'


_ANSWERS = "\n".join(
    (
        "http-after-response set-var(txn.grpc) res.hdr(grpc-status)",
        f'http-after-response set-header grpc-message "{NO_REPLICA}" if {{ status 503 }} {{ nbsrv(replicas) eq 0 }}',
        "http-after-response set-header content-type application/grpc if { res.hdr(grpc-status) -m found }",
        "http-after-response set-status 200 if { res.hdr(grpc-status) -m found }",
    )
)
"""The rules that make HAProxy's own answers gRPC's: status 200, and a content type even without a body."""


def _bind_tls(settings: FrontSettings) -> str:
    if settings.certificate is None:
        return ""
    parts = ["ssl crt", _quoted(settings.certificate), "alpn h2,http/1.1"]
    if settings.client_ca is not None:
        parts += [
            "ca-file",
            _quoted(settings.client_ca),
            "verify optional crt-ignore-err all ca-ignore-err all",
        ]
    return " ".join(parts)


def _server_tls(settings: FrontSettings) -> str:
    if settings.replica_ca is None:
        return ""
    parts = ["ssl alpn h2 check-ssl check-alpn h2 verify required ca-file", _quoted(settings.replica_ca)]
    if settings.replica_certificate is not None:
        parts += ["crt", _quoted(settings.replica_certificate)]
    return " ".join(parts)


def _quoted(value: object) -> str:
    """A word of HAProxy's configuration, whatever characters it has."""
    text = str(value)
    if re.fullmatch(r"[\w./@:+-]+", text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"
