"""Texts without a tree: no cut begins or ends inside what can't be parted, and a template's tags stay whole."""

from __future__ import annotations

import numpy as np
import pytest
from lamr_postprocess import PrunedCode, cut_texts, line_spans, prune_lines, restore
from lamr_postprocess.detection import detect_language
from lamr_postprocess.languages import LANGUAGES, Language
from lamr_postprocess.languages.plain import PLAIN
from lamr_postprocess.languages.table import Template
from lamr_postprocess.languages.templates import TEMPLATES
from lamr_postprocess.source_file import SourceFile
from lamr_postprocess.wholes import Wholes, wholes_of


def wholes(text: str, language: Language) -> Wholes:
    return wholes_of(SourceFile(text, given_language=language, listed=False))


def together(text: str, name: str) -> list[tuple[int, int]]:
    """First and last line, from 1, of what stands together by the row of a language."""
    language = next(each for each in (*PLAIN, *LANGUAGES) if each.name == name)
    head = wholes(text, language).head
    firsts = [int(row) for row in np.unique(head) if (head == row).sum() > 1]
    return [(row + 1, int(np.flatnonzero(head == row)[-1]) + 1) for row in firsts]


def kept(text: str, path: str, *rows: int) -> PrunedCode:
    scores = np.zeros(len(line_spans(text)))
    scores[[row - 1 for row in rows]] = 1
    pruned = prune_lines(text, scores, path=path, min_cut=0)
    assert restore(pruned, cut_texts(text, pruned)) == text
    return pruned


@pytest.mark.parametrize(
    ("language", "text", "lines"),
    [
        ("kotlin", "/**\n * a\n */\nfun a() = 1 +\n    2\nval b = 1\n", [(1, 3), (4, 5)]),
        ("kotlin", 'val a = """\n/*\n"""\nval b = "/*"\n// /*\nval c = 1\n', [(1, 3)]),
        ("css", "a { }\n/* b\n c */\nd,\ne { }\n", [(2, 3), (4, 5)]),
        ("powershell", '$a = @"\nb\n"@\n<#\nc\n#>\nd |\n  e\n', [(1, 3), (4, 6), (7, 8)]),
        ("dockerfile", "RUN a && \\\n  # b\n\n  c\nRUN d\n", [(1, 4)]),
        ("dockerfile", "RUN a && \\\n  b\nRUN <<EOF\nc\nEOF\nRUN d\n", [(1, 2), (3, 5)]),
        ("makefile", "a:\n\tb; \\\n\tc\ndefine d\ne\nendef\n", [(2, 3), (4, 6)]),
        ("terraform", "a = <<-EOF\nb\n\n  EOF\nc = 1\n", [(1, 4)]),
        ("shell", "cat <<'END'\n# it's\nEND\necho 'a\nb' # don't\nc \\\n d\n", [(1, 3), (4, 5), (6, 7)]),
        ("shell", "x=$((1 << n))\necho a\nb <<< c\necho d\n", []),
        (
            "yaml",
            "a: |\n  b\n\n  # c\nd:\n  - |\n    e\n  - f: >-\n      g\n    h: 1\n",
            [(1, 4), (6, 7), (8, 9)],
        ),
        ("yaml", "---\na: it's\nb: don't\n", []),
        ("elixir", '@doc """\na\n"""\nx = a |>\n  b\n', [(1, 3), (4, 5)]),
        ("scala", 'val s = """a\nb\n"""\ndef f = \'"\'\nval c = 1\n', [(1, 3)]),
        ("lua", "--[==[\na ]]\n]==]\nb = [[\nc\n]]\nd = 1\n", [(1, 3), (4, 6)]),
        ("sql", "create function a() as $$\nb;\n$$;\n/* c\nd */\ninsert 'e\nf';\n", [(1, 3), (4, 5), (6, 7)]),
        ("markdown", "---\na: 1\n---\n# b\n```py\nc\n```\n<!-- d\ne -->\n", [(1, 3), (5, 7), (8, 9)]),
        ("html", "<a\n  b>\n<!--\nc\n-->\n<p>d</p>\n", [(1, 2), (3, 5)]),
        ("haskell", "{- a\nb -}\nf x' = x'\ng = '\"'\n", [(1, 2)]),
        ("perl", "=pod\n\na\n\n=cut\nmy $x = <<END;\nb\nEND\n", [(1, 5), (6, 8)]),
        ("perl", "my @a = qw(\n  b\n);\nplan 'a'\n  unless b;\nc;\n", [(1, 3), (4, 5)]),
        ("perl", 'f(<<"  END");\na\n  END\nwhile (/a/ && $b =~ m[\nc\n]x) {\n}\n', [(1, 3), (4, 6)]),
        ("powershell", "if (a)\n    { b }\nc\n", [(1, 2)]),
        ("r", "if (a)\n  b\nc\n", [(1, 2)]),
        (
            "r",
            'a <- "# b\n  it\'s \\"c\n"\nd <- \'e\n\' # it\'s\nf <- r"-(\n)"\n)-"\n`it\'s` = 1\n',
            [(1, 3), (4, 5), (6, 8)],
        ),
        ("ocaml", "(* a\n(* b *)\n*)\nlet c = d\n", [(1, 3)]),
        ("nix", "a = ''\n  b ${if c then ''\n    d\n  '' else \"e\"}\n  ''${f\n'';\ng = 1;\n", [(1, 6)]),
        ("protobuf", "a b = 1\n    [c = d];\n// e\nf g = 2;\n", [(1, 2)]),
        ("lisp", '(a "b\\\\")\n(c "d\n e")\n', [(2, 3)]),
        ("powershell", "$a = @(\n  'b',\n\n  'c'\n)\n", [(2, 4)]),
        (
            "bibtex",
            "% a\n@book{b,\n  c = {d}\n}\n@misc{e,\n  f = {g}}\n\n@misc{h, i = {j}}\n",
            [(2, 4), (5, 6)],
        ),
        ("ocaml", "let a =\n  let b = 1 in\n  b\n\nlet c = begin\n  d\nend\ntype e = f\n", [(1, 4), (5, 7)]),
        (
            "ocaml",
            'let a =\n  {|b\n(* c\n|}\nlet d = "e\nf" ^ "\\\\"\nlet g = \'"\'\nlet h =\n  1\n',
            [(1, 4), (5, 6), (8, 9)],
        ),
        ("d", "T a(B)(C c)\n    if (d)\n{\n    b // e\n}\nint f;\n", [(1, 3)]),
        ("d", '/+ a\n/+ b +/\n+/\nimport c;\nd(r"\\", "e\nf");\n', [(1, 3), (5, 6)]),
        ("d", 'a = q"END\n"\n// b\nEND";\nint c;\nd = q"(e "\nf)";\n', [(1, 4), (6, 7)]),
        (
            "latex",
            "\\begin{verbatim}\n\\end{a}\n\\end{verbatim}\n\\[\n% a\n\\]\n50\\% $$\n",
            [(1, 3), (4, 6)],
        ),
        ("markdown", "a\n```\nb\nc\n", [(2, 4)]),
        (
            "markdown",
            "> ```\n> b\n> ```\n\n> ```\n> c\n> ```\n- ```sh\n  d\n  ```\n",
            [(1, 3), (5, 7), (8, 10)],
        ),
        ("markdown", "\ufeff---\na: b\n---\nc\n", [(1, 3)]),
        ("fluent", "a = b\nc =\n    { $d ->\n       *[e] f\n    }\n\n    .g = h\n# i\n-j = k\n", [(2, 7)]),
        ("python", 'a = """\nb\n"""\ncdef c \\\n    d\n', [(1, 3), (4, 5)]),
        # What isn't closed is no such thing.
        ("kotlin", "a\n/* b\nc\nd\n", []),
        ("shell", "cat <<END\na\nb\n", []),
    ],
)
def test_what_stands_together(language: str, text: str, lines: list[tuple[int, int]]) -> None:
    assert together(text, language) == lines
    assert together(text.replace("\n", "\r\n"), language) == lines


def test_a_cut_neither_begins_nor_ends_in_a_whole() -> None:
    text = "FROM a\nRUN b && \\\n    c && \\\n    d\nCOPY . .\nRUN e\n"
    assert kept(text, "Dockerfile", 3).kept_lines == (1, 2, 3, 4)
    assert kept(text, "Dockerfile.dev", 5).kept_lines == (1, 5)


@pytest.mark.parametrize(
    ("path", "text", "row", "lines"),
    [
        (
            "nginx.conf.j2",
            "{% if a %}\nserver {\n    listen 80;\n{% if b %}\n    root /x;\n{% else %}\n    root /y;\n"
            "{% endif %}\n}\n{% endif %}\nuser z;\n",
            5,
            (1, 2, 4, 5, 6, 8, 9, 10),
        ),
        (
            "users.blade.php",
            "<ul>\n@foreach ($a as $b)\n    <li>{{ $b }}</li>\n    <li>x</li>\n@endforeach\n</ul>\n",
            3,
            (1, 2, 3, 5, 6),
        ),
        ("a.yaml", "a: 1\n{{- if .b }}\nb: 2\n{{- else }}\nb: 3\n{{- end }}\nc: 4\n", 3, (2, 3, 4, 6)),
        ("a.html.erb", "<% a.each do |b| %>\n<p><%= b %></p>\n<p>x</p>\n<% end %>\n<p>y</p>\n", 2, (1, 2, 4)),
        ("a.ejs", "<% if (a) { %>\n<p>b</p>\n<% } else { %>\n<p>c</p>\n<% } %>\n<p>d</p>\n", 2, (1, 2, 3, 5)),
        ("a.hbs", "{{#each a}}\n<p>b</p>\n<p>c</p>\n{{/each}}\n<p>d</p>\n", 2, (1, 2, 4)),
        ("a.ini.j2", "select {{\n  a(\n    1)\n}}\nfrom b\n", 2, (1, 2, 3, 4)),
        ("page.html", "{# a\nb #}\n{% include 'c' %}\n<p>d</p>\n", 1, (1, 2)),
    ],
)
def test_a_templates_tags_and_blocks_stay_whole(
    path: str, text: str, row: int, lines: tuple[int, ...]
) -> None:
    pruned = kept(text, path, row)
    assert pruned.kept_lines == lines
    assert "with the tags of" in (pruned.note or "")


@pytest.mark.parametrize("language", [each.name for each in LANGUAGES if each.wholes or each.goes_on])
def test_hostile_text_takes_no_time_of_its_square(language: str) -> None:
    table = next(each for each in LANGUAGES if each.name == language)
    for unit in ("/*", "<!--", '"', "'", "<<A\n", '"""', "{-", "`", "\\\n", "--[[", "<a ", "$$", "|\n"):
        text = unit * (16_000 // len(unit))
        assert wholes(text, table).head.shape[0] == len(line_spans(text))


@pytest.mark.parametrize("template", TEMPLATES, ids=[each.name for each in TEMPLATES])
def test_hostile_tags_take_no_time_of_their_square(template: Template) -> None:
    table = detect_language("", f"a.html{min(template.suffixes)}")
    for unit in ("{% if a %}\n", "{% endif %}\n", "<% if a %>\n", "{{#a}}\n", "@if(a)\n", "{{", "<%", "@*"):
        text = unit * (16_000 // len(unit))
        assert wholes(text, table).head.shape[0] == len(line_spans(text))


def test_rows_of_a_bracket_need_both_of_its_ends() -> None:
    code = 'set(SOURCES\n    "a (1.cpp"\n    b.cpp  # )\n    ${C} d.cpp)\nfind(X)\nadd(y\n    z)\n'
    pruned = prune_lines(code, [0, 0, 1, 0, 0, 0, 0], path="CMakeLists.txt", min_cut=0)
    assert pruned.kept_lines == (1, 3, 4)
    assert prune_lines(code, [0, 0, 0, 0, 0, 0, 1], path="CMakeLists.txt", min_cut=0).kept_lines == (6, 7)


def test_blocks_of_batch_files_are_in_brackets() -> None:
    code = 'if a (\n    echo "b (" ^)\n    c\n) else (\n    d\n)\ne\n'
    assert kept(code, "a.bat", 3).kept_lines == (1, 3, 4, 6)
    assert kept(code, "a.bat", 7).kept_lines == (7,)


def test_brackets_without_another_one_pair_nothing() -> None:
    code = "a ( b [\n    c }\nd )\ne ]\nf (\n"
    assert prune_lines(code, [0, 1, 0, 0, 0], path="x.meson", language="meson", min_cut=0).kept_lines == (
        1,
        2,
        3,
    )
    assert prune_lines(code, [0, 0, 0, 1, 0], path="x.meson", language="meson", min_cut=0).kept_lines == (4,)


def test_many_brackets_take_no_time_of_their_square() -> None:
    text = "(\n" * 50_000 + ")\n" * 50_000
    found = wholes(text, detect_language("", "meson.build"))
    assert found.inside[50_000] == 49_999
    assert len(found.together) == 50_000


def test_a_statement_of_sql_stands_whole() -> None:
    code = "create table a (\n  b int, -- one;\n  c text default ';'\n);\n\nselect 1\nfrom a\n"
    assert prune_lines(code, [0, 1, 0, 0, 0, 0, 0], path="a.sql", min_cut=0).kept_lines == (1, 2, 3, 4)
    assert prune_lines(code, [0, 0, 0, 0, 0, 0, 1], path="a.sql", min_cut=0).kept_lines == (6, 7)


def test_environments_of_tex_keep_both_ends() -> None:
    code = (
        "\\begin{document}\n\\begin{a}[b]\nc\nd\n\\end{a}\n% \\begin{b}\n\\textbf{e\nf\ng}\n\\end{document}\n"
    )
    assert kept(code, "a.tex", 3).kept_lines == (1, 2, 3, 5, 10)
    assert kept(code, "a.tex", 8).kept_lines == (1, 7, 8, 9, 10)


def test_words_that_open_and_close_blocks() -> None:
    make = "ifeq ($(A),b)\nC = d\nE = f\nelse\nC = g\nendif\nall:\n\th\n"
    assert kept(make, "Makefile", 3).kept_lines == (1, 3, 4, 6)
    assert kept(make, "Makefile", 8).kept_lines == (7, 8)
    cmake = "if(A)\nset(B c)\nelse()\nset(B d)\nENDIF()\n"
    assert kept(cmake, "CMakeLists.txt", 4).kept_lines == (1, 3, 4, 5)
    shader = "#ifdef A\nint b;\nint c;\n#else\nint d;\n#endif\nint e;\n"
    assert kept(shader, "a.frag", 3).kept_lines == (1, 3, 4, 6)
    assert kept("let\n  a = 1;\n  b = 2;\nin\n{ c = a; }\n", "a.nix", 3).kept_lines == (1, 3, 4)
    code = "module A = struct\n  type b = c\n\n  type d = e\nend\n(* struct *)\ntype f = g\n"
    assert kept(code, "a.ml", 4).kept_lines == (1, 4, 5)
    assert kept(code, "a.ml", 7).kept_lines == (7,)


def test_what_may_not_be_empty_keeps_its_first_line() -> None:
    code = 'type A {\n  # b\n  """c"""\n  d: E\n  f: G\n}\n\n"""\nh\n"""\ntype I {\n  j: K\n  l: M\n}\n'
    assert kept(code, "a.graphql", 1).kept_lines == (1, 3, 4, 6)
    assert kept(code, "a.graphql", 9).kept_lines == (8, 9, 10, 11, 12, 14)
    code = "[<EntryPoint>]\nlet a b =\n    // c\n    d\n    e\n"
    assert kept(code, "a.fs", 1).kept_lines == (1, 2, 4)
    script = "{% if a %}\nif b\nthen\n    # c\n    d\n    e\nfi\n{% endif %}\n"
    assert kept(script, "a.sh.j2", 2).kept_lines == (1, 2, 3, 5, 7, 8)


def test_an_attribute_of_powershell_keeps_what_it_stands_before() -> None:
    code = "[CmdletBinding()]\nparam(\n  [int]$a,\n  $b\n)\ntry {\n  c\n}\ncatch {\n  d\n}\n"
    assert kept(code, "a.ps1", 1).kept_lines == (1, 2, 5)
    assert kept(code, "a.ps1", 7).kept_lines == (6, 7, 8, 9, 11)
