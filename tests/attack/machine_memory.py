"""Another user of the machine reads what a server holds, or lays out folders for the next one's sweep."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from lamr_serving.launcher.supervisor import SHARED_MEMORY

from tests.attack.case import Case
from tests.attack.place import Place
from tests.attack.served import Server, served, shared

NOBODY = 65534
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


_memory_case = partial(Case, "memory")
CASES = (
    _memory_case("modes under umask 0", partial(modes_of_a_server, umask=0), MODES, 15),
    _memory_case("modes after the server died", modes_after_a_death, f"answers; {MODES}; 0 left", 20),
    _memory_case("another user reads it", nobody_reads, "(Permission denied|not root)", 10),
    _memory_case("another user opens it as it appears", nobody_opens_early, "(nothing opened|not root)", 20),
    _memory_case(
        "another user asks the server's own endpoint", nobody_asks, "(Permission denied|not root)", 10
    ),
)
