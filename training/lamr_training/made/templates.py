"""Templates of made questions that read like the questions that people ask about a code base.

Each function fills one template of a family, chosen by chance. Names appear in backticks, bare, or as words. The
templates ask how, why, where, what role, what happens, and often two things at once, as real questions do.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from lamr_contract.words import split_words

from lamr_training.made.phrases import Named, Phrase, subject
from lamr_training.made.wording import reworded, shown

_HOW = (
    "How does {subject} {base}?",
    "How does {subject} go about {gerund}{tail}?",
    "How is {passive}{tail}?",
    "How are {passive} handled in {subject}?",
    "What does {subject} do to {base}?",
    "In what way does {subject} {base}{tail}?",
    "What is the mechanism for {gerund} in {subject}?",
    "How does {subject} manage {noun}{tail}?",
    "Explain how {subject} {third}.",
    "I need to understand {noun}{tail}",
)
_WHERE = (
    "Where is {passive}?",
    "Where does {subject} {base}?",
    "Where in the code do we {base}{tail}?",
    "Which function {third}?",
    "Which part of {subject} is responsible for {gerund}?",
    "Which method should I change to {base}?",
    "find the code {gerund}",
    "What code {third}{tail}?",
    "Where is the logic for {gerund} implemented?",
    "Where would I look if {passive} goes wrong{tail}?",
)
_WHY = (
    "Why does {subject} {base}{tail}?",
    "Why is {passive}{tail}?",
    "What is the reason for {gerund} in {subject}?",
    "Why do we need {name}{tail}?",
    "When is {passive}, and why?",
    "What happens when {subject} {third}?",
    "Under which conditions does {subject} {base}?",
)
_ROLE = (
    "What is the role of {name}{tail}?",
    "What does {name} do{tail}?",
    "How does {name} {base}?",
    "What is the purpose of {name} in {subject}, and how does it {base}?",
    "How does {name} work{tail}?",
    "What is {name} responsible for{tail}?",
    "How does {name} determine its result{tail}?",
    "What happens inside {name}{tail}?",
)
_NOUN = (
    "What is {rest}?",
    "Where is {rest} defined?",
    "How does {subject} represent {rest}?",
    "What is the role of {rest} in {subject}{tail}?",
    "How does {name} implement {rest}?",
    "{rest}{tail}",
    "What does the {rest} look like and how is it used{tail}?",
    "How is {rest} implemented in {subject}?",
)
_PAIRS = (
    "How do {a} and {b} work together to {base}?",
    "How does {a} rely on {b} when {gerund}?",
    "What is the relationship between {a} and {b}?",
    "How does {subject} {base}, and what part does {b} play?",
    "How does {subject} {base} and {base2}?",
    "What happens between {gerund} and {gerund2}?",
    "Why does {a} go through {b} instead of doing it itself?",
    "How are {gerund} and {gerund2} coordinated in {subject}?",
    "What is the role of {a} in {subject}, and how does it interact with {b}?",
    "Where does {subject} {base}, and where does it {base2}?",
    "What is the difference between {a} and {b}?",
    "How does {a} differ from {b} when {gerund}?",
    "How does {subject} {base} before {gerund2}?",
    "Trace the flow from {a} to {b}",
    "{noun} and {noun2}",
)
_CALLS = (
    "How does {a} use {b}?",
    "Why does {a} call {b}, and what does it do with the result?",
    "Where does {a} call {b}?",
    "What does {a} need {b} for?",
    "How is {b} used by {a}?",
    "What role does {b} play in {a}?",
    "How does the result of {b} affect {a}?",
    "How does {a} depend on {b}?",
    "{a} and {b}",
)
_COMMENTS = (
    "{text}",
    "Where do we handle this: {text}",
    "Why: {text}?",
    "the code that deals with: {text}",
    "How is it done: {text}?",
)
_SETTINGS = (
    "What is the default of {name} and where is it used?",
    "Where is {name} defined?",
    "How does {name} influence the behaviour{owner}?",
    "What is {name}{owner} for?",
    "Which code depends on {name}?",
    "Where do I change the {plain}?",
    "What values does {name}{owner} hold?",
)
_BLOCKS = (
    "What does {name} do when {condition}?",
    "How does {name} handle {condition}?",
    "In {name}, what happens with {condition}?",
    "How does {subject} treat {condition} while {gerund}?",
    "Where does {name} deal with {condition}?",
    "Why does {name} care about {condition}?",
)  # fmt: skip

_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_IF = re.compile(r"\W*(?:if|unless|elif)\b")
_NEGATIVE = re.compile(
    r"!(?!=)|(?<!\bis )\bnot\b|(?:==|\bis)\s*(?:None|null|nil|NULL|nullptr|undefined)\b|\bunless\b"
)
_NO_NAME_WORDS = """
    if elif unless for foreach each while until with try catch except switch match case when do else using lock
    synchronized let var const auto final self cls this isinstance len not and or in is of as None null nil NULL nullptr
    undefined true false True False size_t int long unsigned string String bool boolean range enumerate items async
    await return unsafe loop Some None Ok Err ref mut defer select default static instanceof typeof
    """
_NO_NAMES = frozenset(_NO_NAME_WORDS.split())


def about_one(entity: Named, phrase: Phrase, module: str, tail: str, rng: random.Random) -> str:
    """A question on one entity; `tail` is what `tail` gives."""
    family = rng.choices((_HOW, _WHERE, _WHY, _ROLE), (0.4, 0.25, 0.15, 0.2))[0]
    templates = _NOUN if phrase.verb is None else family
    return rng.choice(templates).format(
        subject=subject(entity, rng, module),
        base=phrase.base,
        third=phrase.third,
        gerund=phrase.gerund,
        noun=phrase.noun,
        passive=phrase.passive(rng),
        rest=phrase.rest,
        name=_named(entity, rng),
        tail=tail,
    )


def about_several(
    entities: Sequence[Named], phrases: Sequence[Phrase], module: str, rng: random.Random
) -> str:
    """A question on two or three entities that belong together, each with a phrase that has a verb."""
    first, second = entities[0], entities[1]
    one, two = phrases[0], phrases[1]
    text = rng.choice(_PAIRS).format(
        a=_named(first, rng),
        b=_named(second, rng),
        subject=subject(first, rng, module),
        base=one.base,
        gerund=one.gerund,
        noun=one.noun,
        base2=two.base,
        gerund2=two.gerund,
        noun2=two.noun,
    )
    if len(entities) > 2:
        mention = _named(entities[2], rng) if rng.random() < 0.6 else phrases[2].gerund
        text = text.rstrip("?.") + rng.choice(
            [f", and how is {mention} involved?", f", including {mention}?", f" (see also {mention})"]
        )
    return text


def about_call(caller: Named, callee: Named, rng: random.Random) -> str:
    """A question on how one entity uses the other."""
    return rng.choice(_CALLS).format(a=_named(caller, rng), b=_named(callee, rng))


def about_comment(text: str, rng: random.Random) -> str:
    """A comment's text, bare or in a question."""
    return text if rng.random() < 0.5 else rng.choice(_COMMENTS).format(text=text)


def about_setting(name: str, owner: str, rng: random.Random) -> str:
    """A question on what a constant is for."""
    where = f" in {shown(owner, rng)}" if owner else ""
    plain = " ".join(split_words(name))
    return rng.choice(_SETTINGS).format(name=shown(name, rng), owner=where, plain=plain)


def about_block(entity: Named, phrase: Phrase, header: str, rng: random.Random) -> str:
    """A question on what a function does in one branch; empty if the branch's header has no words."""
    said = _condition(header, rng)
    return said and rng.choice(_BLOCKS).format(
        name=_named(entity, rng), subject=subject(entity, rng, ""), condition=said, gerund=phrase.gerund
    )


def tail(called: Sequence[str], headers: Sequence[str], rng: random.Random) -> str:
    """A second part of a question on a function that the same lines answer, or nothing.

    Args:
        called: names of functions that it calls.
        headers: what its compound statements begin with.
        rng: of the choice.
    """
    if rng.random() < 0.55:
        return ""
    conditions = [said for header in headers[:3] if (said := _condition(header, rng))]
    options = [f" with the help of {shown(name, rng)}" for name in called[:4]]
    options += [f" when {said}" for said in conditions]
    options += [f", and how does it treat {said}" for said in conditions[:2]]
    return rng.choice(options) if options else ""


def _named(entity: Named, rng: random.Random) -> str:
    name = entity.name
    if entity.owner and rng.random() < 0.35:
        return (
            f"`{entity.owner}.{name}`"
            if rng.random() < 0.6
            else f"{shown(name, rng)} of {shown(entity.owner, rng)}"
        )
    text = shown(name, rng)
    if rng.random() < 0.3:
        noun = {"class": "class", "method": "method"}.get(entity.kind, "function")
        return f"the {text} {noun}"
    return text


def _condition(header: str, rng: random.Random) -> str:
    """Words for what a compound statement tests, loops over or opens."""
    names = [n for n in dict.fromkeys(_NAME.findall(header)) if n not in _NO_NAMES][:3]
    if not names:
        return ""
    text = " and ".join(" ".join(split_words(n)) if rng.random() < 0.6 else f"`{n}`" for n in names[::-1][:2])
    if _IF.match(header):
        ends = (" missing", " not set", " false") if _NEGATIVE.search(header) else ("", " set", " given")
        text += rng.choice(ends)
    return reworded(text, rng, 0.3)
