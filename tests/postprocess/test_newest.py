"""Syntax that grammars may not know: whatever is kept of a file, brackets and end words are balanced."""

from __future__ import annotations

import io
import random
import re
import subprocess
import tokenize
from pathlib import Path

import pytest
from lamr_postprocess import prune_lines

_TABLE = (Path(__file__).parent / "newest.txt").read_text(encoding="utf-8")
SNIPPETS = [tuple(each.split("\n", 1)) for each in re.split(r"^=== ", _TABLE, flags=re.MULTILINE)[1:]]
_SELECTIONS = 12
_CLOSING = {")": "(", "]": "[", "}": "{"}
_COMMENTS = {
    "py": "#",
    "yaml": "#",
    "sh": "#",
    "rb": "#",
    "ex": "#",
    "toml": "#",
    "tf": "#",
    "lua": "--",
    "css": "/*",
}
_COUNTED = {"svelte": (r"\{#\w", r"\{/\w"), "html": (r"<[a-z]", r"</[a-z]")}
_TRIPLES = {"kt", "cs", "java", "swift", "scala", "dart", "ex", "toml"}
_WORDS = {
    "rb": r"^\s*(?:def (?!.*\) = )|class |case |while |begin\b)|= if |\bdo \|",
    "lua": r"\bfunction\b|\bif\b(?!.*\belse 0)|\bdo\b",
    "ex": r"\bdo\b(?!:)|\bfn\b",
}


def _bare(text: str, ending: str) -> str:
    """A text without its comments and strings, by the simplest rules that these snippets need."""
    comment = re.escape(_COMMENTS.get(ending, "//"))
    kinds = [rf"{comment}[^\n]*", r"/\*[\s\S]*?\*/"]
    kinds += [r'"""[\s\S]*?"""'] if ending in _TRIPLES else []
    kinds += [r'R"x\(.*?\)x"', r'r?#".*?"#', r"\\\\[^\n]*"]
    kinds += [r"~r/[^/]*/", r"/\[\{\(\]\\/v/v", r"%w\[[^\]]*\]"]
    kinds += [r"(?m:^  - \|\n(?: {4}.*\n)+)", r"f\(x", r"'(?:[^'\n]|'')*'"] if ending == "yaml" else []
    kinds += [r"<<-EOT[\s\S]*?EOT"] if ending == "tf" else []
    kinds += [r"`[^`]*`"] if ending in {"go", "lua", "js", "ts"} else []
    kinds += [r'"(?:[^"\\\n]|\\.)*"', r"'(?:[^'\\\n]|\\.)'", r"'\w*'(?!\w)"]
    return re.sub("|".join(kinds), " ", text)


def _unbalanced(signs: str) -> str:
    """What stands alone of some brackets."""
    opened: list[str] = []
    for sign in signs:
        if sign in "([{":
            opened.append(sign)
        elif not opened or opened.pop() != _CLOSING[sign]:
            return f"a lone {sign}"
    return f"open {opened}" if opened else ""


def _fault(text: str, ending: str) -> str:
    """What is wrong with a text, nothing where it is balanced."""
    if ending == "sh":
        return subprocess.run(
            ["bash", "-n"], input=text, capture_output=True, text=True, check=False
        ).stderr.replace("bash: ", "")
    if ending == "py":
        try:
            tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
        except (tokenize.TokenError, IndentationError) as error:
            return str(error)
        return _unbalanced("".join(each.string for each in tokens if each.string in {*"()[]{}"}))
    if signs := _COUNTED.get(ending):
        opened, closed = (len(re.findall(sign, text)) for sign in signs)
        return "" if opened == closed else f"{opened} blocks opened, {closed} closed"
    bare = _bare(text, ending)
    if (words := _WORDS.get(ending)) is not None:
        opened, closed = len(re.findall(words, bare, re.MULTILINE)), len(re.findall(r"\bend\b", bare))
        if opened != closed:
            return f"{opened} opened, {closed} ended"
    return _unbalanced(re.sub(r"[^()\[\]{}]", "", bare))


@pytest.mark.parametrize(("title", "code"), SNIPPETS, ids=[title for title, _ in SNIPPETS])
def test_what_is_kept_is_balanced(title: str, code: str) -> None:
    name = title.split(maxsplit=1)[0]
    ending = name.rpartition(".")[2]
    assert not _fault(code, ending)
    rows = range(len(code.splitlines()))
    rng = random.Random(title)
    chosen = [{row} for row in rows]
    chosen += [
        {row for row in rows if rng.random() < share} for share in (0.1, 0.2, 0.4) * (_SELECTIONS // 3)
    ]
    for kept in chosen:
        pruned = prune_lines(code, [float(row in kept) for row in rows], path=name, threshold=0.5, min_cut=0)
        assert not _fault(pruned.text, ending), (sorted(row + 1 for row in kept), pruned.text)
