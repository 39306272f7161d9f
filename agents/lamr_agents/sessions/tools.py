"""Reads and edits of files by the tools of coding agents: tool names, input keys, and shell commands."""

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_agents.sessions.events import SHELL

READERS = frozenset(
    [
        "read",
        "view",
        "read_file",
        "view_file",
        "open",
        "file_editor",
        "str_replace_editor",
        "str_replace_based_edit_tool",
    ]
)
_EDITORS = """
    edit multiedit replace write write_file create create_file edit_file file_editor str_replace search_replace
    str_replace_editor str_replace_based_edit_tool
    """
EDITORS = frozenset(_EDITORS.split())
PATCHERS = frozenset({"apply_patch", "patch"})
_SHELLS = """
    bash exec_command execute_bash powershell run_shell_command shell_command container.exec run_terminal_cmd terminal
    local_shell
    """
SHELLS = frozenset({SHELL, *_SHELLS.split()})
SEARCHERS = frozenset({"grep", "rg", "grep_search", "search", "codesearch", "search_file_content"})

_PATH = ("file_path", "path", "filePath", "absolute_path", "target_file", "filename")
_FIRST = ("offset", "start_line", "startLine", "start_line_one_indexed")
_LAST = ("end_line", "endLine", "end_line_one_indexed_inclusive")
_COUNT = ("limit",)
_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text", "search")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text", "content", "file_text", "replace")
_PARTS = ("edits", "replacements")
_PATCH = ("input", "patch", "patchText", "diff")
_COMMAND = ("cmd", "command", "input", "script")
_PATTERN = ("pattern", "query", "regex", "search_term")
_DESCRIPTION = ("description", "explanation", "instruction", "intent", "summary")
QUESTION = "context_focus_question"
_SEARCH = expression(r"(?:cd\s+\S+\s*&&\s*)?(?:grep|rg|ag|git\s+grep)\s.*\s(\S+)$", re.DOTALL)
_ENDING = expression(r"\w\.\w+$")
_FARTHEST = 1 << 31  # the last line that a range can name
_BEGIN_PATCH = "*** Begin Patch"
_CHANGE_FOLDER = expression(r"^\s*cd\s+(?P<folder>'[^'\n]+'|\"[^\"\n]+\"|\S+)\s*&&\s*")
_QUIET = expression(r"\s?2>\s*(?:/dev/null|&1)")
_COMPOUND = expression(r"[;&<>`\n]|\$\(|\|\|")
_LINES = expression(r"(\d+),(\d+|\$)p;?$")
_LONGEST = 20_000  # characters of a command that is looked at; a longer one is a script
_PRINTERS = frozenset({"cat", "nl", "bat", "less", "get-content"})
_SEPARATORS = frozenset({"&&", ";", "\n"})
_SILENT = frozenset({"true"})
_SPEAKERS = frozenset({"echo", "printf", "pwd"})  # commands that print a line or so between files


@dataclass(frozen=True)
class Read:
    """A read of a file, and the range that was asked for: 1-based, None where the tool was free."""

    path: str
    first: int | None = None
    last: int | None = None

    @property
    def ranged(self) -> bool:
        return self.first is not None or self.last is not None


@dataclass(frozen=True)
class Print:
    """Code that a command prints and that no read of one file shows again: several files, or another revision."""

    name: str  # equal for equal files
    path: str  # the first file's; all files have the same ending


@dataclass(frozen=True)
class Edit:
    """An edit of a file: the text that it takes out, None where it writes the whole file, and the new text."""

    path: str
    old: str | None
    new: str


def read_of(tool: str, arguments: Mapping[str, Any]) -> Read | None:
    """The file that a call reads; None where it reads none or more than one."""
    command = command_of(tool, arguments)
    if command is not None:
        return _read_by(command)
    if tool.lower() not in READERS or arguments.get("command", "view") != "view":
        return None
    path = _value(arguments, _PATH)
    if not isinstance(path, str):
        return None
    window = arguments.get("view_range")
    if isinstance(window, list) and len(window) == 2:
        last = _integer(window[1])
        return Read(path, _integer(window[0]), None if last == -1 else last)
    first, last, count = (_integer(_value(arguments, names)) for names in (_FIRST, _LAST, _COUNT))
    if last is None and count is not None:
        last = (first or 1) + count - 1
    return Read(path, first, last)


def print_of(tool: str, arguments: Mapping[str, Any]) -> Print | None:
    """The files that a call prints in a row by `cat` and `git show REVISION:PATH`, all of one ending and whole."""
    command = command_of(tool, arguments)
    if command is None or len(command) > _LONGEST:
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


def shown_by(tool: str, arguments: Mapping[str, Any]) -> tuple[Read, str] | None:
    """The code that a call shows: a read of one file, or that of a `Print` with its name; None where it shows none."""
    read = read_of(tool, arguments)
    printed = None if read else print_of(tool, arguments)
    return (read, "") if read else (Read(printed.path), printed.name) if printed else None


def edits_of(tool: str, arguments: Mapping[str, Any]) -> Iterator[Edit]:
    """The edits that a call makes, without those that shell commands make by other means than a patch."""
    name, command = tool.lower(), command_of(tool, arguments)
    if name in PATCHERS or (command is not None and _BEGIN_PATCH in command):
        patch = command or _value(arguments, _PATCH)
        if isinstance(patch, str):
            yield from patch_edits(patch)
        return
    path = _value(arguments, _PATH)
    if name not in EDITORS or arguments.get("command") == "view" or not isinstance(path, str):
        return
    for part in _parts(arguments):
        old, new = _value(part, _OLD), _value(part, _NEW)
        if isinstance(old, str) or isinstance(new, str):
            yield Edit(path, old if isinstance(old, str) else None, new if isinstance(new, str) else "")


def command_of(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """The shell command that a call runs; None where it runs none."""
    if tool.lower() not in SHELLS:
        return None
    command = _value(arguments, _COMMAND)
    if isinstance(command, list):  # ["bash", "-lc", "…"]
        command = command[-1] if command else None
    return command if isinstance(command, str) else None


def pattern_of(tool: str, arguments: Mapping[str, Any]) -> str:
    pattern = _value(arguments, _PATTERN) if tool.lower() in SEARCHERS else None
    return pattern if isinstance(pattern, str) else ""


def searched_file(tool: str, arguments: Mapping[str, Any]) -> str:
    """The one file that a call searches, so that what it prints names no file; empty where it searches none or more."""
    command = command_of(tool, arguments)
    if command is not None:
        words = _SEARCH.match(command.split("|")[0].strip())
        last = words[1].strip("'\"") if words else ""
    else:
        path = _value(arguments, _PATH) if tool.lower() in SEARCHERS else None
        last = path if isinstance(path, str) else ""
    return last if _ENDING.search(last) else ""


def same_file(one: str, other: str) -> bool:
    """Whether two paths can name one file of a session: they are equal, or one ends on the other."""
    one, other = (path.replace("\\", "/").removeprefix("./") for path in (one, other))
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def description_of(arguments: Mapping[str, Any]) -> str:
    """The description that the assistant gives in a call's input; empty if none."""
    description = _value(arguments, _DESCRIPTION)
    return description if isinstance(description, str) else ""


def question_of(arguments: Mapping[str, Any]) -> str:
    """The focus question that the assistant passes with a call, by the name that SWE-Pruner's users give it."""
    question = arguments.get(QUESTION)
    return question if isinstance(question, str) else ""


def _value(arguments: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((arguments[name] for name in names if arguments.get(name) not in (None, "")), None)


def _integer(value: Any) -> int | None:
    try:
        return max(-_FARTHEST, min(int(value), _FARTHEST))
    except (TypeError, ValueError, OverflowError):
        return None


def _parts(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = _value(arguments, _PARTS)
    if isinstance(parts, str):
        try:
            parts = json.loads(parts)
        except (ValueError, RecursionError):
            return []
    if not isinstance(parts, list):
        return [arguments]
    return [part for part in parts if isinstance(part, Mapping)]


_PATCH_FILE = expression(r"\*\*\* (?P<action>\w+) File: (?P<path>.+)|--- (?:a/)?(?P<old>\S+)")
_HUNK_ENDS = ("*** ", "@@", "diff --git", "index ", "+++ ")


def patch_edits(patch: str) -> Iterator[Edit]:
    """The edits of a patch, one a hunk; context and removed lines are its old text, added files give none."""
    path = ""
    old: list[str] = []
    new: list[str] = []
    for line in [*patch.rstrip("\n").split("\n"), "*** End Patch"]:
        header = _PATCH_FILE.match(line)
        if header or line.startswith(_HUNK_ENDS):
            if path and old:
                yield Edit(path, "\n".join(old), "\n".join(new))
            old, new = [], []
            if header:
                path = "" if header["action"] == "Add" else header["path"] or header["old"]
        elif line[:1] in ("-", " ", ""):
            old.append(line[1:])
            if line[:1] != "-":
                new.append(line[1:])
        elif line[0] == "+":
            new.append(line[1:])


def _read_by(command: str) -> Read | None:
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
    """The folder that a command changes to first; empty where it stays, or where only a shell knows."""
    found = _CHANGE_FOLDER.match(command[:_LONGEST])
    return _plain(found["folder"].strip("'\"")) if found else ""


def _plain(folder: str) -> str:
    return "" if folder.startswith(("~", "-")) or "$" in folder else folder


def _within(folder: str, path: str) -> str:
    return posixpath.join(folder, path) if folder not in ("", ".") else path


def _count(words: list[str], operands: list[str]) -> tuple[str, list[str]]:
    """The number of lines that `head` or `tail` was given, and the operands without it."""
    if "-n" in words and operands:
        return operands[0], operands[1:]
    given = [re.sub(r"^(?:--lines=|-n|-)", "", word) for word in words if re.fullmatch(r"-\D*\+?\d+", word)]
    return given[0] if given else "10", operands


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
