"""Claude Code's settings: what may lie there when the hook is installed, and what must stay."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lamr_agents.host import Command
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import SettingsScope, installed, removed, settings_path
from lamr_client import LamrError

from tests.attack.case import Case
from tests.attack.place import Place

HOST = HOSTS["claude-code"]
COMMAND = Command(["x", "lamr_agents/thin.py"])


def _settings(make: Callable[[Path], Any], *, project: bool = False) -> Callable[[Place], str]:
    """What installing and uninstalling say of settings, and whether the file is as it was."""

    def attempt(place: Place) -> str:
        path = place.folder / "repo" / ".claude" / "settings.json"
        path.parent.mkdir(parents=True)
        (place.folder / "victim").write_text("{}")
        make(path)
        regular = path.is_file() and path.stat().st_size < 1 << 20
        before = path.read_bytes() if regular else None
        words = []
        for change in (lambda: installed(HOST, path, COMMAND), lambda: removed(HOST, path)):
            try:
                if project:
                    with _chdir(path.parents[1]):
                        settings_path(HOST, SettingsScope.SHARED)
                change().write()
                words.append("done")
            except LamrError as error:
                words.append(f"refused: {error}")
        same = " AS IT WAS" if words[-1] == "done" and regular and path.read_bytes() == before else ""
        kept = (place.folder / "victim").read_text() == "{}"
        left = sorted(each.name for each in path.parent.iterdir() if each.name != path.name)
        return f"{' / '.join(words)}{same}{'' if kept else ' CHANGED'}{f' LEFT {left}' if left else ''}"

    return attempt


@contextlib.contextmanager
def _chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


AS_IT_WAS = "done / done AS IT WAS"
REFUSED = r"refused: .*nothing was changed.* / refused: .*nothing was changed.*"
SETTINGS: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    "a FIFO": (os.mkfifo, REFUSED),
    "a folder": (Path.mkdir, REFUSED),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), REFUSED),
    "10 GiB, sparse": (lambda path: (path.touch(), os.truncate(path, 10 << 30)), REFUSED),
    "100,000 brackets": (lambda path: path.write_text("[" * 100_000), REFUSED),
    "no UTF-8": (lambda path: path.write_bytes(b'{"a": "\xff"}'), REFUSED),
    "with a key twice": (lambda path: path.write_text('{"model": "a", "model": "b"}'), REFUSED),
    "with NaN": (lambda path: path.write_text('{"a": NaN}'), REFUSED),
    "with 1e999": (lambda path: path.write_text('{"a": 1e999}'), AS_IT_WAS),
    "with a number of 10,000 digits": (
        lambda path: path.write_text('{"a": ' + "9" * 10_000 + "}"),
        AS_IT_WAS,
    ),
    "with comments, a BOM and CRLF": (
        lambda path: path.write_bytes(b'\xef\xbb\xbf{\r\n\t// mine\r\n\t"a": [1,],\r\n}'),
        AS_IT_WAS,
    ),
    "read-only": (
        lambda path: (path.write_text("{}"), path.chmod(0o444)),
        "refused: .*read-only.* / done AS IT WAS",
    ),
    "whose hooks are a text": (
        lambda path: path.write_text('{"hooks": {"PostToolUse": [{"hooks": "abc"}]}}'),
        REFUSED,
    ),
    **{
        f"of {text}": (lambda path, text=text: path.write_text(text), REFUSED)
        for text in ('{"hooks": }', "[]", '{"hooks": []}', '{"hooks": {"PostToolUse": [1]}}', "{")
    },
    "whose hooks are an object": (lambda path: path.write_text('{"hooks": {"PostToolUse": {}}}'), REFUSED),
    "whose hooks are null": (lambda path: path.write_text('{"hooks": null}'), REFUSED),
    "with half a character": (lambda path: path.write_text('{"a": "\\ud800"}'), AS_IT_WAS),
    "empty": (Path.touch, AS_IT_WAS),
}


_LEADS_OUT = " / ".join([r"refused: .*leads out of the project.*"] * 2)
_quick = partial(Case, "settings", quick=True)
CASES: tuple[Case, ...] = (
    _quick(
        "of a project, a link that leads out of it",
        _settings(lambda path: path.symlink_to(path.parents[2] / "victim"), project=True),
        _LEADS_OUT,
    ),
    _quick(
        "of a project, in a folder that leads out of it",
        _settings(lambda path: (path.parent.rmdir(), path.parent.symlink_to(path.parents[2])), project=True),
        _LEADS_OUT,
    ),
    *(_quick(name, _settings(make), holds) for name, (make, holds) in SETTINGS.items()),
)
