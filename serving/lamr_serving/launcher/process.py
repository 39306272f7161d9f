"""This process's end of one supervised server: it launches the supervisor, listens to it and keeps the log readable."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher import log, supervisor, workspace
from lamr_serving.launcher.addresses import Addresses
from lamr_serving.launcher.bundle import TritonBundle, check_stub
from lamr_serving.launcher.command_line import LISTENING, command, environment, package_folders
from lamr_serving.launcher.http_api import HttpApi
from lamr_serving.launcher.server_options import ServerOptions

POLL_SECONDS = 0.05
LOST = 70  # EX_SOFTWARE; the supervisor was killed, so nobody saw the server's own status


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
            log_file = (options.log_file or self._workspace.log).absolute()
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

    def ready(self) -> None:
        """Tell the supervisor that the server answers: from now on it may be started again when it dies."""
        self._order(b"ready\n")

    def drain(self) -> None:
        """Tell the supervisor that the server's end is near, so that models' processes may end before it."""
        self._order(b"drain\n")

    def stop(self) -> None:
        """Ask for a graceful end. Requests in flight get `stop_timeout` seconds."""
        self._order(b"stop\n")

    def kill(self) -> None:
        """End the server at once."""
        self._order(b"kill\n")

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit status, or None when the server still runs after `timeout` seconds."""
        self.ended.wait(timeout)
        return self.status

    def log(self) -> str:
        """The last lines that the server has written since its launch. They stay readable after `close`."""
        if self._last_log is not None:
            return self._last_log
        size = os.fstat(self._log).st_size
        start = max(self._log_start if self._log_start <= size else 0, size - log.TAIL_BYTES)
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

    def _order(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the supervisor has ended already
            self._process.stdin.write(line)

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
                self.ready()
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
