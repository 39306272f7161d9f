"""Rubric labels: what a kept line needs is labelled, and nothing depends on names or blank lines."""

import argparse
import ast
import dataclasses
import inspect
import re
import subprocess
import tarfile
import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamr_training.labels import BoolArray, RubricLabels, dependency_graph, label_lines

from tests.training.samples import CACHE

from .programs import Program, programs

LINES = CACHE.splitlines()


def line(text: str) -> int:
    numbers = [n for n, content in enumerate(LINES, 1) if text in content]
    assert len(numbers) == 1, numbers
    return numbers[0]


def kept_lines(labels: RubricLabels) -> BoolArray:
    return labels.semantic | labels.dependency


def dependency(*kept: int) -> set[int]:
    return set((np.flatnonzero(label_lines(CACHE, kept).dependency) + 1).tolist())


def test_headers_siblings_imports_and_definitions_are_followed_and_unrelated_functions_are_not() -> None:
    needed = dependency(line("text = path.read_text()"))
    assert {line("class FileCache"), line("def load"), line("        try:")} <= needed
    assert {line("except OSError"), line("        else:")} <= needed
    assert line("import json") not in needed
    assert line("import json") in dependency(line("stored = json.loads"))
    assert line("from errors import CacheError") in dependency(line("raise CacheError"))
    needed = dependency(line("part = self._path(key)"))
    assert line("def _path") in needed
    assert line("return self.folder / name") not in needed
    assert line("def clear_old_entries") not in needed
    assert line("DEFAULT_TIMEOUT = 30") in dependency(line("def __init__"))


def test_relevance_decays_with_hops_and_scores_weigh_the_gold_lines() -> None:
    labels = label_lines(CACHE, [line("part = self._path(key)")])
    weights = labels.dependency_weight
    assert len(np.unique(weights[weights > 0])) > 1
    assert (labels.dependency == (weights >= 0.5)).all()
    assert 0 < labels.dependency.sum() < (weights > 0).sum()
    kept = [line("raise CacheError")]
    half, whole = label_lines(CACHE, kept, 0.5), label_lines(CACHE, kept)
    assert half.dependency_weight.max() == 0.5
    assert (half.dependency_weight == whole.dependency_weight / 2).all()
    assert (half.dependency == whole.dependency).all()
    assert not kept_lines(label_lines(CACHE, kept, 0.0)).any()


def test_code_that_does_not_parse_has_semantic_labels_only() -> None:
    labels = label_lines("def broken(:\n    x = 1\n", [2])
    assert not labels.parsed
    assert labels.semantic.tolist() == [False, True]
    assert not labels.dependency.any()


@pytest.mark.parametrize("kept", [[0], [len(LINES) + 1]])
def test_lines_that_do_not_exist_are_refused(kept: list[int]) -> None:
    with pytest.raises(ValueError, match="outside 1 to"):
        label_lines(CACHE, kept)


def test_lines_end_as_everywhere_else() -> None:
    kept = [line("raise CacheError")]
    plain = label_lines(CACHE, kept)
    assert len(plain.semantic) == len(CACHE.splitlines())
    for text in (
        CACHE.replace("\n", "\r\n"),
        CACHE.replace("\n", "\r"),
        CACHE.replace("class", "\fclass", 1),
    ):
        other = label_lines(text, kept)
        assert other.parsed
        assert (kept_lines(other) == kept_lines(plain)).all()
    assert len(label_lines("", []).semantic) == 0


def test_names_and_branches_are_found_by_keyword_not_by_spelling() -> None:
    code = "from far import add\nseen = set()\nseen.add(1)\nadd(2)\n"
    assert not label_lines(code, [3]).dependency[0]
    assert label_lines(code, [4]).dependency[0]
    code = "for x in y:\n    pass\nelse:  # nothing found\n    elsewhere = x\nz = 1\n"
    assert (np.flatnonzero(label_lines(code, [2]).dependency) + 1).tolist() == [1, 3]
    code = "match a:\n    case [1]:\n        b\n    case (\n        2\n    ):\n        c\n"
    assert (np.flatnonzero(label_lines(code, [3]).dependency) + 1).tolist() == [1, 2, 4, 5, 6]


def test_a_long_chain_takes_time_as_its_length() -> None:
    chain = "if x == 0:\n    a\n" + "".join(f"elif x == {n}:\n    a\n" for n in range(1, 900))
    tree = ast.parse(chain)
    graph = dependency_graph(tree, chain.split("\n"))
    assert len(graph.targets) + len(graph.users) < 5 * 900
    assert label_lines(chain, [1000]).dependency.sum() == 900


@settings(max_examples=150, deadline=None)
@given(programs(), st.data())
def test_what_explains_a_kept_line_is_labelled(program: Program, data: st.DataObject) -> None:
    count = len(program.lines)
    kept = data.draw(st.sets(st.integers(1, count), max_size=4))
    labels = label_lines(program.text, kept)
    assert labels.parsed
    assert len(labels.semantic) == len(labels.dependency) == count
    assert set((np.flatnonzero(labels.semantic) + 1).tolist()) == kept
    for number in kept:
        assert kept_lines(labels)[list(program.around[number - 1])].all()
        for name in program.uses[number - 1] & program.imports.keys():
            assert labels.dependency[program.imports[name]].all()
    if not kept:
        assert not kept_lines(labels).any()


@settings(max_examples=80, deadline=None)
@given(programs(), st.data())
def test_renaming_changes_nothing(program: Program, data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.integers(1, len(program.lines)), min_size=1, max_size=4))
    # names that begin like keywords, and change places
    names = {"alpha": "elsewhere", "beta": "finally_done", "gamma": "one", "one": "excepted", "work": "case"}
    text = re.sub(r"[a-z_]+", lambda match: names.get(match[0], match[0]), program.text)
    before, after = label_lines(program.text, kept), label_lines(text, kept)
    assert after.parsed
    assert (before.dependency_weight == after.dependency_weight).all()


@settings(max_examples=80, deadline=None)
@given(programs(), st.data())
def test_blank_lines_change_nothing(program: Program, data: st.DataObject) -> None:
    count = len(program.lines)
    kept = data.draw(st.sets(st.integers(1, count), min_size=1, max_size=4))
    blanks = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    text = "".join("\n" * n + each + "\n" for n, each in zip(blanks, program.lines, strict=True))
    place = np.arange(count) + np.cumsum(blanks)  # the new place of each old line
    before, after = (
        label_lines(program.text, kept),
        label_lines(text, (place[np.array(list(kept)) - 1] + 1).tolist()),
    )
    assert (kept_lines(before) == kept_lines(after)[place]).all()


def test_real_files_keep_the_properties() -> None:
    """Files of the standard library keep the headers above gold lines, which `ast` itself tells."""
    rng = np.random.default_rng(0)
    for module in (argparse, dataclasses, inspect, subprocess, tarfile, typing):
        code = inspect.getsource(module)
        tree = ast.parse(code)
        count = len(code.splitlines())
        for kept in rng.integers(1, count + 1, (20, 5)).tolist():
            labels = label_lines(code, kept)
            for node in ast.walk(tree):
                body = getattr(node, "body", None)
                if isinstance(node, (ast.stmt, ast.ExceptHandler)) and isinstance(body, list):
                    inside = range(body[0].lineno, (node.end_lineno or 0) + 1)
                    if any(n in inside for n in kept) and node.lineno < body[0].lineno:
                        assert kept_lines(labels)[node.lineno - 1], (module.__name__, kept, node.lineno)
