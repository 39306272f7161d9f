"""Formats of which no more is known than how a comment is written: pruned line by line, by brackets and indentation."""

from __future__ import annotations

import re
from typing import Any

from lamr_postprocess.languages.plain import BACKSLASH, CLOSERS, LIKE_C, by_lines
from lamr_postprocess.languages.table import Comment, Language, Whole

_ROWS: tuple[tuple[Any, ...], ...] = (
    (Comment("#"), "gherkin", ".feature"),
    (Comment("<#--", "-->"), "freemarker", ".ftl .ftlh"),
    (Comment("##"), "velocity", ".vm .vtl"),
    (Comment("//-"), "pug", ".pug .jade"),
    (Comment("/"), "slim", ".slim"),
    (Comment("-#"), "haml", ".haml"),
    (Comment("{/*", "*/}"), "mdx", ".mdx"),
    (Comment("'"), "plantuml", ".puml .plantuml .iuml"),
    (Comment("%%"), "mermaid", ".mmd .mermaid"),
    (Comment("//"), "graphviz", ".dot .gv"),
    (Comment("//"), "asciidoc", ".adoc .asciidoc .asc"),
    (Comment(".."), "restructuredtext", ".rst .rest"),
    (Comment('.\\" '), "roff", ".roff .man"),
    (Comment("#"), "neon", ".neon"),
    (Comment("#"), "systemd", ".service .socket .timer .target .mount .path .slice"),
    (
        Comment("#"),
        "requirements",
        "",
        "",
        "requirements.txt requirements-dev.txt constraints.txt dev-requirements.txt",
    ),
    (
        Comment("#"),
        "ignore",
        "",
        "",
        ".gitignore .dockerignore .gitattributes CODEOWNERS "
        ".npmignore .prettierignore .eslintignore .stylelintignore .helmignore .gcloudignore .hgignore .vscodeignore "
        ".ignore .rgignore .mailmap .git-blame-ignore-revs",
    ),
    (Comment("#"), "apache", ".htaccess", "", ".htaccess httpd.conf"),
    (Comment("#"), "caddy", ".caddyfile", "", "Caddyfile"),
    (Comment("#"), "robots", "", "", "robots.txt crontab"),
    (Comment("#"), "yarn", "", "", "yarn.lock"),
    (Comment("#"), "http", ".http .rest-client"),
    (Comment("#"), "just", ".just", "", "justfile Justfile .justfile"),
    (Comment("#"), "nushell", ".nu"),
    (Comment("#"), "elvish", ".elv"),
    (Comment("#"), "gdscript", ".gd"),
    (Comment("#"), "capnproto", ".capnp"),
    (Comment("#"), "rego", ".rego"),
    (Comment("#"), "sparql", ".sparql .rq"),
    (Comment("#"), "m4", ".m4 .ac", "", "configure.ac"),
    (Comment("/*", "*/"), "yacc", ".y .yy .ypp .lex .l"),
    (Comment("//"), "windows-resource", ".rc .rc2"),
    (Comment("//"), "flatbuffers", ".fbs"),
    (Comment("//"), "cue", ".cue"),
    (Comment("//"), "haxe", ".hx"),
    (Comment("//"), "qml", ".qml"),
    (Comment("//"), "vala", ".vala .vapi"),
    (Comment("//"), "cypher", ".cypher .cql"),
    (Comment("//"), "rescript", ".res .resi .re .rei"),
    (Comment("//"), "tablegen", ".td .mlir"),
    (Comment("--"), "dhall", ".dhall"),
    (Comment("--"), "purescript", ".purs"),
    (Comment("--"), "cabal", ".cabal", "", "cabal.project"),
    (Comment(";;"), "webassembly", ".wat .wast"),
    (Comment(";"), "llvm", ".ll"),
)
"""Comment, name, endings, aliases and whole names, separated by spaces."""


def _wholes(comment: Comment) -> tuple[Whole, ...]:
    """What stays in one piece: comments over several lines, and with C's comments its texts."""
    if comment.opening in ("//", "/*"):
        return LIKE_C
    return (Whole(re.escape(comment.opening), re.escape(comment.closing)),) if comment.closing else ()


COMMENTED: tuple[Language, ...] = tuple(
    by_lines(comment, *row, frames=CLOSERS, wholes=_wholes(comment), goes_on=BACKSLASH)
    for comment, *row in _ROWS
)
