"""Objects that aren't what they say."""

import os
import zlib
from collections.abc import Callable
from functools import partial

from tests.attack.case import Case
from tests.attack.hostile import CODE, SECRET, Hostile, packed, shown
from tests.attack.place import Place


def _with_object(made: Callable[[Hostile], str], mode: str = "100644") -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        good = hostile.put("blob", CODE.encode())
        hostile.head(
            hostile.tree(
                [("100644", b"a.py", good), (mode, b"b.py", made(hostile)), ("100644", b"c.py", good)]
            )
        )
        return shown(hostile.root, "HEAD")

    return attempt


def _damaged(hostile: Hostile) -> str:
    name = hostile.put("blob", b"x = 1\n" * 100)
    file = hostile.git / "objects" / name[:2] / name[2:]
    data = file.read_bytes()
    file.write_bytes(data[:-8])
    return name


def _bomb(hostile: Hostile) -> str:
    """A loose object of some kB whose content has a gigabyte, under the name of another."""
    name = hostile.put("blob", b"y = 1\n")
    file = hostile.git / "objects" / name[:2] / name[2:]
    packer = zlib.compressobj()
    zeros = b"\0" * (1 << 20)
    file.write_bytes(
        packer.compress(b"blob 6\0") + b"".join(packer.compress(zeros) for _ in range(1024)) + packer.flush()
    )
    return name


def _announced(size: int) -> Callable[[Hostile], str]:
    return lambda hostile: hostile.put("blob", b"x = 1\n", said=size)


def _fifo_object(hostile: Hostile) -> str:
    name = hostile.put("blob", b"z = 1\n")
    file = hostile.git / "objects" / name[:2] / name[2:]
    file.unlink()
    os.mkfifo(file)
    return name


def _replaced(place: Place) -> str:
    hostile = Hostile(place)
    other = hostile.put("blob", f"x = '{SECRET}'\n".encode())
    place.git("replace", "HEAD:a.py", other, cwd=hostile.root)
    return shown(hostile.root, "HEAD")


def _twice(place: Place) -> str:
    hostile = Hostile(place)
    blob = hostile.put("blob", CODE.encode())
    hostile.head(
        hostile.tree(
            [("100644", b"a.py", blob), ("100644", b"a.py", blob), ("40000", b"a.py", hostile.tree([]))]
        )
    )
    return shown(hostile.root, "HEAD")


def _long_names(place: Place) -> str:
    hostile = Hostile(place)
    blob = hostile.put("blob", CODE.encode())
    hostile.head(hostile.tree([("100644", b"a.py", blob), ("100644", b"n" * 1_000_000 + b".py", blob)]))
    return str(len(packed(hostile.root, "HEAD").files))


_case = partial(Case, "objects")
_quick = partial(Case, "objects", quick=True)
OBJECTS = (
    _quick("a damaged file", _with_object(_damaged), "2 of 3; left out 1 (unreadable|missing.*)"),
    _quick(
        "a missing file", _with_object(lambda _: "1" * 40), "2 of 3; left out 1 missing from git's objects"
    ),
    _case(
        "a file of 6 bytes that inflates to a gigabyte", _with_object(_bomb), "[23] of 3.*|refused: .*", 10
    ),
    _case("a file that announces 2 GB", _with_object(_announced(2 << 30)), "2 of 3; left out 1 .*", 10),
    _case("a file that announces 2^63 bytes", _with_object(_announced(1 << 63)), "2 of 3; left out 1 .*", 10),
    _case("a file that announces less than it has", _with_object(_announced(1)), "2 of 3; left out 1 .*", 10),
    _quick(
        "a tree in a file's place", _with_object(lambda hostile: hostile.tree([])), "2 of 3; left out 1 .*"
    ),
    _case(
        "a file in a tree's place",
        _with_object(lambda hostile: hostile.put("blob", b"x"), "40000"),
        "refused: .*",
    ),
    _case(
        "a commit in a file's place",
        _with_object(lambda hostile: hostile.put("commit", b"x")),
        "2 of 3; left out 1 .*",
    ),
    _case(
        "a link to elsewhere",
        _with_object(lambda hostile: hostile.put("blob", b"/etc/passwd"), "120000"),
        "2 of 3; left out 1 symbolic link",
    ),
    _case("a FIFO in an object's place", _with_object(_fifo_object), "refused: .*", 80),
    _quick("an object that git would replace", _replaced, "1 of 1"),
    _quick("a tree that names a file twice", _twice, "[12] of [12]"),
    _case("a name of a megabyte", _long_names, "[12]", 30),
)
