"""Every language that this package knows, and how to find one by its name.

To add a language, add its table to those with a grammar; nothing else in the package changes but its row in
`scans`."""

from lamr_postprocess.languages.c import CPP, C
from lamr_postprocess.languages.csharp import CSHARP
from lamr_postprocess.languages.css import CSS
from lamr_postprocess.languages.dart import DART
from lamr_postprocess.languages.data import JSON, JSONC, NOTEBOOK, TOML, YAML
from lamr_postprocess.languages.ecmascript import JAVASCRIPT, TSX, TYPESCRIPT
from lamr_postprocess.languages.elixir import ELIXIR
from lamr_postprocess.languages.go import GO
from lamr_postprocess.languages.hcl import TERRAFORM
from lamr_postprocess.languages.java import JAVA
from lamr_postprocess.languages.kotlin import KOTLIN
from lamr_postprocess.languages.lua import LUA
from lamr_postprocess.languages.markup import HTML, SVELTE, VUE, XML
from lamr_postprocess.languages.objective_c import OBJECTIVE_C
from lamr_postprocess.languages.php import PHP
from lamr_postprocess.languages.plain import COMMENTED, PLAIN
from lamr_postprocess.languages.python import PYTHON
from lamr_postprocess.languages.ruby import RUBY
from lamr_postprocess.languages.rust import RUST
from lamr_postprocess.languages.scala import SCALA
from lamr_postprocess.languages.shell import SHELL
from lamr_postprocess.languages.swift import SWIFT
from lamr_postprocess.languages.table import Language
from lamr_postprocess.languages.zig import ZIG

# fmt: off
_WITH_GRAMMAR: tuple[Language, ...] = (
    PYTHON, JAVASCRIPT, TYPESCRIPT, TSX, JAVA, GO, RUST, C, CPP, OBJECTIVE_C, CSHARP, RUBY, PHP, KOTLIN, SWIFT,
    SCALA, DART, LUA, ELIXIR, ZIG, SHELL, TERRAFORM, HTML, VUE, SVELTE, XML, CSS, JSON, NOTEBOOK, JSONC, YAML, TOML,
)
# fmt: on
_NAMES = frozenset(language.name for language in _WITH_GRAMMAR)
LANGUAGES = (*_WITH_GRAMMAR, *(language for language in PLAIN if language.name not in _NAMES), *COMMENTED)
"""A language with a grammar takes the place of its row among those that are pruned line by line."""

_BY_NAME = {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}


def language_named(name: str) -> Language:
    """The table of a language by its name or an alias, in any case. Raises `ValueError`: there is no such language;
    the message lists the known names."""
    language = _BY_NAME.get(name.strip().lower())
    if language is None:
        known = ", ".join(sorted(each.name for each in LANGUAGES))
        raise ValueError(f"unknown language {name!r}; known: {known}")
    return language
