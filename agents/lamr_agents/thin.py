"""The process that an agent's host starts for a hook: hands the host's call to the local server and prints the answer.

It runs as `python -I -S thin.py --socket PATH …` at each call, so it imports little, and nothing but the standard
library. Small results end here. If no server listens, it starts one and waits for it, all within a time limit; then,
and whenever something fails, the host's result stays as it is and the answer says why. Code goes to a server of the
same user only, over a socket in a folder where nobody else can put one."""

import os
import socket
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in typing, which would take time to import
    import subprocess

SMALL = 2000
"""Bytes of a call below which a result stays as it is: what could be left out of it doesn't pay for the asking."""
MOST_BYTES = 64 << 20  # largest call; a larger one stays as it is
LEFT = "lamr_seconds_left"  # what a call is sent with: the seconds that this process will wait for the answer
HOST = "lamr_host"  # what a call is sent with: the name of the host, as the hook's command has it
SOCKET = "agents/hook.sock"  # the socket in lamr's cache folder at which the user's own server listens
FOLDER = "lamr_folder"  # what a call is sent with: the host's folder, where the hook's environment names one
EVENT = "PostToolUse"
BESIDE = '{"hookSpecificOutput": {"hookEventName": "' + EVENT + '", "additionalContext": %s}}'
"""JSON by which most hosts take a message beside a result; `%s` stands for the message."""
NOTE = "[lamr:"  # how whatever lamr says to an agent begins
NOT_PRUNED = "not pruned"  # how the reason of a result begins that passes because something failed
AS_IT_CAME = f"{NOTE} nothing is cut here; what begins with `{NOTE}` in the result is its own text]"
"""Message for a result that passes although it has text that looks like lamr's."""
MOST_WORDS = 400  # characters of others' words that are told
_PAUSE = 0.02
_TELLING = 0.05  # seconds that telling the server of a small result may take
_GRACE = 2.0
"""Seconds after the end of a server that was started: it also ends where another was quicker, which then listens."""
_SERVE = "import sys; sys.path[:] = filter(None, sys.path); from lamr_cli.main import main; main()"
"""Starts lamr without the current folder among the places of modules, in every version of Python."""
_PEER = (socket.SOL_SOCKET, 17, 12) if sys.platform == "linux" else (0, 1, 76)
"""Level, name and size of SO_PEERCRED and of LOCAL_PEERCRED; the user's id is the second four bytes of both."""


def main(arguments: "list[str]") -> int:
    """Answer one call; the exit code is 0 whatever happens, since another one would bother the agent."""
    begin = time.monotonic()
    options = dict(zip(arguments[::2], arguments[1::2]))  # noqa: B905 - strict needs Python 3.10
    shape = options.get("--beside", BESIDE)
    try:
        answer = _answer(options, begin, shape)
    except Exception as error:
        answer = unpruned(type(error).__name__ + (f": {error}" if str(error) else ""), shape)
    try:
        sys.stdout.buffer.write(answer)
        sys.stdout.flush()
    except (OSError, AttributeError):  # the host went away
        os._exit(0)
    return 0


def _answer(options: "dict[str, str]", begin: float, shape: str) -> bytes:
    deadline = begin + float(options.get("--limit", "8"))
    if sys.stdin is None:
        return unpruned("standard input is closed", shape)
    payload = sys.stdin.buffer.read(MOST_BYTES + 1)
    if "--passed" in options and options["--passed"].encode() in payload:
        return b""
    if len(payload) < SMALL:
        tell(options.get("--socket", ""), payload, options.get("--host", ""))
        return beside(AS_IT_CAME, shape) if NOTE.encode() in payload else b""
    if len(payload) > MOST_BYTES:
        while sys.stdin.buffer.read(1 << 20) and time.monotonic() < deadline:
            pass  # a host may take it for an error that nobody reads what it writes
        return unpruned(f"the call has more than {MOST_BYTES >> 20} MiB", shape)
    payload = _with_folder(payload, os.environ.get(options.get("--variable", ""), ""))
    host = options.get("--host", "")
    return ask(options["--socket"], payload, deadline, options.get("--serve", "[]"), host)


def ask(path: str, payload: bytes, deadline: float, serve: str, host: str = "") -> bytes:
    """Send a call to the server and return what to print; starts the server with the options `serve` if needed."""
    with _connect(path, deadline, serve) as connection:
        connection.settimeout(_left(deadline))
        connection.sendall(_with_ours(payload, deadline, host))
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while True:
            connection.settimeout(_left(deadline))
            part = connection.recv(1 << 16)
            if not part:
                break
            parts.append(part)
    if not parts:
        raise ConnectionError("the local server went away")
    return b"".join(parts)


def _with_folder(payload: bytes, folder: str) -> bytes:
    if not folder:
        return payload
    import json  # noqa: PLC0415 - few have moved the folder

    return _with(payload, '"%s": %s' % (FOLDER, json.dumps(folder)))  # noqa: UP031


def tell(path: str, payload: bytes, host: str) -> None:
    """Let the server know of a small result, where one listens: it may be a range of a file that was cut.

    Nothing is waited for, and nothing started."""
    deadline = time.monotonic() + _TELLING
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with connection:
        try:
            check_place(path)
            connection.settimeout(_TELLING)
            connection.connect(path)
            check_peer(connection)
            connection.sendall(_with_ours(payload, deadline, host))
        except OSError:  # nobody listens, or none of the user's
            return


def _with_ours(payload: bytes, deadline: float, host: str) -> bytes:
    """The call with `HOST` and `LEFT` as its last keys, which count whatever others of these names say; nothing is
    parsed."""
    ours = '"%s": "%s", ' % (HOST, host) if host else ""  # noqa: UP031
    return _with(payload, ours + '"%s": %.3f' % (LEFT, _left(deadline)))  # noqa: UP031


def _with(payload: bytes, keys: str) -> bytes:
    """The call with these as its last keys; as it is where it isn't an object."""
    whole = payload.rstrip()
    if not whole.endswith(b"}"):
        return payload
    parted = "" if whole[:-1].strip() == b"{" else ", "
    return whole[:-1] + f"{parted}{keys}}}".encode()


def unpruned(why: str, shape: str = BESIDE) -> bytes:
    """The output for a result that couldn't be pruned: the agent sees the reason beside it."""
    return beside(f"{NOTE} {NOT_PRUNED}: {plain(why)}]", shape)


def plain(words: str) -> str:
    """Others' words, as of a server or a system, in one line of bounded length, of characters that everybody sees."""
    return "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in words[:MOST_WORDS])


def beside(words: str, shape: str = BESIDE) -> bytes:
    """The output that shows an agent a message beside an unchanged result; `shape` is the host's, as `BESIDE`."""
    import json  # noqa: PLC0415 - a warm call doesn't need it, and it takes longer than all else here

    return shape.replace("%s", json.dumps(words)).encode()


def check_folder(folder: str) -> None:
    """See that a folder is the user's, and that nobody else can put something into it."""
    status = os.lstat(folder or os.curdir)
    if not stat.S_ISDIR(status.st_mode):
        raise _refused(folder, "is a link or no folder")
    _check_owner(folder, status)
    if status.st_mode & 0o022:
        raise _refused(folder, "can be written by others")


def check_place(path: str) -> None:
    """See that a socket's folder passes `check_folder`, and that nothing but a socket of the user's has its name."""
    check_folder(os.path.dirname(path))  # noqa: PTH120 - pathlib takes time to import
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise _refused(path, "is no socket")
    _check_owner(path, status)


def check_peer(connection: socket.socket) -> None:
    """See that the process at the other end is the user's."""
    user = int.from_bytes(connection.getsockopt(*_PEER)[4:8], sys.byteorder)
    if user != os.geteuid():
        raise PermissionError(f"the process at the other end belongs to user {user}")


def _check_owner(path: str, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise _refused(path, f"belongs to user {status.st_uid}")


def _refused(path: str, why: str) -> PermissionError:
    return PermissionError(f"{path} {why}, so that it isn't used; mend or remove it, or name another place")


def _connect(path: str, deadline: float, serve: str) -> socket.socket:
    server, ended = None, None
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            check_place(path)
            connection.settimeout(_left(deadline))
            connection.connect(path)
            check_peer(connection)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            server = server or _start(path, serve)
            if server is not None and server.poll() is not None:
                ended = ended or time.monotonic()
                if time.monotonic() - ended > _GRACE:
                    why = (
                        f"the local server ended with code {server.returncode}; `lamr agents serve` says why"
                    )
                    raise ChildProcessError(why) from None
            time.sleep(min(_PAUSE, _left(deadline)))


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the local server took too long")
    return left


def _start(path: str, serve: str) -> "subprocess.Popen[bytes] | None":
    """Start a server that outlives this process; None where one that another process started lives.

    A server keeps a lock from before its start to its end, so that of many first calls one starts it."""
    import fcntl  # noqa: PLC0415 - a warm call needs none of these
    import json  # noqa: PLC0415
    import subprocess  # noqa: PLC0415

    os.umask(0o077)
    path = os.path.abspath(path)  # noqa: PTH100 - as above
    folder = os.path.dirname(path)  # noqa: PTH120
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    check_folder(folder)
    lock = os.open(f"{path}.start", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        command = [sys.executable, "-c", _SERVE, "agents", "serve", "--socket", path, *json.loads(serve)]
        nothing = subprocess.DEVNULL
        return subprocess.Popen(
            command,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
            cwd=folder,
            pass_fds=[lock],
        )
    finally:
        os.close(lock)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
