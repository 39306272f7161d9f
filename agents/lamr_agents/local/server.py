"""Answers hooks on a socket: one call a connection, a thread each, with one warm pruner behind them all.

The socket lies in a folder where nobody else can put anything, and calls of other users aren't heard. A lock beside it
makes sure that one server listens; it ends after a time without calls."""

import contextlib
import json
import logging
import math
import os
import socketserver
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FuturesTimeoutError
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from lamr_base.choices import EffortName
from lamr_base.errors import own_errors
from lamr_base.private_files import open_private, private_folder, take_lock
from lamr_base.records import dataclass
from lamr_client import DeadlineExceededError, LamrError
from lamr_postprocess.trials import try_first

from lamr_agents import thin
from lamr_agents.calls import Call, HookHost
from lamr_agents.hosts import FIRST, hook_named
from lamr_agents.intent import Intent
from lamr_agents.local.store import Store, StoredResult
from lamr_agents.local.texts import key_of
from lamr_agents.policy import DEFAULT, HIDING, PROFILES, Policy, ToolResult
from lamr_agents.skim import Prunes, TextArchive, skim, unjudged
from lamr_agents.skimmed import Skim

IDLE_SECONDS = 3600.0
SPARE_SECONDS = 1.5
"""Of what a hook has left: the way back, and the end of what a timeout doesn't interrupt at once."""
_OF_THE_HOOK = 1 << 10  # bytes that the hook may add to a call
_LEAST_SECONDS = 0.05
_SHY_SECONDS = 300.0
"""After a text took too long, texts of its size pass for so many seconds: an agent shouldn't wait in vain each time."""
_log = logging.getLogger("lamr.agents")


class LocalServer:
    """The server behind a socket."""

    def __init__(  # noqa: PLR0913  # keyword-only but for the parts
        self,
        path: Path,
        store: Store,
        make_pruner: Callable[[], Prunes],
        *,
        policy: Policy | None = None,
        archive: TextArchive | None = None,
        seconds: float = 7.0,
        effort: EffortName = "auto",
    ) -> None:
        self._path = path
        self._store = store
        self._make_pruner = make_pruner
        self._policy = policy or PROFILES[DEFAULT]
        self._archive = archive
        self._seconds = seconds
        self._effort = effort
        self._gave_up = _GaveUp()
        self._turns = Turns()
        self._pruner: Prunes | None = None
        self._making = threading.Lock()
        self._last_call = time.monotonic()
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self, idle: float = IDLE_SECONDS, ready: Callable[[], None] | None = None) -> bool:
        """Serve until `stop` or `idle` seconds without a call; False where another server listens already.

        A server whose socket somebody removes ends, too, so that the next call gets a new one."""
        try_first()
        if not self._path.parent.exists():
            private_folder(self._path.parent)
        thin.check_place(str(self._path))
        with os.fdopen(open_private(lock_of(self._path)), "r+b", buffering=0) as lock:
            if not take_lock(lock.fileno()):
                return False
            _sign(lock)
            self._path.unlink(missing_ok=True)
            with Listener(str(self._path), self._handle) as listener:
                self._path.chmod(0o600)
                made = self._path.stat()
                threading.Thread(target=self._load, daemon=True).start()
                if ready:
                    ready()
                while not self._stopped.is_set() and _is_still(self._path, made):
                    if time.monotonic() - self._last_call >= idle:
                        break
                    listener.handle_request()
            if _is_still(self._path, made):
                self._path.unlink(missing_ok=True)
        return True

    def answer(self, call: bytes) -> bytes:
        """The hook's output for a host's call; empty if the result stays as it is without a message."""
        self._last_call = time.monotonic()
        shape = thin.BESIDE
        try:
            payload = json.loads(call) if call.strip() else None
            if not isinstance(payload, dict):
                return b""
            host = hook_named(str(payload.get(thin.HOST, FIRST)))
            shape = host.beside
            begin = time.perf_counter()
            asked = host.read_call(payload)
            if asked is None:
                return thin.beside(thin.AS_IT_CAME, shape) if thin.NOTE.encode() in call else b""
            said = self._answer(host, payload, asked, begin)
            return b"" if said is None else json.dumps(said, allow_nan=False).encode()
        except Exception as error:  # whatever it is, the agent goes on and is told
            _log.exception("a call could not be answered")
            return thin.unpruned(f"{type(error).__name__}: {error}", shape)

    @own_errors()
    def _answer(
        self, host: HookHost, payload: Mapping[str, Any], call: Call, begin: float
    ) -> Mapping[str, Any] | None:
        left = payload.get(thin.LEFT)
        seconds = min(self._seconds, left - SPARE_SECONDS) if isinstance(left, int | float) else self._seconds
        seconds = max(seconds, _LEAST_SECONDS)
        with self._turns.of((call.session, call.asked.label), seconds):
            again = call.seen or self._store.was_shown(call.session, call.since, call.asked.label)
            asked = replace(call.asked, again=again)
            left = max(seconds - (time.perf_counter() - begin), _LEAST_SECONDS)
            shown = self._skim(asked, call.intent, left, call.known if host.tells_context else {})
            self._record(host, call, shown, time.perf_counter() - begin)
        return host.answer(call, shown)

    def _skim(self, asked: ToolResult, intent: Intent, seconds: float, known: Mapping[int, str]) -> Skim:
        """Skim within a time, though neither loading the model nor a run of it can be interrupted."""
        end, warm = time.monotonic() + seconds, self._pruner is not None
        done: Future[Skim] = Future()

        def work() -> None:
            try:
                with own_errors():
                    pruner = self._warm()
                    left = max(end - time.monotonic(), _LEAST_SECONDS)
                    effort = self._effort_of(pruner)
                    shown = skim(
                        *(pruner, asked, intent, self._policy),
                        archive=self._archive,
                        known=known,
                        effort=effort,
                        within=left,
                    )
                done.set_result(shown)
            except LamrError as error:  # such as a pruner that can't be made: it is recorded like others
                done.set_result(unjudged(asked, error))
            except BaseException as error:
                done.set_exception(error)

        if self._gave_up.on(len(asked.text)) and self._policy.passes(asked) is None:
            return unjudged(asked, "a text of this size took too long a few minutes ago")
        threading.Thread(target=work, daemon=True).start()
        try:
            shown = done.result(seconds + SPARE_SECONDS / 2)
        except FuturesTimeoutError:
            shown = unjudged(asked, DeadlineExceededError(f"no answer within {seconds:.3g} s"))
        if warm and shown.late:
            self._gave_up = _GaveUp(len(asked.text), time.monotonic())
        return shown

    def _record(self, host: HookHost, call: Call, shown: Skim, seconds: float) -> None:
        asked = call.asked
        place = key_of(asked.text) if asked.name else asked.path
        if not asked.name:
            self._store.look(
                call.session, call.since, asked.path, self._policy.ranges(asked), shown.tokens_out
            )
        self._store.add(
            StoredResult(
                host.name,
                call.session,
                call.tool,
                call.asked.label,
                shown.reason,
                shown.tokens_in,
                shown.tokens_out,
                seconds,
                place if shown.reason in HIDING else "",
                shown.hidden,
            )
        )

    def _warm(self) -> Prunes:
        with self._making:
            if self._pruner is None:
                self._pruner = self._make_pruner()
            return self._pruner

    def _effort_of(self, pruner: Prunes) -> EffortName:
        return self._effort if getattr(pruner, "answers_at_once", True) else "full"

    def _load(self) -> None:
        """Make the pruner, and have it load its encoder; calls that come before are answered by the line model."""
        try:
            pruner = self._warm()
            load = getattr(pruner, "warm", None)  # another's pruner may have nothing to load
            if load is not None and self._effort_of(pruner) != "instant":
                load()
        except LamrError as error:  # calls say it, each to its own agent
            _log.warning("the encoder can't be loaded: %s", error)

    def _handle(self, connection: Any) -> None:
        connection.settimeout(30.0)
        parts, size = [], 0
        while part := connection.recv(1 << 16):
            parts.append(part)
            size += len(part)
            if size > thin.MOST_BYTES + _OF_THE_HOOK:  # the hook sends no such call
                return
        answer = self.answer(b"".join(parts)) or b"{}"
        with contextlib.suppress(
            BrokenPipeError, ConnectionResetError
        ):  # a hook that only told, or ran out of time
            connection.sendall(answer)


@dataclass(frozen=True)
class _GaveUp:
    """The last text that took too long: its characters, and when that was."""

    characters: int = 0
    at: float = -math.inf

    def on(self, characters: int) -> bool:
        return characters >= self.characters and time.monotonic() - self.at < _SHY_SECONDS


def lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


def _is_still(path: Path, made: os.stat_result) -> bool:
    try:
        there = path.lstat()
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (made.st_dev, made.st_ino)


def _sign(lock: BinaryIO) -> None:
    """Write this process's id into a lock."""
    held = lock.read(32)
    if held and not held.isdigit():
        raise PermissionError("the lock beside the socket is another program's file; name another socket")
    lock.truncate(0)
    lock.seek(0)
    lock.write(str(os.getpid()).encode())


class Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Listens at a path and hands each connection of the same user to a function, in a thread."""

    daemon_threads = True
    timeout = 0.5  # seconds until `run` looks whether it is still wanted
    request_queue_size = 64

    def __init__(self, path: str, handle: Callable[[Any], None]) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                handle(self.request)

        super().__init__(path, Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - the base's
        try:
            thin.check_peer(request)
        except OSError as error:
            _log.warning("a call isn't heard: %s", error)
            return False
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base's signature
        _log.exception("a connection broke off")


class Turns:
    """Lets one call at a time through for each file of an agent: of two at once, the second is a second look."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: set[Hashable] = set()

    @contextlib.contextmanager
    def of(self, key: Hashable, seconds: float) -> Iterator[None]:
        """Wait for other calls of a key, at most so many seconds; one that waited in vain goes on beside them."""
        with self._changed:
            alone = self._changed.wait_for(lambda: key not in self._taken, seconds)
            if alone:
                self._taken.add(key)
        try:
            yield
        finally:
            if alone:
                with self._changed:
                    self._taken.discard(key)
                    self._changed.notify_all()
