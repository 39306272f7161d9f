"""Names don't depend on the sections that a text goes in."""

from __future__ import annotations

import pytest
from lamr_postprocess import language_named
from lamr_postprocess.captures import read_names
from lamr_postprocess.syntax import parse

from benchmarks.sources import library_module

# A call whose arguments hold more names than may be open at once, between functions.
TABLE = "table = dict(" + ", ".join(f"name{at}=value{at}" for at in range(400)) + ")\n"


@pytest.mark.parametrize("code", [library_module("queue.py"), TABLE + library_module("queue.py") + TABLE])
def test_sections_change_no_name(code, monkeypatch):
    python = language_named("python")
    source = parse(code, python)
    whole = read_names(source, python)
    monkeypatch.setattr("lamr_postprocess.captures._SECTION", 200)
    names = read_names(source, python)
    assert (names.words, names.uses.tolist()) == (whole.words, whole.uses.tolist())
    assert (names.bindings, names.wildcards) == (whole.bindings, whole.wildcards)
    assert [(scope.parent, scope.kind) for scope in names.scopes] == [
        (scope.parent, scope.kind) for scope in whole.scopes
    ]
