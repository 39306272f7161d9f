"""Formats of which no more is known than how a comment is written: pruned line by line, by brackets and indentation."""

from __future__ import annotations

import re

from lamr_postprocess.languages.plain import BACKSLASH, CLOSERS, LIKE_C, by_lines
from lamr_postprocess.languages.table import Comment, Language, Whole

_ROWS: tuple[tuple[str, Comment, str, str], ...] = (
    ("gherkin", Comment("#"), ".feature", ""),
    ("freemarker", Comment("<#--", "-->"), ".ftl .ftlh", ""),
    ("velocity", Comment("##"), ".vm .vtl", ""),
    ("pug", Comment("//-"), ".pug .jade", ""),
    ("slim", Comment("/"), ".slim", ""),
    ("haml", Comment("-#"), ".haml", ""),
    ("mdx", Comment("{/*", "*/}"), ".mdx", ""),
    ("plantuml", Comment("'"), ".puml .plantuml .iuml", ""),
    ("mermaid", Comment("%%"), ".mmd .mermaid", ""),
    ("graphviz", Comment("//"), ".dot .gv", ""),
    ("asciidoc", Comment("//"), ".adoc .asciidoc .asc", ""),
    ("restructuredtext", Comment(".."), ".rst .rest", ""),
    ("roff", Comment('.\\" '), ".roff .man", ""),
    ("neon", Comment("#"), ".neon", ""),
    ("systemd", Comment("#"), ".service .socket .timer .target .mount .path .slice", ""),
    (
        "requirements",
        Comment("#"),
        "",
        "requirements.txt requirements-dev.txt constraints.txt dev-requirements.txt",
    ),
    (
        "ignore",
        Comment("#"),
        "",
        ".npmignore .prettierignore .eslintignore .stylelintignore .helmignore .gcloudignore .hgignore .vscodeignore "
        ".ignore .rgignore .mailmap .git-blame-ignore-revs",
    ),
    ("apache", Comment("#"), ".htaccess", ".htaccess httpd.conf"),
    ("caddy", Comment("#"), ".caddyfile", "Caddyfile"),
    ("robots", Comment("#"), "", "robots.txt crontab"),
    ("yarn", Comment("#"), "", "yarn.lock"),
    ("http", Comment("#"), ".http .rest-client", ""),
    ("just", Comment("#"), ".just", "justfile Justfile .justfile"),
    ("nushell", Comment("#"), ".nu", ""),
    ("elvish", Comment("#"), ".elv", ""),
    ("gdscript", Comment("#"), ".gd", ""),
    ("capnproto", Comment("#"), ".capnp", ""),
    ("rego", Comment("#"), ".rego", ""),
    ("sparql", Comment("#"), ".sparql .rq", ""),
    ("m4", Comment("#"), ".m4 .ac", "configure.ac"),
    ("yacc", Comment("/*", "*/"), ".y .yy .ypp .lex .l", ""),
    ("windows-resource", Comment("//"), ".rc .rc2", ""),
    ("flatbuffers", Comment("//"), ".fbs", ""),
    ("cue", Comment("//"), ".cue", ""),
    ("haxe", Comment("//"), ".hx", ""),
    ("qml", Comment("//"), ".qml", ""),
    ("vala", Comment("//"), ".vala .vapi", ""),
    ("cypher", Comment("//"), ".cypher .cql", ""),
    ("rescript", Comment("//"), ".res .resi .re .rei", ""),
    ("tablegen", Comment("//"), ".td .mlir", ""),
    ("dhall", Comment("--"), ".dhall", ""),
    ("purescript", Comment("--"), ".purs", ""),
    ("cabal", Comment("--"), ".cabal", "cabal.project"),
    ("webassembly", Comment(";;"), ".wat .wast", ""),
    ("llvm", Comment(";"), ".ll", ""),
)
"""Name, comment, endings and whole names, separated by spaces."""


def _wholes(comment: Comment) -> tuple[Whole, ...]:
    """What stays in one piece: comments over several lines, and with C's comments its texts."""
    if comment.opening in ("//", "/*"):
        return LIKE_C
    return (Whole(re.escape(comment.opening), re.escape(comment.closing)),) if comment.closing else ()


COMMENTED: tuple[Language, ...] = tuple(
    by_lines(
        name,
        comment,
        suffixes,
        filenames=filenames,
        frames=CLOSERS,
        wholes=_wholes(comment),
        goes_on=BACKSLASH,
    )
    for name, comment, suffixes, filenames in _ROWS
)
