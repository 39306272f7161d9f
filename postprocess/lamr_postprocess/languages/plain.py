"""What every language and format has that needs no grammar: names, comments, headings, and what can't be parted.

A language with a grammar stands here, too, if its wheel may be absent or its files may hold a template's tags; its
module adds the grammar to its row.
"""

from __future__ import annotations

import dataclasses
import re
from functools import partial
from typing import Any

from lamr_postprocess.diffs import diff_frames
from lamr_postprocess.languages.table import AtomicSpan, Comment, EmbeddedPart, Language, Template, name_set
from lamr_postprocess.outputs import output_frames

_HASH = Comment("#")
_DASHES = Comment("--")
_SLASHES = Comment("//")
_BLOCK = Comment("/*", "*/")
_MARKUP = Comment("<!--", "-->")
_NONE = Comment("")
_SECTIONS = (r"[ \t]*\[",)
# How lines begin that close a block or go on with it.
CLOSERS = r"[})\]]"
BRACKETS = r"[{})\]]"  # a brace that opens a block may stand on a line of its own
_BRACED = rf"{BRACKETS}|(?:else|elsif|catch|finally)\b"
_WORDS = "end|else|elsif|elif|until|rescue|catch|ensure|finally|after|exception|when|then|begin|do"
_ENDS = rf"{BRACKETS}|(?i:{_WORDS})(?!\w)"
_SHELL = rf"{BRACKETS}|(?:fi|done|esac|else|elif|then|do)\b|;;"
_TAGS = rf"{BRACKETS}|</|/?>|-->"
_ELEMENTS = (r"<(?:script|style|template)\b",)


def _nesting(opening: str, inside: str, closing: str) -> AtomicSpan:
    """A comment that may hold another one, and else what is inside."""
    return AtomicSpan(opening, rf"(?:{inside}|{opening}(?:{inside})*{closing})*{closing}", at_once=True)


# What can't be parted. A text in quotes ends with its line unless a language says otherwise.
_TEXT = AtomicSpan(r'"(?:[^"\\\n]|\\.)*"')
_LETTERS = AtomicSpan(r"'(?:[^'\\\n]|\\.)*'")
_LETTER = AtomicSpan(r"'(?:[^'\\\n]|\\[^\n]{1,8})'")  # a type variable or a lifetime may follow a lone quote
_TEXTS = (_TEXT, _LETTERS)
# Texts that may go on in the next line.
_LONG_TEXT = AtomicSpan(r'"', r'[^"\\]*(?:\\[\s\S][^"\\]*)*"', at_once=True)
_LONG_LETTERS = AtomicSpan(r"'", r"[^'\\]*(?:\\[\s\S][^'\\]*)*'", at_once=True)
_TRIPLE = AtomicSpan(r'"""', r'"""')
_TRIPLES = (_TRIPLE, AtomicSpan("'''", "'''"))
_LINE_OF_C = AtomicSpan(r"//[^\n]*")
_BLOCK_OF_C = AtomicSpan(r"/\*", r"\*/")
_COMMENTS_OF_C = (_LINE_OF_C, _BLOCK_OF_C)
LIKE_C = (*_COMMENTS_OF_C, *_TEXTS)
LIKE_JAVASCRIPT = (*LIKE_C, AtomicSpan("`", r"(?:[^`\\]|\\[\s\S])*`", at_once=True))
LIKE_KOTLIN = (*_COMMENTS_OF_C, _TRIPLE, _TEXT, _LETTER)
_AFTER_HASH = AtomicSpan(r"#[^\n]*")
IN_RUST = (*_COMMENTS_OF_C, AtomicSpan(r'\br(?P<tag>#*)"', r'"{tag}'), _TEXT, _LETTER)
_WORD_OF_HASH = AtomicSpan(r"(?<![^\s;&|()])#[^\n]*")
_HASHES = (_AFTER_HASH, *_TEXTS)
IN_PYTHON = (*_TRIPLES, *_HASHES)
_AFTER_DASHES = AtomicSpan(r"--[^\n]*")
LIKE_HASKELL = (AtomicSpan(r"\{-", r"-\}"), AtomicSpan(r"(?<!\S)--[^\n]*"), _TRIPLE, _TEXT, _LETTER)
_LIKE_OCAML = (
    _nesting(r"\(\*", r"[^(*]|\((?!\*)|\*(?!\))", r"\*\)"),
    AtomicSpan(r"\{(?P<tag>[a-z_]*)\|", r"\|{tag}\}"),
    _LONG_TEXT,
    _LETTER,
)
_RAW_IN_R = tuple(
    AtomicSpan(rf"\b[rR]{quote}(?P<tag>-*){re.escape(opening)}", rf"{re.escape(closing)}{{tag}}{quote}")
    for quote in "\"'"
    for opening, closing in ("()", "[]", "{}")
)
_IN_D = (
    *_COMMENTS_OF_C,
    _nesting(r"/\+", r"[^/+]|/(?!\+)|\+(?!/)", r"\+/"),
    AtomicSpan(r'\bq"(?P<tag>[A-Za-z_]\w*)[ \t]*\n', r'^{tag}"'),
    AtomicSpan(r'\bq"[(\[{<]', r'[)\]}>]"'),
    AtomicSpan(r'\br"', '"'),
    AtomicSpan("`", "`"),
    _LONG_TEXT,
    _LETTERS,
)
_READER_OF_LISP = r"^[ \t]*#(?:[;_]|[+-](?:[^\s()]+|\([^()]*\)))[ \t]*$"
_LIKE_LISP = (
    AtomicSpan(r"#\|", r"\|#"),
    AtomicSpan(r";[^\n]*"),
    AtomicSpan(r"\\."),
    AtomicSpan(r'"(?:[^"\\]|\\[\s\S])*"'),
)
_COMMENT_OF_XML = AtomicSpan(r"<!--", r"-->")
_IN_XML = (
    _COMMENT_OF_XML,
    AtomicSpan(r"<!\[CDATA\[", r"\]\]>"),
    AtomicSpan(r"<\?", r"\?>"),
    AtomicSpan(r"<!DOCTYPE\b[^\n>\[]*\[", r"\]\s*>"),
    AtomicSpan(r"</?[A-Za-z][\w:.-]*(?![^<>\n]*>)", r"(?<![=-])>"),
)
# A script or a style has comments of its own; a script that holds data or a template has none that are safe.
_DATA = (
    r"<script\b[^<>]*\btype\s*=\s*[\"']?(?:importmap|text/(?:x-)?(?:template|html|handlebars)|[\w.+/-]*json)"
)
_IN_PAGES = (AtomicSpan(_DATA, r"</script\s*>"), *_IN_XML)
_PARTS = (
    EmbeddedPart(rf"^[ \t]*(?!{_DATA})<script\b[^<>]*>", r"</script\s*>", _SLASHES),
    EmbeddedPart(r"^[ \t]*<style\b[^<>]*>", r"</style\s*>", _BLOCK),
)
# Words and expressions in brackets of their own, over several lines.
_QUOTING = r"(?<![$@%&\w>-])(?:qw|qq?|qr|m|s)[ \t]*"
_LISTS_OF_PERL = (
    AtomicSpan(rf"{_QUOTING}\([ \t]*$", r"\)"),
    AtomicSpan(rf"{_QUOTING}\[[ \t]*$", r"^[ \t]*\]"),
    AtomicSpan(rf"{_QUOTING}\{{[ \t]*$", r"^[ \t]*\}"),
    AtomicSpan(r"(?<![$@%&\w>-])qw[ \t]*(?:\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|/[^/]*/)"),
)
_AFTER_PERCENT = AtomicSpan(r"%[^\n]*")
_ENTRY_OF_BIBTEX = AtomicSpan(
    r"^[ \t]*@\w+[ \t]*[{(]", r"[})][ \t]*,?[ \t]*(?=\s*(?:^[ \t]*[@%]|\Z))|^[ \t]*[})][ \t]*$"
)
# A conditional of TeX's own; one that is defined, or takes its branches in braces, begins nothing that `\fi` ends.
_IF_OF_TEX = r"(?<!\\newif)\\if(?!f\b)[a-zA-Z@]*(?![a-zA-Z@{])"
_ENVIRONMENTS = Template(
    "environments",
    (AtomicSpan(r"\\(?:begin|end)\{[^{}\n]*\}"), AtomicSpan(rf"{_IF_OF_TEX}|\\(?:else|fi)(?![a-zA-Z@])")),
    opens=r"\A\\(?:begin\{(?P<name>.*)\}|if)",
    goes_on=r"\A\\else",
    closes=r"\A\\(?:end\{(?P<name>.*)\}|fi)",
)
_CONDITIONS_OF_MAKE = Template(
    "conditions",
    (AtomicSpan(r"^ *(?:if(?:n?(?:eq|def)\b|(?= [A-Z]))|else\b|endif\b)"),),
    opens=r"\A *if",
    goes_on=r"\A *else",
    closes=r"\A *endif",
)
_COMMANDS_OF_CMAKE = Template(
    "commands",
    (AtomicSpan(r"^[ \t]*(?i:(?:else)?if|else|foreach|while|function|macro|block|end[a-z]+)[ \t]*(?=\()"),),
    opens=r"\A\s*(?i:(?P<name>if|foreach|while|function|macro|block))\b",
    goes_on=r"\A\s*(?i:else)",
    closes=r"\A\s*(?i:end)(?P<name>\w+)",
)


def conditions(sign: str, behind: str = r"\b") -> Template:
    """Conditions of a preprocessor: what stands before its words and, as expressions, behind them."""
    return Template(
        "conditions",
        (AtomicSpan(rf"^[ \t]*(?:{sign})[ \t]*(?i:if\w*|el\w+|end ?if){behind}"),),
        opens=rf"(?i)\A\s*(?:{sign})\s*if",
        goes_on=rf"(?i)\A\s*(?:{sign})\s*el",
        closes=rf"(?i)\A\s*(?:{sign})\s*end",
    )


CONDITIONS_OF_C = conditions("#")
# A text over several lines, whose expressions may hold such texts.
_OF_TEXT, _OF_CODE = r"[^'$]|'(?!')|''[$'\\]|\$(?!\{)", r"[^{}'\"]|'(?!')|\"(?:[^\"\\]|\\.)*\"|\{[^{}]*\}"
_INNER = rf"''(?:{_OF_TEXT}|\$\{{(?:{_OF_CODE})*\}})*''"
_TEXT_OF_NIX = AtomicSpan("''", rf"(?:{_OF_TEXT}|\$\{{(?:{_OF_CODE}|{_INNER})*\}})*''", at_once=True)
_LET_OF_NIX = Template("let", (AtomicSpan(r"\b(?:let|in)\b"),), opens=r"\Alet", closes=r"\Ain")
_BLOCKS_OF_OCAML = Template(
    "blocks",
    (AtomicSpan(r"\b(?:begin|struct|sig|object|do|end|done)\b"),),
    opens=r"\A(?:begin|struct|sig|object|(?P<name>do)\Z)",
    closes=r"\A(?:end|(?P<name>do)ne)",
)
# A definition up to the next line that is indented no more than its first one, unless it holds others.
_DEFINITIONS_OF_OCAML = (
    AtomicSpan(r"^(?P<tag>[ \t]*)(?:let|and|method!?)\b.*\bbegin[ \t]*$", r"^{indent}end\b"),
    AtomicSpan(
        r"^(?P<tag>[ \t]*)(?:let|and|type|val|external|exception|class|method!?|inherit|open|include)\b"
        r"(?!.*\b(?:struct|sig|object|begin)\b)",
        r"^(?!{indent}(?:[ \t]|[|)\]};]|(?:in|with|then|else|begin|match|fun|function|try|if)\b)|[ \t]*$)|\Z",
        holds=True,
    ),
)
# A message with its attributes and variants, which are indented.
_MESSAGE_OF_FLUENT = AtomicSpan(r"^-?[a-zA-Z][\w-]*[ \t]*=.*(?:\n(?=(?:[ \t]*\n){0,3}(?:[ \t]+\S|\})).*)*")
# A message of gettext with its context and translations; another one may follow without a blank line.
_MESSAGE = AtomicSpan(
    r"^(?:msgctxt\b.*\n(?:[ \t]*\".*\n)*)?msgid\b.*(?:\n(?!msgctxt\b|msgid\b|#)[^\S\n]*\S.*)*"
)
_FRONT = AtomicSpan(r"\A\ufeff?---[ \t]*\n", r"^(?:---|\.\.\.)[ \t]*$")
_FRONT_TOML = AtomicSpan(r"\A\ufeff?\+\+\+[ \t]*\n", r"^\+\+\+[ \t]*$")
# A fence may stand in a quotation and in an item of a list.
_FENCE = AtomicSpan(
    r"^[ \t]*(?:(?:[>*+-]|\d{1,3}[.)])[ \t]*)*(?P<tag>`{3,9}|~{3,9})[^\n]*\n",
    r"^[ \t]*(?:>[ \t]*)*{tag}[`~]*[ \t]*$|\Z",
)
_HEREDOC = AtomicSpan(
    r"<<[-~]?\s?(?P<quote>['\"]?)(?P<tag>[A-Za-z_]\w*)(?P=quote)[^\n]*\n", r"^[ \t]*{tag}[ \t]*$"
)
IN_RUBY = (AtomicSpan(r"^=begin\b", r"^=end\b"), AtomicSpan(r"^__END__$", r"\Z"), _HEREDOC, *_HASHES)
IN_PHP = (
    AtomicSpan(r"<<<[ \t]*(?P<quote>['\"]?)(?P<tag>[A-Za-z_]\w*)(?P=quote)[ \t]*\n", r"^[ \t]*{tag}\b"),
    AtomicSpan(r"#(?!\[)[^\n]*"),
    *LIKE_C,
)
_HEREDOC_OF_SHELL = AtomicSpan(
    r"(?<![<\w])<<-?[ \t]*\\?(?P<quote>['\"]?)(?P<tag>[A-Za-z_][\w.-]*)(?P=quote)[^\n]*\n",
    r"^\t*{tag}[ \t]*$",
)
_IN_SHELL = (
    AtomicSpan(r"\\."),
    _WORD_OF_HASH,
    _HEREDOC_OF_SHELL,
    AtomicSpan(r"'", r"'"),
    AtomicSpan(r'"(?:[^"\\]|\\[\s\S])*"'),
)
# A text of YAML that goes on in deeper lines; behind an item's dash, the key says how deep.
_IN_YAML = (
    AtomicSpan(r"(?<!\S)#[^\n]*"),
    AtomicSpan(
        r"^(?P<tag>[ ]*(?:- +)*)[^\s#'\"-][^\n#]*:[ ]+(?:[&!]\S+ +)*[|>][-+\d]*[ \t]*(?:#[^\n]*)?\n",
        r"^(?!{indent} |[ \t]*$)",
    ),
    AtomicSpan(
        r"^(?P<tag>[ ]*)(?:- +)+(?:[&!]\S+ +)*[|>][-+\d]*[ \t]*(?:#[^\n]*)?\n", r"^(?!{indent} |[ \t]*$)"
    ),
    AtomicSpan(r'(?:(?<=[\s\[{,(])|^)"', r'(?<!\\)"'),
    AtomicSpan(r"(?:(?<=[\s\[{,(])|^)'", r"'"),
)
_IN_SQL = (
    _AFTER_DASHES,
    _BLOCK_OF_C,
    AtomicSpan(r"\$(?P<tag>\w*)\$", r"\${tag}\$"),
    AtomicSpan(r"'", r"'"),
    AtomicSpan(r'"[^"\n]*"'),
)
# A statement, unless it is long or holds others: a list without its last item, or its comma, is none.
_STATEMENT_OF_SQL = AtomicSpan(
    r"^(?i:create|alter|drop|select|with|insert|update|delete|merge|grant|revoke|comment|set|truncate|copy)\b",
    r"(?:--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/)){0,2000}\*/|'[^']{0,2000}'|-(?!-)|/(?!\*)"
    r"|(?!\$\w*\$|(?i:\bbegin\b))[^;'/-]){0,2000}(?:;|\Z)",
    at_once=True,
)
# Ends of lines that go on; where statements end in a semicolon, what else but a bracket or a comma ends a line does.
UNENDED = r"^(?![ \t]*(?:#|=[a-z]|/?[*+]))(?!.*(?://|[ \t]#)).*(?:[\w)\]'\"`?&|=<>*/-]|(?<!\+)\+)[ \t]*$"
BACKSLASH = r"\\$"
_OPERATOR = r"(?:&&|\|\||(?<!\+)\+|(?<!-)-|(?<![=!<>])=|\?:)[ \t]*$"
_PIPE = r"\\$|(?:&&|\|)[ \t]*$"


def by_lines(  # noqa: PLR0913, PLR0917  # what is known of every format
    comment: Comment,
    name: str,
    suffixes: str = "",
    aliases: str = "",
    filenames: str = "",
    shebangs: str = "",
    **columns: Any,
) -> Language:
    """A row of the table below; names are separated by spaces."""
    names = {"aliases": aliases, "suffixes": suffixes, "filenames": filenames, "shebangs": shebangs}
    columns |= {key: name_set(text) for key, text in names.items()}
    return Language(name, comment, **columns)


_hash = partial(by_lines, _HASH)
_slash = partial(by_lines, _SLASHES, frames=BRACKETS, wholes=LIKE_C)
_page = partial(by_lines, _MARKUP, headings=_ELEMENTS, frames=_TAGS, wholes=_IN_PAGES, parts=_PARTS)

PLAIN: tuple[Language, ...] = (
    by_lines(
        _NONE, "text", ".txt .log .out .err .csv .tsv", aliases="plain plaintext log", blocks=output_frames
    ),
    _hash(
        "shell",
        ".sh .bash .zsh .ksh .bats",
        aliases="bash sh zsh",
        filenames=".bashrc .bash_profile .bash_aliases .zshrc .zshenv .zprofile .profile PKGBUILD APKBUILD .envrc",
        shebangs="sh bash zsh ksh dash ash bats openrc-run",
        frames=_SHELL,
        wholes=_IN_SHELL,
        goes_on=_PIPE,
        filled=True,
        skips_mark=False,
    ),
    _hash(
        "fish", ".fish", shebangs="fish", frames=_ENDS, wholes=_IN_SHELL[1:], goes_on=_PIPE, skips_mark=False
    ),
    _hash(
        "yaml",
        ".yaml .yml .cff",
        aliases="yml",
        filenames=".clang-format .clang-tidy .clangd",
        frames=CLOSERS,
        wholes=_IN_YAML,
    ),
    _hash(
        "toml",
        ".toml",
        headings=_SECTIONS,
        filenames="Pipfile Cargo.lock poetry.lock uv.lock",
        frames=CLOSERS,
        wholes=(*_TRIPLES, _AFTER_HASH, *_TEXTS),
    ),
    _hash(
        "ini",
        ".ini .cfg .conf .cnf .properties .editorconfig .desktop .env",
        headings=_SECTIONS,
        filenames=".gitconfig .gitmodules .npmrc .env .coveragerc .flake8 .pylintrc .pypirc .hgrc",
        frames=BRACKETS,
        goes_on=BACKSLASH,
    ),
    _hash(
        "makefile",
        ".mk .mak .am",
        aliases="make mf",
        filenames="Makefile makefile GNUmakefile BSDmakefile",
        shebangs="make",
        frames=CLOSERS,
        wholes=(AtomicSpan(r"^define\b", r"^endef\b"),),
        goes_on=BACKSLASH,
        words=_CONDITIONS_OF_MAKE,
    ),
    _hash(
        "dockerfile",
        ".dockerfile .containerfile",
        aliases="docker",
        filenames="Dockerfile Containerfile",
        frames=CLOSERS,
        wholes=(AtomicSpan(r"^[ \t]*#[^\n]*"), _HEREDOC),
        goes_on=r"[\\`][ \t]*$",
    ),
    _hash(
        "cmake",
        ".cmake",
        filenames="CMakeLists.txt",
        frames=BRACKETS,
        words=_COMMANDS_OF_CMAKE,
        wholes=(AtomicSpan(r"#?\[(?P<tag>=*)\[", r"\]{tag}\]"), _AFTER_HASH, AtomicSpan(r'"', r'(?<!\\)"')),
    ),
    _hash(
        "meson",
        filenames="meson.build meson_options.txt meson.options",
        frames=rf"{BRACKETS}|(?:end(?:if|foreach)|el(?:se|if))\b",
        wholes=(AtomicSpan("'''", "'''"), *_HASHES),
        goes_on=r"(?:\\|[-+*/%=?:]|\b(?:and|or|not))[ \t]*$",
    ),
    _hash(
        "perl",
        ".pl .pm .t .psgi",
        shebangs="perl",
        filenames="cpanfile",
        frames=_BRACED,
        wholes=(
            AtomicSpan(r"^=[a-z]\w*", r"^=cut\b"),
            AtomicSpan(r"^__(?:END|DATA)__", r"\Z"),
            AtomicSpan(r"<<~?(?P<quote>['\"])(?P<tag>[^'\"\n]+)(?P=quote)[^\n]*\n", r"^[ \t]*{tag}[ \t]*$"),
            _HEREDOC,
            *_LISTS_OF_PERL,
            _WORD_OF_HASH,
            *_TEXTS,
        ),
        goes_on=UNENDED,
    ),
    _hash(
        "r",
        ".r .R",
        shebangs="Rscript",
        frames=CLOSERS,
        wholes=(*_RAW_IN_R, AtomicSpan(r"`[^`\n]*`"), _AFTER_HASH, _LONG_TEXT, _LONG_LETTERS),
        goes_on=r"(?:%>%|\|>|[+,~]|<-|&&|\|\||\belse)[ \t]*$|^[ \t]*(?:if|for|while)\b[^{}#]*\)[ \t]*$",
    ),
    _hash(
        "julia",
        ".jl",
        shebangs="julia",
        frames=_ENDS,
        wholes=(AtomicSpan("#=", "=#"), *_TRIPLES[:1], _AFTER_HASH, _TEXT),
        goes_on=_OPERATOR,
    ),
    _hash(
        "elixir",
        ".ex .exs",
        shebangs="elixir",
        frames=_ENDS,
        wholes=(*_TRIPLES, AtomicSpan(r"\?."), _AFTER_HASH, *_TEXTS),
        goes_on=rf"{_OPERATOR}|(?:\|>|<>|\+\+)[ \t]*$",
    ),
    _hash(
        "nix",
        ".nix",
        frames=CLOSERS,
        wholes=(_BLOCK_OF_C, _TEXT_OF_NIX, _AFTER_HASH, _TEXT),
        words=_LET_OF_NIX,
        documents=r"(?:with|assert)\b.*;[ \t]*$|.*:[ \t]*$",
    ),
    _hash(
        "terraform",
        ".tf .tfvars .hcl .nomad",
        aliases="hcl",
        frames=BRACKETS,
        wholes=(_HEREDOC, _AFTER_HASH, *_COMMENTS_OF_C, _TEXT),
    ),
    _hash(
        "graphql",
        ".graphql .gql .graphqls",
        frames=BRACKETS,
        wholes=(_TRIPLE, _AFTER_HASH, _TEXT),
        goes_on=r"[=|&@][ \t]*$",
        documents=r'"',
        filled=True,
    ),
    _hash("crystal", ".cr", shebangs="crystal", frames=_ENDS, wholes=(_HEREDOC, *_HASHES)),
    _hash(
        "nim",
        ".nim .nims .nimble",
        frames=CLOSERS,
        wholes=(AtomicSpan(r"#\[", r"\]#"), _TRIPLE, _AFTER_HASH, _TEXT),
    ),
    _hash(
        "tcl",
        ".tcl",
        shebangs="tclsh wish",
        frames=BRACKETS,
        wholes=(AtomicSpan(r"\\."), AtomicSpan(r"^[ \t]*#[^\n]*")),
        goes_on=BACKSLASH,
        skips_mark=False,
    ),
    _hash("awk", ".awk", shebangs="awk gawk mawk", frames=BRACKETS, goes_on=_PIPE, skips_mark=False),
    _hash("puppet", ".pp", frames=BRACKETS, wholes=_HASHES),
    _hash(
        "powershell",
        ".ps1 .psm1 .psd1",
        aliases="pwsh",
        shebangs="pwsh",
        frames=rf"{BRACKETS}|(?i:else|elseif|catch|finally)\b",
        wholes=(
            AtomicSpan(r"<#", r"#>"),
            AtomicSpan(r"@(?P<tag>['\"])[ \t]*\n", r"^{tag}@"),
            AtomicSpan(r"`."),
            _WORD_OF_HASH,
            AtomicSpan(r'"', r'(?<!`)"'),
            AtomicSpan("'", "'"),
        ),
        goes_on=r"(?:[`|,]|(?<![=!])=|\+|-(?:and|or|join|f))[ \t]*$"
        r"|^[ \t]*(?i:if|elseif|else|while|foreach|for|switch|try|catch|finally|do|function)\b[^{}#]*$",
        documents=r"\[[A-Z]\w*(?:\(.*\))?\][ \t]*$",
    ),
    by_lines(
        _DASHES,
        "sql",
        ".sql .ddl .dml .pgsql .psql .plsql .pks .pkb .hql",
        aliases="mysql postgres",
        frames=_ENDS,
        wholes=(_STATEMENT_OF_SQL, *_IN_SQL),
    ),
    by_lines(
        _DASHES,
        "lua",
        ".lua .luau .rockspec",
        shebangs="lua luajit",
        frames=_ENDS,
        wholes=(AtomicSpan(r"(?:--)?\[(?P<tag>=*)\[", r"\]{tag}\]"), _AFTER_DASHES, *_TEXTS),
        goes_on=r"(?:(?<!\.)\.\.|\b(?:and|or|not)|(?<![=~<>])=)[ \t]*$",
    ),
    by_lines(
        _DASHES,
        "haskell",
        ".hs",
        shebangs="runhaskell stack",
        frames=CLOSERS,
        wholes=LIKE_HASKELL,
        words=CONDITIONS_OF_C,
    ),
    by_lines(_DASHES, "elm", ".elm", frames=CLOSERS, wholes=LIKE_HASKELL),
    by_lines(_DASHES, "ada", ".adb .ads", frames=_ENDS),
    by_lines(_DASHES, "vhdl", ".vhd .vhdl", frames=_ENDS, wholes=(_AFTER_DASHES, _BLOCK_OF_C, _TEXT)),
    _page(
        "html",
        ".html .htm .xhtml .ng",
        aliases="jinja erb ejs",
        wholes=(_FRONT, *_IN_PAGES),
        hints=(r"\A\s*(?i:<!doctype html|<html\b)",),
    ),
    _page("vue", ".vue"),
    _page("svelte", ".svelte"),
    _page("astro", ".astro", wholes=(_FRONT, *_IN_PAGES)),
    by_lines(
        _MARKUP,
        "xml",
        ".xml .xsd .xsl .xslt .svg .plist .csproj .vbproj .fsproj .vcxproj .pom .wsdl .resx .xaml .axaml .nuspec .slnx "
        ".storyboard .xib .qrc .xlf .xliff .kml .gpx .iml .glade .props .targets .proj .filters .natvis .ruleset .wxs "
        ".dtproj .resw .appxmanifest .rdf .owl .atom .rss .opml .xmp .ncx .opf .jnlp .tld .zcml",
        aliases="svg",
        frames=_TAGS,
        wholes=_IN_XML,
        hints=(r"\A\s*<\?xml\b",),
    ),
    _hash("gettext", ".po .pot", wholes=(_MESSAGE,)),
    _hash("fluent", wholes=(_MESSAGE_OF_FLUENT,)),
    by_lines(
        _MARKUP,
        "dtd",
        ".dtd .ent",
        frames=r"\]\]",
        wholes=(
            _COMMENT_OF_XML,
            AtomicSpan(r"<!\[[ \t]*IGNORE[ \t]*\[", r"\]\]>"),
            AtomicSpan(r"<!(?:ELEMENT|ATTLIST|ENTITY|NOTATION)\b", r">[ \t]*$"),
        ),
    ),
    by_lines(
        _MARKUP,
        "markdown",
        ".md .markdown .mkd .qmd .rmd",
        aliases="md",
        headings=tuple(rf"#{{{level}}} " for level in range(1, 7)),
        hints=(r"^#{1,6} \w", r"^```\w*[ \t]*$", r"^[-*] \w.*$", r"\]\(https?://"),
        wholes=(_FRONT, _FRONT_TOML, _FENCE, _COMMENT_OF_XML),
    ),
    by_lines(_BLOCK, "css", ".css", frames=BRACKETS, wholes=(_BLOCK_OF_C, *_TEXTS), goes_on=r",[ \t]*$"),
    _slash(
        "scss",
        ".scss .sass .less .styl",
        aliases="sass less",
        wholes=(_BLOCK_OF_C, AtomicSpan(r"(?<!:)//[^\n]*"), *_TEXTS),
        goes_on=r",[ \t]*$",
    ),
    by_lines(
        Comment('"//": "', '",', '"'),
        "json",
        ".json .ipynb .webmanifest .geojson .har .avsc .tfstate .topojson .code-snippets",
        filenames=".eslintrc .babelrc .prettierrc composer.lock Pipfile.lock .swcrc .jshintrc",
        frames=CLOSERS,
        wholes=(_TEXT,),
    ),
    _slash("jsonc", ".jsonc .json5 .hjson .code-workspace", aliases="json5", frames=CLOSERS),
    by_lines(Comment('{"//": "', '"}'), "jsonl", ".jsonl .ndjson .jsonlines"),
    _slash("kotlin", ".kt .kts .ktm", shebangs="kotlin kotlinc", wholes=LIKE_KOTLIN, goes_on=_OPERATOR),
    _slash("swift", ".swift", shebangs="swift", wholes=(*_COMMENTS_OF_C, _TRIPLE, _TEXT), goes_on=_OPERATOR),
    _slash(
        "scala", ".scala .sc .sbt .mill", shebangs="scala scala-cli", wholes=LIKE_KOTLIN, goes_on=_OPERATOR
    ),
    _slash("dart", ".dart", wholes=(*_COMMENTS_OF_C, *_TRIPLES, *_TEXTS), goes_on=_OPERATOR),
    _slash("zig", ".zig .zon", goes_on=_OPERATOR),
    _slash(
        "groovy",
        ".groovy .gradle .gvy .jenkinsfile",
        filenames="Jenkinsfile",
        shebangs="groovy",
        wholes=(*_COMMENTS_OF_C, *_TRIPLES, *_TEXTS),
        goes_on=_OPERATOR,
    ),
    _slash("objective-c", ".m .mm", aliases="objc objectivec", goes_on=BACKSLASH),
    _slash(
        "jsonnet",
        ".jsonnet .libsonnet",
        wholes=(AtomicSpan(r"\|\|\|-?[ \t]*\n", r"^[ \t]*\|\|\|"), _AFTER_HASH, *LIKE_C),
        goes_on=r"(?:[-+*=]|&&|\|\||\b(?:then|else|in))[ \t]*$",
    ),
    _slash("protobuf", ".proto", aliases="proto", goes_on=UNENDED),
    _slash("solidity", ".sol", frames=_BRACED),
    _slash("thrift", ".thrift"),
    _slash(
        "glsl",
        ".glsl .hlsl .wgsl .metal .frag .vert .geom .comp .tesc .tese .shader",
        frames=_BRACED,
        wholes=_COMMENTS_OF_C,
        goes_on=BACKSLASH,
        words=CONDITIONS_OF_C,
    ),
    _slash(
        "fsharp",
        ".fs .fsx .fsi",
        aliases="f#",
        frames=CLOSERS,
        wholes=(AtomicSpan(r"\(\*(?!\))", r"\*\)"), _LINE_OF_C, _TRIPLE, _TEXT),
        documents=r"\[<",
        filled=True,
        words=CONDITIONS_OF_C,
    ),
    _slash(
        "pascal",
        ".pas .dpr .lpr",
        aliases="delphi",
        frames=_ENDS,
        wholes=(
            AtomicSpan(r"\{(?!\$)", r"\}"),
            AtomicSpan(r"\(\*", r"\*\)"),
            _LINE_OF_C,
            AtomicSpan(r"'[^'\n]*'"),
        ),
        words=conditions(r"\{\$"),
    ),
    _slash("prisma", ".prisma", wholes=(*_COMMENTS_OF_C, _TEXT)),
    _slash("bicep", ".bicep", wholes=(*_COMMENTS_OF_C, _TRIPLES[1], _LETTERS)),
    _slash("apex", ".apex", frames=_BRACED),
    _slash("v", ".vsh .vv", aliases="vlang"),
    _slash("gomod", filenames="go.mod go.work", frames=CLOSERS, wholes=()),
    _slash(
        "verilog",
        ".v .sv .svh",
        aliases="systemverilog",
        frames=_ENDS,
        wholes=(*_COMMENTS_OF_C, _TEXT),
        goes_on=BACKSLASH,
        words=conditions("`"),
    ),
    by_lines(
        Comment(";;"),
        "clojure",
        ".clj .cljs .cljc .edn",
        frames=CLOSERS,
        wholes=_LIKE_LISP,
        goes_on=_READER_OF_LISP,
    ),
    by_lines(
        Comment(";;"),
        "lisp",
        ".lisp .el .scm .rkt",
        aliases="scheme elisp",
        frames=CLOSERS,
        wholes=_LIKE_LISP,
        goes_on=_READER_OF_LISP,
    ),
    by_lines(
        Comment(";"),
        "assembly",
        ".asm .nasm",
        aliases="asm nasm",
        frames=CLOSERS,
        goes_on=BACKSLASH,
        words=conditions("%"),
    ),
    by_lines(
        _BLOCK,
        "gas",
        ".s .S",
        frames=CLOSERS,
        wholes=(_BLOCK_OF_C, _TEXT),
        goes_on=BACKSLASH,
        words=conditions(r"#|\."),
    ),
    by_lines(
        Comment("%"),
        "latex",
        ".tex .sty .cls",
        aliases="tex",
        frames=r"\}",
        wholes=(
            AtomicSpan(r"\\begin\{(?P<tag>(?:verbatim|lstlisting|minted|comment)\*?)\}", r"\\end\{{tag}\}"),
            _AFTER_PERCENT,
            AtomicSpan(r"\\\[", r"\\\]"),
            AtomicSpan(r"\$\$", r"\$\$"),
            AtomicSpan(r"\\[^a-zA-Z\n]"),
            AtomicSpan(r"\$(?:[^$\\\n]|\\.|\n(?![ \t]*\n))*\$"),
        ),
        brackets="{}",
        words=_ENVIRONMENTS,
    ),
    by_lines(Comment("%"), "bibtex", ".bib", wholes=(_ENTRY_OF_BIBTEX,)),
    by_lines(
        Comment("%"),
        "erlang",
        ".erl .hrl .escript",
        shebangs="escript",
        frames=_ENDS,
        wholes=(_TRIPLE, AtomicSpan(r"%[^\n]*"), AtomicSpan(r'"', r'(?<!\\)"')),
        words=conditions("-"),
    ),
    by_lines(
        Comment("%"),
        "prolog",
        ".prolog",
        shebangs="swipl",
        frames=CLOSERS,
        wholes=(_BLOCK_OF_C, AtomicSpan(r"%[^\n]*"), *_TEXTS),
    ),
    by_lines(
        Comment("%"),
        "matlab",
        ".matlab",
        aliases="octave",
        frames=_ENDS,
        wholes=(AtomicSpan(r"^[ \t]*%\{[ \t]*$", r"^[ \t]*%\}[ \t]*$"),),
        goes_on=r"\.\.\.[ \t]*(?:%.*)?$",
    ),
    by_lines(
        Comment("!"),
        "fortran",
        ".f90 .f95 .f03 .f08 .F90",
        frames=_ENDS,
        goes_on=r"&[ \t]*(?:!.*)?$",
        words=CONDITIONS_OF_C,
    ),
    by_lines(
        Comment("(*", "*)"),
        "ocaml",
        ".ml .mli",
        frames=rf"{CLOSERS}|and\b",
        wholes=(*_DEFINITIONS_OF_OCAML, *_LIKE_OCAML),
        words=_BLOCKS_OF_OCAML,
    ),
    _slash(
        "d",
        ".d .di",
        frames=_BRACED,
        wholes=_IN_D,
        goes_on=UNENDED,
    ),
    by_lines(Comment("(*", "*)"), "coq", ".coq", frames=CLOSERS, wholes=_LIKE_OCAML[:1]),
    by_lines(
        Comment("'"),
        "vb",
        ".vb .bas .vbs .frm",
        aliases="vba visualbasic",
        frames=_ENDS,
        goes_on=r"(?:^|\s)_[ \t]*$",
        words=CONDITIONS_OF_C,
    ),
    by_lines(
        Comment('"'),
        "vim",
        ".vim",
        filenames=".vimrc",
        frames=_ENDS,
        wholes=(_HEREDOC, AtomicSpan(r"^(?P<tag> *)if (?:0|v:false)[ \t]*\n", r"^{indent}en(?:dif?)?\b")),
        brackets="",
    ),
    by_lines(
        Comment("REM"),
        "batch",
        ".bat .cmd",
        frames=r"\)",
        wholes=(AtomicSpan(r"^[ \t]*@?(?i:rem\b|::)[^\n]*"), AtomicSpan(r"\^."), AtomicSpan(r'"[^"\n]*"')),
        goes_on=r"\^$",
        brackets="()",
        skips_mark=False,
    ),
    by_lines(
        _NONE,
        "diff",
        ".diff .patch .rej",
        aliases="patch",
        blocks=diff_frames,
        hints=(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", r"^\+\+\+ \S", r"^diff --git "),
    ),
)


def with_grammar(name: str, **columns: Any) -> Language:
    """The row of this name with a grammar and what is said of it, for files that the grammar can read."""
    return dataclasses.replace(next(row for row in PLAIN if row.name == name), **columns)
