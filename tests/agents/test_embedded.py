"""What hosts share that run lamr in their own process: sessions go on whatever fails, and one store serves them all."""

import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from lamr_agents.embedded import Own, Reading, Reads
from lamr_agents.intent import Known
from lamr_agents.local.texts import MOST_DAYS
from lamr_agents.policy import DEFAULT, PROFILES, Policy
from lamr_agents.sessions.tools import Read
from lamr_client import MissingPackageError, Pruner, ServerUnavailableError

from tests.agents.samples import CODE, SAID, TASK, pruner, set_by_the_user

KNOWN = Known(said=SAID, task=TASK)
POLICY = Policy(threshold=0.45)


def show_of(text: str) -> str:
    """The command that the end of a text names."""
    (command,) = re.findall(r"`(lamr show \w+:\d+-\d+)`", text)
    return str(command)


@pytest.mark.parametrize("error", [MissingPackageError("no onnxruntime"), RuntimeError("a defect")])
def test_a_pruner_that_cant_be_made_is_told(tmp_path: Path, error: Exception) -> None:
    def fails() -> Pruner:
        raise error

    shown = Reads(fails, texts=tmp_path / "t").skimmed(CODE, Read("a.py"), KNOWN)
    assert shown.text_with_notice == f"{CODE}\n[lamr: not pruned: {type(error).__name__}: {error}]\n"


def test_output_that_isnt_unicode_is_told(tmp_path: Path) -> None:
    broken = CODE.replace("value of", "value\udcff of")
    shown = Reads(pruner, texts=tmp_path / "t").skimmed(broken, Read("a.py"), KNOWN)
    assert shown.text == broken
    assert shown.failure.startswith("[lamr: not pruned: InvalidInputError: the code has a lone surrogate")


def test_two_hosts_share_a_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "texts.sqlite3"
    hosts = [Reads(pruner, POLICY, path) for _ in range(2)]
    shown: dict[int, str] = {}

    def read(number: int) -> None:
        code = CODE.replace("handler_", f"f{number}_")
        read_ = Read("a.py")
        shown[number] = (
            hosts[number % 2].skimmed(code, read_, KNOWN, name=f"a.py {number}.py").text_with_notice
        )

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, text in shown.items():
        command = show_of(text)
        first, last = map(int, command.partition(":")[2].split("-"))
        lines = CODE.replace("handler_", f"f{number}_").splitlines(keepends=True)[first - 1 : last]
        for host in hosts:
            assert host.answer_show(command) == ("".join(lines), 0)


@pytest.mark.parametrize("form", ["cd /testbed && {}", " {}\n", "cd a&&{} "])
def test_the_command_is_known_as_agents_write_it(tmp_path: Path, form: str) -> None:
    reads = Reads(pruner, POLICY, tmp_path / "texts.sqlite3")
    command = show_of(reads.skimmed(CODE, Read("a.py"), KNOWN, name="a.py b.py").text_with_notice)
    assert reads.answer_show(form.format(command)) == reads.answer_show(command)
    quoted = command.replace("show ", "show '") + "'"
    assert reads.answer_show(form.format(quoted)) == reads.answer_show(command)
    assert reads.answer_show(f"{command} | head") is None
    assert reads.answer_show(f"{command} && rm a.py") is None


def test_a_key_that_expired_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "texts.sqlite3"
    reads = Reads(pruner, POLICY, path)
    command = show_of(reads.skimmed(CODE, Read("a.py"), KNOWN, name="a.py b.py").text_with_notice)
    with closing(sqlite3.connect(path)) as rows, rows:  # the clock can't be moved, so the text is made old
        rows.execute("UPDATE texts SET at = at - ?", ((MOST_DAYS + 1) * 86_400,))
    answer = reads.answer_show(command)
    assert answer is not None
    assert "nothing is kept under" in answer[0]
    assert "run the command again" in answer[0]
    assert answer[1] != 0


def test_the_users_file_names_profile_effort_and_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = Own.read()
    assert (own.policy, own.reading) == (PROFILES[DEFAULT], Reading("auto", None))
    set_by_the_user(tmp_path, 'profile = "eager"\nserver = "127.0.0.1:9"\neffort = "full"\nwithin = 9\n')
    own = Own.read()
    assert (own.policy, own.reading) == (PROFILES["eager"], Reading("full", 9))
    with own.make_pruner() as asking, pytest.raises(ServerUnavailableError, match=re.escape("127.0.0.1:9")):
        asking.prune(SAID, CODE, effort="full", degrade=False)
    monkeypatch.setenv("LAMR_SERVER", "127.0.0.1:10")
    with (
        Own.read().make_pruner() as asking,
        pytest.raises(ServerUnavailableError, match=re.escape("127.0.0.1:10")),
    ):
        asking.prune(SAID, CODE, effort="full", degrade=False)


def test_a_users_file_that_cant_be_used_is_told_and_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_by_the_user(tmp_path, 'profile = "bold"\n')
    assert Own.read().policy == PROFILES[DEFAULT]
    assert caplog.text.count("your settings aren't used") == 1
    assert "profile must be one of lossless, careful, balanced, eager" in caplog.text
