"""Lists without end, patterns without end, and git's own files as git would never write them."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.attack.case import Case
from tests.attack.hostile import CODE, Hostile, shown
from tests.attack.place import Place

STARS = "*a" * 14 + "*b\n"
FOLDER_STARS = "/".join(["**/*a*"] * 14) + "/b\n"


def _ignoring(name: str, text: bytes, long: str = "", repository: bool = False) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        root = place.folder / "r"
        if repository:
            place.git("init", "-q", root)
        deep = root / "/".join(["a"] * 40)
        deep.mkdir(parents=True)
        (deep / "c.py").write_text(CODE)
        (root / (long or "a.py")).write_text(CODE)
        (root / name).write_bytes(text)
        return shown(root)

    return attempt


def _ignored_by_fifo(repository: bool) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        if repository:
            place.git("init", "-q", place.folder)
        (place.folder / "a.py").write_text(CODE)
        for name in (".gitignore", ".lamrignore"):
            os.mkfifo(place.folder / name)
        return shown(place.folder)

    return attempt


def _tree_bomb(levels: int) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        blob = hostile.put("blob", b"x = 1\n")
        tree = hostile.tree([("100644", b"f%d.py" % number, blob) for number in range(10)])
        for _ in range(levels - 1):
            tree = hostile.tree([("40000", b"d%d" % number, tree) for number in range(10)])
        hostile.head(tree)
        return shown(hostile.root, "HEAD")[:80]

    return attempt


def _deep_tree(depth: int) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        blob = hostile.put("blob", CODE.encode())
        tree = hostile.tree([("100644", b"b.py", blob)])
        for _ in range(depth):
            tree = hostile.tree([("40000", b"d", tree)])
        hostile.head(hostile.tree([("100644", b"a.py", blob), ("40000", b"d", tree)]))
        return shown(hostile.root, "HEAD")

    return attempt


def _deep_folders(place: Place) -> str:
    (place.folder / "a.py").write_text(CODE)
    program = "import os\nfor _ in range(1500):\n os.mkdir('d' * 20); os.chdir('d' * 20)\nopen('b.py', 'w').write('x')"
    place.run(sys.executable, "-c", program)
    said = shown(place.folder)
    place.run("rm", "-rf", "d" * 20)
    return said


def _many_rules(place: Place) -> str:
    (place.folder / "a.py").write_text(CODE)
    (place.folder / ".gitignore").write_text("".join(f"*{number}*x\n" for number in range(20_000)))
    return shown(place.folder)


GITS_FILES: dict[str, Callable[[Path], object]] = {
    "a FIFO that is included": lambda git: (
        os.mkfifo(git / "p"),
        (git / "config").open("a").write("[include]\n\tpath = p\n"),
    )
}
BROKEN: dict[str, Callable[[Path], object]] = {
    "a configuration of garbage": lambda git: (git / "config").write_bytes(b"[core\0\xff\x1b[2J\n" * 100),
    "a configuration of 20 MB": lambda git: (git / "config").open("a").write("[a]\n\tb = c\n" * 1_600_000),
    "packed refs of garbage": lambda git: (git / "packed-refs").write_bytes(os.urandom(1 << 16)),
    "an index of garbage": lambda git: (git / "index").write_bytes(b"DIRC" + b"\xff" * 4096),
    "an empty index": lambda git: (git / "index").write_bytes(b""),
    "a shared index that is elsewhere": lambda git: (git / "index").write_bytes(
        b"DIRC\0\0\0\2\0\0\0\0link" + b"\0\0\0\x14" + b"\1" * 40
    ),
    "HEAD of another place": lambda git: (git / "HEAD").write_text("ref: ../../../etc/passwd\n"),
    "alternates in a circle": lambda git: (git / "objects/info/alternates").write_text("../objects\n" * 1000),
    "alternates that are nowhere": lambda git: (git / "objects/info/alternates").write_text(
        "/dev/zero\n/nowhere\n"
    ),
    "grafts and a shallow list": lambda git: (
        (git / "info").mkdir(exist_ok=True),
        (git / "info/grafts").write_text("x\n" * 9),
        (git / "shallow").write_text("0" * 40),
    ),
    "an unknown extension": lambda git: (
        (git / "config").open("a").write("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tx\x1b = 1\n")
    ),
    "a work tree elsewhere": lambda git: (git / "config").open("a").write("[core]\n\tworktree = /etc\n"),
    "an index that is a link": lambda git: (
        (git / "index").unlink(),
        (git / "index").symlink_to("/etc/passwd"),
    ),
    "names of refs with control signs": lambda git: (git / "packed-refs").write_bytes(
        b"0" * 40 + b" refs/heads/\x1b[2J\n"
    ),
}


def _broken(made: Callable[[Path], object]) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        made(hostile.git)
        said = [shown(hostile.root), shown(hostile.root, "HEAD")]
        return "; ".join(
            "refused" if each.isprintable() and each.startswith("refused: ") else each for each in said
        )

    return attempt


_case = partial(Case, "lists")
_quick = partial(Case, "lists", quick=True)
LISTS = (
    _quick("a .gitignore that backtracks", _ignoring(".gitignore", STARS.encode(), "a" * 120), r"3 of 3"),
    _quick("a .lamrignore that backtracks", _ignoring(".lamrignore", STARS.encode(), "a" * 120), r"3 of 3"),
    _quick(
        "a .gitignore of folders that backtracks", _ignoring(".gitignore", FOLDER_STARS.encode()), r"3 of 3"
    ),
    _quick(
        "a .lamrignore of folders that backtracks", _ignoring(".lamrignore", FOLDER_STARS.encode()), r"3 of 3"
    ),
    _case(
        "a .gitignore of a repository on which git itself backtracks",
        _ignoring(".gitignore", FOLDER_STARS.encode(), repository=True),
        r"3 of 3",
        20,
    ),
    _case(
        "a .gitignore of 300,000 lines",
        _ignoring(".gitignore", b"".join(b"x%d\n" % n for n in range(300_000))),
        r"2 of 3; .*",
        5,
    ),
    _quick(
        "a .gitignore of 5 MB",
        _ignoring(".gitignore", b"x" * 5_000_000),
        "refused: .*more than 4,194,304 bytes.*",
    ),
    _case("a .gitignore of 20,000 globs", _many_rules, "refused: .*more than 10,000 patterns.*", 5),
    _quick(
        "a .gitignore with broken patterns",
        _ignoring(".gitignore", b"!\n\xff\xfe\n[z-a]\n[\n\\\n**\0\n/\n!!\n[[:x:]]\n"),
        r"2 of 3; left out 1 binary",
    ),
    # The list itself is text in an old encoding.
    _quick(
        "a .lamrignore with broken patterns",
        _ignoring(".lamrignore", b"!\n\xff\xfe\n[z-a]\n[\n\\\n/\n!!\n"),
        "3 of 3",
    ),
    _quick("FIFOs as ignore files", _ignored_by_fifo(False), r"1 of 3; left out 2 not a regular file"),
    _case(
        "FIFOs as ignore files of a repository",
        _ignored_by_fifo(True),
        r"1 of 3; left out 2 not a regular file",
        20,
    ),
    _case("a tree that names 10^9 files", _tree_bomb(9), "refused: .*more than 1,000,000 files.*", 20),
    _quick("a tree 200 folders deep", _deep_tree(200), "1 of 2; left out 1 more than 100 folders deep"),
    _case(
        "a tree 30,000 folders deep",
        _deep_tree(30_000),
        "1 of 2; left out 1 more than 100 folders deep|refused: .*",
        20,
    ),
    _case("1,500 folders in one another", _deep_folders, "1 of 2; left out 1 more than 100 folders deep"),
    *(
        _case(f"git's own files: {name}", _broken(made), "refused; refused", 80)
        for name, made in GITS_FILES.items()
    ),
    *(
        _case(
            f"git's own files: {name}",
            _broken(made),
            r"(1 of 1|refused|0 of 1; left out 1 unreadable); (1 of 1|refused)",
            10,
            quick="garbage" in name,
        )
        for name, made in BROKEN.items()
    ),
)
