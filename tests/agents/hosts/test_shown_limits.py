"""How much each host shows, of a result that stays as it is and of an answer: what lamr's table of hosts says of it.

A hook with texts of the test's own stands in the place of lamr's. A host that shows more or less than its row says
fails here."""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from lamr_agents.calls import Call
from lamr_agents.host import Command
from lamr_agents.hosts import hook_named
from lamr_agents.policy import ShownLimits
from lamr_postprocess import approximate_tokens

from tests.agents.hosts import probe
from tests.agents.hosts.hooked import Player
from tests.agents.hosts.players import PLAYERS
from tests.agents.hosts.scripted import Step
from tests.agents.samples import SAID

SHELL, READER = "shell", "reader"
each = pytest.mark.parametrize(
    ("host", "tool"),
    [(host, tool) for host in PLAYERS for tool in (SHELL, READER) if (host, tool) != ("codex", READER)],
)
CODE = "".join(f"value_{n} = 'the value {n} of this'\n" for n in range(200))
BESIDE_IT = 40
"""Tokens that a host says below a result of its own accord, such as what is left of the context."""
MUCH = 200_000
"""Characters that a host without limits shows."""

Round = Callable[[Call | None], tuple[str, str | None]]
"""From the session's first call, a file's text and what the hook answers to a read of it; None for nothing."""


def calls(
    player: Player, host: str, tool: str, folder: Path, rounds: Sequence[Round]
) -> list[tuple[Call, str]]:
    """Each read of a session as lamr's hook gets it, and what the model got."""
    hook, heard, project = hook_named(host), folder / "heard", folder / "project"
    heard.mkdir(parents=True)
    project.mkdir()

    def read() -> list[Call]:
        files = (heard / f"heard-{number}.json" for number in range(len(list(heard.iterdir()))))
        found = [hook.read_call(json.loads(file.read_text())) for file in files if file.exists()]
        return [call for call in found if call is not None]

    def step(number: int, each: Round) -> Callable[[list[str]], Step]:
        def made(_: list[str]) -> Step:
            code, answer = each(read()[0] if number else None)
            file = project / f"f{number}.py"
            file.write_text(code, encoding="utf-8")
            (heard / "answer").unlink(missing_ok=True)
            if answer is not None:
                (heard / "answer").write_text(answer, encoding="utf-8")
            cat = Step(SAID, player.shell, player.command(f"cat {file.name}"))
            return cat if tool == SHELL else player.read(file)

        return made

    hooked = Command([sys.executable, probe.__file__, host, str(heard)], limit=60)
    script = [*(step(number, each) for number, each in enumerate(rounds)), Step("Done.")]
    model, _ = player.play(folder, script, hooked)
    results = [player.results(request) for request in model.requests]
    new = {
        len(found): found[-1] for found in reversed(results) if found
    }  # hosts take old ones out of later requests
    return list(zip(read(), (new[number] for number in sorted(new)), strict=True))


def filled(limits: ShownLimits, size: float, line: str) -> str:
    """A text of so many characters, as the host counts them, of lines like one."""
    text = line * int(size // limits.size(line))
    left = int(size) - limits.size(text)
    return (
        text + "y" * left if left else text.removesuffix("\n") + "y"
    )  # some hosts take off what is blank at the end


def answers(limits: ShownLimits) -> Iterator[tuple[str, bool]]:
    """Texts that just fit into limits, and that just don't."""
    if limits.characters == math.inf:
        yield filled(limits, MUCH, "x" * 190 + "\n"), True
    elif limits.uncut == math.inf:  # else an answer is kept as short as a result that stays as it is
        for letter in ("x", "é", "漢", "😀"):
            for more in (0, 1):
                yield filled(limits, limits.characters + more, letter * 70 + "\n"), not more
    if limits.lines < math.inf:
        yield "x\n" * int(limits.lines), True
        yield "x\n" * int(limits.lines) + "y\n" * 9, False
    if limits.width < math.inf:
        for letter in ("x", "😀"):
            longest = letter * int(limits.width // limits.size(letter))
            yield f"a\n{longest}\nb\n", True
            yield f"a\n{longest}y\nb\n", False


@each
def test_an_answer_is_shown_whole_as_far_as_the_row_says(host: str, tool: str, tmp_path: Path) -> None:
    player = PLAYERS[host]
    ((first, _),) = calls(player, host, tool, tmp_path / "first", [lambda _: (CODE, None)])
    texts = list(answers(first.asked.limits))
    rounds = [lambda _, text=text: (CODE, text) for text, _ in texts]
    found = calls(player, host, tool, tmp_path / "then", rounds)
    for (text, fits), (call, result) in zip(texts, found, strict=True):
        limits = call.asked.limits
        size = f"{limits.size(text):,} characters, {text.count(chr(10)):,} lines of {host}'s"
        assert (limits.shown(text).strip() in result) is fits, size
        assert limits.fit(text) is fits, size


@each
def test_a_result_that_stays_is_what_lamr_counts(host: str, tool: str, tmp_path: Path) -> None:
    def large(_: Call | None) -> tuple[str, None]:
        return CODE * 15, None

    def edge(more: int) -> Round:
        def made(first: Call | None) -> tuple[str, None]:
            assert first
            limits = first.asked.limits
            return filled(limits, min(limits.uncut, 25_000) + more, CODE.splitlines(keepends=True)[0]), None

        return made

    rounds = [lambda _: (CODE, None), edge(0), edge(1), large]
    for call, result in calls(PLAYERS[host], host, tool, tmp_path, rounds):
        asked, got = call.asked, re.sub(r"(For full output see: )\S+", r"\1", result)
        assert asked.uncut or asked.limits.shown(asked.text).strip() in got
        assert asked.uncut or abs(asked.tokens - approximate_tokens(got)) <= BESIDE_IT
