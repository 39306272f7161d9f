"""Formats of which no more is known than how a comment is written: pruned line by line, by brackets and indentation."""

from __future__ import annotations

import re
from typing import Any

from lamr_postprocess.languages.plain import (
    BACKSLASH,
    CLOSERS,
    CONDITIONS_OF_C,
    IN_PYTHON,
    LIKE_C,
    LIKE_HASKELL,
    by_lines,
    conditions,
)
from lamr_postprocess.languages.table import AtomicSpan, Comment, Language, Template

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
    (Comment("//"), "idl", ".idl .odl"),
    (Comment("#"), "raku", ".raku .rakumod .rakutest .p6"),
    (Comment("--"), "lean", ".lean"),
    (Comment("--"), "idris", ".idr"),
    (Comment("--"), "dhall", ".dhall"),
    (Comment("--"), "purescript", ".purs"),
    (Comment("--"), "cabal", ".cabal", "", "cabal.project"),
    (Comment(";;"), "webassembly", ".wat .wast"),
    (Comment(";"), "llvm", ".ll"),
)
"""Comment, name, endings, aliases and whole names, separated by spaces."""


_SECTIONS_OF_APACHE = Template(
    "sections",
    (AtomicSpan(r"^[ \t]*</?\w+[^>\n]*>"),),
    opens=r"\A\s*<(?P<name>\w+)",
    closes=r"\A\s*</(?P<name>\w+)",
)
_OFF: dict[str, dict[str, Any]] = {
    "apache": {"brackets": "", "wholes": (AtomicSpan(r"^[ \t]*#[^\n]*"),), "words": _SECTIONS_OF_APACHE},
    "asciidoc": {
        "brackets": "",
        "wholes": (AtomicSpan(r"^(?P<tag>/{4,}|-{4,}|\.{4,}|\+{4,})[ \t]*\n", r"^{tag}[ \t]*$"),),
        "words": conditions("", r"(?:n?def|eval)?::"),
    },
    "dhall": {"wholes": LIKE_HASKELL},
    "gdscript": {"wholes": IN_PYTHON},
    "gherkin": {"brackets": "", "wholes": (AtomicSpan(r'^[ \t]*"""', r'"""'),)},
    "idl": {"words": CONDITIONS_OF_C},
    "idris": {"wholes": LIKE_HASKELL},
    "just": {"wholes": IN_PYTHON},
    "lean": {"wholes": (AtomicSpan(r"/-", r"-/"), AtomicSpan(r"--[^\n]*"))},
    "m4": {"wholes": (AtomicSpan(r"\b(?:ifelse|m4_if)\([^\n]*\[[ \t]*$", r"^[ \t]*\][^\n]*\)"),)},
    "plantuml": {"brackets": "", "wholes": (AtomicSpan(r"/'", r"'/"),), "words": conditions("!")},
    "purescript": {"wholes": LIKE_HASKELL},
    "raku": {"wholes": (AtomicSpan(r"^[ \t]*=begin[ \t]+(?P<tag>\w+)", r"^[ \t]*=end[ \t]+{tag}"),)},
    "roff": {"brackets": "", "wholes": (AtomicSpan(r"^[.']ig\b.*\n", r"^\.\.[ \t]*$"),)},
    "velocity": {"brackets": "", "wholes": (AtomicSpan(r"#\*", r"\*#"),)},
    "webassembly": {"wholes": (AtomicSpan(r"\(;", r";\)"),)},
    "windows-resource": {"words": CONDITIONS_OF_C},
    "yacc": {"words": CONDITIONS_OF_C},
}
"""What else, by name, is in one piece or says that lines are switched off."""


def _wholes(comment: Comment) -> tuple[AtomicSpan, ...]:
    """What stays in one piece: comments over several lines, and with C's comments its texts."""
    if comment.opening in ("//", "/*"):
        return LIKE_C
    return (AtomicSpan(re.escape(comment.opening), re.escape(comment.closing)),) if comment.closing else ()


COMMENTED: tuple[Language, ...] = tuple(
    by_lines(
        comment,
        *row,
        **{"frames": CLOSERS, "wholes": _wholes(comment), "goes_on": BACKSLASH, **_OFF.get(row[0], {})},
    )
    for comment, *row in _ROWS
)
