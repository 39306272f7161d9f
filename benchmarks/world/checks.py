"""The eight invariants: what is wrong with a result, by the file and the result alone.

1. Every kept line is byte for byte that of the file, in order. 2. What parsed before parses after. 3. No marker stands
inside a string, a comment, a heredoc or a tag, and no half of one is left. 4. Budgets hold, and what a result says of
itself is true. 5. It takes no longer than its size allows, and nothing fails. 6. Of an output, no failure, total or
exit code is missing, unless the result says how many of the failures it shows. 7. No two texts become one where nothing
may be lost; `mutants.py` makes the texts. 8. In code, of brackets over several lines both are kept or none, whether it
parses or not.

A comment or a documentation string may be cut between its first and its last row: the marker then has a form of its own
(`* ...`, `[ ... ]`) and is part of the text, as docs/languages.md says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from lamr_postprocess import split_lines
from lamr_postprocess.minified import LONGEST_LINE

from benchmarks.material import errors
from benchmarks.tool_outputs.checking import STATED
from benchmarks.world import structure
from benchmarks.world.formats import Format
from benchmarks.world.programs import PROGRAMS, WITHOUT_COMMENTS
from benchmarks.world.reading import Marker, Read, read_result

INVARIANTS = {
    1: "kept lines",
    2: "parses",
    3: "markers' places",
    4: "budget, status, numbers",
    5: "time, tracebacks",
    6: "failures, totals",
    7: "two texts, one",
    8: "balance",
}
_INSIDE = frozenset({"*", "["})
"""How markers begin that stand in a text or a comment on purpose; in a comment they may also begin with nothing."""
_MARKUP = frozenset({"html", "xml", "vue", "svelte"})
_TEMPLATES = frozenset({"embeddedtemplate", "twig"})
_BRACKETED = re.compile(
    r"bazel|c|c#|c\+\+|css|cuda|dart|d|elixir|glsl|go|graphql|groovy|header|java|javascript|json|jsonc|jsonnet|jsx"
    r"|kotlin|less|lua|nix|objective-c|perl|php|powershell|protobuf|python|r|ruby|rust|scala|scss|shell|solidity|sql"
    r"|swift|terraform|toml|tsx|typescript|yaml|zig"
)
"""Formats whose brackets pygments tells from their texts."""
_SCRIPT = re.compile(r"<(script|style)\b[^<>]*>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
_MINIFIED = re.compile(
    r".*\.\.\. minified: (?:1 line|([\d,]+) of ([\d,]+) lines) (?:of|hold ([\d,]+) of) ([\d,]+) characters.*\n"
)
_OF_SCRIPTS = frozenset({"//", "/*", "*"})
_SAYS = re.compile(
    r"\b(?:FAILED|FAILURE|CONFLICT)\b|^\W*(?:\S+: )?(?:FAIL|ERROR|(?:fatal )?error)\b"
    r"|\b\d+ (?:tests? )?(?:failed|failing|failures?|errors?|problems?)\b|\bexit(?:ed with)? (?:code|status) [1-9]"
)
"""What tells a failure, a total or an exit code without a doubt, as far as a line alone can tell. Steps that end with 0
have passed, and there can be any number of them."""

_RANKED = ("instant", "hook", "command")
"""How the cases begin in which the product chose the lines, and not chance."""
LEAST_SECONDS, SECONDS_A_KILOBYTE = 2.0, 0.025
"""CPU seconds that a call may take: generous, for a machine that others use, too."""


@dataclass(frozen=True)
class Violation:
    """One fault: the number of the invariant, the case, what kind of fault, the line of the file, and its details."""

    invariant: int
    case: str
    kind: str
    line: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one call gave."""

    case: str  # what was called, and how
    text: str | None = None  # the result; None where the call failed or refused
    seconds: float = 0.0  # of CPU time
    # the numbers of the kept lines by the result; None where it doesn't say
    kept: Sequence[int] | None = None
    reasoned: int | None = None  # how many of them have a reason; None where it doesn't say
    budget: int | None = None  # the most tokens; None for none
    tokens: int = 0  # of the text, counted again
    told: int | None = None  # the number of tokens that the result tells; None where it is an estimate
    status: str | None = None  # what the result says of itself; None where it says nothing
    reason: str | None = None
    numbered: bool = False  # whether numbers stand before lines
    refused: str = ""  # a refusal in words, which may be right
    error: str = ""  # the end of a traceback


class Checked:
    """A file, and what is known of it before any result is seen.

    Args:
        text: the file's.
        form: how it is read; None for what has no grammar and no program.
        name: its name, for its brackets; empty for none.
        is_listing: whether the numbers of markers are those that stand in the text."""

    def __init__(self, text: str, form: Format | None, name: str = "", *, is_listing: bool = False) -> None:
        self.text, self.lines, self.form = text, split_lines(text), form
        self._is_listing = is_listing
        is_output = form is not None and form.name == "log"
        self._says = [row for row, line in enumerate(self.lines) if is_output and _SAYS.search(line)]
        self._tree = structure.parsed(text, form.grammar) if form and form.grammar else None
        self.errors = None if self._tree is None else self._errors(text, self._tree)
        self.parts = (
            [] if self._tree is None or self.errors else structure.whole_parts(self._tree, self.lines)
        )
        self.parses = PROGRAMS[form.program](text) if form and form.program else None
        bracketed = form and _BRACKETED.fullmatch(form.name) and not is_listing
        self._pairs = structure.bracket_pairs(text, name) if bracketed else []
        self.judged = 0
        self.broken = 0

    def _errors(self, text: str, tree: structure.tree_sitter.Tree) -> int:
        """The errors of a text, but for those that the grammar alone sees."""
        found = errors(tree)
        if not (found and self.form and self.form.blind):
            return found
        for expression, standing in self.form.blind:
            text = re.sub(expression, standing, text)
        again = structure.parsed(text, self.form.grammar)
        return found if again is None else errors(again)

    def violations(self, outcome: Outcome) -> Iterator[Violation]:
        """What is wrong with a result."""
        case = outcome.case
        limit = LEAST_SECONDS + SECONDS_A_KILOBYTE * len(self.text) / 1_000
        if outcome.error:
            yield Violation(
                5, case, f"traceback: {outcome.error.splitlines()[-1]:.100}", detail=outcome.error
            )
        if outcome.seconds > limit:
            yield Violation(
                5, case, "slow", detail=f"{outcome.seconds:.1f} s for {len(self.text):,} characters"
            )
        if outcome.text is None:
            return
        if outcome.kept == () and (told := _MINIFIED.fullmatch(outcome.text)):
            yield from self._of_minified(case, told)
            return
        read = read_result(self.lines, outcome.text, numbered=outcome.numbered)
        yield from self._of_words(outcome, read)
        if read.trouble:
            yield Violation(1, case, "a line changed", read.at + 1, read.trouble)
            return
        yield from self._of_numbers(case, read)
        yield from self._of_failures(outcome, read)
        yield from self._of_forms(case, read)
        yield from self._of_parts(case, read)
        yield from self._of_brackets(case, read)
        if not outcome.numbered:
            yield from self._of_grammar(case, outcome.text, read)

    def _of_minified(self, case: str, told: re.Match[str]) -> Iterator[Violation]:
        """Whether an outline that keeps no line, since the file isn't written by lines, says what is true."""
        if self._is_listing:
            return
        long = [len(line) for line in self.lines if len(line) > LONGEST_LINE]
        true = [len(long), len(self.lines), sum(long), len(self.text)]
        said = [int(each.replace(",", "")) for each in told.groups() if each]
        if said != (true[-1:] if len(self.lines) == 1 else true) or 2 * sum(long) <= len(self.text):
            yield Violation(4, case, "a file that isn't minified, or other numbers", detail=told[0].strip())

    def _of_words(self, outcome: Outcome, read: Read) -> Iterator[Violation]:
        """What the result says of itself."""
        case = outcome.case
        if (
            outcome.kept is not None
            and not read.trouble
            and [row + 1 for row in read.kept] != [*outcome.kept]
        ):
            yield Violation(4, case, "kept_lines aren't the lines of the text")
        if outcome.budget is not None and outcome.tokens > outcome.budget:
            yield Violation(4, case, "over budget", detail=f"{outcome.tokens} tokens of {outcome.budget}")
        if outcome.told is not None and outcome.told != outcome.tokens:
            yield Violation(
                4, case, "tokens miscounted", detail=f"told {outcome.told}, counted {outcome.tokens}"
            )
        if outcome.status == "pruned" and not read.markers and not outcome.reason:
            yield Violation(4, case, "`pruned` without a cut or a reason")
        if outcome.status == "passthrough" and read.markers:
            yield Violation(4, case, "`passthrough` with cuts")
        if outcome.reasoned is not None and outcome.reasoned != len(outcome.kept or ()) and read.markers:
            yield Violation(4, case, "kept lines without a reason")

    def _of_numbers(self, case: str, read: Read) -> Iterator[Violation]:
        """What markers say: how many lines, and which."""
        previous = -1
        for marker in read.markers:
            if not self._is_listing and marker.told != (marker.first + 1, marker.last + 1):
                yield Violation(
                    4, case, "a marker's numbers are wrong", marker.first + 1, marker.line.strip()
                )
            if marker.first == previous + 1 and previous >= 0:
                yield Violation(4, case, "two markers in a row", marker.first + 1)
            previous = marker.last

    def _of_failures(self, outcome: Outcome, read: Read) -> Iterator[Violation]:
        """Lines of an output that tell a failure or a total and are cut; one with the same words may stand in."""
        if not outcome.case.startswith(_RANKED) or STATED.search(f"{outcome.text}\n{outcome.reason}"):
            return
        kept = {self.lines[row].strip() for row in read.kept}
        for row in self._says:
            if self.lines[row].strip() not in kept:
                words = self.lines[row].strip()
                yield Violation(6, outcome.case, "a failure or a total is missing", row + 1, f"{words:.100}")

    def _of_forms(self, case: str, read: Read) -> Iterator[Violation]:
        """Whether markers are comments, in a format of which no grammar says it."""
        allowed = self.form.comments if self.form else ()
        scripts = self._scripts if "<!--" in allowed else frozenset()
        for marker in read.markers if allowed else ():
            inside = marker.first in scripts and marker.last in scripts
            if marker.opening not in ((_OF_SCRIPTS | {*allowed}) - {"<!--"} if inside else allowed):
                yield Violation(3, case, "a marker that is no comment", marker.first + 1, marker.line.strip())

    @cached_property
    def _scripts(self) -> frozenset[int]:
        """The rows inside scripts and styles of a page, which have comments of their own."""
        ends = np.array([0, *np.cumsum([len(line) for line in self.lines])])
        places = [match.span(2) for match in _SCRIPT.finditer(self.text)]
        rows = (np.searchsorted(ends, place, side="right").tolist() for place in places)
        return frozenset(row for first, last in rows for row in range(first, last - 1))

    def _of_parts(self, case: str, read: Read) -> Iterator[Violation]:
        """Halves of what can't be parted; a blank line of it is no half."""
        kept = set(read.kept)
        inked = {row for row in kept if self.lines[row].strip()}
        openings = {
            row: marker.opening for marker in read.markers for row in range(marker.first, marker.last + 1)
        }
        for part in self.parts:
            cut = [row for row in range(part.first, part.last + 1) if row not in kept]
            if not cut or inked.isdisjoint(range(part.first, part.last + 1)):
                continue
            both = part.first in kept and part.last in kept
            if both and (part.kind == "fenced_code_block" or _may_be_inside(openings[cut[0]], part.kind)):
                continue
            if part.kind == "fenced_code_block" and part.first not in kept and part.last not in kept:
                continue  # the code alone, as prose
            yield Violation(
                3, case, f"half of a {part.kind}", cut[0] + 1, f"lines {part.first + 1}-{part.last + 1}"
            )
        yield from self._of_continued(case, kept)

    def _of_brackets(self, case: str, read: Read) -> Iterator[Violation]:
        """The first bracket whose other half has another fate."""
        kept = set(read.kept)
        for first, last in self._pairs:
            if (first in kept) != (last in kept):
                yield Violation(
                    8, case, "half of a pair of brackets", first + 1, f"lines {first + 1}-{last + 1}"
                )
                return

    def _of_continued(self, case: str, kept: set[int]) -> Iterator[Violation]:
        """Halves of lines that go on in the next one."""
        end = self.form.continued if self.form else ""
        if not end:
            return
        covered = {row for part in self.parts for row in range(part.first, part.last + 1)}
        for row, line in enumerate(self.lines[:-1]):
            bare = line.rstrip("\r\n")
            goes_on = bare.endswith(end) and (len(bare) - len(bare.rstrip(end))) % 2 == 1
            if (
                goes_on
                and (row in kept) != (row + 1 in kept)
                and row not in covered
                and not line.lstrip().startswith(("#", "//", "*", "--", ";", "REM", "rem", "::"))  # a comment
            ):
                yield Violation(3, case, "half of a continued line", row + 1, bare.strip()[:80])
                return

    def _of_grammar(self, case: str, text: str, read: Read) -> Iterator[Violation]:
        """What a grammar and a program say of the result, unless nothing or blank lines alone are left."""
        if not read.markers or self.form is None or not any(self.lines[row].strip() for row in read.kept):
            return
        tree = structure.parsed(text, self.form.grammar) if self._tree is not None else None
        broken = []
        if tree is not None and self.errors == 0 and self._errors(text, tree):
            broken.append(f"{self.form.grammar}'s grammar")
        if self.parses and not self._is_taken(text, read):
            broken.append(f"{self.form.program}'s program")
        self.judged += bool(self.parses or self.errors == 0)
        self.broken += bool(broken)
        if broken:
            by = " and ".join(broken)
            yield Violation(2, case, "doesn't parse any more", _first_error(tree, read), f"by {by}")
        if tree is not None and self.errors == 0:
            yield from self._of_places(case, text, tree, read, sound=not broken)

    def _is_taken(self, text: str, read: Read) -> bool:
        """Whether the program takes a result or says nothing; without markers, where the format has no comments."""
        assert self.form is not None
        parses = PROGRAMS[self.form.program]
        rows = {m.row for m in read.markers} if self.form.program in WITHOUT_COMMENTS else set()
        bare = "".join(line for row, line in enumerate(split_lines(text)) if row not in rows)
        return parses(text) is not False or (bare != text and parses(bare) is not False)

    def _of_places(
        self, case: str, text: str, tree: structure.tree_sitter.Tree, read: Read, *, sound: bool
    ) -> Iterator[Violation]:
        """Where markers stand; in a format without comments they are values of their own."""
        assert self.form is not None
        if self.form.grammar == "json":
            return
        rows = split_lines(text)
        for marker in read.markers:
            line = rows[marker.row]
            column = len(line[: line.index("... ")].encode("utf-8", "surrogatepass"))
            kind, own = structure.around(tree, marker.row, column)
            if kind.endswith(("raw_text", "script_element", "style_element")):
                if marker.opening.startswith("<!--"):
                    yield Violation(3, case, f"markup as a marker in {kind}", marker.first + 1, line.strip())
            elif kind and not own and not _may_be_inside(marker.opening, kind):
                yield Violation(3, case, f"a marker inside a {kind}", marker.first + 1, line.strip())
            elif not kind and not own and sound and marker.opening and not self._in_prose(marker):
                yield Violation(3, case, "a marker that is no comment", marker.first + 1, line.strip())

    def _in_prose(self, marker: Marker) -> bool:
        """Whether a marker is a comment of what the grammar doesn't read: of markup, of a recipe's shell."""
        assert self.form is not None
        if self.form.grammar == "make":  # of which a recipe's lines are the shell's, comments included
            return marker.line.startswith("\t")
        if self.form.grammar in _TEMPLATES:  # which hold any language outside of their tags
            return True
        return marker.opening.startswith("<!--") and self.form.grammar not in _MARKUP


def _may_be_inside(opening: str, kind: str) -> bool:
    return opening in _INSIDE or (not opening and "comment" in kind)


def _first_error(tree: structure.tree_sitter.Tree | None, read: Read) -> int:
    """The line of the file at the cut before the first error; 0 where it isn't known."""
    node = tree.root_node if tree is not None and tree.root_node.has_error else None
    while node is not None and not (node.is_error or node.is_missing):
        node = next((child for child in node.children if child.has_error or child.is_missing), None)
    if node is None:
        return 0
    row = node.start_point.row
    return next((marker.first + 1 for marker in reversed(read.markers) if marker.row <= row + 1), 1)
