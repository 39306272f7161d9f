"""What a comment or docstring says: its text without marks, the sentence that sums it up, and what isn't prose.

It knows the forms of documentation that tools read (Javadoc, XML, rustdoc, YARD, Sphinx and so on) and no grammar.
"""

from __future__ import annotations

import re

from lamr_training.made.wording import base_verb

_OPENING = re.compile(r"^\s*(?:/\*+[!<]?|\*+(?!/)|//+[!<]*|#+[!:]?|\(\*|;+|[rRuU]?(?:\"{3}|'{3}))\s?")
_CLOSING = re.compile(r"\s*(?:\*+/|\"{3}|'{3})\s*$")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\n])|\n\s*\n|:\n")
_ROLE = re.compile(r":[\w:]+:`[~!.]?([^`<]*?)(?:\s*<[^`]*>)?`|`+([^`]*)`+")
_RULE = re.compile(r"^\W*$")
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.S)
_BRIEF = re.compile(r"^\s*[@\\](?:brief|short|summary|description|desc)\b:?\s*", re.M)
_TAG = re.compile(
    r"^\s*(?:[@\\:]\w+|#+ |=+ |\* |- |</?(?:remarks|param|returns|example|ul|ol|pre|table)\b)", re.M
)
_INLINE = re.compile(r"\{@\w+\s+([^{}]*)\}")
_REFERENCE = re.compile(r"<\w+\s+(?:cref|name|langword|href)=\"(?:\w:)?([^\"]*)\"\s*(?:/>|>\s*</\w+>)")
_BREAK = re.compile(r"<(?:p|br|para)\s*/?>|</(?:p|para)>", re.I)
_MARKUP = re.compile(r"</?(?:code|c|b|i|em|strong|tt|pre|a|p|li|ul|ol|see\w*|para\w*)(?:\s[^<>]*)?/?>", re.I)
_LINK = re.compile(r"\[([^\[\]]+)\](?:\([^()]*\)|\[[^\[\]]*\])?")
_AUDIENCE = re.compile(r"^(?:Public|Internal|Private|Deprecated|Note|NOTE|Summary)\s*:\s*")
_ASIDE = re.compile(
    r"copyright|licen[sc]ed?\b|all rights reserved|\bTODO\b|\bFIXME\b|\bXXX\b|\bHACK\b|https?:|eslint|jshint|prettier|"
    r"istanbul|ts-(?:ignore|expect|nocheck)|nolint|clang-|rubocop|phpcs|phpstan|psalm|resharper|pragma|noinspection|"
    r"inheritdoc|nodoc|call-seq|auto-?generated|do not edit|fall(?:s|ing)?[ -]?through|see also|deprecated|"
    r"\bI\b|\bI'm\b|\bsorry\b|\bhmm+\b|\bend (?:of|if|for|while)\b|region\b|@author|SPDX",
    re.I,
)
_CODE = re.compile(r"[=(){}\[\]<>;\\|]|->|::|\w\.\w+\.\w|^\W|[,:]$")
_LINKING = re.compile(r"^(?:-+|:|is|are|method|function)\s+")
_LETTERS = re.compile(r"[A-Za-z]{2,}")


def text_of(rows: list[str]) -> str:
    """The text of a comment or docstring that has its rows for itself, one line a row, without its marks."""
    return "\n".join(_CLOSING.sub("", _OPENING.sub("", row)).rstrip() for row in rows)


def sentence_of(text: str) -> str:
    """The first sentence of a comment on one line, without markup; empty where the comment is no prose."""
    body = "\n".join("" if _RULE.match(line) else line for line in text.split("\n")).strip()
    plain = _ROLE.sub(lambda role: role[1] or role[2] or "", _END.split(body, maxsplit=1)[0])
    sentence = " ".join(plain.split()).rstrip(".:")
    return sentence if _is_prose(sentence) else ""


def documented(text: str, name: str) -> str:
    """The sentence that says what something is, out of its documentation comment; empty where none does.

    Args:
        text: what `text_of` gives.
        name: of what the comment stands above; a sentence that begins with it ("Parse returns …") loses it.
    """
    if _ASIDE.search(text[:400]):
        return ""
    summary = _SUMMARY.search(text)
    body = _BRIEF.sub("", summary[1] if summary else text).strip()
    body = _BREAK.sub("\n\n", _INLINE.sub(lambda m: m[1].split()[-1], _REFERENCE.sub(r"\1", body)))
    tag = _TAG.search(body)
    body = _LINK.sub(r"\1", _MARKUP.sub("", body[: tag.start()] if tag else body))
    sentence = _AUDIENCE.sub("", sentence_of(body))
    first, _, rest = sentence.partition(" ")
    if first.strip("`'\"()") != name:
        return sentence
    rest = _LINKING.sub("", rest)
    verb = rest.partition(" ")[0]
    return rest if rest != sentence.partition(" ")[2] or base_verb(verb) else sentence


def _is_prose(sentence: str) -> bool:
    words = sentence.split()
    plain = sum(bool(_LETTERS.search(word)) for word in words)
    return (
        4 <= len(words) <= 36
        and plain >= 4
        and plain >= 0.75 * len(words)
        and sentence.isascii()
        and not _ASIDE.search(sentence)
    )


def is_code(sentence: str) -> bool:
    """Whether a sentence looks like code that was commented out, or like a part of one."""
    return _CODE.search(sentence) is not None
