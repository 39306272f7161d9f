"""Repositories as a stranger would make them: settings, objects and indexes that git itself would never write."""

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from lamr_agents.mcp.workspace import Workspace
from lamr_repositories import PackOptions, PackResult, pack
from lamr_repositories.errors import RepositoryError

from tests.attack.place import Place

CODE = 'def retry(n):\n    """How many retries"""\n    return n\n'
SECRET = "SECRET-TOKEN-42"


class Hostile:
    """A repository `r` in a place, with a file `a.py` in one commit, and a secret beside it.

    Attributes:
        root, git: the work tree, and git's folder in it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.root = place.folder / "r"
        self.git = self.root / ".git"
        place.git("init", "-q", "-b", "main", self.root)
        (self.root / "a.py").write_text(CODE)
        self.commit()
        (place.folder / "secret.py").write_text(f"def retry(n):\n    return '{SECRET}'\n")

    def commit(self) -> None:
        """Commit all that there is."""
        self.place.git("add", "-A", cwd=self.root)
        self.place.git("commit", "-q", "--allow-empty", "-m", "x", cwd=self.root)

    def mark(self, name: str = "x") -> str:
        """Make a program that leaves a mark, and return its path."""
        program = self.place.folder / f"program-{name}"
        program.write_text(f"#!/bin/sh\ntouch {self.place.folder}/RAN-{name}\n")
        program.chmod(0o755)
        return str(program)

    def config(self, settings: Mapping[str, str]) -> None:
        """Write settings into the repository's configuration; `{mark}` in one stands for a program."""
        for name, value in settings.items():
            self.place.git("config", name, value.replace("{mark}", self.mark()), cwd=self.root)

    def promise(self, url: str = "", path: str = "a.py") -> None:
        """Take an object away, and name a remote that would bring it again."""
        name = self.place.git("rev-parse", f"HEAD:{path}", cwd=self.root)
        (self.git / "objects" / name[:2] / name[2:]).unlink()
        self.config(
            {
                "core.repositoryFormatVersion": "1",
                "extensions.partialClone": "origin",
                "remote.origin.promisor": "true",
                "remote.origin.url": url or str(self.root),
                "remote.origin.uploadpack": "{mark}",
            }
        )

    def ran(self) -> str:
        """Return which programs have left a mark."""
        return ", ".join(sorted(each.name for each in self.place.folder.glob("RAN-*"))) or "nothing ran"

    def put(self, kind: str, data: bytes, *, said: int | None = None) -> str:
        """Write an object; `said` is the size that its head announces. Returns its name."""
        whole = f"{kind} {len(data) if said is None else said}\0".encode() + data
        name = hashlib.sha1(whole).hexdigest()
        file = self.git / "objects" / name[:2] / name[2:]
        file.parent.mkdir(exist_ok=True)
        if not file.exists():
            file.write_bytes(zlib.compress(whole))
        return name

    def tree(self, entries: Sequence[tuple[str, bytes, str]]) -> str:
        """Write a tree of modes, names and objects, in the order given."""
        parts = (mode.encode() + b" " + name + b"\0" + bytes.fromhex(at) for mode, name, at in entries)
        return self.put("tree", b"".join(parts))

    def head(self, tree: str) -> None:
        """Make a commit of a tree the branch's head."""
        who = "a <a@b> 1 +0000"
        made = self.put("commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n".encode())
        (self.git / "refs" / "heads" / "main").write_text(f"{made}\n")

    def index(self, names: Sequence[bytes], mode: int = 0o100644) -> None:
        """Write an index that lists names."""
        blob = bytes.fromhex(self.put("blob", CODE.encode()))
        data = b"DIRC" + struct.pack(">II", 2, len(names))
        for name in sorted(names):
            body = struct.pack(">10I", *[0] * 6, mode, 0, 0, 10) + blob
            body += struct.pack(">H", min(len(name), 0xFFF)) + name
            data += body + b"\0" * (8 - len(body) % 8)
        (self.git / "index").write_bytes(data + hashlib.sha1(data).digest())


def packed(root: Path | str, revision: str | None = None) -> PackResult:
    """Pack a repository by words alone."""
    return pack(root, "How many retries", 4_000, options=PackOptions(revision=revision))


def shown(root: Path | str, revision: str | None = None) -> str:
    """Pack a repository and return what came of it: what was left out, or the error; and whether a secret leaked."""
    try:
        result = packed(root, revision)
    except RepositoryError as error:
        return f"refused: {error}"
    left = ", ".join(f"{count} {reason}" for reason, count in sorted(result.counts.left_out.items()))
    said = f"{result.counts.ranked} of {result.counts.files}" + (f"; left out {left}" if left else "")
    return f"LEAKED {said}" if SECRET in result.text else said


def tried_all_ways(hostile: Hostile) -> str:
    """Pack the work tree, its commit and its URL, and search it; return what ran."""
    said = [shown(hostile.root), shown(hostile.root, "HEAD"), shown(hostile.root.as_uri())]
    try:
        Workspace([hostile.root]).search("retry")
    except RepositoryError as error:
        said.append(f"refused: {error}")
    leaked = "LEAKED " * any("LEAKED" in each for each in said)
    return leaked + hostile.ran()
