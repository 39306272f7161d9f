"""JSON with comments is read as Python reads it without them, and each part has its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_agents.installing.json_entries import MOST_DEPTH, JsoncError, Value, read

from tests.agents.installing.documents import VALUES, texts


def plain(value: Value, text: str) -> Any:
    """The value's data as Python's own reader gives it, from the texts of its leaves."""
    if isinstance(value.data, dict):
        return {part.key: plain(part.value, text) for part in value.parts}
    if isinstance(value.data, list):
        return [plain(part.value, text) for part in value.parts]
    return json.loads(text[value.start : value.end])


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_json_is_read_as_python_reads_it(data: Any, indent: Any) -> None:
    text = json.dumps(data, indent=indent)
    value = read(text)
    assert value is not None
    assert plain(value, text) == data
    assert (value.start, value.end) == (0, len(text))


@given(texts())
def test_what_people_write_is_read(text: str) -> None:
    value = read(text)
    assert value is None or isinstance(value.data, dict)


@given(st.text(alphabet='{}[]",:/*\\ \n1a-', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = read(text)
    except JsoncError:
        return
    assert value is None or text[value.start : value.end].strip()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1: expected a key"),
        ('{"a": 1 "b": 2}', "expected a comma or }"),
        ('{"a": 1,\n"a": 2}', "a key stands there twice"),
        ('{"a" 1}', "expected a colon"),
        ("[1,,2]", "expected a value"),
        ("{} {}", "something follows the value"),
        ('{"a": NaN}', "expected a value"),
        ('{"a": 01}', "expected a value"),
        ('{"a": "\\q"}', "an escape that JSON hasn't"),
        ("/* {}", "expected a value"),
        ("[" * (MOST_DEPTH + 2), "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, why: str) -> None:
    with pytest.raises(JsoncError, match=why):
        read(text)
