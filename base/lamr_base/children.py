"""How lamr starts other processes: in which folder they stand, and where their Python finds its modules.

The current folder may be a stranger's repository, and a file `random.py` there must never run. Python looks there by
itself, for `python -c`, `python -m` and for whatever embeds it, so that every process of lamr stands in a folder that
strangers can't write to, and imports from folders that are named to it."""

import contextlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from lamr_base.silence import missing

SAFE_PATH = "PYTHONSAFEPATH"
"""From Python 3.11 on this keeps the current folder from a child's `sys.path`."""
_PYTHON_PATH = "PYTHONPATH"
_HOME_OF_LAMR = Path(__file__).parents[1]


def standing_place() -> str:
    """The folder in which children stand: the root, or where that is open to everybody (Windows), the interpreter's."""
    return os.sep if os.name == "posix" else str(Path(sys.executable).parent)


def import_path() -> list[str]:
    """Return this process's `sys.path` for another one: absolute, and without the current folder.

    The current folder stays where Python's own modules, what is installed for it, or lamr itself lie there."""
    return [folder for folder in sys.path if _is_named(folder)]


def forget_current_folder() -> None:
    """Take the current folder from this process's `sys.path`, and from what its children inherit.

    `python -m`, or an empty entry in PYTHONPATH, has put it there. It's for programs of lamr's own, before they import
    anything that could lie there: a library leaves its user's path alone."""
    sys.path[:] = import_path()
    os.environ.update(_inherited())


def environment() -> dict[str, str]:
    """Return the variables for a child: this process's, without the current folder in what Python searches."""
    return {**os.environ, **missing(), **_inherited()}


def python(module: str, function: str, *arguments: str) -> list[str]:
    """Return the command that runs a function of a module in another Python, with this process's own path.
    `function`: takes nothing; `sys.argv[1:]` holds the arguments. `arguments`: the function's, which everybody on the
    machine can read."""
    code = f"import sys; sys.path[:] = {import_path()!r}; from {module} import {function}; {function}()"
    return [sys.executable, "-c", code, *arguments]


@contextlib.contextmanager
def standing_elsewhere() -> Iterator[None]:
    """Stand where children stand, while a library starts some by itself. It's for the main thread of a program.

    Relative paths mean nothing meanwhile: make them absolute before."""
    before, variables = Path.cwd(), dict(os.environ)
    os.chdir(standing_place())
    os.environ.update(environment())
    try:
        yield
    finally:
        os.chdir(before)
        for name in (SAFE_PATH, _PYTHON_PATH):
            _restore(name, variables.get(name))


def _inherited() -> dict[str, str]:
    named = [each for each in os.environ.get(_PYTHON_PATH, "").split(os.pathsep) if _is_named(each)]
    return {SAFE_PATH: "1", **({_PYTHON_PATH: os.pathsep.join(named)} if _PYTHON_PATH in os.environ else {})}


def _is_named(entry: str) -> bool:
    """Whether an entry of a path names one folder wherever one stands, and isn't the current one by accident."""
    folder = Path(entry)
    if (
        not folder.is_absolute()
    ):  # an editable install has an entry that names no file, for a finder of its own
        return entry != "" and not folder.exists()
    try:
        if not folder.samefile(Path()):
            return True
    except OSError:  # one of the two isn't there
        return True
    installed = (_HOME_OF_LAMR, *map(Path, sysconfig.get_paths().values()), Path(site.getusersitepackages()))
    return folder.resolve() in {each.resolve() for each in installed}


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
