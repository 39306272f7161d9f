"""The other languages: one engine reads their tables, and pruned text has no more syntax errors than the original."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import lamr_postprocess
import numpy as np
import pytest
import yaml
from lamr_postprocess import (
    LANGUAGES,
    Language,
    PrunedCode,
    SourceFile,
    detect_language,
    language_named,
    line_spans,
    prune_lines,
    split_lines,
)
from lamr_postprocess.definitions import definition_spans
from lamr_postprocess.document import analyse
from lamr_postprocess.mending import parse_mended
from lamr_postprocess.render import Style, render
from lamr_postprocess.repair import MEANING, close
from lamr_postprocess.syntax import grammar_of
from numpy.typing import NDArray

from benchmarks.material import error_nodes

from .conftest import TINY_CUT

Masks = Callable[[int], dict[str, NDArray[np.bool_]]]
Check = Callable[[str, NDArray[np.bool_], PrunedCode], None]

FIXTURES = sorted((Path(__file__).parent / "fixtures").iterdir())
IDS = [path.name for path in FIXTURES]


NEVER_EMPTY = {"xml", "json", "jsonc", "notebook"}
"""A text of these is no text of theirs if nothing is left."""


def test_every_language_with_a_grammar_has_a_fixture() -> None:
    assert {detect_language("", path.name).name for path in FIXTURES} == {
        language.name for language in LANGUAGES if language.grammar and language.name != "python"
    }


@pytest.mark.parametrize("path", FIXTURES, ids=IDS)
def test_every_mask_of_the_fixture_stands(path: Path, masks: Masks, check_account: Check) -> None:
    code = path.read_text(encoding="utf-8")
    language = detect_language(code, path.name)
    lines = len(line_spans(code))
    assert lines >= 60
    assert error_nodes(code, language) == 0
    document = analyse(SourceFile(code, given_language=language))
    for _ in range(2):
        for kind, mask in masks(lines).items():
            if kind == "empty" and language.name in NEVER_EMPTY:
                continue
            pruned = prune_lines(code, mask, path=path.name)
            check_account(code, mask, pruned)
            assert pruned.language == language.name
            assert error_nodes(pruned.text, language) == 0, kind
            once = document.repair(mask) != 0
            assert np.array_equal(document.repair(once) != 0, once)
            assert not (once & (document.repair(mask | np.roll(mask, 7)) == 0)).any()


@pytest.mark.parametrize("path", FIXTURES, ids=IDS)
def test_every_single_line_of_the_fixture_stands(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    language = detect_language(code, path.name)
    lines = len(line_spans(code))
    document = analyse(SourceFile(code, given_language=language))
    for row in range(0, lines, 9):
        kept = document.repair(np.arange(lines) == row) != 0
        assert error_nodes(render(document, kept, Style())[0], language) == 0, row + 1


@pytest.mark.parametrize("path", [each for each in FIXTURES if detect_language("", each.name).hints])
def test_language_is_recognized_by_content(path: Path) -> None:
    assert detect_language(path.read_text(encoding="utf-8")).name == detect_language("", path.name).name


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@pytest.mark.parametrize("path", FIXTURES, ids=IDS)
def test_newlines_of_the_fixture_are_kept(
    path: Path, newline: str, masks: Masks, check_account: Check
) -> None:
    code = path.read_text(encoding="utf-8").replace("\n", newline)
    mask = masks(len(line_spans(code)))["blocks"]
    pruned = prune_lines(code, mask, path=path.name)
    check_account(code, mask, pruned)
    assert pruned.note is None


@pytest.mark.parametrize("path", FIXTURES, ids=IDS)
def test_what_surrounds_damage_stands_as_if_nothing_were_wrong(path: Path, rng: np.random.Generator) -> None:
    code = path.read_text(encoding="utf-8")
    language = detect_language(code, path.name)
    damaged = [
        code[: len(code) // 2],
        code[len(code) // 3 :],
        code.replace("}", "", 1),
        code.replace("(", "", 3).replace("end\n", "\n", 1),
    ]
    for text in damaged:
        rows = [row + "\n" for row in parse_mended(text, language).data.decode().split("\n")]
        before = error_nodes("".join(rows), language)
        lines = len(line_spans(text))
        for share in (0.05, 0.25, 0.6):
            pruned = prune_lines(text, rng.random(lines) < share, language=language.name)
            if "line by line" not in (pruned.note or ""):
                assert error_nodes(_as_mended(pruned, rows), language) <= before, pruned.note


def _as_mended(pruned: PrunedCode, rows: list[str]) -> str:
    """What is left of a text, with its lines as they were parsed."""
    kept = set(pruned.kept_lines)
    order = sorted([*kept, *(cut.start for cut in pruned.cuts)])
    pairs = zip(order, split_lines(pruned.text), strict=True)
    return "".join(rows[number - 1] if number in kept else text for number, text in pairs)


def kept(code: str, language: str, *rows: int) -> PrunedCode:
    scores = np.zeros(len(line_spans(code)))
    scores[[row - 1 for row in rows]] = 1
    return prune_lines(code, scores, language=language, min_cut=TINY_CUT)


LONG = "x".ljust(40, "x")


@pytest.mark.parametrize(
    ("language", "code", "rows", "lines", "marker"),
    [
        (
            "javascript",
            f"import {{\n  {LONG},\n  b,\n}} from 'c';\nfunction f(a) {{\n  {LONG}();\n  g();\n  return b(a);\n}}\n",
            [8],
            (1, 3, 4, 5, 8, 9),
            "  // ... 6-7 pruned",
        ),
        (
            "tsx",
            f"const a = (\n  <p>\n    <b/>\n    <i>{LONG}</i>\n    <u>{LONG}</u>\n  </p>\n);\n",
            [3],
            (1, 2, 3, 6, 7),
            "    {/* ... 4-5 pruned */}",
        ),
        (
            "java",
            f"import a.{LONG};\nimport a.B;\nclass C {{\n  int {LONG};\n  B b;\n  int {LONG};\n  void f() {{\n    b.f();\n  }}\n}}\n",  # noqa: E501
            [8],
            (2, 3, 5, 7, 8, 9, 10),
            "  // ... 4 pruned",
        ),
        (
            "go",
            f'package a\nimport (\n\t"{LONG}"\n\t"b/yaml.v3"\n)\nfunc f() {{\n\tx := {LONG}\n\ty := x\n\tyaml.Do(1)\n}}\n',  # noqa: E501
            [9],
            (2, 4, 5, 6, 9, 10),
            "\t// ... 7-8 pruned",
        ),
        (
            "rust",
            f"use a::{LONG};\nuse b::C;\n#[derive(Debug)]\nstruct D {{\n    c: C,\n    {LONG}: u8,\n}}\nfn f() {{ {LONG}() }}\n",  # noqa: E501
            [5],
            (2, 3, 4, 5, 7),
            "    // ... 6 pruned",
        ),
        (
            "c",
            f"#define A {LONG}\n#define B {LONG}\n#ifdef C\nint {LONG};\n#else\nint {LONG}x;\nint e = B;\n#endif\n",
            [7],
            (2, 3, 5, 7, 8),
            "// ... 4 pruned",
        ),
        (
            "cpp",
            f"class A {{\npublic:\n  int {LONG};\n  int g() {{\n    {LONG}();\n    return b;\n  }}\nprivate:\n  int b;\n  int {LONG};\n}};\n",  # noqa: E501
            [6],
            (1, 2, 4, 6, 7, 8, 9, 11),
            "    // ... 5 pruned",
        ),
        (
            "csharp",
            f"class A {{\n  int {LONG};\n  int f(int b) {{\n    try {{\n      g();\n    }} catch (E e) {{\n      {LONG}();\n    }}\n  }}\n}}\n",  # noqa: E501
            [5],
            (1, 3, 4, 5, 6, 8, 9, 10),
            "      // ... 7 pruned",
        ),
        (
            "ruby",
            f"class A\n  def {LONG}\n    1\n  end\n  def g(c)\n    {LONG}\n    if c\n      d\n    else\n      {LONG}\n    end\n  end\nend\n",  # noqa: E501
            [8],
            (1, 5, 7, 8, 9, 11, 12, 13),
            "      # ... 10 pruned",
        ),
        (
            "php",
            f"<?php\nuse A\\{LONG};\nuse A\\B;\nfunction f() {{\n  $x = {LONG}();\n  $y = 1;\n  return new B($y);\n}}\n",  # noqa: E501
            [7],
            (1, 3, 4, 6, 7, 8),
            "// ... 2 pruned",
        ),
        (
            "scala",
            f"enum A:\n  // {LONG}\n  case B, C\n  case {LONG}\n\nval d = 1\n",
            [1],
            (1, 3),
            "  // ... 2 pruned",
        ),
    ],
)
def test_repair_in_each_language(
    language: str, code: str, rows: list[int], lines: tuple[int, ...], marker: str
) -> None:
    pruned = kept(code, language, *rows)
    assert pruned.kept_lines == lines
    assert marker in pruned.text.split("\n")


@pytest.mark.parametrize(
    ("language", "mark", "line"),
    [
        ("python", "#", "x = 1"),
        ("ruby", "#", "x = 1"),
        ("go", "//", "var x = 1"),
        ("rust", "//", "struct X;"),
    ],
)
def test_a_short_comment_is_kept_or_cut_whole(language: str, mark: str, line: str) -> None:
    def text(comment: list[str]) -> str:
        return "".join(f"{each}\n" for each in [line, *comment, "", line])

    sentence = [f"{mark} {LONG} begins", f"{mark} and goes", f"{mark} on until {LONG} its end."]
    for row in (2, 3, 4):
        assert kept(text(sentence), language, row).kept_lines == (2, 3, 4), row
    parted = [*sentence, "", *sentence]
    assert kept(text(parted), language, 3).kept_lines == (2, 3, 4)
    licence = [f"{mark} {LONG} {number}" for number in range(20)]
    shown = kept(text(licence), language, 12).kept_lines
    assert 12 in shown
    assert len(shown) <= 6


@pytest.mark.parametrize(
    ("language", "mark", "lines"),
    [
        ("python", "#", ["def f(x):", f"    return {LONG}"]),
        ("javascript", "//", ["function f(x) {", f"  return {LONG};", "}"]),
        ("cpp", "//", ["int f(int x) {", f"  return {LONG};", "}"]),
        ("bash", "#", ["f() {", f"  echo {LONG}", "}"]),
    ],
)
def test_a_comment_brings_what_it_stands_right_above(language: str, mark: str, lines: list[str]) -> None:
    comment = [f"{mark} {LONG} {number}" for number in range(9)]
    code = "".join(f"{each}\n" for each in [*comment, *lines, "", comment[0], "", *lines])
    header = len(comment) + 1
    for row in (1, 9):
        assert header in kept(code, language, row).kept_lines
    assert header not in kept(code, language, header + len(lines) + 1).kept_lines
    body = header + 1
    assert not {1, 9} & set(kept(code, language, body).kept_lines)  # what it speaks of needs no comment


def test_many_comments_above_an_item_take_linear_time() -> None:
    code = f"# {LONG}\n" * 20_000 + "x = 1\n"
    assert kept(code, "python", 10_000).kept_lines[-1] == 20_001


def test_a_comment_behind_code_stays_its_own() -> None:
    code = f"x = 1  # {LONG}\n# one {LONG}\ny = 2  # {LONG}\n# two {LONG}\n    # three {LONG}\n"
    assert kept(code, "python", 2).kept_lines == (2, 3)
    assert kept(code, "python", 4).kept_lines == (4,)


def test_comments_and_macros_are_cut_or_kept_as_they_stand() -> None:
    code = "<html>\n<p>one</p>\n<p>two</p>\n<p>three</p>\n<?php\n$a = 1;\n$b = 2;\n?>\n<p>four</p>\n"
    pruned = kept(code, "php", 1, 6)
    assert pruned.text.split("\n")[1] == "<!-- ... 2-4 pruned -->"
    code = "/*\n * one\n * two is a longer line of words\n * three\n */\nint a;\n"
    assert kept(code, "c", 2).text.startswith("/*\n * one\n * ... 3-4 pruned\n */\n")
    assert kept("#define A(x) \\\n  b(x);   \\\n  c(x)\nint y;\n", "c", 2).kept_lines == (1, 2, 3)
    code = f"class A {{\n  #client\n  {LONG} = 1\n  other{LONG} = 2\n  [computed]() {{\n  }}\n}}\n"
    assert kept(code, "javascript", 2, 5).kept_lines == (1, 2, 4, 5, 6, 7)


PRIVATE_NAMES = """class A {
  #free = [];
  static #count() {
    return 1;
  }
  #busy = [];

  size(other) {
    if (#busy in other) {
      return class {
        #free = [];
        all = () => this.#free + other.#busy;
      };
    }
    return this.#free.length + A.#count();
  }
}
class B {
  #free = [];
}
"""


@pytest.mark.parametrize("language", ["javascript", "typescript", "tsx"])
@pytest.mark.parametrize(("row", "needed"), [(9, [6]), (12, [6, 11]), (15, [2, 3, 5])])
@pytest.mark.parametrize("bare", [False, True])
def test_a_private_name_brings_its_declaration(
    language: str, row: int, needed: list[int], bare: bool
) -> None:
    source = SourceFile(PRIVATE_NAMES, given_language=language_named(language))
    rules = dataclasses.replace(analyse(source).rules, gaps=None)
    codes = close(rules.bare if bare else rules, np.arange(1, 21) == row)
    assert (np.flatnonzero(codes == MEANING) + 1).tolist() == needed


def test_minified_javascript_is_one_line() -> None:
    code = "(function(){" + "var a=1,b=function(c){return c+a};" * 5_000 + "})();\n// end\n"
    assert kept(code, "javascript", 1).kept_lines == (1,)


def test_engine_names_no_language() -> None:
    folder = Path(lamr_postprocess.__file__).parent
    names = [language.name for language in LANGUAGES if language.grammar and language.name not in ("c", "go")]
    for module in ("syntax", "outline", "captures", "names", "repair", "document", "render", "selection"):
        code = "\n".join(
            line
            for line in (folder / f"{module}.py").read_text(encoding="utf-8").lower().splitlines()
            if "#" not in line
        ).split('"""')[::2]
        assert not [name for name in names if name in " ".join(code)], module


def test_a_table_that_names_an_unknown_kind_is_refused() -> None:
    table = Language(
        name="toy",
        comment=language_named("go").comment,
        grammar="tree_sitter_go:language",
        comments=frozenset({"remark"}),
    )
    with pytest.raises(ValueError, match="toy: the grammar tree_sitter_go has no node kind remark"):
        grammar_of(table)


def test_a_grammar_that_is_not_installed_leaves_the_lines() -> None:
    table = dataclasses.replace(language_named("kotlin"), grammar="tree_sitter_absent:language")
    code = "class A {\n    fun b() {\n        c()\n    }\n\n    fun d() {\n        e()\n    }\n}\n"
    document = analyse(SourceFile(code, given_language=table), least_cut=0)
    assert document.note == (
        "kotlin: the grammar tree_sitter_absent isn't installed; "
        "pip install 'lamr-server[languages]' brings it; pruned line by line"
    )
    assert np.flatnonzero(document.repair(np.arange(9) == 6)).tolist() == [0, 5, 6, 7, 8]
    assert definition_spans(code, table) == []


PAGE = """<template>
  <p>one</p>
</template>
<script{attribute}>
function other() {{
  {long}();
}}
const limit{type} = 3;
function more() {{
  return limit;
}}
</script>
<style>
a {{
  color: red;
}}
b {{ color: blue; }}
</style>
"""


@pytest.mark.parametrize(
    ("language", "attribute", "kind"),
    [
        ("html", "", ""),
        ("html", ' type="module"', ""),
        ("html", " type='text/javascript'", ""),
        ("vue", ' setup lang="ts"', ": number"),
        ("svelte", ' lang="ts"', ": number"),
    ],
)
def test_a_script_is_read_in_its_language(language: str, attribute: str, kind: str) -> None:
    code = PAGE.format(attribute=attribute, long=LONG, type=kind)
    pruned = kept(code, language, 10)
    assert pruned.kept_lines == (4, 8, 9, 10, 11, 12)
    assert "// ... 5-7 pruned" in pruned.text.split("\n")
    assert pruned.reasons[8] == "repair:definition"
    script = (
        () if language == "html" else (4, 12)
    )  # which makes a component, and says how its expressions are read
    assert kept(code, language, 15).kept_lines == (*script, 13, 14, 15, 16, 18)
    assert [each.name for each in definition_spans(code, language_named(language))][:2] == ["other", "more"]


@pytest.mark.parametrize(
    ("language", "code", "rows", "marker"),
    [
        (
            "vue",
            f"<script setup>\nconst a = 1\n\nfunction b() {{\n  {LONG}()\n}}\nconst c = a\n</script>\n",
            (2, 7),
            "// ... 3-6 pruned",
        ),
        (
            "html",
            f"<style>\na {{ color: red }}\n\nb {{\n  margin: {LONG};\n}}\n</style>\n",
            (2,),
            "/* ... 3-6 pruned */",
        ),
    ],
)
def test_a_marker_in_a_script_or_style_is_its_comment_though_the_cut_begins_with_a_blank_row(
    language: str, code: str, rows: tuple[int, ...], marker: str
) -> None:
    assert marker in kept(code, language, *rows).text.split("\n")


@pytest.mark.parametrize("around", [("", "\n\n\n"), ("\n\n", ""), ("\n", "\n\n")])
def test_blank_lines_around_a_text_stay_with_its_ends(around: tuple[str, str]) -> None:
    code = f"{around[0]}{json.dumps({'a': LONG, 'b': [1, 2]}, indent=2)}\n{around[1]}"
    first = around[0].count("\n") + 1
    for row in range(first, code.rstrip("\n").count("\n") + 2):
        text = kept(code, "json", row).text
        assert json.loads(text)
        assert text.startswith(f"{around[0]}{{")
        assert text.endswith(f"}}\n{around[1]}")
    code = f"{around[0]}x = 1\ny = {LONG}\n{around[1]}"
    assert kept(code, "python", first).text.startswith(f"{around[0]}x = 1\n")
    assert kept(code, "python", first + 1).text.endswith(f"y = {LONG}\n{around[1]}")


def test_json_stays_json() -> None:
    code = (
        json.dumps({"a": {"b": [1, 2, 3], "c": LONG}, "d": [{"e": LONG}, {"f": LONG}], "g": LONG}, indent=2)
        + "\n"
    )
    lines = len(line_spans(code))
    for row in range(1, lines + 1):
        assert json.loads(kept(code, "json", row).text)
    assert json.loads(kept(code, "json", lines - 1).text) == {"//": "... 2-17 pruned", "g": LONG}


def test_anchors_keep_what_is_merged_and_emptied_blocks_are_filled() -> None:
    code = f"base: &base\n  one: {LONG}\n  two: {LONG}\nother: {LONG}\nlast:\n  <<: *base\n  three: 3\n"
    pruned = kept(code, "yaml", 6)
    assert pruned.kept_lines == (1, 2, 5, 6)
    assert yaml.safe_load(pruned.text)["last"] == {"one": LONG}
    code = f"f() {{\n  {LONG}\n}}\nif a; then\n  {LONG}\nelse\n  {LONG} b\nfi\n"
    assert kept(code, "shell", 1).text == "f() {\n  :  # ... 2 pruned\n}\n# ... 4-8 pruned\n"
    assert "  :  # ... 7 pruned\n" in kept(code, "shell", 5).text


TREELESS = """\
---
// the <script> below
---
<p>a</p>
<p>b</p>
<script>
  one();
  two();
  three();
</script>
<style lang="scss">
.a { b: c }
.d { e: f }
</style>
<script type="application/ld+json">
{"a": 1,
 "b": 2}
</script>
"""


@pytest.mark.parametrize("path", ["page.astro", "page.html.j2"])
@pytest.mark.parametrize(
    ("row", "marker"),
    [
        (4, "<!-- ... 5-18 pruned -->"),
        (7, "// ... 8-9 pruned"),
        (12, "/* ... 13 pruned */"),
    ],
)
def test_a_marker_in_a_part_of_a_page_without_a_tree_is_its_comment(path: str, row: int, marker: str) -> None:
    chosen = np.arange(1, TREELESS.count("\n") + 1) == row
    pruned = prune_lines(TREELESS, chosen, path=path, min_cut=0)
    assert marker in [line.strip() for line in pruned.text.splitlines()]


def test_parts_of_pages_that_no_grammar_reads_are_left_whole() -> None:
    code = f"<p>a</p>\n<script type='text/x-template'>\n{{{{#a}}}}\n{LONG}\n{LONG}\n</script>\n"
    assert kept(code, "html", 4).kept_lines == (2, 3, 4, 5, 6)
    pruned = prune_lines(TREELESS, np.arange(1, TREELESS.count("\n") + 1) == 16, path="page.astro", min_cut=0)
    assert pruned.kept_lines == (15, 16, 17, 18)
    code = "<style>\na { b: c; }\n\nd { e: f; }\ng { h: i; }\n</style>\n"
    assert "/* ... 3-4 pruned */" in kept(code, "html", 2, 5).text


@pytest.mark.parametrize(("row", "opening"), [(3, "{/*"), (7, "{/*"), (17, "//")])
def test_a_cut_of_blank_lines_has_the_comments_of_what_they_lie_in(row: int, opening: str) -> None:
    page = "function a() {\n  return (\n    <div>\n\n\n      <b/>\n\n\n      <i/>\n    </div>\n  );\n}\n"
    code = page + "\nfunction b() {\n  if (c) {\n  }\n\n\n  d();\n}\n"
    document = analyse(SourceFile(code, given_language=language_named("tsx")))
    assert document.comment(row, row, ~document.blank).opening == opening


def test_a_blank_line_may_lie_in_any_number_of_elements() -> None:
    code = "const a = (\n" + "<b>\n" * 3000 + "\n" + "</b>\n" * 3000 + ");\n"
    document = analyse(SourceFile(code, given_language=language_named("tsx")))
    assert document.comment(3001, 3001, ~document.blank).opening == "{/*"
