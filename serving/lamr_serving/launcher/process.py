"""This process's end of one supervised server: the supervisor, the HTTP endpoint and the log."""

import contextlib
import dataclasses
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Literal

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher import supervisor, workspace
from lamr_serving.launcher.bundle import TritonBundle, check_stub
from lamr_serving.launcher.server_options import Addresses, ServerOptions
from lamr_serving.launcher.workspace import LISTENING, command, environment, package_folders

POLL_SECONDS = 0.05
LOST = 70  # EX_SOFTWARE; the supervisor was killed, so nobody saw the server's own status
MOST_LINES = 30
TAIL_BYTES = 1 << 18
_ENTRY = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\]]+\] ?")
_USAGE = re.compile(r"^.*tritonserver: .*option.*$", re.MULTILINE)
# Triton logs this on every machine without a GPU
_NOISE = (
    "CudaDriverHelper has not been initialized",
    "CUDA driver version is insufficient",
    "pinned system memory",
)
_CRASH = "Signal ("  # Triton's own handler; the stack follows
_TABLE = re.compile(r"^[+|]")


@dataclass(frozen=True)
class Witness:
    """Functions that are called, in another thread, when a server ends or dies."""

    ended: Callable[[], None] = lambda: None  # nothing of the server is left
    died: Callable[[int], None] = lambda _: None  # with this status; it is started again
    failed: Callable[[int], None] = lambda _: None  # before it was ready; it is started again


class ServerProcess:
    """A running `tritonserver`, its stubs and its folder, from launch until all of it is gone."""

    def __init__(
        self,
        bundle: TritonBundle,
        repository: Path,
        options: ServerOptions,
        addresses: Addresses,
        witness: Witness,
    ) -> None:
        self.addresses = addresses
        self.pid = 0  # of the latest `tritonserver`, once the supervisor has reported it
        self.status: int | None = None  # after the end; negative for the signal that ended the server
        self.ended = threading.Event()
        self._options = options
        self._witness = witness
        self._last_log: str | None = None
        self._workspace = workspace.create_workspace(bundle, repository, package_folders())
        self.api = HttpApi(self._workspace.place / LISTENING)
        try:
            variables = environment(bundle, self._workspace, options)
            check_stub(bundle, variables)
            log_file = (options.log_file or self._workspace.root / "triton.log").absolute()
            self._log = _open_log(log_file)
            self._log_start = os.fstat(self._log).st_size
            self._process = self._launch(
                command(bundle, self._workspace, options, addresses), variables, log_file
            )
        except BaseException:
            workspace.remove(self._workspace.root)
            raise
        finally:
            os.close(self._workspace.lock)  # from now on only the server's own processes hold it
        self._listener = threading.Thread(target=self._listen, name="lamr-serving", daemon=True)
        self._listener.start()

    def order(self, word: Literal["ready", "drain", "stop", "kill"]) -> None:
        """Tell the supervisor what its standard input takes; see `supervisor`."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the supervisor has ended already
            self._process.stdin.write(f"{word}\n".encode())

    def wait(self, timeout: float | None = None) -> int | None:
        self.ended.wait(timeout)
        return self.status

    def log(self) -> str:
        """The last lines that the server has written since its launch. They stay readable after `close`."""
        if self._last_log is not None:
            return self._last_log
        size = os.fstat(self._log).st_size
        start = max(self._log_start if self._log_start <= size else 0, size - TAIL_BYTES)
        with contextlib.suppress(OSError):  # a pipe or terminal can't be read back
            return os.pread(self._log, size - start, start).decode("utf-8", errors="replace")
        return ""

    def close(self) -> None:
        """Free this side's resources after the server's end. May be called again."""
        if self._last_log is not None:
            return
        self._listener.join()
        self._last_log = self.log()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        os.close(self._log)

    def _launch(
        self, server: list[str], variables: dict[str, str], log_file: Path
    ) -> subprocess.Popen[bytes]:
        orders = supervisor.Orders(
            command=server,
            root=str(self._workspace.root),
            lock=self._workspace.lock,
            log=str(log_file),
            parent=os.getpid(),
            stop_timeout=self._options.stop_timeout,
            restart=self._options.restart,
            log_bytes=self._options.log_bytes,
            sockets=[str(self.api.socket)],
        )
        return subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, json.dumps(dataclasses.asdict(orders))],
            env=variables,
            cwd=self._workspace.place,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            start_new_session=True,  # a terminal's Ctrl-C reaches this process alone, which passes it on
            pass_fds=(self._workspace.lock,),
        )

    def _listen(self) -> None:
        assert self._process.stdout is not None
        status = None
        for line in iter(self._process.stdout.readline, b""):
            word, _, rest = line.decode().strip().partition(" ")
            if word == "pid":
                again = self.pid != 0
                self.pid = int(rest)
                if again:
                    # What came before was said when that one died.
                    self._log_start = os.fstat(self._log).st_size
                    threading.Thread(target=self._await_restart, args=(self.pid,), daemon=True).start()
            elif word == "died":
                self._witness.died(int(rest))
            elif word == "exit":
                status = int(rest)
        self._process.wait()
        if status is None:
            self._clean_up_ourselves()
        self.status = LOST if status is None else status
        self.ended.set()
        self._witness.ended()

    def _await_restart(self, pid: int) -> None:
        """Tell the supervisor when the server that it has started again answers."""
        while self.pid == pid and not self.ended.wait(POLL_SECONDS):
            if self.api.is_ready():
                self.order("ready")
                return

    def _clean_up_ourselves(self) -> None:
        """See to the server's end, which the kernel has asked for because the supervisor was killed, and tidy up."""
        root = self._workspace.root
        deadline = time.monotonic() + self._options.stop_timeout
        while workspace.in_use(root) and time.monotonic() < deadline:
            time.sleep(0.05)
        if workspace.in_use(root) and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        workspace.remove(root)


def _open_log(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ServerStartError(f"log file {path} can't be written: {error.strerror}") from error


@dataclass(frozen=True)
class ServedModel:
    """One entry of the server's repository index."""

    name: str
    version: str
    state: str


@dataclass(frozen=True)
class HttpApi:
    """One server's HTTP endpoint, a socket in its own folder, which nobody but the server's user can enter."""

    socket: Path

    def is_ready(self, timeout: float = 1.0) -> bool:
        try:
            self._ask("GET", "/v2/health/ready", timeout)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return True

    def read_name(self, timeout: float = 5.0) -> tuple[str, str]:
        """The server's name and version; an OSError, HTTPException or ValueError where it doesn't answer as Triton."""
        with self._triton():
            server = json.loads(self._ask("GET", "/v2", timeout))
            return server["name"], server["version"]

    def read_models(self, timeout: float = 5.0) -> tuple[ServedModel, ...]:
        """The models and their states; those that were never loaded have none and are left out. See `read_name`."""
        with self._triton():
            return tuple(
                ServedModel(entry["name"], str(entry.get("version", "")), entry["state"])
                for entry in json.loads(self._ask("POST", "/v2/repository/index", timeout))
                if entry.get("state")
            )

    def unload(self, model: str, timeout: float = 5.0) -> None:
        """Refuse new requests for a model. Its state is UNLOADING until the accepted ones are answered."""
        self._ask("POST", f"/v2/repository/models/{model}/unload", timeout)

    def _ask(self, method: str, path: str, timeout: float) -> bytes:
        """Send one request and return its answer's body; `timeout` is for each step."""
        with contextlib.closing(_Connection(self.socket, timeout)) as connection:
            connection.request(method, path)
            response = connection.getresponse()
            body = response.read()
        if response.status != HTTPStatus.OK:
            raise ValueError(f"HTTP status {response.status}: {body[:200]!r}")
        return body

    @contextlib.contextmanager
    def _triton(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.socket} does not answer as Triton does ({error})") from error


class _Connection(http.client.HTTPConnection):
    def __init__(self, file: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._file = file

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # An address holds a hundred bytes; through a descriptor the folder's own name may be longer.
        folder = os.open(self._file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self._file.name}")
        finally:
            os.close(folder)


def excerpt(text: str, most: int = MOST_LINES, *, errors_only: bool = False) -> str:
    """The last errors of a log with their continuation lines, each once; the last lines where there are no errors.

    Tables are left out, because they repeat the errors. `errors_only` gives nothing where there are no errors."""
    if refused := _USAGE.findall(text):  # an unknown flag; hundreds of lines of help follow it
        return "\n".join(refused)
    chosen: dict[str, None] = {}
    others: list[str] = []
    in_error = False
    for line in text.splitlines():
        if _TABLE.match(line) or not line.strip() or any(noise in line for noise in _NOISE):
            continue
        entry = _ENTRY.match(line)
        in_error = line[0] in "EF" if entry else in_error or not others or line.startswith(_CRASH)
        content = _ENTRY.sub("", line)
        if in_error:
            chosen[content] = None
        else:
            others.append(content)
    lines = list(chosen) or ([] if errors_only else others)
    return "\n".join(lines[-most:])


def port_was_taken(text: str) -> bool:
    return "already in use" in text or "failed to start Metrics service: Unavailable" in text
