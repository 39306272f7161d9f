"""The commands of `lamr` by name. One is imported and built when it is looked up, as a help page does with all."""

import functools
import importlib
import inspect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

_COMMANDS = {
    "Prune": {"prune": "prune.prune", "pack": "pack.pack", "batch": "batch.batch", "view": "prune.view"},
    "Agents": {
        "install": "agents.install",
        "uninstall": "agents.uninstall",
        "agents": "agents.app",
        "mcp": "mcp.mcp",
        "replay": "replay.replay",
        "show": "agents.show",
    },
    "Serve": {
        "serve": "serve.serve",
        "http": "mcp.http",
        "front": "front.app",
        "status": "serve.status",
        "config": "settings.config",
        "cache": "cache.cache",
    },
    "Models and evaluation": {
        "eval": "evaluate.evaluate",
        "train": "train.train",
        "export": "export.export",
        "research": "commands.research",
    },
}
"""Under each heading of the help, each command's module and what of it is the command."""
_RESEARCH = {"Commands": {"judge": "judge.app", "compress": "compress.compress", "lines": "train.lines"}}


class _Plain:
    """Click's commands, with no type in the help of a flag, and an example where something is missing."""

    def get_params(self, context: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(context)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            parameter.process_value = functools.partial(_processed, parameter)
            parameter.get_missing_message = self._example
        return parameters

    def _example(self, ctx: Any = None) -> str:  # noqa: ARG002 - Click names the argument so
        """The command's first example."""
        lines = (getattr(self, "help", None) or "").splitlines()
        return next((f"For example: {line}" for line in lines if line.startswith("lamr ")), "")


def _processed(parameter: Any, context: Any, value: Any) -> Any:
    """Convert and check a value as Typer does.

    Typer imports pydantic for that, which takes as long as a pruning. So what needs no conversion is taken as it is:
    nothing, a text, a default, a choice, and a path where there is nothing to check."""
    descriptor: Any = getattr(parameter, "type_descriptor", None)
    kind = getattr(descriptor, "annotation", None)
    if descriptor is not None and value is None and not parameter.required:
        value = () if parameter.multiple or parameter.nargs == -1 else None
    elif kind is Path and value and not (descriptor.parameter_info.exists or os.path.lexists(value)):
        value = Path(value)
    elif not (
        (type(value) is kind and (kind is str or value is parameter.default)) or value in get_args(kind)
    ):
        return type(parameter).process_value(parameter, context, value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


class _Command(_Plain, TyperCommand):
    pass


class _Group(_Plain, TyperGroup):
    pass


class Commands(_Group):
    """A group of commands that are built when they are looked up; by default, of all of them."""

    def __init__(self, places: Mapping[str, Mapping[str, str]] = _COMMANDS, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Built(places)  # type: ignore[assignment]  # nobody adds one


class _Built(Mapping[str, Any]):
    """Click's commands by name, each built when it is looked up; those of `lamr research` can also do without that."""

    def __init__(self, places: Mapping[str, Mapping[str, str]]) -> None:
        self._headings = {name: heading for heading, names in places.items() for name in names}
        self._places = {name: place for names in places.values() for name, place in names.items()}

    def __getitem__(self, name: str) -> Any:
        command = _built(name, self._places.get(name) or _RESEARCH["Commands"][name])
        command.rich_help_panel = self._headings.get(name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@functools.cache
def _built(name: str, place: str) -> Any:
    module, attribute = place.split(".")
    found = getattr(importlib.import_module(f"lamr_cli.{module}"), attribute)
    if isinstance(found, TyperGroup):
        return found
    if isinstance(found, typer.Typer):
        _flow(found)
        found.info.cls = _Group
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    _flow(alone)
    return typer.main.get_command(alone)


def _flow(app: typer.Typer) -> None:
    """Give an app's commands their docstrings as help, each paragraph on one line: the terminal breaks it."""
    for command in app.registered_commands:
        command.cls = _Command
        command.help = "\n\n".join(
            " ".join(paragraph.split())
            for paragraph in (inspect.getdoc(command.callback) or "").split("\n\n")
        )


research = Commands(
    _RESEARCH,
    name="research",
    help="Judge answers, compress by perplexity and train the line model.",
    no_args_is_help=True,
)
