"""What every language and format has that needs no grammar: names, comments, headings, and what can't be parted.

A language with a grammar stands here, too, if its wheel may be absent or its files may hold a template's tags; its
module adds the grammar to its row."""

import dataclasses
import re
from functools import partial
from typing import Any

from lamr_postprocess.diffs import diff_frames
from lamr_postprocess.languages.table import AtomicSpan, Comment, EmbeddedPart, Language, Template, name_set
from lamr_postprocess.outputs import output_frames

# fmt: off
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
BRACED = rf"{BRACKETS}|(?:else|elsif|elseif|catch|finally)\b"
# What an end may be joined with (`enddo`), and other words that close a block or go on with it.
_NAMES_OF_BLOCKS = (
    "if|do|for|foreach|while|loop|repeat|switch|case|select|try|function|func|sub|subroutine|def|procedure|program|module"
    "|submodule|package|class|interface|type|enum|where|associate|block|critical|forall|team|task|generate|property"
    "|sequence|group|clocking|checker|config|primitive|specify|table|macro|rep|method|methods|events|enumeration"
    "|properties|spmd|parfor|evaluate|perform|read|write|string|search|call|add|compute|unwind_protect|try_catch|with"
    "|process|component|entity|architecture|record|units|structure|union|augroup|proc|rule|form|at|provide"
)
_WORDS = (
    f"end(?:[-_]?(?:{_NAMES_OF_BLOCKS}))?|else[ _-]?(?:if|where|when)?|elsif|elif|else|until|rescue|catch|ensure"
    "|finally|after|exception|when|then|begin|do"
)


def ends(more: str = "(?!)") -> str:
    """How lines begin that close a block or go on with it, where words do so: the usual ones and others."""
    return rf"{BRACKETS}|(?i:{_WORDS}|{more})(?!\w|[ \t]*(?:[-+*/]?=(?![=>])|\.[a-z_]))"


ENDS = ends()
BRANCHES = rf"{CLOSERS}|(?:else|elif|elseif|except|finally|then|with|in)\b"
_SHELL = rf"{BRACKETS}|(?:fi|done|esac|else|elif|then|do)\b|;;"
_TAGS = rf"{BRACKETS}|</|/?>|-->|else(?:[ \t]+if[ \t]*\(|[ \t]*\{{|[ \t]*$)"
_ELEMENTS = (r"<(?:script|style|template)\b",)


remark = partial(AtomicSpan, says_nothing=True)
"""A comment."""


def _nesting(opening: str, inside: str, closing: str, *, plain: str = "", nothing: bool = True) -> AtomicSpan:
    """A comment, or something else, that may hold another one, and else plain characters or what is inside."""
    inner = rf"{opening}{plain}(?:(?:{inside}){plain})*{closing}"
    closed = rf"{plain}(?:(?:{inside}|{inner}){plain})*{closing}"
    return AtomicSpan(opening, closed, at_once=True, says_nothing=nothing)


# What can't be parted. A text in quotes ends with its line unless a language says otherwise.
_TEXT = AtomicSpan(r'"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?')
_LETTERS = AtomicSpan(r"'[^'\\\n]{0,2000}(?:\\[\s\S][^'\\\n]{0,2000}){0,200}'")
_LETTER = AtomicSpan(r"'(?:[^'\\\n]|\\[^\n]{1,8})'")  # a type variable or a lifetime may follow a lone quote
_TEXTS = (_TEXT, _LETTERS)
_GAPPED_TEXT = AtomicSpan(r'"[^"\\\n]*(?:\\(?:[ \t]*\n[ \t]*\\|.)[^"\\\n]*)*"?')  # of Haskell, over several lines
# Texts that may go on in the next line.
LONG_TEXT = AtomicSpan(r'"', r'[^"\\]*(?:\\[\s\S][^"\\]*)*"', at_once=True)
LONG_LETTERS = AtomicSpan(r"'", r"[^'\\]*(?:\\[\s\S][^'\\]*)*'", at_once=True)
_CELL_TEXT = AtomicSpan(r'"', r'"', at_once=True)
_TRIPLE = AtomicSpan(r'"""', r'"""')
TRIPLES = (_TRIPLE, AtomicSpan("'''", "'''"))
_LINE_OF_C = remark(r"//[^\n]*")
_BLOCK_OF_C = remark(r"/\*", r"\*/")
_COMMENTS_OF_C = (_LINE_OF_C, _BLOCK_OF_C)
LIKE_C = (*_COMMENTS_OF_C, *_TEXTS)
LIKE_JAVASCRIPT = (*LIKE_C, AtomicSpan("`", r"[^`\\]*(?:\\[\s\S][^`\\]*)*`", at_once=True))
LIKE_JAVA = (*_COMMENTS_OF_C, _TRIPLE, _TEXT, _LETTER)
_NESTED_COMMENTS = (_LINE_OF_C, _nesting(r"/\*", r"\*(?!/)|/(?!\*)", r"\*/", plain="[^*/]*"))
# A text with expressions in braces that may hold texts.
_BRACED_TEXT = AtomicSpan(
    r'"(?:[^"\\\n$]|\$\{(?:[^{}"\n]|"(?:[^"\\\n]|\\.)*"|\{[^{}\n]*\})*\}|\$(?!\{)|\$\{|\\(?s:.))*"?'
)
_LIKE_KOTLIN = (*_NESTED_COMMENTS, _TRIPLE, _BRACED_TEXT, _LETTER, AtomicSpan(r"`[^`\n]*`"))
AFTER_HASH = remark(r"#[^\n]*")
IN_RUST = (*_NESTED_COMMENTS, AtomicSpan(r'(?<=\br)(?P<tag>#*)"', r'"{tag}'), LONG_TEXT, _LETTER)
_WORD_OF_HASH = remark(r"(?<![^\s;&|()])#[^\n]*")
_HASHES = (AFTER_HASH, *_TEXTS)
IN_PYTHON = (*TRIPLES, *_HASHES)
AFTER_DASHES = remark(r"--[^\n]*")
LIKE_HASKELL = (remark(r"\{-", r"-\}"), remark(r"(?<!\S)--[^\n]*"), _TRIPLE, _GAPPED_TEXT, _LETTER)
_LIKE_OCAML = (_nesting(r"\(\*", r"\((?!\*)|\*(?!\))", r"\*\)", plain="[^(*]*"),
    AtomicSpan(r"\{(?P<tag>[a-z_]*)\|", r"\|{tag}\}"), LONG_TEXT, _LETTER)
_RAW_IN_R = tuple(
    AtomicSpan(rf"\b[rR]{quote}(?P<tag>-*){re.escape(opening)}", rf"{re.escape(closing)}{{tag}}{quote}")
    for quote in "\"'"
    for opening, closing in ("()", "[]", "{}")
)
_IN_D = (*_COMMENTS_OF_C, _nesting(r"/\+", r"/(?!\+)|\+(?!/)", r"\+/", plain="[^/+]*"),
    AtomicSpan(r'\bq"(?P<tag>[A-Za-z_]\w*)[ \t]*\n', r'^{tag}"'), AtomicSpan(r'\bq"[(\[{<]', r'[)\]}>]"'),
    AtomicSpan(r'\br"', '"'), AtomicSpan("`", "`"), LONG_TEXT, _LETTERS)
_READER_OF_LISP = r"^[ \t]*#(?:_?|[+-](?:[^\s()]+|\([^()]*\)))[ \t]*$"
_LIKE_LISP = (remark(r"#\|", r"\|#"), remark(r";[^\n]*"), AtomicSpan(r"\\."), AtomicSpan(r'"(?:[^"\\]|\\[\s\S])*"'))
_COMMENT_OF_XML = remark(r"<!--", r"-->")
_IN_XML = (_COMMENT_OF_XML, AtomicSpan(r"<!\[CDATA\[", r"\]\]>"), AtomicSpan(r"<\?", r"\?>"),
    AtomicSpan(r"<!DOCTYPE\b[^\n>\[]*\[", r"\]\s*>"),
    AtomicSpan(r"</?[A-Za-z][\w:.-]*(?![^<>\n]*>)", r"(?<![=-])>"))
# A script or a style has comments of its own; a script that holds data or a template has none that are safe.
_DATA = (
    r"<script\b[^<>]*\btype\s*=\s*[\"']?(?:importmap|text/(?:x-)?(?:template|html|handlebars)|[\w.+/-]*json)"
)
_IN_PAGES = (AtomicSpan(_DATA, r"</script\s*>"), *_IN_XML)
_PARTS = (EmbeddedPart(rf"^[ \t]*(?!{_DATA})<script\b[^<>]*>", r"</script\s*>", _SLASHES),
    EmbeddedPart(r"^[ \t]*<style\b[^<>]*>", r"</style\s*>", _BLOCK))
# Words and expressions in brackets of their own, over several lines.
_QUOTING = r"(?<![$@%&\w>-])(?:qw|qq?|qr|m|s)[ \t]*"
_LISTS_OF_PERL = (AtomicSpan(rf"{_QUOTING}\([ \t]*$", r"\)"), AtomicSpan(rf"{_QUOTING}\[[ \t]*$", r"^[ \t]*\]"),
    AtomicSpan(rf"{_QUOTING}\{{[ \t]*$", r"^[ \t]*\}"),
    AtomicSpan(r"(?<![$@%&\w>-])qw[ \t]*(?:\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|/[^/]*/)"))
_AFTER_PERCENT = remark(r"%[^\n]*")
_ENTRY_OF_BIBTEX = AtomicSpan(r"^[ \t]*@\w+[ \t]*[{(]",
    r"[})][ \t]*,?[ \t]*(?=\s*(?:^[ \t]*[@%]|\Z))|^[ \t]*[})][ \t]*$")
# A conditional of TeX's own; one that is defined, or takes its branches in braces, begins nothing that `\fi` ends.
_IF_OF_TEX = r"(?<!\\newif)\\if(?!f\b)[a-zA-Z@]*(?![a-zA-Z@{])"
_ENVIRONMENTS = Template("environments",
    (AtomicSpan(r"\\(?:begin|end)\{[^{}\n]*\}"), AtomicSpan(rf"{_IF_OF_TEX}|\\(?:else|fi)(?![a-zA-Z@])")),
    opens=r"\A\\(?:begin\{(?P<name>.*)\}|if)", goes_on=r"\A\\else", closes=r"\A\\(?:end\{(?P<name>.*)\}|fi)",
    anywhere=False)
_HEADINGS_OF_LATEX = tuple(
    rf"\\{name}\*?[\[{{]" for name in ("part", "chapter", "section", "subsection", "subsubsection", "paragraph"))
_CONDITIONS_OF_MAKE = Template("conditions",
    (AtomicSpan(r"^ *(?:if(?:n?(?:eq|def)\b|(?= [A-Z]))|else\b|endif\b)"),), opens=r"\A *if", goes_on=r"\A *else",
    closes=r"\A *endif")
_COMMANDS_OF_CMAKE = Template("commands",
    (AtomicSpan(r"^[ \t]*(?i:(?:else)?if|else|foreach|while|function|macro|block|end[a-z]+)[ \t]*(?=\()"),),
    opens=r"\A\s*(?i:(?P<name>if|foreach|while|function|macro|block))\b", goes_on=r"\A\s*(?i:else)",
    closes=r"\A\s*(?i:end)(?P<name>\w+)", anywhere=False)


def conditions(sign: str, behind: str = r"\b") -> Template:
    """Conditions of a preprocessor: what stands before its words and, as expressions, behind them."""
    return Template(
        "conditions",
        (AtomicSpan(rf"^[ \t]*(?:{sign})[ \t]*(?i:if\w*|el\w+|end(?: ?if)?){behind}"),),
        opens=rf"(?i)\A\s*(?:{sign})\s*if",
        goes_on=rf"(?i)\A\s*(?:{sign})\s*el",
        closes=rf"(?i)\A\s*(?:{sign})\s*end",
    )


CONDITIONS_OF_C = conditions("#")
# A text over several lines, whose expressions may hold such texts.
_OF_TEXT, _OF_CODE = r"[^'$]|'(?!')|''[$'\\]|\$(?!\{)", r"[^{}'\"]|'(?!')|\"(?:[^\"\\]|\\.)*\"|\{[^{}]*\}"
_INNER = rf"''(?:{_OF_TEXT}|\$\{{(?:{_OF_CODE})*\}})*''"
_TEXT_OF_NIX = AtomicSpan("''", rf"(?:{_OF_TEXT}|\$\{{(?:{_OF_CODE}|{_INNER})*\}})*''", at_once=True)
_LET_OF_NIX = Template("let", (AtomicSpan(r"\b(?:let|in)\b"),), opens=r"\Alet", closes=r"\Ain", anywhere=False)
_BLOCKS_OF_OCAML = Template("blocks", (AtomicSpan(r"\b(?:begin|struct|sig|object|do|end|done)\b"),),
    opens=r"\A(?:begin|struct|sig|object|(?P<name>do)\Z)", closes=r"\A(?:end|(?P<name>do)ne)", anywhere=False)
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
_MESSAGE = AtomicSpan(r"^(?:msgctxt\b.*\n(?:[ \t]*\".*\n)*)?msgid\b.*(?:\n(?!msgctxt\b|msgid\b|#)[^\S\n]*\S.*)*")
_FRONT = AtomicSpan(r"\A ?---[ \t]*\n", r"^(?:---|\.\.\.)[ \t]*$")
_FRONT_TOML = AtomicSpan(r"\A ?\+\+\+[ \t]*\n", r"^\+\+\+[ \t]*$")
# A fence may stand in a quotation and in an item of a list.
_FENCE = AtomicSpan(r"^[ \t]*(?:(?:[>*+-]|\d{1,3}[.)])[ \t]*)*(?P<tag>`{3,9}|~{3,9})[^\n]*\n",
    r"^[ \t]*(?:>[ \t]*)*{tag}[`~]*[ \t]*$|\Z")
HEREDOC = AtomicSpan(r"<<[-~]?[ \t]?(?P<quote>['\"]?)(?P<tag>[A-Za-z_][\w.-]*)(?P=quote)", r"^[ \t]*{tag}[ \t]*$",
    waits=True)
HEREDOC_OF_RUBY = AtomicSpan(r"<<[-~]?(?P<quote>['\"`]?)(?P<tag>[A-Z_]\w*)(?P=quote)", r"^[ \t]*{tag}[ \t]*$",
    waits=True)
IN_RUBY = (AtomicSpan(r"^=begin\b", r"^=end\b"), AtomicSpan(r"^__END__$", r"\Z"), HEREDOC_OF_RUBY, AFTER_HASH,
    LONG_TEXT, LONG_LETTERS)
HEREDOC_OF_PHP = AtomicSpan(r"<<<[ \t]*(?P<quote>['\"]?)(?P<tag>[A-Za-z_]\w*)(?P=quote)", r"^[ \t]*{tag}\b",
    waits=True)
IN_PHP = (HEREDOC_OF_PHP, AtomicSpan(r"#(?!\[)[^\n]*"), *_COMMENTS_OF_C, LONG_TEXT, LONG_LETTERS)
HEREDOC_OF_SHELL = AtomicSpan(
    r"<<(?<!<<<)(?!<)-?[ \t]*\\?(?P<quote>['\"]?)(?P<tag>[A-Za-z_][\w.-]*)(?P=quote)",
    r"^\t*{tag}[ \t]*$", waits=True)
_IN_SHELL = (AtomicSpan(r"\\\S"), _WORD_OF_HASH, HEREDOC_OF_SHELL, AtomicSpan(r"'", r"'"), LONG_TEXT)
# A text of YAML that goes on in deeper lines; behind an item's dash, the key says how deep.
_IN_YAML = (
    remark(r"(?<!\S)#[^\n]*"),
    AtomicSpan(
        r"^(?P<tag>[ ]*(?:- +)*)[^\s#'\"-][^\n#]*:[ ]+(?:[&!]\S+ +)*[|>][-+\d]*[ \t]*(?:#[^\n]*)?\n",
        r"^(?!{indent} |[ \t]*$)",
    ),
    AtomicSpan(
        r"^(?P<tag>[ ]*)(?:- +)+(?:[&!]\S+ +)*[|>][-+\d]*[ \t]*(?:#[^\n]*)?\n", r"^(?!{indent} |[ \t]*$)"
    ),
    AtomicSpan(r'(?:(?<=[\s\[{,(])|^)"', r'(?:[^"\\]|\\[\s\S])*"', at_once=True),
    AtomicSpan(r"(?:(?<=[\s\[{,(])|^)'", r"(?:[^']|'')*'", at_once=True),
)
_IN_SQL = (AFTER_DASHES, _BLOCK_OF_C, AtomicSpan(r"\$(?P<tag>\w*)\$", r"\${tag}\$"), AtomicSpan(r"'", r"'"),
    AtomicSpan(r'"[^"\n]*"'))
# A statement, unless it is long or holds others: a list without its last item, or its comma, is none.
_STATEMENT_OF_SQL = AtomicSpan(
    r"^(?i:create|alter|drop|select|with|insert|update|delete|merge|grant|revoke|comment|set|truncate)\b",
    r"(?:--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/)){0,2000}\*/|'[^']{0,2000}'|-(?!-)|/(?!\*)"
    r"|(?!\$\w*\$|(?i:\bbegin\b))[^;'/-]){0,2000}(?:;|\Z)",
    at_once=True,
)
# Ends of lines that go on; where statements end in a semicolon, what else but a bracket or a comma ends a line does.
UNENDED = r"^(?![ \t]*(?:#|=[a-z]|/?[*+])).*(?:[\w)\]'\"`?&|=<>*/-]|(?<!\+)\+)[ \t]*$"
BACKSLASH = r"\\$"
OPERATOR = r"(?:&&|\|\||(?<!\+)\+|(?<!-)-|(?<![=!<>])=|\?:)[ \t]*$"
_PIPE = r"\\$|(?:&&|\|)[ \t]*$"


# What a row may begin with that goes on with the one before it.
_ATTRIBUTE = r"(?:#?\[[\w.].*\]|@:?[\w.]+(?:[ \t]*\(.*\))?)[ \t]*$"
CHAINS = r"[ \t]*(?:\??\.[a-zA-Z_]|\|>|&&|\|\||\?\?|[-?:+*/%=](?=[ \t])|->|<<|>>)"
PIPES = r"[ \t]*(?:[|&<]>|<\||&&|\|\||>>=?|<\$>|<\*>|<>|\+\+|[.$+*/](?=[ \t]))"
_ROUND = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
_HEAD_WORDS = "if|for|foreach|each|while|until|switch|with|lock|using|synchronized|repeat|unless|loop"
HEADS = (
    rf"^[ \t]*(?:\}}[ \t]*)?(?i:(?:else[ \t]+)?(?:else)?(?:{_HEAD_WORDS})\b[ \t]*(?:\w+[ \t]*)?{_ROUND}|else|do"
    rf"|try|finally)[ \t]*$"
)
"""A head without a brace, whose body is the next statement."""
_HEADS_OF_WORDS = r"^[ \t]*(?i:(?:else[ \t]+)?(?:if\b.*\bthen|(?:for|while|with)\b.*\bdo)|else)[ \t]*$"
_HEADS_OF_VERILOG = (
    rf"^[ \t]*(?:end[ \t]+)?(?:(?:else[ \t]+)?(?:if|for|foreach|while|repeat|wait)\b[ \t]*{_ROUND}|else|forever"
    rf"|initial|final"
    rf"|always\w*(?:[ \t]*@[ \t]*(?:\*|{_ROUND}))?)[ \t]*$"
)
GOTO = (r"\bgoto[ \t]+(?P<name>\w+)", r"[ \t]*(?P<name>\w+):(?![:=])")
_JUMPS = (
    r"(?i:\b(?:j\w+|b\w*|call|loop\w*|cbn?z|tbn?z|xbegin|lea|dq|dd|dw|\.(?:quad|long"
    r"|word))\b)[^\n]*?(?P<name>(?<![\w.%$])[A-Za-z_.$@?][\w.$@?]*)[ \t]*(?:\]|\)|-|$)",
    r"(?P<name>[A-Za-z_.$@?][\w.$@?]*):",
)
CLAUSE = (
    r"(?P<name>[a-z_][\w']*)(?=[^=\n]*(?:::|="
    r"|$))(?<!\bmodule)(?<!\bimport)(?<!\btype)(?<!\bdata)(?<!\binstance)(?<!\bclass)"
)
_SECTIONS_OF_ASSEMBLY = (r"[ \t]*(?i:section|segment|\.section|\.(?:text|data|bss|rodata|code|const)|\.data\?)\b",)
_DEFINE = r"^[ \t]*(?:(?:override|export|private|unexport)[ \t]+)*define\b"
_HEREDOC_OF_PUPPET = AtomicSpan(r"@\([ \t]*(?P<quote>\"?)(?P<tag>[\w.-]+)(?P=quote)(?:[:/][^)\n]*)?\)",
    r"^[ \t]*(?:\|[ \t]*)?-?[ \t]*{tag}[ \t]*$", waits=True)
_HEADER_OF_SQL = AtomicSpan(
    r"^[ \t]*(?i:create\b[ \t]+(?:or[ \t]+replace[ \t]+)?(?:definer\S*[ \t]+)?(?:function|procedure|trigger"
    r"|package)\b)",
    r"(?=\$\w*\$)|\b(?i:as|is|begin|declare)[ \t]*$|;",
)
_COPY_OF_SQL = Template("data", (AtomicSpan(r"^(?i:copy)\b[^;]*\b(?i:from[ \t]+stdin)\b[^;]*;|^\\\.[ \t]*$"),),
    opens=r"(?i)\Acopy", closes=r"\A\\")
_BLOCKS_OF_VERILOG = Template(
    "blocks",
    (
        AtomicSpan(
            r"^[ \t]*(?:(?:virtual|static|local|protected|automatic|unique0?|priority)[ \t]+)*(?:module"
            r"|macromodule|interface|program|package|class"
            r"|function|task|generate|case[xz]?|property|sequence|checker|covergroup|primitive|config|specify"
            r"|clocking|fork)\b"
            r"|\b(?:begin|end\w*|join(?:_any|_none)?)\b"
        ),
    ),
    opens=r"\A.*?(?P<name>module|interface|program|package|class|function|task|generate|case|property|sequence"
    r"|checker|group"
    r"|primitive|config|specify|clocking|begin|fork)[xz]?\Z",
    closes=r"\A(?:end\Z|end(?P<name>\w+)|join)",
    anywhere=False,
)
_MACROS_OF_ASSEMBLY = Template(
    "macros",
    (
        AtomicSpan(
            r"^[ \t]*(?i:[%.](?:i?macro|rep\w*|irpc?|rotate|struc|proc|end\w*)|\w+[ \t]+(?:macro|struc|proc"
            r"|segment|endm|endp|ends))\b"
        ),
    ),
    opens=r"(?i)\A[ \t]*(?:[%.]i?(?P<name>macro|rep|irp|struc|proc)|\w+[ \t]+(?:macro|struc|proc))",
    closes=r"(?i)\A[ \t]*(?:[%.]end(?P<name>macro|rep|struc|proc)|[%.]end[mr]\b|\w+[ \t]+end[mps])",
)
_MODULE_OF_JULIA = Template(  # whose inside isn't indented
    "module",
    (AtomicSpan(r"^(?:bare)?module[ \t]+\w+|^end\b(?=[^\n]*\s*\Z)"),),
    opens=r"\A\w*module",
    closes=r"\Aend",
    anywhere=False,
)
_REMARK_OF_FORTRAN = remark(r"!(?!(?i:\$omp|\$acc|dir\$))[^\n]*")
_UNITS_OF_FORTRAN = Template(
    "units",
    (
        AtomicSpan(
            r"^[ \t]*(?:\w+[ \t]*:(?!:)[ \t]*)?(?i:(?:(?:pure|impure|elemental|recursive|module|abstract|(?:real"
            r"|integer|logical|complex|character|type"
            r"|class|double[ \t]+precision)(?:[ \t]*\*[ \t]*\d+|[ \t]*\([^)\n]*\))?)[ \t]+)*(?:subroutine|function"
            r"|program|module(?![ \t]+procedure)|submodule"
            r"|interface|type(?![ \t]*\()|do(?![ \t]*\d)|if|select|where|associate|block|forall|critical|team"
            r"|enum)\b|end)"
            r"(?:[^\n&]*&[ \t]*\n|[^\n]*\n {5}[^\s0])*[^\n]*"
        ),
    ),
    opens=r"(?i)\A(?![^!]*\bend[ \t]*=|[ \t]*end)[ \t]*(?:\w+[ \t]*:(?!:)[ \t]*)?(?:(?=[\s\S]*\)[ \t]*\Z)"
    r"|(?!(?:where|forall)\b))(?:(?=[\s\S]*\bthen[ \t]*\Z)|(?!if\b))"
    r"(?:[\w*() \t]*[ \t)])??(?P<name>subroutine|function|program|module|submodule|interface|type|do|if|select"
    r"|where|associate|block|forall"
    r"|critical|team|enum)\b(?![ \t]*=)",
    closes=r"(?i)\A[ \t]*end[ \t]*(?P<name>[a-z]*)(?![\w]*[ \t]*[=(])",
    anywhere=False,
)
_LABELLED_DO = Template("loops", (AtomicSpan(r"^[ \t\d]*(?i:do)[ \t]+\d+|^[ \t]*\d+(?=[ \t])"),),
    opens=r"(?i)\A.*do[ \t]+(?P<name>\d+)", closes=r"\A[ \t]*(?P<name>\d+)", anywhere=False)
_LIKE_FORTRAN: dict[str, Any] = {
    "frames": ends("contains|case"),
    "words": (CONDITIONS_OF_C, _UNITS_OF_FORTRAN, _LABELLED_DO),
    "items": "- |(?i:case|contains|class|type[ \t]+is|rank)\\b",
    "directives": r"[ \t]*(?i:implicit)\b",
    "jumps": (r"(?i:\bgo[ \t]*to)[ \t]+(?P<name>\d+)", r"[ \t]*(?P<name>\d+)[ \t]"),
    "calls": True,
}
_VERBS_OF_COBOL = (
    "accept|add|alter|call|cancel|close|compute|continue|copy|delete|display|divide|else|end-\\w+|evaluate|exec|exit|generate|go"
    "|goback|if|initialize|inspect|merge|move|multiply|next|open|perform|read|release|replace|return|rewrite|search|select|set"
    "|sort|start|stop|string|subtract|unstring|use|when|write|pic|fd|sd|author|program-id"
)
# What begins with no verb in the second area goes on with the statement before it.
_ON_IN_COBOL = rf".{{6}}-| {{11,}}(?!(?i:{_VERBS_OF_COBOL})\b|\d|[\w-]+\.[ \t]*$)\S"
_AREA_A = r".{6} (?i:"
_HEADINGS_OF_COBOL = (_AREA_A + r"[\w-]+[ \t]+DIVISION)\b", _AREA_A + r"[\w-]+[ \t]+SECTION)\b",
    _AREA_A + r"(?!PROGRAM-ID|AUTHOR|DATE|FD|SD|\d)[\w-]+)\.[ \t]*$")
_CELLS = r"[ \t]*\|"
HEADINGS_OF_MARKDOWN = (*(rf"#{{{level}}} " for level in range(1, 7)),
    r"(?!#|[-*>|])\S.*\n(?P<mark>=|-)(?P=mark)*[ \t]*$")
IN_MARKDOWN = (_FRONT, _FRONT_TOML, _FENCE, _COMMENT_OF_XML, remark(r"\{/\*", r"\*/\}"),
    AtomicSpan(r"^(?![#>|*-])\S.*\n(?:=+|-{2,})[ \t]*$"))


def by_lines(  # noqa: PLR0913, PLR0917  # what is known of every format
    comment: Comment,
    name: str,
    suffixes: str = "",
    aliases: str = "",
    filenames: str = "",
    shebangs: str = "",
    remarks: bool = True,
    **columns: Any,
) -> Language:
    """A row of the table below; names are separated by spaces. Without `remarks`, lines may stand under a comment."""
    names = {"aliases": aliases, "suffixes": suffixes, "filenames": filenames, "shebangs": shebangs}
    columns |= {key: name_set(text) for key, text in names.items()}
    wholes = columns.get("wholes", ())
    if remarks and comment.opening and not any(each.says_nothing for each in wholes):
        begins = rf"^[ \t]*{re.escape(comment.opening)}"
        columns["wholes"] = (*wholes, remark(begins, re.escape(comment.closing) or "$"))
    return Language(name, comment, **columns)


_hash = partial(by_lines, _HASH)
_dashes = partial(by_lines, _DASHES)
_percent = partial(by_lines, Comment("%"))
slash = partial(by_lines, _SLASHES, frames=BRACED, wholes=LIKE_C, heads=HEADS, calls=True, goes_back=CHAINS)
_page = partial(by_lines, _MARKUP, headings=_ELEMENTS, frames=_TAGS, wholes=_IN_PAGES, parts=_PARTS)
nested = partial(by_lines, frames=BRANCHES, filled=True, goes_back=PIPES, documents=rf"in[ \t]*$|{_ATTRIBUTE}")
"""A language of indentation."""

PLAIN: tuple[Language, ...] = (
    by_lines(_NONE, "text", ".txt .text .log .out .err .stdout .stderr", "plain plaintext log", blocks=output_frames),
    by_lines(_NONE, "csv", ".csv .tsv .psv", wholes=(_CELL_TEXT,), directives=r"\A.*"),
    by_lines(_NONE, "other", "", "", "Earthfile", frames=ENDS, wholes=_TEXTS, heads=HEADS, calls=True, goes_on=OPERATOR,
        goes_back=CHAINS, words=(conditions(r"[!%.$@`]|#(?! )"),), documents=_ATTRIBUTE,
        directives=r"(?i:(?:package|module|namespace|syntax|grammar|vcl|version|edition|unit|library|program)[ \t]+"
        r"[^({]*$|//@version)"),
    _hash("shell", ".sh .bash .zsh .ksh .bats .ebuild .eclass", "bash sh zsh",
        ".bashrc .bash_profile .bash_aliases .zshrc .zshenv .zprofile .profile PKGBUILD APKBUILD .envrc",
        "sh bash zsh ksh dash ash bats openrc-run", frames=_SHELL, wholes=_IN_SHELL, goes_on=_PIPE, filled=True,
        skips_mark=False),
    _hash("fish", ".fish", "", "", "fish", frames=ENDS, wholes=_IN_SHELL[1:], goes_on=_PIPE, skips_mark=False),
    _hash("yaml", ".yaml .yml .cff", "yml", ".clang-format .clang-tidy .clangd", frames=CLOSERS, wholes=_IN_YAML),
    _hash("toml", ".toml", "", "Pipfile Cargo.lock poetry.lock uv.lock", headings=_SECTIONS, frames=CLOSERS,
        wholes=(*TRIPLES, AFTER_HASH, _TEXT, AtomicSpan(r"'[^'\n]*'"))),
    _hash("ini", ".ini .cfg .conf .cnf .properties .editorconfig .desktop .env", "",
        ".gitconfig .gitmodules .npmrc .env .coveragerc .flake8 .pylintrc .pypirc .hgrc", headings=_SECTIONS,
        frames=BRACKETS, goes_on=BACKSLASH),
    _hash("makefile", ".mk .mak .am", "make mf", "Makefile makefile GNUmakefile BSDmakefile", "make",
        frames=CLOSERS,
        wholes=(_nesting(_DEFINE, rf"(?!{_DEFINE}|^[ \t]*endef\b)[\s\S]", r"^[ \t]*endef\b", nothing=False),),
        goes_on=BACKSLASH, words=(_CONDITIONS_OF_MAKE,),
        directives=r"(?:SHELL|MAKEFLAGS|VPATH|\.(?:RECIPEPREFIX|SHELLFLAGS|DEFAULT_GOAL))[ \t]*[:?+]?="
        r"|\.(?:ONESHELL|POSIX)\b"),
    _hash("dockerfile", ".dockerfile .containerfile", "docker", "Dockerfile Containerfile", frames=CLOSERS,
        wholes=(remark(r"^[ \t]*#(?![ \t]*(?:syntax|escape)=)[^\n]*"), HEREDOC), goes_on=r"[\\`][ \t]*$",
        headings=(r"(?i:FROM)[ \t]",), directives=r"#[ \t]*(?:syntax|escape)=|(?i:SHELL|WORKDIR|USER)[ \t]"),
    _hash("cmake", ".cmake", "", "CMakeLists.txt", frames=BRACKETS, words=(_COMMANDS_OF_CMAKE,),
        wholes=(AtomicSpan(r"#?\[(?P<tag>=*)\[", r"\]{tag}\]"), AFTER_HASH, AtomicSpan(r'"', r'(?<!\\)"'))),
    _hash("meson", "", "", "meson.build meson_options.txt meson.options",
        frames=rf"{BRACKETS}|(?:end(?:if|foreach)|el(?:se|if))\b", wholes=(AtomicSpan("'''", "'''"), *_HASHES),
        goes_on=r"(?:\\|[-+*/%=?:]|\b(?:and|or|not))[ \t]*$"),
    _hash("perl", ".pl .pm .t .psgi", "", "cpanfile", "perl", frames=BRACED,
        wholes=(remark(r"^=[a-z]\w*", r"^=cut\b"), AtomicSpan(r"^__(?:END|DATA)__", r"\Z"),
            AtomicSpan(r"<<~?(?P<quote>['\"])(?P<tag>[^'\"\n]+)(?P=quote)",
            r"^[ \t]*{tag}[ \t]*$", waits=True), HEREDOC, *_LISTS_OF_PERL, _WORD_OF_HASH, *_TEXTS),
        goes_on=UNENDED, goes_back=CHAINS, calls=True,
        directives=r"(?:package|use[ \t]+(?:strict|warnings|v?5|utf8|feature|open|experimental))\b"),
    _hash("r", ".r .R", "", "", "Rscript", frames=BRACED,
        wholes=(*_RAW_IN_R, AtomicSpan(r"`[^`\n]*`"), AFTER_HASH, LONG_TEXT, LONG_LETTERS), heads=HEADS,
        goes_on=r"(?:%\w*>?%|\|>|[+,~]|<-|&&|\|\||\belse)[ \t]*$"),
    _hash("julia", ".jl", "", "", "julia", frames=ENDS,
        wholes=(remark("#=", "=#"), _TRIPLE, AFTER_HASH, LONG_TEXT, _LETTER), goes_on=OPERATOR,
        goes_back=PIPES, words=(_MODULE_OF_JULIA,),
        calls=True, documents=r"@\w+[ \t]*$"),
    _hash("elixir", ".ex .exs", "", "", "elixir", frames=ENDS,
        wholes=(*TRIPLES, AtomicSpan(r"(?<!\w)\?\\?\S"), AFTER_HASH, LONG_TEXT, _LETTERS),
        goes_on=rf"{OPERATOR}|(?:\|>|<>|\+\+)[ \t]*$",
        goes_back=PIPES, clauses=r"defp?[ \t]+(?P<name>\w+)"),
    nested(_HASH, "nix", ".nix", wholes=(_BLOCK_OF_C, _TEXT_OF_NIX, AFTER_HASH, LONG_TEXT), words=(_LET_OF_NIX,),
        documents=r"(?:with|assert)\b.*;[ \t]*$|.*(?:[:=]|\bin)[ \t]*$", filled=False),
    _hash("terraform", ".tf .tfvars .hcl .nomad .tofu", "hcl", frames=BRACKETS,
        wholes=(HEREDOC, AFTER_HASH, *_COMMENTS_OF_C, _BRACED_TEXT)),
    _hash("graphql", ".graphql .gql .graphqls", frames=BRACKETS, wholes=(_TRIPLE, AFTER_HASH, _TEXT),
        goes_on=r"[=|&@][ \t]*$", documents=r'"', filled=True),
    _hash("crystal", ".cr", "", "", "crystal", frames=ENDS, wholes=(HEREDOC, AFTER_HASH, LONG_TEXT, _LETTER),
        calls=True),
    nested(_HASH, "nim", ".nim .nims .nimble", wholes=(remark(r"#\[", r"\]#"), _TRIPLE, AFTER_HASH, _TEXT),
        items=r"- |of\b", calls=True, directives=r"\{\.push\b"),
    _hash("tcl", ".tcl", "", "", "tclsh wish", frames=BRACED,
        wholes=(AtomicSpan(r"\\\S"), remark(r"^[ \t]*#[^\n]*")), goes_on=BACKSLASH, skips_mark=False),
    _hash("awk", ".awk", "", "", "awk gawk mawk", frames=BRACED, wholes=(_TEXT, remark(r"(?<![^\s;{}])#[^\n]*")),
        heads=HEADS, goes_on=_PIPE, skips_mark=False),
    _hash("puppet", ".pp", frames=BRACED, wholes=(_HEREDOC_OF_PUPPET, AFTER_HASH, LONG_TEXT, LONG_LETTERS)),
    _hash("powershell", ".ps1 .psm1 .psd1", "pwsh", "", "pwsh",
        frames=rf"{BRACKETS}|(?i:else|elseif|catch|finally)\b",
        wholes=(remark(r"<#", r"#>"), AtomicSpan(r"@(?P<tag>['\"])[ \t]*\n", r"^{tag}@"),
            AtomicSpan(r"`\S"), remark(r"(?<![^\s;&|()])#(?![ \t]*[Rr]equires\b)[^\n]*"),
            AtomicSpan(r'"', r'(?<!`)"'), AtomicSpan("'", "'")),
        heads=HEADS, goes_on=r"(?:[`|,]|(?<![=!])=|\+|-(?:and|or|join|f))[ \t]*$|^[ \t]*function\b[^{}]*$",
        documents=r"\[[A-Z]\w*(?:\(.*\))?\][ \t]*$",
        directives=r"(?i:#[ \t]*requires|using[ \t]|set-strictmode)\b|\$ErrorActionPreference\b",
        jumps=(r"(?i:\b(?:break|continue))[ \t]+(?P<name>\w+)", r"[ \t]*:(?P<name>\w+)\b")),
    _dashes("sql", ".sql .ddl .dml .pgsql .psql .plsql .pks .pkb .hql", "mysql postgres",
        frames=ends("loop|is|as|declare|elseif"), wholes=(_HEADER_OF_SQL, _STATEMENT_OF_SQL, *_IN_SQL),
        words=(_COPY_OF_SQL,), items=r"- |\(",
        directives=r"(?i:use|set|delimiter|set[ \t]+search_path|alter[ \t]+session|pragma)[ \t]+[^;]*;?[ \t]*$",
        jumps=(r"(?i:\b(?:goto|leave|iterate|exit))[ \t]+(?P<name>\w+)",
            r"[ \t]*(?:<<)?(?P<name>\w+)(?:>>|:(?!=))")),
    _dashes("lua", ".lua .luau .rockspec", "", "", "lua luajit", frames=ENDS,
        wholes=(remark(r"--\[(?P<tag>=*)\[", r"\]{tag}\]"), AtomicSpan(r"\[(?P<tag>=*)\[",
            r"\]{tag}\]"), AFTER_DASHES, *_TEXTS),
        goes_on=r"(?:(?<!\.)\.\.|\b(?:and|or|not)|(?<![=~<>])=)[ \t]*$",
        goes_back=r"[ \t]*(?:\.\.|:\w+\(|\.\w|(?:and|or)\b|[+*/])", calls=True,
        jumps=(r"\bgoto[ \t]+(?P<name>\w+)", r"[ \t]*::[ \t]*(?P<name>\w+)")),
    nested(_DASHES, "haskell", ".hs", "", "", "runhaskell stack", frames=rf"{BRANCHES}|\|(?!\|)",
        wholes=LIKE_HASKELL, words=(CONDITIONS_OF_C,), clauses=CLAUSE,
        directives=r"\{-#[ \t]*(?:LANGUAGE|OPTIONS)|module\b"),
    nested(_DASHES, "elm", ".elm", wholes=LIKE_HASKELL, clauses=CLAUSE, directives=r"(?:port )?module\b"),
    _dashes("ada", ".adb .ads", frames=ends("is|loop|record|private|or"), items="- |when", calls=True,
        jumps=(r"(?i:\b(?:goto|exit))[ \t]+(?P<name>(?!when)\w+)",
            r"[ \t]*(?:<<)?(?P<name>\w+)(?:>>|[ \t]*:[ \t]*(?:loop|while|for|declare|begin)\b)")),
    _dashes("vhdl", ".vhd .vhdl", frames=ends("is|loop|generate|elsif"), wholes=(AFTER_DASHES, _BLOCK_OF_C, _TEXT),
        items="- |(?i:when)", calls=True, directives=r"(?i:library|use)\b"),
    _page("html", ".html .htm .xhtml .ng .cfm", "jinja erb ejs", wholes=(_FRONT, *_IN_PAGES),
        hints=(r"\A\s*(?i:<!doctype html|<html\b)",)),
    _page("vue", ".vue"),
    _page("svelte", ".svelte"),
    _page("astro", ".astro", wholes=(_FRONT, *_IN_PAGES)),
    by_lines(_MARKUP, "xml",
        ".xml .xsd .xsl .xslt .svg .plist .csproj .vbproj .fsproj .vcxproj .pom .wsdl .resx .xaml .axaml .nuspec .slnx "
        ".storyboard .xib .qrc .xlf .xliff .kml .gpx .iml .glade .props .targets .proj .filters .natvis .ruleset .wxs "
        ".dtproj .resw .appxmanifest .rdf .owl .atom .rss .opml .xmp .ncx .opf .jnlp .tld .zcml",
        "svg", frames=_TAGS, wholes=_IN_XML, hints=(r"\A\s*<\?xml\b",)),
    _hash("gettext", ".po .pot", wholes=(_MESSAGE,)),
    _hash("fluent", wholes=(_MESSAGE_OF_FLUENT,)),
    by_lines(_MARKUP, "dtd", ".dtd .ent", frames=r"\]\]",
        wholes=(_COMMENT_OF_XML, AtomicSpan(r"<!\[[ \t]*IGNORE[ \t]*\[", r"\]\]>"),
            AtomicSpan(r"<!(?:ELEMENT|ATTLIST|ENTITY|NOTATION)\b", r">[ \t]*$"))),
    by_lines(_MARKUP, "markdown", ".md .markdown .mkd .qmd .rmd", "md", headings=HEADINGS_OF_MARKDOWN,
        hints=(r"^#{1,6} \w", r"^```\w*[ \t]*$", r"^[-*] \w.*$", r"\]\(https?://"), wholes=IN_MARKDOWN, tables=_CELLS),
    by_lines(_BLOCK, "css", ".css", frames=BRACKETS, wholes=(_BLOCK_OF_C, *_TEXTS), goes_on=r",[ \t]*$"),
    by_lines(_SLASHES, "scss", ".scss .sass .less .styl", "sass less", frames=rf"{BRACKETS}|@?else\b",
        wholes=(_BLOCK_OF_C, remark(r"(?<!:)//[^\n]*"), *_TEXTS), goes_on=r",[ \t]*$"),
    by_lines(Comment('"//": "', '",', '"'), "json",
        ".json .map .webmanifest .geojson .har .avsc .tfstate .topojson .code-snippets .jsonld", "",
        ".eslintrc .babelrc .prettierrc composer.lock Pipfile.lock .swcrc .jshintrc", frames=CLOSERS,
        wholes=(_TEXT,)),
    by_lines(Comment('"//": "', '",', '"'), "notebook", ".ipynb", "ipynb", frames=CLOSERS, wholes=(_TEXT,)),
    by_lines(_SLASHES, "jsonc", ".jsonc .json5 .hjson .code-workspace", "json5", frames=CLOSERS, wholes=LIKE_C),
    by_lines(Comment('{"//": "', '"}'), "jsonl", ".jsonl .ndjson .jsonlines"),
    slash("kotlin", ".kt .kts .ktm", "", "", "kotlin kotlinc", wholes=_LIKE_KOTLIN, goes_on=OPERATOR),
    slash("swift", ".swift", "", "", "swift",
        wholes=(*_NESTED_COMMENTS, AtomicSpan(r'(?P<tag>#{1,9})"', r'"{tag}'), _TRIPLE, _TEXT), goes_on=OPERATOR),
    slash("scala", ".scala .sc .sbt .mill", "", "", "scala scala-cli", wholes=_LIKE_KOTLIN, goes_on=OPERATOR),
    slash("dart", ".dart", wholes=(*_NESTED_COMMENTS, *TRIPLES, _BRACED_TEXT, _LETTERS), goes_on=OPERATOR),
    slash("zig", ".zig .zon", goes_on=OPERATOR, goes_back=""),
    slash("groovy", ".groovy .gradle .gvy .jenkinsfile", "", "Jenkinsfile", "groovy",
        wholes=(*_COMMENTS_OF_C, *TRIPLES, *_TEXTS), goes_on=OPERATOR, directives=r"package\b",
        documents=_ATTRIBUTE),
    slash("objective-c", ".m .mm", "objc objectivec", goes_on=BACKSLASH),
    slash("jsonnet", ".jsonnet .libsonnet", frames=rf"{BRACKETS}|(?:then|else|in)\b",
        wholes=(AtomicSpan(r"\|\|\|-?[ \t]*\n", r"^[ \t]*\|\|\|"), AFTER_HASH, *LIKE_C),
        goes_on=r"(?:[-+*=]|&&|\|\||\b(?:then|else|in))[ \t]*$"),
    slash("protobuf", ".proto", "proto", goes_on=UNENDED, directives=r"(?:syntax|edition|package)\b"),
    slash("solidity", ".sol", goes_on=OPERATOR, directives=r"pragma\b"),
    slash("thrift", ".thrift", directives=r"namespace\b"),
    slash("glsl", ".glsl .hlsl .wgsl .metal .frag .vert .geom .comp .tesc .tese .shader .cl .gdshader",
        wholes=_COMMENTS_OF_C, goes_on=rf"{BACKSLASH}|{OPERATOR}", words=(CONDITIONS_OF_C,),
        directives=r"#[ \t]*(?:version|extension)\b|precision\b|shader_type\b"),
    nested(_SLASHES, "fsharp", ".fs .fsx .fsi", "f#",
        wholes=(remark(r"\(\*(?!\))", r"\*\)"), _LINE_OF_C, _TRIPLE, LONG_TEXT), documents=r"\[<",
        words=(CONDITIONS_OF_C,), items=r"- |\|(?![|>])", directives=r"(?:module|namespace)\b(?!.*=[ \t]*$)"),
    slash("pascal", ".pas .dpr .lpr", "delphi", frames=ENDS,
        wholes=(remark(r"\{(?!\$)", r"\}"), remark(r"\(\*", r"\*\)"), _LINE_OF_C, AtomicSpan(r"'[^'\n]*'")),
        words=(conditions(r"\{\$"),), heads=_HEADS_OF_WORDS,
        headings=(r"(?i:interface|implementation|initialization|finalization)[ \t]*$",
            r"(?i:var|const|type|uses|resourcestring|threadvar)[ \t]*$"),
        directives=r"(?i:unit|program|library)\b", jumps=GOTO),
    slash("prisma", ".prisma", frames=BRACKETS, wholes=(*_COMMENTS_OF_C, _TEXT), goes_back=""),
    slash("bicep", ".bicep", wholes=(*_COMMENTS_OF_C, TRIPLES[1], _LETTERS), directives=r"targetScope\b"),
    slash("apex", ".apex", documents=_ATTRIBUTE),
    slash("v", ".vsh .vv", "vlang", directives=r"module\b", jumps=GOTO),
    by_lines(_SLASHES, "gomod", "", "", "go.mod go.work", frames=CLOSERS),
    slash("verilog", ".v .sv .svh .vh", "systemverilog", frames=ends(r"join(?:_any|_none)?"),
        wholes=(*_COMMENTS_OF_C, _TEXT), heads=_HEADS_OF_VERILOG, goes_on=rf"{BACKSLASH}|{OPERATOR}",
        goes_back=r"[ \t]*(?:&&|\|\||[?:|&^+*](?=[ \t]))", words=(conditions("`"), _BLOCKS_OF_VERILOG),
        directives=r"`(?:timescale|default_nettype)\b"),
    by_lines(Comment(";;"), "clojure", ".clj .cljs .cljc .edn", frames=CLOSERS, wholes=_LIKE_LISP,
        goes_on=_READER_OF_LISP, directives=r"\(ns\b"),
    by_lines(Comment(";;"), "lisp", ".lisp .el .scm .rkt .ss .sld .fnl .janet .hy", "scheme elisp",
        "dune dune-project dune-workspace", frames=CLOSERS, wholes=_LIKE_LISP,
        goes_on=_READER_OF_LISP, directives=r"\((?:in-package|declaim)\b|#lang\b"),
    by_lines(Comment(";"), "assembly", ".asm .nasm", "asm nasm", frames=CLOSERS,
        wholes=(remark(r";[^\n]*"), *_TEXTS), goes_on=BACKSLASH, words=(conditions("%"), _MACROS_OF_ASSEMBLY),
        headings=_SECTIONS_OF_ASSEMBLY,
        directives=r"[ \t]*(?i:bits|use(?:16|32|64)|default|org|cpu|\.model|\.\d86)\b", jumps=_JUMPS),
    by_lines(_BLOCK, "gas", ".s .S", frames=CLOSERS, wholes=(_BLOCK_OF_C, _TEXT), goes_on=BACKSLASH,
        words=(conditions(r"#|\."), _MACROS_OF_ASSEMBLY), headings=_SECTIONS_OF_ASSEMBLY,
        directives=r"[ \t]*\.(?:intel_syntax|att_syntax|syntax|arch|cpu|thumb|code\d+)\b", jumps=_JUMPS),
    by_lines(Comment("%"), "latex", ".tex .sty .cls", "tex", frames=r"\}",
        wholes=(AtomicSpan(r"\\begin\{(?P<tag>(?:verbatim|lstlisting|minted|comment)\*?)\}",
            r"\\end\{{tag}\}"), _AFTER_PERCENT, AtomicSpan(r"\\\[", r"\\\]"), AtomicSpan(r"\$\$",
            r"\$\$"), AtomicSpan(r"\\[^a-zA-Z\n]"), AtomicSpan(r"\$(?:[^$\\\n]|\\.|\n(?![ \t]*\n))*\$")),
        brackets="{}", words=(_ENVIRONMENTS,), headings=_HEADINGS_OF_LATEX),
    _percent("bibtex", ".bib", wholes=(_ENTRY_OF_BIBTEX,)),
    _percent("erlang", ".erl .hrl .escript", "", "", "escript", frames=ENDS,
        wholes=(_TRIPLE, _AFTER_PERCENT, AtomicSpan(r'"', r'(?<!\\)"')), words=(conditions("-"),),
        clauses=r"(?P<name>[a-z]\w*)\(", directives=r"-module\b", filled=True, calls=True),
    _percent("prolog", ".prolog", "", "", "swipl", frames=CLOSERS, wholes=(_BLOCK_OF_C, _AFTER_PERCENT, *_TEXTS),
        goes_on=r"(?:,|:-|-->)[ \t]*$", clauses=r"(?P<name>[a-z]\w*)\b(?=[(.]| *:-| *-->)"),
    _percent("matlab", ".matlab", "octave", frames=ends("otherwise"),
        wholes=(remark(r"^[ \t]*[%#]\{[ \t]*$", r"^[ \t]*[%#]\}[ \t]*$"), remark(r"^[ \t]*[%#][^\n]*"), _TEXT),
        goes_on=r"\.\.\.[ \t]*(?:%.*)?$", items="- |case|otherwise"),
    by_lines(Comment("!"), "fortran", ".f90 .f95 .f03 .f08 .F90", wholes=(_REMARK_OF_FORTRAN, *_TEXTS),
        goes_on=r"&$", goes_back=r"[ \t]*&", **_LIKE_FORTRAN),
    by_lines(Comment("!", flush=True), "fixed-fortran", ".f .for .ftn .f77 .fpp", "f77",
        wholes=(remark(r"^[*cCdD](?!\$)[^\n]*"), _REMARK_OF_FORTRAN, *_TEXTS),
        goes_back=r"(?: {5}|[cC!*]\$\w* *)[^\s0]", **_LIKE_FORTRAN),
    by_lines(Comment("      *", flush=True), "cobol", ".cbl .cob .cpy .cobol",
        wholes=(remark(r"^(?:.{6}[*/]|[ \t]*\*>)[^\n]*"), *_TEXTS), frames=ends("when"),
        goes_back=_ON_IN_COBOL,
        headings=_HEADINGS_OF_COBOL,
        jumps=(r"(?i:\b(?:go[ \t]+to|perform|thru))[ \t]+(?P<name>[\w-]+)", r".{6} (?P<name>[\w-]+)\.[ \t]*$"),
        filled=True),
    by_lines(Comment("(*", "*)"), "ocaml", ".ml .mli", frames=rf"{CLOSERS}|(?:and|else|then|with|in)\b",
        wholes=(*_DEFINITIONS_OF_OCAML, *_LIKE_OCAML), words=(_BLOCKS_OF_OCAML,)),
    by_lines(Comment("(*", "*)"), "sml", ".sml .sig .fun", frames=ends("in|and"), wholes=_LIKE_OCAML),
    slash("antlr", ".g4", frames=rf"{BRACED}|[:|;]", wholes=(*_COMMENTS_OF_C, _LETTERS),
        directives=r"(?:lexer |parser )?grammar\b"),
    slash("d", ".d .di", wholes=_IN_D, goes_on=UNENDED, directives=r"module\b", jumps=GOTO),
    by_lines(Comment("(*", "*)"), "coq", ".coq", frames=CLOSERS, wholes=_LIKE_OCAML[:1]),
    by_lines(Comment("'"), "vb", ".vb .bas .vbs .frm", "vba visualbasic", frames=ends("next|loop|wend|case"),
        wholes=(_TEXT, remark(r"'[^\n]*")), goes_on=r"(?:^|\s)_[ \t]*$", words=(CONDITIONS_OF_C,),
        directives=r"(?i:option|attribute)\b", documents=r"<\w.*>[ \t]*_?$",
        jumps=(r"(?i:\b(?:goto|gosub))[ \t]+(?P<name>\w+)", r"[ \t]*(?P<name>\w+)(?::|(?<=\d)[ \t])")),
    by_lines(Comment('"'), "vim", ".vim", "", ".vimrc", frames=ends("en|endf|endfo|endw|endt|enddef"),
        wholes=(AtomicSpan(r"=<<[ \t]*(?:(?:trim|eval)[ \t]+)*(?P<tag>[A-Z]\w*)",
            r"^[ \t]*{tag}[ \t]*$", waits=True), HEREDOC, AtomicSpan(r"^(?P<tag> *)if (?:0|v:false)[ \t]*\n",
            r"^{indent}en(?:dif?)?\b"), remark(r'^[ \t]*"[^\n]*')),
        goes_back=r"[ \t]*\\", brackets="", directives=r"vim9script\b|scriptencoding\b"),
    by_lines(Comment("REM"), "batch", ".bat .cmd", frames=r"\)",
        wholes=(remark(r"^[ \t]*@?(?i:rem\b|::)[^\n]*"), AtomicSpan(r"\^\S"), AtomicSpan(r'"[^"\n]*"')),
        goes_on=r"\^$", brackets="()", directives=r"@?(?i:setlocal|chcp)\b",
        jumps=(r"(?i:\b(?:goto|call))[ \t]+:?(?P<name>\w+)", r"[ \t]*:(?P<name>\w+)"), skips_mark=False),
    by_lines(_NONE, "diff", ".diff .patch .rej", "patch", blocks=diff_frames,
        hints=(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", r"^\+\+\+ \S", r"^diff --git ")),
)
_settings = partial(by_lines, _HASH, frames=CLOSERS, goes_on=BACKSLASH)
_prose = partial(by_lines, brackets="")
_BACKQUOTES = AtomicSpan("`", "`")
_RAW = AtomicSpan(r'#(?P<tag>#*)"(?:"")?', r'"#{tag}')
_SECTIONS_OF_APACHE = Template("sections", (AtomicSpan(r"^[ \t]*</?\w+[^>\n]*>"),), opens=r"\A\s*<(?P<name>\w+)",
    closes=r"\A\s*</(?P<name>\w+)", anywhere=False)
_DIRECTIVES_OF_FREEMARKER = Template("directives", (AtomicSpan(r"</?#\w+[^>\n]*>"),),
    opens=r"\A<#(?P<name>if|list|items|macro|function|switch|attempt|noparse|compress)\b",
    goes_on=r"\A<#(?:else\w*|case|default|recover|sep)\b",
    closes=r"\A</#(?P<name>\w+)")
_DIRECTIVES_OF_VELOCITY = Template("directives",
    (AtomicSpan(r"#\{?(?:if|elseif|else|foreach|macro|define|end)\b"),), opens=r"\A#\{?(?:if|foreach|macro|define)",
    goes_on=r"\A#\{?else", closes=r"\A#\{?end")
_DIAGRAM = Template("diagram", (AtomicSpan(r"^@(?:start|end)\w+"),), opens=r"\A@start(?P<name>\w+)",
    closes=r"\A@end(?P<name>\w+)")
_BLOCKS_OF_SAS = Template("blocks", (AtomicSpan(r"(?i:%(?:macro|mend|do|else|end)|\b(?:do|end))\b"),),
    opens=r"(?i)\A%?(?:(?P<name>m)acro|do)", closes=r"(?i)\A%?(?:(?P<name>m)end|end)", anywhere=False)
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
    by_lines(Comment("<#--", "-->"), "freemarker", ".ftl .ftlh", frames=CLOSERS, wholes=(remark("<#--", "-->"),),
        words=(_DIRECTIVES_OF_FREEMARKER,)),
    _prose(Comment("##"), "velocity", ".vm .vtl", frames=CLOSERS,
        wholes=(remark(r"#\*", r"\*#"), remark(r"##[^\n]*")), words=(_DIRECTIVES_OF_VELOCITY,)),
    _prose(Comment("//-"), "pug", ".pug .jade", frames=rf"{CLOSERS}|else\b", remarks=False),
    _prose(Comment("/"), "slim", ".slim", frames=rf"{CLOSERS}|-[ \t]*els\w+", remarks=False),
    _prose(Comment("-#"), "haml", ".haml", frames=rf"{CLOSERS}|-[ \t]*els\w+", remarks=False),
    _prose(Comment("{/*", "*/}"), "mdx", ".mdx", headings=HEADINGS_OF_MARKDOWN, wholes=IN_MARKDOWN, tables=_CELLS),
    _prose(Comment("'"), "plantuml", ".puml .plantuml .iuml", frames=rf"{CLOSERS}|(?:end|else|alt)\b",
        wholes=(remark(r"/'", r"'/"), remark(r"^[ \t]*'[^\n]*")), words=(conditions("!"), _DIAGRAM)),
    _prose(Comment("%%"), "mermaid", ".mmd .mermaid", frames=ENDS,
        directives=r"[a-zA-Z][\w-]*(?:[ \t]+(?:TB|TD|BT|RL|LR))?[ \t]*$"),
    slash("graphviz", ".dot .gv", goes_back=""),
    _prose(_SLASHES, "asciidoc", ".adoc .asciidoc .asc", tables=_CELLS,
        headings=(*(rf"={{{level}}}[ \t]+\S" for level in range(1, 7)), _TITLE),
        wholes=(_FENCED, remark(r"^//(?!/)[^\n]*"), AtomicSpan(rf"^{_TITLE}")),
        words=(conditions("", r"(?:n?def|eval)?::"),), goes_on=r"^(?:\[.*\]|\.\w.*)$"),
    _prose(Comment(".."), "restructuredtext", ".rst .rest", frames=CLOSERS, headings=(_TITLE,), wholes=_IN_RST,
        remarks=False),
    _prose(_HASH, "org", ".org", tables=_CELLS, headings=tuple(rf"\*{{{level}}} " for level in range(1, 9)),
        wholes=(remark(r"^[ \t]*#(?:[ \t][^\n]*)?$"),), words=(_BLOCKS_OF_ORG,)),
    _prose(_SLASHES, "typst", ".typ", headings=tuple(rf"={{{level}}} " for level in range(1, 7)), frames=BRACED,
        wholes=LIKE_C[:2]),
    _prose(Comment('.\\" '), "roff", ".roff .man", headings=(r"\.(?:SH|Sh)\b", r"\.(?:SS|Ss)\b"),
        wholes=(AtomicSpan(r"^[.']ig\b.*\n", r"^\.\.[ \t]*$"),)),
    # Settings.
    _settings("neon", ".neon", frames=CLOSERS),
    _settings("systemd", ".service .socket .timer .target .mount .path .slice", headings=(r"[ \t]*\[",)),
    _settings("requirements", "", "", "requirements.txt requirements-dev.txt constraints.txt dev-requirements.txt",
        brackets=""),
    _settings("ignore", "", "",
        ".gitignore .dockerignore .gitattributes CODEOWNERS .npmignore .prettierignore .eslintignore .stylelintignore "
        ".helmignore .gcloudignore .hgignore .vscodeignore .ignore .rgignore .mailmap .git-blame-ignore-revs",
        brackets=""),
    _settings("apache", ".htaccess", "", ".htaccess httpd.conf", brackets="", words=(_SECTIONS_OF_APACHE,)),
    _settings("caddy", ".caddyfile", "", "Caddyfile", frames=BRACED),
    _settings("robots", "", "", "robots.txt crontab", brackets="", headings=(r"(?i:user-agent):",)),
    _settings("yarn", "", "", "yarn.lock", brackets=""),
    _settings("http", ".http .rest-client", brackets="", headings=(r"###",)),
    by_lines(Comment(";"), "inno-setup", ".iss .isl .reg .inf", headings=_SECTIONS, words=(conditions("#"),)),
    _settings("kconfig", "", "", "Kconfig", frames=ends("endmenu|endchoice")),
    _settings("rpm", ".spec", frames=CLOSERS, words=(conditions("%"),), headings=(r"%(?!if|el|end|global|define)\w+",)),
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
    _settings("nushell", ".nu", frames=BRACED, wholes=(_BACKQUOTES, AFTER_HASH, LONG_TEXT, LONG_LETTERS),
        goes_back=r"[ \t]*\|"),
    _settings("elvish", ".elv", frames=BRACED, wholes=(AFTER_HASH, LONG_TEXT, LONG_LETTERS)),
    _settings("capnproto", ".capnp", frames=BRACED, directives=r"@0x|using\b"),
    _settings("rego", ".rego", frames=BRACED, wholes=(_BACKQUOTES, AFTER_HASH, *LIKE_C[2:]), directives=r"package\b"),
    _settings("sparql", ".sparql .rq", frames=BRACED, directives=r"(?i:prefix|base)\b"),
    _settings("m4", ".m4 .ac", "", "configure.ac",
        wholes=(AtomicSpan(r"\b(?:ifelse|m4_if)\([^\n]*\[[ \t]*$", r"^[ \t]*\][^\n]*\)"),
            remark(r"(?:\bdnl\b|#)[^\n]*"))),
    _settings("raku", ".raku .rakumod .rakutest .p6", frames=BRACED, heads=HEADS,
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
    by_lines(Comment("*", ";"), "sas", ".sas", frames=rf"%(?:else|end|mend)\b|{ends('run|quit')}",
        wholes=(_BLOCK_OF_C, *_TEXTS), words=(_BLOCKS_OF_SAS,)),
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


def with_grammar(name: str, **columns: Any) -> Language:
    """The row of this name with a grammar and what is said of it, for files that the grammar can read."""
    return dataclasses.replace(next(row for row in PLAIN if row.name == name), **columns)
