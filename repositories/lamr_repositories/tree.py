"""The tree of a repository's folders and files as text, no deeper than tokens allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from lamr_errors import visible

_INDENT = "  "


@dataclass(eq=False)
class _Node:
    folders: dict[str, _Node] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def count(self) -> int:
        return len(self.files) + sum(each.count() for each in self.folders.values())


def tree_text(paths: Iterable[str], depth: int) -> str:
    """Return the tree of paths, one name a line; folders deeper than `depth` stand as the number of their files.

    Args:
        paths: from the root, with slashes.
        depth: levels of folders that are opened; at 0 files are counted by their ending.
    """
    root = _Node()
    for path in sorted(paths):
        node = root
        *folders, name = visible(path).split("/")
        for folder in folders:
            node = node.folders.setdefault(folder, _Node())
        node.files.append(name)
    if depth == 0:
        endings = Counter("." + name.rsplit(".", 1)[-1] if "." in name else name for name in _all(root))
        return ", ".join(f"{count:,} {ending}" for ending, count in endings.most_common(8))
    return "\n".join(_lines(root, depth, ""))


def _all(node: _Node) -> Iterable[str]:
    yield from node.files
    for each in node.folders.values():
        yield from _all(each)


def _lines(node: _Node, depth: int, indent: str) -> Iterable[str]:
    for name, each in sorted(node.folders.items()):
        if depth > 1:
            yield f"{indent}{name}/"
            yield from _lines(each, depth - 1, indent + _INDENT)
        else:
            count = each.count()
            yield f"{indent}{name}/ ({count:,} file{'s' if count > 1 else ''})"
    yield from (indent + name for name in node.files)


def tree_within(paths: Sequence[str], limit: int, count_tokens: Callable[[str], int]) -> str:
    """Return the deepest tree of at most `limit` tokens; empty where none fits."""
    deepest = max((path.count("/") for path in paths), default=0) + 1
    best = ""
    for depth in range(deepest + 1):
        text = tree_text(paths, depth)
        # Counting a text of so many characters would cost more than the tree is worth.
        if len(text) > limit * 8 or count_tokens(text) > limit:
            break
        best = text
    return best
