"""A `lamr.toml`: which keys there are, what they take, and the user's own file, which commands and agents read.

The user's file names the server, which code is sent to, and the model, which is code itself. So nobody else may be able
to write it."""

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from lamr_base.choices import EffortName, ProfileName
from lamr_base.errors import LamrError
from lamr_base.expressions import expression
from lamr_base.lazy import toml_parser
from lamr_base.private_files import config_folder
from lamr_base.records import dataclass

NAME = "lamr.toml"
MOST_BYTES = 16 << 10
MOST_PATTERNS = 256
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# A FIFO would hold the opening.
_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_LINE = expression(r" \(at line (\d+), column \d+\)| \(at end of document\)")


class SettingsError(LamrError):
    """A `lamr.toml` can't be used.

    Attributes:
        path: the file.
        line: its line that is wrong, from 1; None where it is the file as a whole."""

    def __init__(self, message: str, *, path: Path, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {message}")
        self.path, self.line = path, line


@dataclass(frozen=True)
class _Kind:
    """What a key takes."""

    expected: str  # in words
    fits: Callable[[Any], bool]  # whether a value can be used
    of_projects: bool  # whether a project's file may set it


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _one_of(choices: Any) -> _Kind:
    words = get_args(choices)
    return _Kind(f"one of {', '.join(words)}", lambda value: value in words, False)


KINDS = {
    "server": _Kind("a text, HOST:PORT or https://HOST", _is_text, False),
    "model": _Kind("a text, the folder of a model repository", _is_text, False),
    "tokenizer": _Kind("a text, a tokenizer's name or file", _is_text, False),
    "effort": _one_of(EffortName),
    "within": _Kind(
        "seconds, a number above 0",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1 << 31,
        False,
    ),
    "profile": _one_of(ProfileName),
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


def users_settings() -> dict[str, Any]:
    """Return what the user's file sets; nothing where there is none. Raises `SettingsError`: it can't be used."""
    path = users_file()
    values = {} if path is None else read_settings(path, follow=True)
    if path is not None and "model" in values:
        values["model"] = str(path.parent / Path(values["model"]).expanduser())
    if path is not None and "tokenizer" in values:
        file = path.parent / Path(values["tokenizer"]).expanduser()
        values["tokenizer"] = str(file) if file.is_file() else values["tokenizer"]
    return values


def users_file() -> Path | None:
    """Return the user's own file; None where there is none."""
    try:
        path = config_folder() / NAME
    except RuntimeError:  # no home
        return None
    return path if os.path.lexists(path) else None


def read_settings(path: Path, *, follow: bool) -> dict[str, Any]:
    """Return a file's values. `follow`: whether it may be a link, as the user's own may. Raises `SettingsError`: it
    is no regular file of a bounded size, no TOML, or has a key or a value that can't be used."""
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
    try:
        values: dict[str, Any] = toml_parser().loads(text)
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
