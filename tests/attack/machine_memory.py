"""Another user of the machine reads what a server holds, or lays out folders for the next one's sweep."""

import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lamr_serving.launcher import workspace
from lamr_serving.launcher.supervisor import SHARED_MEMORY

from tests.attack.case import Case
from tests.attack.place import Place
from tests.attack.served import Server, served, shared

NOBODY = 65534
SWEPT = "exit 0; the folder {}; the victim stays; the living stays"
MODES = r"\d regions; open: \[\]; folder 700"
READ = """
for name in sys.argv[1:]:
    try:
        open(name, "rb").read(1); print("READ", name)
    except OSError as error:
        print(error.strerror)
"""


def regions(server: Server) -> list[Path]:
    return [path for path in SHARED_MEMORY.iterdir() if path.name.startswith(server.token)]


def modes(server: Server) -> str:
    root = Path(server.triton.cwd()).parent
    files = [*regions(server), root / "triton.log", root / "place" / "http.socket", root / "lock"]
    open_ = [path.name for path in files if path.lstat().st_mode & 0o077]
    return f"{len(regions(server))} regions; open: {open_}; folder {root.stat().st_mode & 0o777:o}"


def modes_of_a_server(place: Place, umask: int) -> str:
    with served(place, umask=umask) as server:
        return modes(server)


def modes_after_a_death(_: Place) -> str:
    server = shared()
    before = set(regions(server))
    first = server.triton
    first.kill()
    first.wait(10)
    said = server.prunes()
    left = before & set(SHARED_MEMORY.iterdir())
    return f"{said}; {modes(server)}; {len(left)} left"


def as_nobody(program: str, *arguments: str) -> str:
    """What a program says that another user of the machine runs; needs root."""
    if os.geteuid():
        return "not root"
    code = f"import os, socket, sys\nos.setgid({NOBODY}); os.setuid({NOBODY})\n{program}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip()[-200:]


def nobody_reads(_: Place) -> str:
    server = shared()
    root = Path(server.triton.cwd()).parent
    files = [*regions(server), root / "triton.log", root / "models", f"/proc/{server.triton.pid}/environ"]
    return " ".join(sorted(set(as_nobody(READ, *map(str, files)).splitlines())))


def nobody_opens_early(place: Place) -> str:
    """Another user waits for the regions and opens them as they appear, before they could be closed."""
    if os.geteuid():
        return "not root"
    watch = (
        "import time\nfound = set(os.listdir('/dev/shm')); end = time.time() + 12; print('ready', flush=True)\n"
        "while time.time() < end:\n"
        " for name in set(os.listdir('/dev/shm')) - found:\n"
        "  try: open('/dev/shm/' + name, 'rb'); print('OPENED', name, flush=True); found.add(name)\n"
        "  except OSError: pass\n"
    )
    code = f"import os, sys\nos.setgid({NOBODY}); os.setuid({NOBODY})\n{watch}"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, text=True) as spy:
        assert spy.stdout is not None
        spy.stdout.readline()
        with served(place) as server:
            token = server.token
            server.prunes()
        spy.kill()
        opened = [line for line in spy.stdout if token in line]
    return f"OPENED {len(opened)}" if opened else "nothing opened"


def nobody_asks(_: Place) -> str:
    """Another user connects to the socket of the server's own endpoint."""
    file = Path(shared().triton.cwd()) / "http.socket"
    return as_nobody(
        "s = socket.socket(socket.AF_UNIX)\n"
        "try: s.connect(sys.argv[1]); print('CONNECTED')\nexcept OSError as error: print(error.strerror)\n",
        str(file),
    )


def swept(place: Place, make: Callable[[Path, Path], Path]) -> str:
    """What is left of a folder and of a living server's memory after a sweep of dead servers."""
    temporary, victim = place.folder / "tmp", place.folder / "victim"
    temporary.mkdir()
    victim.mkdir()
    (victim / workspace.LOCK).touch()
    living = SHARED_MEMORY / f"{workspace.PREFIX}x-{secrets.token_hex(6)}"
    living.write_bytes(b"x")
    try:
        made = make(temporary, victim)
        done = place.run(
            sys.executable,
            "-c",
            "import tempfile; tempfile.gettempdir = lambda: __import__('sys').argv[1]\n"
            "from lamr_serving.launcher import workspace; workspace.sweep()",
            temporary,
        )
        there = os.path.lexists(made), (victim / workspace.LOCK).exists(), living.exists()
        folder, lock, memory = ("stays" if each else "goes" for each in there)
        return f"exit {done.code}; the folder {folder}; the victim {lock}; the living {memory}"
    finally:
        living.unlink(missing_ok=True)


def named(name: str) -> Callable[[Place], str]:
    def make(temporary: Path, _: Path) -> Path:
        (temporary / name).mkdir()
        (temporary / name / workspace.LOCK).touch()
        return temporary / name

    return partial(swept, make=make)


def dead(change: Callable[[Path, Path], None]) -> Callable[[Place], str]:
    """A folder with a dead server's name, changed by a function of it and the victim."""

    def make(temporary: Path, victim: Path) -> Path:
        root = temporary / f"{workspace.PREFIX}{secrets.token_hex(workspace.TOKEN_BYTES)}"
        change(root, victim)
        return root

    return partial(swept, make=make)


def _with_lock(root: Path, _: Path) -> None:
    root.mkdir()
    (root / workspace.LOCK).touch()


def _of_nobody(root: Path, victim: Path) -> None:
    _with_lock(root, victim)
    if not os.geteuid():
        os.chown(root, NOBODY, NOBODY)
    else:
        (root / workspace.LOCK).unlink()


def _lock_is_a_link(root: Path, victim: Path) -> None:
    root.mkdir()
    (root / workspace.LOCK).symlink_to(victim / workspace.LOCK)


def _lock_is_a_fifo(root: Path, _: Path) -> None:
    root.mkdir()
    os.mkfifo(root / workspace.LOCK)


def _holds_a_link(root: Path, victim: Path) -> None:
    _with_lock(root, victim)
    (root / "models").symlink_to(victim)


_memory_case = partial(Case, "memory")
_quick_sweep = partial(Case, "sweep", quick=True)
_sweep_case = partial(Case, "sweep")
CASES = (
    _memory_case("modes of what a server makes", lambda _: modes(shared()), MODES, 15),
    _memory_case("modes under umask 0", partial(modes_of_a_server, umask=0), MODES, 15),
    _memory_case("modes after the server died", modes_after_a_death, f"answers; {MODES}; 0 left", 20),
    _memory_case("another user reads it", nobody_reads, "(Permission denied|not root)", 10),
    _memory_case("another user opens it as it appears", nobody_opens_early, "(nothing opened|not root)", 20),
    _memory_case(
        "another user asks the server's own endpoint", nobody_asks, "(Permission denied|not root)", 10
    ),
    _quick_sweep("a name that is a pattern", named("lamr-serving-[x-z]"), SWEPT.format("stays"), 2),
    _quick_sweep("a name of a star", named("lamr-serving-*"), SWEPT.format("stays"), 2),
    _sweep_case("question marks", named("lamr-serving-????????????"), SWEPT.format("stays"), 2),
    _sweep_case("a name that is too short", named("lamr-serving-"), SWEPT.format("stays"), 2),
    _sweep_case("a name with a line break", named("lamr-serving-00000000000\n"), SWEPT.format("stays"), 2),
    _quick_sweep("somebody else's folder", dead(_of_nobody), SWEPT.format("stays"), 2),
    _quick_sweep(
        "a link to a folder", dead(lambda root, victim: root.symlink_to(victim)), SWEPT.format("stays"), 2
    ),
    _sweep_case("a file", dead(lambda root, _: root.touch()), SWEPT.format("stays"), 2),
    _sweep_case("a lock that is a link", dead(_lock_is_a_link), SWEPT.format("stays"), 2),
    _sweep_case("a lock that is a pipe", dead(_lock_is_a_fifo), SWEPT.format("(stays|goes)"), 2),
    _sweep_case("a dead server's folder with a link in it", dead(_holds_a_link), SWEPT.format("goes"), 2),
    _sweep_case("a dead server's folder", dead(_with_lock), SWEPT.format("goes"), 2),
)
