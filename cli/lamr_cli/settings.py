"""`lamr.toml`, what a user or a project sets once for all commands, and `lamr config`, which shows it.

The command line and the environment win over the files. A project's file may come with a stranger's repository. So it
sets only how much is packed and what is left out, and the user's file alone names the server, which code is sent to,
and the model, which is code itself."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from lamr_base.private_files import config_folder
from lamr_base.records import dataclass
from lamr_base.settings_file import KINDS, NAME, read_settings, users_file, users_settings

from lamr_cli.arguments import AsJson
from lamr_cli.printing import say


@dataclass(frozen=True)
class Setting:
    """A value in force."""

    value: Any
    source: str


MOST_TOKENS = 32_000  # The budget of a pack that names none
VARIABLES = {"server": "LAMR_SERVER"}


class Settings:
    """The two files, each read when its values are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def user(self) -> dict[str, Setting]:
        """What the user's file sets; nothing where there is none."""
        return {key: Setting(value, str(users_file())) for key, value in users_settings().items()}

    @cached_property
    def project(self) -> dict[str, Setting]:
        """What the project's file may set; what it may not is named once on standard error."""
        path = project_file(self._folder)
        if path is None:
            return {}
        values = read_settings(path, follow=False)
        if refused := [key for key in values if not KINDS[key].of_projects]:
            say(
                f"lamr: {path} sets {' and '.join(refused)}, which isn't used: a project's file may come from "
                f"a stranger. If you trust it, write it into {config_folder() / NAME}.",
                err=True,
            )
        return {key: Setting(values[key], str(path)) for key in values if key not in refused}

    def in_force(self, key: str) -> Setting:
        """Return a key's value and where it is from, the command line aside."""
        variable = VARIABLES.get(key)
        if variable is not None and os.environ.get(variable):
            return Setting(os.environ[variable], f"environment: {variable}")
        return self.project.get(key) or self.user.get(key) or Setting(None, "default")

    def of_user(self, key: str) -> Any:
        """Return what the user's file sets, without a look at the project's; None for nothing."""
        setting = self.user.get(key)
        return None if setting is None else setting.value

    def of_files(self, key: str) -> Any:
        """Return what the files set, the project's first; None for nothing."""
        setting = self.project.get(key) or self.user.get(key)
        return None if setting is None else setting.value


_OF_COMMANDS = {"pack": ("max_tokens", "exclude", "tokenizer"), "prune": ("effort", "within", "tokenizer")}
# Commands that somebody types in a project; the others read the user's file alone.
_TYPED = ("pack", "prune", "view")
_BY_OWN_WORDS = ("install",)  # What is written into another program's settings is what the command line says


def defaults(settings: Settings, command: Any, name: str = "") -> dict[str, Any]:
    """Return what commands take where command line and environment say nothing, as Click's `default_map`.

    Values are called when they are needed, so that no file is read for an option that is given, or for a help
    page."""
    listed: Mapping[str, Any] = getattr(command, "commands", {})
    in_force: dict[str, Any] = {each: defaults(settings, one, each) for each, one in listed.items()}
    if name in _BY_OWN_WORDS:
        return in_force
    of_name = settings.of_files if name in _TYPED else settings.of_user
    taken = {parameter.name: parameter.default for parameter in command.params}
    for key in ("server", "model", "profile", *_OF_COMMANDS.get(name, ())):
        if key in taken:
            in_force[key] = _Default(of_name, key, taken[key])
    if "servers" in taken:
        in_force["servers"] = lambda: [server] if (server := of_name("server")) else None
    return in_force


@dataclass(frozen=True)
class _Default:
    """An option's value by the files, else the command's own, which is what a help page shows."""

    of: Callable[[str], Any]
    key: str
    otherwise: Any

    def __call__(self) -> Any:
        value = self.of(self.key)
        return self.otherwise if value is None else value

    def __str__(self) -> str:
        return "" if self.otherwise is None else str(self.otherwise)


def project_file(folder: Path) -> Path | None:
    """Return the nearest `lamr.toml` from a folder up to its repository's root; outside of one, the folder's own."""
    try:
        folder = folder.absolute()
    except FileNotFoundError:  # the current folder is gone
        return None
    path = next((each / NAME for each in _up_to_root(folder) if os.path.lexists(each / NAME)), None)
    user = users_file()
    return None if path is None or (user is not None and path.exists() and path.samefile(user)) else path


def _up_to_root(folder: Path) -> Iterator[Path]:
    above = [folder, *folder.parents]
    root = next((number for number, each in enumerate(above) if os.path.lexists(each / ".git")), 0)
    yield from above[: root + 1]


_DEFAULTS = {
    "server": "none: in process",
    "model": "the bundled lamr-mini",
    "max_tokens": f"{MOST_TOKENS:,}",
    "exclude": "nothing",
    "tokenizer": "o200k",
    "effort": "auto",
    "within": "no limit but the timeout",
    "profile": "careful",
}


def config(as_json: AsJson = False) -> None:
    """Show the settings in force here and their sources.

    The command line overrides the environment, which overrides the project's lamr.toml, which overrides yours. A
    project's file may set only max_tokens and exclude (of `lamr pack`).

    lamr config

    lamr config --json"""
    settings = Settings(Path.cwd())
    found = {key: settings.in_force(key) for key in KINDS}
    if as_json:
        say(json.dumps({key: asdict(setting) for key, setting in found.items()}))
        return
    rows = [(key, _shown(key, setting), setting.source) for key, setting in found.items()]
    width = max(len(value) for _, value, _ in rows)
    say("\n".join(f"{key:<12}{value:<{width}}  {source}" for key, value, source in rows))


def _shown(key: str, setting: Setting) -> str:
    value: Any = setting.value
    if value is None:
        return _DEFAULTS[key]
    return ", ".join(value) if isinstance(value, list) else str(value)
