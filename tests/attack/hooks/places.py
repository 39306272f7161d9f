"""Where the hook and its server have their socket and locks: what may lie there, and who starts the server."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lamr_agents.local.server import LocalServer, lock_of
from lamr_agents.local.store import Store

from tests.agents.samples import pruner
from tests.attack.case import Case
from tests.attack.hooks.calling import NOTE, call, hooked, transcript
from tests.attack.place import Place


def _place_with(make: Callable[[Path], Any]) -> Callable[[Place], str]:
    """What the hook says of a folder in which something lies."""

    def attempt(place: Place) -> str:
        folder = place.folder / "agents"
        folder.mkdir(mode=0o700)
        make(folder)
        return hooked(place, call(), folder / "hook.sock")

    return attempt


def _served_with(make: Callable[[Path], Any]) -> Callable[[Place], str]:
    """What a local server says that starts where something lies; a victim's file beside it must stay."""

    def attempt(place: Place) -> str:
        folder = place.folder / "agents"
        folder.mkdir(mode=0o700)
        victim = place.folder / "victim"
        victim.write_text("precious")
        make(folder)
        try:
            ran = LocalServer(folder / "hook.sock", Store(folder / "shown.sqlite3"), pruner).run(idle=0.0)
            how = "ran" if ran else "gave way"
        except OSError as error:
            how = f"refused: {error}"
        return f"{how}; {'kept' if victim.read_text() == 'precious' else 'OVERWRITTEN'}"

    return attempt


PLACES: Mapping[str, Callable[[Path], Any]] = {
    "the folder can be written by all": lambda at: at.chmod(0o777),
    "the folder is sticky and open, as /tmp": lambda at: at.chmod(0o1777),
    "the folder can be written by a group": lambda at: at.chmod(0o770),
    "the folder is a link": lambda at: (at.rename(at.with_name("real")), at.symlink_to(at.with_name("real"))),
    "the folder is a file": lambda at: (at.rmdir(), at.write_text("")),
    "the socket is a folder": lambda at: (at / "hook.sock").mkdir(),
    "the socket is a file": lambda at: (at / "hook.sock").write_text("mine"),
    "the socket is a FIFO": lambda at: os.mkfifo(at / "hook.sock"),
    "the socket is a link to nothing": lambda at: (at / "hook.sock").symlink_to("/nowhere"),
    "the start's lock is a link": lambda at: (at / "hook.sock.start").symlink_to(at.parent / "victim"),
    "the start's lock is a folder": lambda at: (at / "hook.sock.start").mkdir(),
}
SERVED: Mapping[str, Callable[[Path], Any]] = {
    "the lock is a link": lambda at: (at / "hook.lock").symlink_to(at.parent / "victim"),
    "the lock has a second name": lambda at: os.link(at.parent / "victim", at / "hook.lock"),
    "the lock is a FIFO": lambda at: os.mkfifo(at / "hook.lock"),
    "the lock is another program's file": lambda at: (at / "hook.lock").write_text(
        "version = 1\n[[package]]"
    ),
    "the socket is the user's file": lambda at: (at / "hook.sock").write_text("mine"),
}


def cold(place: Place) -> str:
    """Many first calls at once: one server for them all."""
    path, out = place.home / ".cache" / "lamr" / "agents" / "hook.sock", []
    data = call(transcript_path=transcript(place))

    def ask(number: int) -> None:
        mine = data.replace(b'"s"', b'"s%d"' % number)
        out.append(hooked(place, mine, path, limit=60.0, OMP_NUM_THREADS="1"))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    running = subprocess.run(
        ["pgrep", "-f", "--", f"--socket {path}"], capture_output=True, check=False
    ).stdout
    alive = running.split()
    _end(path)
    answers = sorted({"pruned or late" if each == "pruned" or "Deadline" in each else each for each in out})
    modes = {oct(each.stat().st_mode & 0o077) for each in path.parent.iterdir()}
    return f"{len(alive)} server; {answers}; open to others: {modes}"


def _end(path: Path) -> None:
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(lock_of(path).read_text()), 15)


def planted(place: Place) -> str:
    """A server that starts while the current folder, and PYTHONPATH by an empty entry, hold modules of strangers."""
    for name in ("random", "socket", "json", "runpy", "site", "typer", "lamr_cli", "sitecustomize", "numpy"):
        mark = f"open({str(place.folder / 'EXECUTED')!r}, 'a').write({name!r})\n"
        (place.folder / f"{name}.py").write_text(mark)
    path = place.home / "s"
    data = call(transcript_path=transcript(place))
    answer = hooked(place, data, path, limit=60.0, PYTHONPATH=":.:", OMP_NUM_THREADS="1")
    _end(path)
    return f"{answer}{'; EXECUTED' if (place.folder / 'EXECUTED').exists() else ''}"


_place_case = partial(Case, "place")
_quick_place = partial(Case, "place", quick=True)
CASES: tuple[Case, ...] = (
    _place_case(
        "many first calls at once",
        cold,
        r"1 server; \['pruned or late'\]; open to others: \{'0o0'\}",
        seconds=60,
    ),
    Case("folder", "modules of strangers where the hook's server starts", planted, "pruned", seconds=60),
    *(_quick_place(name, _place_with(make), NOTE) for name, make in PLACES.items()),
    *(
        _quick_place(f"when the server starts, {name}", _served_with(make), "refused: .*; kept")
        for name, make in SERVED.items()
    ),
)
