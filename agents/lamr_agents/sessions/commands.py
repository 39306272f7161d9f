"""What shell commands show of files, told from the commands."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Read:
    """A read of a file, and the range that was asked for: 1-based, None where the tool was free."""

    path: str
    first: int | None = None
    last: int | None = None

    @property
    def ranged(self) -> bool:
        """Whether a part of the file was asked for."""
        return self.first is not None or self.last is not None


@dataclass(frozen=True)
class Print:
    """Code that a command prints and that no read of one file shows again: several files, or another revision."""

    name: str  # the same for the same files
    path: str  # of the first file, whose ending is that of them all


_CHANGE_FOLDER = re.compile(r"^\s*cd\s+(?P<folder>'[^'\n]+'|\"[^\"\n]+\"|\S+)\s*&&\s*")
_QUIET = re.compile(r"\s?2>\s*(?:/dev/null|&1)")
_COMPOUND = re.compile(r"[;&<>`\n]|\$\(|\|\|")
_LINES = re.compile(r"(\d+),(\d+|\$)p;?$")
_LONGEST = 20_000
"""Characters of a command that is looked at; a longer one is a script."""
_PRINTERS = frozenset({"cat", "nl", "bat", "less", "get-content"})


def read_by_command(command: str) -> Read | None:
    """The one file whose text a command prints: `cat`, `nl`, `sed -n A,Bp`, `head` or `tail -n +A`, alone or piped."""
    if len(command) > _LONGEST:
        return None
    folder = folder_of(command)
    command = _QUIET.sub("", _CHANGE_FOLDER.sub("", command.strip()))
    if _COMPOUND.search(command):
        return None
    files: list[str] = []
    first: int | None = None
    last: int | None = None
    for stage in command.split("|"):
        try:
            name, *words = shlex.split(stage)
        except ValueError:
            return None
        operands = [word for word in words if not word.startswith("-")]
        if name.lower() in _PRINTERS:
            files += [word for word in operands if word != "a" or name != "nl"]
        elif name == "sed" and "-n" in words and operands and (lines := _LINES.match(operands[0])):
            first, last = int(lines[1]), None if lines[2] == "$" else int(lines[2])
            files += operands[1:]
        elif name in ("head", "tail"):
            count, operands = _count(words, operands)
            if name == "head" and count.isdigit():
                last = (first or 1) + int(count) - 1
            elif name == "tail" and count.startswith("+"):
                first = int(count) if count[1:].isdigit() else None
            else:
                return None
            files += operands
        else:
            return None
    return Read(_within(folder, files[0]), first, last) if len(files) == 1 else None


def folder_of(command: str) -> str:
    """The folder that a command goes into before all else; empty where it stays, or where only a shell knows."""
    found = _CHANGE_FOLDER.match(command[:_LONGEST])
    return _plain(found["folder"].strip("'\"")) if found else ""


def _plain(folder: str) -> str:
    return "" if folder.startswith(("~", "-")) or "$" in folder else folder


def _within(folder: str, path: str) -> str:
    """A file's path from where the command began."""
    return posixpath.join(folder, path) if folder not in ("", ".") else path


def _count(words: list[str], operands: list[str]) -> tuple[str, list[str]]:
    """The number of lines that `head` or `tail` was given, and the operands without it."""
    if "-n" in words and operands:
        return operands[0], operands[1:]
    given = [re.sub(r"^(?:--lines=|-n|-)", "", word) for word in words if re.fullmatch(r"-\D*\+?\d+", word)]
    return given[0] if given else "10", operands


_SEPARATORS = frozenset({"&&", ";", "\n"})
_SILENT = frozenset({"true"})
_SPEAKERS = frozenset({"echo", "printf", "pwd"})
"""Commands that print a line or so between files."""


def print_by_command(command: str) -> Print | None:
    """The files that `cat` and `git show REVISION:PATH` print in a row, all of one ending and whole."""
    if len(command) > _LONGEST:
        return None
    files: list[str] = []
    folder = ""
    for words in _commands(_QUIET.sub("", command)):
        name, operands = words[0].lower(), [word for word in words[1:] if not word.startswith("-")]
        if name in ("cat", "bat"):
            files += [_within(folder, operand) for operand in operands]
        elif name == "git" and (shown := _revision(words)):
            files.append(_within(folder, shown))
        elif name == "cd":
            folder = _within(folder, _plain(operands[0])) if operands else ""
        elif name not in _SILENT | _SPEAKERS:
            return None
    endings = {re.sub(r".*[./:]", "", file.lower()) for file in files}
    if len(endings) != 1 or any("$" in file for file in files):
        return None
    return Print(" ".join(files), files[0].rpartition(":")[2])


def _revision(words: Sequence[str]) -> str | None:
    """The `REVISION:PATH` that `git show` is asked for, alone; None where it shows other things."""
    given = [word for word in words[1:] if word != "--no-pager"]
    given = given[2:] if given[:1] == ["-C"] else given
    shown = given[1] if len(given) == 2 and given[0] == "show" else ""
    return shown if ":" in shown.strip(":") else None


def _commands(script: str) -> list[list[str]]:
    """The words of each command of a script; one word that no table knows for a script that isn't a plain list."""
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|<>()\n")
    lexer.whitespace = " \t\r"
    lexer.commenters, lexer.whitespace_split = "", True
    found: list[list[str]] = [[]]
    try:
        words = list(lexer)
    except ValueError:
        return [[script]]
    for word in words:
        if set(word) <= set(";&|<>()\n"):
            if word.strip("\n") not in _SEPARATORS | {""}:
                return [[script]]
            found.append([])
        elif "`" in word or "$(" in word:
            return [[script]]
        else:
            found[-1].append(word)
    return [command for command in found if command]
