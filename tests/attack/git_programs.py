"""What git would start for a stranger: commands in configuration, attributes, hooks and promises."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from tests.attack.case import Case
from tests.attack.hostile import CODE, Hostile, shown, tried_all_ways
from tests.attack.place import Place

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


_case = partial(Case, "git")
_quick = partial(Case, "git", quick=True)
GIT = (
    *(
        _case(f"settings: {name}", _with_settings(made), "nothing ran", quick=name == "filters")
        for name, made in SETTINGS.items()
    ),
    *(
        _case(
            f"a missing file that would be fetched through {name}",
            _with_promise(*made),
            "nothing ran; 0 of 1; left out 1 missing from git's objects",
            quick=not made[0],
        )
        for name, made in PROMISES.items()
    ),
    _case("configuration that includes more", _included, "nothing ran"),
    _quick("a sparse index of a missing folder", _sparse, "nothing ran"),
    _case("submodules with commands", _submodule, "nothing ran"),
    _case("a bare repository among the files", _embedded_bare, ".*; nothing ran"),
)
