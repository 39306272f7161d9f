"""A read whose lines stand in the agent's context already: it names them instead of showing them again.

Callers say which lines the context holds, by `Seen.lines_of`. A result that names lines isn't such a result itself, so
that a third read shows all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lamr_errors import visible
from lamr_sessions.shown import shown_lines

from lamr_agents.policy import SHORTENED, Asked
from lamr_agents.skimmed import Skim
from lamr_agents.thin import NOTE
from lamr_agents.words import KNOWN_LINES, known_note

WINDOW = 5
"""Lines that must be alike, one after the other, for a run to be named."""
LEAST_CHARACTERS = 250
"""Of a run that is named instead of shown."""
LEAST_SAVED = 240
"""Characters that a result must lose, so that the note below it pays."""


def without_known(asked: Asked, shown: Skim, known: Mapping[int, str]) -> Skim:
    """A read that passes, with runs of lines that the context holds named; as it was where that saves little.

    Args:
        asked: what was asked for.
        shown: the result as it passes.
        known: lines of the file that the context holds, by number.
    """
    text, end = (asked.text[:-1], "\n") if asked.text.endswith("\n") else (asked.text, "")
    rows, bare = text.split("\n"), shown_lines(asked.text)
    if not known or asked.uncut or NOTE in asked.text or len(bare.lines) != len(rows):
        return shown
    named = _named(rows, bare.lines, bare.first or asked.from_line, known, asked.path)
    short = "\n".join(named) + "\n" + known_note(ended=bool(end)) + asked.limits.below
    tokens = asked.shown_tokens(short)
    little = len(asked.text) - len(short) < LEAST_SAVED or tokens >= asked.tokens
    if len(named) == len(rows) or little or not asked.limits.fit(short):
        return shown
    return replace(shown, text=short, reason=SHORTENED, tokens_out=tokens, result=None)


def _named(
    rows: Sequence[str], lines: Sequence[str], first: int, known: Mapping[int, str], path: str
) -> list[str]:
    """Rows with each run that the context holds named instead.

    Args:
        rows: of the result, with the numbers that the host puts before lines.
        lines: the same without these.
        first: the number of the first.
        known: lines that the context holds, by number.
        path: of the file.
    """
    places = {window: number for number in known if None not in (window := _window(known, number))}
    out, at = list[str](), 0
    while at < len(rows):
        number = places.get(tuple(lines[at : at + WINDOW]))
        length = 0 if number is None else _alike(lines, at, known, number)
        if number is not None and sum(map(len, rows[at : at + length])) + length >= LEAST_CHARACTERS:
            begin, end, last = first + at, first + at + length - 1, number + length - 1
            shown = visible(path).replace(NOTE, "[")
            out.append(KNOWN_LINES.format(first=begin, last=end, as_first=number, as_last=last, path=shown))
            at += length
        else:
            out.append(rows[at])
            at += 1
    return out


def _window(known: Mapping[int, str], number: int) -> tuple[str | None, ...]:
    return tuple(map(known.get, range(number, number + WINDOW)))


def _alike(lines: Sequence[str], at: int, known: Mapping[int, str], number: int) -> int:
    """How many lines from there on are those that the context holds from a number on."""
    length = 0
    while at + length < len(lines) and known.get(number + length) == lines[at + length]:
        length += 1
    return length
