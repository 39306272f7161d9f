"""What sessions of hosts with a hook share: installing it with a server of the session's own, and what they show."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamr_agents.host import LIMIT_SECONDS, Command, Host
from lamr_agents.installing import hook_command, installed, removed
from lamr_agents.local.server import lock_of
from lamr_agents.local.store import Store
from lamr_agents.thin import SMALL
from lamr_postprocess import approximate_tokens

from tests.agents.hosts.cuts import hidden_line, is_cut, largest_cut, nothing_is_lost
from tests.agents.hosts.restartable import Restartable
from tests.agents.hosts.scripted import Endpoint, Script, Step
from tests.agents.samples import CODE, SAID

SECONDS = 240
"""Of a session, at the most."""
OTHERS = '{ "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},\n   "env": {} }'
"""Settings of somebody who has a hook already."""
PATIENCE = 100
"""Seconds that the hook waits here: a busy machine takes longer to load the model than an agent's user would wait."""


Hook = Sequence[str] | Command | None
"""Options of the hook's server, or another command in the hook's place; None for a session without a hook."""


@contextmanager
def hooked(host: Host, settings: Path, folder: Path, serve: Hook) -> Iterator[None]:
    """Put a host's hook into a file of settings for a session; afterwards the file is what it was, to the byte.

    Args:
        host: whose hook it is.
        settings: the file.
        folder: where the server's socket and store lie.
        serve: what is put in."""
    if serve is None:
        yield
        return
    before = _bytes(settings)
    install(host, settings, folder, serve)
    put_in = _bytes(settings)
    with ending(folder):
        yield
    if isinstance(serve, Command):
        return
    untouched = _bytes(settings) == put_in  # a host may have written it anew
    removed(host, settings).write()
    left = _bytes(settings)
    assert left == before if untouched else b"thin.py" not in (left or b"")


def install(host: Host, settings: Path, folder: Path, serve: Sequence[str] | Command) -> None:
    """Put a host's hook into a file of settings; its server keeps what it knows in a folder."""
    if isinstance(serve, Command):
        installed(host, settings, serve).write()
        return
    assert host.hook
    options = ["--store", str(folder / "shown.sqlite3"), "--idle", "60", "--timeout", str(PATIENCE), *serve]
    limit = PATIENCE if host.limit == LIMIT_SECONDS else host.limit
    installed(host, settings, hook_command(host.hook, options, folder / "s", limit)).write()
    if limit != PATIENCE:  # the server is there before the host has to wait for it
        warm = hook_command(host.hook, options, folder / "s", PATIENCE)
        asked = json.dumps({"nothing": " " * SMALL})
        subprocess.run(warm.words, input=asked, text=True, check=True, capture_output=True)


def laid_out(folder: Path) -> tuple[Path, Path]:
    """Make the folders of a session: a project that holds `a.py`, and a home."""
    project, home = folder / "project", folder / "home"
    for each in (project, home):
        each.mkdir(parents=True, exist_ok=True)
    (project / "a.py").write_text(CODE, encoding="utf-8")
    return project, home


def ran(project: Path, *command: str | Path, **environment: str) -> str:
    """Run a host's program in a project to its end, which must be a good one: what it printed."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=project,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@contextmanager
def ending(folder: Path) -> Iterator[None]:
    """End the server that a hook has started, if one has."""
    try:
        yield
    finally:
        lock = lock_of(folder / "s")
        if lock.exists():
            os.kill(int(lock.read_text()), signal.SIGTERM)


@dataclass(frozen=True)
class Player:
    """A host that can be played with: how its sessions are run, and how its model asks for files.

    Attributes:
        play: runs a session of a script in a folder, with the options of the hook's server or without a hook, and
            gives what the model was asked and what the host printed.
        results: the texts of the results of tools that a request carries.
        said: the key in a request of what was said so far.
        reader: the tool that shows a file.
        whole, ranged: its input for a whole file, and for some of its lines.
        shell: the tool that runs a command.
        command: its input for a command."""

    play: Callable[[Path, Script, Hook], tuple[Endpoint, str]]
    results: Callable[[dict[str, Any]], list[str]]
    said: str
    reader: str
    whole: Callable[[str], dict[str, Any]]
    ranged: Callable[[str, int, int], dict[str, Any]]
    shell: str
    command: Callable[[str], dict[str, Any]] = lambda line: {"command": line, "description": "Show a.py"}

    def read(self, path: Path) -> Step:
        """The model reads a file."""
        return Step(SAID, self.reader, self.whole(str(path)))

    def script(self, project: Path, cut: tuple[int, int] | None = None) -> Script:
        """Reads a file, some of what was cut, and the file again; `cut` is for a session that cuts nothing."""

        def some_of_the_cut(results: list[str]) -> Step:
            first, last = cut or largest_cut(results[0])
            given = self.ranged(str(project / "a.py"), first, last)
            return Step("Now what was cut.", self.reader, given)

        return [
            self.read(project / "a.py"),
            some_of_the_cut,
            Step("The same by the shell.", self.shell, self.command("cat a.py")),
            Step("Done."),
        ]

    def sent(self, model: Endpoint) -> int:
        """Characters of all requests."""
        return sum(len(json.dumps(body[self.said])) for body in model.requests)


def check_with_and_without(player: Player, folder: Path) -> None:
    """A session with the hook shows less than one without, and what was cut can be had by its range."""
    with_hook, said = player.play(folder / "with", player.script(folder / "with" / "project"), [])
    whole, ranged, again = player.results(with_hook.requests[-1])
    same = player.script(folder / "without" / "project", largest_cut(whole))
    without, _ = player.play(folder / "without", same, None)
    assert "Done." in said
    assert "def handler_30(request, response):" in whole
    assert " pruned: handler_" in whole  # the cuts are named
    hidden = hidden_line(whole)
    assert hidden not in whole
    assert "of the lines 1-" in whole
    assert hidden in ranged  # the cut can be undone in one step
    assert "[lamr" not in ranged
    first, _, third = player.results(without.requests[-1])
    # A file that was shown before isn't cut again, but by the host itself.
    assert nothing_is_lost(again, whole, ranged) or again == third
    assert not is_cut(first)
    assert first.count("handler_") > 40
    before, after = player.sent(without), player.sent(with_hook)
    print(f"characters sent to the model: {before:,} without lamr, {after:,} with it")
    assert after < before
    reasons = {each.reason for each in Store(folder / "with" / "shown.sqlite3").decisions()}
    assert reasons >= {"pruned"}, reasons
    assert reasons & {"shown before", "shortened"}, reasons
    check_counts(player, folder / "with", with_hook, without)


def check_counts(player: Player, folder: Path, with_hook: Endpoint, without: Endpoint) -> None:
    """What `lamr agents stats` says was cut is what the host would have shown less what it showed."""
    sizes = [
        [approximate_tokens(text) for text in player.results(model.requests[-1])]
        for model in (without, with_hook)
    ]
    lamr, store = Path(sys.executable).with_name("lamr"), folder / "shown.sqlite3"
    counted = json.loads(ran(folder, lamr, "agents", "stats", "--store", store, "--json", HOME=str(folder)))
    before, after = map(sum, sizes)
    assert abs(counted["total"]["tokens_cut"] - (before - after)) <= len(sizes[0]), sizes  # each is rounded


def check_unreachable(player: Player, folder: Path, port: int) -> None:
    """Where a server can't be reached, the line model answers; where nothing can judge, results stay as they came."""
    for name, serve in (
        ("haste", ["--server", f"127.0.0.1:{port}"]),
        ("none", ["--model", str(folder / "no")]),
    ):
        place = folder / name
        model, said = player.play(place, [player.read(place / "project" / "a.py"), Step("Done.")], serve)
        assert "Done." in said
        (whole,) = player.results(model.requests[-1])
        if name == "haste":
            assert is_cut(whole)
            assert "[lamr: judged in haste (line model; " in whole
        else:
            assert CODE.rstrip("\n").split("\n")[-1] in whole
            assert not is_cut(whole)
            assert "[lamr: not pruned: " in json.dumps(model.requests[-1][player.said])


def check_killed(player: Player, folder: Path, triton: Restartable) -> None:
    """While a server is gone the line model answers; the hook's own server is started again where it was killed."""
    project = folder / "project"

    def read(name: str, before: Callable[[], None]) -> Callable[[list[str]], Step]:
        def step(_: list[str]) -> Step:
            before()
            (project / name).write_text(CODE)
            return player.read(project / name)

        return step

    def kill_the_hooks_server() -> None:
        os.kill(int(lock_of(folder / "s").read_text()), signal.SIGKILL)

    script = [
        read("a.py", lambda: None),
        read("b.py", triton.kill),
        read("c.py", triton.start),
        read("d.py", kill_the_hooks_server),
        Step("Done."),
    ]
    model, said = player.play(folder, script, ["--server", triton.address])
    assert "Done." in said
    first, second, third, fourth = player.results(model.requests[-1])
    for shown in (first, second, third, fourth):
        assert is_cut(shown), shown[-400:]
    assert "judged in haste (line model; server unavailable)" in second
    assert "judged in haste" not in third
