"""Languages and formats that are pruned line by line: their names, file endings, comments and headings."""

from __future__ import annotations

from lamr_postprocess.languages.table import Comment, Language, name_set

_HASH = Comment("#")
_DASHES = Comment("--")
_SLASHES = Comment("//")
_BLOCK = Comment("/*", "*/")
_MARKUP = Comment("<!--", "-->")
_NONE = Comment("")
_SECTIONS = (r"[ \t]*\[",)
_DIFF = (r"diff |Index: ", r"--- ", r"\+\+\+ ", r"@@ ")


def _plain(  # noqa: PLR0913  # the columns of the table below
    name: str,
    comment: Comment,
    suffixes: str = "",
    *,
    aliases: str = "",
    filenames: str = "",
    shebangs: str = "",
    headings: tuple[str, ...] = (),
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
        hints=hints,
    )


PLAIN: tuple[Language, ...] = (
    _plain("text", _NONE, ".txt .log .out .err .rst .csv .tsv", aliases="plain plaintext log"),
    _plain(
        "shell",
        _HASH,
        ".sh .bash .zsh .ksh .fish",
        aliases="bash sh zsh",
        filenames=".bashrc .zshrc .profile PKGBUILD",
        shebangs="sh bash zsh ksh dash fish",
    ),
    _plain("yaml", _HASH, ".yaml .yml", aliases="yml"),
    _plain("toml", _HASH, ".toml", headings=_SECTIONS, filenames="Pipfile Cargo.lock poetry.lock"),
    _plain(
        "ini", _HASH, ".ini .cfg .conf .properties .editorconfig", headings=_SECTIONS, filenames=".gitconfig"
    ),
    _plain(
        "makefile",
        _HASH,
        ".mk .mak",
        aliases="make",
        filenames="Makefile GNUmakefile",
    ),
    _plain("dockerfile", _HASH, ".dockerfile", filenames="Dockerfile Containerfile"),
    _plain("cmake", _HASH, ".cmake", filenames="CMakeLists.txt"),
    _plain("perl", _HASH, ".pl .pm .t", shebangs="perl"),
    _plain("r", _HASH, ".r .R", shebangs="Rscript"),
    _plain("julia", _HASH, ".jl", shebangs="julia"),
    _plain("elixir", _HASH, ".ex .exs", shebangs="elixir"),
    _plain("nix", _HASH, ".nix"),
    _plain("terraform", _HASH, ".tf .tfvars .hcl", aliases="hcl"),
    _plain("graphql", _HASH, ".graphql .gql"),
    _plain("powershell", _HASH, ".ps1 .psm1", aliases="pwsh", shebangs="pwsh"),
    _plain("sql", _DASHES, ".sql .ddl"),
    _plain("lua", _DASHES, ".lua", shebangs="lua luajit"),
    _plain("haskell", _DASHES, ".hs", shebangs="runhaskell"),
    _plain("elm", _DASHES, ".elm"),
    _plain("ada", _DASHES, ".adb .ads"),
    _plain("vhdl", _DASHES, ".vhd .vhdl"),
    _plain(
        "html",
        _MARKUP,
        ".html .htm .xhtml .vue .svelte .j2 .jinja .jinja2 .hbs .erb",
        aliases="jinja",
    ),
    _plain("xml", _MARKUP, ".xml .xsd .xsl .xslt .svg .plist .csproj .pom", aliases="svg"),
    _plain(
        "markdown",
        _MARKUP,
        ".md .markdown .mdx",
        aliases="md",
        headings=tuple(rf"#{{{level}}} " for level in range(1, 7)),
        hints=(r"^#{1,6} \w", r"^```\w*[ \t]*$", r"^[-*] \w.*$", r"\]\(https?://"),
    ),
    _plain("css", _BLOCK, ".css"),
    _plain("scss", _SLASHES, ".scss .sass .less", aliases="sass less"),
    _plain("json", _SLASHES, ".json .jsonc .json5 .jsonl .ndjson .ipynb", aliases="jsonc jsonl"),
    _plain("kotlin", _SLASHES, ".kt .kts"),
    _plain("swift", _SLASHES, ".swift"),
    _plain("scala", _SLASHES, ".scala .sc"),
    _plain("dart", _SLASHES, ".dart"),
    _plain("zig", _SLASHES, ".zig"),
    _plain("groovy", _SLASHES, ".groovy .gradle", filenames="Jenkinsfile"),
    _plain("objective-c", _SLASHES, ".m .mm", aliases="objc"),
    _plain("protobuf", _SLASHES, ".proto", aliases="proto"),
    _plain("verilog", _SLASHES, ".v .sv .svh", aliases="systemverilog"),
    _plain("clojure", Comment(";;"), ".clj .cljs .cljc .edn"),
    _plain("lisp", Comment(";;"), ".lisp .el .scm .rkt", aliases="scheme elisp"),
    _plain("assembly", Comment(";"), ".asm .s .S", aliases="asm"),
    _plain("latex", Comment("%"), ".tex .sty .cls .bib", aliases="tex"),
    _plain("erlang", Comment("%"), ".erl .hrl", shebangs="escript"),
    _plain("matlab", Comment("%"), ".matlab"),
    _plain("fortran", Comment("!"), ".f90 .f95 .f03 .f08"),
    _plain("ocaml", Comment("(*", "*)"), ".ml .mli"),
    _plain("vim", Comment('"'), ".vim", filenames=".vimrc"),
    _plain("batch", Comment("REM"), ".bat .cmd"),
    _plain(
        "diff",
        _NONE,
        ".diff .patch",
        aliases="patch",
        headings=_DIFF,
        hints=(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", r"^\+\+\+ \S", r"^diff --git "),
    ),
)
