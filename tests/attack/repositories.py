"""Repositories of strangers: what git would start, names that lead out, lists without end, objects that lie."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from lamr_repositories.errors import RepositoryError
from lamr_repositories.folders import Folder, NamedFiles

from tests.attack.case import Case
from tests.attack.hostile import CODE, SECRET, Hostile, packed, shown, tried_all_ways
from tests.attack.place import Place

Made = Callable[[Hostile], None]

# --- git starts programs ---------------------------------------------------------------------------------------------

SETTINGS: dict[str, Mapping[str, str]] = {
    "a file system monitor": {"core.fsmonitor": "{mark}"},
    "pagers, editors, aliases": {
        "core.pager": "{mark}",
        "pager.ls-files": "{mark}",
        "core.editor": "{mark}",
        "sequence.editor": "{mark}",
        "alias.ls-files": "!{mark}",
        "alias.cat-file": "!{mark}",
    },
    "signatures": {"gpg.program": "{mark}", "gpg.ssh.program": "{mark}", "log.showSignature": "true"},
    "diffs": {"diff.external": "{mark}", "diff.evil.textconv": "{mark}", "diff.evil.command": "{mark}"},
    "filters": {
        "filter.evil.clean": "{mark}",
        "filter.evil.smudge": "{mark}",
        "filter.evil.process": "{mark}",
    },
    "a merge driver": {"merge.evil.driver": "{mark}", "merge.default": "evil"},
    "hooks elsewhere": {"core.hooksPath": "../hooks"},
    "serving": {"uploadpack.packObjectsHook": "{mark}", "uploadpack.allowFilter": "true"},
    "refs of alternates": {"core.alternateRefsCommand": "{mark}"},
    "submodules": {
        "submodule.recurse": "true",
        "submodule.s.update": "!{mark}",
        "submodule.s.url": "ext::{mark}",
    },
    "logins": {"core.askPass": "{mark}", "credential.helper": "!{mark}"},
    "bundles and maintenance": {"fetch.bundleURI": "ext::{mark}", "maintenance.auto": "true", "gc.auto": "1"},
    "tracing": {"trace2.normalTarget": "/dev/full", "trace2.eventTarget": "/dev/full"},
}

PROMISES: dict[str, tuple[str, Mapping[str, str]]] = {
    "a command of the remote's": ("", {}),
    "an ext transport": ("ext::{mark}", {"protocol.ext.allow": "always", "protocol.allow": "always"}),
    "an address that is another one": (
        "https://h/r",
        {"url.ext::{mark}.insteadOf": "https://h/r", "protocol.ext.allow": "always"},
    ),
    "a remote helper": ("x", {"remote.origin.vcs": "ext", "protocol.ext.allow": "always"}),
    "ssh": ("ssh://a@127.0.0.1:9/r", {"core.sshCommand": "{mark}", "ssh.variant": "simple"}),
    "a proxy for git": ("git://127.0.0.1:9/r", {"core.gitProxy": "{mark}"}),
    "logins over http": ("http://127.0.0.1:9/r", {"core.askPass": "{mark}", "credential.helper": "!{mark}"}),
}


def _with_settings(settings: Mapping[str, str]) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        (hostile.root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
        hostile.commit()
        hostile.config(settings)
        hooks = place.folder / "hooks"
        for folder in (hooks, hostile.git / "hooks"):
            folder.mkdir(exist_ok=True)
            for name in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
                (folder / name).write_text(f"#!/bin/sh\ntouch {place.folder}/RAN-hook\n")
                (folder / name).chmod(0o755)
        os.utime(hostile.root / "a.py", (0, 0))
        return tried_all_ways(hostile)

    return attempt


def _with_promise(url: str, settings: Mapping[str, str]) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        hostile = Hostile(place)
        mark = hostile.mark()
        hostile.promise(url.replace("{mark}", mark))
        hostile.config({name.replace("{mark}", mark): value for name, value in settings.items()})
        return f"{tried_all_ways(hostile)}; {shown(hostile.root, 'HEAD')}"

    return attempt


def _included(place: Place) -> str:
    hostile = Hostile(place)
    more = place.folder / "more"
    more.write_text(f"[core]\n\tfsmonitor = {hostile.mark()}\n")
    with (hostile.git / "config").open("a") as config:
        config.write(f'[include]\n\tpath = {more}\n[includeIf "gitdir:/**"]\n\tpath = {more}\n')
        config.write("[extensions]\n\tworktreeConfig = true\n[core]\n\trepositoryFormatVersion = 1\n")
    (hostile.git / "config.worktree").write_text(more.read_text())
    return tried_all_ways(hostile)


def _sparse(place: Place) -> str:
    hostile = Hostile(place)
    for name in ("in", "out"):
        (hostile.root / name).mkdir()
        (hostile.root / name / "b.py").write_text(CODE)
    hostile.commit()
    place.git("sparse-checkout", "init", "--cone", "--sparse-index", cwd=hostile.root)
    place.git("sparse-checkout", "set", "in", cwd=hostile.root)
    hostile.promise(path="out")
    return tried_all_ways(hostile)


def _submodule(place: Place) -> str:
    hostile = Hostile(place)
    (hostile.root / ".gitmodules").write_text(
        f'[submodule "../../x"]\n\tpath = -u\n\turl = ext::{hostile.mark()}\n\tupdate = !{hostile.mark()}\n'
    )
    inner = hostile.root / "sub"
    place.git("init", "-q", inner)
    place.git("config", "core.fsmonitor", hostile.mark("inner"), cwd=inner)
    (inner / "b.py").write_text(CODE)
    place.git("-c", "core.fsmonitor=false", "add", "-A", cwd=inner)
    place.git("-c", "core.fsmonitor=false", "commit", "-q", "-m", "x", cwd=inner)
    hostile.commit()
    (place.folder / "RAN-inner").unlink(missing_ok=True)
    return tried_all_ways(hostile)


def _embedded_bare(place: Place) -> str:
    hostile = Hostile(place)
    inner = hostile.root / "inner"
    place.git("init", "-q", "--bare", inner)
    for name, value in (
        ("core.bare", "false"),
        ("core.worktree", str(hostile.root)),
        ("core.fsmonitor", hostile.mark()),
    ):
        place.git("config", name, value, cwd=inner)
    return f"{shown(inner)[:20]}; {shown(inner, 'HEAD')[:8]}; {hostile.ran()}"


def _in_the_callers_environment(place: Place) -> str:
    hostile = Hostile(place)
    other = place.folder / "other"
    place.git("init", "-q", other)
    mark, trace = hostile.mark(), place.folder / "RAN-trace"
    programs = place.folder / "programs"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\n{mark}\n")
    (programs / "git").chmod(0o755)
    variables = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": "/dev/null",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": mark,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={mark}'",
        "GIT_EXTERNAL_DIFF": mark,
        "GIT_SSH_COMMAND": mark,
        "GIT_TRACE": str(trace),
        "GIT_TRACE2": str(trace),
        "GIT_ASKPASS": mark,
        "GIT_EXEC_PATH": str(programs),
        "GIT_OBJECT_DIRECTORY": "/nowhere",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nowhere",
        "GIT_NAMESPACE": "x",
        "PATH": f".:{os.environ['PATH']}",
    }
    said = [
        place.lamr(
            "pack", *how, "-q", "retries", "--ranker", "bm25", "--no-cache", cwd=programs, variables=variables
        )
        for how in ((hostile.root,), (hostile.root, "--rev", "HEAD"), (hostile.root.as_uri(),))
    ]
    found = " ".join(f"{each.code}{'+' * (b'def retry' in each.out)}" for each in said)
    return f"{found}; {hostile.ran()}"


def _foreign_owner(place: Place) -> str:
    if os.getuid():
        return "not root: refused"
    hostile = Hostile(place)
    place.git("clone", "-q", "--bare", hostile.root, place.folder / "bare.git")
    subprocess.run(["chown", "-R", "nobody", hostile.root, place.folder / "bare.git"], check=True)
    said = [
        shown(hostile.root),
        shown(hostile.root, "HEAD"),
        shown(place.folder / "bare.git"),
        shown(hostile.root.as_uri()),
    ]
    return "; ".join("refused" if "refused" in each and "dubious" in each else each for each in said)


GIT = (
    *(
        Case("git", f"settings: {name}", _with_settings(made), "nothing ran", quick=name == "filters")
        for name, made in SETTINGS.items()
    ),
    *(
        Case(
            "git",
            f"a missing file that would be fetched through {name}",
            _with_promise(*made),
            "nothing ran; 0 of 1; left out 1 missing from git's objects",
            quick=not made[0],
        )
        for name, made in PROMISES.items()
    ),
    Case("git", "configuration that includes more", _included, "nothing ran"),
    Case("git", "a sparse index of a missing folder", _sparse, "nothing ran", quick=True),
    Case("git", "submodules with commands", _submodule, "nothing ran"),
    Case("git", "a bare repository among the files", _embedded_bare, ".*; nothing ran"),
    Case(
        "git",
        "the caller's own GIT_ variables and path",
        _in_the_callers_environment,
        r"0\+ 0\+ 0\+; nothing ran",
        20,
    ),
    Case(
        "git",
        "another user's repositories",
        _foreign_owner,
        "refused; refused; refused; refused|not root: refused",
    ),
)

# --- names that lead out ---------------------------------------------------------------------------------------------

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


PATHS = (
    *(
        Case(
            "paths",
            f"an index that lists {ascii(name)[2:-1]}",
            _indexed(name),
            r"1 of 2; left out 1 (outside of the root|not a regular file)",
            quick=number < 3,
        )
        for number, name in enumerate(INDEXED)
    ),
    Case(
        "paths",
        "an index that lists a whole path",
        _indexed_absolute,
        "1 of 2; left out 1 outside of the root",
        quick=True,
    ),
    *(
        Case(
            "paths",
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
    Case("paths", "a folder that becomes a link before it is read", _swapped, "left out", quick=True),
    Case(
        "paths", "a file that becomes a FIFO before it is read", _swapped_for_a_fifo, "left out", quick=True
    ),
    Case("paths", "a file that grows to a terabyte before it is read", _grown, "left out", quick=True),
    Case(
        "paths",
        "a list that names what lies elsewhere",
        _named,
        "refused, refused, refused, left out, refused|refused, refused, refused, left out, left out",
        quick=True,
    ),
    *(
        Case(
            "paths",
            f".git that leads to another repository: {made.__name__[1:]}",
            _led(made),
            r"\d of \d; refused; refused",
            quick=made is _git_file,
        )
        for made in LED
    ),
    Case("paths", "work trees and clones that git made", _own_work_trees, "1 of 1; 1 of 1"),
)

# --- lists without end -----------------------------------------------------------------------------------------------

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
    "a FIFO as configuration": lambda git: ((git / "config").unlink(), os.mkfifo(git / "config")),
    "a FIFO as HEAD": lambda git: ((git / "HEAD").unlink(), os.mkfifo(git / "HEAD")),
    "a FIFO that is included": lambda git: (
        os.mkfifo(git / "p"),
        (git / "config").open("a").write("[include]\n\tpath = p\n"),
    ),
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


LISTS = (
    Case(
        "lists",
        "a .gitignore that backtracks",
        _ignoring(".gitignore", STARS.encode(), "a" * 120),
        r"3 of 3",
        quick=True,
    ),
    Case(
        "lists",
        "a .lamrignore that backtracks",
        _ignoring(".lamrignore", STARS.encode(), "a" * 120),
        r"3 of 3",
        quick=True,
    ),
    Case(
        "lists",
        "a .gitignore of folders that backtracks",
        _ignoring(".gitignore", FOLDER_STARS.encode()),
        r"3 of 3",
        quick=True,
    ),
    Case(
        "lists",
        "a .lamrignore of folders that backtracks",
        _ignoring(".lamrignore", FOLDER_STARS.encode()),
        r"3 of 3",
        quick=True,
    ),
    Case(
        "lists",
        "a .gitignore of a repository on which git itself backtracks",
        _ignoring(".gitignore", FOLDER_STARS.encode(), repository=True),
        r"3 of 3",
        20,
    ),
    Case(
        "lists",
        "a .gitignore of 300,000 lines",
        _ignoring(".gitignore", b"".join(b"x%d\n" % n for n in range(300_000))),
        r"2 of 3; .*",
        5,
    ),
    Case(
        "lists",
        "a .gitignore of 5 MB",
        _ignoring(".gitignore", b"x" * 5_000_000),
        "refused: .*more than 4,194,304 bytes.*",
        quick=True,
    ),
    Case("lists", "a .gitignore of 20,000 globs", _many_rules, "refused: .*more than 10,000 patterns.*", 5),
    Case(
        "lists",
        "a .gitignore with broken patterns",
        _ignoring(".gitignore", b"!\n\xff\xfe\n[z-a]\n[\n\\\n**\0\n/\n!!\n[[:x:]]\n"),
        r"2 of 3; left out 1 binary",
        quick=True,
    ),
    Case(
        "lists",
        "a .lamrignore with broken patterns",
        _ignoring(".lamrignore", b"!\n\xff\xfe\n[z-a]\n[\n\\\n/\n!!\n"),
        r"2 of 3; left out 1 binary",
        quick=True,
    ),
    Case(
        "lists",
        "FIFOs as ignore files",
        _ignored_by_fifo(False),
        r"1 of 3; left out 2 not a regular file",
        quick=True,
    ),
    Case(
        "lists",
        "FIFOs as ignore files of a repository",
        _ignored_by_fifo(True),
        r"1 of 3; left out 2 not a regular file",
        20,
    ),
    Case(
        "lists", "a tree that names 10^9 files", _tree_bomb(9), "refused: .*more than 1,000,000 files.*", 20
    ),
    Case("lists", "a tree of 10,000 files", _tree_bomb(4), "10000 of 10000", 20),
    Case(
        "lists",
        "a tree 200 folders deep",
        _deep_tree(200),
        "1 of 2; left out 1 more than 100 folders deep",
        quick=True,
    ),
    Case(
        "lists",
        "a tree 30,000 folders deep",
        _deep_tree(30_000),
        "1 of 2; left out 1 more than 100 folders deep|refused: .*",
        20,
    ),
    Case(
        "lists",
        "1,500 folders in one another",
        _deep_folders,
        "1 of 2; left out 1 more than 100 folders deep",
        quick=True,
    ),
    *(
        Case("lists", f"git's own files: {name}", _broken(made), "refused; refused", 150)
        for name, made in GITS_FILES.items()
    ),
    *(
        Case(
            "lists",
            f"git's own files: {name}",
            _broken(made),
            r"(1 of 1|refused|0 of 1; left out 1 unreadable); (1 of 1|refused)",
            10,
            quick="garbage" in name,
        )
        for name, made in BROKEN.items()
    ),
)

# --- objects that aren't what they say -------------------------------------------------------------------------------


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


OBJECTS = (
    Case(
        "objects",
        "a damaged file",
        _with_object(_damaged),
        "2 of 3; left out 1 (unreadable|missing.*)",
        quick=True,
    ),
    Case(
        "objects",
        "a missing file",
        _with_object(lambda _: "1" * 40),
        "2 of 3; left out 1 missing from git's objects",
        quick=True,
    ),
    Case(
        "objects",
        "a file of 6 bytes that inflates to a gigabyte",
        _with_object(_bomb),
        "[23] of 3.*|refused: .*",
        10,
    ),
    Case(
        "objects",
        "a file that announces 2 GB",
        _with_object(_announced(2 << 30)),
        "2 of 3; left out 1 .*",
        10,
    ),
    Case(
        "objects",
        "a file that announces 2^63 bytes",
        _with_object(_announced(1 << 63)),
        "2 of 3; left out 1 .*",
        10,
    ),
    Case(
        "objects",
        "a file that announces less than it has",
        _with_object(_announced(1)),
        "2 of 3; left out 1 .*",
        10,
    ),
    Case(
        "objects",
        "a tree in a file's place",
        _with_object(lambda hostile: hostile.tree([])),
        "2 of 3; left out 1 .*",
        quick=True,
    ),
    Case(
        "objects",
        "a file in a tree's place",
        _with_object(lambda hostile: hostile.put("blob", b"x"), "40000"),
        "refused: .*",
    ),
    Case(
        "objects",
        "a commit in a file's place",
        _with_object(lambda hostile: hostile.put("commit", b"x")),
        "2 of 3; left out 1 .*",
    ),
    Case(
        "objects",
        "a link to elsewhere",
        _with_object(lambda hostile: hostile.put("blob", b"/etc/passwd"), "120000"),
        "2 of 3; left out 1 symbolic link",
    ),
    Case("objects", "a FIFO in an object's place", _with_object(_fifo_object), "refused: .*", 80),
    Case("objects", "an object that git would replace", _replaced, "1 of 1", quick=True),
    Case("objects", "a tree that names a file twice", _twice, "[12] of [12]"),
    Case("objects", "a name of a megabyte", _long_names, "[12]", 30),
)

CASES = (*GIT, *PATHS, *LISTS, *OBJECTS)
