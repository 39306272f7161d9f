"""Rubric labels: what a kept line needs is labelled, and nothing depends on names or blank lines."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_training.labels import LabelSettings, label_lines

from .samples import CACHE

LINES = CACHE.split("\n")


def line(text: str) -> int:
    found = [n for n, content in enumerate(LINES, 1) if text in content]
    assert len(found) == 1, found
    return found[0]


def dependency(*kept: int) -> set[int]:
    return set((np.flatnonzero(label_lines(CACHE, kept).dependency) + 1).tolist())


def test_headers_siblings_and_imports_of_a_kept_line() -> None:
    found = dependency(line("text = path.read_text()"))
    assert {line("class FileCache"), line("def load"), line("        try:")} <= found
    assert {line("except OSError"), line("        else:")} <= found
    assert line("import json") not in found
    assert line("import json") in dependency(line("stored = json.loads"))
    assert line("from errors import CacheError") in dependency(line("raise CacheError"))


def test_definitions_are_followed_and_unrelated_functions_are_not() -> None:
    found = dependency(line("part = self._path(key)"))
    assert line("def _path") in found
    assert line("return self.folder / name") not in found
    assert line("def clear_old_entries") not in found
    assert line("DEFAULT_TIMEOUT = 30") in dependency(line("def __init__"))


def test_relevance_decays_with_hops_and_needs_the_threshold() -> None:
    kept = [line("part = self._path(key)")]
    one = label_lines(CACHE, kept, settings=LabelSettings(hops=1)).dependency_weight
    two = label_lines(CACHE, kept, settings=LabelSettings(hops=2)).dependency_weight
    assert (two >= one).all()
    assert (two > one).any()
    strict = label_lines(CACHE, kept, settings=LabelSettings(threshold=1.0)).dependency
    assert strict.sum() < label_lines(CACHE, kept).dependency.sum()


def test_scores_weigh_the_evidence() -> None:
    kept = [line("import json")]
    half = label_lines(CACHE, kept, 0.5)
    assert half.semantic_weight.max() == 0.5
    assert (half.dependency == label_lines(CACHE, kept).dependency).all()
    assert not label_lines(CACHE, kept, 0.0).aggregate.any()


def test_code_that_does_not_parse_has_semantic_labels_only() -> None:
    labels = label_lines("def broken(:\n    x = 1\n", [2])
    assert labels.semantic.tolist() == [False, True, False]
    assert not labels.dependency.any()


@pytest.mark.parametrize("kept", [[0], [len(LINES) + 1]])
def test_lines_that_do_not_exist_are_refused(kept: list[int]) -> None:
    with pytest.raises(ValueError, match="outside 1 to"):
        label_lines(CACHE, kept)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(1, len(LINES)), max_size=12))
def test_every_kept_line_is_kept_and_every_name_it_uses_has_its_import(kept: set[int]) -> None:
    labels = label_lines(CACHE, kept)
    assert len(labels.semantic) == len(labels.dependency) == len(LINES)
    assert set((np.flatnonzero(labels.semantic) + 1).tolist()) == kept
    bound = {"json": 1, "time": 2, "Path": 3, "CacheError": 5}
    for node in ast.walk(ast.parse(CACHE)):
        if isinstance(node, ast.Name) and node.id in bound and node.lineno in kept:
            assert labels.dependency[bound[node.id] - 1]


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(1, len(LINES)), min_size=1, max_size=6), st.integers(1, len(LINES)))
def test_blank_lines_and_names_change_nothing(kept: set[int], place: int) -> None:
    plain = label_lines(CACHE, kept).aggregate
    renamed = CACHE.replace("stored", "entry").replace("_path", "_file").replace("FileCache", "Shelf")
    assert (label_lines(renamed, kept).aggregate == plain).all()
    if LINES[place - 1].strip() and not LINES[place - 1].strip().startswith(('"""', "#")):
        longer = "\n".join([*LINES[: place - 1], "", *LINES[place - 1 :]])
        moved = label_lines(longer, [n + (n >= place) for n in kept]).aggregate
        assert (np.delete(moved, place - 1) == plain).all()
