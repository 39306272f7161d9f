"""`lamr cache`: what lamr keeps in the user's cache folder, and how it goes."""

import json
from pathlib import Path
from typing import Annotated

from typer import Option

from lamr_cli.arguments import AsJson
from lamr_cli.printing import say

OTHERS = {
    "agents": "decisions of hooks, and originals that they cut (lamr agents, lamr show)",
    "judge.sqlite": "answers of readers that lamr research judge asked",
    "wheels": "packages that lamr eval and written questions read",
    "repositories": "repositories that lamr eval read",
}
"""What lies beside the caches, by its name, and stays where they are cleared."""


def cache(
    clear: Annotated[bool, Option("--clear", help="Delete what prune, pack and replay kept.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what lamr keeps in your cache folder and how large it is, or clear it.

    Only you can read the files there. --clear doesn't delete records and originals of hooks, and downloads.

    lamr cache

    lamr cache --clear"""
    from lamr_base.cache import Cache, default_cache_file, states_file
    from lamr_base.private_files import BROKEN

    file = default_cache_file()
    if file is None:
        say("there is no home folder, so nothing is kept", err=True)
        return
    kept = {
        file.name: "indexes, tokens and answers of lamr pack, scores of lamr replay",
        states_file(file).name: "what the encoder read of code, for prune and pack",
    }
    if clear:
        for name in kept:
            if file.with_name(name).exists():
                with Cache(file.with_name(name), lambda note: say(note, err=True)) as one:
                    one.clear()
            file.with_name(f"{name}{BROKEN}").unlink(missing_ok=True)
    sizes = {name: _bytes(file.parent, name) for name in (*kept, *OTHERS)}
    if as_json:
        say(json.dumps({"folder": str(file.parent), "bytes": sizes}))
        return
    what = kept | OTHERS
    rows = [f"{size / 2**20:9,.1f} MiB  {name:<28}{what[name]}" for name, size in sizes.items() if size]
    say("\n".join([str(file.parent), *rows] if rows else [f"{file.parent}: nothing is kept"]))


def _bytes(folder: Path, name: str) -> int:
    """Return the bytes of a file and of what belongs to it, or of all files in a folder."""
    from lamr_base.private_files import BESIDE, BROKEN

    own = [folder / f"{name}{end}" for end in ("", *BESIDE, BROKEN)]
    files = [*(folder / name).rglob("*"), *(path for path in own if path.exists())]
    return sum(path.lstat().st_size for path in files if not path.is_dir())
