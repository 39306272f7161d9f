"""Pauses Python's search for garbage in circles while a file's objects are made, all of which stay until the end.

Each search walks over them anew, which takes a fourth of the time of a file of 100,000 lines. What isn't in a circle
goes at once, as ever. The pause holds for the whole process, so it is for work of milliseconds, or of seconds for a
huge file.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Pause collections, unless somebody has switched them off anyway.

    Of several threads the first that is done ends the pause, which costs the others no more than time.
    """
    pauses = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if pauses:
            gc.enable()
