"""What a path says about a file: its language, whether it holds tests, whether others or machines wrote it.

It reads names only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lamr_evaluation.reserved import VENDOR_FOLDERS
from lamr_postprocess.detection import detect_language
from lamr_postprocess.languages import Language
from lamr_postprocess.languages.table import name_set

_LANGUAGES = name_set("python javascript typescript tsx java go rust c cpp csharp ruby php")
"""Languages that corpora are made from; others that a grammar reads aren't."""
FOREIGN_FOLDERS = VENDOR_FOLDERS | {"packages", "typeshed", "locale", "locales", "_generated", "_gencode"}
"""Folders of a package that hold other projects' code, generated code or no code at all."""
# Folders of other people's code, of what tools write, and of samples; a workspace keeps its own code in `packages`.
_ALSO_FOREIGN = """
    node_modules bower_components dist deps 3rdparty extlibs external godeps submodules build out generated gen
    autogen __generated__ __snapshots__ snapshots fixtures testdata test_data golden migrations site website i18n l10n
    translations
    """
_FOREIGN = (FOREIGN_FOLDERS - {"packages"}) | frozenset(_ALSO_FOREIGN.split())
_FOREIGN_IN_C = frozenset({"contrib", "libs"})
_GENERATED = re.compile(
    r"\.min\.\w+$|[.-]bundle\.\w+$|\.pb\.(?:go|cc|h)$|_pb2(?:_grpc)?\.py$|\.g\.cs$|\.designer\.cs$|\.generated\.\w+$|"
    r"_generated\.\w+$|_gen\.go$|zz_generated|\.d\.ts$|-lock\.\w+$|assemblyinfo\.cs$|(?:^|/)version\.\w+$|"
    r"(?:^|/)_?version\.\w+$|(?:^|/)(?:setup|conf|__version__)\.py$|(?:^|/)doxyfile|package-info\.java$|"
    r"\.config\.[cm]?[jt]s$|(?:^|/)(?:gruntfile|gulpfile|rollup\.\w+|webpack\.\w+)\.[cm]?[jt]s$|\.tab\.[ch]$|"
    r"(?:^|/)lex\.\w+\.c$|(?:^|/)(?:gemfile|rakefile|podfile)$|\.gemspec$|\.py[xdi]$|\.pxi$",
    re.I,
)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|unittests?|testsuite|e2e|[\w.-]*tests|test[_-]\w+|it)/|"
    r"(?:^|/)(?:test|tests|conftest)\.\w+$|(?:^|/)test_[^/]*$|[._-](?:test|tests|spec|specs)\.[^/]*$|"
    r"(?:^|/)\w*(?:Test|Tests|TestCase|Spec|IT|Fixture)\.\w+$"
)


@lru_cache(maxsize=65_536)
def source_language(path: str) -> Language | None:
    """The language of a source file that corpora are made from; None of vendored, generated and all other ones."""
    *folders, name = path.split("/")
    parts = {folder.lower() for folder in folders}
    if parts & _FOREIGN or _GENERATED.search(path) or "." not in name:
        return None
    language = detect_language("", path)
    if language.name in {"c", "cpp"} and parts & _FOREIGN_IN_C:
        return None
    return language if language.name in _LANGUAGES else None


def holds_tests(path: str) -> bool:
    """Whether a file is a test by its name or folder."""
    return bool(_TEST.search(path))


def shown_language(name: str, repository_language: str) -> str:
    """A file's language as counts show it: TSX is TypeScript, and a C++ project's headers are C++."""
    if name == "tsx":
        return "typescript"
    return "cpp" if name == "c" and repository_language == "cpp" else name
