"""A small session as Claude Code logs it, and pruners that answer by a rule."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lamr_agents.policy import Policy
from lamr_agents.replay import PriceTable, Replayed, record_of, replay, shown_by_hooks
from lamr_client import Pruner
from lamr_client.mock_transport import MockTransport, uniform_answer

FUNCTIONS = 60


def code_of(functions: int, comment: str = "") -> str:
    """A file with so many functions; the comment stands behind the first line of each body."""
    return "import os\n\n\n" + "".join(
        f"def handler_{n}(request, response):\n"
        f"    value_{n} = request.read_header('X-Field-{n}', default=None){comment}\n"
        f"    response.write('the value of field {n} is', value_{n})\n\n\n"
        for n in range(functions)
    )


CODE = code_of(FUNCTIONS)
LINES = CODE.rstrip("\n").split("\n")
NUMBERED = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(LINES, 1))
# It names no word of every function, which would make each line a needed one as far as words tell.
TASK = "Make the handler of the thirtieth field do nothing, please, and leave all the others alone."
SAID = "I'll look at handler_30 first."


def line_of(text: str) -> int:
    """1-based number of the line that holds a text."""
    return next(n for n, line in enumerate(LINES, 1) if text in line)


def claude(kind: str, *parts: dict[str, Any], **message: Any) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "sessionId": "s",
        "type": kind,
        "message": {"role": kind, "content": list(parts), **message},
    }


def usage(fresh: int, written: int, cached: int, output: int) -> dict[str, int]:
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
    }


def says(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def calls(name: str, call: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def answers(call: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": [says(text)]}


def session(*more: dict[str, Any], model: str = "claude-opus-4-8") -> str:
    """The log of a session of three requests that reads `CODE`, edits a line of it, and goes on with `more`."""
    edit = {"file_path": "/w/a.py", "old_string": LINES[line_of("value_30 =") - 1], "new_string": "    pass"}
    first, second, third = ({"model": model, "id": f"m{n}"} for n in range(3))
    records = [
        claude("user", says(TASK)),
        claude("assistant", says(SAID), **first, usage=usage(10, 1000, 0, 20)),
        claude("assistant", calls("Read", "1", file_path="/w/a.py"), **first, usage=usage(10, 1000, 0, 50)),
        claude("user", answers("1", NUMBERED)),
        claude("assistant", calls("Edit", "2", **edit), **second, usage=usage(5, 4000, 1010, 60)),
        claude("user", answers("2", "ok")),
        claude("assistant", says("Done."), **third, usage=usage(5, 100, 5015, 5)),
        *more,
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def pruner(rule: Callable[..., Any] | None = None) -> Pruner:
    """A pruner whose model finds every line as good as every other; lexical evidence ranks them."""
    return Pruner(transport=MockTransport(rule or (lambda request: uniform_answer(request, 0.5))))


def set_by_the_user(folder: Path, text: str) -> None:
    """Write the user's `lamr.toml`, where XDG_CONFIG_HOME is the folder."""
    (folder / "lamr").mkdir()
    (folder / "lamr" / "lamr.toml").write_text(text, encoding="utf-8")


def replay_log(log: Path, prices: PriceTable, policy: Policy | None = None) -> Replayed:
    """A log replayed with `pruner`, as hooks would have cut it."""
    session = record_of(log, prices)
    with pruner() as asking:
        return replay(session, shown_by_hooks(session, asking, policy))
