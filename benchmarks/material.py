"""What the post-processing benchmark works on and prints: files, masks like a model's, damaged texts, error counts."""

from __future__ import annotations

import ast
import random
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from lamr_postprocess import LANGUAGES, language_named
from lamr_postprocess.lines import blank_lines, code_points, spans_of
from lamr_postprocess.syntax import parse
from numpy.typing import NDArray
from pyflakes import checker, messages

Mask = NDArray[np.bool_]
FIGURES: dict[str, float] = {}  # of this run, by name
MISSED: list[str] = []  # those that are not within their targets


def report(
    name: str, value: float, unit: str, target: float | None = None, *, at_least: bool = False
) -> None:
    """Print a figure beside its target, and remember it."""
    FIGURES[name] = value
    bound = "" if target is None else f"   (target {'≥' if at_least else '≤'} {target:g})"
    if target is not None and (value < target if at_least else value > target):
        bound += "   MISSED"
        MISSED.append(name)
    print(f"{name:<62}{value:>9.4g} {unit}{bound}", flush=True)


def python_files(most: int) -> Iterator[tuple[Path, str]]:
    """Files that parse, in a fixed random order."""
    roots = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    paths = sorted({path for root in roots for path in root.rglob("*.py")})
    random.Random(0).shuffle(paths)
    for path in paths:
        try:
            code = path.read_bytes().decode("utf-8")
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
            continue
        if code.strip():
            yield path, code
            most -= 1
            if not most:
                return


def blocks(lines: int, share: float, rng: np.random.Generator, length: Callable[[], int]) -> Mask:
    """Runs of lines up to a share of the file."""
    mask = np.zeros(lines, dtype=np.bool_)
    while mask.mean() < share:
        start = int(rng.integers(lines))
        mask[start : start + length()] = True
    return mask


def functions(code: str, lines: int, share: float, rng: np.random.Generator) -> Mask:
    """Short functions and top-level statements as a whole, a run of lines of longer ones, up to a share."""
    tree = ast.parse(code)
    spans = [
        (node.lineno - 1 - len(getattr(node, "decorator_list", ())), node.end_lineno or node.lineno)
        for node in [*ast.walk(tree)]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    spans += [(n.lineno - 1, n.end_lineno or 0) for n in tree.body if (n.end_lineno or 0) - n.lineno < 20]
    rng.shuffle(spans)
    mask = np.zeros(lines, dtype=np.bool_)
    for first, last in spans:
        if mask.mean() >= share:
            break
        start, stop = int(first), int(last)
        if stop - start > 12:
            size = int(rng.integers(6, stop - start + 1))
            start += int(rng.integers(0, stop - start - size + 1))
            stop = start + size
        mask[start:stop] = True
    return mask


def masks_of(code: str, lines: int, rng: np.random.Generator) -> dict[str, Mask]:
    """Masks of a quarter of a file, by name. A blank line goes with its neighbours, as it does in line scores."""
    masks = {
        "functions": functions(code, lines, 0.25, rng),
        "long blocks": blocks(lines, 0.25, rng, lambda: int(rng.geometric(1 / 20))),
        "blocks": blocks(lines, 0.25, rng, lambda: int(rng.integers(3, 16))),
        "random": rng.random(lines) < 0.25,
        "alternating": np.arange(lines) % 2 == 0,
    }
    points = code_points(code)
    blank = np.flatnonzero(blank_lines(points, spans_of(points)))
    inked = np.setdiff1d(np.arange(lines), blank)
    slot = np.searchsorted(inked, blank)
    between = (slot > 0) & (slot < inked.shape[0])
    blank, slot = blank[between], slot[between]
    for mask in masks.values():
        mask[blank] |= mask[inked[slot - 1]] & mask[inked[slot]]
    return masks


def error_nodes(text: str, name: str) -> int:
    """ERROR and MISSING nodes of a text's tree."""
    cursor = parse(text, language_named(name)).tree.walk()
    count = 0
    while True:
        node = cursor.node
        assert node is not None
        count += node.is_error or node.is_missing
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return count


def language_of(path: Path) -> str:
    """The language with a grammar that a file name tells, Python apart; empty for none."""
    return next(
        (each.name for each in LANGUAGES if each.grammar and path.suffix.lower() in each.suffixes - {".py"}),
        "",
    )


def damaged(seeds: list[str], alphabet: str, chance: random.Random) -> str:
    """A piece of a seed with characters replaced, removed and inserted; or noise."""
    if chance.random() < 0.3:
        return "".join(chance.choices(alphabet, k=chance.randrange(120)))
    seed = chance.choice(seeds)
    start = chance.randrange(len(seed))
    piece = list(seed[start : start + chance.randrange(1, 1_500)])
    for _ in range(chance.randrange(6)):
        at = chance.randrange(len(piece))
        piece[at] = chance.choice(["", chance.choice(alphabet), piece[at] + chance.choice(alphabet)])
    return "".join(piece)


def words(text: str) -> int:
    """A token count that a test can follow."""
    return len(text.split())


def undefined_names(code: str) -> set[str]:
    """Names that pyflakes finds undefined."""
    found = checker.Checker(ast.parse(code)).messages
    return {message.message_args[0] for message in found if isinstance(message, messages.UndefinedName)}
