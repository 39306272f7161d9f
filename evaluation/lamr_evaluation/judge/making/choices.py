"""Questions with one right choice, out of a file: a constant's value, a default, who calls a function, what does what.

The rivals are of the same file and of the same kind as the truth, so that the form of a choice tells nothing.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from lamr_postprocess import language_named
from lamr_postprocess.definition_spans import DefinitionSpan, definition_spans

from lamr_evaluation.judge.items import CHOICE, Item
from lamr_evaluation.judge.making.sources import SourceFile
from lamr_evaluation.records import bare_lines

RIVALS = 3
_LITERAL = r"(?P<value>-?\d[\d_]*(?:\.\d+)?|\"[^\"\\\n]{1,60}\"|'[^'\\\n]{1,60}'|True|False|true|false)"
_CONSTANT = re.compile(
    rf"^[ \t]*(?:[A-Za-z]+[ \t]+){{0,5}}(?P<name>[A-Z][A-Z0-9_]{{3,}})\b[^=\n;(]{{0,30}}=[ \t]*{_LITERAL}[ \t]*[;,]?"
    r"[ \t]*(?:(?:#|//).*)?$",
    re.MULTILINE,
)
_SENTENCE = re.compile(r"^(.{20,160}?)(?:\.(?:\s|$)|\n\s*\n|\Z)", re.DOTALL)
_LEAST_LINES = 4  # of a function that a question is about


def choices_of(source: SourceFile) -> Iterator[Item]:
    """Yield every question with choices that a file gives."""
    for make in (_constants, _callers, _defaults, _descriptions):
        yield from make(source)


def _item(
    source: SourceFile, made: str, query: str, truth: str, rivals: Sequence[str], **more: object
) -> Item | None:
    """Return an item with its choices in the order of their texts; None where there are too few rivals."""
    others = [each for each in dict.fromkeys(rivals) if each != truth][:RIVALS]
    if len(others) < RIVALS:
        return None
    fields: dict[str, object] = {"code": source.text, "path": source.path, "project": source.project}
    fields |= {"language": source.language, "made": made, **more}
    return Item(CHOICE, query, answer=truth, choices=tuple(sorted((truth, *others))), **fields)  # type: ignore[arg-type]


def _nearest(values: Sequence[str], at: int) -> list[str]:
    """Return values in the order of how near they stand to one of them."""
    return [values[place] for place in sorted(range(len(values)), key=lambda place: (abs(place - at), place))]


def _constants(source: SourceFile) -> Iterator[Item]:
    found = [(each["name"], each["value"], each.start("name")) for each in _CONSTANT.finditer(source.text)]
    names = Counter(name for name, _, _ in found)
    for at, (name, value, offset) in enumerate(found):
        kind = _kind(value)
        same = [(n, other) for n, (_, other, _) in enumerate(found) if _kind(other) == kind]
        rivals = _nearest([other for _, other in same], [n for n, _ in same].index(at))
        if names[name] == 1:
            line = source.text.count("\n", 0, offset) + 1
            item = _item(source, "constant", f"What is the value of {name}?", value, rivals, gold=(line,))
            if item is not None:
                yield item


def _kind(value: str) -> str:
    return "text" if value[0] in "\"'" else "truth" if value[0] in "TFtf" else "number"


def _functions(source: SourceFile) -> list[DefinitionSpan]:
    """Return the functions of a file whose names are unique in it."""
    spans = [
        each for each in definition_spans(source.text, language_named(source.language)) if each.is_function
    ]
    names = Counter(each.name for each in spans)
    return [each for each in spans if names[each.name] == 1 and not each.name.startswith("__")]


def _callers(source: SourceFile) -> Iterator[Item]:
    """Ask which function calls another one that only one function of the file calls."""
    lines = bare_lines(source.text)
    spans = _functions(source)
    bodies = {each.name: range(each.head + 1, each.last + 1) for each in spans}
    for each in spans:
        call = re.compile(rf"\b{re.escape(each.name)}\s*\(")
        rows = [row for row, line in enumerate(lines) if call.search(line) and row != each.head]
        callers = [name for name, body in bodies.items() if any(row in body for row in rows)]
        if len(callers) == 1 and callers[0] != each.name and all(row in bodies[callers[0]] for row in rows):
            others = [name for name in bodies if name not in (each.name, callers[0])]
            at = [name for name in bodies if name in (*others, callers[0])].index(callers[0])
            rivals = _nearest([*others[:at], callers[0], *others[at:]], at)
            head = next(span.head for span in spans if span.name == callers[0])
            item = _item(
                source,
                "caller",
                f"Which function calls {each.name}?",
                callers[0],
                rivals,
                gold=tuple(sorted({head + 1, *(row + 1 for row in rows)})),
            )
            if item is not None:
                yield item


def _tree(source: SourceFile) -> ast.Module | None:
    if source.language != "python":
        return None
    try:
        return ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _defaults(source: SourceFile) -> Iterator[Item]:
    """Ask for the default of a parameter of a Python function."""
    tree = _tree(source)
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)] if tree else []
    names = Counter(each.name for each in functions)
    found = [
        (each, argument, ast.unparse(default))
        for each in functions
        for argument, default in _with_defaults(each.args)
        if isinstance(default, ast.Constant) and default.value is not None and default.value is not ...
    ]
    values = [value for _, _, value in found if len(value) <= 60]
    for each, argument, value in found:
        if value in values and names[each.name] == 1 and not each.name.startswith("__"):
            same = [other for other in values if _kind(other) == _kind(value)]
            query = f"What is the default of the parameter {argument.arg} of {each.name}?"
            gold = tuple(sorted({each.lineno, argument.lineno}))
            item = _item(source, "default", query, value, _nearest(same, same.index(value)), gold=gold)
            if item is not None:
                yield item


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    ordered = [*arguments.posonlyargs, *arguments.args]
    yield from zip(ordered[len(ordered) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument, default


def _descriptions(source: SourceFile) -> Iterator[Item]:
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
