"""The calls: one file through `prune_lines`, `Pruner`, the outline, the hook's path and the command; several by `pack`.

Scores are chance's, and queries are words of the file, so that no encoder is needed. Everything that a call raises is
caught: refusals in the project's own errors are no fault of a text, all else is."""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.policy import Policy
from lamr_agents.skim import outline
from lamr_agents.thin import NOTE
from lamr_client import LamrError, Pruner, PruneResult
from lamr_model.counters import token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository
from lamr_postprocess import BudgetError, PrunedCode, SourceFile, approximate_tokens, prune_lines, split_lines
from lamr_repositories import PackOptions, WalkOptions, pack

from benchmarks.material import model_like
from benchmarks.tool_outputs.checking import BUDGETS, QUESTIONS
from benchmarks.world.checks import Outcome
from benchmarks.world.corpus import Item

_WORD = re.compile(r"[A-Za-z]{4,}")
_QUESTIONS = (
    "How is {} handled?",
    "where is {} set, and what reads it",
    "{}",
    "Fix {} when it is empty (#123)",
)
_MARKS = {  # the longest first
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
_TRACE = 1_500  # characters of a traceback's end


def query_of(text: str, chance: random.Random) -> str:
    """A question in words of one of the file's lines."""
    lines = [line for line in text.splitlines() if _WORD.search(line)] or ["the default value"]
    words = _WORD.findall(chance.choice(lines)[:400])[:6] or ["value"]
    return chance.choice(_QUESTIONS).format(" ".join(words))


class Instant:
    """A pruner that never reads with the encoder, for the hook's server."""

    def __init__(self, pruner: Pruner) -> None:
        self._pruner = pruner

    def prune(self, query: str, code: str, **options: Any) -> PruneResult:
        """As `Pruner.prune`."""
        return self._pruner.prune(query, code, **{**options, "effort": "instant"})


@dataclass(frozen=True)
class Tools:
    """What all calls share: the pruner, its tokenizer, a hook's server without its socket, and a folder."""

    pruner: Pruner
    encoder: PromptEncoder
    server: LocalServer
    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Tools:
        """Load the client's files of the shipped model; the folder is for what the calls write."""
        pruner = Pruner()
        server = LocalServer(
            folder / "hook.sock",
            Store(folder / "shown.sqlite3"),
            lambda: Instant(pruner),
            policy=Policy(least_tokens=0, least_lines=0),
            seconds=600.0,
        )
        return cls(pruner, PromptEncoder.from_repository(bundled_repository()), server, folder)


Call = Callable[[], Outcome]


def outcome_of(case: str, call: Callable[[], Outcome]) -> Outcome:
    """Make a call; its CPU time, and what it raised."""
    begun = time.process_time()
    try:
        found = call()
    except (LamrError, BudgetError) as error:
        found = Outcome(case, refused=f"{type(error).__name__}: {error}")
    except Exception:
        found = Outcome(case, error=traceback.format_exc()[-_TRACE:])
    return replace(found, seconds=time.process_time() - begun)


def calls_of(item: Item, text: str, tools: Tools, chance: random.Random) -> Iterator[tuple[str, Call]]:
    """The calls for a file, by what they are called."""
    rng = np.random.default_rng(chance.randrange(2**32))
    lines = len(split_lines(text))
    path = item.path
    yield "prune, a quarter", lambda: _lines("prune, a quarter", text, path, model_like(lines, rng))
    few = rng.random(lines) < 0.03
    yield (
        "prune, few lines, named",
        lambda: _lines("prune, few lines, named", text, path, few, markers="named"),
    )
    smooth = np.convolve(rng.random(lines + 8), np.ones(9) / 9, "valid")
    budget = int(approximate_tokens(text) * chance.uniform(0.1, 0.7)) + 20
    more = {"markers": chance.choice(["comment", "named"]), "line_numbers": chance.random() < 0.25}
    name = f"prune, {budget} tokens, {more['markers']}" + (", numbered" if more["line_numbers"] else "")
    yield name, lambda: _lines(name, text, path, smooth, max_tokens=budget, **more)
    query = query_of(text, chance)
    size = token_counter(None, tools.encoder).count_tokens(text)
    options = chance.choice([{}, {"ratio": 4.0}, {"max_tokens": int(size * chance.uniform(0.1, 0.7)) + 40}])
    called = f"instant, {options or 'default'}, {query!r}"
    yield called, lambda: _instant(called, tools, query, item, options)
    for asked in QUESTIONS if item.format == "log" else ():
        limit = chance.choice(BUDGETS)
        about = f"instant, {limit or 'no'} tokens, {asked!r}"
        yield about, partial(_instant, about, tools, asked, item, {"max_tokens": limit} if limit else {})
    yield "outline", lambda: Outcome("outline", *_outlined(text, path))
    yield "hook", lambda: _hook(tools, query, text, path, str(chance.random()))


def _lines(case: str, text: str, path: str, scores: Any, **options: Any) -> Outcome:
    found: PrunedCode = prune_lines(text, scores.astype(np.float64), path=path, **options)
    budget = options.get("max_tokens")
    return Outcome(
        case,
        found.text,
        kept=found.kept_lines,
        reasoned=len(found.reasons),
        budget=budget,
        tokens=approximate_tokens(found.text) if budget is not None else 0,
        numbered=bool(options.get("line_numbers")),
    )


def _instant(case: str, tools: Tools, query: str, item: Item, options: dict[str, Any]) -> Outcome:
    found = tools.pruner.prune(query, item.data, path=item.path, effort="instant", **options)
    tokens = token_counter(None, tools.encoder).count_tokens(found.text) if options else 0
    return Outcome(
        case,
        as_text(found.to_bytes(), item.data),
        kept=found.kept_lines,
        reasoned=len(found.reasons),
        budget=options.get("max_tokens"),
        tokens=tokens,
        told=found.tokens_out if "max_tokens" in options else None,
        status=found.status,
        reason=found.reason,
    )


def _outlined(text: str, path: str) -> tuple[str, float, tuple[int, ...]]:
    shown, kept = outline(SourceFile(text, path))
    return shown, 0.0, kept


def _hook(tools: Tools, query: str, text: str, path: str, session: str) -> Outcome:
    """A Read of Claude Code, as the hook's process hands it to the server."""
    transcript = tools.folder / "transcript.jsonl"
    words = {"role": "user", "content": query}
    transcript.write_text(json.dumps({"parentUuid": None, "sessionId": session, "message": words}) + "\n")
    file = {"filePath": path, "content": text, "numLines": text.count("\n") + 1, "startLine": 1}
    call = {
        "session_id": session,
        "transcript_path": str(transcript),
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": path},
        "tool_response": {"type": "text", "file": file},
    }
    said = json.loads(tools.server.answer(json.dumps(call).encode()) or b"{}").get("hookSpecificOutput", {})
    aside = said.get("additionalContext", "")
    if "Error" in aside and "BudgetError" not in aside:
        return Outcome("hook", error=aside)
    shown = said.get("updatedToolOutput")
    if shown is None:
        return Outcome("hook", text)
    parts = split_lines(shown["file"]["content"])
    while parts and parts[-1].startswith(NOTE):
        parts.pop()
    left = "".join(parts)
    if not text.endswith("\n") and left.endswith("\n"):
        left = left[:-1]  # the line end before the note
    return Outcome("hook", left)


def through_command(item: Item, tools: Tools, chance: random.Random) -> Outcome:
    """`lamr prune FILE`, whose output's bytes count; read in an encoding that keeps every byte apart."""
    from lamr_cli.main import app
    from typer.testing import CliRunner

    place = tools.folder / "by-command" / Path(item.path).name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(item.data)
    words = ["prune", str(place), "-q", query_of(as_text(item.data), chance)]
    done = CliRunner().invoke(app, [*words, "--effort", "instant", "--ratio", "3", "--quiet"])
    place.unlink()
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        if isinstance(done.exception, (LamrError, BudgetError)):
            return Outcome("command", refused=f"{type(done.exception).__name__}: {done.exception}")
        return Outcome("command", error="".join(traceback.format_exception(done.exception))[-_TRACE:])
    if done.exit_code:
        return Outcome("command", refused=done.stderr[-300:])
    return Outcome("command", as_text(done.stdout_bytes, item.data))


def as_text(data: bytes, alike: bytes | None = None) -> str:
    """Bytes as text in which each line stays what it is: UTF-8, UTF-16 and UTF-32 as such, anything else byte by byte.

    Args:
        data: the bytes.
        alike: the bytes of the file that they come from, which tell the encoding; None for the bytes
            themselves."""
    told = data if alike is None else alike
    marked = next((name for mark, name in _MARKS.items() if told.startswith(mark)), None)
    wide = marked or ("utf-16-le" if told[:200].count(0) > len(told[:200]) // 4 else None)
    for name in filter(None, (wide, "utf-8")):
        try:
            told.decode(name)
        except UnicodeDecodeError:
            continue
        text = data.decode(name, "replace")
        if name == marked:  # which says how the text is written and is no part of it
            return text[1:] if text.startswith("\ufeff") else f"no mark: {text}"
        return text
    return data.decode("latin-1")


def packed(items: list[Item], tools: Tools, chance: random.Random) -> Iterator[tuple[Item | None, Outcome]]:
    """A pack of some files: an outcome of each file in it, and one of the whole."""
    budget = 400 + int(sum(len(item.data) for item in items) / 4 * chance.uniform(0.1, 0.5))
    query = query_of(as_text(chance.choice(items).data), chance)
    case = f"pack, {budget} tokens, {query!r}"
    with tempfile.TemporaryDirectory(dir=tools.folder) as name:
        by_path = {}
        for item in items:
            place = Path(name, item.path)
            if ".." in place.parts or place.exists():
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(item.data)
            by_path[item.path] = item
        found: list[Any] = []

        def call() -> Outcome:
            options = PackOptions(walk=WalkOptions(include_secrets=True, everything=True))
            found.append(pack(name, query, budget, options=options))
            tokens = token_counter(None, tools.encoder).count_tokens(found[0].text)
            return Outcome(case, None, budget=budget, tokens=tokens)

        yield None, outcome_of(case, call)
    for file in found[0].files if found else ():
        yield by_path[file.path], Outcome(case, file.text, kept=file.kept_lines, reasoned=len(file.reasons))
