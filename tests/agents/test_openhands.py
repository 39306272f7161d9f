"""OpenHands' tools with pruned reads, on the events of a recorded conversation."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lamr_client import Pruner, ServerUnavailableError
from lamr_client.mock_transport import MockTransport, uniform_answer

from tests.agents import openhands_stand_in as host
from tests.agents.samples import CODE, NUMBERED, SAID, TASK, set_by_the_user

HEADER = "Here's the result of running `cat -n` on /w/a.py:\n"


@pytest.fixture
def transport() -> MockTransport:
    return MockTransport(lambda request: uniform_answer(request, 0.5))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transport: MockTransport) -> Any:
    host.install(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loaded = importlib.import_module("lamr_agents.openhands")
    monkeypatch.setattr(loaded, "_pruner", lambda: Pruner(transport=transport, retries=0))
    return loaded


def executor_of(module: Any, tool: str, own: Callable[..., Any]) -> Any:
    """The executor of the tool that stands in the place of the host's own."""
    _, made = module.TOOLS[tool]
    (tool,) = made.create(own)
    return tool.executor


def test_a_view_is_pruned_for_what_was_said_and_stays_an_observation(
    module: Any, transport: MockTransport
) -> None:
    user, view, seen, *_ = host.recorded()
    executor = executor_of(module, "file_editor", lambda *_: seen.observation)
    shown = executor(view.action, host.conversation([user, view]))
    assert shown.text.startswith(HEADER)
    assert "def handler_30(" in shown.text
    assert " pruned" in shown.text
    assert len(shown.text) < 0.8 * len(seen.observation.text)  # the default profile is careful
    assert {**shown.__dict__, "content": 0} == {**seen.observation.__dict__, "content": 0}
    assert transport.requests


def test_the_users_profile_holds(module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_by_the_user(tmp_path, 'profile = "lossless"\n')
    user, view, seen, *_ = host.recorded()
    executor = executor_of(module, "file_editor", lambda *_: seen.observation)
    assert executor(view.action, host.conversation([user, view])) is seen.observation


def test_a_file_that_an_earlier_answer_showed_passes(module: Any, transport: MockTransport) -> None:
    user, view, seen, command, printed = host.recorded()
    terminal = executor_of(module, "terminal", lambda *_: printed.observation)
    events = [user, view, seen, command]
    assert terminal(command.action, host.conversation(events)) is printed.observation
    assert not transport.requests
    alone = terminal(command.action, host.conversation([user, command]))
    assert " pruned" in alone.text
    together = command.model_copy({"llm_response_id": view.llm_response_id})
    assert " pruned" in terminal(command.action, host.conversation([user, view, together])).text


def test_what_the_host_has_condensed_since_is_no_earlier_look(module: Any) -> None:
    user, view, seen, command, printed = host.recorded()
    terminal = executor_of(module, "terminal", lambda *_: printed.observation)
    condensed = host.Condensation(kind="Condensation", timestamp="2026-11-25T22:25:20", llm_response_id="r")
    events = [user, view, seen, condensed, command]
    assert " pruned" in terminal(command.action, host.conversation(events)).text


def test_nothing_is_pruned_where_nothing_is_known_or_something_failed(module: Any) -> None:
    user, _, _, command, printed = host.recorded()
    for observation, events in (
        (printed.observation, []),
        (printed.observation.model_copy({"exit_code": 1}), [user, command]),
        (printed.observation.model_copy({"is_error": True}), [user, command]),
    ):
        terminal = executor_of(module, "terminal", lambda *_, shown=observation: shown)
        assert terminal(command.action, host.conversation(events)) is observation
    terminal = executor_of(module, "terminal", lambda *_: printed.observation)
    assert terminal(command.action, None) is printed.observation


@pytest.mark.parametrize("error", [ServerUnavailableError("it was killed"), RuntimeError("a defect")])
def test_what_fails_is_told_and_the_observation_stays(
    module: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail() -> Pruner:
        raise error

    monkeypatch.setattr(module, "_pruner", fail)
    user, _, _, command, printed = host.recorded()
    terminal = executor_of(module, "terminal", lambda *_: printed.observation)
    shown = terminal(command.action, host.conversation([user, command]))
    assert shown.text == f"{CODE}\n[lamr: not pruned: {type(error).__name__}: {error}]\n"


def test_a_clipped_view_is_pruned_whole_or_stays_clipped(module: Any) -> None:
    user, view, seen, *_ = host.recorded()
    lines = NUMBERED.split("\n")
    clipped = HEADER + "\n".join([*lines[:50], host.CLIPPED, *lines[60:]])
    observation = seen.observation.model_copy({"content": [host.TextContent(text=clipped)]})

    class Editor:
        code = CODE

        def __call__(self, *_: Any) -> Any:
            return observation

        @property
        def editor(self) -> Any:
            return self

        def read_file(self, path: Path) -> str:
            assert path == Path("/w/a.py")
            return self.code

    editor = Editor()
    executor = executor_of(module, "file_editor", editor)
    events = host.conversation([user, view])
    shown = executor(view.action, events).text
    assert host.CLIPPED not in shown
    assert f"of the lines 1-{CODE.count(chr(10))} are shown" in shown
    editor.code = CODE * 40
    assert executor(view.action, events) is observation


def test_what_a_command_prints_of_several_files_can_be_shown_again(module: Any) -> None:
    user, _, _, command, printed = host.recorded()
    both = host.TerminalAction(**{**command.action.__dict__, "command": "cat a.py b.py"})
    arguments = {**command.tool_call, "arguments": '{"command": "cat a.py b.py"}'}
    asked = command.model_copy({"action": both, "tool_call": arguments})
    terminal = executor_of(module, "terminal", lambda *_: printed.observation)
    text = terminal(both, host.conversation([user, asked])).text
    place = text.rpartition("`lamr show ")[2].partition("`")[0]
    first, last = map(int, place.partition(":")[2].split("-"))
    show = host.TerminalAction(command=f"lamr show {place}", is_input=False)
    assert terminal(show).text == "".join(CODE.splitlines(keepends=True)[first - 1 : last])
    gone = terminal(host.TerminalAction(command="lamr show 000000000000", is_input=False))
    assert "nothing is kept" in gone.text
    assert gone.exit_code != 0


def test_tools_that_read_files_are_replaced_and_others_stay(module: Any) -> None:
    given = [
        host.Model(name="terminal", params={"username": "u"}),
        host.Model(name="task_tracker", params={}),
    ]
    assert [tool.__dict__ for tool in module.pruned(given)] == [
        {"name": "lamr_terminal", "params": {"username": "u"}},
        {"name": "task_tracker", "params": {}},
    ]


def test_the_query_is_what_was_said_and_serves_the_task(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    class Listening:
        def prune(self, query: str, code: str, *, task: str, **_: Any) -> Any:
            asked.append((query, task))
            raise ServerUnavailableError("enough was heard")

    monkeypatch.setattr(module, "_pruner", Listening)
    user, view, seen, *_ = host.recorded()
    executor_of(module, "file_editor", lambda *_: seen.observation)(
        view.action, host.conversation([user, view])
    )
    assert asked == [(SAID, TASK)]
