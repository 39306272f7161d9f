"""The help of commands as paragraphs that fit any terminal: a docstring's own line ends would break lines twice."""

from __future__ import annotations

import inspect

import typer


def flow(app: typer.Typer) -> None:
    """Give each command of an app and of its groups its docstring as help, each paragraph on a line of its own."""
    for command in app.registered_commands:
        command.help = "\n\n".join(
            " ".join(paragraph.split())
            for paragraph in (inspect.getdoc(command.callback) or "").split("\n\n")
        )
    for group in app.registered_groups:
        if group.typer_instance is not None:
            flow(group.typer_instance)
