"""Which folders a client lets its tools read: those that the command names, within the client's own roots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import ListRoots
from mcp_types import ListRootsResult

from lamr_agents.workspace import OutsideRootsError, Workspace


async def ask_for_roots(context: Context) -> ListRoots | ListRootsResult:
    """Ask the client for its roots, where it says that it has some."""
    known = context.client_capabilities
    has_some = known is not None and known.roots is not None
    return ListRoots() if has_some else ListRootsResult(roots=[])


@dataclass(frozen=True)
class Reach:
    """The folders that may be read at the most.

    Attributes:
        folders: as the command names them; the first is what relative paths start from.
        client_decides: whether the client's roots take their place, as for a client that has started this process;
            otherwise they can only narrow them.
    """

    folders: Sequence[Path]
    client_decides: bool = False

    def workspace(self, roots: ListRootsResult) -> Workspace:
        """The files for a client with these roots; a client that lists none leaves it at the folders.

        Raises:
            OutsideRootsError: no root of the client's lies in the folders.
        """
        own = [folder.resolve() for folder in self.folders]
        theirs = [path for root in roots.roots if (path := _path_of(str(root.uri))) is not None]
        if not roots.roots:
            return Workspace(own)
        common = theirs if self.client_decides else _common(own, theirs)
        found = [folder for folder in dict.fromkeys(common) if folder.is_dir()]
        if not found:
            wanted, here = (", ".join(map(str, each)) or "no folder" for each in (theirs, own))
            raise OutsideRootsError(
                f"the client's roots ({wanted}) have no folder in common with what may be read here ({here})",
                argument="root",
            )
        return Workspace(found)


def _common(own: Sequence[Path], theirs: Sequence[Path]) -> list[Path]:
    """The inner one of each two folders of which one lies in the other."""
    pairs = [pair for root in theirs for ours in own for pair in ((ours, root), (root, ours))]
    return list(dict.fromkeys(inner for outer, inner in pairs if inner.is_relative_to(outer)))


def _path_of(uri: str) -> Path | None:
    parts = urlsplit(uri)
    return Path(unquote(parts.path)).resolve() if parts.scheme == "file" and "\0" not in parts.path else None
