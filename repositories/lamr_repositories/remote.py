"""Fetches one revision of a repository by its URL into a temporary bare repository.

Nothing is checked out, so no filter, hook, submodule or link of the repository can take effect; only git's own
transports are allowed, because others run programs that a URL names."""

import contextlib
import io
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import url2pathname

from lamr_base.expressions import expression

from lamr_repositories.errors import RepositoryError
from lamr_repositories.git import (
    FETCH_SECONDS,
    first_trouble,
    git_process,
    run_git,
    served_with,
    transport_of,
)
from lamr_repositories.git_trust import refuse_foreign_objects
from lamr_repositories.options import OnProgress
from lamr_repositories.watch import Watch

_SCHEMES = ("https", "http", "ssh", "git", "file")
_URL = expression(rf"(?:{'|'.join(_SCHEMES)})://.|[\w.-]+@[\w.-]+:(?!//|:).", re.IGNORECASE)
_REVISION = expression(r"[\w.+#@=][\w./+#@=-]*")
"""What names a branch, a tag or a commit to fetch; git's operators such as `~1` aren't for servers."""
_FETCHED = "refs/lamr/fetched"
_PROGRESS = expression(r"([A-Z][a-z]+ing objects): +\d+% \((\d+)/(\d+)\)")
_SETTINGS = (
    "http.lowSpeedLimit=1000",  # bytes a second; slower for a minute counts as stalled
    "http.lowSpeedTime=60",
    "fetch.unpackLimit=1",  # objects in a pack are found faster than those in files of their own
)
_LONGEST_LINE = 4_096
_SAID = 1 << 16  # bytes of what git says, beyond which no more is kept
_CREDENTIALS = expression(r"(?<=://)[^/@\s]+@")


def is_url(root: str) -> bool:
    """Return whether a repository is named by a URL (also `user@host:path`) rather than a folder."""
    return bool(_URL.match(root)) and not Path(root).exists()


def name_of(url: str) -> str:
    """Return the repository's name: the last part of the URL's path, without `.git`."""
    return re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git") or "repository"


def shown(url: str) -> str:
    """Return a URL, or a text with some, without user names and passwords."""
    return _CREDENTIALS.sub("", url)


@contextlib.contextmanager
def fetched(url: str, revision: str | None, on_progress: OnProgress) -> Iterator[tuple[Path, str]]:
    """Fetch a branch, a tag, a whole commit hash or the default branch, without history, and remove it in the end.

    Yields:
        a bare repository, and what the revision is called in it.

    Raises:
        RepositoryError: git isn't installed, or it can't fetch the revision."""
    if revision is not None and not _REVISION.fullmatch(revision):
        raise RepositoryError(
            f"{revision!r} is no branch, tag or whole commit hash, which are what URLs have"
        )
    with tempfile.TemporaryDirectory(prefix="lamr-fetch-") as folder:
        place = Path(folder) / "repository.git"
        run_git("init", "--quiet", "--bare", "--template=", str(place))
        _fetch(place, url, revision or "HEAD", on_progress)
        yield place, _FETCHED


def _fetch(place: Path, url: str, revision: str, on_progress: OnProgress) -> None:
    meant = run_git("ls-remote", "--get-url", "--", url, place=place).stdout.decode().strip()
    if transport_of(meant) not in _SCHEMES:
        raise RepositoryError(
            f"{shown(url)}: git's configuration makes another transport of it ({transport_of(meant)}), and only "
            f"{', '.join(_SCHEMES)} are used",
            path=shown(url),
        )
    if transport_of(meant) == "file":
        refuse_foreign_objects(Path(url2pathname(meant.partition("://")[2] or meant)))
    settings = (part for each in _SETTINGS for part in ("-c", each))
    options = ("--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--progress")
    arguments = (
        *settings,
        "fetch",
        *options,
        *served_with(meant),
        "--end-of-options",
        url,
        f"+{revision}:{_FETCHED}",
    )
    said = b""
    with git_process(*arguments, place=place, url=meant, stderr=subprocess.PIPE) as git:
        assert git.stderr is not None
        with Watch(git, FETCH_SECONDS, hear=False) as watch:
            # git's carriage returns count as line ends.
            stream = io.TextIOWrapper(git.stderr, "utf-8", "replace")
            while line := stream.readline(_LONGEST_LINE):
                watch.beat()
                if found := _PROGRESS.search(line):
                    on_progress(found[1].lower(), int(found[2]), int(found[3]))
                elif len(said) < _SAID:
                    said += line.encode()
            git.wait()
    if watch.late:
        raise RepositoryError(
            f"{shown(url)}: nothing came for {FETCH_SECONDS:.0f} s; try again", path=shown(url)
        )
    if git.returncode:
        raise RepositoryError(f"{shown(url)}: {_problem(said, revision)}", path=shown(url))


def _problem(said: bytes, revision: str) -> str:
    """Return what went wrong and the remedy, from what git said."""
    text = shown(first_trouble(said))
    for mark, remedy in _REMEDIES.items():
        if mark in text:
            return remedy.format(revision=revision, text=text)
    return f"git couldn't fetch it ({text}); see that the URL is right and the network is there"


_REMEDIES = {
    "couldn't find remote ref": "has no branch or tag {revision!r}; name another, or a whole commit hash",
    "not our ref": "gives out no commit {revision}; name a branch or tag, or clone it and pack the clone",
    "could not read Username": "isn't there, or needs a login: give git a credential helper, or clone it yourself",
    "Authentication failed": "refuses the login; give git another credential, or clone it yourself",
}
"""What to do about the troubles that git names, by a part of its message."""
