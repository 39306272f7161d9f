"""Says how a person would speak of a function or class: in a verb phrase or a noun phrase, and with which subject.

Phrases come from the first sentence of the documentation or from the words of the name.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Protocol

from lamr_contract.words import split_words

from lamr_training.made.wording import base_verb, gerund, participle, reworded, shown, third


class Named(Protocol):
    """A function, method or class of any language, as people speak of it."""

    @property
    def name(self) -> str:
        """Its own name."""

    @property
    def owner(self) -> str:
        """The name of the class around it, or empty."""

    @property
    def kind(self) -> str:
        """Which of "function", "method" and "class" it is."""


@dataclass(frozen=True)
class Phrase:
    """What an entity does or is.

    Attributes:
        verb: in its base form; None for a noun phrase.
        rest: the verb's object, or the noun phrase.
    """

    verb: str | None
    rest: str

    @property
    def base(self) -> str:
        """`parse the header`."""
        return f"{self.verb} {self.rest}".strip()

    @property
    def third(self) -> str:
        """`parses the header`."""
        return f"{third(self.verb)} {self.rest}".strip() if self.verb else self.rest

    @property
    def gerund(self) -> str:
        """`parsing the header`."""
        return f"{gerund(self.verb)} {self.rest}".strip() if self.verb else self.rest

    @property
    def noun(self) -> str:
        """`the header parsing` or `the parsing of the header`, roughly."""
        return (
            f"the {gerund(self.verb)} of {self.rest}" if self.verb and self.rest else self.rest or self.base
        )

    def passive(self, rng: random.Random) -> str:
        """`the header parsed`, for "where is …": object first, then the participle."""
        if not self.verb or not self.rest:
            return self.rest or self.base
        head, *tail = re.split(
            r"\s+(?=(?:from|to|for|with|in|into|on|by|using|if|when|as|that)\b)", self.rest, maxsplit=1
        )
        return " ".join([head, participle(self.verb), *(tail if rng.random() < 0.8 else [])])


def sentence_phrase(text: str, rng: random.Random, strength: float) -> Phrase | None:
    """The phrase of a sentence that says what something does or is."""
    count = len(text.split())
    if not 4 <= count <= 32 or ">>>" in text or not text.isascii():
        return None
    if count > 14 and rng.random() < 0.6:
        text = re.split(r"[,;(]| so that | which | because ", text)[0].strip() or text
    first, _, rest = text.partition(" ")
    verb = base_verb(first)
    body = reworded(rest if verb else text[:1].lower() + text[1:], rng, strength)
    return Phrase(verb, body) if len(body.split()) >= 2 else None


def name_phrase(entity: Named, rng: random.Random, strength: float) -> Phrase | None:
    """The phrase of a name's words; None for names of one word and names of Python's own protocols."""
    parts = split_words(entity.name)
    if len(parts) < 2 or entity.name.startswith("__"):
        return None
    if parts[0] in ("is", "has", "can", "should"):
        return Phrase("check", "whether " + reworded(" ".join(parts), rng, strength))
    if parts[0] in ("on", "handle", "visit"):
        return Phrase("handle", "the " + reworded(" ".join(parts[1:]), rng, strength))
    if parts[0] in ("test",):
        return Phrase("test", reworded(" ".join(parts[1:]), rng, strength))
    verb = base_verb(parts[0])
    body = parts[1:] if verb else parts
    text = reworded(" ".join(body), rng, strength)
    article = "the " if rng.random() < 0.7 and len(body) < 4 else ""
    return Phrase(verb, article + text)


def subject(entity: Named, rng: random.Random, module: str) -> str:
    """A mention of who acts: the class, the module, or nobody in particular."""
    roll = rng.random()
    if entity.owner and roll < 0.6:
        name = shown(entity.owner, rng)
        return f"the {name} class" if roll < 0.2 else name
    if roll < 0.75:
        return f"the {' '.join(split_words(module))} module" if split_words(module) else "the code"
    return rng.choice(["it", "the code", "this module", "the library", "the implementation"])
