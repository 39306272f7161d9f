"""Languages and formats that are pruned line by line: their names, file endings, comments and headings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lamr_postprocess.diffs import diff_frames
from lamr_postprocess.frames import Frames
from lamr_postprocess.languages.table import Comment, Language, name_set
from lamr_postprocess.lines import BoolArray
from lamr_postprocess.outputs import output_frames

_HASH = Comment("#")
_DASHES = Comment("--")
_SLASHES = Comment("//")
_BLOCK = Comment("/*", "*/")
_MARKUP = Comment("<!--", "-->")
_NONE = Comment("")
_SECTIONS = (r"[ \t]*\[",)
# How lines begin that close a block or go on with it.
_CLOSERS = r"[})\]]"
_BRACKETS = r"[{})\]]"  # a brace that opens a block may stand on a line of its own
_WORDS = "end|else|elsif|elif|until|rescue|catch|ensure|finally|after|exception|when|then|begin|do"
_ENDS = rf"{_BRACKETS}|(?i:{_WORDS})(?!\w)"
_SHELL = rf"{_BRACKETS}|(?:fi|done|esac|else|elif|then|do)\b|;;"
_CMAKE = rf"{_BRACKETS}|(?i:end\w+|else\w*)\b"
_TAGS = rf"{_BRACKETS}|</|/?>|-->"
_ELEMENTS = (r"<(?:script|style|template)\b",)


def _plain(  # noqa: PLR0913  # the columns of the table below
    name: str,
    comment: Comment,
    suffixes: str = "",
    *,
    aliases: str = "",
    filenames: str = "",
    shebangs: str = "",
    headings: tuple[str, ...] = (),
    frames: str | None = None,
    blocks: Callable[[Sequence[str], BoolArray], Frames] | None = None,
    hints: tuple[str, ...] = (),
) -> Language:
    """A row of the table below; names are separated by spaces."""
    return Language(
        name=name,
        comment=comment,
        suffixes=name_set(suffixes),
        aliases=name_set(aliases),
        filenames=name_set(filenames),
        shebangs=name_set(shebangs),
        headings=headings,
        frames=frames,
        blocks=blocks,
        hints=hints,
    )


PLAIN: tuple[Language, ...] = (
    _plain(
        "text",
        _NONE,
        ".txt .log .out .err .rst .csv .tsv",
        aliases="plain plaintext log",
        blocks=output_frames,
    ),
    _plain(
        "shell",
        _HASH,
        ".sh .bash .zsh .ksh .fish",
        aliases="bash sh zsh",
        filenames=".bashrc .zshrc .profile PKGBUILD",
        shebangs="sh bash zsh ksh dash fish",
        frames=_SHELL,
    ),
    _plain("yaml", _HASH, ".yaml .yml", aliases="yml", frames=_CLOSERS),
    _plain("toml", _HASH, ".toml", headings=_SECTIONS, filenames="Pipfile Cargo.lock poetry.lock"),
    _plain(
        "ini", _HASH, ".ini .cfg .conf .properties .editorconfig", headings=_SECTIONS, filenames=".gitconfig"
    ),
    _plain("makefile", _HASH, ".mk .mak", aliases="make", filenames="Makefile GNUmakefile", frames=_CLOSERS),
    _plain("dockerfile", _HASH, ".dockerfile", filenames="Dockerfile Containerfile", frames=_CLOSERS),
    _plain("cmake", _HASH, ".cmake", filenames="CMakeLists.txt", frames=_CMAKE),
    _plain("perl", _HASH, ".pl .pm .t", shebangs="perl", frames=_BRACKETS),
    _plain("r", _HASH, ".r .R", shebangs="Rscript", frames=_CLOSERS),
    _plain("julia", _HASH, ".jl", shebangs="julia", frames=_ENDS),
    _plain("elixir", _HASH, ".ex .exs", shebangs="elixir", frames=_ENDS),
    _plain("nix", _HASH, ".nix", frames=_CLOSERS),
    _plain("terraform", _HASH, ".tf .tfvars .hcl", aliases="hcl", frames=_BRACKETS),
    _plain("graphql", _HASH, ".graphql .gql", frames=_BRACKETS),
    _plain("powershell", _HASH, ".ps1 .psm1", aliases="pwsh", shebangs="pwsh", frames=_BRACKETS),
    _plain("sql", _DASHES, ".sql .ddl", frames=_ENDS),
    _plain("lua", _DASHES, ".lua", shebangs="lua luajit", frames=_ENDS),
    _plain("haskell", _DASHES, ".hs", shebangs="runhaskell", frames=_CLOSERS),
    _plain("elm", _DASHES, ".elm", frames=_CLOSERS),
    _plain("ada", _DASHES, ".adb .ads", frames=_ENDS),
    _plain("vhdl", _DASHES, ".vhd .vhdl", frames=_ENDS),
    _plain(
        "html",
        _MARKUP,
        ".html .htm .xhtml .vue .svelte .j2 .jinja .jinja2 .hbs .erb",
        aliases="jinja",
        headings=_ELEMENTS,
        frames=_TAGS,
    ),
    _plain("xml", _MARKUP, ".xml .xsd .xsl .xslt .svg .plist .csproj .pom", aliases="svg", frames=_TAGS),
    _plain(
        "markdown",
        _MARKUP,
        ".md .markdown .mdx",
        aliases="md",
        headings=tuple(rf"#{{{level}}} " for level in range(1, 7)),
        hints=(r"^#{1,6} \w", r"^```\w*[ \t]*$", r"^[-*] \w.*$", r"\]\(https?://"),
    ),
    _plain("css", _BLOCK, ".css", frames=_BRACKETS),
    _plain("scss", _SLASHES, ".scss .sass .less", aliases="sass less", frames=_BRACKETS),
    _plain(
        "json", _SLASHES, ".json .jsonc .json5 .jsonl .ndjson .ipynb", aliases="jsonc jsonl", frames=_CLOSERS
    ),
    _plain("kotlin", _SLASHES, ".kt .kts", frames=_BRACKETS),
    _plain("swift", _SLASHES, ".swift", frames=_BRACKETS),
    _plain("scala", _SLASHES, ".scala .sc", frames=_BRACKETS),
    _plain("dart", _SLASHES, ".dart", frames=_BRACKETS),
    _plain("zig", _SLASHES, ".zig", frames=_BRACKETS),
    _plain("groovy", _SLASHES, ".groovy .gradle", filenames="Jenkinsfile", frames=_BRACKETS),
    _plain("objective-c", _SLASHES, ".m .mm", aliases="objc", frames=_BRACKETS),
    _plain("protobuf", _SLASHES, ".proto", aliases="proto", frames=_BRACKETS),
    _plain("verilog", _SLASHES, ".v .sv .svh", aliases="systemverilog", frames=_ENDS),
    _plain("clojure", Comment(";;"), ".clj .cljs .cljc .edn", frames=_CLOSERS),
    _plain("lisp", Comment(";;"), ".lisp .el .scm .rkt", aliases="scheme elisp", frames=_CLOSERS),
    _plain("assembly", Comment(";"), ".asm .s .S", aliases="asm", frames=_CLOSERS),
    _plain("latex", Comment("%"), ".tex .sty .cls .bib", aliases="tex"),
    _plain("erlang", Comment("%"), ".erl .hrl", shebangs="escript", frames=_ENDS),
    _plain("matlab", Comment("%"), ".matlab", frames=_ENDS),
    _plain("fortran", Comment("!"), ".f90 .f95 .f03 .f08", frames=_ENDS),
    _plain("ocaml", Comment("(*", "*)"), ".ml .mli", frames=_CLOSERS),
    _plain("vim", Comment('"'), ".vim", filenames=".vimrc", frames=_ENDS),
    _plain("batch", Comment("REM"), ".bat .cmd"),
    _plain(
        "diff",
        _NONE,
        ".diff .patch",
        aliases="patch",
        blocks=diff_frames,
        hints=(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", r"^\+\+\+ \S", r"^diff --git "),
    ),
)
