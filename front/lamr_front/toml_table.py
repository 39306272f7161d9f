"""A TOML file with the line of each value, and one table of it, whose values are taken out by name and type.

What is left over is a mistake. Values come from `tomllib`, which tells no lines; these are tree-sitter's.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timezone
from pathlib import Path
from typing import Any, TypeVar

from lamr_errors import how_to_install

from lamr_front.errors import FrontError, TenantsFileError

KeyPath = tuple[str | int, ...]  # of a value: names of tables and keys, and indices of arrays of tables


class TomlFile:
    """A file of TOML that was read.

    Attributes:
        path: where it lies.
        values: what `tomllib` gives.
    """

    def __init__(self, path: Path, text: str) -> None:
        """Read the text of a file.

        Raises:
            TenantsFileError: it isn't TOML.
        """
        self.path = path
        self.values = _load(path, text)
        self._lines = key_lines(text)

    def line(self, *path: str | int) -> int | None:
        """The line where a key stands, or the nearest table around it that the file names."""
        for end in range(len(path), 0, -1):
            if (line := self._lines.get(path[:end])) is not None:
                return line
        return None


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of each table header and key of valid TOML, counted from 1.

    Raises:
        FrontError: the extra `front` isn't installed.
    """
    try:
        import tree_sitter  # noqa: PLC0415
        import tree_sitter_toml  # noqa: PLC0415
    except ImportError as error:
        raise FrontError(f"{error.name} isn't installed: {how_to_install('front')}") from error
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    for node in parser.parse(text.encode()).root_node.named_children:
        if node.type == "pair":
            _note_pair((), node, lines)
        elif node.type in ("table", "table_array_element"):
            header, *rest = node.named_children
            names = _names(header)
            path: KeyPath = ()
            for place, name in enumerate(names):
                path = (*path, name)
                if node.type == "table_array_element" and place == len(names) - 1:
                    counts[path] = counts.get(path, 0) + 1
                    lines.setdefault(path, node.start_point[0] + 1)
                if path in counts:
                    path = (*path, counts[path] - 1)
            lines[path] = node.start_point[0] + 1
            for child in rest:
                if child.type == "pair":
                    _note_pair(path, child, lines)
    return lines


def _note_pair(prefix: KeyPath, node: Any, lines: dict[KeyPath, int]) -> None:
    key, *values = node.named_children
    path = (*prefix, *_names(key))
    lines[path] = node.start_point[0] + 1
    for value in values:
        if value.type == "inline_table":
            for pair in value.named_children:
                if pair.type == "pair":
                    _note_pair(path, pair, lines)
        elif value.type == "array":
            items = [item for item in value.named_children if item.type != "comment"]
            for index, item in enumerate(items):
                place: KeyPath = (*path, index)
                lines[place] = item.start_point[0] + 1


def _names(key: Any) -> list[str]:
    if key.type == "dotted_key":
        return [name for child in key.named_children for name in _names(child)]
    text = key.text.decode()
    return list(_tomllib().loads(f"{text} = 0")) if key.type == "quoted_key" else [text]


def _load(path: Path, text: str) -> dict[str, Any]:
    toml = _tomllib()
    try:
        values: dict[str, Any] = toml.loads(text)
    except toml.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        message = re.sub(r" \(at [^)]*\)$", "", str(error))
        last = text.count("\n") + 1
        raise TenantsFileError(
            f"not TOML: {message}", path=path, line=int(place[1]) if place else last
        ) from error
    return values


def _tomllib() -> Any:
    try:
        return __import__("tomllib" if sys.version_info >= (3, 11) else "tomli")
    except ImportError as error:
        raise FrontError(f"{error.name} isn't installed: {how_to_install('front')}") from error


T = TypeVar("T")
_WORDS: dict[type, str] = {
    str: "text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list of texts",
    dict: "a table",
    datetime: "a date (2027-01-31) or a time (2027-01-31T12:00:00Z)",
}


class Table:
    """A table of the file. `done` must be called when everything known has been taken."""

    def __init__(self, file: TomlFile, path: tuple[str | int, ...], values: dict[str, Any]) -> None:
        self._file = file
        self._path = path
        self._values = dict(values)
        self._known: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def fail(self, message: str, *names: str | int) -> TenantsFileError:
        """The error about a value of this table, or about the table itself, with its line."""
        path = (*self._path, *names)
        where = ".".join(str(name) for name in path if isinstance(name, str))
        return TenantsFileError(
            f"{where}: {message}" if where else message, path=self._file.path, line=self._file.line(*path)
        )

    def take(self, name: str, kind: type[T], accept: Callable[[T], str | None] = lambda _: None) -> T | None:
        """A value; None where the file has none.

        Args:
            name: its key.
            kind: `str`, `bool`, `int`, `float`, `list` (of texts), `dict` or `datetime` (a date counts as its
                beginning, and both are in UTC where they say nothing else).
            accept: what is wrong with a value; None if nothing is.

        Raises:
            TenantsFileError: the value is of another kind, or not accepted.
        """
        self._known.append(name)
        if name not in self._values:
            return None
        value = _as(kind, self._values.pop(name))
        if value is None:
            raise self.fail(f"must be {_WORDS[kind]}", name)
        if (problem := accept(value)) is not None:
            raise self.fail(problem, name)
        return value

    def take_or(self, name: str, default: T, accept: Callable[[T], str | None] = lambda _: None) -> T:
        """A value of the default's type; the default where the file has none. It raises what `take` raises."""
        value = self.take(name, type(default), accept)
        return default if value is None else value

    def table(self, name: str) -> Table:
        """A table within this one, empty where the file has none."""
        return Table(self._file, (*self._path, name), self.take_or(name, dict[str, Any]()))

    def tables(self, name: str) -> Iterator[tuple[str, Table]]:
        """The tables under a name, each with its own name."""
        for key, value in (self.take_or(name, dict[str, Any]())).items():
            if not isinstance(value, dict):
                raise self.fail(f"must be {_WORDS[dict]}", name, key)
            yield key, Table(self._file, (*self._path, name, key), value)

    def array(self, name: str) -> Iterator[Table]:
        """The tables of an array of tables."""
        self._known.append(name)
        values = self._values.pop(name, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise self.fail(f"must be tables that begin with [[…{name}]]", name)
        for index, value in enumerate(values):
            yield Table(self._file, (*self._path, name, index), value)

    def done(self) -> None:
        """Refuse what nobody took.

        Raises:
            TenantsFileError: names a key that isn't known, and the one that was probably meant.
        """
        for name in self._values:
            near = difflib.get_close_matches(name, self._known, 1)
            meant = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(self._known))}"
            raise self.fail(f"not known here; {meant}", name)


def _as(kind: type[T], value: Any) -> T | None:
    if kind is datetime:
        return _time_of(value)  # type: ignore[return-value]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is list and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return None
    return value if isinstance(value, kind) and isinstance(value, bool) == (kind is bool) else None


def _time_of(value: Any) -> datetime | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)
