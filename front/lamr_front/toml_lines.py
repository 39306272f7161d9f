"""TOML with the line of each value, which the standard library's reader doesn't tell.

Values come from `tomllib`, lines from tree-sitter's grammar.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

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
