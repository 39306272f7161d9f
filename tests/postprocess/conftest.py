"""Files and masks that the post-processing tests share."""

from __future__ import annotations

import ast
import random
import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray


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


def blocks(lines: int, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask like a model's: runs of lines up to a share of the file."""
    mask = np.zeros(lines, dtype=np.bool_)
    while lines and mask.mean() < share:
        start = rng.integers(lines)
        mask[start : start + rng.integers(3, 16)] = True
    return mask


@pytest.fixture
def masks(rng: np.random.Generator) -> Callable[[int], dict[str, NDArray[np.bool_]]]:
    """Masks of a file of L lines, by name."""

    def make(lines: int) -> dict[str, NDArray[np.bool_]]:
        numbers = np.arange(lines)
        return {
            "blocks": blocks(lines, 0.25, rng),
            "random": rng.random(lines) < 0.25,
            "sparse": rng.random(lines) < 0.03,
            "alternating": numbers % 2 == 0,
            "single": numbers == rng.integers(max(lines, 1)),
            "empty": np.zeros(lines, dtype=np.bool_),
            "full": np.ones(lines, dtype=np.bool_),
        }

    return make
