"""An expression is compiled when it is first used, and then does what the compiled one does."""

import re

import pytest
from lamr_base.expressions import expression


def test_it_is_compiled_at_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    original = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given[0]) or original(*given))
    made = expression(r"(?P<word>[a-z]+)\d", re.IGNORECASE)
    assert made.pattern == r"(?P<word>[a-z]+)\d"
    assert compiled == []
    found = made.search("1 Ab2")
    assert found
    assert found["word"] == "Ab"
    assert compiled == [made.pattern]


def test_it_does_what_the_compiled_one_does() -> None:
    text, given = b"a1 b22\nc", (rb"^(\w)(\d*)", re.MULTILINE)
    lazy, real = expression(*given), re.compile(*given)
    assert lazy.findall(text) == real.findall(text)
    assert lazy.sub(rb"\2", text, count=1) == real.sub(rb"\2", text, count=1)
    assert (lazy.flags, lazy.groups) == (real.flags, real.groups)
    with pytest.raises(AttributeError):
        lazy.nothing  # noqa: B018


def test_a_wrong_one_is_an_error_where_it_is_used() -> None:
    with pytest.raises(re.error):
        expression("(").match("")
