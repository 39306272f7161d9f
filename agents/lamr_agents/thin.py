"""The process that an agent's host starts for a hook: hands the host's call to the local server and prints the answer.

It runs as `python -I -S thin.py --socket PATH …` at each call, so it imports little, and nothing but the standard
library. Small results end here. If no server listens, it starts one and waits for it, all within a time limit; then,
and whenever something fails, the host's result stays as it is and the answer says why. This module knows a socket and
how hosts are told of a failure; it knows no pruner.
"""

import json
import os
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # as in typing, which would take time to import
    import subprocess

SMALL = 5250
"""Bytes of a call below which its result has fewer tokens than the policy asks for (1,500 of 3.5 bytes)."""
LEFT = "lamr_seconds_left"
"""What a call is sent with: the seconds that this process will wait for the answer."""
_PAUSE = 0.02
_GRACE = 2.0
"""Seconds after the end of a server that was started: it also ends where another was quicker, which then listens."""


def main(arguments: "list[str]") -> int:
    """Answer one call; the exit code is 0 whatever happens, since another one would bother the agent."""
    begin = time.monotonic()
    options = dict(zip(arguments[::2], arguments[1::2]))  # noqa: B905 - strict needs Python 3.10, an old one may run this
    payload = sys.stdin.buffer.read()
    if len(payload) < SMALL:
        return 0
    deadline = begin + float(options.get("--limit", "8"))
    try:
        serve = json.loads(options.get("--serve", "[]"))
        answer = ask(options["--socket"], payload, deadline, serve)
    except Exception as error:
        answer = unpruned(payload, type(error).__name__ + (f": {error}" if str(error) else ""))
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    return 0


def ask(path: str, payload: bytes, deadline: float, serve: "list[str]") -> bytes:
    """Send a call to the server and return what to print; starts the server with the options `serve` if none listens.

    Raises:
        OSError: the server can't be reached or doesn't answer within the deadline.
    """
    with _connect(path, deadline, serve) as connection:
        connection.settimeout(_left(deadline))
        connection.sendall(_with_time(payload, deadline))
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


def _with_time(payload: bytes, deadline: float) -> bytes:
    call = json.loads(payload)
    return json.dumps({**call, LEFT: _left(deadline)}).encode() if isinstance(call, dict) else payload


def unpruned(payload: bytes, why: str) -> bytes:
    """What to print when a result couldn't be pruned: the agent sees the reason beside the result."""
    try:
        event = json.loads(payload).get("hook_event_name", "PostToolUse")
    except (ValueError, AttributeError):
        return b""
    said = {"hookEventName": event, "additionalContext": f"[lamr: not pruned: {why}]"}
    return json.dumps({"hookSpecificOutput": said}).encode()


def _connect(path: str, deadline: float, serve: "list[str]") -> socket.socket:
    server, ended = None, None
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_left(deadline))
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            server = server or _start(path, serve)
            if server.poll() is not None:
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


def _start(path: str, serve: "list[str]") -> "subprocess.Popen[bytes]":
    """Start a server that outlives this process; two that start at once settle it by the socket's lock."""
    import subprocess  # noqa: PLC0415 - a warm call doesn't need it

    command = [sys.executable, "-m", "lamr_cli.main", "agents", "serve", "--socket", path, *serve]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd=os.sep
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
