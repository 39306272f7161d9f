"""A HAProxy that can't run a front is refused, with what is missing."""

from pathlib import Path

import pytest
from lamr_serving.errors import FrontStartError
from lamr_serving.front import haproxy

ABOUT = "HAProxy version {version}-1 2026/01/01\nFeature list : -51DEGREES {lua} +PCRE\n"


@pytest.mark.parametrize(
    ("version", "lua", "refusal"),
    [
        ("2.8.25", "+LUA", None),
        ("3.2.1", "+LUA", None),
        ("2.6.12", "+LUA", "is HAProxy 2.6, but 2.8 or later"),
        ("2.8.25", "-LUA", "built without Lua"),
        ("3.2.1", "", "built without Lua"),
    ],
)
def test_version_and_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, lua: str, refusal: str | None
) -> None:
    program = tmp_path / "haproxy"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{ABOUT.format(version=version, lua=lua)}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(haproxy, "_bundled", lambda: program)
    if refusal is None:
        assert haproxy.find_haproxy() == program
    else:
        with pytest.raises(FrontStartError, match=refusal):
            haproxy.find_haproxy()
