"""Runs a host's hook as the host would, with a file and a question or a call of the host's own."""

import json
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from lamr_base.records import dataclass
from lamr_client.prune_options import decode_code

from lamr_agents.calls import SampleRead
from lamr_agents.host import Host
from lamr_agents.installing.install import hook_command
from lamr_agents.local.store import Store
from lamr_agents.thin import NOT_PRUNED, NOTE, SMALL

_START_SECONDS = 60  # for the server to load the model, which a host needn't wait for at its later calls
_IDLE_SECONDS = 5


@dataclass(frozen=True)
class HookRun:
    """What came of a call."""

    shown: str  # what the agent would see in the result's place; empty where the result stays as it is
    reason: str  # what was done, or why nothing
    tokens_in: int
    tokens_out: int
    starting: float  # seconds until the server had started
    seconds: float  # seconds that the agent would wait
    failed: bool  # whether the call should have been pruned, and something went wrong

    @property
    def summary(self) -> str:
        stays = "" if self.shown else ", the result stays as it is"
        return (
            f"{self.reason}{stays} · {self.tokens_in:,} → {self.tokens_out:,} tokens · {self.seconds:.2f} s "
            f"(and {self.starting:.1f} s once, for lamr's server to start)"
        )


def try_hook(host: Host, file: Path | None, question: str, payload: bytes, serve: Sequence[str]) -> HookRun:
    """Run the hook of a host once its server has started; nothing is recorded among the user's own calls.

    Args:
        host: has a hook.
        file: what the agent reads; None where there is a payload.
        question: what it looks for.
        payload: the host's own call.
        serve: options of the server."""
    hook = host.hook
    assert hook
    with tempfile.TemporaryDirectory(prefix="lamr-") as name:
        folder = Path(name)
        if file is not None:
            text = decode_code(file.read_bytes()).text
            session = uuid.uuid4().hex
            read = SampleRead(str(file.absolute()), text, question, session, name)
            payload = json.dumps({"cwd": str(Path.cwd()), **hook.sample(read)}).encode()
        own = ["--store", f"{folder}/store", "--texts", f"{folder}/texts", "--idle", str(_IDLE_SECONDS)]

        def run(call: bytes, limit: int) -> tuple[Any, float]:
            command = hook_command(hook, [*own, *serve], folder / "s", limit)
            begin = time.perf_counter()
            done = subprocess.run(command.words, input=call, capture_output=True, check=True)
            return json.loads(done.stdout or b"{}"), time.perf_counter() - begin

        _, starting = run(json.dumps({"nothing": " " * SMALL}).encode(), _START_SECONDS)
        answer, seconds = run(payload, host.limit)
        shown = max(_texts(answer), key=len, default="")
        if os.path.isabs(shown) and os.path.isfile(shown):  # noqa: PTH113, PTH117  # texts may begin with a slash
            shown = Path(shown).read_text(encoding="utf-8")
        with closing(Store(folder / "store")) as store:
            last = next(iter(store.decisions()), None)
        said = (shown, last.reason if last else "")
        failed = any(each.startswith((NOT_PRUNED, f"{NOTE} {NOT_PRUNED}")) for each in said)
        reason = last.reason if last else shown if failed else "lamr has nothing to do with this call"
        (folder / "s").unlink(missing_ok=True)  # the server ends
        counts = (last.tokens_in, last.tokens_out) if last else (0, 0)
        return HookRun("" if failed else shown, reason, *counts, starting, seconds, failed)


def _texts(answer: Any) -> Iterator[str]:
    """All texts in an answer, among which that for the agent is the longest."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, dict | list):
        for each in answer.values() if isinstance(answer, dict) else answer:
            yield from _texts(each)
