"""Whether failures, summaries and exit codes of tools' outputs stand in what hooks and `prune` show of them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.local.texts import Archive, Texts
from lamr_agents.policy import PROFILES
from lamr_base.choices import EffortName
from lamr_client import Pruner
from lamr_postprocess import BudgetError

from benchmarks.tool_outputs.making import Label, Output, on_a_terminal

QUESTIONS = (
    "Did all tests pass?",
    "How many errors are there?",
    "Which tests failed?",
    "What is the summary?",
    "Why does the build fail?",
    "How long did it take?",
)
BUDGETS = (200, 800, 2_000, None)
"""Tokens; None for no budget."""
STATED = re.compile(r"[\d,]+ of [\d,]+ failures shown")
TOTALS_STATED = re.compile(r"[\d,]+ of [\d,]+ totals shown")
_SURE = 12  # characters that no other line ends with by chance


@dataclass(frozen=True)
class Shown:
    """What was shown of an output."""

    way: str  # by what, such as `lossless` or `200 tokens`
    asked: str  # the tool or the question
    missing: Sequence[Label] = ()  # the labels whose lines it lacks
    stated: bool = False  # whether it says how many of the failures it shows; then these aren't missing
    refused: bool = False  # whether the budget is too small for any result


def missing(labels: Sequence[Label], text: str) -> list[Label]:
    """The labels whose lines a text lacks; of those of one failing item, one line suffices."""
    lines = {on_a_terminal(line) for line in text.split("\n")}
    there = {label for label in labels if _stands(label.text, lines)}
    stand = {label.of for label in there}
    left: dict[object, Label] = {}
    for label in labels:
        if label not in there and label.of not in stand - {""}:
            left.setdefault(label.of or label, label)
    return list(left.values())


def _stands(words: str, lines: set[str]) -> bool:
    """Whether words are one of some lines, or its end, as after a state that a cursor movement took back."""
    ends = (line for line in lines if len(words) >= _SURE and line.endswith(words))
    return words in lines or any(not (words[0] + line[-len(words) - 1]).isdigit() for line in ends)


def shown(output: Output, way: str, asked: str, text: str) -> Shown:
    """Compare what is shown with an output's labels."""
    stated, of_totals = bool(STATED.search(text)), bool(TOTALS_STATED.search(text))
    left = [label for label in missing(output.labels, text) if not (stated if label.of else of_totals)]
    return Shown(way, asked, left, stated)


class Hooks:
    """The hook's server of each profile, without its socket.

    Args:
        folder: for what it remembers.
        pruner: judges lines."""

    def __init__(self, folder: Path, pruner: Pruner) -> None:
        self._log, self._calls = folder / "transcript.jsonl", 0
        words = {"role": "user", "content": "Find out what fails, and mend it."}
        self._log.write_text(json.dumps({"parentUuid": None, "message": words}) + "\n")
        self._servers = {}
        for name, policy in PROFILES.items():
            archive = Archive(Texts(folder / f"{name}-texts.sqlite3"))
            parts = (folder / f"{name}.sock", Store(folder / f"{name}.sqlite3"), lambda: pruner)
            self._servers[name] = LocalServer(*parts, policy=policy, archive=archive, seconds=600.0)

    def shown(self, output: Output) -> Iterator[Shown]:
        """What Claude Code's agent sees of an output, printed by its command and in a file that it reads."""
        path, lines = f"/work/{output.name}.log", output.text.count("\n") + 1
        bash = {"stdout": output.text, "stderr": "", "interrupted": False, "isImage": False}
        file = {
            "filePath": path,
            "content": output.text,
            "startLine": 1,
            "numLines": lines,
            "totalLines": lines,
        }
        calls = {
            "Bash": ({"command": output.command}, bash),
            "Read": ({"file_path": path}, {"type": "text", "file": file}),
        }
        for name, server in self._servers.items():
            for tool, (given, response) in calls.items():
                self._calls += 1  # each has a session of its own, so that nothing was shown above
                call = {"session_id": f"s{self._calls}", "transcript_path": str(self._log), "cwd": "/work"}
                call |= {"hook_event_name": "PostToolUse", "tool_name": tool}
                whole = {**call, "tool_input": given, "tool_response": response}
                said = json.loads(server.answer(json.dumps(whole).encode()) or b"{}")
                new = said.get("hookSpecificOutput", {}).get("updatedToolOutput") or response
                yield shown(output, name, tool, new.get("stdout") or new.get("file", {}).get("content", ""))


def pruned(output: Output, pruner: Pruner, effort: EffortName) -> Iterator[Shown]:
    """What `prune` leaves of an output, on each question in each budget."""
    for question in QUESTIONS:
        for budget in BUDGETS:
            way, path = f"{budget or 'no'} tokens", f"{output.name}.log"
            try:
                found = pruner.prune(question, output.text, path=path, max_tokens=budget, effort=effort)
            except BudgetError:
                yield Shown(way, question, refused=True)
                continue
            yield shown(output, way, question, f"{found.text}\n{found.reason or ''}")
