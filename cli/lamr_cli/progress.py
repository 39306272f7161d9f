"""Progress bars on standard error for long work; there are none where it isn't a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from lamr_errors import visible


@contextlib.contextmanager
def bar(disable: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that takes what is being done, how much of it is done and how much there is.

    Each kind of work gets a bar of its own.
    """
    if disable or not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(visible(what), total=total)
            progress.update(tasks[what], completed=done)

        yield advance
