"""`lamr.toml`: what a user, or a project, sets once for all commands. The command line and the environment win over it.

A project's file may come with a stranger's repository. So it sets only how much is packed and what is left out, and the
user's file alone names the server, which code is sent to, and the model, which is code itself.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lamr_contract.private_files import config_folder
from lamr_errors import LamrError

from lamr_cli.printing import say

NAME = "lamr.toml"
MOST_BYTES = 16 << 10
MOST_PATTERNS = 256
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OPEN = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
)  # a FIFO would hold the opening
_LINE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")


class SettingsError(LamrError):
    """A `lamr.toml` can't be used.

    Attributes:
        path: the file.
        line: its line that is wrong, from 1; None where it is the file as a whole.
    """

    def __init__(self, message: str, *, path: Path, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {message}")
        self.path, self.line = path, line


@dataclass(frozen=True)
class Setting:
    """A value in force.

    Attributes:
        value: what commands get; None for their own default.
        source: where it comes from, in words; a file by its path.
    """

    value: Any
    source: str


@dataclass(frozen=True)
class _Kind:
    """What a key takes.

    Attributes:
        expected: in words.
        fits: whether a value can be used.
        of_projects: whether a project's file may set it.
    """

    expected: str
    fits: Callable[[Any], bool]
    of_projects: bool


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


_PROFILES = ("lossless", "careful", "balanced", "eager")
_EFFORTS = ("auto", "instant", "full")
KINDS = {
    "server": _Kind("a text, HOST:PORT or https://HOST", _is_text, False),
    "model": _Kind("a text, the folder of a model repository", _is_text, False),
    "effort": _Kind(f"one of {', '.join(_EFFORTS)}", lambda value: value in _EFFORTS, False),
    "within": _Kind(
        "seconds, a number above 0",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1 << 31,
        False,
    ),
    "profile": _Kind(f"one of {', '.join(_PROFILES)}", lambda value: value in _PROFILES, False),
    "holdout": _Kind(
        "a share of all sessions, a number from 0 to 0.9",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 0.9,
        False,
    ),
    "max_tokens": _Kind(
        "a whole number from 1",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 31,
        True,
    ),
    "exclude": _Kind(
        f"a list of at most {MOST_PATTERNS} patterns, each a text",
        lambda value: isinstance(value, list) and len(value) <= MOST_PATTERNS and all(map(_is_text, value)),
        True,
    ),
}
VARIABLES = {"server": "LAMR_SERVER"}


class Settings:
    """The two files, each read when its values are first asked for.

    Args of the constructor:
        folder: where the search for the project's file begins.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def user(self) -> dict[str, Setting]:
        """What the user's file sets; nothing where there is none.

        Raises:
            SettingsError: it can't be used.
        """
        path = _user_file()
        values = {} if path is None else _read(path, follow=True)
        if path is not None and "model" in values:
            values["model"] = str(path.parent / Path(values["model"]).expanduser())
        return {key: Setting(value, str(path)) for key, value in values.items()}

    @cached_property
    def project(self) -> dict[str, Setting]:
        """What the project's file may set; what it may not is named once on standard error.

        Raises:
            SettingsError: it can't be used.
        """
        path = project_file(self._folder)
        if path is None:
            return {}
        values = _read(path, follow=False)
        if refused := [key for key in values if not KINDS[key].of_projects]:
            say(
                f"lamr: {path} sets {' and '.join(refused)}, which isn't used: a project's file may come from "
                f"a stranger. If you trust it, write it into {config_folder() / NAME}.",
                err=True,
            )
        return {key: Setting(values[key], str(path)) for key in values if key not in refused}

    def in_force(self, key: str) -> Setting:
        """Return a key's value and where it is from, the command line aside.

        Raises:
            SettingsError: a file can't be used.
        """
        variable = VARIABLES.get(key)
        if variable is not None and os.environ.get(variable):
            return Setting(os.environ[variable], f"environment: {variable}")
        return self.project.get(key) or self.user.get(key) or Setting(None, "default")

    def of_user(self, key: str) -> Any:
        """Return what the user's file sets, without a look at the project's; None for nothing."""
        setting = self.user.get(key)
        return None if setting is None else setting.value

    def of_files(self, key: str) -> Any:
        """Return what the files set, the project's first; None for nothing."""
        setting = self.project.get(key) or self.user.get(key)
        return None if setting is None else setting.value


_OF_PACKS = ("max_tokens", "exclude", "effort")
_OF_PRUNES = ("effort", "within")
_OF_HOOKS = ("holdout", "profile")
_TYPED = ("pack", "prune", "view")
"""Commands that somebody types in a project; the others read the user's file alone."""
_BY_OWN_WORDS = ("install",)
"""What is written into another program's settings is what the command line says."""


def defaults(settings: Settings, command: Any, name: str = "") -> dict[str, Any]:
    """Return what commands take where command line and environment say nothing, as Click's `default_map`.

    Values are functions, so that no file is read for an option that is given, or for a help page.

    Args:
        settings: the files.
        command: Click's command or group.
        name: its name.
    """
    listed: Mapping[str, Any] = getattr(command, "commands", {})
    in_force: dict[str, Any] = {each: defaults(settings, one, each) for each, one in listed.items()}
    if name in _BY_OWN_WORDS:
        return in_force
    of_name = settings.of_files if name in _TYPED else settings.of_user
    taken = {parameter.name: parameter.default for parameter in command.params}
    for key in (
        "server",
        "model",
        "holdout",
        "profile",
        *(_OF_PACKS if name == "pack" else _OF_PRUNES if name == "prune" else ()),
    ):
        if key in taken:
            in_force[key] = _asked(of_name, key, taken[key])
    if "servers" in taken:
        in_force["servers"] = lambda: [server] if (server := of_name("server")) else None
    return in_force


def _asked(of: Callable[[str], Any], key: str, otherwise: Any) -> Callable[[], Any]:
    # Some versions of Click take a function's None for a value.
    return lambda: otherwise if (value := of(key)) is None else value


def project_file(folder: Path) -> Path | None:
    """Return the nearest `lamr.toml` from a folder up to its repository's root; outside of one, the folder's own."""
    try:
        folder = folder.absolute()
    except FileNotFoundError:  # the current folder is gone
        return None
    path = next((each / NAME for each in _up_to_root(folder) if os.path.lexists(each / NAME)), None)
    user = _user_file()
    return None if path is None or (user is not None and path.exists() and path.samefile(user)) else path


def _up_to_root(folder: Path) -> Iterator[Path]:
    above = [folder, *folder.parents]
    root = next((number for number, each in enumerate(above) if os.path.lexists(each / ".git")), 0)
    yield from above[: root + 1]


def _user_file() -> Path | None:
    try:
        path = config_folder() / NAME
    except RuntimeError:  # no home
        return None
    return path if os.path.lexists(path) else None


def _read(path: Path, *, follow: bool) -> dict[str, Any]:
    """Return a file's values.

    Raises:
        SettingsError: it is no regular file of a bounded size, no TOML, or has a key or a value that can't be used.
    """
    text = _text(path, follow)
    values = _parsed(path, text)
    for key, value in values.items():
        kind = KINDS.get(key)
        if kind is None:
            raise SettingsError(
                f"there is no setting {key!r}; there are {', '.join(KINDS)}", path=path, line=_line(text, key)
            )
        if not kind.fits(value):
            raise SettingsError(f"{key} must be {kind.expected}", path=path, line=_line(text, key))
    return values


def _text(path: Path, follow: bool) -> str:
    try:
        descriptor = os.open(path, _OPEN | (0 if follow else _NO_LINK))
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SettingsError("it is no regular file", path=path)
            if follow:
                _check_owner(path, status)
            data = os.read(descriptor, MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        why = "it is a link" if path.is_symlink() and not follow else f"can't be read: {error.strerror}"
        raise SettingsError(why, path=path) from error
    if len(data) > MOST_BYTES:
        raise SettingsError(f"it is larger than {MOST_BYTES >> 10} KiB", path=path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError("it isn't UTF-8", path=path, line=line) from error


def _check_owner(path: Path, status: os.stat_result) -> None:
    """Refuse a user's file that somebody else could have written, since it names a server and a model."""
    if not hasattr(os, "geteuid"):
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise SettingsError(f"it belongs to user {status.st_uid}", path=path)
    if status.st_mode & stat.S_IWOTH:
        raise SettingsError("everybody may write it: chmod o-w", path=path)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    toml = __import__("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        values: dict[str, Any] = toml.loads(text)
    except ValueError as error:  # TOMLDecodeError is one, and a number of thousands of digits is another
        place = _LINE.search(str(error))
        line = int(place[1]) if place and place[1] else len(text.splitlines()) if place else None
        words = _LINE.sub("", str(error)) if place else "a value is too long"
        raise SettingsError(f"it isn't TOML: {words[:1].lower()}{words[1:]}", path=path, line=line) from error
    except RecursionError as error:
        raise SettingsError("it nests too deep", path=path) from error
    return values


def _line(text: str, key: str) -> int | None:
    """The line that a key of a flat file stands on."""
    found = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]", text, re.MULTILINE)
    return None if found is None else text.count("\n", 0, found.start()) + 1
