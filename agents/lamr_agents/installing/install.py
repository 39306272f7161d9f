"""What `lamr install` and `lamr uninstall` change in a host's settings."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from lamr_agents.errors import SettingsError
from lamr_agents.host import Command, Host, Listed, Named, Settings, Whole
from lamr_agents.installing import json_entries, toml_entries
from lamr_agents.installing.change import Change, Splice, Written, digest_of, put_in, recall, taken_out
from lamr_agents.installing.commands import Scope

MOST_BYTES = 4 << 20
"""Of settings that are read."""
_UNCHANGED = "nothing was changed"


def settings_path(host: Host, scope: Scope = Scope.USER) -> Path:
    """The file of a host's settings.

    Raises:
        SettingsError: the host has none of the kind, the project's are a link that leads out of it, or the user has
            no home.
    """
    settings = _settings(host)
    if scope is Scope.USER:
        if host.folder is None:
            raise SettingsError(f"{host.title} keeps no settings of the user's")
        return host.folder.path() / settings.user
    below = settings.project if scope is Scope.PROJECT else settings.shared
    if not below:
        other = Scope.SHARED if scope is Scope.PROJECT else Scope.PROJECT
        has = settings.shared if scope is Scope.PROJECT else settings.project
        remedy = f"use --{other.value}, or leave the option out" if has else "leave the option out"
        kind = "of one's own " if scope is Scope.PROJECT else "to check in "
        raise SettingsError(f"{host.title} has no settings {kind}in a project; {remedy}")
    folder = Path.cwd()
    path = folder / below
    if folder.resolve() not in path.resolve().parents:
        raise SettingsError(f"{path} leads out of the project, to {path.resolve()}; {_UNCHANGED}")
    return path


def installed(host: Host, path: Path, command: Command) -> Change:
    """The change that puts lamr's entry in, in the place of an older one.

    Raises:
        SettingsError: the file isn't of the form that the host reads.
    """
    entry = _settings(host).entry
    before, known = _read(path), recall(host.name, path)
    folders = known.folders if known else ()
    try:
        if isinstance(entry, Whole):
            return _installed_whole(host, path, before, entry.make(command), folders)
        form = _form_of(path)
        made = entry.make(command)
        clean = _clean(form, before, entry, known)
        splices, levels = form.put(clean or "", entry, made)
        after = put_in(clean or "", splices)
        if before is not None and form.has(before, entry) and form.data_of(before) == form.data_of(after):
            after = before
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}; {_UNCHANGED}") from error
    return Change(
        *(host.name, path, before, after),
        Written(digest_of(after), tuple(splices), levels, clean is None, folders),
    )


def removed(host: Host, path: Path) -> Change:
    """The change that takes lamr's entry out, and what was made for it.

    Raises:
        SettingsError: as `installed`.
    """
    entry = _settings(host).entry
    before, known = _read(path), recall(host.name, path)
    after = before
    if before is not None:
        try:
            if isinstance(entry, Whole):
                after = None if _is_whole(before) else before
            else:
                form = _form_of(path)
                after = _clean(form, before, entry, known) if form.has(before, entry) else before
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}; {_UNCHANGED}") from error
    return Change(host.name, path, before, after, folders=known.folders if known else ())


def is_installed(host: Host, path: Path) -> bool:
    """Whether lamr's entry stands in a file of a host's settings.

    Raises:
        SettingsError: the file can't be read.
    """
    entry, text = _settings(host).entry, _read(path)
    if text is None:
        return False
    try:
        return _is_whole(text) if isinstance(entry, Whole) else _form_of(path).has(text, entry)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


class _Form(Protocol):
    """A file's format: how an entry is put in and taken out there."""

    def put(self, text: str, entry: Listed | Named, made: Mapping[str, Any]) -> tuple[list[Splice], int]: ...

    def take(self, text: str, entry: Listed | Named, levels: int | None = None) -> str: ...

    def has(self, text: str, entry: Listed | Named) -> bool: ...

    def data_of(self, text: str) -> Any: ...


def _form_of(path: Path) -> _Form:
    return toml_entries if path.suffix == ".toml" else json_entries


def _settings(host: Host) -> Settings:
    if host.settings is None:
        raise SettingsError(f"{host.title} has no settings to change; docs/agents.md says how lamr gets in")
    return host.settings


def _clean(form: _Form, text: str | None, entry: Listed | Named, known: Written | None) -> str | None:
    """A file's text without lamr's entry; None where lamr made the file, and nothing else is in it.

    What was put in comes out to the letter, wherever it stands by now; where somebody has changed it, the entry goes
    alone.
    """
    if text is None:
        return None
    left = None
    if known is not None and digest_of(text) == known.digest:
        left = taken_out(text, known.splices)
    if left is None:
        left = form.take(text, entry, known.made if known else None)
        pieces = [splice.text for splice in known.splices] if known else []
        if len(pieces) == 1 and text.count(pieces[0]) == 1:
            exact = text.replace(pieces[0], "")
            left = exact if form.data_of(exact) == form.data_of(left) else left
    return None if known is not None and known.new and not form.data_of(left) else left


def _installed_whole(
    host: Host, path: Path, before: str | None, after: str, folders: tuple[str, ...]
) -> Change:
    if before is not None and not _is_whole(before):
        raise SettingsError("somebody else's file has this name; move it away first")
    return Change(host.name, path, before, after, Written(digest_of(after), (), 0, True, folders))


def _is_whole(text: str) -> bool:
    return any(mark in text for mark in json_entries.MARKS)


def _read(path: Path) -> str | None:
    """A file's text; None where there is none.

    Raises:
        SettingsError: it is no text of an allowed size.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        raise SettingsError(f"{path}: no file of at most {MOST_BYTES >> 20} MiB; {_UNCHANGED}")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: no UTF-8 ({error}); mend it first, {_UNCHANGED}") from error
