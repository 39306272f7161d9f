"""The HTML page of a pack, to look at: files by score, what was kept of each and why, and the pack's text."""

from lamr_postprocess.page import page

from lamr_repositories.result import PackResult


def render_page(result: PackResult) -> str:
    """Return the page of a pack; it is `lamr_postprocess`'s, and asks no server."""
    return page({"pack": result.to_dict()})
