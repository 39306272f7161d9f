"""Which language a text is in: its name tells, else its modeline, its shebang, or its content.

An ending that several languages share is settled by the content (`languages.contested`): by signs that only one of them
has, and in doubt by parsing, where the language wins of whose grammar less of the text is broken. A name may carry
another (`Dockerfile.dev`, `settings.yaml.example`, `nginx.conf.j2`); what is left of it then tells, and a template's
engine comes with the language (`languages.templates`)."""

import dataclasses
import re
from functools import lru_cache
from pathlib import PurePath

from lamr_base.expressions import expression

from lamr_postprocess.languages import LANGUAGES, Language, language_named
from lamr_postprocess.languages.contested import CONTESTED
from lamr_postprocess.languages.plain import SWITCHED_OFF
from lamr_postprocess.languages.table import Template
from lamr_postprocess.languages.templates import (
    CARRIED,
    GENERIC,
    MAY_BE_TEMPLATES,
    TEMPLATE_SUFFIXES,
    template_in,
)
from lamr_postprocess.lines import BOM
from lamr_postprocess.outputs import without_blocks
from lamr_postprocess.syntax import CostlySyntaxError, MissingGrammarError, broken_share, parse

_SAMPLE = 16_384
_LONG_SAMPLE = 65_536  # characters, where a licence and guards may stand before the first sign
_SHEBANGS = expression(r"((?:#!.*\n?)+)")  # of nix-shell, the second line names the interpreter
_ENOUGH = 2  # signs that must match for a guess from the content
_BEGINS = r"\A"  # a hint of how a text begins decides alone
_MODELINE = expression(
    r"-\*-[ \t]*(?:.*?\bmode:[ \t]*)?(?P<emacs>[\w+#-]+)[ \t]*(?:;.*)?-\*-"
    r"|\b(?:vi|vim|ex):.*?\b(?:ft|filetype|syntax)=(?P<vim>[\w+#-]+)",
    re.IGNORECASE,
)
_LINES_OF_MODELINES = 5
_LONGEST_MODELINE = 400
_SUFFIX = expression(r"[^.]\.[A-Za-z]\w*$")
_OFF = expression(SWITCHED_OFF, re.MULTILINE)
_LEAST_INDENTED = 0.2  # of the lines, where a text has blocks
_MOST_CARRIED = 4  # endings that are taken off a name


def detect_language(text: str, path: str | None = None) -> Language:
    """The language of a text; the one named `text` where nothing tells.

    Args:
        text: the file's content.
        path: its path or name, if known; no such file need exist."""
    text = text.removeprefix(BOM)
    name = PurePath(path.replace("\\", "/")).name if path else ""
    language, template = _by_name(text, name) if name else (None, None)
    if language is None:
        language = _by_modeline(text) or _by_shebang(text[:200])
    if language is None and template is None:
        language = _by_content(text[:_SAMPLE]) or language_named(_by_shape(text[:_SAMPLE], name))
    if template is None:
        template = (
            template_in(text[:_LONG_SAMPLE]) if language and language.name in MAY_BE_TEMPLATES else None
        )
    elif template.name in GENERIC:  # an ending that several engines share
        template = template_in(text[:_LONG_SAMPLE]) or template
    if template is None:
        return language or language_named("text")
    return _templated(language or language_named(template.becomes), template)


def _by_name(text: str, name: str) -> tuple[Language | None, Template | None]:
    """What a file's name says: a language, and the engine whose tags the file holds."""
    filenames, suffixes = _names()
    template = None
    for _ in range(_MOST_CARRIED):
        lower = name.lower()
        places = [place for place, char in enumerate(lower) if char == "."]
        if name in filenames:
            return filenames[name], template
        # The longest ending wins, so that `.d.ts` can differ from `.ts`.
        endings = [(place, lower[place:]) for place in places]
        engine = next((at for at, ending in endings if ending in TEMPLATE_SUFFIXES), None)
        ending = next((each for _, each in endings if each in suffixes or each in CONTESTED), None)
        if engine is not None and (ending is None or lower[engine:].endswith(ending)):
            template = template or TEMPLATE_SUFFIXES[lower[engine:]]
            name = name[:engine]
            continue
        if ending is not None:
            return _settled(ending, text, suffixes), template
        # A name may begin with a name that tells: `Dockerfile.dev`, `.env.production`.
        if first := next((name[:place] for place in reversed(places) if name[:place] in filenames), None):
            return filenames[first], template
        if not places or lower[places[-1] :].rstrip("~") not in CARRIED:
            break
        name = name[: places[-1]]
    return None, template


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, Language], dict[str, Language]]:
    """The languages by file name, and by suffix in lower case; the first of several languages with the same one.

    A name that is a suffix alone (`.dockerignore`) may end other names (`web.Dockerfile.dockerignore`)."""
    last_to_first = LANGUAGES[::-1]
    filenames = {name: language for language in last_to_first for name in language.filenames}
    suffixes = {name.lower(): language for name, language in filenames.items() if name.startswith(".")}
    suffixes |= {suffix.lower(): language for language in last_to_first for suffix in language.suffixes}
    return filenames, suffixes


def _settled(ending: str, text: str, suffixes: dict[str, Language]) -> Language:
    """The language of a text whose name has this ending."""
    contest = CONTESTED.get(ending)
    if contest is None:
        return suffixes[ending]
    if not text:
        return language_named(contest.default)
    told = _by_modeline(text) or _by_shebang(text[:200])
    return told if told and told.name in {contest.default, *contest.signs} else _winner(ending, text)


@lru_cache(maxsize=2)  # of one text, several ask
def _winner(ending: str, text: str) -> Language:
    """The language that most signs speak for; in doubt, the one of whose text less is broken.

    One sign alone leaves a doubt, and so do signs in parts that only another language may read."""
    contest, sample = CONTESTED[ending], text[:_LONG_SAMPLE]
    votes = contest.votes(sample)
    if max(votes.values(), default=0) >= _ENOUGH:
        return language_named(max(votes, key=lambda name: votes[name]))
    default = language_named(contest.unsigned(sample))
    doubts = votes or contest.votes(sample, guarded=True)
    rival = language_named(max(doubts, key=lambda name: doubts[name])) if doubts else default
    if not (rival.grammar and default.grammar):
        return rival if votes else default
    if rival is default:
        return default
    ours, theirs = _brokenness(text, default), _brokenness(text, rival)
    return rival if theirs < ours or (votes and theirs == ours) else default


def _brokenness(text: str, language: Language) -> float:
    """The share of a text that the language's grammar can't read; 1 where it takes too long."""
    try:
        return broken_share(parse(text, language))
    except (CostlySyntaxError, MissingGrammarError):
        return 1.0


@lru_cache(maxsize=256)
def _templated(language: Language, template: Template) -> Language:
    """A language with a template's tags in it, which no grammar reads; the braces of a tag aren't those of a block."""
    frames = language.frames and rf"(?!\{{[{{%#!]|<%|@\w)(?:{language.frames})"
    return dataclasses.replace(language, template=template, grammar="", frames=frames)


def _by_modeline(text: str) -> Language | None:
    """The language that an editor's modeline names, in the first or the last lines."""
    room = _LINES_OF_MODELINES * _LONGEST_MODELINE
    lines = [*text[:room].split("\n")[:_LINES_OF_MODELINES], *text[-room:].split("\n")[-_LINES_OF_MODELINES:]]
    for line in lines:
        found = _MODELINE.search(line) if len(line) <= _LONGEST_MODELINE else None
        if found:
            try:
                return language_named(found["emacs"] or found["vim"])
            except ValueError:
                continue
    return None


def _by_shebang(head: str) -> Language | None:
    """The language of the first interpreter that the first lines name; `env` and launchers may stand before it."""
    shebangs = _SHEBANGS.match(head)
    words = shebangs[1].replace("#!", " ").split() if shebangs else []
    names = [re.sub(r"[\d.]+$", "", word.rsplit("/", 1)[-1]) for word in words]
    return next((language for name in names for language in LANGUAGES if name in language.shebangs), None)


@lru_cache(maxsize=1)
def _hints() -> tuple[tuple[Language, tuple[re.Pattern[str], ...]], ...]:
    return tuple(
        (each, tuple(re.compile(h, re.MULTILINE) for h in each.hints)) for each in LANGUAGES if each.hints
    )


@lru_cache(maxsize=8)  # of one text, several ask
def _by_content(sample: str) -> Language | None:
    """The language that a text looks like, and still does without what a command's output shows of code."""
    best = _by_hints(sample)
    rest = sample if best is None else without_blocks(sample)
    return best if rest is sample else _by_hints(rest)


def _by_shape(sample: str, name: str) -> str:
    """`other` for a file with an ending that no language has with blocks or long comments, else `text`."""
    lines = [line for line in sample.split("\n") if line.strip()]
    indented = sum(line[0] in " \t" for line in lines)
    blocks = indented >= _LEAST_INDENTED * len(lines) > 0 or _OFF.search(sample)
    return "other" if blocks and _SUFFIX.search(name) else "text"


def _by_hints(sample: str) -> Language | None:
    votes = {}
    for language, hints in _hints():
        found = [hint.pattern for hint in hints if hint.search(sample)]
        if any(hint.startswith(_BEGINS) for hint in found):
            return language
        votes[language] = len(found)
    best = max(votes, key=lambda language: votes[language], default=None)
    if best is None or votes[best] < _ENOUGH:
        return None
    for language, count in votes.items():  # in the order of the registry, a base before what extends it
        if language.extends == best.name and count >= _ENOUGH:
            best = language
    return best
