"""One result of a tool, skimmed: judged by the policy, pruned for the session's intent, every cut marked by name.

Hooks, servers and the replay of sessions all come through `skim`. A text is judged in its parts: what a host left of a
file, with its notices between. Where a host leaves out the middle, the numbers of what follows are the file's only if
somebody knows them: the notice, by the number of all lines, or the file itself, by what the text shows of its end.
Otherwise no number is said."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from lamr_base.choices import EffortName
from lamr_base.errors import unseen_lines, visible
from lamr_base.records import dataclass
from lamr_client import DeadlineExceededError, LamrError, PruneResult
from lamr_postprocess import SourceFile, approximate_tokens, prune_lines, split_lines
from lamr_postprocess.document import analyse
from lamr_postprocess.minified import minified
from lamr_postprocess.render import NAMED, NUMBERS

from lamr_agents import skimmed
from lamr_agents.intent import Intent
from lamr_agents.policy import (
    NO_LIMITS,
    OUTLINED,
    PRUNED,
    SHORTENED,
    TOO_LONG,
    WHOLE,
    Policy,
    ShownLimits,
    ToolResult,
)
from lamr_agents.sessions import Read
from lamr_agents.sessions.notices import NOTHING_STATED, TruncationInfo, gaps, stated
from lamr_agents.sessions.shown import shown_lines
from lamr_agents.thin import MOST_WORDS, NOT_PRUNED, NOTE

_ROOM = 0.94
"""Of what a host shows, the part that is left for lines: the note takes some, and numbers in markers may grow."""
_NO_ARCHIVE = "no file to read the rest from"
WINDOW = 5  # lines that must be alike, one after the other, for a run to be named
LEAST_CHARACTERS = 250  # shortest run that is named instead of shown
LEAST_SAVED = 240  # characters that a result must lose, so that the note below it pays
_log = logging.getLogger("lamr.agents")


class Prunes(Protocol):
    """Prunes texts; `lamr_client.Pruner` does."""

    @property
    def prune(self) -> Callable[..., PruneResult]: ...


@dataclass(frozen=True)
class TextPart:
    """Lines of a tool's text that stand together."""

    source: SourceFile  # the lines; a notice of the host's where `code` is false
    row: int  # 0-based place of the first in the whole text
    first: int | None  # the file's number of the first; None where it isn't known
    listed: bool = False  # whether the lines carry these numbers themselves
    code: bool = True  # whether the lines are the file's
    # first and last line, counted within the part from 1, of what is shown because the session pointed at it
    keep: tuple[tuple[int, int], ...] = ()

    @property
    def text(self) -> str:
        """The lines as a text."""
        return self.source.text

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.source.spans)

    def numbered(self, rows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Runs of lines of this part, 1-based, by the file's numbers; none where these aren't known."""
        return [] if self.first is None else [(a + self.first - 1, b + self.first - 1) for a, b in rows]


def parts_of(asked: ToolResult, policy: Policy) -> tuple[TextPart, ...]:
    """The parts of a text, which together make it up; mostly one. The policy says what is kept around pointers."""
    parts = _split(asked)
    if not asked.pointed:
        return parts
    return tuple(
        part if part.first is None else replace(part, keep=tuple(policy.kept(asked, part.first, part.lines)))
        for part in parts
    )


def _split(asked: ToolResult) -> tuple[TextPart, ...]:
    ends = list(gaps(asked.text))
    if not ends:
        end, source = asked.stated.tail and not asked.name, SourceFile(asked.text, asked.path)
        return (_part(source, 0, _of_the_end(source, asked, asked.stated) if end else asked.from_line),)
    pieces, at, said = list[tuple[str, bool]](), 0, asked.stated
    for gap in ends:
        pieces += [(asked.text[at : gap.start], True), (asked.text[gap.start : gap.stop], False)]
        at = gap.stop
        said = replace(said, total=said.total or stated(pieces[-1][0]).total)
    pieces.append((asked.text[at:], True))
    return tuple(_placed([piece for piece in pieces if piece[0]], asked, said))


def _placed(
    pieces: Sequence[tuple[str, bool]], asked: ToolResult, said: TruncationInfo
) -> Iterator[TextPart]:
    row, before = 0, None
    for place, (text, code) in enumerate(pieces):
        source = SourceFile(text, asked.path)
        if not code:
            yield TextPart(source, row, None, code=False)
        elif asked.name:  # it is kept as it came, under the numbers of its own lines
            yield TextPart(source, row, row + 1)
        else:
            first = asked.from_line if row == 0 else None
            if place and place == len(pieces) - 1:
                first = _of_the_end(source, asked, said)
            before = _part(source, row, first, before)
            yield before
        row += len(source.spans)


def _part(source: SourceFile, row: int, first: int | None, before: TextPart | None = None) -> TextPart:
    """A part; numbers that go on after a gap as if there were none are the host's, and not the file's."""
    listing = source.listing
    if listing is None or listing.first is None:
        return TextPart(source, row, first)
    runs_on = before is not None and before.listed and listing.first <= (before.first or 0) + before.lines + 2
    return TextPart(source, row, None if runs_on else listing.first, listed=True)


def _of_the_end(source: SourceFile, asked: ToolResult, said: TruncationInfo) -> int | None:
    """The file's number of the first line of a part that goes to the output's end."""
    count = len(source.spans)
    first = asked.from_line or 1
    if said.total:
        return max(said.total + first - count, 1)
    lines = _bare(asked.whole) if asked.last is None else []
    begins = said.tail or lines[first - 1 : first] == _bare(asked.text)[:1]
    return len(lines) - count + 1 if begins and lines[-count:] == _bare(source.text) else None


def _bare(text: str) -> list[str]:
    return [line.rstrip() for line in split_lines(text)]


def renumbered(text: str, kept: Sequence[int], part: TextPart) -> str:
    """The text of a part that was pruned, with the file's numbers in its markers, or counts where nobody knows these.
    `text`: the lines that are kept and a marker for each run of others, in their order. `kept`: 1-based numbers of
    these lines within the part."""
    if part.first == 1 or (part.listed and part.first is not None):
        return text
    shift = None if part.first is None else part.first - 1
    out, row, left = [], 0, set(kept)
    for line in split_lines(text):
        if row + 1 in left:
            row += 1
            out.append(line)
            continue
        out.append(NUMBERS.sub(lambda found: _moved(found, shift), line, count=1))
        while row < part.lines and row + 1 not in left:
            row += 1
    return "".join(out)


def _moved(found: re.Match[str], shift: int | None) -> str:
    numbers = [int(number) for number in (found["first"], found["last"]) if number]
    if shift is None:
        count = numbers[-1] - numbers[0] + 1
        return f"{count} line{'s' if count > 1 else ''}"
    return "-".join(str(number + shift) for number in numbers)


def outline(source: SourceFile) -> tuple[str, tuple[int, ...]]:
    """The headers of a file's definitions, as text, and the numbers of the lines that are left."""
    if why := minified(source.layout.spans):
        return source.language.comment.wrap(f"... {why}") + "\n", ()
    definitions = analyse(source, named=True).definitions
    rows = () if definitions is None else definitions.rows.tolist()
    keep = [row + 1 for row in rows]
    left = prune_lines(source, np.zeros(len(source.spans)), threshold=1.0, keep=keep, markers=NAMED)
    return left.text, left.kept_lines


class TextArchive(Protocol):
    """Keeps originals; `lamr_agents.local.texts.Archive` does."""

    def keep(self, text: str) -> str: ...

    def how_to_show(self, text: str, first: int, last: int) -> str:
        """Say how these lines of a text are shown, in words that follow a semicolon."""
        ...


def asked_for(  # noqa: PLR0913  # what a host knows of a call, one keyword a fact
    text: str,
    read: Read,
    *,
    intent: Intent,
    name: str = "",
    stated: TruncationInfo = NOTHING_STATED,
    whole: str = "",
    limits: ShownLimits = NO_LIMITS,
) -> ToolResult:
    """What the policy judges by, with the text's size counted.

    Args:
        text: the code that a tool showed, without what a host puts around it.
        read: the file, and the range that was asked for.
        name, stated, whole, limits: see `ToolResult`."""
    lines = text.count("\n") + (not text.endswith("\n"))
    tokens = approximate_tokens(limits.above + limits.shown(text))
    return ToolResult(
        *(text, read.path, tokens, lines, bool(intent.query), read.first, read.last),
        name=name,
        pointed=intent.pointed,
        stated=stated,
        whole=whole,
        limits=limits,
    )


def skim(  # noqa: PLR0913  # keyword-only, each with a default
    pruner: Prunes,
    asked: ToolResult,
    intent: Intent,
    policy: Policy | None = None,
    *,
    archive: TextArchive | None = None,
    known: Mapping[int, str] = MappingProxyType({}),
    effort: EffortName = "auto",
    within: float | None = None,
) -> skimmed.Skim:
    """Skim the result of a call that read a file.

    A pruner that fails doesn't fail the call: the text passes, and the reason says why.

    Args:
        pruner: judges the lines.
        asked: the text, and what was asked for.
        intent: what the agent is after.
        policy: the limits.
        archive: keeps the original of a cut text that lies in no file; such a text passes without one.
        known: lines of the file that the agent's context holds, by number.
        effort: how much the encoder reads.
        within: seconds until an answer is wanted, by what was read by then; None for the pruner's own."""
    ask = _Judge(pruner, intent, policy or Policy(), effort, within)
    shown = _pruned(ask, asked, archive)
    return shown if ask.policy.repeats or shown.cut or shown.failed else _without_known(asked, shown, known)


@dataclass(frozen=True)
class _Judge:
    """A pruner, and all that the parts of one text have in common."""

    pruner: Prunes  # judges the lines
    intent: Intent  # what the agent is after
    policy: Policy  # the limits
    effort: EffortName  # how much the encoder reads
    within: float | None  # seconds for all parts; None for the pruner's own

    def about(self, parts: Sequence[TextPart]) -> list[PruneResult | None]:
        """What the pruner gives for each part; None for a notice of the host's. Raises `LamrError`: it fails."""
        share = self.within and self.within / sum(part.code for part in parts)
        return [
            self.pruner.prune(
                self.intent.query,
                part.source,
                task=self.intent.task,
                history=self.intent.history,
                threshold=self.policy.threshold,
                keep=part.keep,
                markers=NAMED,
                effort=self.effort,
                within=share,
            )
            if part.code
            else None
            for part in parts
        ]


def _pruned(ask: _Judge, asked: ToolResult, archive: TextArchive | None) -> skimmed.Skim:
    """What is left of a text when lines are cut that the query doesn't need."""
    policy = ask.policy
    reason = policy.passes(asked) or (_NO_ARCHIVE if asked.name and archive is None else None)
    if reason is not None:
        return untouched(asked, reason)
    parts = parts_of(asked, policy)
    try:
        results = ask.about(parts)
    except LamrError as error:
        return unjudged(asked, error)
    best = max(filter(None, results), key=lambda result: result.relevance or -1.0)
    outlined = policy.is_beside_the_point(best) and not any(part.keep for part in parts)
    archive, why = archive if asked.name else None, haste(best)
    shown = _joined(asked, parts, results, outlined)
    shown = _noted(asked, shown, archive, (skimmed.AN_OUTLINE if outlined else "") + why)
    policy = policy.within(asked)
    if asked.limits.used(shown.text) * policy.least_fitting <= WHOLE < asked.limits.used(shown.text):
        try:
            results = _fitted(asked.limits, parts, results, policy.threshold)
        except ValueError:  # such as lines that were pointed at, which are more than the host shows
            return untouched(asked, TOO_LONG, best)
        shown = _noted(asked, _joined(asked, parts, results, outlined=False), archive, why)
    reason = None if asked.limits.fit(shown.text) and shown.kept_lines else TOO_LONG
    reason = reason or policy.passes_judged(best, asked.tokens, shown.tokens_out)
    if reason is not None:
        return untouched(asked, reason, best)
    try:
        if archive:
            archive.keep(asked.text)
    except LamrError as error:
        return unjudged(asked, error)
    return replace(shown, result=best)


def _fitted(
    limits: ShownLimits,
    parts: Sequence[TextPart],
    results: Sequence[PruneResult | None],
    threshold: float | None,
) -> list[PruneResult | None]:
    """The results with as many lines, the best first, as the host shows. Raises `ValueError`: the least that could be
    left is more."""
    room = _ROOM * WHOLE - sum(limits.used(part.text) for part in parts if not part.code)
    share = room / sum(len(part.text) for part in parts if part.code)
    fitted = list[PruneResult | None]()
    for part, result in zip(parts, results, strict=True):
        if result is None:
            fitted.append(None)
        else:
            cut = prune_lines(
                *(part.source, result.line_scores),
                threshold=result.threshold if threshold is None else threshold,
                max_tokens=int(share * len(part.text)),
                count_tokens=limits.used,
                keep=part.keep,
                markers=NAMED,
            )
            fitted.append(result.cut_to(cut, approximate_tokens(cut.text)))
    return fitted


def _joined(
    asked: ToolResult, parts: Sequence[TextPart], results: Sequence[PruneResult | None], outlined: bool
) -> skimmed.Skim:
    """Join the pruned parts, without the note; notices of the host stay as they are."""
    texts, kept, gone, known = list[str](), list[int](), list[tuple[int, int]](), list[tuple[int, int]]()
    for part, result in zip(parts, results, strict=True):
        if result is None:
            texts.append(part.text)
            kept += range(part.row + 1, part.row + part.lines + 1)
            continue
        text, left = outline(part.source) if outlined else (result.text, result.kept_lines)
        texts.append(renumbered(text, left, part))
        kept += [part.row + line for line in left]
        gone += [] if asked.name else part.numbered(skimmed.hidden(left, part.lines))
        known += part.numbered([(1, part.lines)])
    done = OUTLINED if outlined else PRUNED
    numbers = known if len(known) == sum(part.code for part in parts) else []
    sizes = (asked.lines, asked.tokens, 0)
    return skimmed.Skim("".join(texts), done, tuple(kept), *sizes, tuple(gone), tuple(numbers))


def _noted(asked: ToolResult, shown: skimmed.Skim, archive: TextArchive | None, why: str) -> skimmed.Skim:
    undo = skimmed.BY_RANGE if shown.numbers else skimmed.BY_NAME
    if archive:
        undo = archive.how_to_show(asked.text, *largest_cut(shown.kept_lines, asked.lines))
    kept = len(shown.kept_lines)
    signs = {"alike": skimmed.alike(shown.text), "unseen": unseen_lines(shown.text)}
    last = skimmed.note(kept, asked.lines, undo, numbers=shown.numbers, why=why, **signs)
    text = f"{_closed(shown.text)}{last}{asked.limits.below}"
    return replace(shown, text=text, tokens_out=asked.shown_tokens(text))


def skim_anyway(
    pruner: Prunes, asked: ToolResult, intent: Intent, policy: Policy, **options: Any
) -> skimmed.Skim:
    """As `skim`, for hosts whose session must go on: whatever fails, the text passes and the reason says why."""
    try:
        return skim(pruner, asked, intent, policy, **options)
    except LamrError as error:
        return unjudged(asked, error)
    except Exception as error:
        _log.exception("a result could not be judged")
        return unjudged(asked, error)


def haste(result: PruneResult) -> str:
    """Say that a fault kept the encoder from reading, so that the line model judged; nothing where none did."""
    return skimmed.IN_HASTE.format(why=result.effort) if result.effort and result.effort.faulty else ""


def largest_cut(kept: Sequence[int], lines: int) -> tuple[int, int]:
    """First and last line, 1-based, of the longest run of hidden lines; of the whole text where there is none."""
    return max(skimmed.hidden(kept, lines), key=lambda cut: cut[1] - cut[0], default=(1, lines))


def because_of(error: Exception | str) -> str:
    why = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return visible(f"{NOT_PRUNED}: {why}"[:MOST_WORDS])


def _closed(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def untouched(asked: ToolResult, reason: str, result: PruneResult | None = None) -> skimmed.Skim:
    every = tuple(range(1, asked.lines + 1))
    why = visible(reason[:MOST_WORDS])
    return skimmed.Skim(asked.text, why, every, asked.lines, asked.tokens, asked.tokens, result=result)


def unjudged(asked: ToolResult, error: Exception | str) -> skimmed.Skim:
    """The unchanged text, with an error or another reason."""
    late = isinstance(error, DeadlineExceededError)
    return replace(untouched(asked, because_of(error)), failed=True, late=late)


def _without_known(asked: ToolResult, shown: skimmed.Skim, known: Mapping[int, str]) -> skimmed.Skim:
    """A read that passes, with runs of lines that the context holds named; as it was where that saves little.

    A result that names lines is none whose lines the context holds, so that a third read shows all of them."""
    text, end = (asked.text[:-1], "\n") if asked.text.endswith("\n") else (asked.text, "")
    rows, bare = text.split("\n"), shown_lines(asked.text)
    if not known or asked.uncut or NOTE in asked.text or len(bare.lines) != len(rows):
        return shown
    named = _named(rows, bare.lines, bare.first or asked.from_line, known, asked.path)
    short = "\n".join(named) + "\n" + skimmed.known_note(ended=bool(end)) + asked.limits.below
    tokens = asked.shown_tokens(short)
    little = len(asked.text) - len(short) < LEAST_SAVED or tokens >= asked.tokens
    if len(named) == len(rows) or little or not asked.limits.fit(short):
        return shown
    return replace(shown, text=short, reason=SHORTENED, tokens_out=tokens, result=None)


def _named(
    rows: Sequence[str], lines: Sequence[str], first: int, known: Mapping[int, str], path: str
) -> list[str]:
    """Rows with each run that the context holds named instead."""
    places = {window: number for number in known if None not in (window := _window(known, number))}
    out, at = list[str](), 0
    while at < len(rows):
        number = places.get(tuple(lines[at : at + WINDOW]))
        length = 0 if number is None else _alike(lines, at, known, number)
        if number is not None and sum(map(len, rows[at : at + length])) + length >= LEAST_CHARACTERS:
            begin, end, last = first + at, first + at + length - 1, number + length - 1
            shown = visible(path).replace(NOTE, "[")
            out.append(
                skimmed.KNOWN_LINES.format(first=begin, last=end, as_first=number, as_last=last, path=shown)
            )
            at += length
        else:
            out.append(rows[at])
            at += 1
    return out


def _window(known: Mapping[int, str], number: int) -> tuple[str | None, ...]:
    return tuple(map(known.get, range(number, number + WINDOW)))


def _alike(lines: Sequence[str], at: int, known: Mapping[int, str], number: int) -> int:
    """The number of lines from `at` on that equal those of the context from `number` on."""
    length = 0
    while at + length < len(lines) and known.get(number + length) == lines[at + length]:
        length += 1
    return length
