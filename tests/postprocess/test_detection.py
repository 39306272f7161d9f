"""Which language a text is in, also where endings are shared and names carry other names, and its markers."""

from __future__ import annotations

import pytest
from lamr_postprocess import LANGUAGES, detect_language, language_named, prune_lines

C_HEADER = """/* A list. */
#ifndef LIST_H
#define LIST_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
struct list { struct list *next; void *item; };
int list_class(struct list *class, int new);   /* class, template <a>, std::list */
#ifdef __cplusplus
}
class Guard { public: explicit Guard(list *one); };
#endif
#endif
"""
CPP_HEADER = """#pragma once
#include <string>
namespace meters {
template <typename T>
class Gauge {
 public:
  const std::string& name() const;
};
}  // namespace meters
"""
OBJC_HEADER = """#import <Foundation/Foundation.h>
@interface Gauge : NSObject
- (NSString *)nameOf:(NSInteger)index;
@end
"""


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("gauge.h", CPP_HEADER, "cpp"),
        ("list.h", C_HEADER, "c"),
        ("gauge.h", OBJC_HEADER, "objective-c"),
        ("gauge.h", "", "c"),
        ("umbrella.h", '// All of it.\n#include "gauge/one.h"\n', "cpp"),
        ("umbrella.h", '/* All of it. */\n#include "gauge/one.h"\n', "c"),
        ("other.h", "/* -*- C++ -*- */\n#define A 1\n", "cpp"),
        # One sign alone leaves a doubt: a variable may have the name of a keyword.
        ("one.h", "/* One. */\nint one(int a);\nclass One {\n  int a;\n};\n", "cpp"),
        ("fit.m", "% fits\nfunction y = fit(x)\n  y = x';\nend\n", "matlab"),
        ("View.m", '#import "View.h"\n@implementation View\n- (void)draw {\n}\n@end\n', "objective-c"),
        ("family.pl", ":- use_module(library(lists)).\nparent(a, b).\nold(X) :- parent(X, _).\n", "prolog"),
        ("run.pl", "#!/usr/bin/perl\nuse strict;\nmy $x = 1;\n", "perl"),
        ("scan.l", "%{\n#include <stdio.h>\n%}\n%%\n[0-9]+ { return NUMBER; }\n", "yacc"),
        ("sum.l", ";; Sums.\n(defun sum (list)\n  (reduce #'+ list))\n", "lisp"),
        ("ls.l", '.\\" Lists.\n.TH LS 1\n.SH NAME\nls\n', "roff"),
        ("Directory.Build.props", "<Project>\n</Project>\n", "xml"),
        ("requirements_dev.lock.txt", "# a\nclick==8.1 \\\n    --hash=sha256:1\n", "requirements"),
        ("notes.txt", "If x >= 1, then y == 2.\n", "text"),
        ("main.ftl", "# Greets.\nhello = Hello, { $name }!\n-brand = lamr\n", "fluent"),
        ("mail.ftl", "<#-- a = b -->\n<#assign a = 1>\n<p>\nb = c\n</p>\n", "freemarker"),
        ("build.cake", 'Task("Clean")\n    .Does(() => {});\n', "csharp"),
        ("refs.bib", "@book{a,\n}\n", "bibtex"),
        ("Login.aspx", "<%@ Page %>\n<p>\n", "html"),
        ("app.rc", "1 ICON app.ico\n", "windows-resource"),
        ("thesis.cls", "\\NeedsTeXFormat{LaTeX2e}\n", "latex"),
        ("Form.cls", 'VERSION 1.0 CLASS\nAttribute VB_Name = "Form"\n', "vb"),
        ("view.inc", "<?php\nfunction a() {}\n", "php"),
        ("table.inc", '#include "a.h"\n#define ROW(a) a\n', "c"),
        ("alu.v", "module alu(input a);\nendmodule\n", "verilog"),
        ("Nat.v", "Require Import Arith.\nLemma a : True.\nProof.\nQed.\n", "coq"),
        ("app_de.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS></TS>\n', "xml"),
        ("app.ts", "const a: string = '';\n", "typescript"),
        ("data.json", '{\n  "a": 1\n}\n', "json"),
        ("data.json", '{\n  // one\n  "a": 1\n}\n', "jsonc"),
        ("run", "#!/bin/bash\necho 1\n", "shell"),
        ("ui.stderr", "error: a\n --> a.rs:1\n  |\n1 | #[get(1)]\n  | ^^^^^\n", "text"),
        ("run.pl", "#!/usr/bin/perl\nprint 1;\n%a = (\n);\n", "perl"),
        ("app.config", '\ufeff<?xml version="1.0"?>\n<a>\n</a>\n', "xml"),
        ("a.css.map", '{\n"version": 3\n}\n', "json"),
        ("rules", "#!/usr/bin/make -f\nall:\n", "makefile"),
        ("notes", "a\n# vim: set ft=python ts=4:\n", "python"),
        (None, '<?xml version="1.0"?>\n<a xmlns="b">\n</a>\n', "xml"),
    ],
)
def test_the_content_tells_what_the_name_leaves_open(path: str | None, text: str, name: str) -> None:
    assert detect_language(text, path).name == name


@pytest.mark.parametrize(
    ("path", "name", "template"),
    [
        ("Dockerfile.dev", "dockerfile", None),
        ("settings.yaml.example", "yaml", None),
        ("config.h.in", "c", None),
        ("makefile", "makefile", None),
        ("Makefile.am", "makefile", None),
        ("automake_boilerplate.am", "makefile", None),
        ("CITATION.cff", "yaml", None),
        ("App.slnx", "xml", None),
        ("BUILD.bazel", "python", None),
        (".env.production", "ini", None),
        ("web.Dockerfile.dockerignore", "ignore", None),
        ("global.gitignore.sample", "ignore", None),
        ("base.eslintrc", "json", None),
        ("a/README.md.orig", "markdown", None),
        ("token.sol", "solidity", None),
        ("nginx.conf.j2", "ini", "jinja"),
        ("app.yml.erb", "yaml", "erb"),
        ("Dockerfile.j2", "dockerfile", "jinja"),
        ("config.py.j2", "python", "jinja"),
        ("users.blade.php", "html", "blade"),
        ("a.ejs", "html", "erb"),
        ("a.heex", "html", "erb"),
        ("a.cshtml", "html", "razor"),
        ("values.yaml.tmpl", "yaml", "go"),
        ("archive.tar.gz", "text", None),
        ("self.default", "text", None),
    ],
)
def test_a_name_carries_another_name(path: str, name: str, template: str | None) -> None:
    language = detect_language("", path)
    assert (language.name, language.template and language.template.name) == (name, template)


def test_the_tags_tell_whether_a_file_is_a_template_and_of_which_engine() -> None:
    chart = "a: 1\n{{- if .Values.b }}\nb: 2\n{{- end }}\n"
    assert detect_language(chart, "deployment.yaml").template is not None
    assert detect_language('a: "{{ b }}"\n', "play.yaml").template is None
    page = "<ul>\n{% for a in b %}\n<li>{{ a }}</li>\n{% endfor %}\n</ul>\n"
    assert detect_language(page, "page.html").template is not None
    for text, engine in (("{% if a %}\n", "jinja"), ("{{ if .A }}\n", "go"), ("<% if a %>\n", "erb")):
        template = detect_language(text, "page.html.tmpl").template
        assert template is not None
        assert template.name == engine


@pytest.mark.parametrize("ending", [".h", ".m", ".pl", ".t", ".cls", ".inc", ".v", ".ts", ".s", ".json"])
@pytest.mark.parametrize(
    "text", ["/*" * 40_000, "class " * 20_000, '"' * 80_000, "#ifdef __cplusplus\n" * 8_000, "a(" * 40_000]
)
def test_a_hostile_text_takes_no_long_time(ending: str, text: str) -> None:
    assert detect_language(text, f"a{ending}")


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("a/b.py", "", "python"),
        ("C:\\x\\stub.PYI", "", "python"),
        ("Makefile", "all:\n", "makefile"),
        ("x.yaml", "", "yaml"),
        ("page.html", "", "html"),
        ("noending", "#!/usr/bin/env python3.11\n", "python"),
        (None, "#!/bin/sh\n", "shell"),
        (None, "#!/usr/bin/env -S python3 -u\n", "python"),
        ("tool", "#!/usr/bin/env -S uv run --script\n", "python"),
        ("tool", "#!/usr/bin/env -S npx tsx\n", "typescript"),
        ("tool", "#!/usr/bin/env -i -S TERM=dumb /bin/bash -e\n", "shell"),
        ("tool", "#!/usr/bin/env nix-shell\n#! nix-shell -i ruby -p ruby\n", "ruby"),
        ("tool", "#!/usr/bin/env rust-script\nfn main() {}\n", "rust"),
        (None, "import os\n\ndef f(x):\n    return x\n", "python"),
        (None, "once upon a time\n", "text"),
        (None, "", "text"),
    ],
)
def test_detection(path: str | None, text: str, name: str) -> None:
    assert detect_language(text, path).name == name


def test_names_are_normalized_unknown_ones_listed_and_none_belongs_to_two_languages() -> None:
    assert language_named("PY").name == "python"
    with pytest.raises(ValueError, match=r"'intercal'; known: .*python.*sql"):
        language_named("intercal")
    names = [name for language in LANGUAGES for name in (language.name, *language.aliases)]
    assert len(names) == len(set(names))
    endings = [ending for language in LANGUAGES for ending in language.suffixes | language.filenames]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize(
    ("language", "line", "marker"),
    [
        ("yaml", "- {}", "# ... 2-3 pruned"),
        ("sql", "{}", "-- ... 2-3 pruned"),
        ("html", "<p>{}</p>", "<!-- ... 2-3 pruned -->"),
        ("css", "{} {{}}", "/* ... 2-3 pruned */"),
        ("text", "{}", "... 2-3 pruned"),
    ],
)
def test_markers_are_comments_of_the_language(language: str, line: str, marker: str) -> None:
    first, *others, last = (line.format(name) + "\n" for name in "abcd")
    pruned = prune_lines(f"{first}{''.join(others)}{last}", [1, 0, 0, 1], language=language, min_cut=0)
    assert pruned.text == f"{first}{marker}\n{last}"
    assert pruned.language == language


def test_styles() -> None:
    code = "a = 1\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb = 2\nc = 3\n"
    assert prune_lines(code, [1, 0, 0], markers="swe-pruner").text == "a = 1\n(filtered 2 lines)\n"
    numbered = prune_lines(code, [1, 0, 1], language="python", line_numbers=True, min_cut=0).text
    assert numbered == "1\ta = 1\n\t# ... 2 pruned\n3\tc = 3\n"
