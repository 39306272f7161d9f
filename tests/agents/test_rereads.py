"""What agents read again of files that were cut for them."""

import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import MOST_DAYS, Store, StoredResult
from lamr_agents.local.texts import Archive, Texts
from lamr_agents.policy import PRUNED, RANGED
from lamr_agents.stats import sums_of, table, to_json
from lamr_agents.thin import SMALL
from lamr_postprocess import approximate_tokens

from tests.agents.samples import CODE, LINES, pruner
from tests.agents.test_claude_code import BASH, READ, hook, payload, running, said, transcript
from tests.command import invoke
from tests.processes import eventually

__all__ = ["transcript"]

FILE = "/w/a.py"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "shown.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path)) as opened:
        yield opened


@pytest.fixture
def server(tmp_path: Path, store: Store) -> LocalServer:
    return LocalServer(tmp_path / "hook.sock", store, pruner)


def cut(session: str, reason: str = PRUNED, **more: Any) -> StoredResult:
    place, hidden = (FILE, ((10, 90), (100, 300))) if reason == PRUNED else ("", ())
    return StoredResult("claude-code", session, "Read", FILE, reason, 1000, 400, 0.1, place, hidden, **more)


def looks(path: Path) -> list[tuple[int, int, int]]:
    """Ranges, wholes and tokens of each cut, in their order."""
    with closing(sqlite3.connect(path)) as rows:
        return rows.execute("SELECT ranges, wholes, tokens FROM cuts ORDER BY shown").fetchall()


def test_what_an_agent_comes_back_for_is_counted_where_it_was_hidden(store: Store, path: Path) -> None:
    store.add(cut("s"))
    store.look("s", 0.0, FILE, [(91, 99)], 50)  # was shown
    store.look("other", 0.0, FILE, [(20, 40)], 50)
    store.look("s", 0.0, "/w/b.py", [(20, 40)], 50)
    assert looks(path) == [(0, 0, 0)]
    store.look("s", 0.0, FILE, [(85, 95)], 60)
    store.look("s", 0.0, FILE, [(300, 310)], 70)
    store.look("s", 0.0, FILE, [], 1000)
    assert looks(path) == [(2, 1, 1130)]


def test_a_cut_from_before_the_context_was_compacted_is_no_cut_of_it(store: Store, path: Path) -> None:
    store.add(cut("s"), now=100.0)
    assert store.was_shown("s", 99.0, FILE)
    assert not store.was_shown("s", 101.0, FILE)
    store.look("s", 101.0, FILE, [], 1000)
    assert looks(path) == [(0, 0, 0)]


def test_a_range_is_no_first_look_at_the_file(store: Store) -> None:
    store.add(cut("s", RANGED))
    assert not store.was_shown("s", 0.0, FILE)
    store.add(cut("s", "little to cut"))
    assert store.was_shown("s", 0.0, FILE)


def test_what_is_kept_of_cuts_goes_with_their_rows(store: Store, path: Path) -> None:
    store.add(cut("s"), now=0.0)
    assert store.was_shown("s", 0.0, FILE)
    store.add(cut("s", "small"), now=MOST_DAYS * 86_400 + 1)
    assert [row.reason for row in store.decisions()] == ["small"]
    assert looks(path) == []


def test_a_store_of_an_earlier_version_goes_on(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with closing(sqlite3.connect(path)) as rows:
        rows.execute(
            "CREATE TABLE shown (at REAL NOT NULL, host TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL, path "
            "TEXT NOT NULL, reason TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, seconds "
            "REAL NOT NULL)"
        )
        rows.execute(
            "INSERT INTO shown VALUES (9e9, 'claude-code', 's', 'Read', '/w/a.py', 'pruned', 9, 4, 0.1)"
        )
        rows.commit()
    with closing(Store(path)) as store:
        assert store.was_shown("s", 0.0, FILE)
        store.add(cut("s"))
        assert len(store.decisions()) == 2


def ask(server: LocalServer, given: dict[str, Any], text: str, session: str, log: str) -> str:
    """What the agent sees."""
    lines = text.count("\n")
    file = {**READ["file"], "content": text, "numLines": lines, "startLine": given.get("offset", 1)}  # type: ignore[dict-item]
    call = payload("Read", given, {**READ, "file": file}, session_id=session, transcript_path=log)
    answer = server.answer(json.dumps(call).encode())
    replaced = said(answer).get("updatedToolOutput") if answer else None
    return replaced["file"]["content"] if replaced else text


def test_a_file_is_cut_once_for_each_agent(server: LocalServer, transcript: str, path: Path) -> None:
    for number in range(4):
        assert " pruned" in ask(server, {"file_path": FILE}, CODE, f"s{number}", transcript)
        assert ask(server, {"file_path": FILE}, CODE, f"s{number}", transcript) == CODE
    assert [row[:2] for row in looks(path)] == [(0, 1)] * 4
    assert {each.reason for each in Store(path).decisions()} == {PRUNED, "shown before"}


def test_what_a_command_prints_of_several_files_can_be_shown_again_and_is_counted(
    tmp_path: Path, store: Store, path: Path, transcript: str
) -> None:
    texts = path.with_name("texts.sqlite3")
    server = LocalServer(tmp_path / "hook.sock", store, pruner, archive=Archive(Texts(texts)))
    both = CODE + CODE.replace("handler_", "other_")
    given = {"command": "cat a.py b.py"}
    answer = server.answer(
        json.dumps(payload("Bash", given, {**BASH, "stdout": both}, transcript_path=transcript)).encode()
    )
    output = said(answer)["updatedToolOutput"]
    assert output.keys() == BASH.keys()
    printed = output["stdout"]
    assert "def handler_30(" in printed
    assert len(printed) < len(both) / 2
    (shown,) = re.findall(r"`lamr show (\S+)`", printed)
    assert looks(path) == [(0, 0, 0)]
    done = invoke("show", shown, "--texts", str(texts))
    first, last = map(int, shown.partition(":")[2].split("-"))
    assert done.stdout.splitlines() == both.splitlines()[first - 1 : last]
    ((ranges, wholes, tokens),) = looks(path)
    assert (ranges, wholes) == (1, 0)
    assert tokens == approximate_tokens(done.stdout)
    path.write_bytes(b"broken" * 999)
    assert invoke("show", shown, "--texts", str(texts)).stdout == done.stdout


def test_a_small_range_is_told_to_a_server_that_listens_and_starts_none(
    tmp_path: Path, server: LocalServer, transcript: str, path: Path
) -> None:
    place = str(tmp_path / "hook.sock")
    given = {"file_path": FILE, "offset": 200, "limit": 20}
    file = {**READ["file"], "content": "\n".join(LINES[199:219]), "numLines": 20, "startLine": 200}  # type: ignore[dict-item]
    call = json.dumps(payload("Read", given, {**READ, "file": file}, transcript_path=transcript)).encode()
    assert len(call) < SMALL
    assert hook(call, "--socket", place).stdout == b""
    assert not Path(place).exists()
    with running(server):
        ask(server, {"file_path": FILE}, CODE, "s1", transcript)
        assert hook(call, "--socket", place).stdout == b""
        assert eventually(lambda: looks(path)[0][0] == 1, 60)


def test_of_two_reads_at_once_one_is_cut(tmp_path: Path, store: Store, transcript: str) -> None:
    """Whichever comes first: the other one is a second look, as if it had come later."""
    both = threading.Barrier(2)
    server = LocalServer(tmp_path / "hook.sock", store, pruner)
    seen: list[str] = []

    def read() -> None:
        both.wait(30)
        seen.append(ask(server, {"file_path": FILE}, CODE, "s", transcript))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(" pruned" in text for text in seen) == [False, True]


# `lamr agents stats`: what hooks cut and what agents read again, by the hooks' record


START = 1_790_000_000.0


def add_cut(store: Store, name: str, at: float = START, host: str = "claude-code") -> None:
    store.add(StoredResult(host, name, "Read", FILE, "pruned", 1000, 400, 2.0, FILE, ((10, 90),)), now=at)


def add_passed(store: Store, name: str, at: float = START) -> None:
    store.add(StoredResult("claude-code", name, "Read", FILE, "small", 90, 90, 0.5), now=at)


def test_what_was_cut_and_what_was_read_again_are_told_in_tokens(store: Store) -> None:
    for session in ("ranged", "whole", "neither"):
        add_cut(store, session)
    add_passed(store, "neither")
    store.look("ranged", 0.0, FILE, [(20, 40)], 90)
    store.look("ranged", 0.0, FILE, [], 1000)
    store.look("whole", 0.0, FILE, [], 1000)
    sums = sums_of(store.decisions())
    assert (sums.sessions, sums.results, sums.cuts, sums.tokens_cut) == (3, 4, 3, 1800)
    assert (sums.by_range, sums.by_whole, sums.tokens_again) == (1, 1, 2090)
    assert sums.net == 1800 - 2090  # a loss is told as one
    assert sums.seconds == pytest.approx(6.5)
    assert "-290" in table(store.decisions())


def test_a_sub_agent_belongs_to_its_session(store: Store) -> None:
    add_cut(store, "s")
    add_cut(store, "s/a1")
    add_cut(store, "s", host="codex")
    assert sums_of(store.decisions()).sessions == 2


def test_decisions_are_told_by_day_host_and_reason(store: Store) -> None:
    for number, host in enumerate(("claude-code", "codex", "codex")):
        add_cut(store, f"s{number}", START + number * 86_400, host)
    add_passed(store, "s0", START)
    value = json.loads(to_json(store.decisions()))
    assert [each["cuts"] for each in value["by_day"].values()] == [1, 1, 1]
    assert {name: each["cuts"] for name, each in value["by_host"].items()} == {"claude-code": 1, "codex": 2}
    assert value["reasons"] == {"pruned": 3, "small": 1}
    assert value["total"]["net"] == 1800
    text = table(store.decisions())
    assert all(heading in text for heading in ("day", "host", "reason", "tokens cut", "read again", "net"))
    assert len(store.decisions(START + 86_400)) == 2


def test_the_command_prints_tables_and_json(tmp_path: Path, path: Path, store: Store) -> None:
    add_cut(store, "s")
    arguments = ["agents", "stats", "--store", str(path), "--days"]
    done = invoke(*arguments, "100000")
    assert done.exit_code == 0, done.output
    assert "tokens cut" in done.stdout
    assert json.loads(invoke(*arguments, "100000", "--json").stdout)["total"]["cuts"] == 1
    assert invoke(*arguments, "0").exit_code == 2
    arguments[3] = str(tmp_path / "none")
    assert invoke(*arguments, "1").exit_code == 2
