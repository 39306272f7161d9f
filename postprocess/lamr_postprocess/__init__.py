"""Post-processing of line scores: selection, repair that keeps code standing, and rendering.

Usable on its own: needs numpy and tree-sitter, no model and no server.

    from lamr_postprocess import prune_lines
    pruned = prune_lines(code, scores, path="module.py", threshold=0.4)
    print(pruned.text)"""

from typing import TYPE_CHECKING

from lamr_base.lazy import lazily

from lamr_postprocess.byte_counts import approximate_tokens
from lamr_postprocess.detection import detect_language
from lamr_postprocess.document import LEAST_CUT
from lamr_postprocess.encodings import DecodedFile, Encoding, decode
from lamr_postprocess.languages import LANGUAGES, Comment, Language, ListKind, language_named
from lamr_postprocess.lines import line_spans, split_lines
from lamr_postprocess.prune import prune_lines
from lamr_postprocess.result import Cut, PrunedCode, cut_texts, restore
from lamr_postprocess.selection import BudgetError
from lamr_postprocess.source_file import SourceFile
from lamr_postprocess.view import render_heat, render_json

if TYPE_CHECKING:
    from lamr_postprocess.page import render_html

__all__ = ["LANGUAGES", "LEAST_CUT", "BudgetError", "Comment", "Cut", "DecodedFile", "Encoding", "Language"]
__all__ += ["ListKind", "PrunedCode", "SourceFile", "approximate_tokens", "cut_texts", "decode"]
__all__ += ["detect_language", "language_named", "line_spans", "prune_lines", "render_heat", "render_html"]
__all__ += ["render_json", "restore", "split_lines"]

__getattr__, __dir__ = lazily(__name__, {"lamr_postprocess.page": "render_html"})  # pages are seldom drawn
