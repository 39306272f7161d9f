"""Texts that differ from a text in little, and whether two of them become one for an agent that has read the text."""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from lamr_agents.intent import Intent
from lamr_agents.policy import PROFILES
from lamr_agents.sessions import Read
from lamr_agents.skim import asked_for, skim

from benchmarks.world.checks import Violation

_MOST_CHARACTERS = 60_000
"""Of a text that is tried, since a dozen texts are made of it."""
_PLACES = {
    "a digit": re.compile(r"\d"),
    "a word": re.compile(r"\w+"),
    "a line": re.compile(r"^[^\n]+\n", re.MULTILINE),
    "a run": re.compile(r"^([^\n]*\n)\1+", re.MULTILINE),
}


def mutants(text: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Texts that aren't this one, each with what was done to it."""
    for name, places in _PLACES.items():
        found = [match.span() for match in places.finditer(text)]
        for first, last in {found[0], chance.choice(found), found[-1]} if found else ():
            before, this, after = text[:first], text[first:last], text[last:]
            line = f"line {before.count(chr(10)) + 1}"
            if name != "a run" and "\r" in after.partition("\n")[0].rstrip("\r"):
                continue  # a terminal writes over it
            if name == "a digit":
                yield f"another digit, {line}", f"{before}{(int(this) + 1) % 10}{after}"
            elif name == "a word":
                yield f"a word red, {line}", f"{before}\x1b[31m{this}\x1b[0m{after}"
                yield f"a word green, {line}", f"{before}\x1b[32m{this}\x1b[0m{after}"
                yield f"a carriage return after a word, {line}", f"{before}{this}\r{after}"
            elif name == "a line":
                bare = this.rstrip("\r\n")
                yield f"a space after a line, {line}", f"{before}{bare} {this[len(bare) :]}{after}"
                yield f"a line once more, {line}", f"{before}{this}{this}{after}"
                for end in "xy" if bare else "":  # of which a terminal leaves the end
                    yield f"a shorter overwrite, {line}", f"{before}{bare}{end}\r#{this[len(bare) :]}{after}"
            else:
                once = this[: this.index("\n") + 1]
                yield f"a repeated line once less, {line}", f"{before}{this[len(once) :]}{after}"
    yield "spaces after lines gone", re.sub(r"[ \t]+(?=\r?\n)", "", text)
    yield "the other line end", text.replace("\r\n", "\n") if "\r\n" in text else text.replace("\n", "\r\n")
    yield "no last line end", text.rstrip("\n")


def lossless(text: str, known: Mapping[int, str]) -> str:
    """What the profile `lossless` shows of a file to an agent whose context holds these lines of it."""
    nothing = Intent("", "", "nothing")
    asked = asked_for(text, Read("a.txt"), intent=nothing)
    return skim(None, asked, nothing, PROFILES["lossless"], known=known).text  # type: ignore[arg-type]  # prunes nothing


def alike(text: str, chance: random.Random) -> Iterator[Violation]:
    """The mutants of which an agent that has read the text sees what it sees of the text or of another mutant."""
    text = text[:_MOST_CHARACTERS].rpartition("\n")[0] + "\n"
    texts = {text: "the text itself"}
    for name, mutant in mutants(text, chance):
        texts.setdefault(mutant, name)
    known = dict(enumerate(text.removesuffix("\n").split("\n"), 1))
    by_shown: dict[str, list[str]] = defaultdict(list)
    for each, name in texts.items():
        by_shown[lossless(each, known)].append(name)
    for first, *others in by_shown.values():
        for other in others:
            kind = other.split(",")[0]
            yield Violation(7, "lossless", f"two texts become one: {kind}", detail=f"{other}, and {first}")
