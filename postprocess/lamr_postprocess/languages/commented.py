"""Formats that no module with a grammar is about: rows of the table, family by family."""

from __future__ import annotations

from functools import partial

from lamr_postprocess.languages.plain import (
    AFTER_DASHES,
    AFTER_HASH,
    BACKSLASH,
    BRACED,
    BRANCHES,
    CHAINS,
    CLAUSE,
    CLOSERS,
    CONDITIONS_OF_C,
    ENDS,
    GOTO,
    HEADINGS_OF_MARKDOWN,
    HEADS,
    IN_MARKDOWN,
    IN_PYTHON,
    LIKE_C,
    LIKE_HASKELL,
    LIKE_JAVASCRIPT,
    LONG_LETTERS,
    LONG_TEXT,
    OPERATOR,
    TRIPLES,
    UNENDED,
    by_lines,
    conditions,
    ends,
    nested,
    remark,
    slash,
)
from lamr_postprocess.languages.table import AtomicSpan, Comment, Language, Template

# fmt: off
_HASH, _DASHES, _SLASHES = Comment("#"), Comment("--"), Comment("//")
_hash = partial(by_lines, _HASH, frames=CLOSERS, goes_on=BACKSLASH)
_prose = partial(by_lines, brackets="")
_BACKQUOTES = AtomicSpan("`", "`")
_RAW = AtomicSpan(r'#(?P<tag>#*)"(?:"")?', r'"#{tag}')
_SECTIONS_OF_APACHE = Template("sections", (AtomicSpan(r"^[ \t]*</?\w+[^>\n]*>"),), opens=r"\A\s*<(?P<name>\w+)",
    closes=r"\A\s*</(?P<name>\w+)", anywhere=False)
_BLOCKS_OF_ORG = Template("blocks", (AtomicSpan(r"^[ \t]*(?:(?i:#\+(?:begin|end)_\w+)[^\n]*|:[A-Z]+:[ \t]*$)"),),
    opens=r"(?i)\A[ \t]*(?:#\+begin_(?P<name>\w+)|:(?!end:))", closes=r"(?i)\A[ \t]*(?:#\+end_(?P<name>\w+)|:end:)")
# A title and the line under it, whose mark says of which rank it is.
_MARKS = r"(?P<mark>[=\-~^\"'+*#`:.])(?P=mark){2,}[ \t]*$"
_TITLE = rf"(?:(?P<over>[=\-~^\"'+*#`:.])(?P=over){{2,}}[ \t]*\n[ \t]*)?(?=[^\s.:*+\[-])\S.*\n{_MARKS}"
_FENCED = AtomicSpan(r"^(?P<tag>/{4,}|-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,})[ \t]*\n", r"^{tag}[ \t]*$")
_IN_RST = (AtomicSpan(rf"^{_TITLE}"), AtomicSpan(r"^(?P<tag>[ ]*)\.\.[ \t]*$\n", r"^(?={indent}\S)|\Z"))

COMMENTED: tuple[Language, ...] = (
    # Prose and pages.
    _prose(_HASH, "gherkin", ".feature", frames=CLOSERS, wholes=(AtomicSpan(r'^[ \t]*"""', r'"""'),)),
    by_lines(Comment("<#--", "-->"), "freemarker", ".ftl .ftlh", frames=CLOSERS, wholes=(remark("<#--", "-->"),)),
    _prose(Comment("##"), "velocity", ".vm .vtl", frames=CLOSERS,
        wholes=(remark(r"#\*", r"\*#"), remark(r"##[^\n]*")), words=(conditions("#"),)),
    _prose(Comment("//-"), "pug", ".pug .jade", frames=rf"{CLOSERS}|else\b", remarks=False),
    _prose(Comment("/"), "slim", ".slim", frames=rf"{CLOSERS}|-[ \t]*els\w+", remarks=False),
    _prose(Comment("-#"), "haml", ".haml", frames=rf"{CLOSERS}|-[ \t]*els\w+", remarks=False),
    _prose(Comment("{/*", "*/}"), "mdx", ".mdx", headings=HEADINGS_OF_MARKDOWN, wholes=IN_MARKDOWN),
    _prose(Comment("'"), "plantuml", ".puml .plantuml .iuml", frames=rf"{CLOSERS}|(?:end|else|alt)\b",
        wholes=(remark(r"/'", r"'/"), remark(r"^[ \t]*'[^\n]*")), words=(conditions("!"),)),
    _prose(Comment("%%"), "mermaid", ".mmd .mermaid", frames=ENDS,
        directives=r"[a-zA-Z][\w-]*(?:[ \t]+(?:TB|TD|BT|RL|LR))?[ \t]*$"),
    slash("graphviz", ".dot .gv", goes_back=""),
    _prose(_SLASHES, "asciidoc", ".adoc .asciidoc .asc",
        headings=(*(rf"={{{level}}}[ \t]+\S" for level in range(1, 7)), _TITLE),
        wholes=(_FENCED, remark(r"^//(?!/)[^\n]*"), AtomicSpan(rf"^{_TITLE}")),
        words=(conditions("", r"(?:n?def|eval)?::"),), goes_on=r"^(?:\[.*\]|\.\w.*)$"),
    _prose(Comment(".."), "restructuredtext", ".rst .rest", frames=CLOSERS, headings=(_TITLE,), wholes=_IN_RST,
        remarks=False),
    _prose(_HASH, "org", ".org", headings=tuple(rf"\*{{{level}}} " for level in range(1, 9)),
        wholes=(remark(r"^[ \t]*#(?:[ \t][^\n]*)?$"),), words=(_BLOCKS_OF_ORG,)),
    _prose(_SLASHES, "typst", ".typ", headings=tuple(rf"={{{level}}} " for level in range(1, 7)), frames=BRACED,
        wholes=LIKE_C[:2]),
    _prose(Comment('.\\" '), "roff", ".roff .man", headings=(r"\.(?:SH|Sh)\b", r"\.(?:SS|Ss)\b"),
        wholes=(AtomicSpan(r"^[.']ig\b.*\n", r"^\.\.[ \t]*$"),)),
    # Settings.
    _hash("neon", ".neon", frames=CLOSERS),
    _hash("systemd", ".service .socket .timer .target .mount .path .slice", headings=(r"[ \t]*\[",)),
    _hash("requirements", "", "", "requirements.txt requirements-dev.txt constraints.txt dev-requirements.txt",
        brackets=""),
    _hash("ignore", "", "",
        ".gitignore .dockerignore .gitattributes CODEOWNERS .npmignore .prettierignore .eslintignore .stylelintignore "
        ".helmignore .gcloudignore .hgignore .vscodeignore .ignore .rgignore .mailmap .git-blame-ignore-revs",
        brackets=""),
    _hash("apache", ".htaccess", "", ".htaccess httpd.conf", brackets="", words=(_SECTIONS_OF_APACHE,)),
    _hash("caddy", ".caddyfile", "", "Caddyfile", frames=BRACED),
    _hash("robots", "", "", "robots.txt crontab", brackets="", headings=(r"(?i:user-agent):",)),
    _hash("yarn", "", "", "yarn.lock", brackets=""),
    _hash("http", ".http .rest-client", brackets="", headings=(r"###",)),
    _hash("kconfig", "", "", "Kconfig", frames=ends("endmenu|endchoice")),
    _hash("rpm", ".spec", frames=CLOSERS, words=(conditions("%"),), headings=(r"%(?!if|el|end|global|define)\w+",)),
    # Languages of indentation.
    nested(_HASH, "gdscript", ".gd", wholes=(*TRIPLES, AFTER_HASH, LONG_TEXT, LONG_LETTERS),
        directives=r"extends\b|class_name\b|@tool\b"),
    nested(_HASH, "just", ".just", "", "justfile Justfile .justfile", wholes=(*IN_PYTHON, _BACKQUOTES),
        directives=r"set\b", goes_back=""),
    nested(_HASH, "snakemake", ".smk", wholes=IN_PYTHON),
    nested(_DASHES, "lean", ".lean", wholes=(remark(r"/-", r"-/"), remark(r"--[^\n]*"), LONG_TEXT),
        items=r"- |\|(?!\|)"),
    nested(_DASHES, "idris", ".idr", frames=rf"{BRANCHES}|\|(?!\|)", wholes=LIKE_HASKELL, clauses=CLAUSE,
        directives=r"module\b"),
    nested(_DASHES, "purescript", ".purs", frames=rf"{BRANCHES}|\|(?!\|)", wholes=LIKE_HASKELL, clauses=CLAUSE,
        directives=r"module\b"),
    nested(_DASHES, "dhall", ".dhall", wholes=LIKE_HASKELL),
    nested(_DASHES, "cabal", ".cabal", "", "cabal.project", wholes=(AFTER_DASHES,)),
    # Languages of braces.
    _hash("nushell", ".nu", frames=BRACED, wholes=(_BACKQUOTES, AFTER_HASH, LONG_TEXT, LONG_LETTERS),
        goes_back=r"[ \t]*\|"),
    _hash("elvish", ".elv", frames=BRACED, wholes=(AFTER_HASH, LONG_TEXT, LONG_LETTERS)),
    _hash("capnproto", ".capnp", frames=BRACED, directives=r"@0x|using\b"),
    _hash("rego", ".rego", frames=BRACED, wholes=(_BACKQUOTES, AFTER_HASH, *LIKE_C[2:]), directives=r"package\b"),
    _hash("sparql", ".sparql .rq", frames=BRACED, directives=r"(?i:prefix|base)\b"),
    _hash("m4", ".m4 .ac", "", "configure.ac",
        wholes=(AtomicSpan(r"\b(?:ifelse|m4_if)\([^\n]*\[[ \t]*$", r"^[ \t]*\][^\n]*\)"),
            remark(r"(?:\bdnl\b|#)[^\n]*"))),
    _hash("raku", ".raku .rakumod .rakutest .p6", frames=BRACED, heads=HEADS,
        wholes=(AtomicSpan(r"^[ \t]*=begin[ \t]+(?P<tag>\w+)", r"^[ \t]*=end[ \t]+{tag}"), AFTER_HASH, *LIKE_C[2:]),
        directives=r"unit\b|use[ \t]+v?6"),
    by_lines(Comment("/*", "*/"), "yacc", ".y .yy .ypp .lex .l", frames=BRACED, wholes=LIKE_C, heads=HEADS,
        words=(CONDITIONS_OF_C,), headings=(r"%%",)),
    slash("windows-resource", ".rc .rc2", words=(CONDITIONS_OF_C,), frames=ends(), heads="", goes_back=""),
    slash("devicetree", ".dts .dtsi .overlay", words=(CONDITIONS_OF_C,), goes_on=UNENDED, goes_back="",
        directives=r"/dts-v1/|/plugin/"),
    slash("flatbuffers", ".fbs", directives=r"namespace\b"),
    slash("cue", ".cue", wholes=(*TRIPLES, _RAW, *LIKE_C), directives=r"package\b", goes_back=r"[ \t]*[|&]"),
    slash("haxe", ".hx", wholes=(*LIKE_C[:2], LONG_TEXT, LONG_LETTERS), goes_on=OPERATOR, words=(conditions("#"),),
        directives=r"package\b|using\b", documents=r"@:?\w+"),
    slash("qml", ".qml", wholes=LIKE_JAVASCRIPT, goes_on=OPERATOR, directives=r"pragma\b", goes_back=CHAINS),
    slash("vala", ".vala .vapi", wholes=(*TRIPLES, *LIKE_C), goes_on=OPERATOR, words=(CONDITIONS_OF_C,),
        directives=r"using\b", documents=r"\[\w.*\][ \t]*$"),
    slash("cypher", ".cypher .cql", goes_on=UNENDED),
    slash("rescript", ".res .resi .re .rei", wholes=(*LIKE_C[:2], _BACKQUOTES, LONG_TEXT), goes_on=OPERATOR,
        items=r"- |\|(?![|>])"),
    slash("tablegen", ".td .mlir", wholes=(AtomicSpan(r"\[\{", r"\}\]"), *LIKE_C), words=(CONDITIONS_OF_C,)),
    slash("idl", ".idl .odl", words=(CONDITIONS_OF_C,), documents=r"\["),
    slash("move", ".move", goes_on=OPERATOR, documents=r"#\["),
    slash("cairo", ".cairo", goes_on=OPERATOR, documents=r"#\["),
    slash("gleam", ".gleam", wholes=(LIKE_C[0], LONG_TEXT)),
    slash("odin", ".odin", wholes=(*LIKE_C, _BACKQUOTES), goes_on=OPERATOR, directives=r"package\b"),
    slash("hack", ".hack", goes_on=OPERATOR, jumps=GOTO),
    slash("actionscript", ".as", goes_on=OPERATOR, directives=r"package\b"),
    # Others.
    by_lines(Comment(";;"), "webassembly", ".wat .wast", frames=CLOSERS,
        wholes=(remark(r"\(;", r";\)"), remark(r";;[^\n]*"), LIKE_C[2])),
    by_lines(Comment(";"), "llvm", ".ll", frames=CLOSERS, wholes=(remark(r";[^\n]*"),),
        jumps=(r"label[ \t]+%(?P<name>[\w.]+)", r"(?P<name>[\w.]+):"), directives=r"target[ \t]"),
    by_lines(Comment(";"), "autohotkey", ".ahk", frames=BRACED, heads=HEADS,
        wholes=(remark(r"(?<!\S);[^\n]*"), remark(r"^[ \t]*/\*", r"\*/")),
        jumps=(r"(?i:\b(?:goto|gosub))[, \t]+(?P<name>\w+)", r"[ \t]*(?P<name>\w+):[ \t]*$")),
    by_lines(Comment("*"), "abap", ".abap", frames=ends("endmethod|endform|endloop|endclass|when")),
    by_lines(Comment("--"), "applescript", ".applescript", frames=ends("on error"), goes_on="\u00ac$"),
)
# fmt: on
