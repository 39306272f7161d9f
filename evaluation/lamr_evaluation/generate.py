"""Evaluation items made from a source file alone, without a person or a model.

Five kinds, each with gold lines that follow from the source:

- `docstring`: the first sentence of a function's docstring asks for the function; the docstring is cut from the code.
- `comment`: a comment asks for the lines that it stands above; it is cut from the code.
- `calls`: two function names ask for the call of one in the other and for the one that is called.
- `error`: an error message, values replaced by dots, asks for the `raise` and the conditions that lead to it.
- `name`: the words of a function's name ask for the function.

The last two share words with their answers by construction, so a file gives one of them only.

Functions are chosen by hash, so that the choice is the same on every machine and not biased by position. This module
shares no code with training on purpose: a flaw in the training labels must not repeat itself here.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lamr_contract.words import split_words
from lamr_postprocess.lines import split_lines

from lamr_evaluation.records import Record, bare_lines
from lamr_evaluation.segments import span

CHOICES = (("docstring",), ("comment",), ("calls",), ("error", "name"))
"""The kinds of items of one file; where two stand together, a hash chooses one."""
LONGEST = 60
"""Most lines of a function that is gold as a whole; a longer function isn't one answer."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ROLE = re.compile(r":[\w:]+:`[~!]?([^`<]*?)(?:\s*<[^`]*>)?`|`+([^`]*)`+")
_DIRECTIVE = re.compile(
    r"noqa|pragma|pylint|type:|pyright|mypy|TODO|FIXME|XXX|-\*-|[Cc]opyright|[Ll]icen[sc]e|://"
)


@dataclass(frozen=True)
class _Draft:
    """A query and its answer.

    Attributes:
        key: what the choice among drafts hashes.
        query: the question.
        gold: 1-based gold lines, numbered before the cut.
        cut: 1-based lines that are cut from the code because they give the answer away.
    """

    key: str
    query: str
    gold: frozenset[int]
    cut: frozenset[int] = frozenset()


def _header(node: ast.stmt) -> range:
    """Lines of a compound statement before its body."""
    body: list[ast.stmt] = getattr(node, "body", [])
    whole = span(node)
    return range(whole.start, max(whole.start + 1, span(body[0]).start)) if body else whole


def _docstring(function: _Function) -> ast.Expr | None:
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return first
    return None


def _functions(tree: ast.AST) -> list[_Function]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, _Function))
    return [node for node in nodes if len(span(node)) <= LONGEST and not node.name.startswith("__")]


def _docstring_drafts(functions: Iterable[_Function]) -> Iterator[_Draft]:
    for function in functions:
        doc = _docstring(function)
        if doc is None or len(function.body) < 2 or function.body[1].lineno <= (doc.end_lineno or 0):
            continue
        text = ast.get_docstring(function) or ""
        sentence = re.split(r"(?<=[.!?])\s|\n\s*\n", text.strip(), maxsplit=1)[0]
        plain = _ROLE.sub(lambda match: match[1] or match[2] or "", sentence)
        query = " ".join(plain.split()).rstrip(".:")
        if 5 <= len(query.split()) <= 40:
            cut = frozenset(span(doc))
            gold = frozenset(span(function)) - cut
            if len(gold) >= 4:
                yield _Draft(function.name, query, gold, cut)


def _comment_blocks(code: str) -> Iterator[list[tokenize.TokenInfo]]:
    """Comments that stand on lines of their own, neighbouring ones together."""
    block: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT or not token.line.lstrip().startswith("#"):
            continue
        if block and token.start != (block[-1].start[0] + 1, block[-1].start[1]):
            yield block
            block = []
        block.append(token)
    if block:
        yield block


def _paragraph_below(lines: list[str], first: int, indent: int) -> list[int]:
    """0-based numbers of the lines from `first` to a blank line, a dedent or the next comment at `indent`."""
    paragraph: list[int] = []
    for number in range(first, len(lines)):
        text = lines[number]
        here = len(text) - len(text.lstrip())
        if not text.strip() or here < indent or (here == indent and text.lstrip().startswith("#")):
            break
        paragraph.append(number)
    return paragraph


def _comment_drafts(code: str, lines: list[str]) -> Iterator[_Draft]:
    for block in _comment_blocks(code):
        query = " ".join(" ".join(token.string.lstrip("#!: ").split()) for token in block).strip()
        words = re.findall(r"[A-Za-z]{2,}", query)
        if not 7 <= len(words) <= 60 or _DIRECTIVE.search(query):
            continue
        last, indent = block[-1].start
        gold = frozenset(number + 1 for number in _paragraph_below(lines, last, indent))
        if 2 <= len(gold) <= LONGEST // 2:
            cut = frozenset(token.start[0] for token in block)
            yield _Draft(f"#{query}", query.rstrip(".:"), gold, cut)


def _name_drafts(functions: list[_Function]) -> Iterator[_Draft]:
    defined = Counter(function.name for function in functions)
    for function in functions:
        words = split_words(function.name)
        if len(words) >= 3 and len(span(function)) >= 4 and defined[function.name] == 1:
            yield _Draft(function.name, " ".join(words), frozenset(span(function)))


def _message(node: ast.Raise) -> str | None:
    """`Error: text` of a raise, with dots for values."""
    call = node.exc
    if not isinstance(call, ast.Call) or not call.args:
        return None
    text = call.args[0]
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        message = re.sub(r"\{[^{}]*\}|%\(\w+\)\w|%[sdr]", "...", text.value)
    elif isinstance(text, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else "..." for p in text.values)
        message = "".join(str(part) for part in parts)
    else:
        return None
    name = ast.unparse(call.func).rsplit(".", 1)[-1]
    return f"{name}: {' '.join(message.split())}" if len(message.split()) >= 4 else None


def _error_drafts(functions: Iterable[_Function]) -> Iterator[_Draft]:
    for function in functions:
        stack: list[tuple[ast.stmt | ast.ExceptHandler, frozenset[int]]] = [(function, frozenset())]
        while stack:
            node, above = stack.pop()
            if isinstance(node, ast.Raise) and (message := _message(node)):
                yield _Draft(f"{function.name}:{message}", message, above | frozenset(span(node)))
            here = above | _lines_above_body(node)
            children = (child for child in ast.iter_child_nodes(node) if not isinstance(child, _Function))
            stack += [(child, here) for child in children if isinstance(child, (ast.stmt, ast.ExceptHandler))]


def _lines_above_body(node: ast.stmt | ast.ExceptHandler) -> frozenset[int]:
    if isinstance(node, ast.ExceptHandler):
        return frozenset(range(node.lineno, span(node.body[0]).start))
    return frozenset(_header(node)) if hasattr(node, "body") else frozenset()


def _call_drafts(functions: list[_Function]) -> Iterator[_Draft]:
    by_name: dict[str, list[_Function]] = {}
    for function in functions:
        by_name.setdefault(function.name, []).append(function)
    for caller in functions:
        for statement in ast.walk(caller):
            if not isinstance(statement, ast.stmt) or hasattr(statement, "body"):
                continue
            for name in sorted(_called(statement)):
                callees = by_name.get(name, [])
                if len(callees) == 1 and callees[0] is not caller and len(by_name[caller.name]) == 1:
                    gold = {*_header(caller), *span(statement), *span(callees[0])}
                    query = f"How does {caller.name} make use of {name}?"
                    yield _Draft(f"{caller.name}>{name}", query, frozenset(gold))


def _called(statement: ast.stmt) -> set[str]:
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    names = set()
    for func in calls:
        if isinstance(func, ast.Name):
            names.add(func.id)
        elif (
            isinstance(func, ast.Attribute)
            and isinstance(func.value, ast.Name)
            and func.value.id in ("self", "cls")
        ):
            names.add(func.attr)
    return names


def _cut(code: str, draft: _Draft) -> tuple[str, tuple[int, ...]]:
    """Code without the draft's cut lines, and the gold lines' new numbers."""
    lines = split_lines(code)
    kept = [number for number in range(1, len(lines) + 1) if number not in draft.cut]
    gold = tuple(new for new, old in enumerate(kept, 1) if old in draft.gold)
    return "".join(lines[number - 1] for number in kept), gold


def generate_items(
    code: str,
    *,
    path: str = "",
    project: str = "",
    choices: Sequence[Sequence[str]] = CHOICES,
    per_kind: int = 1,
) -> list[Record]:
    """Items about one Python file, at most `per_kind` for each of `choices`.

    A file that doesn't parse, or whose lines Python's tokenizer counts in another way than we do (form feeds and
    other separators), gives none.
    """
    try:
        functions = _functions(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError):
        return []
    if len(code.splitlines()) != len(bare_lines(code)):
        return []
    lines = bare_lines(code)
    drafts = {
        "docstring": list(_docstring_drafts(functions)),
        "comment": list(_comment_drafts(code, lines)),
        "calls": list(_call_drafts(functions)),
        "error": list(_error_drafts(functions)),
        "name": list(_name_drafts(functions)),
    }
    salt = f"{project}/{path}"
    items = []
    for kinds in choices:
        kind = next((kind for kind in sorted(kinds, key=lambda k: _hash(salt, k)) if drafts[kind]), kinds[0])
        for draft in _chosen(drafts[kind], salt, per_kind):
            cut, gold = _cut(code, draft)
            items.append(Record(draft.query, cut, gold, path=path, project=project, kind=kind))
    return items


def _hash(salt: str, key: str) -> bytes:
    return hashlib.sha256(f"{salt}:{key}".encode()).digest()


def _chosen(drafts: list[_Draft], salt: str, count: int) -> list[_Draft]:
    counts = Counter(draft.query for draft in drafts)
    unambiguous = (draft for draft in drafts if counts[draft.query] == 1)
    return sorted(unambiguous, key=lambda draft: _hash(salt, draft.key))[:count]
