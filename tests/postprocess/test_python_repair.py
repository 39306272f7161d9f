"""What repair promises for Python, on real files and on every mask."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_postprocess import (
    PrunedCode,
    SourceFile,
    language_named,
    line_spans,
    prune_lines,
)
from lamr_postprocess.document import analyse
from numpy.typing import NDArray
from pyflakes import checker, messages

from .conftest import TINY_CUT

Masks = Callable[[int], dict[str, NDArray[np.bool_]]]
Check = Callable[[str, NDArray[np.bool_], PrunedCode], None]


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def undefined_names(text: str) -> set[str]:
    found = checker.Checker(parse(text)).messages
    return {message.message_args[0] for message in found if isinstance(message, messages.UndefinedName)}


def test_every_mask_of_real_files_parses(
    python_files: list[tuple[str, str]], masks: Masks, check_account: Check
) -> None:
    for name, code in python_files:
        for kind, mask in masks(len(line_spans(code))).items():
            pruned = prune_lines(code, mask, path=name)
            check_account(code, mask, pruned)
            parse(pruned.text)
            if kind == "full":
                assert pruned.text == code
            if kind == "empty":
                assert pruned.kept_lines == ()


def test_repair_is_idempotent_and_monotone(
    python_files: list[tuple[str, str]], masks: Masks, rng: np.random.Generator
) -> None:
    for _, code in python_files[:60]:
        document = analyse(SourceFile(code, given_language=language_named("python")))
        for mask in masks(document.spans.shape[0]).values():
            once = document.repair(mask) != 0
            assert np.array_equal(document.repair(once) != 0, once)
            more = document.repair(mask | (rng.random(mask.shape[0]) < 0.1)) != 0
            assert not (once & ~more).any()


def test_no_new_undefined_names(python_files: list[tuple[str, str]], masks: Masks) -> None:
    for name, code in python_files[:40]:
        before = undefined_names(code)
        by_kind = masks(len(line_spans(code)))
        for kind in ("blocks", "random", "single"):
            pruned = prune_lines(code, by_kind[kind], language="python")
            assert undefined_names(pruned.text) - before == set(), (name, kind)


STATEMENTS = st.recursive(
    st.sampled_from(
        [
            ["x = 1"],
            ["y = f(", "    x,", "", "    # why", "    y)"],
            ['"""doc', "", "  text \\", "more", '"""'],
            ["s = '''a", "b'''"],
            ["z = \\", "    1"],
            ["return x"],
            ["import os; import re"],
            ["from a import (", "    b,", "    c", ")"],
            ["t = {", "    'k': 1,", "    'l': [", "        2", "    ],", "}"],
            ["# comment"],
            [""],
            ["if x: y = 1"],
            ["del x, \\", "  y"],
            ["@deco", "def g(a,", "      b=x): return a"],
            ["f'''{", "x", "}'''"],
        ]
    ),
    lambda inner: st.tuples(
        st.sampled_from(
            [
                ["if x:"],
                ["while (x and", "       y):"],
                ["def f(a, *, b=1):"],
                ["async def f(a):"],
                ["class A(B):"],
                ["for i in x:", "ELSE"],
                ["if x:", "ELIF", "ELSE"],
                ["try:", "EXCEPT", "ELSE", "FINALLY"],
                ["try:", "FINALLY"],
                ["with f() as (a, b):"],
                ["match x:", "CASE"],
            ]
        ),
        st.lists(st.lists(inner, min_size=1, max_size=3), min_size=4, max_size=4),
    ).map(lambda pair: compound(*pair)),
    max_leaves=25,
)
CLAUSES = {"ELSE": "else:", "ELIF": "elif y:", "EXCEPT": "except (A, B) as e:", "FINALLY": "finally:"}


def compound(head: list[str], bodies: list[list[list[str]]]) -> list[str]:
    def indent(lines: list[str], by: str = "    ") -> list[str]:
        return [by + line if line else line for line in lines]

    blocks = [indent([line for item in body for line in item] + ["pass"]) for body in bodies]
    if "CASE" in head:
        cases = [["case [a, b] if b:", *blocks[0]], ["case _:", *blocks[1]]]
        return [head[0], *indent([line for case in cases for line in case])]
    opening = [line for line in head if line not in CLAUSES]
    result = [*opening, *blocks[0]]
    for clause, block in zip((line for line in head if line in CLAUSES), blocks[1:], strict=False):
        result += [CLAUSES[clause], *block]
    return result


@settings(max_examples=60, deadline=None)
@given(
    st.lists(STATEMENTS, min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.randoms(),
)
def test_every_mask_of_any_program_parses(
    check_account: Check, program: list[list[str]], newline: str, ends: bool, random
) -> None:
    lines = [line for item in program for line in item]
    code = newline.join(lines) + (newline if ends else "")
    try:
        parse(code)
    except SyntaxError:
        return
    count = len(line_spans(code))
    for share in (0.05, 0.3, 0.7):
        mask = np.array([random.random() < share for _ in range(count)], dtype=np.bool_)
        pruned = prune_lines(code, mask, language="python")
        check_account(code, mask, pruned)
        parse(pruned.text)


def kept(code: str, *rows: int) -> PrunedCode:
    scores = np.zeros(len(line_spans(code)))
    scores[[row - 1 for row in rows]] = 1
    pruned = prune_lines(code, scores, language="python", min_cut=TINY_CUT)
    parse(pruned.text)
    return pruned


def test_scope_headers_and_pass() -> None:
    code = "class A(\n    object,\n):\n    def f(self):\n        a = 1\n        b = 2\n        c = 3\n\n    x = 9\n"
    pruned = kept(code, 4)
    assert pruned.text == ("class A(\n    object,\n):\n    def f(self):\n        pass  # ... 5-9 pruned\n")
    assert pruned.reasons == {1: "repair:scope", 2: "repair:scope", 3: "repair:scope", 4: "semantic"}


def test_companions_stay_with_their_statement() -> None:
    code = (
        "try:\n    a()\nexcept E:\n    long_handler_name_number_one()\n    long_handler_name_number_two()\n"
        + ("finally:\n    long_clean_up_name_number_one()\n    long_clean_up_name_number_two()\n")
    )
    pruned = kept(code, 2)
    assert pruned.text == (
        "try:\n    a()\nexcept E:\n    pass  # ... 4-5 pruned\nfinally:\n    pass  # ... 7-8 pruned\n"
    )
    assert pruned.reasons[3] == pruned.reasons[6] == "repair:companion"


def test_imports_and_definitions_follow_their_names() -> None:
    code = (
        "from __future__ import annotations\nimport a_package_with_a_long_name\nimport re\n"
        "from a import (\n    b,\n    c_is_a_name_longer_than_a_marker,\n    d,\n)\n"
        "LIMIT = re.compile('x')\n\n\ndef helper(value: 'Late'):\n    first()\n    second()\n    return value\n\n\n"
        "class Late:\n    third = 3\n    fourth = 4\n\n\nfiller = 1\nfiller = 2\nresult = helper(LIMIT, d)\n"
    )
    pruned = kept(code, 25)
    assert set(pruned.kept_lines) >= {1, 3, 4, 5, 7, 8, 9, 12, 18, 25}
    assert not set(pruned.kept_lines) & {2, 6, 13, 14, 23, 24}
    assert pruned.reasons[3] == pruned.reasons[7] == "repair:import"
    assert pruned.reasons[9] == pruned.reasons[12] == pruned.reasons[18] == "repair:definition"


@pytest.mark.parametrize(
    "use",
    [
        "x: 'Wanted' = f()",
        "x = cast('Wanted', y)",
        "x = Union['Wanted', None]",
        "x = t.Callable[['Wanted'], int]",
        "x: TypeAlias = 'list[Wanted]'",
        "x = TypeVar('x', bound='Wanted')",
        "x = t.cast('Wanted', y)",
        "x = typing.ForwardRef('Wanted')",
        "x = NamedTuple('x', [('y', 'Wanted')])",
        "x = TypedDict('x', y='list[Wanted]')",
        "x = TypedDict('x', {'y': 'Wanted'})",
    ],
)
def test_names_in_quoted_annotations_are_names(use: str) -> None:
    code = f"class Wanted:\n    one = 1\n    two = 2\n\n\nfirst = 1\nsecond = 2\n{use}\n"
    assert 1 in kept(code, 8).kept_lines
    assert 1 not in kept("class Wanted:\n    one = 1\n    two = 2\n\n\nx = 'Wanted'\n", 6).kept_lines


def test_the_nearest_bindings_that_serve_a_use_come_with_it() -> None:
    code = (
        "def f():\n    x = 11111111111111111111111111111111\n    x = 2222222222222222222222222222222\n    y = 3\n"
        + ("    z = 4\n    w = 5\n    print(x)\n    x = 9\n")
    )
    assert kept(code, 7).kept_lines == (1, 3, 7)
    code = (
        "def f(c):\n    if c:\n        x = 1\n    else:\n        x = 2\n    aaa()\n    bbb()\n    print(x)\n"
    )
    assert kept(code, 8).kept_lines == (1, 2, 3, 4, 5, 8)
    code = "x = 1\na = 2\nb = 3\nx = g(\n    [\n        x,\n        3,\n    ],\n)\nc = 4\nd = 5\n"
    assert 1 in kept(code, 6).kept_lines
    code = "n = 0\n\n\ndef f():\n    global n\n    a()\n    b()\n    n += 1\n    c()\n    d()\n"
    assert set(kept(code, 8).kept_lines) >= {1, 4, 5, 8}
    code = "X = 1111111111111111111111111111111\n\n\ndef f():\n    X = 222222222222222222222222222222\n    y = 3\n"
    lines = set(kept(code + "    z = 4\n    return cast('X', y)\n", 8).kept_lines)
    assert 5 in lines
    assert 1 not in lines
    code = (
        "from __future__ import annotations as _annotations\n\n\ndef f(a: Late):\n    one()\n    two()\n\n\n"
        + ("class Late:\n    three = 3\n    four = 4\n")
    )
    assert set(kept(code, 4).kept_lines) >= {1, 4, 9}


def test_a_return_goes_with_the_body_unless_it_needs_more() -> None:
    code = "def f():\n    work()\n    more()\n    even_more_work_is_done_here()\n    last()\n    return 1\n\n\nx = 1\n"
    assert kept(code, 2).reasons == {1: "repair:scope", 2: "semantic", 6: "repair:return"}
    assert kept(code, 1).kept_lines == (1,)
    code = (
        "def f():\n    work()\n    result = a_function_with_a_long_name(1, 2, 3)\n"
        "    more_work_that_is_long_to_write()\n    return result\n\n\nx = 1\n"
    )
    assert kept(code, 2).kept_lines == (1, 2)
    assert kept(code, 3).reasons[5] == "repair:return"
    long = (
        "def f():\n    work()\n    more_work_that_is_long_to_write()\n"
        "    return (\n        1\n        + 2\n        + 3\n    )\n"
    )
    assert kept(long, 2).kept_lines == (1, 2)


def test_long_calls_are_cut_between_named_arguments_and_short_ones_and_positional_ones_whole() -> None:
    rows = "".join(f"    argument_{i}=a_value_with_a_long_name_{i},\n" for i in range(6))
    assert kept(f"x = call(\n{rows})\n", 1).text == "x = call(\n    # ... 2-7 pruned\n)\n"
    assert kept(f"x = call(\n    first,\n{rows})\n", 4).kept_lines == (1, 2, 4, 9)
    assert kept("x = call(\n    a=1,\n    b=2,\n)\n", 1).kept_lines == (1, 2, 3, 4)
    code = "x = cast(\n    Any,\n    {\n        'name': 1,\n    },\n)\n"
    assert kept(code, 4).kept_lines == (1, 2, 3, 4, 5, 6)


def test_long_signatures_keep_what_has_no_default_and_what_is_used() -> None:
    rows = "".join(f"        parameter_{i}: Type{i} = a_default_value_{i},\n" for i in range(6))
    code = f"class A:\n    def f(\n        self,\n{rows}    ):\n        return parameter_2\n"
    assert kept(code, 11).kept_lines == (1, 2, 3, 6, 10, 11)
    assert kept(code, 2).kept_lines == (1, 2, 3, 10)
    with_star = code.replace("self,\n", "self,\n        *,\n", 1)
    assert kept(with_star, 12).kept_lines == tuple(range(1, 13))


def test_short_gap_is_kept_and_a_long_one_marked() -> None:
    code = "a = 1\nb = 2\nc = 3\nd = 'a line that is longer than its marker would be'\ne = 5\n\n\nf = 6\n"
    pruned = kept(code, 1, 3, 5, 8)
    assert pruned.reasons == {1: "semantic", 2: "repair:gap", 3: "semantic", 5: "semantic"} | dict.fromkeys(
        (6, 7), "repair:gap"
    ) | {8: "semantic"}
    assert [(cut.start, cut.end) for cut in pruned.cuts] == [(4, 4)]


def test_multi_line_strings_are_whole_but_docstrings_are_not() -> None:
    data = 'x = """one\ntwo\nthree\nfour"""\n'
    assert kept(data, 2).kept_lines == (1, 2, 3, 4)
    assert kept('x = """a\n' + "text\n" * 40 + '"""\n', 20).kept_lines == (1, 20, 42)
    docstring = 'def f():\n    """One.\n\n    two\n    three and some more words\n    four\n    """\n'
    assert kept(docstring, 4).text == ('def f():\n    """One.\n\n    two\n    [ ... 5-6 pruned ]\n    """\n')


def test_elements_cases_and_bodies_can_be_cut() -> None:
    code = "TABLE = {\n    'a': 1,\n    'b': [\n        2,\n    ],\n    'c': 3,\n    'd': 4\n}\nx = 1\n"
    assert kept(code, 6).text == (
        "TABLE = {\n    # ... 2-5 pruned\n    'c': 3,\n    'd': 4\n}\n# ... 9 pruned\n"
    )
    code = "match x:\n    case 1:\n        a()\n        b()\n    case 2:\n        c()\n        d()\n"
    assert kept(code, 1).text == "match x:\n    case 1:\n        pass  # ... 3-7 pruned\n"
    code = "def f():\n    # why\n\n    one()\n    two()\n"
    assert kept(code, 2).text == "def f():\n    # why\n    pass  # ... 3-5 pruned\n"


@pytest.mark.parametrize("number", [1, 4])
def test_dependency_lines_are_named_so(number: int) -> None:
    code = "a = 1\nb = 2\nc = 3\nd = 4\n"
    flags = np.arange(1, 5) == 4
    pruned = prune_lines(code, [1, 0, 0, 1], language="python", dependency=flags)
    assert pruned.reasons[number] == ("dependency" if number == 4 else "semantic")


RERAISED = """\
def load(path):
    try:
        data = read(path)
    except OSError as error:
        note(path)
        count(error)
        report(error)
        raise
    except ValueError as error:
        note(path)
        count(error)
        report(error)
        return None
    return data
"""


@pytest.mark.parametrize("kept", [3, 4, 13])
def test_an_except_keeps_the_raise_that_ends_it(kept):
    """Emptied to `pass` it would say that the error is swallowed."""
    scores = [float(line == kept) for line in range(1, 15)]
    pruned = prune_lines(RERAISED, scores, path="a.py", threshold=0.5, min_cut=TINY_CUT)
    assert 4 in pruned.kept_lines
    assert 8 in pruned.kept_lines
    assert pruned.reasons[8] == "repair:companion"
    assert not {5, 6, 7} & set(pruned.kept_lines)
    ast.parse(pruned.text)
