"""Lines as tools list them: under numbers, under paths, under who wrote them.

A table says what each tool puts before a line: `cat -n`, `nl`, `bat`, `grep`, `rg` with and without headings, `git
grep`, `git blame`. The code after the prefixes is judged and analysed without them, and kept lines come back with them.
A text is one tool's listing as a whole or none at all: paths look like files, numbers rise within each, and a line that
the tool wouldn't print ends the attempt. So logs, whose lines begin with a time, and messages of compilers are no
listings."""

import re
from collections.abc import Container, Sequence
from dataclasses import field

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.detection import detect_language
from lamr_postprocess.lines import IntArray, split_lines

FILE = r"(?:[A-Za-z]:[\\/])?[^\s:\x00-\x1f][^:\x00-\x1f\r\n]{0,1000}?"
"""A regular expression of what may be a path before a colon, a mark or a line's end; `looks_like_file` judges it."""
_SUFFIX = expression(r"[^.\s].*\.(?:[A-Za-z_][\w+~-]{0,14}|7z|3gp|mp[34]|[1-9][a-z]?)$|\.[A-Za-z][\w.+-]*$")
_NAMES = expression(
    r"(?:LICEN[CS]E|README|CHANGE(?:LOG|S)|COPYING|NOTICE|AUTHORS|VERSION|CODEOWNERS|INSTALL|TODO|CONTRIBUTING|BUILD|"
    r"WORKSPACE|[A-Z]\w*file|makefile|configure|gradlew|mvnw)(?:\.[\w.]+)?$"
)
"""Names of files without an ending: LICENSE, Dockerfile."""
_PLAIN_FOLDERS = expression(r"(?:[A-Za-z]:)?[\w.@+~\\/-]*[A-Za-z][\w.@+~\\/-]*$")
_DATE = expression(r"\d{1,4}[/-]\w{1,9}[/-]\d{1,4}$")


def looks_like_file(path: str) -> bool:
    """Whether a path looks like that of a file: by its ending or its name, or by folders around plain names."""
    name = re.split(r"[/\\]", path)[-1]
    if not name or _DATE.search(path):
        return False
    if _SUFFIX.match(name) or _NAMES.match(name):
        return True
    return len(name) < len(path) and bool(_PLAIN_FOLDERS.match(path))


NUMBERS = (
    expression(r"[ \t]*(?P<number>\d+)(?:\t|→)"),  # `cat -n`, `nl`, Claude Code, OpenHands
    expression(r"[ \t]*(?P<number>\d+) {0,4}[|│] "),  # OpenCode, bat
    expression(r"[ \t]*(?P<number>\d+) {0,4}[|│]"),
    expression(r"[ \t]*(?P<number>\d+)\. "),  # Copilot
    expression(r"[ \t]*(?P<number>\d+): "),  # OpenCode
    expression(r"[ \t]*(?P<number>\d+):"),  # SWE-agent, `grep -n ''`
)
"""What stands before a line, by the tools that put it there; the first group is the line's number.

A text has one of them on all its lines. A mark with a space goes before the same mark without one, so that a space is
taken off where all lines have it, and never from the indentation of some."""
NUMBERED_BLANK = expression(r"[ \t]*(\d+)[ \t→|│.:]*(?=[\r\n]*$)")
"""A blank line with its number, the white space at its end taken off or not."""
_REVISION = r"\^?[0-9a-f]{7,64}\*?"
_BLAME = (
    expression(
        rf"{_REVISION}(?:[ \t]+\S+)?[ \t]+\([^\n]*?\d{{4}}-\d\d-\d\d[^\n)]*?[ \t](?P<number>\d+)\)(?: |(?=[\r\n]*$))"
    ),
    expression(rf"{_REVISION}\t\([^\n\t]*\t[^\n\t]*\t[ ]*(?P<number>\d+)\)"),  # `git annotate`
    expression(rf"{_REVISION}[ ]+(?P<number>\d+)\)(?: |(?=[\r\n]*$))"),  # `git blame -s`
)
_RULE = expression(
    r"[─━]{4,}[┬┼┴─━]*[ \t]*$|[ \t]+[│|][ \t]+(?:File: (?P<path>.+?)|Size: .*)[ \t]*$|[ \t]+[│|][ \t]*$"
)
"""What `bat` draws around a file."""
_MATCH = expression(rf"(?P<path>{FILE}):(?P<number>\d+):")
_COLUMNS = expression(rf"(?P<path>{FILE}):(?P<number>\d+):(?P<column>\d+):")  # `rg --column`, `--vimgrep`
_FOUND = expression(rf"(?P<path>{FILE}):(?!\d+:)")  # `grep` and `rg` without `-n`
# After a path: context of `-C`, functions of `-p`.
_BESIDE = expression(r"(?P<mark>[-=])(?P<number>\d+)(?P=mark)")
_HIT = expression(r"(?P<number>\d+)[:=-]")  # under a heading, or in one file
_HEADING = expression(rf"(?P<path>{FILE})[ \t]*$")
_SEPARATOR = expression(r"--[ \t]*$")
_ASIDE = expression(r"--[ \t]*$|Binary file .* matches[ \t]*$|(?:grep|rg|git): .*$")
_SAID = expression(
    r"(?:\d+(?:-\d+)?:)?[ \t]*(?:(?:fatal |internal )?error|warning|note|info|hint|remark|help|[A-Z]{1,5}\d{2,5})"
    r"[ \t]*[:\[(]",
    re.IGNORECASE,
)
"""How what a compiler or a linter says begins, after path and number."""
_SENTENCE = expression(r"\d+:\d+(?:-\d+)?: (?! )\S|\d+: \w*(?:Error|Warning)\b")
"""The same with the line's number before it: words after a column and one space."""
_TIME = expression(r"\W{0,2}(?:\d{1,2}:\d{2}\b|\d{4}-\d{2}(?:-\d{2}|\b))")
_COLOURS = expression(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)|[()][0-9A-B])")
_FIRST = expression(r"[^\r\n]*(?:\r\n?|\n)?")
_FEWEST = 2  # lines; a single one is no listing
_PROBED = 20  # lines that the first look covers, in lines of 200 characters


@dataclass(frozen=True, eq=False)
class ListingPlaces:
    """Where the L lines of a listing stand in their files."""

    paths: tuple[str, ...]  # the files, in their order
    file: IntArray  # [L], index into `paths`; -1 where none is named
    number: IntArray  # [L], the line's number in its file; 0 where none is given


@dataclass(frozen=True, eq=False)
class Listing:
    """A text of L lines with prefixes."""

    body: str  # the text without the prefixes, of L lines too
    # [L], the numbers that the lines carry; None where these have gaps or count no blank lines
    numbers: IntArray | None
    margin: str  # white space as wide as a prefix, for markers
    path: str | None  # the file's path, where the prefixes name exactly one file
    files: int  # how many files the prefixes name; 0 when they name none
    places: ListingPlaces | None = None  # where each line stands; None where the lines are the text's own

    @property
    def first(self) -> int | None:
        """The number of the first line; None where the numbers aren't those of the file's lines."""
        return None if self.numbers is None else int(self.numbers[0])


def read_listing(text: str) -> Listing | None:
    """Take the prefixes off a text; None where it is no listing.

    In a numbered listing every line has a number, which is one more than that of the line before; `nl` counts no blank
    lines. In what a search prints, every line has a path, or a number in the file above, or both, except for what
    stands between groups. Colours are taken off first, and alone where nothing else stands before the
    lines."""
    plain = _without_colours(text) if "\x1b" in text else text
    begin = plain[: 200 * _PROBED].lstrip()
    first = _FIRST.match(begin)
    tools = [tool for tool in _TOOLS if first and tool.may_begin(first[0])]
    head = split_lines(begin) if tools else []
    if len(head) > _PROBED or len(plain) > 200 * _PROBED:
        head = head[: min(_PROBED, len(head) - 1)]  # the last one may be half of a line
    if len(head) != 1:
        tools = [tool for tool in tools if head and tool.read(head)]
    lines = split_lines(plain) if tools else []
    listing = (
        next(filter(None, (tool.read(lines) for tool in tools)), None) if len(lines) >= _FEWEST else None
    )
    if listing is not None or plain is text:
        return listing
    rows = len(split_lines(plain))
    return Listing(plain, np.arange(1, rows + 1), "", None, 0) if rows else None


def _without_colours(text: str) -> str:
    """A text without colours, of as many lines: where one would be lost, lines of colours alone become spaces."""
    plain, lines = _COLOURS.sub("", text), split_lines(text)
    if len(split_lines(plain)) == len(lines):
        return plain
    bare = (_COLOURS.sub("", line) for line in lines)
    return "".join(each if each.strip("\r\n") else f" {each}" for each in bare)


@dataclass
class _Parts:
    """What the lines of a text are, as far as they were read."""

    bodies: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    paths: dict[str, int] = field(default_factory=dict)
    margin: str = ""

    def add(self, line: str, end: int, number: int = 0, path: str | None = None) -> None:
        """Take in a line of which so many characters aren't its text."""
        self.bodies.append(line[end:])
        self.numbers.append(number)
        self.files.append(-1 if path is None else self.paths.setdefault(path, len(self.paths)))

    def skip(self, line: str) -> None:
        """Take in a line that is no line of a file."""
        self.add(line, len(line.rstrip("\r\n")))

    def listing(self) -> Listing:
        """The listing of all lines."""
        numbers = np.array(self.numbers, dtype=np.int64)
        steps = bool((numbers[:1] > 0).all()) and bool((np.diff(numbers) == 1).all())
        # A last line that is empty would be none.
        bodies = "".join(self.bodies) + ("" if self.bodies[-1] else " ")
        places = ListingPlaces(tuple(self.paths), np.array(self.files, dtype=np.int64), numbers)
        path = next(iter(self.paths)) if len(self.paths) == 1 else None
        counted = steps and len(self.paths) < 2
        return Listing(bodies, numbers if counted else None, self.margin, path, len(self.paths), places)


@dataclass(frozen=True)
class _Numbered:
    """A tool that puts a number before every line of one file."""

    prefix: re.Pattern[str]  # what stands before a line
    frame: re.Pattern[str] | None = None  # a line that the tool draws itself; it may name the file

    def may_begin(self, line: str) -> bool:
        """Whether a listing may begin with a line."""
        return bool(self.prefix.match(line) or (self.frame and self.frame.match(line)))

    def read(self, lines: Sequence[str]) -> Listing | None:
        """The listing that lines are; None where they are none."""
        parts, last, path = _Parts(), -1, None
        found: list[int] = []
        for row, line in enumerate(lines):
            match = self.prefix.match(line) or NUMBERED_BLANK.match(line)
            if match is None:
                frame = self.frame and self.frame.match(line)
                if not frame and line.strip():  # `nl` pads blank lines
                    return None
                path = (frame and frame["path"]) or path
                parts.skip(line)
                continue
            number = int(match[1])
            if found and number != found[-1] + 1:
                return None
            parts.margin, last = parts.margin or re.sub(r"[^\t]", " ", match[0]), row
            found.append(number)
            parts.add(line, match.end(), number, path)
        if len(found) < _FEWEST or _are_times(lines):
            return None
        if last == len(found) - 1:  # blank lines at the end go on counting
            parts.numbers = list(range(found[0], found[0] + len(lines)))
        return parts.listing()


@dataclass(frozen=True)
class _Hit:
    """What stands before a line that a search printed: up to which character, and what it says."""

    end: int
    path: str | None
    number: int
    says: bool = False


@dataclass(frozen=True)
class _Search:
    """A tool that prints matches in files, each under its path or all under a heading."""

    match: re.Pattern[str]  # what stands before a match
    # a line that names the file of those below it; None where each line names its own, or none does
    heading: re.Pattern[str] | None = None

    def may_begin(self, line: str) -> bool:
        """Whether a listing may begin with a line."""
        first = self.heading or self.match
        found = first.match(line)
        if found is None:  # the first line may be context of the first match
            return self.heading is None and bool(_BESIDE.search(line) or _ASIDE.match(line))
        return "path" not in first.groupindex or looks_like_file(found["path"])

    def read(self, lines: Sequence[str]) -> Listing | None:
        """The listing that lines are; None where they are none."""
        parts, listed, said, path = _Parts(), 0, 0, None
        last: dict[str | None, int] = {}
        columns = "column" in self.match.groupindex
        hits = [self._hit(line) for line in lines]
        paths = {hit.path for hit in hits if hit and hit.path}
        for line, at_once in zip(lines, hits, strict=True):
            hit = at_once or _beside(line, paths)
            if hit is None:
                heading = self.heading and self.heading.match(line)
                path = heading["path"] if heading and looks_like_file(heading["path"]) else path
                if not (self._is_aside(line) or (heading and heading["path"] == path)):
                    return None
                parts.skip(line)
                continue
            where = hit.path or path
            before = last.get(where, 0)
            if (self.heading and path is None) or 0 < hit.number < before + (not columns):
                return None
            listed, said = listed + 1, said + hit.says
            last[where] = hit.number
            parts.add(line, hit.end, hit.number, where)
        if listed < _FEWEST or (paths and 2 * said > listed):
            return None
        return None if not parts.paths and _are_times(lines) else parts.listing()

    def _hit(self, line: str) -> _Hit | None:
        found = self.match.match(line)
        if found is None:
            return None
        named = found.groupdict()
        path, number = named.get("path"), int(named.get("number") or 0)
        if path is not None and not (looks_like_file(path) and (number or _is_known(path))):
            return None
        says = _SAID.match(line, found.end()) or (
            path and number and _SENTENCE.match(line, found.start("number"))
        )
        return _Hit(found.end(), path, number, bool(says))

    def _is_aside(self, line: str) -> bool:
        """Whether a line is none of a file."""
        return (
            bool(_ASIDE.match(line))
            if self.heading is None
            else not line.strip() or bool(_SEPARATOR.match(line))
        )


def _beside(line: str, paths: Container[str | None]) -> _Hit | None:
    """What stands before a line that a search shows beside a match. The path is one of the matches', so that it is sure
    where the path ends."""
    for found in _BESIDE.finditer(line):
        if line[: found.start()] in paths:
            return _Hit(found.end(), line[: found.start()], int(found["number"]))
    return None


def _is_known(path: str) -> bool:
    """Whether a path without a number after it is surely one, and no key of a setting."""
    return bool(re.search(r"[/\\]", path)) or detect_language("", path).name != "text"


def _are_times(lines: Sequence[str]) -> bool:
    """Whether what looks like numbers before lines are the hours or dates of a log."""
    inked = [line for line in lines if line.strip()][:_PROBED]
    return all(map(_TIME.match, inked))


_TOOLS: tuple[_Numbered | _Search, ...] = (
    *(_Numbered(prefix, _RULE if "│" in prefix.pattern else None) for prefix in NUMBERS),
    *map(_Numbered, _BLAME),
    _Search(_COLUMNS),
    _Search(_MATCH),
    _Search(_HIT, _HEADING),
    _Search(_HIT),
    _Search(_FOUND),
)
