"""Models that a host lists itself: one that it doesn't know is treated in another way than those that people use."""

import functools
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

BINARIES = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin"
_SECONDS = 120


def _printed(*command: str | Path, **more: str) -> str:
    """What a host's program prints in an empty home."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            list(map(str, command)),
            env={**os.environ, "HOME": home, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    return done.stdout


@functools.cache
def codex(*, code_mode: bool = False) -> str:
    """The first model of Codex that people can choose and that calls tools itself, or in code mode by scripts."""
    listed: dict[str, Any] = json.loads(_printed(BINARIES / "codex", "debug", "models"))
    modes = {each["slug"]: each.get("tool_mode") == "code_mode_only" for each in listed["models"]}
    return next(name for name, by_scripts in modes.items() if by_scripts is code_mode)


@functools.cache
def copilot_cli() -> str:
    """The first of Anthropic's models in Copilot CLI's list."""
    return _first(r'- "(claude-[\w.-]+)"', _printed(BINARIES / "copilot", "help", "config"))


@functools.cache
def opencode(name: str = "opencode") -> str:
    """The first of Anthropic's models in the list of OpenCode, or of a program made of it."""
    more = {f"{each}_DISABLE_MODELS_FETCH": "1" for each in ("OPENCODE", "KILO")}
    printed = _printed(BINARIES / name, "models", ANTHROPIC_API_KEY="none", **more)
    return _first(r"^anthropic/(claude-\S+)", printed)


@functools.cache
def pi() -> str:
    """The first of Anthropic's models in pi's list."""
    program = (BINARIES / "node", (BINARIES / "pi").resolve(), "--list-models")
    return _first(r"^anthropic\s+(claude-\S+)", _printed(*program, ANTHROPIC_API_KEY="none", PI_OFFLINE="1"))


CLAUDE_CODE = "opus"
"""A name for the latest model of a kind, which the host itself resolves."""
ANTHROPIC = "claude-opus-4-8"
"""For hosts that know no models of Anthropic's themselves."""
GEMINI_CLI = "pro"
"""As `CLAUDE_CODE`."""


def _first(pattern: str, printed: str) -> str:
    found = re.search(pattern, printed, re.MULTILINE)
    assert found, printed[-2000:]
    return found[1]
