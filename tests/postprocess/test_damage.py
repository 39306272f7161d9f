"""One broken statement doesn't take the file: what surrounds it keeps its structure, and the note says which lines."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lamr_postprocess import (
    Language,
    PrunedCode,
    SourceFile,
    cut_texts,
    language_named,
    line_spans,
    prune_lines,
    restore,
    split_lines,
)
from lamr_postprocess.definitions import DefinitionSpan, definition_spans
from lamr_postprocess.document import analyse

from benchmarks.material import language_of

FIXTURES = sorted((Path(__file__).parent / "fixtures").iterdir())
FILES = [
    *(path for path in FIXTURES if (language := language_of(path)) and language.mends),
    Path(queue.__file__),
]


def faults(code: str, language: Language) -> Iterator[tuple[str, str]]:
    """The name of each fault, and the text that has it."""
    lines, spans = split_lines(code), definition_spans(code, language)
    functions = [each for each in spans if each.is_function and each.last - each.first >= 4]
    largest = max(spans, key=lambda each: each.last - each.first)
    name = lines[largest.head].replace(largest.name, f"EXPORTED {largest.name}", 1)
    yield "an unknown word", "".join([*lines[: largest.head], name, *lines[largest.head + 1 :]])
    middle = min(functions, key=lambda each: abs(each.first + each.last - len(lines)))
    yield "a missing end", "".join(without_end(lines, middle))
    row = next(row for row in range((middle.head + middle.last) // 2, middle.last) if lines[row].strip())
    sides = ["<<<<<<< HEAD\n", lines[row], "=======\n", lines[row], ">>>>>>> feature\n"]
    yield "a conflict", "".join([*lines[:row], *sides, *lines[row + 1 :]])


def without_end(lines: list[str], function: DefinitionSpan) -> list[str]:
    last = lines[function.last]
    if last.strip() in ("}", "end", "};", "})", "});"):
        return [*lines[: function.last], *lines[function.last + 1 :]]
    header = next(row for row in range(function.head, function.last) if lines[row].rstrip().endswith(":"))
    return [*lines[:header], lines[header].rstrip()[:-1] + "\n", *lines[header + 1 :]]


def dragged(code: str, language: Language) -> list[float]:
    """The share of a text's lines that each of its lines, kept alone, drags along."""
    document = analyse(SourceFile(code, given_language=language))
    inked = np.flatnonzero(~document.blank)
    rows = inked[:: max(1, len(inked) // 80)]
    lines = np.arange(len(document.blank))
    return [((document.repair(lines == row) != 0).sum() - 1) / len(lines) for row in rows.tolist()]


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_a_fault_drags_no_more_along_than_no_fault(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    language = language_of(path) or language_named("python")
    whole = np.array(dragged(code, language))
    for name, text in faults(code, language):
        shares = np.array(dragged(text, language))
        assert np.median(shares) <= np.median(whole) + 0.02, name
        assert shares.max() <= whole.max() + 0.06, name


def kept(code: str, row: int, language: str) -> PrunedCode:
    pruned = prune_lines(code, np.arange(len(line_spans(code))) == row - 1, language=language, min_cut=0)
    assert restore(pruned, cut_texts(code, pruned)) == code
    return pruned


HEADER = """\
class STORE_EXPORT Table : public Base {
 public:
  virtual ~Table();

  // Writes a row.
  virtual Status put(const Key& key) = 0;
  virtual Status drop(const Key& key) = 0;
};
"""


def test_an_export_macro_before_a_class_is_no_damage() -> None:
    pruned = kept(HEADER, 6, "cpp")
    assert pruned.kept_lines == (1, 2, 6, 8)
    assert pruned.note is None
    named = prune_lines(HEADER, [0.0] * 8, language="cpp", markers="named")
    assert "Table" in named.text


def test_a_class_in_one_row_of_kotlin_is_no_damage() -> None:
    code = 'class A { val b = 1 }\nobject C { object D { fun e() = "{ f }" } }\n\nfun g() {\n    h()\n    i()\n}\n'
    pruned = kept(code, 6, "kotlin")
    assert pruned.kept_lines == (4, 6, 7)
    assert pruned.note is None
    assert [each.name for each in definition_spans(code, language_named("kotlin"))] == [
        "A",
        "C",
        "D",
        "e",
        "g",
    ]


@pytest.mark.parametrize(
    ("line", "row", "lines"),
    [
        ("  Q_OBJECT", 3, (1, 3, 5)),
        ("  UPROPERTY(EditAnywhere, Category = Look)", 4, (1, 3, 4, 5)),
        (" signals:", 4, (1, 3, 4, 5)),
        ("  GAME_API virtual Status put(const Key& key);", 3, (1, 3, 5)),
        ("  int count GUARDED_BY(lock);", 3, (1, 3, 5)),
    ],
)
def test_macros_of_classes(line: str, row: int, lines: tuple[int, ...]) -> None:
    code = f"class Look : public Base {{\n  void first();\n{line}\n  void changed(int key);\n}};\n"
    pruned = kept(code, row, "cpp")
    assert pruned.kept_lines == lines
    assert pruned.note is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("language", "code", "row", "lines"),
    [
        (
            "cpp",
            "__global__ void __launch_bounds__(256, 2) scale(float *a, int n)\n{\n    first();\n    a[0] = n;\n}\n"
            "void run()\n{\n    scale<<<dim3(1, 2), 256>>>(a, n);\n    last();\n}\n",
            9,
            (6, 7, 9, 10),
        ),
        (
            "cpp",
            "__device__ __constant__ float table[3];\nextern __shared__ float part[];\nint a;\nint b;\nint c;\n",
            2,
            (2,),
        ),
        (
            "objective-c",
            "NS_ASSUME_NONNULL_BEGIN\ntypedef NS_ENUM(NSInteger, State) {\n    Idle,\n    Running,\n};\n"
            "@interface A : NSObject\n- (instancetype)init NS_DESIGNATED_INITIALIZER;\n- (void)go;\n@end\n"
            "NS_ASSUME_NONNULL_END\n",
            8,
            (6, 8, 9),
        ),
    ],
    ids=["kernel", "device memory", "objective-c"],
)
def test_words_that_a_grammar_lacks(
    language: str, code: str, row: int, lines: tuple[int, ...], newline: str
) -> None:
    pruned = kept(code.replace("\n", newline), row, language)
    assert pruned.kept_lines == lines
    assert pruned.note is None


def test_a_lacking_brace_stays_in_its_method() -> None:
    code = """\
class A {
  void f() {
    one();
    if (two) {
      three();
    }

  void g() {
    four();
    five();
  }
}
"""
    pruned = kept(code, 9, "java")
    assert pruned.kept_lines == (1, 8, 9, 11, 12)
    assert pruned.note == "java with syntax errors in lines 7: there, cut by lines and indentation"
    assert kept(code, 5, "java").kept_lines == (1, 2, 4, 5, 6, 7, 12)


CONFLICT = """\
def f():
    a()
<<<<<<< HEAD
    if b:
        c()
=======
    if d:
        e()
>>>>>>> other
    g()
"""


def test_a_line_of_a_conflict_brings_its_marks_and_nothing_else_does() -> None:
    for row, lines in ((5, (1, 3, 4, 5, 6, 9)), (8, (1, 3, 6, 7, 8, 9)), (10, (1, 10))):
        pruned = kept(CONFLICT, row, "python")
        assert pruned.kept_lines == lines
        assert (
            pruned.note == "python with syntax errors in lines 3, 6, 9: there, cut by lines and indentation"
        )
    conflict = "<<<<<<< HEAD\n    one();\n=======\n    two();\n>>>>>>> other\n    three();\n"
    code = f"class A X Y {{\n  ( [\n  void g() {{\n{conflict}  }}\n  void h() {{\n    four();\n    five();\n  }}\n}};\n"
    marks = {4, 6, 8}
    assert not marks & set(kept(code, 13, "cpp").kept_lines)


def test_branches_of_the_preprocessor_that_open_one_block() -> None:
    code = (
        "int f(int x) {\n#ifdef A\n  if (x) {\n#else\n  if (!x) {\n#endif\n    g();\n  }\n  h();\n  return 1;\n}\n\n"
        "int k(void) {\n  return 2;\n}\n"
    )
    assert kept(code, 14, "c").kept_lines == (13, 14, 15)
    assert kept(code, 7, "c").kept_lines == (1, 2, 3, 4, 5, 6, 7, 8, 10, 11)


def test_what_the_grammar_cannot_read_is_cut_by_lines_and_indentation() -> None:
    code = "sealed trait class A<in T> {\n  void f() {\n    one();\n  }\n  int b;\n}\n"
    pruned = kept(code, 3, "java")
    assert pruned.kept_lines == (1, 2, 3, 4, 6)
    assert pruned.note == "java with syntax errors in lines 1: there, cut by lines and indentation"
    code = "def f(a):\n    x = 1\n    y = = {\n        a: 2,\n        b: 3,\n    }\n    return x\n"
    pruned = kept(code, 4, "python")
    assert pruned.kept_lines == (1, 3, 4, 6)
    assert pruned.note == "python with syntax errors in lines 3-6: there, cut by lines and indentation"
    code = "class A {\n  f() {\n    one();\n  }\n  g() {\n    if (two) {\n      three();\n"
    assert kept(code, 3, "javascript").kept_lines == (1, 2, 3, 4, 5, 6, 7)  # one row ends all blocks
    assert kept(code, 7, "javascript").kept_lines == (1, 5, 6, 7)
    code = 'x = = """\none\ntwo\nthree\n"""\ny = 1\n'
    assert set(kept(code, 3, "python").kept_lines) >= {1, 2, 3, 4, 5}


SCRIPT = """\
#!/bin/sh
a=$? b="${1:-}" c=("${d[@]}")
while [ -n "$b" ]; do
    e "$b"
    f
done
if "$g"; then
    for h do
        if [ $(( 10#$h )) -gt 1 -a \\( -n "$h" \\) ]; then
            i "$h"
            j
        fi
    done
fi
"""


@pytest.mark.parametrize(("row", "lines"), [(4, (2, 3, 4, 6)), (10, (7, 8, 9, 10, 12, 13, 14))])
def test_what_shells_read_otherwise_than_their_grammar(row: int, lines: tuple[int, ...]) -> None:
    pruned = kept(SCRIPT, row, "shell")
    assert pruned.kept_lines == lines
    assert pruned.note is None


def test_a_broken_macro_of_several_lines_stays_whole_and_a_misread_script_is_pruned_by_lines() -> None:
    code = "#define A \\\n    { \\\n    b, \\\n    1, /* c */ 0, NULL, 0\\\n    }\n\nint d;\n"
    assert {1, 2, 3, 4, 5} <= set(kept(code, 3, "c").kept_lines)
    code = "f && a=b c=d  # e\nif g; then\n    h\n    i\nfi\nj\n"
    pruned = kept(code, 3, "shell")
    assert pruned.kept_lines == (2, 3, 5)
    assert pruned.note == "shell that doesn't parse: pruned line by line"


@pytest.mark.parametrize("language", ["javascript", "tsx"])
def test_entities_and_queries_in_jsx_are_no_damage(language: str) -> None:
    code = "const a = (\n  <b>\n    <c>d&nbsp&nbsp e</c>\n    <f>\n      g\n    </f>\n    <h />\n  </b>\n);\n"
    pruned = kept(code, 7, language)
    assert pruned.kept_lines == (1, 2, 7, 8, 9)
    assert "{/* ... 3-6 pruned */}" in pruned.text
    code = (
        'const a = (\n  <b>\n    <c d="e?f=g&h=i&j=k" />\n    <l />\n    <m>\n      n\n    </m>\n  </b>\n);\n'
    )
    pruned = kept(code, 4, language)
    assert pruned.kept_lines == (1, 2, 4, 8, 9)
    assert "{/* ... 3 pruned */}" in pruned.text


@pytest.mark.parametrize("language", ["c", "cpp", "objective-c", "csharp"])
def test_conditions_without_anything_else_are_lines(language: str) -> None:
    assert 30 in kept("#if A\n" * 60, 30, language).kept_lines
