"""Questions with one right choice, out of a file: a constant's value, a default, who calls a function, what does what.

The rivals are of the same file and of the same kind as the truth, so that the form of a choice tells nothing.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from lamr_postprocess import language_named
from lamr_postprocess.definitions import DefinitionSpan, definition_spans

from lamr_evaluation.judge.items import CHOICE, Item
from lamr_evaluation.judge.making.sources import ProjectFile
from lamr_evaluation.records import bare_lines

RIVALS = 3
_NEAR = 20  # values on either side of the truth that may be rivals
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


def _item(
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
    """Return the values that stand nearest to one of them, the nearest first."""
    places = range(max(at - _NEAR, 0), min(at + _NEAR + 1, len(values)))
    return [values[place] for place in sorted(places, key=lambda place: (abs(place - at), place))]


def _constants(source: ProjectFile) -> Iterator[Item]:
    found = [(each["name"], each["value"], each.start("name")) for each in _CONSTANT.finditer(source.text)]
    names = Counter(name for name, _, _ in found)
    values: dict[str, list[str]] = defaultdict(list)
    for _, value, _ in found:
        values[_kind(value)].append(value)
    at: Counter[str] = Counter()
    for name, value, offset in found:
        same = values[_kind(value)]
        rivals = _nearest(same, at[_kind(value)])
        at[_kind(value)] += 1
        if names[name] == 1:
            line = source.text.count("\n", 0, offset) + 1
            item = _item(source, "constant", f"What is the value of {name}?", value, rivals, gold=(line,))
            if item is not None:
                yield item


def _kind(value: str) -> str:
    return "text" if value[0] in "\"'" else "truth" if value[0] in "TFtf" else "number"


def _functions(source: ProjectFile) -> list[DefinitionSpan]:
    """Return the functions of a file whose names are unique in it."""
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
        item = _item(
            source,
            "caller",
            f"Which function calls {name}?",
            caller,
            _nearest(others, others.index(caller)),
            gold=tuple(sorted({heads[caller] + 1, *(row + 1 for row in rows)})),
        )
        if item is not None:
            yield item


def _tree(source: ProjectFile) -> ast.Module | None:
    if source.language != "python":
        return None
    try:
        return ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _defaults(source: ProjectFile) -> Iterator[Item]:
    """Ask for the default of a parameter of a Python function."""
    tree = _tree(source)
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)] if tree else []
    names = Counter(each.name for each in functions)
    found = [
        (each, argument, ast.unparse(default))
        for each in functions
        for argument, default in _with_defaults(each.args)
        if isinstance(default, ast.Constant)
        and isinstance(default.value, bool | int | float | str)
        and len(repr(default.value)) <= _LONGEST_VALUE
    ]
    values: dict[str, list[str]] = defaultdict(list)
    for _, _, value in found:
        values[_kind(value)].append(value)
    at: Counter[str] = Counter()
    for each, argument, value in found:
        rivals = _nearest(values[_kind(value)], at[_kind(value)])
        at[_kind(value)] += 1
        if names[each.name] == 1 and not each.name.startswith("__"):
            query = f"What is the default of the parameter {argument.arg} of {each.name}?"
            gold = tuple(sorted({each.lineno, argument.lineno}))
            item = _item(source, "default", query, value, rivals, gold=gold)
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
    tree = _tree(source)
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)] if tree else []
    names = Counter(each.name for each in functions)
    unique = sorted(
        (each for each in functions if names[each.name] == 1 and not each.name.startswith("__")),
        key=lambda each: each.lineno,
    )
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
        item = _item(
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
