"""Which language a part of a text is in that its tag describes: the script or the style of a page."""

from lamr_base.expressions import expression

from lamr_postprocess.languages.registry import language_named
from lamr_postprocess.languages.table import Language

_ATTRIBUTE = expression(rb"\b(?:lang|type)\s*=\s*[\"']?([\w./+-]+)")
_LONGEST_TAG = 2_000  # bytes
_NAMES = {
    "module": "javascript",
    "text/babel": "javascript",
    "importmap": "json",
    "application/ld+json": "json",
    # A grammar that reads one of these badly leaves it whole.
    "scss": "css",
    "less": "css",
    "postcss": "css",
}
"""Languages by what an attribute says, where that isn't the name behind `text/` or `application/`."""


def language_inside(name: str, tag: bytes) -> Language | None:
    """The language that the tag's attribute names, else the one of this name; None where there is no such language."""
    told = _ATTRIBUTE.search(tag[:_LONGEST_TAG])
    named = told[1].decode("ascii").lower() if told else name
    try:
        return language_named(_NAMES.get(named, named.removeprefix("text/").removeprefix("application/")))
    except ValueError:
        return None
