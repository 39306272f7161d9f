"""What a file's path and first lines say about it: vendored, generated, minified; tests, prose, data, translations.

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
_LANGUAGE = r"[a-z]{2,3}(?:[-_@][a-z0-9]{2,8})*"
_TRANSLATION = re.compile(
    rf"(?:^|/)(?:locales?|i18n|l10n|translations?)/(?:.*/)?{_LANGUAGE}(?:/|\.\w+$)",
    re.IGNORECASE,
)
_BUILT = re.compile(r"(?:^|/)(?:dist|_?build|out|output|bundles?|compiled|min|_site)/", re.IGNORECASE)
_HEAD_CHARS = 2_000
_LONG_LINE = 300  # characters of a file's mean line, above which a machine wrote it
_PROSE = frozenset(["text", "markdown", "mdx", "restructuredtext", "asciidoc", "latex", "bibtex", "roff"])
_DATA_NAMES = """
    yaml toml ini ignore xml json jsonc jsonl diff gomod requirements robots yarn http neon systemd cabal dtd mermaid
    plantuml graphviz windows-resource
    """
_DATA = frozenset(_DATA_NAMES.split())
_TRANSLATED = frozenset(["gettext", "fluent"])
_NOT_CODE = _PROSE | _DATA | _TRANSLATED
ASKED_BY = {
    "test": "test tests testing spec specs fixture fixtures",
    "prose": "readme changelog documentation",
    "translation": "translation translations translate translated locale locales language languages i18n l10n gettext",
}
"""The words of a query by which it asks for other files than the sources."""


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
    """Return whether a language, by its name, is a programming language rather than prose, data or translations."""
    return language not in _NOT_CODE


def is_built(path: str) -> bool:
    """Return whether a folder on the way to a file is named as what a build writes into."""
    return bool(_BUILT.search(path))


def kind_of(path: str, language: str) -> str:
    """Return `code`, `test`, `prose`, `data` or `translation`."""
    if language in _TRANSLATED or _TRANSLATION.search(path):
        return "translation"
    if not is_code(language):
        return "prose" if language in _PROSE else "data"
    return "test" if is_test(path) else "code"
