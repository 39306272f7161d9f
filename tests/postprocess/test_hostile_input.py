"""Input that breaks tools: odd newlines, broken code, extremes of size and depth. No exception, stated behaviour."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_postprocess import (
    LANGUAGES,
    PrunedCode,
    cut_texts,
    line_spans,
    prune_lines,
    restore,
    split_lines,
    syntax,
)
from lamr_postprocess.languages import language_named
from lamr_postprocess.nesting import is_too_deep
from lamr_postprocess.syntax import parser_text


def halves(code: str) -> np.ndarray:
    return (np.arange(len(line_spans(code))) % 4 < 2).astype(float)


ODD = {
    "empty": "",
    "newline": "\n",
    "crlf": "def f():\r\n    a()\r\n    b()\r\n    c()\r\n\r\nx = 1\r\n",
    "cr": "def f():\r    a()\r    b()\r    c()\r\rx = 1\r",
    "mixed newlines": "def f():\r\n    a()\r    b()\n    c()\n\rx = 1",
    "form feed": "import os\n\x0c\ndef f():\n    a()\n\x0c\n    b()\n    c()\n",
    "separators": "s = 'a\x1cb\x1dc\x1e\x85\u2028\u2029'\nx = 1\ny = 2\nz = 3\n",
    "vertical tab": "x = '\x0b'\ny = 1\nz = 2\nw = 3\n",
    "bom": "\ufeffimport os\nx = 1\ny = 2\nz = 3\n",
    "no final newline": "def f():\n    a()\n    b()\n    c()",
    "tabs": "class A:\n\tdef f(self):\n\t\ta()\n\t\tb()\n\t\tc()\n\n\tdef g(self):\n        \treturn 1\n",
    "identifiers": "größe = 1\n变量 = größe\nx = 1\ny = 变量\n\U0001d431 = 2\n",
    "backslashes": "x = \\\n\\\n1\ny = 2 \\\n\nz = 3\nif x: \\\n  y = 1\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_text_round_trips(name: str) -> None:
    code = ODD[name]
    for scores in (
        halves(code),
        1 - halves(code),
        np.zeros(len(line_spans(code))),
        np.ones(len(line_spans(code))),
    ):
        pruned = prune_lines(code, scores, language="python")
        assert restore(pruned, cut_texts(code, pruned)) == code
        assert pruned.note is None
        lines = split_lines(code)
        assert [line for line in split_lines(pruned.text) if " pruned" not in line] == [
            lines[n - 1] for n in pruned.kept_lines
        ]
        if name != "bom":
            ast.parse(pruned.text)
        elif pruned.text:
            assert pruned.text.startswith("\ufeff")
            ast.parse(pruned.text[1:])


def test_a_name_that_the_grammar_makes_up_and_a_marker_s_newline() -> None:
    code = (
        '@\u2028xb$b.|@,*?b-}d\x0c{\ufeff>"$>\ufeff"a\ufeff/\t%+!}\x0c]\ufeff!{\n-e<-+ *}\t])1é|.|=-x+,,+")\x0c\n/'
        "+[(++x'"
        "(f$=.}:e-@*&*)\r!#\x00\r\x00\u2028|,=&;,#);\x00 /f\ufeff(éf#"
    )
    pruned = prune_lines(code, halves(code), language="ruby")
    assert restore(pruned, cut_texts(code, pruned)) == code
    assert prune_lines("a\r\nb\r\nc\r\n", [1, 0, 0], language="text").text == "a\r\n... 2-3 pruned\r\n"
    assert prune_lines("a\rb\rc", [1, 0, 0], language="text").text == "a\r... 2-3 pruned"


BROKEN = {
    "unclosed": "def f(:\n    x = (\n    y = 2\n    z = '''\n",
    "nul": "x = 1\n\0\ny = 2\nz = 3\n",
    "surrogate": "x = '\ud800'\ny = 1\nz = 2\n",
    "template": "{% for x in y %}\ndef {{ x }}():\n    pass\n{% endfor %}\n",
    "prose": 'Traceback (most recent call last):\n  File "a.py", line 1\n    x =\n       ^\n',
}


@pytest.mark.parametrize("name", BROKEN)
def test_python_that_does_not_parse_says_where(name: str) -> None:
    code = BROKEN[name]
    pruned = prune_lines(code, halves(code), language="python")
    assert restore(pruned, cut_texts(code, pruned)) == code
    if name not in ("surrogate", "nul"):
        assert re.match("python with syntax errors in lines 1|python that doesn't parse", pruned.note or "")


# The grammar takes more than Python's own parser: these are repaired by their structure.
TOLERATED = {
    "python 2": "try:\n    raise E, 'x'\nexcept E, e:\n    print 'a' % e\n    exec 'b' in c\n",
    "truncated": "        return x\n    def g(self):\n        if a:\n",
}


@pytest.mark.parametrize("name", TOLERATED)
def test_old_and_truncated_python_is_repaired(name: str) -> None:
    code = TOLERATED[name]
    pruned = prune_lines(code, [0, 1, *[0] * (len(line_spans(code)) - 2)], language="python")
    assert pruned.note is None
    assert restore(pruned, cut_texts(code, pruned)) == code
    assert "pass  # ... " in pruned.text


def test_lines_without_a_tree_get_no_repair_but_gaps() -> None:
    code = BROKEN["unclosed"]
    pruned = prune_lines(code, [0, 0, 1, 0], language="text")
    assert pruned.kept_lines == (3,)
    assert pruned.text == "... 1-2 pruned\n    y = 2\n    ... 4 pruned\n"


def deep(levels: int) -> str:
    return "".join(f"{' ' * i}if x:\n" for i in range(levels)) + " " * levels + "y = 1\n"


# Texts of n levels or lines; n as large as the last number for the round trip.
EXTREMES: dict[str, tuple[Callable[[int], str], int]] = {
    "one long line": (lambda n: "x = [" + "abc, " * n + "]\n", 200_000),
    "one long broken line": (lambda n: "(" * n, 1_000_000),
    "nested brackets": (lambda n: "x = " + "[\n" * n + "]\n" * n, 5_000),
    "nested calls": (lambda n: "x = " + "f(" * n + ")" * n + "\n", 5_000),
    "nested calls with texts": (lambda n: "x = " + "f('a', [('b', " * n + ")])" * n + "\n", 5_000),
    "long chain": (lambda n: "x = a" + ".b" * n + "\n", 5_000),
    "imports": (lambda n: "".join(f"import m{i}\n" for i in range(n)) + f"print(m1, m{n - 1})\n", 50_000),
    "deep blocks": (deep, 1_000),
    "ninety blocks": (deep, 90),
    "one name": (lambda n: "x = x + 1\n" * n, 20_000),
    "many defs": (
        lambda n: "".join(f"def f{i}():\n    return f{(i * 7) % n}()\n\n" for i in range(n)),
        5_000,
    ),
}


def timed(code: str, scores: np.ndarray, language: str = "python") -> tuple[PrunedCode, float]:
    """What is pruned, and the CPU time of it."""
    began = time.process_time()
    pruned = prune_lines(code, scores, language=language)
    return pruned, time.process_time() - began


def grows_linearly(taken: float, small: tuple, large: tuple) -> bool:
    """Whether a text of 16 times the size takes less than 64 times the CPU time, by the best of three tries each.

    With a time that grows with the square, it takes 256 times as long. `taken` is what the large text's first try
    took."""
    most = 64 * min(timed(*small)[1] for _ in range(3)) + LITTLE
    return taken < most or any(timed(*large)[1] < most for _ in range(2))


LITTLE = 0.02  # seconds that growth is not asked about


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_round_trip_in_time_that_grows_with_the_text(name: str) -> None:
    text, size = EXTREMES[name]
    code, part = text(size), text(size // 16)
    pruned, taken = timed(code, halves(code))
    assert restore(pruned, cut_texts(code, pruned)) == code
    assert grows_linearly(taken, (part, halves(part)), (code, halves(code)))


NESTED = {
    "calls": "f(|)",
    "calls with texts": "f('a',|)",
    "chain": ".b\n|",
    "brackets": "[|]",
    "blocks": "f(){|}",
    "classes": "class A{|}",
    "arrows": "a=>{|}",
    "angles": "A<|>",
    "conditions": "if(x){}else |",
    "templates": "`${|}`",
    "definitions": "def f():|",
    "backslashes": "\\\n\n|",
    "switches": "switch(x){case 1:|}",
    "directives": "#if x\n|#endif\n",
}


@pytest.mark.parametrize("language", [each.name for each in LANGUAGES if each.grammar])
def test_nesting_of_any_kind_costs_no_more_than_its_length(language: str) -> None:
    """What is nested 4,000 deep, right or wrong in a language, takes 1 to 25 times as long as 4,000 plain lines.

    Unbounded, Java's `arrows` take thousands of times as long, Python's `backslashes` hundreds."""
    lines = "x = 1;\n" * 4_000
    plain = min(timed(lines, halves(lines), language)[1] for _ in range(3))
    for name, nested in NESTED.items():
        opening, closing = nested.split("|")
        code = "x = " + opening * 4_000 + closing * 4_000 + "\n"
        pruned, taken = timed(code, halves(code), language)
        assert taken < 80 * max(plain, LITTLE), name  # plain lines are one text where there are tags
        assert restore(pruned, cut_texts(code, pruned)) == code


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "x = " + "[\n" * 1_500 + "]\n" * 1_500),
        ("python", "".join(f"{' ' * level}if x:\n" for level in range(150))),
        ("java", "x = " + "A<B,\n" * 1_500),
        ("java", "x = " + "a=>{\n" * 8_000 + "}" * 8_000),
    ],
)
def test_what_is_nested_deeper_than_parsers_stand_is_pruned_by_line(language: str, code: str) -> None:
    pruned = prune_lines(code, halves(code), language=language)
    assert pruned.note == f"{language} that is nested too deeply to parse: pruned line by line"
    assert restore(pruned, cut_texts(code, pruned)) == code


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "x = [(1, 2), {3: 4}]\n" * 2_000),
        ("python", 'BEGIN = "(("  # ))\n' * 900),
        ("java", "for (int i = 0; i < n; i++) { a(i); }\n" * 2_000),
    ],
)
def test_many_brackets_that_are_closed_are_no_nesting(language: str, code: str) -> None:
    assert "nested" not in (prune_lines(code, halves(code), language=language).note or "")


def test_a_text_that_is_too_large_or_takes_too_long_to_parse_is_pruned_by_line_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "->" * 8_000 + "\n" + "->" * 8_000
    pruned = prune_lines(code, halves(code), language="javascript")
    assert pruned.note == "javascript that takes too long to parse: pruned line by line"
    assert restore(pruned, cut_texts(code, pruned)) == code
    allowance = syntax.Allowance(0, reports=5, per_kilobyte=0)
    with pytest.raises(syntax.CostlySyntaxError):
        syntax.parse_bytes(b"x = 1\n", syntax.grammar_of(language_named("python")), allowance)
    code = "x = 1\n" * 2_000
    for name, most, why in (
        ("_SECONDS", -100.0, "takes too long"),  # by the clock, where operations get slower
        ("_MEMORY", -(1 << 40), "takes too long"),
        ("MOST_BYTES", 1_000, "is too large"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(syntax, name, most)
            note = prune_lines(code, halves(code), language="python").note
        assert note == f"python that {why} to parse: pruned line by line"


def test_all_parses_of_a_thread_get_one_piece() -> None:
    grammar = syntax.grammar_of(language_named("python"))
    syntax.parse_bytes(b"x = 1\n" * 50_000, grammar)
    piece = syntax._OF_THREAD.piece
    syntax.parse_bytes(b"y = 2\n" * 50_000, grammar)
    assert syntax._OF_THREAD.piece is piece
    assert not piece


def test_rows_of_one_node_cost_no_square() -> None:
    """PHP without its mark is one node, which every pair of brackets lies in."""
    code, part = "f(int a)\n{\n    return 1;\n}\n" * 8_000, "f(int a)\n{\n    return 1;\n}\n" * 500
    _, taken = timed(code, halves(code), "php")
    assert grows_linearly(taken, (part, halves(part), "php"), (code, halves(code), "php"))


def test_names_hundreds_of_levels_deep_and_long_chains_of_definitions_are_followed() -> None:
    code = "import a\nimport one_that_nobody_uses_and_that_is_long\nx = (\n    a" + ".b" * 900 + "\n)\n"
    pruned = prune_lines(code, [0, 0, 0, 1, 0], language="python", min_cut=0)
    assert pruned.kept_lines == (1, 3, 4, 5)
    code = "".join(f"name{i} = name{i + 1}\nother = {i}\n" for i in range(20_000)) + "name20000 = 1\n"
    lines = len(line_spans(code))
    pruned = prune_lines(code[::1], np.arange(lines) == 0, language="python")
    assert pruned.kept_lines[-1] > 1


def gaps(count: int) -> tuple[str, np.ndarray]:
    """Short lines between kept ones, each of which can be kept only after the next such line is; and the scores."""
    code = "".join(
        f"a{i} = a{i + 1}\nprint('a line that is longer than a marker {i}')\n" for i in range(count)
    )
    rows = np.arange(len(line_spans(code)))
    return code, (rows % 2 == 1) | (rows == rows[-2])


def test_chain_of_gaps_is_followed_in_linear_time() -> None:
    code, scores = gaps(20_000)
    pruned, taken = timed(code, scores)
    assert len(pruned.kept_lines) == len(scores) - 1
    assert pruned.reasons[3] == "repair:gap"
    assert grows_linearly(taken, gaps(1_250), (code, scores))


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet="abc def:()[]{}\"'\\#\n\r\t @=,;.x1\ufeff\0é", max_size=120),
    st.sampled_from(["python", "text", "yaml", "html", None]),
    st.randoms(),
)
def test_any_text_survives(code: str, language: str | None, random) -> None:
    count = len(line_spans(code))
    pruned = prune_lines(code, [random.random() for _ in range(count)], language=language, threshold=0.6)
    assert restore(pruned, cut_texts(code, pruned)) == code


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"line_scores": [1.0]}, "3 lines"),
        ({"line_scores": [1.0, float("nan"), 0.0]}, "finite"),
        ({"language": "klingon"}, "known: .*python"),
        ({"markers": "ascii"}, "swe-pruner"),
        ({"dependency": [True]}, "dependency"),
    ],
)
def test_wrong_arguments_say_what_is_wrong(options: dict, message: str) -> None:
    arguments = {"line_scores": [1.0, 0.0, 1.0], **options}
    with pytest.raises(ValueError, match=message):
        prune_lines("a\nb\nc\n", arguments.pop("line_scores"), **arguments)


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("sql", "select a\n"),
        ("sql", "select '\n"),
        ("sql", "create -- ;\n"),
        ("sql", "create /*\n"),
        ("sql", "select (\n"),
        ("astro", "<script \n"),
        ("astro", "<style \n"),
    ],
)
def test_what_never_ends_takes_time_that_grows_with_the_text(language: str, line: str) -> None:
    code, part = line * 32_000, line * 2_000
    pruned, taken = timed(code, halves(code), language)
    assert restore(pruned, cut_texts(code, pruned)) == code
    assert grows_linearly(taken, (part, halves(part), language), (code, halves(code), language))


def deep(levels: int, form: str) -> str:
    if form == "marks":
        return "- " * levels + "x\n"
    return "".join("  " * level + f"key{level}:\n" for level in range(levels)) + "  " * levels + "x\n"


@pytest.mark.parametrize("form", ["marks", "keys"])
def test_yaml_that_is_nested_deeper_than_its_grammar_stands_is_read_by_lines(form: str) -> None:
    for levels, too_deep in ((60, False), (120, True)):
        code = "first: 1\n" + deep(levels, form) + "last: 2\n"
        rows = code.count("\n")
        pruned = prune_lines(code, [1.0] + [0.0] * (rows - 1), path="a.yaml")
        assert pruned.kept_lines[0] == 1
        assert ("nested too deeply" in (pruned.note or "")) == too_deep


def test_marks_that_end_a_level_open_no_more() -> None:
    code = "".join(f"key{number}:\n  - - a: 1\n      b: 2\n    - c\n  - d\n" for number in range(100))
    assert prune_lines(code, [1.0] * code.count("\n"), path="a.yaml").note is None


def test_a_use_needs_only_so_many_imports_of_all_names() -> None:
    code = "".join(f"from m{number} import *\n" for number in range(40)) + "\nrun()\n"
    kept = prune_lines(code, [0.0] * 41 + [1.0], path="a.py", min_cut=0).kept_lines
    assert kept == (*range(1, 17), 42)


def test_parts_in_other_languages_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[int]()

    def counted(data: bytes, **options: bool) -> bool:
        seen.append(len(data))
        return is_too_deep(data, **options)

    monkeypatch.setattr(syntax, "is_too_deep", counted)
    text = "<script>\nconst a = 1;\n</script>\n<p>b</p>\n" * 100
    prune_lines(text, [1.0] * text.count("\n"), path="a.html")
    assert len(seen) > 100
    assert sum(seen) <= 3 * len(text)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r", "a\r\n", "a\n\n"])
def test_a_parser_gets_whole_lines(text: str) -> None:
    whole = parser_text(text)
    assert whole.endswith((b"\n", b"\r")) == bool(text)
    assert len(whole.splitlines()) == len(text.splitlines())
