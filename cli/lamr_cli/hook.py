"""`lamr-hook`: the hook's process, by a command that is the same on every machine, as a team's settings need it.

An agent waits for it, so that neither the commands nor the packages behind them are imported."""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from lamr_base.private_files import NoHomeError, cache_folder


def main() -> None:
    """Answer one call of a host; the server's socket is the user's own where none is named."""
    thin, arguments = _thin(), sys.argv[1:]
    if "--socket" not in arguments:
        try:
            arguments += ["--socket", str(cache_folder() / thin.SOCKET)]
        except NoHomeError as error:
            sys.stdout.buffer.write(thin.unpruned(str(error), *_after(arguments, "--beside")))
            return
    sys.exit(thin.main(arguments))


def _after(arguments: list[str], option: str) -> list[str]:
    """An option's value, where it is given."""
    return arguments[arguments.index(option) + 1 :][:1] if option in arguments else []


def _thin() -> ModuleType:
    """The module of the hook's process, without the package that it lies in."""
    package = find_spec("lamr_agents")
    assert package, "both packages are installed together"
    spec = spec_from_file_location("lamr_thin", Path(str(package.origin)).with_name("thin.py"))
    assert spec, "the package has this file"
    assert spec.loader, "it is one of Python's"
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
