"""The `lamr` command's entry point: what holds for all commands, and how errors become exit codes.

A command imports what it needs when it runs, so that `lamr --help` stays quick and a light install never meets a heavy
import."""

import atexit
import gc
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from lamr_base.children import forget_current_folder
from lamr_base.errors import own_errors
from lamr_base.silence import keep_silent
from typer import Option

from lamr_cli.commands import Commands
from lamr_cli.exits import exit_code, explain
from lamr_cli.printing import OutputError, flush_output, let_go_of_output, open_streams, say, speak_utf_8
from lamr_cli.settings import Settings, defaults

# Between two searches for garbage: Python's 700 are as many as one module's import makes.
_NEW_OBJECTS = 50_000
_CUT_OFF = 128 + 13  # as a shell says that SIGPIPE ended a command; Windows has no name for the signal

app = typer.Typer(
    name="lamr",
    cls=Commands,
    help="Prune source code for coding agents: keep the lines that answer the question.",
    epilog="Exit codes: 0 ok, 2 usage or bad input, 3 server trouble, 4 done but for input that was left out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"lamr {version('lamr-server')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    _version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Prune source code for coding agents: keep the lines that answer the question."""
    if name := context.invoked_subcommand:
        command = getattr(context.command, "commands", {})[name]
        context.default_map = {name: defaults(Settings(Path()), command, name)}


def main() -> None:
    """Run the command line; an expected error is one message on stderr and an exit code, never a traceback."""
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)  # Python would search all objects for garbage at its end, several times
    speak_utf_8()
    forget_current_folder()
    keep_silent()
    open_streams()
    try:
        try:
            with own_errors():
                app()
        except (SystemExit, OSError):
            flush_output()  # what can't be printed is said of what was printed last as well
            raise
    except BrokenPipeError:
        # The reader (`head`, a pager) has what it wanted; flushing again at exit would complain once more.
        let_go_of_output()
        sys.exit(_CUT_OFF)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        explain(error)
        if isinstance(error, OutputError):
            let_go_of_output()
        sys.exit(code)


if __name__ == "__main__":
    main()
