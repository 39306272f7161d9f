"""Formats without a grammar, and code under line prefixes."""

from __future__ import annotations

import ast
import itertools

import numpy as np
import pytest
from lamr_postprocess import PrunedCode, cut_texts, line_spans, prune_lines, restore, split_lines
from lamr_postprocess.listing import read_listing

from .conftest import TINY_CUT

CODE = """import os
other = 'a line that is longer than a marker'

def f(a):
    b = os.path.join(a)
    print('a line that is long enough', b)
    return b


x = 1
"""


def kept(text: str, *rows: int, **options: object) -> PrunedCode:
    scores = np.zeros(len(line_spans(text)))
    scores[[row - 1 for row in rows]] = 1
    pruned = prune_lines(text, scores, min_cut=TINY_CUT, **options)  # type: ignore[arg-type]
    assert restore(pruned, cut_texts(text, pruned)) == text
    return pruned


@pytest.mark.parametrize("form", ["{:6d}\t", "{:>4}→", "{:05}| ", "{} │ ", "{}. ", "{}: ", "{}:"])
def test_numbered_listing_is_parsed_under_its_numbers(form: str) -> None:
    first = 118
    listing = "".join(form.format(first + i) + line for i, line in enumerate(split_lines(CODE)))
    pruned = kept(listing, 5, language="python")
    assert pruned.kept_lines == (1, 4, 5, 7)
    lines = split_lines(pruned.text)
    assert lines[0] == form.format(first) + "import os\n"
    assert lines[1].strip() == "# ... 119-120 pruned"
    width = len(form.format(first))
    assert all(line[width:] in ("", *split_lines(CODE)) for line in lines if " pruned" not in line)
    bare = "".join(line[width:] for line in lines)
    ast.parse(bare)
    assert pruned.note is None


@pytest.mark.parametrize("last", ["10\t", "10", "10\t\n", "\n"])
def test_a_listing_may_end_with_an_empty_line(last: str) -> None:
    numbered = [f"{number}\t{line}" for number, line in enumerate(split_lines(CODE), 1)]
    pruned = kept("".join(numbered[:-1]) + last, 5)
    assert (pruned.language, pruned.kept_lines) == ("python", (1, 4, 5, 7, 8, 9, 10))
    assert pruned.text.endswith(last)


def test_a_listing_without_numbers_on_blank_lines_has_rows_for_numbers() -> None:
    count = itertools.count(1)
    numbered = "".join(
        f"{next(count):6d}\t{line}" if line.strip() else f"       {line}" for line in split_lines(CODE)
    )
    pruned = kept(numbered, 5)
    assert (pruned.language, pruned.kept_lines) == ("python", (1, 4, 5, 7))
    assert split_lines(pruned.text)[1].strip() == "# ... 2-3 pruned"


def test_matches_in_one_file_are_read_under_their_numbers() -> None:
    output = "3-def f(a):\n4:    return a\n--\n90-def g(a):\n91:    return f(a)\n"
    listing = read_listing(output)
    assert listing is not None
    assert listing.body == "def f(a):\n    return a\n\ndef g(a):\n    return f(a)\n"
    pruned = kept(output, 5, path="a.py")
    assert split_lines(pruned.text)[-2:] == ["90-def g(a):\n", "91:    return f(a)\n"]
    assert (pruned.language, pruned.note) == ("python", None)


@pytest.mark.parametrize(
    "text",
    [
        "1\ta\n3\tb\n",  # a hole
        "2:a\n1:b\n",
        "2-a\n2-b\n",
        "1\ta\nb\n",
        "1: a\n2| b\n",
        "7\ta\n",
        "\n\n1\ta\n",
        "x\n1\ta\n",
    ],
)
def test_numbers_that_dont_count_up_are_no_listing(text: str) -> None:
    assert read_listing(text) is None


GETTEXT = 'msgctxt "{0}"\nmsgid ""\n"a long text {0}"\nmsgstr "ein langer Text {0}"\n'
PLURAL = (
    'msgid ""\nmsgstr ""\n"Language: de\\n"\n\n#: a.c:1\nmsgid "one file"\nmsgid_plural "files"\n'
    'msgstr[0] "eine Datei"\nmsgstr[1] ""\n"Dateien"\n\nmsgid "no"\nmsgstr "nein"\n'
)
SHORT = 'msgid "a long text {0}"\nmsgstr "ein langer Text {0}"\n'
DTD = (
    "<!-- Names\n     of books -->\n<!ELEMENT book\n  (title,\n   author)>\n"
    "<!ATTLIST book\n  id ID #REQUIRED>\n<!ENTITY % text '#PCDATA'>\n"
)
TOML = "[a]\nx = 'a value that is longer than a marker'\n\n[b]\ny = 'a value that is longer than a marker'\nz = 3\n"


@pytest.mark.parametrize(
    ("path", "text", "row", "lines"),
    [
        ("x.toml", TOML, 6, (4, 6)),
        (".gitignore", "[Bb]in/\n*.log\n*.tmp\n", 3, (3,)),  # a pattern's set is no table
        ("book.dtd", DTD, 4, (3, 4, 5)),
        ("book.dtd", DTD, 2, (1, 2)),
        ("de.po", PLURAL, 9, (6, 7, 8, 9, 10)),
        ("de.po", "".join(GETTEXT.format(n) for n in range(3)), 7, (5, 6, 7, 8)),
        ("de.po", "".join(SHORT.format(n) for n in range(3)), 4, (3, 4)),
    ],
)
def test_what_a_line_stands_under_or_in_comes_along(
    path: str, text: str, row: int, lines: tuple[int, ...]
) -> None:
    assert kept(text, row, path=path).kept_lines == lines


def test_grep_output_is_parsed_under_its_prefixes_for_one_file_and_pruned_by_line_for_several() -> None:
    body = split_lines(CODE)
    output = "".join(
        f"src/a.py{':' if i == 4 else '-'}{i + 1}{':' if i == 4 else '-'}{line}"
        for i, line in enumerate(body)
    )
    pruned = kept(output, 5)
    assert pruned.language == "python"
    assert pruned.kept_lines == (1, 4, 5, 7)
    assert split_lines(pruned.text)[0] == "src/a.py-1-import os\n"
    output = "".join(f"{n}:def f{n}(): pass\n" for n in range(100, 1_000, 30))
    pruned = prune_lines(output, np.zeros(30), keep=[1, 20], min_cut=0)
    assert [line for line in split_lines(pruned.text) if "pruned" in line] == [
        "... 18 lines pruned (130-640)\n",
        "... 10 lines pruned (700-970)\n",
    ]
    output = "a.py:1:def f(): pass\na.py:9:    f()\n--\nb.py:3:class A:\nb.py:4:    f = 1\n"
    pruned = kept(output, 2)
    assert pruned.text == "... 1 line pruned\na.py:9:    f()\n... 3 lines pruned\n"
    assert pruned.note == "lines of 2 files: pruned line by line"


def test_diff_keeps_the_file_and_the_whole_hunk_of_a_line() -> None:
    diff = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ def f\n a\n-b\n+c\n"
        "@@ -90,3 +90,3 @@ def g\n d\n-e\n+f\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-g\n+h\n"
    )
    pruned = kept(diff, 10)
    assert pruned.language == "diff"
    assert pruned.kept_lines == (1, 2, 3, 8, 9, 10, 11)
    assert split_lines(pruned.text)[3] == "... 4-7 pruned\n"


def test_markdown_keeps_the_sections_above() -> None:
    text = (
        "# A\n\nintroduction, which is a longer line\n\n## B\n\ntext\n\n## C\n\n"
        "more text, again a longer line\n\n### D\n\nlast\n"
    )
    pruned = kept(text, 15, path="README.md")
    assert pruned.reasons == {
        1: "repair:scope",
        9: "repair:scope",
        13: "repair:scope",
        14: "repair:gap",
        15: "semantic",
    }
    assert "<!-- ... 2-8 pruned -->" in pruned.text


FORMS = {
    "data.json": (
        '{\n  "a": [\n    1,\n    2\n  ],\n  "b": "some longer text of words"\n}\n',
        '  "//": "... 2-6 pruned"',
    ),
    "app.log": (
        "12:00 start\n12:01 warning of something\n12:02 note of something\n12:03 end\n",
        "... 2-3 pruned",
    ),
    "notes.txt": ("one\n  two words of it\n  three words of it\nfour\n", "  ... 2-3 pruned"),
    "x.yaml": (
        "a:\n  b: a longer line of text in YAML\n  c: another longer line\nd: 2\n",
        "  # ... 2-3 pruned",
    ),
    "q.sql": (
        "CREATE FUNCTION f() BEGIN\n  SELECT b_is_a_long_name;\n  SELECT c_is_another_name;\nEND\n",
        "  -- ... 2-3 pruned",
    ),
    "t.j2": (
        "<p>\n  {% for a in b %}{{ a.b.c.d.e.f }}\n  {% endfor %}{{ some_more }}\n</p>\n",
        "  <!-- ... 2-3 pruned -->",
    ),
}


@pytest.mark.parametrize("path", FORMS)
def test_marker_in_each_form(path: str) -> None:
    text, marker = FORMS[path]
    pruned = kept(text, 1, len(split_lines(text)), path=path)
    assert marker + "\n" in split_lines(pruned.text)


@pytest.mark.parametrize(
    ("path", "opening"),
    [
        ("flow.mmd", "%% ..."),
        ("mail.vm", "## ..."),
        (".mailmap", "# ..."),
        ("openssl.cnf", "# ..."),
        ("app.rc", "// ..."),
        ("book.dtd", "<!-- ..."),
        ("ls.man", '.\\" ...'),
    ],
)
def test_a_marker_is_a_comment_of_the_format(path: str, opening: str) -> None:
    pruned = kept("a line that is longer than a marker of a cut\n" * 9, 9, path=path)
    assert split_lines(pruned.text)[0].startswith(opening)
