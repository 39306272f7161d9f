"""Answers hooks on a socket: one call a connection, a thread each, with one warm pruner behind them all.

The socket lies in a folder of the user's alone. A lock beside it makes sure that one server listens; it ends after a
time without calls. This module knows sockets, the policy and the store; what a host's call means is the matter of the
host's module.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from lamr_agents import claude_code
from lamr_agents.local.store import Shown, Store
from lamr_agents.policy import Policy
from lamr_agents.skim import Archive, Prunes, Skim, skim
from lamr_agents.thin import unpruned

MOST_BYTES = 64 << 20
"""Of one call; a larger one stays as it is."""
IDLE_SECONDS = 3600.0
_LOOK_SECONDS = 0.5
_log = logging.getLogger("lamr.agents")


class LocalServer:
    """The server behind a socket.

    Args:
        path: of the socket.
        store: remembers what was shown.
        make_pruner: gives the pruner; called once, after the socket listens, so that callers wait rather than fail.
        policy: when a result is pruned.
        archive: keeps the originals of what lies in no file; such results pass without one.
    """

    def __init__(
        self,
        path: Path,
        store: Store,
        make_pruner: Callable[[], Prunes],
        policy: Policy | None = None,
        archive: Archive | None = None,
    ) -> None:
        self._path = path
        self._store = store
        self._make_pruner = make_pruner
        self._policy = policy or Policy()
        self._archive = archive
        self._pruner: Prunes | None = None
        self._making = threading.Lock()
        self._last_call = time.monotonic()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End `run` soon."""
        self._stopped.set()

    def run(self, idle: float = IDLE_SECONDS, ready: Callable[[], None] | None = None) -> bool:
        """Serve until `stop` or `idle` seconds without a call; False where another server listens already."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with lock_of(self._path).open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            self._path.unlink(missing_ok=True)
            with closing(_Listener(str(self._path), self._handle)) as listener:
                self._path.chmod(0o600)
                threading.Thread(target=self._warm, daemon=True).start()
                if ready:
                    ready()
                while time.monotonic() - self._last_call < idle and not self._stopped.is_set():
                    listener.handle_request()
            self._path.unlink(missing_ok=True)
        return True

    def answer(self, call: bytes) -> bytes:
        """What a hook prints for a host's call; nothing where the result stays as it is without a word."""
        self._last_call = time.monotonic()
        try:
            payload = json.loads(call)
            said = self._answer(payload) if isinstance(payload, dict) else None
        except Exception as error:  # whatever it is, the agent goes on and is told
            _log.exception("a call could not be answered")
            return unpruned(call, f"{type(error).__name__}: {error}")
        return b"" if said is None else json.dumps(said).encode()

    def _answer(self, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        begin = time.perf_counter()
        call = claude_code.read_call(payload)
        if call is None:
            return None
        asked = replace(call.asked, again=self._store.was_shown(call.session, call.asked.label))
        shown = skim(self._warm(), asked, call.intent, self._policy, self._archive)
        seconds = time.perf_counter() - begin
        self._record(call, shown, seconds)
        return claude_code.answer(call, shown)

    def _record(self, call: claude_code.Call, shown: Skim, seconds: float) -> None:
        self._store.add(
            Shown(
                claude_code.HOST,
                call.session,
                call.tool,
                call.asked.label,
                shown.reason,
                shown.tokens_in,
                shown.tokens_out,
                seconds,
            )
        )

    def _warm(self) -> Prunes:
        with self._making:
            if self._pruner is None:
                self._pruner = self._make_pruner()
            return self._pruner

    def _handle(self, connection: Any) -> None:
        connection.settimeout(30.0)
        parts, size = [], 0
        while part := connection.recv(1 << 16):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                return
        connection.sendall(self.answer(b"".join(parts)) or b"{}")


def lock_of(path: Path) -> Path:
    """The file beside a socket that its server locks; it holds the server's process id."""
    return path.with_suffix(".lock")


class _Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    timeout = _LOOK_SECONDS
    request_queue_size = 64

    def __init__(self, path: str, handle: Callable[[Any], None]) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                handle(self.request)

        super().__init__(path, Handler)

    def close(self) -> None:
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base's signature
        _log.exception("a connection broke off")
