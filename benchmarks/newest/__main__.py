"""Does lamr keep the newest syntax of each language standing? One snippet a feature, each cut in many ways.

    python -m benchmarks.newest                  # a table, a row a language
    python -m benchmarks.newest --language rust  # and each result that doesn't stand up
    python -m benchmarks.newest --page           # how each language is read, for docs/lab/repair.md

Each line is kept alone, and 20 random selections are. A result stands up if its brackets and tags are balanced as plain
counts (the snippets have balanced ones in texts and comments), lines that close have the one that opens, and the
language's own program takes it, where it takes the whole snippet (`make world` installs several)."""

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lamr_base.tables import align
from lamr_postprocess import PrunedCode, prune_lines

from benchmarks.world.formats import format_of
from benchmarks.world.programs import PROGRAMS

SELECTIONS = 20
_CLOSING = re.compile(r"(?:end|fi|done|esac)\b|}")
_BRANCH = re.compile(r"(?:else|elif|elsif|elseif|rescue|ensure|catch|finally|when|in|until)\b")
_WORDS = frozenset(["bash", "ruby", "lua", "julia", "elixir"])
_TAGS = re.compile(r"<(/?)([a-zA-Z][\w:.-]*)[^<>]*?(/?)>|\{([#/])(\w+)")
_WAYS = ("grammar", "brackets", "lines")
_NEVER_CLOSED = frozenset(["input", "img", "br", "meta", "link", "p", "li", "option", "body"])


@dataclass(frozen=True)
class Snippet:
    """A feature's code, and the version of the language that brought it."""

    language: str
    path: str
    feature: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole of it."""
        return "".join(self.lines)


def snippets() -> Iterator[Snippet]:
    """All, by language and in the order of their files."""
    for file in sorted(Path(__file__).parent.glob("*.txt")):
        language, ending, _ = file.name.split(".")
        for feature, text in re.findall(
            r"^=== (.+)\n((?:(?!===).*\n)+)", file.read_text("utf-8"), re.MULTILINE
        ):
            yield Snippet(language, f"x.{ending}", feature, tuple(text.splitlines(keepends=True)))


def page() -> str:
    """Each language with its last version, and how many of its features are read by each of `_WAYS`."""
    rows: dict[str, list[Snippet]] = {}
    for snippet in snippets():
        rows.setdefault(snippet.language, []).append(snippet)
    told = []
    for language, each in rows.items():
        ways = [_way(snippet) for snippet in each]
        version = max((snippet.feature.partition(":")[0] for snippet in each), key=_order)
        told.append(f"{language} {version} {'/'.join(str(ways.count(way)) for way in _WAYS)}")
    return textwrap.fill(f"{', '.join(told)}.", 120)


def _order(version: str) -> list[int]:
    """What versions are compared by; `C2y` comes after all of that decade."""
    return [int(number) for number in re.findall(r"\d+", version.replace("y", "9"))]


def _way(snippet: Snippet) -> str:
    """What a snippet is read by."""
    whole = prune_lines(snippet.text, [1.0] * len(snippet.lines), path=snippet.path, listed=False)
    return _WAYS[0] if whole.note is None else _WAYS[2] if "line by line" in whole.note else _WAYS[1]


def results(snippet: Snippet, seed: int) -> Iterator[PrunedCode]:
    """Each line alone, then lines by chance."""
    count = len(snippet.lines)
    chance = np.random.default_rng(seed).random((SELECTIONS, count))
    chosen = np.concatenate([np.eye(count), chance])
    for scores in chosen:
        yield prune_lines(snippet.text, scores, path=snippet.path, listed=False, threshold=0.7, min_cut=0)


def fault(snippet: Snippet, pruned: PrunedCode, *, is_read: bool) -> str:
    """Why a result doesn't stand up; empty if it does."""
    lines = [snippet.lines[number - 1] for number in pruned.kept_lines]
    kept = "".join(lines)
    for pair in ("()", "[]", "{}"):
        depths = np.cumsum([(each == pair[0]) - (each == pair[1]) for each in kept if each in pair] or [0])
        balanced = snippet.text.count(pair[0]) == snippet.text.count(pair[1])
        if balanced and (depths.min() < 0 or depths[-1]):
            return f"unbalanced {pair}"
    if snippet.language in _WORDS and (row := _unopened(snippet, set(pruned.kept_lines))):
        return f"line {row} closes or opens alone"
    if snippet.language in ("html", "xml", "svelte") and (_open_tags(kept) and not _open_tags(snippet.text)):
        return f"tags: {_open_tags(kept)}"
    form = format_of(snippet.path)
    if lines and is_read and form and PROGRAMS[form.program](pruned.text) is False:
        return f"{form.program} doesn't take it"
    return ""


def _unopened(snippet: Snippet, kept: set[int]) -> int:
    """A line that closes whose opening line has another fate; a line opens if it is the last before at its depth."""
    last: dict[int, int] = {}
    for row, line in enumerate(snippet.lines, 1):
        words = line.strip()
        depth = len(line) - len(line.lstrip())
        if _CLOSING.match(words) and depth in last:
            if (row in kept) != (last.pop(depth) in kept):
                return row
        elif words and not _BRANCH.match(words):
            last[depth] = row
    return 0


def _open_tags(text: str) -> list[str]:
    """Tags that stay open, or that close what isn't open."""
    stack: list[str] = []
    for closes, name, ends, sign, block in _TAGS.findall(
        re.sub(r"<!--.*?-->|<!\[CDATA.*?\]\]>", "", text, flags=re.S)
    ):
        each = name or "#" + block
        if each in _NEVER_CLOSED or ends:
            continue
        if not (closes or sign == "/"):
            stack.append(each)
        elif stack and stack[-1] == each:
            stack.pop()
        else:
            return [*stack, "/" + each]
    return stack


def main() -> int:
    """Print the table; the exit code is 1 if a result doesn't stand up."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.newest", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--language", help="show the results of one language that don't stand up")
    parser.add_argument("--page", action="store_true", help="print how each language is read, as Markdown")
    arguments = parser.parse_args()
    if arguments.page:
        sys.stdout.write(page() + "\n")
        return 0
    asked = arguments.language
    rows: dict[str, list[int]] = {}
    for snippet in snippets():
        if asked not in (None, snippet.language):
            continue
        form = format_of(snippet.path)
        is_read = bool(form and form.program and PROGRAMS[form.program](snippet.text))
        tried = list(results(snippet, seed=7))
        faults = [(each, why) for each in tried if (why := fault(snippet, each, is_read=is_read))]
        row = rows.setdefault(snippet.language, [0, 0, 0, 0, 0])
        row[:] = np.add(row, [1, tried[0].note is None, is_read, len(tried), len(faults)]).tolist()
        for pruned, why in faults if asked else ():
            sys.stdout.write(f"--- {snippet.feature}: {why}\n{pruned.text}")
    sums = np.sum(list(rows.values()), axis=0).tolist()
    table = [[name, *map(str, row)] for name, row in (*rows.items(), ("all", sums))]
    sys.stdout.write(
        align([["", "features", "read", "by its own", "results", "don't stand up"], *table]) + "\n"
    )
    return int(sums[-1] > 0)


if __name__ == "__main__":
    sys.exit(main())
