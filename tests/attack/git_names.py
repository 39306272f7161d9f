"""Names that lead out of a repository, whoever lists them, and repositories that lead to others."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lamr_repositories.errors import RepositoryError
from lamr_repositories.folders import Folder, NamedFiles

from tests.attack.case import Case
from tests.attack.hostile import CODE, SECRET, Hostile, shown
from tests.attack.place import Place

INDEXED = (
    b"../secret.py",
    b"x/../../secret.py",
    b"./../secret.py",
    b"x//../../secret.py",
    b".git/config",
    b".GIT/config",
    b"git~1/config",
    b".git./config",
    b"a.py/../../secret.py",
    b"/etc/passwd",
    b"//etc/passwd",
    b"..",
    b".",
    b"/",
)


def _indexed(name: bytes) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        hostile.index([b"a.py", name])
        return shown(hostile.root)

    return attempt


def _indexed_absolute(place: Place) -> str:
    hostile = Hostile(place)
    hostile.index([b"a.py", os.fsencode(place.folder / "secret.py")])
    return shown(hostile.root)


def _in_a_tree(mode: str, name: bytes) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        content = b"../secret.py" if mode == "120000" else f"'{SECRET}'".encode() + CODE.encode()
        blob = hostile.put("blob", content)
        hostile.head(
            hostile.tree([("100644", b"a.py", hostile.put("blob", CODE.encode())), (mode, name, blob)])
        )
        return shown(hostile.root, "HEAD")

    return attempt


def _swapped(place: Place) -> str:
    """A folder becomes a link between listing and reading."""
    root, away = place.folder / "r", place.folder / "away"
    for folder, text in ((root / "in", CODE), (away, f"x = '{SECRET}'\n")):
        folder.mkdir(parents=True)
        (folder / "b.py").write_text(text)
    source = Folder(root)
    listed = list(source.files())
    (root / "in").rename(place.folder / "moved")
    (root / "in").symlink_to(away)
    return "; ".join("read" if data else "left out" for _, data in source.read_all(listed))


def _swapped_for_a_fifo(place: Place) -> str:
    (place.folder / "b.py").write_text(CODE)
    source = Folder(place.folder)
    listed = list(source.files())
    (place.folder / "b.py").unlink()
    os.mkfifo(place.folder / "b.py")
    return "; ".join("read" if data else "left out" for _, data in source.read_all(listed))


def _named(place: Place) -> str:
    root = place.folder / "r"
    (root / "in").mkdir(parents=True)
    (root / "link").symlink_to(place.folder)
    (place.folder / "secret.py").write_text(SECRET)
    said = []
    for name in (
        "../secret.py",
        str(place.folder / "secret.py"),
        "in/../../secret.py",
        "link/secret.py",
        "link/../secret.py",
    ):
        try:
            source = NamedFiles(root, [name])
            said.append("read" if [d for _, d in source.read_all(list(source.files())) if d] else "left out")
        except RepositoryError:
            said.append("refused")
    return ", ".join(said)


def _grown(place: Place) -> str:
    (place.folder / "b.py").write_text(CODE)
    source = Folder(place.folder)
    listed = list(source.files())
    with (place.folder / "b.py").open("wb") as file:
        file.truncate(1 << 40)
    return "; ".join("read" if data else "left out" for _, data in source.read_all(listed))


def _private(place: Place) -> Path:
    private = place.folder / "private"
    place.git("init", "-q", "-b", "main", private)
    (private / "s.py").write_text(f"def retry(n):\n    return '{SECRET}'\n")
    place.git("add", "-A", cwd=private)
    place.git("commit", "-q", "-m", "x", cwd=private)
    return private / ".git"


def _git_file(dot: Path, private: Path) -> None:
    dot.write_text(f"gitdir: {private}\n")


def _git_link(dot: Path, private: Path) -> None:
    dot.symlink_to(private)


def _common_folder(dot: Path, private: Path) -> None:
    dot.mkdir()
    (dot / "commondir").write_text(f"{private}\n")
    (dot / "HEAD").write_text("ref: refs/heads/main\n")


def _linked_refs(dot: Path, private: Path) -> None:
    (dot / "objects" / "info").mkdir(parents=True)
    (dot / "objects" / "info" / "alternates").write_text(f"{private / 'objects'}\n")
    (dot / "HEAD").write_text("ref: refs/heads/main\n")
    (dot / "refs" / "heads").mkdir(parents=True)
    (dot / "refs" / "heads" / "main").symlink_to(private / "refs" / "heads" / "main")


def _linked_objects(dot: Path, private: Path) -> None:
    dot.mkdir()
    (dot / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (dot / name).symlink_to(private / name)


def _inner_file(dot: Path, private: Path) -> None:
    _common_folder(dot.with_name("g"), private)
    dot.write_text("gitdir: g\n")


def _pointing_back(dot: Path, private: Path) -> None:
    folder = dot.parent.parent / "g"
    _common_folder(folder, private)
    (folder / "gitdir").write_text(f"{dot}\n")
    dot.write_text(f"gitdir: {folder}\n")


LED = (_git_file, _git_link, _common_folder, _linked_refs, _linked_objects, _inner_file, _pointing_back)


def _led(made: Callable[[Path, Path], None]) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        private = _private(place)
        root = place.folder / "r"
        root.mkdir()
        (root / "a.py").write_text(CODE)
        made(root / ".git", private)
        said = [shown(root), shown(root, "HEAD"), shown(root.as_uri())]
        return "; ".join("refused" if each.startswith("refused") else each.split(";")[0] for each in said)

    return attempt


def _own_work_trees(place: Place) -> str:
    """What git itself makes so goes on working."""
    hostile = Hostile(place)
    place.git("worktree", "add", "-q", place.folder / "tree", cwd=hostile.root)
    place.git("clone", "-q", "--shared", hostile.root, place.folder / "shared")
    return "; ".join(shown(place.folder / name, "HEAD") for name in ("tree", "shared"))


_case = partial(Case, "paths")
_quick = partial(Case, "paths", quick=True)
PATHS = (
    *(
        _case(
            f"an index that lists {ascii(name)[2:-1]}",
            _indexed(name),
            r"1 of 2; left out 1 (outside of the root|not a regular file)",
            quick=number < 3,
        )
        for number, name in enumerate(INDEXED)
    ),
    _quick("an index that lists a whole path", _indexed_absolute, "1 of 2; left out 1 outside of the root"),
    *(
        _case(
            f"a tree with {ascii(name)[2:-1]} of mode {mode}",
            _in_a_tree(mode, name),
            "1 of 2; left out 1 [a-z].*",
        )
        for mode, name in (
            ("100644", b".."),
            ("100644", b".git"),
            ("100644", b"../secret.py"),
            ("100644", b".GIT"),
            ("100644", b"/etc/passwd"),
            ("120000", b"link.py"),
            ("160000", b"sub"),
            ("100644", b"new\nline.py"),
            ("100644", b"esc\x1b[2J.py"),
            ("100644", b"bad\xff.py"),
            ("100644", b"git~1"),
            ("100664", b".."),
        )
    ),
    _quick("a folder that becomes a link before it is read", _swapped, "left out"),
    _quick("a file that becomes a FIFO before it is read", _swapped_for_a_fifo, "left out"),
    _quick("a file that grows to a terabyte before it is read", _grown, "left out"),
    _quick(
        "a list that names what lies elsewhere",
        _named,
        "refused, refused, refused, left out, refused|refused, refused, refused, left out, left out",
    ),
    *(
        _case(
            f".git that leads to another repository: {made.__name__[1:]}",
            _led(made),
            r"\d of \d; refused; refused",
            quick=made is _git_file,
        )
        for made in LED
    ),
    _case("work trees and clones that git made", _own_work_trees, "1 of 1; 1 of 1"),
)
