"""Files and masks that the post-processing tests share."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lamr_postprocess import PrunedCode, cut_texts, restore, split_lines
from numpy.typing import NDArray

from benchmarks.material import model_like

TINY_CUT = 8
"""`min_cut` for texts of a few lines, so that there is something to cut."""


def _parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


@pytest.fixture(scope="session")
def python_files() -> list[tuple[str, str]]:
    """(name, text) of a fixed sample of the standard library, its tests included."""
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(
        p for p in root.rglob("*.py") if "site-packages" not in p.parts and p.stat().st_size < 80_000
    )
    random.Random(7).shuffle(paths)
    files = []
    for path in paths[:90]:
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        if text and _parses(text):
            files.append((path.name, text))
    assert len(files) > 60
    return files


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def masks(rng: np.random.Generator) -> Callable[[int], dict[str, NDArray[np.bool_]]]:
    """Masks of a file of L lines, by name."""

    def make(lines: int) -> dict[str, NDArray[np.bool_]]:
        numbers = np.arange(lines)
        return {
            "blocks": model_like(lines, rng),
            "random": rng.random(lines) < 0.25,
            "sparse": rng.random(lines) < 0.03,
            "alternating": numbers % 2 == 0,
            "single": numbers == rng.integers(max(lines, 1)),
            "empty": np.zeros(lines, dtype=np.bool_),
            "full": np.ones(lines, dtype=np.bool_),
        }

    return make


MARKER = re.compile(r"\.\.\. (\d+)(?:-(\d+))? pruned")


@pytest.fixture(scope="session")
def check_account() -> Callable[[str, NDArray[np.bool_], PrunedCode], None]:
    return _check_account


def _check_account(code: str, mask: NDArray[np.bool_], pruned: PrunedCode) -> None:
    """Kept lines unchanged and in order, one right marker for each cut, every line accounted for, restorable."""
    lines = split_lines(code)
    kept = set(pruned.kept_lines)
    assert kept >= set((np.flatnonzero(mask) + 1).tolist())
    assert sorted(pruned.reasons) == list(pruned.kept_lines)
    covered = [n for cut in pruned.cuts for n in range(cut.start, cut.end + 1)]
    assert sorted([*kept, *covered]) == list(range(1, len(lines) + 1))
    assert all(b.start > a.end + 1 for a, b in zip(pruned.cuts, pruned.cuts[1:], strict=False))
    output = split_lines(pruned.text)
    order = sorted([(n, "line") for n in kept] + [(cut.start, "cut") for cut in pruned.cuts])
    assert len(output) == len(order)
    cuts = {cut.start: cut for cut in pruned.cuts}
    for text, (number, kind) in zip(output, order, strict=True):
        if kind == "line":
            assert text == lines[number - 1]
            continue
        found = MARKER.search(text)
        assert found
        assert (int(found[1]), int(found[2] or found[1])) == (cuts[number].start, cuts[number].end)
    assert restore(pruned, cut_texts(code, pruned)) == code
