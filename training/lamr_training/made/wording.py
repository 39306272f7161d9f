"""Puts text into other words: verbs and their forms, synonyms, dropped words, split identifiers.

A query that repeats a file verbatim teaches a model to compare strings; these tables and functions make the same need
sound as somebody who hasn't read the code would say it.
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
