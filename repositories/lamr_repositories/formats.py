"""How a pack is written: one row of `FORMATS` a format.

A pack is a head, the tree, one part a file, the outlines of files that are not in it, and a tail, one after another, so
that each part's tokens can be counted by itself. `xml`, `markdown` and `plain` have the sections and marks of repomix's
formats, which people's prompts know; file contents stand in them as they are, names so that they can be seen: one that
holds a line's end forges no line. Where names or contents hold a format's marks, a number that they don't hold stands
in each of its own, and the head says so (`closed`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lamr_errors import visible
from lamr_postprocess import Cut

_RULE, _SHORT_RULE = "=" * 64, "=" * 16
_TICKS = re.compile(r"`{3,}")


@dataclass(frozen=True)
class About:
    """What the head says of a pack: the query, and the name of the repository."""

    query: str
    name: str

    @property
    def sentence(self) -> str:
        """What the pack is, for its reader."""
        return (
            f"This file holds the parts of {visible(self.name)} that a question is about. Lines that were left out are "
            "marked in comments with their numbers; files that are left out whole are listed by their definitions as "
            "far as room allowed."
        )


@dataclass(frozen=True)
class FileText:
    """One file of a pack: where it lies, its language by name, what is kept of it, and what was cut."""

    path: str
    language: str
    text: str
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True)
class Format:
    """One way to write a pack; made of text only, which its functions give.

    Attributes:
        head: what stands first.
        tree: the section of the tree.
        files: what stands before and after the parts of all files.
        file: one file's part.
        outlines: what stands before and after the outlines of all files.
        outline: one file's outline, from its path and its lines.
        between: what stands between two parts, and between two outlines.
        inside: how a line of a file looks inside its part.
        tail: what stands last.
    """

    head: Callable[[About], str]
    tree: Callable[[str], str]
    files: tuple[str, str]
    file: Callable[[FileText], str]
    outlines: tuple[str, str]
    outline: Callable[[str, Sequence[str]], str]
    between: str = ""
    inside: Callable[[str], str] = str
    tail: str = ""


def ended(text: str) -> str:
    """Return a text with a line end at its end."""
    return text if text.endswith(("\n", "\r")) else text + "\n"


def _indented(path: str, lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in (visible(path), *lines))


def _xml_attribute(text: str) -> str:
    return visible(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


_XML = Format(
    head=lambda about: (
        f"<file_summary>\n<purpose>\n{about.sentence}\n</purpose>\n<question>\n{about.query}\n</question>\n"
        "</file_summary>\n\n"
    ),
    tree=lambda text: f"<directory_structure>\n{text}\n</directory_structure>\n\n",
    files=("<files>\n\n", "</files>\n"),
    file=lambda each: f'<file path="{_xml_attribute(each.path)}">\n{ended(each.text)}</file>\n\n',
    outlines=("\n<outlines>\n", "</outlines>\n"),
    outline=_indented,
)


def _fence(text: str) -> str:
    """Return a fence that is longer than any in a text."""
    return "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(text))])


def _markdown_file(each: FileText) -> str:
    fence = _fence(each.text)
    name = each.language if each.language != "text" else ""
    return f"## File: {visible(each.path)}\n{fence}{name}\n{ended(each.text)}{fence}\n\n"


_MARKDOWN = Format(
    head=lambda about: f"# File Summary\n\n{about.sentence}\n\n## Question\n{about.query}\n\n",
    tree=lambda text: f"# Directory Structure\n```\n{text}\n```\n\n",
    files=("# Files\n\n", ""),
    file=_markdown_file,
    outlines=("# Outlines\n```\n", "```\n"),
    outline=_indented,
)


def _plain_title(title: str) -> str:
    return f"{_RULE}\n{title}\n{_RULE}\n"


_PLAIN = Format(
    head=lambda about: f"{_plain_title('File Summary')}{about.sentence}\n\nQuestion:\n{about.query}\n\n",
    tree=lambda text: f"{_plain_title('Directory Structure')}{text}\n\n",
    files=(_plain_title("Files") + "\n", ""),
    file=lambda each: f"{_SHORT_RULE}\nFile: {visible(each.path)}\n{_SHORT_RULE}\n{ended(each.text)}\n",
    outlines=(_plain_title("Outlines"), ""),
    outline=_indented,
)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_file(each: FileText) -> str:
    cuts = [[cut.start, cut.end] for cut in each.cuts]
    row = {"path": each.path, "language": each.language, "content": each.text, "cuts": cuts}
    return _dumped(row)


_JSON = Format(
    head=lambda about: f'{{"purpose": {_dumped(about.sentence)},\n"question": {_dumped(about.query)},\n',
    tree=lambda text: f'"directory_structure": {_dumped(text.splitlines())},\n',
    files=('"files": [\n', "\n]"),
    file=_json_file,
    outlines=(',\n"outlines": [\n', "\n]"),
    outline=lambda path, lines: _dumped({"path": path, "definitions": [line.strip() for line in lines]}),
    between=",\n",
    inside=lambda line: _dumped(line)[1:-1],
    tail="}\n",
)

FORMATS = {"xml": _XML, "markdown": _MARKDOWN, "plain": _PLAIN, "json": _JSON}
"""The formats by name; the first is the default."""
