"""A hook that answers with a text of the test's own; a program: `probe.py HOST FOLDER`.

Each call's payload is kept in FOLDER as `heard-N.json`. Where FOLDER holds `answer`, that text is what the hook
shows."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from lamr_agents.hosts import hook_named
from lamr_agents.policy import PRUNED
from lamr_agents.skim import untouched


def main(host: str, folder: str) -> None:
    place, hook = Path(folder), hook_named(host)
    payload = json.loads(sys.stdin.buffer.read())
    (place / f"heard-{len(list(place.glob('heard-*')))}.json").write_text(json.dumps(payload))
    call, answer = hook.read_call(payload), place / "answer"
    if call is None or not answer.exists():
        return
    shown = replace(untouched(call.asked, PRUNED), text=answer.read_text(encoding="utf-8"))
    print(json.dumps(hook.answer(call, shown)))


if __name__ == "__main__":
    main(*sys.argv[1:])
