"""A file's outline, as an agent sees it of a file that seems to hold nothing of what is looked for."""

from __future__ import annotations

import numpy as np
from lamr_postprocess import approximate_tokens, detect_language, line_spans, prune_lines
from lamr_postprocess.document import analyse
from lamr_postprocess.listing import read_listing
from lamr_postprocess.minified import minified
from lamr_postprocess.render import NAMED


def outline(code: str, path: str) -> tuple[str, tuple[int, ...]]:
    """The headers of a file's definitions, as text, and the numbers of the lines that are left."""
    listing = read_listing(code)
    body = code if listing is None else listing.body
    language = detect_language(body, path)
    if why := minified(line_spans(body)):
        return language.comment.wrap(f"... {why}") + "\n", ()
    document = analyse(code, language, listing=listing, naming=approximate_tokens)
    rows = () if document.definitions is None else document.definitions.rows.tolist()
    nothing = np.zeros(document.spans.shape[0])
    left = prune_lines(code, nothing, path=path, threshold=1.0, keep=[row + 1 for row in rows], markers=NAMED)
    return left.text, left.kept_lines
