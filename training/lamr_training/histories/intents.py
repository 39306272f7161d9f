"""What an agent says before it reads a file, from a commit's subject: "Let me check the code behind the crash."

Sentences are put together from tables; the subject's verb chooses the table.
"""

from __future__ import annotations

import random
import re
from pathlib import PurePosixPath

from lamr_contract.words import split_words

# First words of subjects, by what was done.
_FIX_WORDS = "fix fixes fixed fixing correct corrects corrected resolve resolves resolved repair solve solved"
_ADD_WORDS = "add implement introduce support allow enable provide expose create"
_DO_WORDS = """
    make use remove change improve move replace handle avoid prevent update return simplify refactor drop ensure
    check set switch optimize deprecate pass skip ignore throw raise convert extend reduce disable keep stop limit
    validate parse cache close call detect emit split merge wait retry reset respect treat accept reject log print
    """
_FIX, _ADD, _DO = (frozenset(text.split()) for text in (_FIX_WORDS, _ADD_WORDS, _DO_WORDS))
_OTHER_FORMS = {
    "made": "make",
    "makes": "make",
    "sets": "set",
    "throws": "throw",
    "kept": "keep",
    "making": "make",
}
_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("es", ""),
    ("es", "e"),
    ("s", ""),
    ("ed", ""),
    ("ed", "e"),
    ("ing", ""),
)

_ABOUT_FAULT = (
    "I'll find where {rest} comes from.",
    "Let me look for the cause of {rest} in {file}.",
    "Let me check the code behind {rest}.",
    "Now I need to see why there is {rest}.",
    "I need to fix {rest}. Let me read the relevant part of {file}.",
    "Let me look at how {area} works, to fix {rest}.",
    "The task is about {rest}; I'll look at {file} next.",
)
_ABOUT_ADDITION = (
    "Let me see where {rest} should go.",
    "I'll look at {file} to {verb} {rest}.",
    "Now I need to {verb} {rest}; let me find the right place in {file}.",
    "Let me look at how {area} works before I {verb} {rest}.",
    "I want to {verb} {rest}. First I'll check how {area} does it now.",
)
_ABOUT_CHANGE = (
    "I need to {verb} {rest}; let me look at {file}.",
    "Let me look at how {area} handles this now, so that I can {verb} {rest}.",
    "Now let me find the code to {verb} {rest}.",
    "Next: {verb} {rest}. I'll read {file}.",
    "To {verb} {rest} I have to understand the relevant code in {file} first.",
    "Let me see what has to change to {verb} {rest}.",
)
_ABOUT_ANYTHING = (
    "Let me look into this: {whole}.",
    "I'll look at the part of {file} that has to do with this: {whole}.",
    "{whole}: let me find where that happens.",
    "Let me check {file} for this. {whole}.",
    "Looking at {file} now, because of: {whole}.",
)
_WITH_FUNCTION = (
    "Let me look at {function} and what it does about {rest}.",
    "I'll check {function} in {file}, which seems related to {rest}.",
)
_NAME = re.compile(
    r"(?:def|func|fn|function|class|sub|void|struct|impl|interface)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w{3,})"
)


def intent(subject: str, path: str, headers: list[str], rng: random.Random) -> str:
    """A sentence or two.

    Args:
        subject: a cleaned subject line.
        path: of the file that is about to be read.
        headers: texts of the lines that say where in the file the change stands.
    """
    first, _, rest = subject.partition(" ")
    verb = first.lower()
    place = PurePosixPath(path)
    parts = {
        "file": rng.choice(
            [place.name, str(place), f"`{place.name}`", "the file", f"the {place.stem} module"]
        ),
        "area": _area(place, rng),
        "whole": subject,
        "rest": _lower(rest),
        "verb": _plain(verb),
        "function": next((f"`{name}`" for text in headers[::-1] for name in _NAME.findall(text)), ""),
    }
    table: tuple[str, ...]
    if len(rest.split()) < 2:
        table = _ABOUT_ANYTHING
    elif verb in _FIX:
        table = _ABOUT_FAULT
    elif parts["verb"] in _ADD:
        table = _ABOUT_ADDITION
    elif parts["verb"] in _DO:
        table = _ABOUT_CHANGE
    else:
        table, parts["rest"] = _ABOUT_ANYTHING, _lower(subject)
    if parts["function"] and parts["rest"] and rng.random() < 0.12:
        table = _WITH_FUNCTION
    return rng.choice(table).format(**parts)


def _plain(verb: str) -> str:
    """A verb as it stands after "to": `added` gives add; any other word stays."""
    forms = [verb.removesuffix(end) + new for end, new in _ENDINGS if verb.endswith(end)]
    known = (form for form in (verb, *forms) if form in _ADD or form in _DO)
    return _OTHER_FORMS.get(verb) or next(known, verb)


def _area(place: PurePosixPath, rng: random.Random) -> str:
    stem = " ".join(split_words(place.stem)) or place.stem
    folder = " ".join(split_words(place.parent.name))
    return rng.choice(
        [f"the {stem} code", f"the {folder} code" if folder else stem, f"{place.stem}", f"the {stem} part"]
    )


def _lower(text: str) -> str:
    """Begin with a small letter, unless the first word is a name or an abbreviation."""
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first[1:].islower() else text
