"""Languages as tables: their columns, their rows, and what names and contents say about a text's language."""

from lamr_postprocess.languages.registry import LANGUAGES, language_named
from lamr_postprocess.languages.table import AtomicSpan, Comment, Language, ListKind

__all__ = ["LANGUAGES", "AtomicSpan", "Comment", "Language", "ListKind", "language_named"]
