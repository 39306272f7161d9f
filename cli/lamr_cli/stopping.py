"""How a server that somebody stops ends: with exit code 0, as its log and its supervisor expect."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def end_well_on_sigterm(*, at_once: bool = False) -> None:
    """Have SIGTERM end this process with exit code 0. Call it from the main thread, before the server begins.

    Servers that handle the signal themselves do so; this is for the time before and after. uvicorn, for one, ends its
    requests and then raises the signal again.

    Args:
        at_once: for a server that reads standard input: a thread that waits there would keep the process alive.
    """

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        if at_once:
            os._exit(0)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
