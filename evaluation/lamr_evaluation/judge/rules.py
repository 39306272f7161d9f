"""Rules that make items: questions with choices and holes out of a file, and changes out of a history.

The rivals of a right choice are of the same file and kind as the truth, so that its form tells nothing. A hole is made
only where the next line names something that the code names, but not the lines just above. A change is a commit's
message, a file before it, and the lines that it changed."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lamr_postprocess import decode, detect_language, language_named
from lamr_postprocess.definitions import DefinitionSpan, definition_spans
from lamr_repositories.kinds import is_code, is_test, left_out_by_path

from lamr_evaluation import mirrors
from lamr_evaluation.judge.items import CHOICE, COMPLETION, PLACE, Item
from lamr_evaluation.records import bare_lines

MOST_CHARACTERS = 200_000  # Of a file; a longer one is seldom written by hand


@dataclass(frozen=True)
class ProjectFile:
    """One file."""

    project: str
    path: str
    text: str
    language: str


@dataclass(frozen=True)
class History:
    """A repository's git directory."""

    project: str
    place: Path


RIVALS = 3
_RIVALS_NEAR = 20  # values on either side of the truth that may be rivals
_LITERAL = r"(?P<value>-?\d[\d_]*(?:\.\d+)?|\"[^\"\\\n]{1,60}\"|'[^'\\\n]{1,60}'|True|False|true|false)"
_CONSTANT = re.compile(
    rf"^[ \t]*(?:[A-Za-z]+[ \t]+){{0,5}}(?P<name>[A-Z][A-Z0-9_]{{3,}})\b[^=\n;(]{{0,30}}=[ \t]*{_LITERAL}[ \t]*[;,]?"
    r"[ \t]*(?:(?:#|//).*)?$",
    re.MULTILINE,
)
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_SENTENCE = re.compile(r"^(.{20,160}?)(?:\.(?:\s|$)|\n\s*\n|\Z)", re.DOTALL)
_LONGEST_VALUE = 60  # characters
_LEAST_LINES = 4  # of a function that a question is about


def choices_of(source: ProjectFile) -> Iterator[Item]:
    """Yield every question with choices that a file gives."""
    for make in (_constants, _callers, _defaults, _descriptions):
        yield from make(source)


def _choice(
    source: ProjectFile, made: str, query: str, truth: str, rivals: Sequence[str], **more: object
) -> Item | None:
    """Return an item with its choices in the order of their texts; None where there are too few rivals."""
    others = [each for each in dict.fromkeys(rivals) if each != truth][:RIVALS]
    if len(others) < RIVALS:
        return None
    fields: dict[str, object] = {"code": source.text, "path": source.path, "project": source.project}
    fields |= {"language": source.language, "made": made, **more}
    return Item(CHOICE, query, answer=truth, choices=tuple(sorted((truth, *others))), **fields)  # type: ignore[arg-type]


def _nearest(values: Sequence[str], at: int) -> list[str]:
    places = range(max(at - _RIVALS_NEAR, 0), min(at + _RIVALS_NEAR + 1, len(values)))
    return [values[place] for place in sorted(places, key=lambda place: (abs(place - at), place))]


def _constants(source: ProjectFile) -> Iterator[Item]:
    found = list(_CONSTANT.finditer(source.text))
    names = Counter(each["name"] for each in found)
    for each, rivals in zip(found, _of_like_kind([each["value"] for each in found]), strict=True):
        if names[each["name"]] == 1:
            line = source.text.count("\n", 0, each.start("name")) + 1
            query = f"What is the value of {each['name']}?"
            item = _choice(source, "constant", query, each["value"], rivals, gold=(line,))
            if item is not None:
                yield item


def _of_like_kind(values: Sequence[str]) -> Iterator[list[str]]:
    alike: dict[str, list[str]] = defaultdict(list)
    for value in values:
        alike[_kind(value)].append(value)
    at: Counter[str] = Counter()
    for value in values:
        yield _nearest(alike[_kind(value)], at[_kind(value)])
        at[_kind(value)] += 1


def _kind(value: str) -> str:
    return "text" if value[0] in "\"'" else "truth" if value[0] in "TFtf" else "number"


def _functions(source: ProjectFile) -> list[DefinitionSpan]:
    spans = [
        each for each in definition_spans(source.text, language_named(source.language)) if each.is_function
    ]
    names = Counter(each.name for each in spans)
    return [each for each in spans if names[each.name] == 1 and not each.name.startswith("__")]


def _callers(source: ProjectFile) -> Iterator[Item]:
    """Ask which function calls another one that only one function of the file calls."""
    spans = _functions(source)
    heads = {each.name: each.head for each in spans}
    owner: dict[int, str] = {}  # rows of bodies; inner functions come later and own theirs
    for each in spans:
        owner.update(dict.fromkeys(range(each.head + 1, each.last + 1), each.name))
    calls: dict[str, list[int]] = defaultdict(list)
    for row, line in enumerate(bare_lines(source.text)):
        for name in set(_CALL.findall(line)) & heads.keys():
            if row != heads[name]:
                calls[name].append(row)
    names = list(heads)
    for name, rows in calls.items():
        callers = {owner.get(row) for row in rows}
        caller = callers.pop() if len(callers) == 1 else None
        if caller is None or caller == name:
            continue
        others = [each for each in names if each != name]
        item = _choice(
            source,
            "caller",
            f"Which function calls {name}?",
            caller,
            _nearest(others, others.index(caller)),
            gold=tuple(sorted({heads[caller] + 1, *(row + 1 for row in rows)})),
        )
        if item is not None:
            yield item


def _python_functions(source: ProjectFile) -> tuple[list[ast.FunctionDef], list[ast.FunctionDef]]:
    try:
        tree = ast.parse(source.text) if source.language == "python" else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], []
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    names = Counter(each.name for each in functions)
    return functions, [each for each in functions if names[each.name] == 1 and not each.name.startswith("__")]


def _defaults(source: ProjectFile) -> Iterator[Item]:
    functions, unique = _python_functions(source)
    found = [
        (each, argument, ast.unparse(default))
        for each in functions
        for argument, default in _with_defaults(each.args)
        if isinstance(default, ast.Constant)
        and isinstance(default.value, bool | int | float | str)
        and len(repr(default.value)) <= _LONGEST_VALUE
    ]
    alike = _of_like_kind([value for _, _, value in found])
    for (each, argument, value), rivals in zip(found, alike, strict=True):
        if each in unique:
            query = f"What is the default of the parameter {argument.arg} of {each.name}?"
            gold = tuple(sorted({each.lineno, argument.lineno}))
            item = _choice(source, "default", query, value, rivals, gold=gold)
            if item is not None:
                yield item


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    ordered = [*arguments.posonlyargs, *arguments.args]
    yield from zip(ordered[len(ordered) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument, default


def _descriptions(source: ProjectFile) -> Iterator[Item]:
    """Ask which function does what a docstring says; the docstring is cut out of the code."""
    unique = sorted(_python_functions(source)[1], key=lambda each: each.lineno)
    lines = bare_lines(source.text)
    for at, each in enumerate(unique):
        text, first = ast.get_docstring(each), each.body[0]
        sentence = _SENTENCE.match(text or "")
        last = each.end_lineno or each.lineno
        if (
            not sentence
            or last - (first.end_lineno or first.lineno) < _LEAST_LINES
            or first.lineno == each.lineno
        ):
            continue
        words = " ".join(sentence[1].split())
        if each.name.strip("_").lower() in words.lower().replace(" ", "_"):
            continue  # the question would name the answer
        cut = range(first.lineno - 1, first.end_lineno or first.lineno)
        code = "\n".join(line for row, line in enumerate(lines) if row not in cut) + "\n"
        gold = tuple(range(each.lineno, last - len(cut) + 1))
        item = _choice(
            source,
            "description",
            f"Which function does this: {words}?",
            each.name,
            _nearest([other.name for other in unique], at),
            code=code,
            gold=gold,
        )
        if item is not None:
            yield item


_HOLE_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_LEAST, _MOST = 12, 120  # characters of a line that is asked for
_STATEMENT = re.compile(r"^(?!#|//|/\*|\*|--|;|@|\"\"\"|''').*(?:\w\(|\s=\s|\w\[).*(?<!,)$")
"""Lines that do something: neither comments nor prose, and none of a list of arguments."""
_QUOTES = re.compile(r"\"\"\"|'''")
TAIL_LINES = 8  # Lines above a hole that every reader sees, and by which pruners know what is looked for
_BODY = 3  # rows of a function that stand above the hole


def completions_of(source: ProjectFile) -> Iterator[Item]:
    """Yield a hole for each function in the second half of a file that has one."""
    lines = bare_lines(source.text)
    opening = language_named(source.language).comment.opening
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, line in enumerate(lines):
        for name in set(_HOLE_NAME.findall(line)):
            rows_of[name].append(row)
    for each in definition_spans(source.text, language_named(source.language)):
        if not each.is_function or each.head < len(lines) // 2:
            continue
        in_text = 0
        for row in range(each.head + 1, each.last + 1):
            in_text ^= len(_QUOTES.findall(lines[row - 1])) % 2
            item = None if in_text or row < each.head + _BODY else _hole(source, lines, row, opening, rows_of)
            if item is not None:
                yield item
                break


def _hole(
    source: ProjectFile, lines: list[str], row: int, opening: str, rows_of: Mapping[str, Sequence[int]]
) -> Item | None:
    """Return the item whose answer is a row; None where the row asks for nothing that only the code knows."""
    line = lines[row]
    plain = line.strip()
    if not _LEAST <= len(plain) <= _MOST or plain.startswith(opening) or not _STATEMENT.search(plain):
        return None
    start = max(row - TAIL_LINES, 0)
    code, tail = lines[:start], lines[start:row]
    if not tail or not "".join(tail).strip():
        return None
    near = set(_HOLE_NAME.findall("\n".join(tail)))
    wanted = set(_HOLE_NAME.findall(line)) - near
    gold = tuple(sorted({place + 1 for name in wanted for place in rows_of[name] if place < start}))
    if not gold:
        return None
    about: dict[str, Any] = {"path": source.path, "project": source.project, "language": source.language}
    texts = ("\n".join(tail), "\n".join(code) + "\n", line)
    return Item(COMPLETION, *texts, gold=gold, made="next line in a function", **about)


MOST_COMMITS = 3000
_AT_ONCE = 100
_MOST_FILES = 3  # that a commit changes
_LEAST_WORDS = 4
_LARGEST = 0.2  # share of a file that may be changed
_TRAILER = re.compile(
    r"^\s*(?:[A-Z][\w-]*-by|Co-authored-by|Change-Id|Fixes|Closes|Refs?|See|BUG|PR)\b.*$", re.IGNORECASE
)
_REFERENCE = re.compile(r"\s*\(?(?:\b\w+/\w+)?#\d+\)?|https?://\S+|\b[0-9a-f]{8,40}\b")


def places_of(history: History) -> Iterator[Item]:
    """Yield an item for each file of the latest commits that change few files and say what for."""
    found = (
        (each, message)
        for each in mirrors.commits(history.place, "HEAD", MOST_COMMITS)
        if len(each.changes) <= _MOST_FILES and (message := _message(each.message))
    )
    while batch := list(islice(found, _AT_ONCE)):
        diffs = mirrors.diffs(history.place, [each.sha for each, _ in batch])
        changes = [
            (each, message, change) for each, message in batch for change in each.changes if _is_asked(change)
        ]
        contents = mirrors.blobs(history.place, [change.before for _, _, change in changes])
        for each, message, change in changes:
            data = contents.get(change.before)
            hunks = diffs.get(each.sha, {}).get(change.path, [])
            item = _change(history, f"commit {each.sha[:12]}", message, change.path, data, hunks)
            if item is not None:
                yield item


def _is_asked(change: mirrors.ChangedFile) -> bool:
    code = is_code(detect_language("", change.path).name)
    return change.status == "M" and code and not is_test(change.path) and not left_out_by_path(change.path)


def _message(text: str) -> str:
    """Return what a message says, without trailers, references and hashes; empty where that is too little."""
    kept = [line.rstrip() for line in text.splitlines() if not _TRAILER.match(line)]
    said = _REFERENCE.sub("", "\n".join(kept)).strip()
    return said if len(said.split()) >= _LEAST_WORDS else ""


def _change(  # noqa: PLR0913, PLR0917  # what a row of a history is
    history: History, made: str, message: str, path: str, data: bytes | None, hunks: list[mirrors.Hunk]
) -> Item | None:
    decoded = None if data is None or len(data) > MOST_CHARACTERS else decode(data)
    if decoded is None:
        return None
    code = decoded.text.replace("\r\n", "\n")
    lines = bare_lines(code)
    gold = sorted({row for hunk in hunks for row in _rows(hunk, len(lines)) if lines[row - 1].strip()})
    if not gold or len(gold) > _LARGEST * len(lines):
        return None
    language = detect_language(code, path).name
    about: dict[str, Any] = {"path": path, "project": history.project, "language": language, "made": made}
    return Item(PLACE, message, code, gold=tuple(gold), **about)


def _rows(hunk: mirrors.Hunk, count: int) -> range:
    if hunk.removed:
        return range(hunk.line, min(hunk.line + len(hunk.removed), count + 1))
    return range(max(hunk.line, 1), min(hunk.line + 1, count) + 1)
