"""Every language this package knows, found by name.

Adding a language means adding its table to `LANGUAGES`; nothing else in the package changes.
"""

from __future__ import annotations

from lamr_postprocess.languages.plain import PLAIN
from lamr_postprocess.languages.python import PYTHON
from lamr_postprocess.languages.table import Language

LANGUAGES: tuple[Language, ...] = (PYTHON, *PLAIN)

_BY_NAME = {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}


def language_named(name: str) -> Language:
    """The table of a language by its name or an alias, in any case.

    Raises:
        ValueError: no such language; the message lists the known names.
    """
    found = _BY_NAME.get(name.strip().lower())
    if found is None:
        known = ", ".join(sorted(language.name for language in LANGUAGES))
        raise ValueError(f"unknown language {name!r}; known: {known}")
    return found
