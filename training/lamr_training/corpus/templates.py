"""Templates of made questions that read like the questions that people ask about a code base.

Each function fills one template of a family, chosen by chance. Names appear in backticks, bare, or as words. The
templates ask how, why, where, what role, what happens, and often two things at once, as real questions do. This module
knows wording and entities; it knows no gold lines.
"""

from __future__ import annotations

import ast
import random

from lamr_training.corpus.phrases import Named, Phrase, doc_phrase, name_phrase, parameters, subject
from lamr_training.corpus.wording import reworded, shown, synonym
from lamr_training.syntax import Entity, called_names, words

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
_ERRORS = (
    "{raised}: {message}",
    'Why do I get "{message}"?',
    "What makes the code fail with {message}",
    "When is {raised} raised with '{message}'?",
    "I'm seeing {raised}: {message}. Where does it come from?",
    'Issue: calling {name} fails with "{message}", but I expected it to work',
    "Under what circumstances does {name} raise {raised}?",
    "{message}",
    "Which check leads to the {raised} that says {message}?",
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


def about_one(entity: Named, phrase: Phrase, module: str, rng: random.Random) -> str:
    """A question on one entity."""
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
        tail=_tail(entity, rng),
    )


def about_several(entities: list[Entity], module: str, rng: random.Random) -> str:
    """A question on two or three entities that belong together."""
    first, second = entities[0], entities[1]
    one, two = (_any_phrase(e, rng) for e in (first, second))
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
        third = entities[2]
        mention = _named(third, rng) if rng.random() < 0.6 else _any_phrase(third, rng).gerund
        text = text.rstrip("?.") + rng.choice(
            [f", and how is {mention} involved?", f", including {mention}?", f" (see also {mention})"]
        )
    return text


def about_call(caller: Named, callee: Named, rng: random.Random) -> str:
    """A question on how one entity uses the other."""
    return rng.choice(_CALLS).format(a=_named(caller, rng), b=_named(callee, rng))


def about_error(raised: str, message: str, entity: Entity, rng: random.Random) -> str:
    """A question with an error message, as in an issue."""
    return rng.choice(_ERRORS).format(
        raised=raised or "an error", message=message.rstrip("."), name=_named(entity, rng)
    )


def about_comment(text: str, rng: random.Random) -> str:
    """A comment's text, bare or in a question."""
    return text if rng.random() < 0.5 else rng.choice(_COMMENTS).format(text=text)


def about_setting(name: str, owner: str, rng: random.Random) -> str:
    """A question on what a constant or class attribute is for."""
    where = f" in {shown(owner, rng)}" if owner else ""
    return rng.choice(_SETTINGS).format(name=shown(name, rng), owner=where, plain=" ".join(words(name)))


def about_block(entity: Entity, node: ast.AST, rng: random.Random) -> str:
    """A question on what a function does in one branch; "" if the branch's condition has no words."""
    condition = _condition(node, rng)
    if not condition:
        return ""
    return rng.choice(_BLOCKS).format(
        name=_named(entity, rng),
        subject=subject(entity, rng, ""),
        condition=condition,
        gerund=_any_phrase(entity, rng).gerund,
    )


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


def _any_phrase(entity: Entity, rng: random.Random) -> Phrase:
    choices = (doc_phrase, name_phrase) if rng.random() < 0.6 else (name_phrase, doc_phrase)
    for make in choices:
        phrase = make(entity, rng, 0.8)
        if phrase and phrase.verb and len(phrase.rest.split()) <= 14:
            return phrase
    return Phrase("use", shown(entity.name, rng))


def _tail(entity: Named, rng: random.Random) -> str:
    """A second part of the question that the same lines answer, or nothing."""
    if rng.random() < 0.55:
        return ""
    if not isinstance(entity, Entity):  # its tree has other nodes than Python's
        return ""
    node = entity.node
    options = [f" based on the `{p}` {synonym('parameter', rng)}" for p in parameters(entity)[:3]]
    options += [f" given {' '.join(words(p))}" for p in parameters(entity)[:2]]
    options += [f" with the help of {shown(n, rng)}" for n in list(called_names(node))[:4] if len(n) > 4]
    raised = [c.exc for c in ast.walk(node) if isinstance(c, ast.Raise) and isinstance(c.exc, ast.Call)]
    options += [f", and when does it raise {ast.unparse(c.func)}" for c in raised[:2]]
    conditions = [_condition(c, rng) for c in ast.walk(node) if isinstance(c, ast.If)]
    options += [f" when {c}" for c in conditions[:3] if c]
    options += [f", and how does it treat {c}" for c in conditions[:2] if c]
    return rng.choice(options) if options else ""


def _condition(node: ast.AST, rng: random.Random) -> str:
    """Words for what a compound statement tests, loops over or opens."""
    if isinstance(node, ast.Try):
        kinds = [ast.unparse(h.type) for h in node.handlers if h.type]
        return f"a {kinds[0].rsplit('.', 1)[-1]}" if kinds else ""
    if isinstance(node, (ast.For, ast.While, ast.If)):
        source: ast.AST = node.iter if isinstance(node, ast.For) else node.test
    elif isinstance(node, ast.With):
        source = node.items[0].context_expr
    else:
        return ""
    names = [
        n.attr if isinstance(n, ast.Attribute) else n.id
        for n in ast.walk(source)
        if isinstance(n, (ast.Attribute, ast.Name))
    ]
    names += [
        n.value
        for n in ast.walk(source)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.isidentifier()
    ]
    names = [
        n
        for n in dict.fromkeys(names)
        if n not in ("self", "cls", "isinstance", "len", "None") and len(n) > 2
    ][:3]
    if not names:
        return ""
    text = " and ".join(" ".join(words(n)) if rng.random() < 0.6 else f"`{n}`" for n in names[::-1][:2])
    if isinstance(node, ast.If):
        negative = any(isinstance(n, ast.Not) for n in ast.walk(source)) or " is None" in ast.unparse(source)
        text += (
            rng.choice([" missing", " not set", " false"]) if negative else rng.choice(["", " set", " given"])
        )
    return reworded(text, rng, 0.3)
