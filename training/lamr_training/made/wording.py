"""Puts text into other words: verbs and their forms, synonyms, dropped words, split identifiers.

A query that repeats a file verbatim teaches a model to compare strings; these tables and functions make the same need
sound as somebody who hasn't read the code would say it. Of a comment or docstring they tell the text without marks, the
sentence that sums it up, and what isn't prose; they know the forms of documentation that tools read (Javadoc, XML,
rustdoc, YARD, Sphinx and so on) and no grammar.
"""

from __future__ import annotations

import random
import re

from lamr_contract.words import split_words

_VERBS = """
    accept acquire activate add adjust allocate allow append apply assert assign attach authenticate bind block build
    cache calculate call cancel capture cast change check choose clean clear clone close collect combine compare
    compile complete compute concatenate configure confirm connect construct consume convert copy count create decode
    decorate define delete deserialize detach detect determine disable disconnect discover dispatch display download
    drop dump emit enable encode encrypt enforce ensure enter enumerate escape evaluate execute exit expand export
    extend extract fetch fill filter finalize find finish fire fit flatten flush force format forward generate get
    give go group guess handle hash hide identify ignore import include index infer inherit initialize inject insert
    inspect install instantiate interpret invalidate invoke issue iterate join keep limit link list listen load locate
    lock log look lookup make manage map mark match merge migrate modify monitor move negotiate normalize notify
    obtain open override pack pad parse pass patch perform pick plot poll pop populate prepare prevent print process
    produce propagate provide publish push put query quote raise read receive reconnect record reduce refresh register
    reject release reload remove rename render reorder replace report represent request require reset resize resolve
    respond restart restore retrieve retry return reverse rewrite roll rotate run save scale scan schedule search
    select send separate serialize serve set setup shift show shuffle shut shutdown skip sort specify split start stop
    store stream strip submit subscribe substitute support switch sync take terminate test throw track transform
    translate traverse trigger trim truncate try unpack unregister update upgrade upload use validate verify visit
    wait walk warn wrap write yield
    """
VERBS = frozenset(_VERBS.split())

# Words that developers use for one another. A word of a row may stand for any other of that row.
_ROWS = """
get fetch retrieve obtain return
create build make construct generate
remove delete drop discard
check verify validate ensure
find locate search lookup
parse interpret read decode
convert transform translate turn
send dispatch deliver transmit
start begin launch initiate
stop terminate halt end shut
set assign configure update
handle process treat deal
call invoke trigger execute run
compute calculate determine derive
raise throw signal
merge combine join
split divide separate break
store save persist keep
load read import
write output emit dump
register add install attach
open connect establish
close disconnect release
format render print display
list enumerate iterate
wrap decorate
error exception failure problem
argument parameter option
function method routine
config configuration settings options
directory folder dir
path location filename
callback handler hook
string text str
dict mapping dictionary
value result output
type kind class
message msg text
request call query
response reply answer
timeout deadline limit
url address link
default fallback
invalid wrong bad malformed
missing absent undefined
allowed permitted accepted
empty blank
async asynchronous
buffer cache
param parameter
env environment
db database
conn connection
ctx context
auth authentication credentials
user account
host server
child nested
parent enclosing
current active
previous last earlier
maximum largest most
minimum smallest least
"""
SYNONYMS: dict[str, tuple[str, ...]] = {}
for _row in _ROWS.strip().splitlines():
    for _word in _row.split():
        SYNONYMS[_word] = SYNONYMS.get(_word, ()) + tuple(w for w in _row.split() if w != _word)

_FILLER = "the a an of to in for and or with by on from this that is be as it given"
_FILLERS = frozenset(_FILLER.split())
_IRREGULAR_ROWS = """
build built, find found, get fetched, send sent, set set, make made, read read, write written, run run, take taken,
keep kept, put put, choose chosen, give given, go reached, split split, throw thrown, bind bound, shut shut,
hide hidden, fit fitted
"""
_IRREGULAR = dict(pair.split() for pair in _IRREGULAR_ROWS.split(","))
_TOKEN = re.compile(r"`[^`]*`|[\w.]+(?:['\u2019-]\w[\w.]*)*|[^\w\s]")
_DOUBLING = "get set put run stop drop plot log map submit trim wrap skip split shut strip emit fit pop"
_DOUBLED = frozenset(_DOUBLING.split())


def third(verb: str) -> str:
    """The third person of a verb: `parse` → `parses`."""
    if verb.endswith(("s", "x", "ch", "sh", "z")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def gerund(verb: str) -> str:
    """The gerund of a verb: `parse` → `parsing`."""
    if verb in _DOUBLED:
        return verb + verb[-1] + "ing"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + "ing"


def participle(verb: str) -> str:
    """The participle of a verb, also of the few irregular ones that code uses: `parse` → `parsed`."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _DOUBLED:
        return verb + verb[-1] + "ed"
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + "ed"


def base_verb(word: str) -> str | None:
    """The verb that a docstring or name begins with, from its base or third-person form."""
    word = word.lower()
    for candidate in (word, word[:-1], word[:-2], word[:-3] + "y", word[:-2] + "e"):
        if candidate in VERBS and word in (candidate, third(candidate)):
            return candidate
    return None


def synonym(word: str, rng: random.Random) -> str:
    """Another word for this one, or the word itself."""
    options = SYNONYMS.get(word.lower())
    return rng.choice(options) if options else word


def reworded(text: str, rng: random.Random, strength: float) -> str:
    """The same sentence with words dropped or replaced, each with a chance that grows with `strength` in [0, 1].

    Names in backticks stay, or are split into words.
    """
    out = []
    for token in _TOKEN.findall(text):
        chance = rng.random()
        if token.startswith("`"):
            out.append(token if chance > 0.3 * strength else " ".join(split_words(token)))
        elif token.lower() in _FILLERS:
            if chance > 0.3 * strength:
                out.append(token)
        elif chance < 0.45 * strength:
            out.append(synonym(token, rng))
        elif chance > 1 - 0.12 * strength and len(out) > 3:
            continue
        else:
            out.append(token)
    return re.sub(r"\s+([,.;:?!)])", r"\1", " ".join(out)).replace("( ", "(")


def cased(text: str, rng: random.Random) -> str:
    """The text as people type it: now and then in lower case, or without its final mark."""
    roll = rng.random()
    if roll < 0.2:
        return text.lower().rstrip("?.")
    return text if roll < 0.4 or not text else text[0].upper() + text[1:]


def shown(name: str, rng: random.Random, code_chance: float = 0.6) -> str:
    """A name as a person mentions it: in backticks, bare, called, or as words."""
    roll = rng.random()
    if roll < code_chance * 0.6:
        return f"`{name}`"
    if roll < code_chance * 0.85:
        return name
    if roll < code_chance:
        return f"`{name}()`" if name[:1].islower() else name
    return " ".join(split_words(name)) or name


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
