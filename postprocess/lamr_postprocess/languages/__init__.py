"""Languages as tables: their columns, their rows, and the detection of a text's language."""

from lamr_postprocess.languages.detection import detect_language
from lamr_postprocess.languages.registry import LANGUAGES, language_named
from lamr_postprocess.languages.table import Comment, Language, ListKind

__all__ = ["LANGUAGES", "Comment", "Language", "ListKind", "detect_language", "language_named"]
