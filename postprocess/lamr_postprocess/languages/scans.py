"""What tells brackets and end words from texts and comments, for each family of languages.

Each `Scan` is a row; the texts and comments are the language's `wholes`, and what only code of a whole file may hold is
here. What a grammar can't read, or misreads, is kept or cut by it (`lamr_postprocess.pairs`)."""

from lamr_postprocess.languages.table import BRACKETS, Scan, name_set

# What may lack its end goes up to the end of the text, or has a bound, so that no text takes time of its square.
# The characters that something begins with: brackets, quotes, and what comments begin with.
_SIGNS = r"()\[\]{}\"'"
_SLASHED = _SIGNS + "/"
_EXPRESSION = r"/(?![*/\s])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,500}/"
_OF_ECMA = rf"(?:(?<=[(,=:\[!&|?{{}};+\n])|(?<=[(,=:\[!&|?{{}};+>]\s)|(?<=return\s)){_EXPRESSION}"
_DEFINES = r"#[ \t]*(?:define|error|warning|pragma|(?:end)?region)\b(?:[^\n\\]|\\(?s:.))*"
_RAW_OF_C = r'(?<=R)"(?P<tag>[^()\\\s]{0,16})\((?s:.*?)(?:\)(?P=tag)"|\Z)'
_TRIPLE = r'"""(?s:.*?)(?:"""|\Z)'
_BRANCHES_OF_C = r"#[ \t]*(?:if|el|endif)"

# fmt: off
HASHED = Scan(_SIGNS + "#")
SLASHED = Scan(_SLASHED)
TICKED = Scan(_SLASHED + "`")
JAVASCRIPT = Scan(_SLASHED + "`", (_OF_ECMA,))
GO = Scan(_SLASHED + "`", (r"`[^`]*`?",))
C = Scan(_SLASHED + "#", (_DEFINES, _RAW_OF_C), conditions=_BRANCHES_OF_C)
CSHARP = Scan(_SLASHED + "#@$", (_DEFINES, r'\$?@\$?"[^"]*(?:""[^"]*)*"?', _TRIPLE), conditions=_BRANCHES_OF_C)
RUST = Scan(_SLASHED + "#")
SWIFT = Scan(_SLASHED + "#", (_TRIPLE, rf"(?<=[=(,:] ){_EXPRESSION}",
    r'"(?:[^"\\\n]|\\\((?:[^()"\n]|"[^"\n]*"|\((?:[^()"\n]|"[^"\n]*")*\))*\)|\\(?s:.))*"?'))
ZIG = Scan(_SLASHED + r"\\", (r"\\\\[^\n]*",))
PHP = Scan(_SLASHED + "#?", (r"(?:\A|\?>)(?s:.*?)(?:<\?(?:php\b|=)?|\Z)",))
TERRAFORM = Scan(_SLASHED + "#")
# Elsewhere, a plain text may hold what opens.
YAML = Scan(r"\[\]{}\"'#", (), {"[": "]", "{": "}"}, bracket=r"(?<![^\s\[{,(:])[\[{]|[\]}]")
CSS = Scan(_SLASHED, (r"(?<=url)\([^)\"'\n]{0,2000}\)",))
LUA = Scan(_SIGNS + r"\-", (), {**BRACKETS, "do": "end", "function": "end", "if": "end", "repeat": "until"},
    around=r"(?<![.:\w]){}(?!\w)")
ELIXIR = Scan(
    _SIGNS + "#?~",
    (r"~[a-zA-Z]+(?:/[^/\\\n]*(?:\\.[^/\\\n]*)*/|\|[^|\n]*\||\([^()\n]*\)|\[[^\[\]\n]*\]|\{[^{}\n]*\}|<[^<>\n]*>)",),
    {**BRACKETS, "do": "end", "fn": "end"}, around=r"(?<![.:\w@]){}(?![\w:?!])")
_LED_IN_RUBY = ["if", "unless", "case", "while", "until", "for"]
RUBY = Scan(
    _SIGNS + "#=$?%/`_",
    (r"\$[\"'`/&]", r"(?<![\w)\]}?])\?[!-~](?!\w)",
        r"%[wWiIqQrx]?(?:\((?:[^()\\]|\\.|\([^()]*\))*\)|\[[^\[\]]*\]|\{(?:[^{}\\]|\\.|\{[^{}]*\})*\}|[<][^<>]*>)",
        r"(?<=[=(,|&!{\[~\s])/(?![\s=])[^/\\\n]*(?:\\.[^/\\\n]*)*/", r"`[^`\\]*(?:\\(?s:.)[^`\\]*)*`?"),
    {**BRACKETS, **dict.fromkeys(["def", "class", "module", "begin", "do", *_LED_IN_RUBY], "end")},
    around=r"(?<![.:\w$@])(?!def[ \t]+[\w.?!]+(?:\([^()\n]*\))?[ \t]+=[ \t]|class(?![ \t]+(?:[A-Z]|<<)))"
    r"(?!module(?![ \t]+[A-Z])){}(?![\w:?!])",
    behind=r"^|[=(\[{,|&!;]|\b(?:then|return|do|else|not|and|or)", led=frozenset(_LED_IN_RUBY),
    headed=frozenset({"do"}), heads=frozenset({"while", "until", "for"}))
_WORDS_OF_SHELL = {"if": "fi", "case": "esac", **dict.fromkeys(["while", "until", "for", "select"], "done")}
SHELL = Scan(
    _SIGNS + r"#\\$`", (r"\\(?s:.)", r"\$'[^'\\]*(?:\\(?s:.)[^'\\]*)*'?", r"\$\{[^{}\n]*\}", r"\$#"),
    {"(": ")", "{": "}", **_WORDS_OF_SHELL},
    bracket=r"[()]|(?<![^\s;&|()!])\{(?=\s)|(?<![^\s;&)])\}(?!\w)", around=r"(?<![^\s;&|(){}`!]){}(?![\w=/.-])",
    behind=r"^|[;&|({`!)]|\b(?:then|do|else|elif|if|while|until|time|coproc(?:[ \t]+\w+)?)",
    led=frozenset([*_WORDS_OF_SHELL, *_WORDS_OF_SHELL.values()]), loose={")": "esac"})
# What may stand in a tag: texts and expressions with any sign.
_REST = (r"(?:[^<>\"'{/]|\"[^\"<]{0,2000}\"|'[^'<]{0,2000}'|=>|/(?!>)"
    r"|\{[^{}<]{0,2000}\}|\{(?![^{}<]{0,2000}\})){0,2000}")
_TAG = r"</?[A-Za-z][\w:.-]*"
XML = Scan("<", (rf"{_TAG}{_REST}/>",), {}, bracket=_TAG)
HTML = Scan(
    "<",
    (r"<(?i:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)(?![\w:.-])", *XML.skipped), {},
    bracket=rf"<(?:script|style|textarea)\b(?s:.*?)(?=</(?:script|style|textarea)\b|\Z)|{_TAG}",
    optional=name_set("p li dt dd option optgroup tr td th thead tbody tfoot colgroup caption html head body rt rp"))
_BLOCKS_OF_SVELTE = ["if", "each", "await", "key", "snippet"]
SVELTE = Scan("<{", HTML.skipped, {f"{{#{name}": f"{{/{name}" for name in _BLOCKS_OF_SVELTE},
    bracket=rf"\{{[#/](?:{'|'.join(_BLOCKS_OF_SVELTE)})\b|{HTML.bracket}", optional=HTML.optional)
# fmt: on
