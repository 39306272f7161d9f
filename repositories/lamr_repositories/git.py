"""Starts git, for the whole project, on other people's repositories, of which nothing may run.

A repository's configuration, hooks, attributes and objects are its author's. So git gets an environment from scratch,
settings that take the place of the repository's, no transport unless the user named a URL, and bounds on what it takes:
time without a word, memory, and the length of its lists. The user's own configuration counts as ever, `safe.directory`
among it, and so does git's refusal of what belongs to somebody else. No other module starts git, and this one knows
nothing of what git is asked."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lamr_base.errors import visible

from lamr_repositories.errors import GitError, RepositoryError, SlowGitError
from lamr_repositories.watch import Watch, end_all

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS = 30.0
"""How long git may be silent before it is ended: a FIFO in a file's place would hold it for ever."""
FETCH_SECONDS = 300.0
"""The same for a server's answer."""
MOST_NAMES = 1_000_000
MOST_LIST_BYTES = 256 << 20
"""Of a list of files: a tree of some kB can name 10^9."""
_MOST_MEMORY = 4 << 30  # bytes of git's heap; indexes of a million files take less than one

_PASSED = """
    HOME XDG_CONFIG_HOME TMPDIR SUDO_UID
    SYSTEMROOT USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA COMSPEC PATHEXT TEMP TMP
    """
"""Variables of the environment. By `SUDO_UID` git knows whose files those of a `sudo` are."""
_PASSED_TO_TRANSPORTS = """
    SSH_AUTH_SOCK SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE KRB5CCNAME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS
    http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
    """
"""Credential helpers reach the user's keys by the runtime folder and the session's bus."""
_VARIABLES = {
    "LC_ALL": "C",
    "GIT_ALLOC_LIMIT": "1g",  # of one allocation: a few kB can announce an object of any size
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_EDITOR": ":",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",  # git 2.39.4, 2.45 and later; for others no transport is allowed
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
_SETTINGS = {
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "fetch.recurseSubmodules": "false",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}
_LOCAL_SETTINGS = {
    "core.askPass": "",
    "core.gitProxy": "",
    "core.sshCommand": "false",
    "credential.helper": "",
}
"""Besides, where there is no URL. With one, git works in a repository of lamr's own, and these are the user's."""
_PLACE_SETTINGS = {"safe.bareRepository": "all"}  # the caller names it: it isn't one that git came upon
_NO_TRANSPORT = "none"
_SERVED = "GIT_ALLOW_PROTOCOL=none git -c core.hooksPath=/dev/null -c core.fsmonitor=false upload-pack"
_REMEDIES = {
    "dubious ownership": "it belongs to another user, whose configuration would take effect; if you trust that user: "
    "git config --global --add safe.directory '{place}'",
    "unknown option": "this git is too old; update it",
}
"""What to do about the troubles that git names, by a part of its message."""


def run_git(  # noqa: PLR0913  # what, where, with what, and what of it is an error
    *arguments: str,
    place: Path | None = None,
    folder: Path | None = None,
    url: str | None = None,
    send: bytes = b"",
    check: bool = True,
    seconds: float | None = SECONDS,
) -> subprocess.CompletedProcess[bytes]:
    """Run git once, in a git directory (`place`) and no other than this one, or in a `folder` of a work tree.

    It fetches only what the user named by a `url`, and is ended after so many seconds; None waits for its end.

    Raises:
        GitError: the command failed and `check` is set.
        SlowGitError: it took too long.
        RepositoryError: git isn't installed."""
    pipe = subprocess.PIPE
    with git_process(
        *arguments, place=place, folder=folder, url=url, stdin=pipe, stdout=pipe, stderr=pipe
    ) as git:
        try:
            out, err = git.communicate(send, timeout=seconds)
        except subprocess.TimeoutExpired as late:
            raise slow(place or folder, arguments[0], seconds or 0) from late
    done = subprocess.CompletedProcess(arguments, git.returncode, out, err)
    if check and done.returncode:
        raise failure(place or folder, arguments[0], done.returncode, done.stderr)
    return done


def list_rows(
    *arguments: str,
    place: Path | None = None,
    folder: Path | None = None,
    seconds: float = SECONDS,
    in_all: bool = False,
) -> list[bytes]:
    """Run a command that prints rows with NUL at their ends, such as `ls-files -z`, and return the rows.

    git is ended after so many seconds of silence, or with `in_all` of work.

    Raises:
        GitError: the command failed.
        SlowGitError: git said nothing for too long.
        RepositoryError: git isn't installed, or there are more than `MOST_NAMES` rows or `MOST_LIST_BYTES`
            bytes."""
    parts, rows, size = [], 0, 0
    pipe, where = subprocess.PIPE, place or folder
    with git_process(*arguments, place=place, folder=folder, stdout=pipe, stderr=pipe) as git:
        assert git.stdout is not None
        with Watch(git, seconds) as watch:
            while part := git.stdout.read1():  # type: ignore[attr-defined]  # a BufferedReader
                if not in_all:
                    watch.beat()
                parts.append(part)
                rows, size = rows + part.count(b"\0"), size + len(part)
                if rows > MOST_NAMES or size > MOST_LIST_BYTES:
                    raise too_many(where)
            git.wait()
    if watch.late:
        raise slow(where, arguments[0], seconds)
    if git.returncode:
        raise failure(where, arguments[0], git.returncode, watch.said)
    return b"".join(parts).split(b"\0")[:-1]


def too_many(where: Path | None) -> RepositoryError:
    """Return the error for a list without end."""
    return RepositoryError(
        f"{where} names more than {MOST_NAMES:,} files, or their names have more than {MOST_LIST_BYTES >> 20} MiB; "
        "name a folder of it, or give a list of files",
        path=where,
    )


@contextlib.contextmanager
def git_process(  # noqa: PLR0913  # as `run_git`
    *arguments: str,
    place: Path | None = None,
    folder: Path | None = None,
    url: str | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start git, and end it when the block is left, whatever it is at."""
    try:
        git = subprocess.Popen(
            [*_command(place, folder, url), *arguments],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=_environment(place, url),
            # Without a terminal nothing that git starts can ask there, and all of it can be ended together.
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise RepositoryError("git isn't installed; repositories are read with it") from error
    _bound(git.pid)
    try:
        yield git
    finally:
        _end(git)
        for stream in (git.stdin, git.stdout, git.stderr):
            if stream:
                with contextlib.suppress(OSError):  # what was to be sent to a git that has ended
                    stream.close()


def failure(where: Path | None, subcommand: str, code: int, said: bytes) -> GitError:
    """Return the error for a command that failed, with what git said and what to do about it."""
    words = first_trouble(said) if said.strip() or code >= 0 else f"it was ended by signal {-code}"
    remedy = next(
        (remedy for mark, remedy in _REMEDIES.items() if mark in words), "see that the repository is whole"
    )
    place = where.absolute() if where else ""
    return GitError(
        f"{where}: git {subcommand} failed ({words}): {remedy.format(place=place)}", path=where, said=words
    )


def first_trouble(said: bytes) -> str:
    """Return the line of git's that says what went wrong, as printable text."""
    lines = said.decode("utf-8", "replace").strip().splitlines() or ["no message"]
    line = next((each for each in lines if each.startswith(("fatal:", "error:"))), lines[-1])
    return visible(line[:500])


def transport_of(url: str) -> str:
    """Return which of git's transports a URL, `user@host:path` or a path asks for."""
    scheme, mark, _ = url.partition("://")
    if mark:
        return scheme.lower()
    before, mark, _ = url.partition(":")
    return "ssh" if mark and "/" not in before else "file"


def served_with(url: str) -> list[str]:
    """Return the options of `fetch` and `clone` by which nothing of a repository on this machine runs as it serves."""
    return [f"--upload-pack={_SERVED}"] if transport_of(url) == "file" else []


def _command(place: Path | None, folder: Path | None, url: str | None) -> list[str]:
    settings = _SETTINGS | ({} if url else _LOCAL_SETTINGS) | (_PLACE_SETTINGS if place else {})
    chosen = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    # A directory named by --git-dir isn't asked whose it is; one that git finds is.
    inside = [] if (where := place or folder) is None else ["-C", str(where)]
    return ["git", "--no-pager", *inside, *chosen]


def _environment(place: Path | None, url: str | None) -> dict[str, str]:
    passed = f"{_PASSED} {_PASSED_TO_TRANSPORTS if url else ''}".split()
    variables = {name: os.environ[name] for name in passed if name in os.environ}
    path = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]  # noqa: PTH117
    allowed = _NO_TRANSPORT if url is None else transport_of(url)
    # A server may send http to https; never the other way.
    variables |= _VARIABLES | {"GIT_ALLOW_PROTOCOL": "http:https" if allowed == "http" else allowed}
    if place is not None:
        variables["GIT_CEILING_DIRECTORIES"] = str(place.resolve().parent)
    return variables | {"PATH": os.pathsep.join(path)}


def _end(git: subprocess.Popen[bytes]) -> None:
    """End git, which ends what it has started itself if it is asked to."""
    if git.poll() is None:
        end_all(git, gently=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            git.wait(timeout=2)
    if git.returncode is None:
        end_all(git)
        git.wait()


def _bound(pid: int) -> None:
    """Bound git's memory, where the system can: lists and objects of some kB can ask for all there is."""
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(OSError, ValueError):  # it has ended already, or less is allowed anyway
            resource.prlimit(pid, resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))


def slow(where: Path | None, subcommand: str, seconds: float) -> SlowGitError:
    """Return the error for a git that was ended."""
    return SlowGitError(
        f"{where}: git {subcommand} was ended after {seconds:.0f} s without an answer; see that no pattern in its "
        ".gitignore is endless work, and that git's files there are regular ones",
        path=where,
    )
