"""How a pack is written: one row of `FORMATS` a format.

A pack is a head, the tree, one part a file, the outlines of files that are not in it, and a tail, one after another, so
that each part's tokens can be counted by itself. `xml`, `markdown` and `plain` have the sections and marks of repomix's
formats, which people's prompts know; file contents stand in them as they are, names so that they can be seen: one that
holds a line's end forges no line. Where names or contents hold a format's marks, a number that they don't hold stands
in each of its own, and the head says so (`closed`)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from lamr_base.errors import visible
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_postprocess import Cut

_RULE, _SHORT_RULE = "=" * 64, "=" * 16
_TICKS = expression(r"`{3,}")
_MARK_FIRST = expression(r"^( *)((?:`{3}|File: ).*)$", re.MULTILINE)
_TAG = expression(
    r"</?(?:file_summary|purpose|question|directory_structure|files?|outlines)\b", re.IGNORECASE
)
_TITLE = r"(?:File: [^\r\n]*|File Summary|Directory Structure|Files|Outlines)[ \t]*"
_RULED = expression(rf"^={{16}}[^\r\n]*[\r\n]+{_TITLE}|^{_TITLE}[\r\n]+={{16}}", re.MULTILINE)
_MARKED = "Only marks with {mark} are this file's own; others are contents.\n"


@dataclass(frozen=True)
class PackHead:
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
class PackFormat:
    """One way to write a pack; made of text only, which its functions give."""

    head: Callable[[PackHead], str]  # what stands first
    tree: Callable[[str], str]  # the section of the tree
    files: tuple[str, str]  # what stands before and after the parts of all files
    file: Callable[[FileText], str]  # one file's part
    outlines: tuple[str, str]  # what stands before and after the outlines of all files
    outline: Callable[[str, Sequence[str]], str]  # one file's outline, from its path and its lines
    between: str = ""  # what stands between two parts, and between two outlines
    inside: Callable[[str], str] = str  # how a line of a file looks inside its part
    tail: str = ""  # what stands last
    # from the names and from the contents of a pack, what its own marks must carry to be told from these; empty where
    # they have none of the format's marks
    mark: Callable[[str, str], str] = lambda _names, _contents: ""
    marked: Callable[[str], PackFormat] | None = None  # the format whose marks carry that

    def closed(self, names: Sequence[str], contents: Sequence[str]) -> PackFormat:
        """Return the format as nothing in names and contents can end or imitate it."""
        mark = self.mark("\n".join(map(visible, names)), "\n".join(contents))
        return self.marked(mark) if mark and self.marked else self


def ended(text: str) -> str:
    """Return a text with a line end at its end."""
    return text if text.endswith("\n") else text + "\n"


def _indented(path: str, lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in (visible(path), *lines))


def _xml_attribute(text: str) -> str:
    return visible(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _free_number(imitated: re.Pattern[str], text: str) -> str:
    """Return the least number that a text doesn't hold; nothing for a text that imitates no mark."""
    held = set(re.findall(r"\d+", text)) if imitated.search(text) else None
    return "" if held is None else next(each for each in map(str, itertools.count(1)) if each not in held)


def _xml(mark: str = "") -> PackFormat:
    end = f"-{mark}" if mark else ""
    said = _MARKED.format(mark=end) if mark else ""
    return PackFormat(
        head=lambda about: (
            f"<file_summary{end}>\n<purpose{end}>\n{about.sentence}\n{said}</purpose{end}>\n<question{end}>\n"
            f"{about.query}\n</question{end}>\n</file_summary{end}>\n\n"
        ),
        tree=lambda text: f"<directory_structure{end}>\n{text}\n</directory_structure{end}>\n\n",
        files=(f"<files{end}>\n\n", f"</files{end}>\n"),
        file=lambda each: (
            f'<file{end} path="{_xml_attribute(each.path)}">\n{ended(each.text)}</file{end}>\n\n'
        ),
        outlines=(f"\n<outlines{end}>\n", f"</outlines{end}>\n"),
        outline=_indented,
        mark=lambda names, contents: _free_number(_TAG, f"{names}\n{contents}"),
        marked=_xml,
    )


def _fence(text: str) -> str:
    """Return a fence that is longer than any in a text."""
    return "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(text))])


def _markdown_file(each: FileText) -> str:
    fence = _fence(each.text)
    name = each.language if each.language != "text" else ""
    return f"## File: {visible(each.path)}\n{fence}{name}\n{ended(each.text)}{fence}\n\n"


def _quoted(rows: str) -> str:
    """Return rows of names in which one that begins as a fence or a title does stands in quotes."""
    return _MARK_FIRST.sub(r'\1"\2"', rows)


def _markdown(fence: str = "```") -> PackFormat:
    return PackFormat(
        head=lambda about: f"# File Summary\n\n{about.sentence}\n\n## Question\n{about.query}\n\n",
        tree=lambda text: f"# Directory Structure\n{fence}\n{_quoted(text)}\n{fence}\n\n",
        files=("# Files\n\n", ""),
        file=_markdown_file,
        outlines=(f"# Outlines\n{fence}\n", f"{fence}\n"),
        outline=lambda path, lines: _quoted(_indented(path, lines)),
        mark=lambda names, _contents: _fence(names),
        marked=_markdown,
    )


def _plain(mark: str = "") -> PackFormat:
    end = f" {mark}" if mark else ""
    rule, said = f"{_SHORT_RULE}{end}\n", _MARKED.format(mark=mark) if mark else ""

    def title(words: str) -> str:
        return f"{_RULE}{end}\n{words}\n{_RULE}{end}\n"

    return PackFormat(
        head=lambda about: f"{title('File Summary')}{about.sentence}\n{said}\nQuestion:\n{about.query}\n\n",
        tree=lambda text: f"{title('Directory Structure')}{_quoted(text)}\n\n",
        files=(title("Files") + "\n", ""),
        file=lambda each: f"{rule}File: {visible(each.path)}\n{rule}{ended(each.text)}\n",
        outlines=(title("Outlines"), ""),
        outline=lambda path, lines: _quoted(_indented(path, lines)),
        mark=lambda names, contents: _free_number(_RULED, f"{names}\n{contents}"),
        marked=_plain,
    )


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _dumped_names(value: Any) -> str:
    """Return names as JSON, in which what can't be seen is escaped."""
    text = _dumped(value)
    return text if visible(text) == text else json.dumps(value)


def _json_file(each: FileText) -> str:
    about = _dumped_names({"path": each.path, "language": each.language})
    cuts = [[cut.start, cut.end] for cut in each.cuts]
    return f"{about[:-1]}, {_dumped({'content': each.text, 'cuts': cuts})[1:]}"


_JSON = PackFormat(
    head=lambda about: f'{{"purpose": {_dumped(about.sentence)},\n"question": {_dumped(about.query)},\n',
    tree=lambda text: f'"directory_structure": {_dumped_names(text.splitlines())},\n',
    files=('"files": [\n', "\n]"),
    file=_json_file,
    outlines=(',\n"outlines": [\n', "\n]"),
    outline=lambda path, lines: _dumped_names(
        {"path": path, "definitions": [line.strip() for line in lines]}
    ),
    between=",\n",
    inside=lambda line: _dumped(line)[1:-1],
    tail="}\n",
)

FORMATS = {"xml": _xml(), "markdown": _markdown(), "plain": _plain(), "json": _JSON}
"""The formats by name; the first is the default."""
