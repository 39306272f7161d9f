"""Items that a reader is asked about: a question, code, and what is known of the answer.

A file of items holds one JSON object a line. Three fields are enough for questions of a user's own: `query`, `answer`,
and `code` or the `path` of a file. A row of `lamr eval` (`kept_frags` in place of an answer) asks where something must
change. `make` makes items by rules."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from lamr_base.errors import InvalidInputError
from lamr_postprocess import decode, detect_language
from lamr_postprocess.lines import line_spans
from lamr_repositories.folders import Folder
from lamr_repositories.kinds import is_code
from lamr_repositories.safe_root import NotBelowError, SafeRoot
from lamr_repositories.walk import WalkCount, WalkOptions, walk

from lamr_evaluation.records import Problem, Record, read_rows

CHOICE, COMPLETION, OPEN, PLACE = "choice", "completion", "open", "place"
"""The tasks' names: one of several answers, the next lines, an answer in words, the lines to change."""
TASK_NAMES = (CHOICE, COMPLETION, OPEN, PLACE)
MOST_FILE_BYTES = 64 << 20


@dataclass(frozen=True)
class Item:
    """One question about one text of code."""

    task: str  # one of `TASK_NAMES`
    query: str  # the question, the lines above the hole, or what a change is for
    code: str  # what is pruned: a file, or a repository's files after one another
    answer: str = ""  # the right choice, the true next lines, or words; empty where lines are to be changed
    choices: tuple[str, ...] = ()  # what can be chosen, the answer among them
    facts: tuple[str, ...] = ()  # what an answer in words must name, each in any case of letters
    gold: tuple[int, ...] = ()  # 1-based lines that the answer needs, or that are to be changed
    path: str = ""  # where the code comes from; for pruners and for grouping
    project: str = ""
    language: str = ""
    made: str = ""  # the rule that made the item; empty for others'
    id: str = ""  # a name that no other item of its file has, or empty
    row: int = field(default=0, compare=False)  # its 1-based line in its file; 0 when it wasn't read from one

    def __post_init__(self) -> None:
        if self.task not in TASK_NAMES:
            raise ValueError(f"task must be one of {', '.join(TASK_NAMES)}, not {self.task!r}")
        if not self.query.strip():
            raise ValueError("the query is empty")
        if self.task == PLACE:
            if not self.gold:
                raise ValueError("gold must name the lines to change")
        elif not self.answer.strip():
            raise ValueError("the answer is empty")
        if self.task == CHOICE and (len(set(self.choices)) < 2 or self.answer not in self.choices):
            raise ValueError("choices must be two or more different texts, the answer among them")
        lines = len(line_spans(self.code))
        if any(not 1 <= line <= lines for line in self.gold):
            raise ValueError(f"gold names lines outside the code, which has {lines}")
        if self.task == PLACE and lines == len(set(self.gold)):
            raise ValueError("gold names every line, so there is nothing to find")

    def to_json(self) -> str:
        """Return one line of JSON, without its line end, that `item_of` reads back equal."""
        row = {name: value for name, value in asdict(self).items() if value and name != "row"}
        return json.dumps(row, ensure_ascii=False)


_TEXTS = {each.name for each in fields(Item)} - {"choices", "facts", "gold", "row"}
_LISTS = {"choices": str, "facts": str, "gold": int}


def read_items(path: Path, on_problem: Callable[[Problem], None] | None = None) -> list[Item]:
    """Read a file of items; see `read_rows`. A row without code names a file by its `path`, which is relative to the
    items' folder; `.` names the whole folder."""
    return list(read_rows(path, lambda row, number: item_of(row, number, path.parent), on_problem))


def item_of(row: Any, number: int, root: Path) -> Item:
    if isinstance(row, dict) and "kept_frags" in row:
        return of_record(Record.from_row(row, number))
    if not isinstance(row, dict) or "query" not in row:
        raise ValueError("expected an object with query, answer, and code or path")
    given = {name: value for name, value in row.items() if value is not None}
    for name in _TEXTS & given.keys():
        if not isinstance(given[name], str):
            raise ValueError(f"{name} must be text, not {type(given[name]).__name__}")
    for name, kind in _LISTS.items():
        values = given.get(name, [])
        if not isinstance(values, list) or not all(type(each) is kind for each in values):
            raise ValueError(f"{name} must be a list of {'line numbers' if kind is int else 'texts'}")
        given[name] = tuple(values)
    if "code" not in given:
        given["code"] = _code_of(given.get("path", ""), root)
    task = given.get("task") or (CHOICE if given["choices"] else OPEN)
    known = {name: given[name] for name in (*_TEXTS, *_LISTS) if name in given}
    return Item(**{**known, "task": task, "row": number})


def of_record(record: Record) -> Item:
    """Return the item of a record: which lines does the query ask to change?"""
    same: dict[str, Any] = {
        name: getattr(record, name) for name in ("path", "project", "language", "id", "row")
    }
    return Item(PLACE, record.words, record.code, gold=record.kept_frags, made=record.kind, **same)


def _code_of(path: str, root: Path) -> str:
    if not path:
        raise ValueError("the row has neither code nor path")
    if path == ".":
        return whole_repository(root)
    try:
        with SafeRoot(root) as below:
            data = below.read(path, MOST_FILE_BYTES)
    except NotBelowError as error:
        raise ValueError(f"{path} leads out of {root}; name a file below it") from error
    except OSError as error:
        raise ValueError(f"{path} can't be read below {root} ({error.strerror})") from error
    decoded = None if data is None else decode(data)
    if decoded is None:
        raise ValueError(f"{path} is no file of text")
    return decoded.text


MOST_CHARACTERS = 64 << 20
HEADING = "# file: "


def whole_repository(root: Path) -> str:
    """Return the code of a folder's source files in the order of their paths, each below a comment with its path. Files
    that `lamr pack` leaves out (generated, vendored, with secrets) are left out, and so are prose and data."""
    parts: list[str] = []
    size = 0
    for listed, _, text in walk(Folder(root), WalkOptions(), WalkCount()):
        if is_code(detect_language("", listed.path).name):
            parts.append(f"{HEADING}{listed.path}\n{text.rstrip()}\n")
            size += len(text)
        if size > MOST_CHARACTERS:
            raise InvalidInputError(f"{root} has more than {MOST_CHARACTERS >> 20} MiB of source; name files")
    if not parts:
        raise InvalidInputError(f"{root} has no source file; name another folder")
    return "\n".join(parts)
