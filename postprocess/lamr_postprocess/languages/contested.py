"""Endings of names that several languages share, and what in a text speaks for each of them."""

import re
from collections.abc import Mapping

from lamr_base.records import dataclass

from lamr_postprocess.languages.table import NEVER

_FLAGS = re.MULTILINE


@dataclass(frozen=True)
class Contest:
    """The languages of one ending."""

    default: str  # the language of a text in which nothing speaks for another
    # for each other language, expressions that the default language's texts don't match
    signs: Mapping[str, tuple[str, ...]]
    aside: str = NEVER  # what is left out before signs are looked for: comments and strings
    # what only another language than the file's own may read, so that signs in it leave a doubt
    guarded: str = NEVER
    # a language, and an expression of the habits by which a text without any sign is taken for it
    habits: tuple[str, str] = ("", NEVER)

    def votes(self, text: str, *, guarded: bool = False) -> dict[str, int]:
        """How many signs of each other language a text has, in guarded parts or without them; none are left out."""
        bare = re.sub(self.aside, " ", text, flags=_FLAGS)
        if not guarded:
            bare = re.sub(self.guarded, " ", bare, flags=_FLAGS)
        counts = {
            name: sum(1 for sign in signs if re.search(sign, bare, _FLAGS))
            for name, signs in self.signs.items()
        }
        return {name: count for name, count in counts.items() if count}

    def unsigned(self, text: str) -> str:
        """The language of a text in which nothing speaks for another than the default."""
        language, expression = self.habits
        return language if re.search(expression, text, _FLAGS) else self.default


_COMMENTS = r"/\*[\s\S]*?(?:\*/|\Z)|//[^\n]*"
# A header in C that C++ or Objective-C may include guards what only these read.
_GUARDED = (
    r"^[ \t]*#[ \t]*if(?:def|[ \t]+defined)?[ \t(]*(?:__cplusplus|__OBJC__)\b"
    r"(?:(?!^[ \t]*#[ \t]*(?:if|else|endif))[\s\S])*"
)
_CPP_SIGNS = (
    r"^[ \t]*(?:inline[ \t]+)?namespace(?:[ \t]+[\w:]+)?[ \t]*(?:\[\[.*?\]\][ \t]*)?[={]?[ \t]*$",
    r"^[ \t]*namespace[ \t]+[\w:]+[ \t]*[={]",
    r"^[ \t]*template[ \t]*<",
    r"^[ \t]*(?:enum[ \t]+)?class[ \t]+(?:\w+(?:\([^)\n]*\))?[ \t]+)*[\w:]+[ \t]*(?:final[ \t]*)?(?::[^:]|\{|;|$)",
    r"^[ \t]*(?:public|private|protected)(?:[ \t]+\w+)?[ \t]*:(?!:)",
    r"^[ \t]*using[ \t]+(?:namespace[ \t]+)?[\w:]+[ \t]*[;=]",
    r"\b\w+::[~\w]",
    r"\b(?:static|dynamic|reinterpret|const)_cast[ \t]*<",
    r"\bnullptr\b|\bconstexpr\b|\bnoexcept\b|\bdecltype\b",
    r"\boperator[ \t]*(?:[^\w\s;,)]{1,3}|\(\)|new|delete|bool)[ \t]*\(",
    r"^[ \t]*virtual[ \t]+[\w~]|\)[ \t]*(?:const[ \t]*)?(?:override|final)\b|\)[ \t]*const[ \t]*(?:;|\{|$)",
    r"\bconst[ \t]+[\w:]+(?:<[^>\n]*>)?[ \t]*&[ \t]*\w",
    r"^[ \t]*#[ \t]*include[ \t]*(?:<[\w+-]+>|[<\"][\w./+-]+\.(?:hpp|hh|hxx|ipp|inl)[>\"])",
    r"\)[ \t]*=[ \t]*(?:default|delete)[ \t]*;|^[ \t]*(?:explicit|friend|mutable)[ \t]+\w",
    r"^[ \t]*struct[ \t]+(?:\w+[ \t]+)*\w+[ \t]*(?:final[ \t]*)?:[ \t]*(?:public|private|virtual|\w+[ \t]*\{)",
)
# Of a header that both languages read the comments tell, unless it says what is only said in C.
_CPP_HABITS = (
    r"\A(?=[\s\S]*(?:^[ \t]*//|^[ \t]*#[ \t]*pragma[ \t]+once))(?![\s\S]*(?:/\*|__cplusplus|\(\s*void\s*\)"
    r"|^[ \t]*typedef[ \t]+(?:struct|enum|union)\b|\b(?:struct|enum|union)[ \t]+\w+[ \t]*\*))"
)
_OBJC_SIGNS = (
    r"^[ \t]*@(?:interface|protocol|implementation|class|end|property|import|synthesize)\b",
    r"^[ \t]*#[ \t]*import[ \t]+[<\"]",
    r"^[-+][ \t]*\([\w \t*<>]+\)[ \t]*\w+",
    r"\bNS_(?:ENUM|OPTIONS|ASSUME_NONNULL_BEGIN|SWIFT_NAME)\b|\bNSString[ \t]*\*",
)

CONTESTED: Mapping[str, Contest] = {
    ".h": Contest(
        "c",
        {"objective-c": _OBJC_SIGNS, "cpp": _CPP_SIGNS},
        rf'{_COMMENTS}|"(?:[^"\\\n]|\\.)*"',
        _GUARDED,
        ("cpp", _CPP_HABITS),
    ),
    ".m": Contest(
        "objective-c",
        {
            "matlab": (
                r"^[ \t]*%(?!=)",
                r"^[ \t]*function\b(?:[ \t]+(?:\[[^\]\n]*\]|\w+)[ \t]*=)?[ \t]*\w+[ \t]*(?:\(|$)",
                r"^[ \t]*(?:end|endfunction|classdef\b.*)[ \t]*$",
                r"\.\.\.[ \t]*$",
            ),
            "text": (r"^\(\*|:=|\bModule\[",),  # Mathematica
        },
        _COMMENTS,
    ),
    ".pl": Contest(
        "perl",
        {"prolog": (r"^:-[ \t]*\w", r"^[a-z]\w*(?:\(.*\))?[ \t]*:-", r"^%")},
        r"^#.*|^=\w[\s\S]*?^=cut",
    ),
    ".t": Contest("perl", {"text": (r"^% |^import \".*\"$|^var \w+ :",)}),  # Turing
    ".l": Contest(
        "yacc",  # Lex is written like it
        {"lisp": (r"^\(\w+[ \t]", r"^;;"), "roff": (r'^\.\\"', r"^\.(?:TH|SH|Dd|Dt)\b")},
        _COMMENTS,
    ),
    ".cls": Contest(
        "latex",
        {
            "vb": (r"^VERSION \d|^Attribute VB_", r"^[ \t]*(?:Public|Private) (?:Sub|Function|Property)\b"),
            "apex": (
                r"^[ \t]*(?:global|public|private|abstract|virtual|with sharing)\b.*\bclass \w+",
                r"@isTest\b",
            ),
        },
    ),
    ".inc": Contest(
        "php",
        {
            "cpp": _CPP_SIGNS[:3],
            "c": (
                r"^[ \t]*#[ \t]*(?:include|define|ifdef|ifndef|endif|undef)\b",
                r"\)[ \t]*\{?[ \t]*$(?=[\s\S]*;$)",
            ),
            "assembly": (
                r"^[ \t]*(?:\.?(?:equ|macro|endm|globl|global|section)|%(?:define|macro|include))\b",
                r"^;",
            ),
            "pascal": (r"^[ \t]*(?:procedure|function|begin|unit)\b.*;?$|\{\$\w+", r":="),
            "shell": (r"^[A-Z_]+(?:_\w+)?[ \t]*(?:[?+:.]?=)[ \t]*\"", r"^(?:inherit|require) \w"),  # BitBake
            "html": (r"^[ \t]*<(?!\?)[a-zA-Z!]",),
            "sql": (r"(?i)^[ \t]*(?:select|insert|create|drop|update)\b.*",),
        },
        r"<\?(?:php|=)?[\s\S]*",
    ),
    ".v": Contest(
        "verilog",
        {
            "coq": (
                r"^[ \t]*(?:Require|Import|Export|Theorem|Lemma|Proof|Definition|Inductive|Fixpoint|Section)\b",
                r"^[ \t]*(?:Qed|Defined|Proof)\.",
            ),
            "v": (
                r"^(?:pub )?fn (?:\(.*\) )?\w+\(",
                r"^module \w+$|^import \w+(?:\.\w+)*$",
                r"^[ \t]*\w+ :?= .*[^;]$",
            ),
        },
        _COMMENTS,
    ),
    ".ts": Contest("typescript", {"xml": (r"\A\s*<\?xml\b|\A\s*<!DOCTYPE TS>|\A\s*<TS\b",)}),
    ".mm": Contest("objective-c", {"xml": (r"\A\s*<map\b",)}),
    ".rs": Contest("rust", {"xml": (r"\A\s*<\?xml\b",)}),
    ".md": Contest("markdown", {"lisp": (r"\A(?:;;.*\n|\s)*\(define_",)}),
    ".s": Contest(
        "gas", {"assembly": (r"^[ \t]*(?:section[ \t]+\.|global[ \t]|%(?:define|macro|include))", r"^;")}
    ),
    ".txt": Contest(
        "text",
        {
            "requirements": (
                r"^[A-Za-z][\w.-]*(?:\[[\w, -]*\])?[ \t]*[=~<>!]=[ \t]*\d[\w.*+!]*(?:[ \t]*[,;#\\].*)?$",
                r"^(?:-r|-c|--requirement|--extra-index-url|--index-url)[ =]\S",
            )
        },
    ),
    ".ftl": Contest(
        "freemarker",
        {"fluent": (r"^-?[a-zA-Z][\w-]* *=",)},
        r"<#--[\s\S]*?-->",
        r"(?:</?[#@]|\$\{)[\s\S]*",
    ),
    ".json": Contest("json", {"jsonc": (r"^[ \t]*//|^[ \t]*/\*",)}),
}
"""The contest of each ending, in lower case."""
