"""What hosts and commands print with numbers before the lines: judged as the bare code, shown with its numbers.

The numbered texts are those of the commands themselves, and of the hosts as their logs hold them."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lamr_agents import Known, intent_of, skim
from lamr_agents.sessions import Read
from lamr_agents.skim import asked_for, outline
from lamr_client.mock_transport import MockTransport, uniform_answer
from lamr_client.pruner import Pruner
from lamr_client.result import PruneResult
from lamr_postprocess import SourceFile, split_lines

from tests.agents.samples import CODE, SAID, TASK, line_of

INTENT = intent_of(Known(said=SAID, task=TASK))
FIRST = 400
"""Number of the first line of a text that begins within its file."""


def printed(*command: str) -> Callable[[Path], str]:
    """What a command prints of a file `a.py` in a folder."""

    def run(folder: Path) -> str:
        (folder / "a.py").write_text(CODE, encoding="utf-8")
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    return run


def written(form: str) -> Callable[[Path], str]:
    """What a host writes, which numbers the empty line after the last line end as well."""
    return lambda _folder: "\n".join(form.format(n) + line for n, line in enumerate(CODE.split("\n"), 1))


NUMBERED = {
    "cat -n": printed("cat", "-n", "a.py"),
    "nl -ba": printed("nl", "-ba", "a.py"),
    "nl": printed("nl", "a.py"),
    "grep -n": printed("grep", "-n", "", "a.py"),
    "grep -n with context": printed("grep", "-n", "-C", "400", "handler_30(", "a.py"),
    "Claude Code, arrows": written("{:>6}→"),
    "Claude Code, tabs": written("{}\t"),
    "OpenCode": written("{:05}| "),
    "Copilot": written("{}. "),
    "SWE-agent": written("{}:"),
}


class InFull(Pruner):
    """Reads every chunk, however busy the machine is."""

    def prune(self, query: str, code: str | bytes, **options: Any) -> PruneResult:
        return super().prune(query, code, **{**options, "effort": "full"})


def lines_of(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]


@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_arent_judged_and_kept_lines_have_theirs(tmp_path: Path, name: str) -> None:
    text = NUMBERED[name](tmp_path)
    transport, bare = (MockTransport(lambda request: uniform_answer(request, 0.5)) for _ in range(2))
    shown = skim(InFull(transport=transport), asked_for(text, Read("a.py"), intent=INTENT), INTENT)
    plain = skim(InFull(transport=bare), asked_for(CODE, Read("a.py"), intent=INTENT), INTENT)
    asked, as_bare = (sorted(r.input_ids.tolist() for r in each.requests) for each in (transport, bare))
    assert asked == as_bare
    # A number makes a line of what stands behind the last line end, so one more blank line may be there to keep.
    assert set(shown.kept_lines) - set(plain.kept_lines) <= {len(lines_of(CODE)) + 1}
    assert set(plain.kept_lines) <= set(shown.kept_lines)
    original = lines_of(text)
    cut = [line for line in lines_of(shown.text)[:-1] if " pruned" in line]
    whole = [line for line in lines_of(shown.text)[:-1] if " pruned" not in line]
    assert whole == [original[number - 1] for number in shown.kept_lines]
    assert [int(re.findall(r"\.\.\. (\d+)", line)[0]) for line in cut] == [first for first, _ in plain.cuts()]
    longest = int(np.argmax([last - first for first, last in plain.cuts()]))
    assert re.search(r": handler_\d+, handler_\d+", cut[longest])


def test_a_range_has_the_numbers_of_its_file() -> None:
    text = "".join(f"{number:6}\t{line}" for number, line in enumerate(split_lines(CODE), FIRST))
    pruner = Pruner(transport=MockTransport(lambda request: uniform_answer(request, 0.5)))
    shown = skim(pruner, asked_for(text, Read("a.py"), intent=INTENT), INTENT)
    last = FIRST + len(split_lines(CODE)) - 1
    assert re.search(rf"{FIRST}-\d+ pruned", shown.text)
    assert f" of the lines {FIRST}-{last} are shown" in lines_of(shown.text)[-1]
    kept = FIRST + line_of("value_30 =") - 1
    assert f"{kept:6}\t    value_30 = request" in shown.text


def test_numbers_that_dont_count_up_belong_to_the_text() -> None:
    text = "".join(f"{number:6}\t{line}" for number, line in enumerate(split_lines(CODE), 1))
    broken = text.replace(f"{9:6}\t", f"{8:6}\t", 1)
    heads = []
    for each in (CODE, text, broken):
        transport = MockTransport(lambda request: uniform_answer(request, 0.5))
        skim(Pruner(transport=transport), asked_for(each, Read("a.py"), intent=INTENT), INTENT)
        heads.append(transport.requests[0].input_ids.tolist())
    assert heads[0] == heads[1] != heads[2]


def test_an_outline_is_numbered_too() -> None:
    numbered = "".join(f"{number:6}\t{line}" for number, line in enumerate(split_lines(CODE), FIRST))
    text, kept = outline(SourceFile(numbered, "a.py"))
    assert kept == outline(SourceFile(CODE, "a.py"))[1]
    assert re.search(r"(?m)^ +\d+\tdef handler_0\(", text)
    assert "read_header" not in text
