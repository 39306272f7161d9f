"""The projects that are for evaluation only: nothing that trains, fits or tunes anything may read them.

`data/reserved.jsonl` is the one table of them and says for which evaluation each is kept. The module answers for a
package's name, a repository's name and a file's path (a copy of a project inside another one)."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources

from lamr_evaluation.errors import ReservedError


@dataclass(frozen=True)
class Reserved:
    """A project, or a collection of recorded sessions, that only evaluations may read."""

    repository: str  # `owner/name` on GitHub
    # names that it has on package indexes, and that copies of it have in other projects
    packages: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()  # names of folders that hold a copy of it, at whatever depth they lie
    # whether the name is an everyday word, so that it alone doesn't tell a fork or a copy
    common: bool = False

    @property
    def name(self) -> str:
        """The repository's name without its owner."""
        return self.repository.split("/")[1]


def _reserved() -> Iterator[Reserved]:
    text = (resources.files("lamr_evaluation") / "data" / "reserved.jsonl").read_text(encoding="utf-8")
    for row in map(json.loads, text.splitlines()):
        packages, copies = (tuple(row.get(name, ())) for name in ("packages", "copies"))
        yield Reserved(row["repository"], packages, copies, row.get("common", False))


RESERVED = tuple(_reserved())
_VENDORED = """
    _vendor _vendored vendor vendored vendors third_party third-party thirdparty 3rdparty extern externals external deps
    node_modules godeps
    """
VENDOR_FOLDERS = frozenset(_VENDORED.split())  # Folders that hold copies of other projects

_SOURCE_ROOTS = frozenset({"src", "lib", "include"})
_VERSION = re.compile(r"[-_@]v?\d[\w.+-]*$")


def normalized(name: str) -> str:
    """A package's name as PyPI compares it: lower case, with `-` for any run of `-`, `_` and `.`."""
    return re.sub(r"[-_.]+", "-", name).lower()


_BY_REPOSITORY = {project.repository.lower(): project for project in RESERVED}
_BY_PACKAGE = {normalized(name): project for project in RESERVED for name in project.packages}
_BY_NAME = {**{normalized(project.name): project for project in RESERVED}, **_BY_PACKAGE}
_BY_COPY = {name: project for project in RESERVED for name in project.copies}


def reserved_package(name: str) -> Reserved | None:
    """The reserved project that a package index lists under `name`, in any spelling."""
    return _BY_PACKAGE.get(normalized(name))


def refuse_reserved(packages: Iterable[str]) -> None:
    """Check the names of packages that are to be trained on. Raises `ReservedError`: some are for evaluation only."""
    reserved = [name for name in packages if reserved_package(name)]
    if reserved:
        raise ReservedError(
            f"{', '.join(reserved)}: kept for evaluation, so that training never sees it; leave it out"
        )


def reserved_repository(repository: str) -> Reserved | None:
    """The reserved project that `owner/name` is, or is a fork of. A repository of the same name under another owner
    counts as a fork, except where the name is an everyday word."""
    exact = _BY_REPOSITORY.get(repository.lower())
    if exact:
        return exact
    name = normalized(repository.rsplit("/", 1)[-1].removesuffix(".git"))
    return next((p for p in RESERVED if not p.common and normalized(p.name) == name), None)


def reserved_path(path: str) -> Reserved | None:
    """The reserved project that the file at `path` is a copy of, as far as the path tells.

    Copies are recognized in folders for vendored code (`deps/redis/src/ae.c`), after their owner
    (`github.com/spf13/cobra/args.go`), by folders that only such copies have, and, unless the name is an everyday word,
    at the root of a source tree. A folder for support of a project, such as `integrations/django`, isn't a copy. Parts
    of a path are separated by `/`."""
    *folders, file = path.lower().split("/")
    parts = [normalized(_VERSION.sub("", part)) for part in (*folders, file.split(".")[0])]
    vendored = False
    for place, folder in enumerate(folders):
        owned = _BY_REPOSITORY.get(f"{folders[place - 1]}/{folder}") if place else None
        named = _BY_NAME.get(parts[place])
        rooted = place == 0 or folders[place - 1] in _SOURCE_ROOTS
        copied = named if named and (vendored or (rooted and not named.common)) else None
        project = _BY_COPY.get(folder) or owned or copied
        if project:
            return project
        vendored = vendored or folder in VENDOR_FOLDERS
    return _BY_NAME.get(parts[-1]) if vendored else None
