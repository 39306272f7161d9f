"""JSON with comments is read as Python reads it without them, and each part has its place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamr_agents.installing.json_entries import MOST_DEPTH, JsoncError, Value, read

KEYS = st.text(st.characters(codec="utf-8"), max_size=6).filter(
    lambda key: key not in {"hooks", "mcpServers"}
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
_HOOK = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=9)})
_GROUP = st.fixed_dictionaries({"matcher": st.text(max_size=5), "hooks": st.lists(_HOOK, max_size=2)})
_HOOKS = st.dictionaries(
    st.sampled_from(["PostToolUse", "Stop", "AfterTool"]), st.lists(_GROUP, max_size=2), max_size=3
)
_SERVER = st.fixed_dictionaries({"command": st.text(max_size=5)})
_SERVERS = st.dictionaries(st.text(max_size=4).filter(lambda name: name != "lamr"), _SERVER, max_size=2)
OBJECTS = st.builds(
    lambda *parts: {key: value for part in parts for key, value in part.items()},
    *(
        st.dictionaries(KEYS, VALUES, max_size=3),
        st.one_of(st.just({}), st.fixed_dictionaries({"hooks": _HOOKS})),
    ),
    *(
        st.one_of(st.just({}), st.fixed_dictionaries({"mcpServers": _SERVERS})),
        st.dictionaries(KEYS, VALUES, max_size=2),
    ),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text of a file of settings: an object, or nothing."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", "\n", " \n\t\n", "\ufeff", "// nothing yet\n", "/* nothing */"]))
    data = draw(OBJECTS)
    manner = draw(st.sampled_from(["compact", "wide", 1, 2, 4, "\t", "by hand"]))
    text = _written(data, manner) if manner != "by hand" else _by_hand(draw, data)
    text += draw(st.sampled_from(["", "\n", "\n\n", "  \n// the end"]))
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return draw(st.sampled_from(["", "\ufeff"])) + text


def _written(data: Any, manner: Any) -> str:
    if manner == "compact":
        return json.dumps(data, separators=(",", ":"))
    return json.dumps(data) if manner == "wide" else json.dumps(data, indent=manner, ensure_ascii=False)


def _by_hand(draw: st.DrawFn, value: Any) -> str:
    """A value with comments, blanks and commas where JSON with comments lets them be."""
    blank = draw(st.sampled_from(["", " ", "\n", "\n  ", ' // why, "hooks": {\n', "/* } */", "\t"]))
    if not isinstance(value, dict | list) or not value:
        return blank + json.dumps(value)
    keys = (
        [f"{json.dumps(key)}{draw(st.sampled_from(['', ' ']))}:" for key in value]
        if isinstance(value, dict)
        else None
    )
    inner = list(value.values()) if isinstance(value, dict) else value
    parts = [
        draw(st.sampled_from(["", "\n", "\n\t"])) + (keys[n] if keys else "") + _by_hand(draw, part)
        for n, part in enumerate(inner)
    ]
    end = draw(st.sampled_from(["", ",", "\n", " // last\n", ",\n"]))
    begin, stop = "{}" if isinstance(value, dict) else "[]"
    return f"{blank}{begin}{','.join(parts)}{end}{stop}"


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
