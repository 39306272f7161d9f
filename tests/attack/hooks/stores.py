"""The record of what was shown: broken, removed, another's, or of a user without a home."""

import os
import sqlite3
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store, StoredResult

from tests.agents.samples import pruner
from tests.attack.case import Case
from tests.attack.hooks.calling import NOT_TRIED, NOTE, call, said, transcript
from tests.attack.place import Place


def _stored(make: Callable[[Path], Any]) -> Callable[[Place], str]:
    """What two calls come to with a store in which something is wrong."""

    def attempt(place: Place) -> str:
        path = place.folder / "own" / "shown.sqlite3"
        path.parent.mkdir(mode=0o700)
        (place.folder / "victim").write_text("precious")
        make(path)
        server = LocalServer(place.folder / "own" / "s", Store(path), pruner)
        log = transcript(place)
        answers = [said(server.answer(call(transcript_path=log, session_id=name))) for name in "ab"]
        kept = (place.folder / "victim").read_text() == "precious"
        return f"{answers[0]} / {answers[1]}{'' if kept else ' OVERWRITTEN'}"

    return attempt


def _made(path: Path) -> Store:
    store = Store(path)
    store.was_shown("s", 0.0, "p")
    return store


def _torn(path: Path) -> None:
    store = _made(path)
    store.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(bytes(data))


def _of_other_tables(path: Path) -> None:
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE shown (at REAL, session TEXT, path TEXT)")


def _of_other_cuts(path: Path) -> None:
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE cuts (shown INTEGER PRIMARY KEY, hidden TEXT)")


def _of_cuts_without_lines(path: Path) -> None:
    """Those of the file that is read, as somebody has changed them."""
    store = _made(path)
    store.add(StoredResult("claude-code", "a", "Read", "/w/a.py", "pruned", 9, 4, 0.1, "/w/a.py", ((1, 2),)))
    store.close()
    with sqlite3.connect(path) as rows:
        rows.execute(
            "UPDATE cuts SET hidden = 'x-y,9-,99999999999999999999999-3,-', ranges = 'many', tokens = 'few'"
        )


ONCE = r"\[lamr: not pruned: StoreError: .*it is set aside as shown.sqlite3.broken.*\] / pruned"
BOTH = rf"{NOTE} / {NOTE}"
STORES: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    "garbage": (lambda path: path.write_bytes(b"garbage" * 1000), ONCE),
    "torn in its midst": (_torn, ONCE),
    "with another version's tables": (_of_other_tables, ONCE),
    "with another version's cuts": (_of_other_cuts, ONCE),
    "with cuts of no lines": (_of_cuts_without_lines, "as it came / pruned"),
    "a link to a victim's file": (lambda path: path.symlink_to(path.parents[1] / "victim"), BOTH),
    "a second name of a victim's file": (lambda path: os.link(path.parents[1] / "victim", path), BOTH),
    "a FIFO": (os.mkfifo, BOTH),
    "a folder": (Path.mkdir, BOTH),
    "in a folder that others may write to": (lambda path: path.parent.chmod(0o777), BOTH),
    "set aside before, where a link lies now": (
        lambda path: (
            path.write_bytes(b"garbage" * 1000),
            path.with_name(f"{path.name}.broken").symlink_to(path.parents[1] / "victim"),
        ),
        ONCE,
    ),
}


def removed_store(place: Place) -> str:
    """Somebody clears the cache while a server runs."""
    path = place.folder / "own" / "shown.sqlite3"
    server, log = LocalServer(place.folder / "own" / "s", Store(path), pruner), transcript(place)
    answers = []
    for name in "abc":
        answers.append(said(server.answer(call(transcript_path=log, session_id=name))))
        path.unlink()
        path.touch()
    return answers[-1] if answers[-1] != "pruned" else f"{answers[0]} … pruned"


def homeless(place: Place) -> str:
    """A user without a home or an entry of its own."""
    if os.geteuid():
        return NOT_TRIED
    code = (
        "import os; os.setuid(4242); os.environ.pop('HOME', None); os.environ.pop('XDG_CACHE_HOME', None)\n"
        "from lamr_agents.claude_code import HOOK\nfrom lamr_cli.exits import exit_code\n"
        "from lamr_agents.hosts import HOSTS\n"
        "from lamr_agents.installing import hook_command, settings_path\n"
        "from lamr_agents.embedded import Reads\nReads(lambda: None).answer_show('lamr show 0123456789ab:1')\n"
        "said = []\n"
        "for act in (lambda: hook_command(HOOK), lambda: settings_path(HOSTS['claude-code'])):\n"
        "    try: act(); said.append('done')\n"
        "    except Exception as error: said.append(f'{exit_code(error)} {error}')\n"
        "print(said)"
    )
    warm = "import lamr_cli.main, lamr_agents.hosts, lamr_agents.installing, lamr_agents.embedded, lamr_cli.agents\n"
    return place.run(sys.executable, "-c", warm + code).out.decode().strip()


_quick = partial(Case, "store", quick=True)
CASES: tuple[Case, ...] = (
    _quick("removed while a server runs", removed_store, "pruned … pruned"),
    _quick(
        "of a user without a home",
        homeless,
        rf"{NOT_TRIED}|\['2 .*set HOME or XDG_CACHE_HOME.*', '2 .*set HOME.*'\]",
    ),
    *(_quick(name, _stored(make), holds) for name, (make, holds) in STORES.items()),
)
