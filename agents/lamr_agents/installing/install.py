"""What `lamr install` and `lamr uninstall` change in a host's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lamr_agents.errors import HostSettingsError
from lamr_agents.host import Command, FileEntry, Host, HostSettings, ListEntry, MemberEntry
from lamr_agents.installing.change import UNCHANGED, SettingsChange, WrittenPiece, read_settings, recall
from lamr_agents.installing.commands import SettingsScope
from lamr_agents.installing.json_entries import MARKS, data_of, has, put, take
from lamr_agents.installing.jsonc import JsoncError


def settings_path(host: Host, scope: SettingsScope = SettingsScope.USER) -> Path:
    """The file of a host's settings.

    Raises:
        SettingsError: the host has none of the kind, the project's are a link that leads out of it, or the user has
            no home.
    """
    settings = _settings(host)
    if scope is SettingsScope.USER:
        if host.folder is None:
            raise HostSettingsError(f"{host.title} keeps no settings of the user's")
        return host.folder.path() / settings.user
    below = settings.project if scope is SettingsScope.PROJECT else settings.shared
    if not below:
        other = SettingsScope.SHARED if scope is SettingsScope.PROJECT else SettingsScope.PROJECT
        has = settings.shared if scope is SettingsScope.PROJECT else settings.project
        remedy = f"use --{other.value}, or leave the option out" if has else "leave the option out"
        kind = "of one's own " if scope is SettingsScope.PROJECT else "to check in "
        raise HostSettingsError(f"{host.title} has no settings {kind}in a project; {remedy}")
    folder = Path.cwd()
    path = folder / below
    if folder.resolve() not in path.resolve().parents:
        raise HostSettingsError(f"{path} leads out of the project, to {path.resolve()}; {UNCHANGED}")
    return path


def installed(host: Host, path: Path, command: Command) -> SettingsChange:
    """The change that puts lamr's entry in, in the place of an older one.

    Raises:
        SettingsError: the file isn't of the form that the host reads.
    """
    entry = _settings(host).entry
    before, known = read_settings(path), recall(host.name, path)
    try:
        if isinstance(entry, FileEntry):
            if before is not None and not _is_whole(before):
                raise HostSettingsError("somebody else's file has this name; move it away first")
            clean, written = None, WrittenPiece(entry.make(command), "", 0)
            after = written.text
        else:
            clean = _clean(before, entry, known)
            written = put(clean or "", entry, entry.make(command))
            after = written.put_in(clean or "")
            if before is not None and data_of(before) == data_of(after):
                after = before
    except HostSettingsError as error:
        raise HostSettingsError(f"{path}: {error}; {UNCHANGED}") from error
    folders = known[0].folders if known else ()
    return SettingsChange(
        host.name, path, before, after, replace(written, new=clean is None, folders=folders)
    )


def removed(host: Host, path: Path) -> SettingsChange:
    """The change that takes lamr's entry out, and what was made for it.

    Raises:
        SettingsError: as `installed`.
    """
    entry = _settings(host).entry
    before, known = read_settings(path), recall(host.name, path)
    try:
        if isinstance(entry, FileEntry):
            after = None if before is not None and _is_whole(before) else before
        else:
            after = _clean(before, entry, known)
    except HostSettingsError as error:
        raise HostSettingsError(f"{path}: {error}; {UNCHANGED}") from error
    return SettingsChange(host.name, path, before, after, folders=known[0].folders if known else ())


def is_installed(host: Host, path: Path) -> bool:
    """Whether lamr's entry stands in a file of a host's settings.

    Raises:
        SettingsError: the file can't be read.
    """
    entry, text = _settings(host).entry, read_settings(path)
    if text is None:
        return False
    try:
        return _is_whole(text) if isinstance(entry, FileEntry) else has(text, entry)
    except HostSettingsError as error:
        raise HostSettingsError(f"{path}: {error}") from error


def _settings(host: Host) -> HostSettings:
    if host.settings is None:
        raise HostSettingsError(
            f"{host.title} has no settings to change; docs/agents.md says how lamr gets in"
        )
    return host.settings


def _clean(text: str | None, entry: ListEntry | MemberEntry, known: Sequence[WrittenPiece]) -> str | None:
    """A file's text without lamr's entry; None where lamr made the file, and nothing else is in it.

    What was put in comes out to the letter, wherever it stands by now; where somebody has changed it, the entry goes
    alone.
    """
    if text is None or not has(text, entry):
        return text
    left = take(text, entry, known[0].made if known else None)
    for written in known:
        exact = written.taken_out(text)
        if exact is not None and _say_the_same(exact, left):
            left = exact
            break
    return None if known and known[0].new and not data_of(left) else left


def _say_the_same(exact: str, left: str) -> bool:
    try:
        return bool(data_of(exact) == data_of(left))
    except JsoncError:  # somebody has put something between the piece and what it was put beside
        return False


def _is_whole(text: str) -> bool:
    return any(mark in text for mark in MARKS)
