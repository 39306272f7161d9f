"""The formats that the world's files have, by their names: which grammar and which program reads each.

This table knows nothing of lamr's own languages, so that it can say where those are wrong."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Format:
    """One row."""

    name: str  # what tables call it
    patterns: tuple[str, ...]  # of file names, in the way of a shell
    grammar: str = ""  # its name among tree-sitter-language-pack's; empty where there is none
    # a key of `programs.PROGRAMS`, what parses it beside the grammar; empty where nothing does
    program: str = ""
    continued: str = ""  # what a line ends with that goes on in the next one; empty where no line does
    # how a comment of one line may begin, where no grammar tells it; empty where anything may be a marker
    comments: tuple[str, ...] = ()
    # what the grammar takes for an error though the language doesn't, as expressions, and what it reads in its place
    blind: tuple[tuple[str, str], ...] = ()


def _row(  # noqa: PLR0913, PLR0917  # the columns of the table below
    name: str,
    patterns: str,
    grammar: str = "",
    program: str = "",
    continued: str = "",
    comments: str = "",
    blind: tuple[tuple[str, str], ...] = (),
) -> Format:
    return Format(name, tuple(patterns.split()), grammar, program, continued, tuple(comments.split()), blind)


_BACK = "\\"
# A block, a list of parameters or a script of comments alone, or of nothing.
_BLANKS = r"(?:\s|#.*(?:\n|\Z)|<#[\s\S]*?#>)*"
_EMPTY_OF_POWERSHELL = (
    (rf"(?<![@$])\{{{_BLANKS}\}}", "{ 0 }"),
    (rf"\bparam\s*\({_BLANKS}\)", "param($a)"),
    (rf"\A{_BLANKS}\Z", "0"),
)
FORMATS: tuple[Format, ...] = (
    # What a whole name or a double ending says goes before what the last ending says.
    _row(
        "dockerfile",
        "Dockerfile Dockerfile.* *.dockerfile *.Dockerfile Containerfile",
        "dockerfile",
        "",
        _BACK,
    ),
    _row("dotenv", ".env .env.* *.env", comments="#"),
    _row("cmake", "CMakeLists.txt *.cmake", "cmake"),
    _row("automake", "*.am *.ac *.m4", "", "", _BACK, "# ## dnl"),
    _row("template .in", "*.in"),
    _row("go.mod", "go.mod", "gomod"),
    _row("requirements", "requirements*.txt", "requirements", "", _BACK),
    _row("bazel", "BUILD BUILD.bazel WORKSPACE *.bzl *.bazel", "starlark"),
    _row("meson", "meson.build", "meson"),
    _row("jenkinsfile", "Jenkinsfile Jenkinsfile.*", "groovy"),
    _row("vagrantfile", "Vagrantfile Guardfile Podfile Fastfile", "ruby", "ruby"),
    _row("gemfile", "Gemfile Gemfile.* *.gemfile Rakefile *.rake *.gemspec *.ru", "ruby", "ruby"),
    _row("lock", "*.lock pnpm-lock.yaml go.sum"),
    _row("blade", "*.blade.php", comments="{{-- <!--"),
    _row("jinja", "*.j2 *.jinja *.jinja2 *.jinja.html"),
    _row("erb", "*.erb", "embeddedtemplate"),
    _row("ejs", "*.ejs", "embeddedtemplate"),
    _row("twig", "*.twig", "twig"),
    _row("handlebars", "*.hbs *.mustache *.handlebars", comments="{{!-- {{! <!-- #"),
    _row("go template", "*.tmpl *.tpl *.gotmpl"),
    _row("freemarker", "*.ftl *.vm", comments="<#-- <!-- ## #*"),
    _row("fluent", "", comments="#"),
    _row("haml", "*.haml", comments="-# /"),
    _row("slim", "*.slim", comments="/ /!"),
    _row("pug", "*.pug", comments="// //-"),
    _row("razor", "*.cshtml *.razor", comments="@* <!--"),
    _row("jsp", "*.jsp *.asp *.aspx", comments="<%-- <!--"),
    _row("liquid", "*.liquid", comments="{%- {% <!--"),
    _row("heex", "*.heex *.leex", "heex"),
    _row("example", "*.example *.sample *.dist *.template"),
    # Languages.
    _row("python", "*.py *.pyi *.pyw", "python", "python", _BACK),
    _row("cython", "*.pyx *.pxd *.pxi", continued=_BACK, comments="# ["),
    _row("javascript", "*.js *.mjs *.cjs", "javascript", "javascript"),
    _row("jsx", "*.jsx", "javascript", "jsx"),
    _row("typescript", "*.ts *.mts *.cts", "typescript", "typescript"),
    _row("tsx", "*.tsx", "tsx", "tsx"),
    _row("java", "*.java", "java"),
    _row("kotlin", "*.kt *.kts", "kotlin"),
    _row("scala", "*.scala *.sc *.sbt", "scala"),
    _row("groovy", "*.groovy *.gradle", "groovy"),
    _row("c", "*.c", "c", "c", _BACK),
    _row("header", "*.h", "cpp", "", _BACK),
    _row("c++", "*.cpp *.cc *.cxx *.hpp *.hh *.hxx *.inl *.ipp *.cppm *.tpp", "cpp", "c++", _BACK),
    _row("cuda", "*.cu *.cuh", "cuda", "", _BACK),
    _row("objective-c", "*.m *.mm", "objc", "", _BACK),
    _row("c#", "*.cs *.csx *.cake", "csharp"),
    _row("f#", "*.fs *.fsx *.fsi", "fsharp"),
    _row("go", "*.go", "go", "go"),
    _row("rust", "*.rs", "rust", "rust"),
    _row("swift", "*.swift", "swift"),
    _row("ruby", "*.rb", "ruby", "ruby", _BACK),
    _row("php", "*.php *.phpt *.phtml", "php", "php"),
    _row("perl", "*.pl *.pm *.t", "perl"),
    _row("lua", "*.lua", "lua"),
    _row("r", "*.r *.R", "r"),
    _row("julia", "*.jl", "julia"),
    _row("dart", "*.dart", "dart"),
    _row("elixir", "*.ex *.exs", "elixir"),
    _row("erlang", "*.erl *.hrl", "erlang"),
    _row("haskell", "*.hs", "haskell"),
    _row("ocaml", "*.ml *.mli", "ocaml"),
    _row("clojure", "*.clj *.cljs *.cljc *.edn", "clojure"),
    _row("lisp", "*.el *.lisp", "elisp"),
    _row("scheme", "*.scm *.rkt", "scheme"),
    _row("nix", "*.nix", "nix"),
    _row("zig", "*.zig", "zig"),
    _row("shell", "*.sh *.bash *.zsh *.ksh", "bash", "bash", _BACK),
    _row("fish", "*.fish", "fish", "", _BACK),
    _row("powershell", "*.ps1 *.psm1 *.psd1", "powershell", "", "`", blind=_EMPTY_OF_POWERSHELL),
    _row("batch", "*.bat *.cmd", "", "", "^", "REM :: @REM"),
    _row("tcl", "*.tcl *.test", "tcl", "", _BACK),
    _row("vim", "*.vim", "vim"),
    _row("awk", "*.awk", continued=_BACK, comments="#"),
    _row("sql", "*.sql", "sql", "sql"),
    _row("assembly", "*.s *.S *.asm", comments="; # // /* @"),
    _row("glsl", "*.glsl *.frag *.vert", "glsl", "", _BACK),
    _row("solidity", "*.sol", "solidity"),
    _row("yacc", "*.y *.yy *.l", comments='// /* * ; ;; .\\"'),
    _row("d", "*.d", "d"),
    _row("protobuf", "*.proto", "proto"),
    _row("graphql", "*.graphql *.gql", "graphql", "graphql"),
    _row("terraform", "*.tf *.tfvars *.hcl", "hcl", "terraform"),
    _row("jsonnet", "*.jsonnet *.libsonnet", "jsonnet"),
    # Markup, data and settings.
    _row("html", "*.html *.htm *.xhtml", "html"),
    _row("svg", "*.svg", "xml", "xml"),
    _row(
        "xml",
        "*.xml *.xsd *.xsl *.xslt *.csproj *.props *.targets *.resx *.vcxproj *.nuspec *.config *.plist *.wxs *.slnx "
        "*.xib *.storyboard *.runsettings *.xaml *.natvis *.filters",
        "xml",
        "xml",
    ),
    _row("dtd", "*.dtd", "dtd"),
    _row("css", "*.css", "css", "css"),
    _row("scss", "*.scss", "scss", "scss"),
    _row("less", "*.less", "", "less", comments="// /* *"),
    _row("stylus", "*.styl *.sass", comments="// /* *"),
    _row("vue", "*.vue", "vue", "vue"),
    _row("svelte", "*.svelte", "svelte", "svelte"),
    _row("astro", "*.astro", "astro"),
    _row("mdx", "*.mdx", comments="{/* <!--"),
    _row("markdown", "*.md *.markdown *.mdc", "markdown"),
    _row("rst", "*.rst"),
    _row("asciidoc", "*.adoc *.asciidoc"),
    _row("tex", "*.tex *.sty *.bib", "latex"),
    _row("man page", "*.1 *.3 *.5 *.8"),
    _row("po", "*.po *.pot", "po"),
    _row("jsonc", "*.jsonc *.json5 tsconfig*.json .eslintrc .babelrc", "json"),
    _row("json", "*.json *.webmanifest *.map", "json", "json"),
    _row("jsonl", "*.jsonl *.ndjson"),
    _row("notebook", "*.ipynb", "json", "json"),
    _row("yaml", "*.yml *.yaml *.cff", "yaml", "yaml"),
    _row("toml", "*.toml", "toml", "toml"),
    _row("ini", "*.ini *.cfg .editorconfig .gitconfig .gitmodules .flake8 .coveragerc", "ini", "ini"),
    _row("properties", "*.properties", "properties", "", _BACK),
    _row("conf", "*.conf *.cnf *.rc *.haproxy", continued=_BACK, comments="# ; // /*"),
    _row("neon", "*.neon", comments="#"),
    _row("systemd", "*.service *.socket *.timer", continued=_BACK, comments="# ;"),
    _row(
        "ignore",
        ".gitignore .dockerignore .npmignore .prettierignore .gitattributes CODEOWNERS .mailmap",
        comments="#",
    ),
    _row("makefile", "Makefile makefile GNUmakefile Makefile.* *.mk *.mak", "make", "", _BACK),
    _row("gherkin", "*.feature", comments="#"),
    _row("dot", "*.dot *.gv", comments="// # /*"),
    _row("plantuml", "*.puml *.mmd", comments="' %%"),
    _row("nu", "*.nu *.elv", comments="#"),
    _row("just", "justfile *.just", comments="#"),
    _row("diff", "*.diff *.patch"),
    _row("log", "*.log *.out *.stderr *.stdout"),
    _row("csv", "*.csv *.tsv"),
    _row("snapshot", "*.snap *.golden *.expected"),
    _row("mail", "*.eml *.http"),
    _row("pem", "*.pem *.crt *.pub"),
    _row("project", "*.sln *.pbxproj *.pro *.vcproj"),
    _row("text", "*.txt README LICENSE NOTICE AUTHORS CHANGES ChangeLog COPYING INSTALL"),
)
SCRIPT = Format("script", (), "", "", "")
"""A file without an ending that begins with `#!`; `of_script` says which language it is in."""
_SCRIPTS = {
    "sh": "shell",
    "bash": "shell",
    "zsh": "shell",
    "python": "python",
    "node": "javascript",
    "ruby": "ruby",
}
_OTHERS = {
    "freemarker": (re.compile(rb"^-?[a-zA-Z][\w-]* *=", re.MULTILINE), re.compile(rb"</?[#@]|\$\{"), "fluent")
}
"""For an ending that two formats share: what speaks for the other one, and what against it."""
_BY_NAME = {each.name: each for each in FORMATS}


def format_named(name: str) -> Format:
    """The row of a name. Raises `KeyError`: there is none."""
    return SCRIPT if name == SCRIPT.name else _BY_NAME[name]


def format_of(path: str) -> Format | None:
    """The format that a path says, None where it says none; a name without an ending may be a script's."""
    return _of_name(PurePosixPath(path).name)


@lru_cache(maxsize=1 << 16)
def _of_name(name: str) -> Format | None:
    """The first row with a pattern that fits; the simple patterns are looked up, since names are many."""
    endings = (name[at:] for at, character in enumerate(name) if character == ".")
    simple = [row for key in (name, *endings) if (row := _SIMPLE.get(key)) is not None]
    other = [row for row, pattern in _OTHER if fnmatchcase(name, pattern)]
    rows = sorted({*simple, *other})
    return FORMATS[rows[0]] if rows else None if "." in name else SCRIPT


_PATTERNS = [(row, pattern) for row, form in enumerate(FORMATS) for pattern in form.patterns]
_IS_SIMPLE = re.compile(r"\*\.[^*?\[]+|[^*?\[]+")
_SIMPLE = {pattern.lstrip("*"): row for row, pattern in reversed(_PATTERNS) if _IS_SIMPLE.fullmatch(pattern)}
_OTHER = [(row, pattern) for row, pattern in _PATTERNS if not _IS_SIMPLE.fullmatch(pattern)]


def read_as(form: Format, data: bytes) -> Format | None:
    """The row whose grammar and program read a file; a script's is that of its first line, None where it has none."""
    if form.name in _OTHERS:
        signs, against, other = _OTHERS[form.name]
        bare = data.replace(b"\0", b"")
        return _BY_NAME[other] if signs.search(bare) and not against.search(bare) else form
    if form is not SCRIPT:
        return form
    head = data[:80].split(b"\n", 1)[0].decode("latin-1")
    if not head.startswith("#!"):
        return None
    words = [word.rsplit("/", 1)[-1] for word in head[2:].split()]
    named = [word for word in words if word != "env" and not word.startswith("-")]
    program = named[0].rstrip("0123456789.") if named else ""
    return _BY_NAME.get(_SCRIPTS.get(program, ""), SCRIPT)
