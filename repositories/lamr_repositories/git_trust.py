"""Sees that a repository's commits are its own: its `.git` can lead to the objects of another repository of the user's.

git follows a `.git` that is a file or a link, a `commondir`, and links in place of its own files, wherever they lead.
Whoever wrote them would choose what of the user's a pack shows. What git itself makes so points back: a work tree's
folder names the `.git` that leads to it, and so does a submodule's. This module reads git's folder, and starts git only
to ask for a setting."""

import itertools
import os
import stat
from pathlib import Path

from lamr_base.files import read_regular

from lamr_repositories.errors import RepositoryError
from lamr_repositories.git import run_git

_OWN = ("HEAD", "config", "objects", "packed-refs", "refs")
_ALTERNATES = Path("objects", "info", "alternates")
_MOST_REFS = 100_000
_MOST_BYTES = 1 << 16  # of the small files in which git keeps a path


def refuse_foreign_objects(root: Path) -> None:
    """See that git's folder of a root, or of the work tree that it is in, is the repository's own. It may be bare."""
    top = next(
        (each for each in (root.resolve(), *root.resolve().parents) if os.path.lexists(each / ".git")), None
    )
    bare = (root / "HEAD").exists() and (root / "objects").exists()
    if top is None or bare:
        folder = root
    elif stat.S_ISDIR((top / ".git").lstat().st_mode):
        folder = top / ".git"
    else:
        folder = _led_to(top)
        if not folder.is_relative_to(top) and not _points_back(folder, top):
            raise _foreign(top / ".git", folder)
    if problem := _leads_elsewhere(folder):
        raise _foreign(problem, Path(os.path.realpath(problem)))


def _led_to(top: Path) -> Path:
    """Return the folder that a `.git` leads to."""
    dot = top / ".git"
    if dot.is_symlink():
        return dot.resolve()
    return (top / _text(dot).removeprefix("gitdir:").strip()).resolve()


def _points_back(folder: Path, top: Path) -> bool:
    if (named := _text(folder / "gitdir")) and (folder / named).resolve() == (top / ".git").resolve():
        return True
    asked = ("config", "--file", str(folder / "config"), "--get", "core.worktree")
    done = run_git(*asked, check=False)
    named = os.fsdecode(done.stdout).removesuffix("\n")
    return bool(named) and (folder / named).resolve() == top


def _leads_elsewhere(folder: Path) -> Path | None:
    """Return what in git's own folder leads out of it; None where nothing does."""
    common = folder
    if os.path.lexists(folder / "commondir"):  # a work tree's folder lies in the one that it shares
        common = (folder / _text(folder / "commondir")).resolve()
        if common not in folder.resolve().parents:
            return folder / "commondir"
    linked = [place / name for place in (folder, common) for name in _OWN if (place / name).is_symlink()]
    if not linked and os.path.lexists(common / _ALTERNATES):
        # Objects of others are no secret to whoever names them, but links can name them for him.
        linked = _links(common / "refs")
    return linked[0] if linked else None


def _links(refs: Path) -> list[Path]:
    walked = (Path(where) / name for where, folders, files in os.walk(refs) for name in (*folders, *files))
    return [each for each in itertools.islice(walked, _MOST_REFS) if each.is_symlink()][:1]


def _text(file: Path) -> str:
    """Return what a small file says; nothing for anything but a regular file."""
    try:
        return os.fsdecode(read_regular(file, _MOST_BYTES)).strip()
    except OSError:
        return ""


def _foreign(what: Path, folder: Path) -> RepositoryError:
    return RepositoryError(
        f"{what} leads to {str(folder)!r}, which doesn't point back: another repository's commits would be shown; "
        "name that one if you mean it, or leave the revision out",
        path=what,
    )
