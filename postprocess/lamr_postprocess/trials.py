"""A parse that can die alone: where others are served, another process parses unusual texts first.

A grammar's own code can end its process or take what memory there is, and nothing inside of it stops that. Texts are
unusual that are larger or nested deeper than what people write; the rest is parsed once, as ever. If such a parse never
comes back, the system ends the process, so that whoever watches over it can start it again."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

from lamr_postprocess.clock import look
from lamr_postprocess.nesting import is_too_deep

if TYPE_CHECKING:
    import subprocess
    from multiprocessing.connection import Connection

MOST_BYTES, DEEPEST_ROWS, DEEPEST_BRACKETS = 1_000_000, 50, 100
"""Of a text that is usual; see `nesting`."""
CPU_SECONDS, MEMORY = 60, 2 << 30
"""What one trial may take; bytes of address space, which macOS doesn't bound."""
PARSED, COSTLY, DIED = range(3)
"""How a trial ends."""
HELD_SECONDS = 30
"""CPU seconds for which a parse or another call may keep all threads from running Python."""
_LOOK_SECONDS = 0.02
_BEAT_SECONDS = 1.0


class Trials:
    """The other process: it is started when it is needed, and again when it has died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def run(self, *parse: Any) -> int:
        """Try a parse, by the arguments of `trial_process.parses`, and return how that ended. Raises
        `OutOfTimeError`: see `clock`."""
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            look()
        try:
            return self._run(parse)
        finally:
            self._lock.release()

    def _run(self, parse: tuple[Any, ...]) -> int:
        try:
            pipe = self._started()
            pipe.send(parse)
            while not pipe.poll(_LOOK_SECONDS):
                look()
            return PARSED if pipe.recv() else COSTLY
        except (EOFError, OSError):
            self._end()
            return DIED
        except BaseException:
            self._end()
            raise

    def _started(self) -> Connection:
        import subprocess  # noqa: PLC0415  # they take long, and most processes try nothing
        from multiprocessing.connection import Pipe  # noqa: PLC0415

        from lamr_base import children  # noqa: PLC0415

        if self._pipe is None or self._process is None or self._process.poll() is not None:
            self._end()
            self._pipe, theirs = Pipe()
            arguments = map(str, (theirs.fileno(), CPU_SECONDS, MEMORY))
            with theirs:
                self._process = subprocess.Popen(
                    children.python("lamr_postprocess.trial_process", "answer_trials", *arguments),
                    cwd=children.standing_place(),
                    env={**children.environment(), "OPENBLAS_NUM_THREADS": "1"},  # each takes address space
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
        return self._pipe

    def _end(self) -> None:
        if self._pipe is not None and self._process is not None:
            self._pipe.close()
            self._process.kill()
            self._process.wait()
        self._pipe = self._process = None


_trials = list[Trials]()


def try_first() -> None:
    """Have another process try unusual texts from now on: for a process that serves others, and not on Windows.

    The system ends this one by SIGPROF, with a traceback on standard error, when it has used `HELD_SECONDS` of CPU time
    and none of its threads could run Python."""
    if not _trials and os.name == "posix":
        _trials.append(Trials())
        faulthandler.register(signal.SIGPROF, file=2, chain=True)
        threading.Thread(target=_beat, name="lamr-beat", daemon=True).start()


def _beat() -> None:
    limit = HELD_SECONDS + 2 * _BEAT_SECONDS * (os.cpu_count() or 1)  # other threads may use all CPUs
    while True:
        signal.setitimer(signal.ITIMER_PROF, limit)
        time.sleep(_BEAT_SECONDS)


def trial_of(data: bytes, *, angles: bool) -> Trials | None:
    """Where a text is to be tried first; None where it needn't be. The arguments are those of `is_too_deep`."""
    unusual = _trials and (
        len(data) > MOST_BYTES
        or is_too_deep(data, angles=angles, rows=DEEPEST_ROWS, brackets=DEEPEST_BRACKETS)
    )
    return _trials[0] if unusual else None
