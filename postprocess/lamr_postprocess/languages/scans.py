"""What tells brackets and end words from texts and comments, for each family of languages.

Each `Scan` is a row. What a grammar can't read, or misreads, is kept or cut by it (`lamr_postprocess.pairs`).
"""

from __future__ import annotations

from lamr_postprocess.languages.plain import HEREDOC, HEREDOC_OF_PHP, HEREDOC_OF_RUBY, HEREDOC_OF_SHELL
from lamr_postprocess.languages.table import Scan

_BRACKETS = {"(": ")", "[": "]", "{": "}"}
# What may lack its end goes up to the end of the text, or has a bound, so that no text takes time of its square.
# The characters that something begins with: brackets, quotes, and what comments begin with.
_SIGNS = r"()\[\]{}\"'"
_HASHED, _DASHED, _SLASHED = _SIGNS + "#", _SIGNS + r"\-", _SIGNS + "/"
_QUOTED = _SLASHED + "`"
_LINE, _BLOCK = r"//[^\n]*", r"/\*(?s:.*?)(?:\*/|\Z)"
_NESTED = r"/\*(?:[^*/]+|\*(?!/)|/(?!\*)|/\*(?s:.*?)(?:\*/|\Z))*(?:\*/|\Z)"
_HASH = r"#[^\n]*"
_TEXT = r'"[^"\\\n]*(?:\\(?s:.)[^"\\\n]*)*"?'
_LONG_TEXT = r'"[^"\\]*(?:\\(?s:.)[^"\\]*)*"?'
_LETTERS = r"'[^'\\\n]{0,2000}(?:\\(?s:.)[^'\\\n]{0,2000}){0,200}'"
_LONG_LETTERS = r"'[^'\\]*(?:\\(?s:.)[^'\\]*)*'?"
_LETTER = r"'(?:[^'\\\n]|\\[^\n]{1,8})'"
_TRIPLE, _TRIPLE_LETTERS = (rf"{quote}(?s:.*?)(?:(?<!\\){quote}|\Z)" for quote in ('"""', "'''"))
_BACKQUOTES = r"`[^`\\]*(?:\\(?s:.)[^`\\]*)*`?"
# A text with expressions in braces that may hold texts.
_BRACED_TEXT = (
    r'"(?:[^"\\\n$]|\$\{(?:[^{}"\n]|"(?:[^"\\\n]|\\.)*"|\{[^{}\n]*\})*\}|\$(?!\{)|\$\{|\\(?s:.))*"?'
)
_EXPRESSION = r"/(?![*/\s])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,500}/"
_OF_ECMA = rf"(?:(?<=[(,=:\[!&|?{{}};+\n])|(?<=[(,=:\[!&|?{{}};+>]\s)|(?<=return\s)){_EXPRESSION}"
_DEFINES = r"#[ \t]*(?:define|error|warning|pragma|(?:end)?region)\b(?:[^\n\\]|\\(?s:.))*"
_RAW_OF_C = r'R"(?P<tag>[^()\\\s]{0,16})\((?s:.*?)(?:\)(?P=tag)"|\Z)'
_BRANCHES_OF_C = r"#[ \t]*(?:if|el|endif)"

PYTHON = Scan(_HASHED, (_TRIPLE, _TRIPLE_LETTERS, _HASH, _TEXT, _LETTERS), _BRACKETS)
JAVASCRIPT = Scan(_QUOTED, (_LINE, _BLOCK, _OF_ECMA, _TEXT, _LETTERS, _BACKQUOTES), _BRACKETS)
GO = Scan(_QUOTED, (_LINE, _BLOCK, r"`[^`]*`?", _TEXT, _LETTER), _BRACKETS)
JAVA = Scan(_SLASHED, (_LINE, _BLOCK, _TRIPLE, _TEXT, _LETTER), _BRACKETS)
C = Scan(
    _SLASHED + "#R",
    (_LINE, _BLOCK, _DEFINES, _RAW_OF_C, _TEXT, _LETTERS),
    _BRACKETS,
    conditions=_BRANCHES_OF_C,
)
CSHARP = Scan(
    _SLASHED + "#@$",
    (_LINE, _BLOCK, _DEFINES, r'\$?@\$?"[^"]*(?:""[^"]*)*"?', _TRIPLE, _TEXT, _LETTER),
    _BRACKETS,
    conditions=_BRANCHES_OF_C,
)
RUST = Scan(
    _SLASHED + "r", (_LINE, _NESTED, r'r(?P<tag>#*)"(?s:.*?)(?:"(?P=tag)|\Z)', _LONG_TEXT, _LETTER), _BRACKETS
)
KOTLIN = Scan(_QUOTED, (_LINE, _NESTED, _TRIPLE, _BRACED_TEXT, _LETTER, r"`[^`\n]*`"), _BRACKETS)
SCALA = Scan(_QUOTED, (_LINE, _NESTED, _TRIPLE, _BRACED_TEXT, _LETTER, r"`[^`\n]*`"), _BRACKETS)
DART = Scan(_SLASHED, (_LINE, _NESTED, _TRIPLE, _TRIPLE_LETTERS, _BRACED_TEXT, _LETTERS), _BRACKETS)
SWIFT = Scan(
    _SLASHED + "#",
    (
        _LINE,
        _NESTED,
        r'(?P<tag>#{1,9})"(?s:.*?)(?:"(?P=tag)|\Z)',
        _TRIPLE,
        r'"(?:[^"\\\n]|\\\((?:[^()"\n]|"[^"\n]*"|\((?:[^()"\n]|"[^"\n]*")*\))*\)|\\(?s:.))*"?',
        rf"(?<=[=(,:] ){_EXPRESSION}",
    ),
    _BRACKETS,
)
ZIG = Scan(_SLASHED + r"\\", (_LINE, r"\\\\[^\n]*", _TEXT, _LETTER), _BRACKETS)
PHP = Scan(
    _SLASHED + "#?",
    (r"(?:\A|\?>)(?s:.*?)(?:<\?(?:php\b|=)?|\Z)", _LINE, r"#(?!\[)[^\n]*", _BLOCK, _LONG_TEXT, _LONG_LETTERS),
    _BRACKETS,
    heredoc=HEREDOC_OF_PHP,
)
LUA = Scan(
    _DASHED,
    (r"(?:--)?\[(?P<tag>=*)\[(?s:.*?)(?:\](?P=tag)\]|\Z)", r"--[^\n]*", _TEXT, _LETTERS),
    {**_BRACKETS, "do": "end", "function": "end", "if": "end", "repeat": "until"},
    around=r"(?<![.:\w]){}(?!\w)",
)
ELIXIR = Scan(
    _HASHED + "?~",
    (
        _HASH,
        _TRIPLE,
        _TRIPLE_LETTERS,
        r"~[a-zA-Z]+(?:/[^/\\\n]*(?:\\.[^/\\\n]*)*/|\|[^|\n]*\||\([^()\n]*\)|\[[^\[\]\n]*\]|\{[^{}\n]*\}|<[^<>\n]*>)",
        r"(?<!\w)\?\\?.",
        _LONG_TEXT,
        _LETTERS,
    ),
    {**_BRACKETS, "do": "end", "fn": "end"},
    around=r"(?<![.:\w@]){}(?![\w:?!])",
)
RUBY = Scan(
    _HASHED + "=$?%/`_",
    (
        r"^=begin\b(?s:.*?)(?:^=end\b|\Z)",
        r"__END__$(?s:.*)",
        r"\$[\"'`/&]",
        r"(?<![\w)\]}?])\?[!-~](?!\w)",
        _HASH,
        r"%[wWiIqQrx]?(?:\((?:[^()\\]|\\.|\([^()]*\))*\)|\[[^\[\]]*\]|\{(?:[^{}\\]|\\.|\{[^{}]*\})*\}|[<][^<>]*>)",
        r"(?<=[=(,|&!{\[~\s])/(?![\s=])[^/\\\n]*(?:\\.[^/\\\n]*)*/",
        _LONG_TEXT,
        _LONG_LETTERS,
        _BACKQUOTES,
    ),
    {
        **_BRACKETS,
        **dict.fromkeys(
            ["def", "class", "module", "begin", "do", "if", "unless", "case", "while", "until", "for"], "end"
        ),
    },
    around=r"(?<![.:\w$@])(?!def[ \t]+[\w.?!]+(?:\([^()\n]*\))?[ \t]+=[ \t]|class(?![ \t]+(?:[A-Z]|<<)))"
    r"(?!module(?![ \t]+[A-Z]))"
    r"{}(?![\w:?!])",
    behind=r"^|[=(\[{,|&!;]|\b(?:then|return|do|else|not|and|or)",
    led=frozenset(["if", "unless", "case", "while", "until", "for"]),
    headed=frozenset({"do"}),
    heads=frozenset({"while", "until", "for"}),
    heredoc=HEREDOC_OF_RUBY,
)
SHELL = Scan(
    _HASHED + r"\\$`",
    (
        r"\\(?s:.)",
        r"(?<![^\s;&|()])#[^\n]*",
        r"\$'[^'\\]*(?:\\(?s:.)[^'\\]*)*'?",
        r"'[^']*'?",
        _LONG_TEXT,
        r"\$\{[^{}\n]*\}",
        r"\$#",
    ),
    {
        "(": ")",
        "{": "}",
        "if": "fi",
        "case": "esac",
        **dict.fromkeys(["while", "until", "for", "select"], "done"),
    },
    bracket=r"[()]|(?<![^\s;&|()!])\{(?=\s)|(?<![^\s;&)])\}(?!\w)",
    around=r"(?<![^\s;&|(){}`!]){}(?![\w=/.-])",
    behind=r"^|[;&|({`!)]|\b(?:then|do|else|elif|if|while|until|time|coproc(?:[ \t]+\w+)?)",
    led=frozenset(["if", "fi", "case", "esac", "while", "until", "for", "select", "done"]),
    loose={")": "esac"},
    filled=True,
    heredoc=HEREDOC_OF_SHELL,
)
TERRAFORM = Scan(
    _SLASHED + "#",
    (_LINE, _HASH, _BLOCK, _BRACED_TEXT),
    _BRACKETS,
    heredoc=HEREDOC,
)
CSS = Scan(_SLASHED + "u", (_BLOCK, r"url\([^)\"'\n]{0,2000}\)", _TEXT, _LETTERS), _BRACKETS)
JSON = Scan(_SLASHED, (_LINE, _BLOCK, _TEXT), _BRACKETS)
TOML = Scan(_HASHED, (_TRIPLE, _TRIPLE_LETTERS, _HASH, _TEXT, r"'[^'\n]*'"), _BRACKETS)
_BLOCKS_OF_SVELTE = ["if", "each", "await", "key", "snippet"]
SVELTE = Scan(
    "<{",
    (r"<!--(?s:.*?)(?:-->|\Z)", r"<script\b(?s:.*?)(?:</script|\Z)", r"<style\b(?s:.*?)(?:</style|\Z)"),
    {f"{{#{name}": f"{{/{name}" for name in _BLOCKS_OF_SVELTE},
    bracket=rf"\{{[#/](?:{'|'.join(_BLOCKS_OF_SVELTE)})\b",
)
