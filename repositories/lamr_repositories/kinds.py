"""What a file's path and first lines say about it: vendored, generated, minified; tests, prose or data.

These are facts about names and forms. What follows from them (a file is left out, or competes at a lower weight) is
decided elsewhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

_VENDOR_NAMES = """
    node_modules bower_components vendor vendored _vendor site-packages godeps pods carthage third_party third-party
    thirdparty 3rdparty .venv venv __pycache__ .tox .git
    """
_VENDORED = frozenset(_VENDOR_NAMES.split())
_GENERATED_NAME = re.compile(
    r"\.pb\.(?:go|cc|h)$|_pb2(?:_grpc)?\.pyi?$|\.g\.(?:cs|dart)$|\.designer\.cs$|[._]generated\.\w+$|zz_generated|"
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|pipfile\.lock|"
    r"cargo\.lock|composer\.lock|gemfile\.lock|go\.sum|flake\.lock|packages\.lock\.json)$|\.(?:map|snap|lock)$",
    re.IGNORECASE,
)
_GENERATED_HEAD = re.compile(
    r"@generated\b|^.{0,4}\s*code generated .* do not edit|"
    r"\b(?:auto-?generated|automatically generated|generated (?:by|from))\b.{0,200}\b(?:do not|don't) (?:edit|modify)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_MINIFIED_NAME = re.compile(r"[.-](?:min|bundle)\.(?:js|css|mjs|cjs)$", re.IGNORECASE)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|unittests?|testsuite|testdata|e2e|[\w.-]*tests)/|"
    r"(?:^|/)(?:test|tests|conftest)\.\w+$|(?:^|/)test_[^/]*$|[._-](?:test|tests|spec|specs)\.[^/]*$|"
    r"(?:^|/)\w*(?:Test|Tests|TestCase|Spec)\.\w+$"
)
_HEAD_CHARS = 2_000
_LONG_LINE = 300  # characters of a file's mean line, above which a machine wrote it
_NOT_CODE = frozenset(["text", "yaml", "toml", "ini", "ignore", "xml", "markdown", "json", "latex", "diff"])


def left_out_by_path(path: str) -> str | None:
    """Return why a file is left out by its path alone; None for one that isn't."""
    *folders, name = path.lower().split("/")
    if not _VENDORED.isdisjoint(folders):
        return "vendored"
    if _MINIFIED_NAME.search(name):
        return "minified"
    return "generated" if _GENERATED_NAME.search(path) else None


def left_out_by_text(text: str) -> str | None:
    """Return why a file is left out by its content; None for one that isn't."""
    if not text.strip():
        return "empty"
    if len(text) > _HEAD_CHARS and len(text) / (text.count("\n") + 1) > _LONG_LINE:
        return "minified"
    return "generated" if _GENERATED_HEAD.search(text[:_HEAD_CHARS]) else None


@lru_cache(maxsize=65_536)
def is_test(path: str) -> bool:
    """Return whether a file is a test by its name or folder."""
    return bool(_TEST.search(path))


def is_code(language: str) -> bool:
    """Return whether a language, by its name, is a programming language rather than prose, data or settings."""
    return language not in _NOT_CODE
