"""What ends a call without being an error of lamr's is one at every door, and the next call is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import lamr_client.async_pruner
import lamr_client.pruner
import lamr_postprocess.prune
import pytest
from lamr_agents.local.server import LocalServer
from lamr_agents.mcp.workspace import Workspace
from lamr_base.errors import BAD_INPUT, BrokenOffError, own_errors
from lamr_cli import main
from lamr_client import AsyncPruner
from lamr_client.mock_transport import AsyncMockTransport, uniform_answer
from lamr_postprocess import prune_lines, trials
from lamr_repositories.batch import worker
from lamr_repositories.batch.options import BatchOptions

from tests.agents.http.test_http import served, site
from tests.agents.mcp.test_mcp import in_process, root, text_of
from tests.agents.samples import CODE, pruner
from tests.agents.test_claude_code import store, transcript
from tests.agents.test_hook_in_trouble import call, reason

__all__ = ["root", "served", "store", "transcript"]
QUERY = "What does handler_30 write?"


class PanicException(BaseException):
    """As pyo3 makes one for each module in Rust."""


FAULTS = (MemoryError, RecursionError, PanicException)
faults = pytest.mark.parametrize("fault", FAULTS)


class Breaking:
    """Raises a fault wherever it is put, until it is mended."""

    def __init__(self, fault: type[BaseException]) -> None:
        self._fault = fault

    def __call__(self, *_arguments: Any, **_options: Any) -> NoReturn:
        raise self._fault("no more")

    prune = __call__


@faults
def test_the_error_says_what_it_was_and_what_to_do(fault: type[BaseException]) -> None:
    with (
        pytest.raises(BrokenOffError, match=rf"\({fault.__name__}\); ask about a part of it") as raised,
        own_errors(),
    ):
        Breaking(fault)()
    assert isinstance(raised.value.__cause__, fault)


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit, ValueError])
def test_what_ends_a_program_still_ends_it(end: type[BaseException]) -> None:
    with pytest.raises(end), own_errors():
        raise end


@faults
def test_functions(fault: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(lamr_postprocess.prune, "analyse", Breaking(fault))
        with pytest.raises(BrokenOffError):
            prune_lines(CODE, [0.5] * CODE.count("\n"))
    with pruner() as asking:
        with monkeypatch.context() as broken:
            broken.setattr(lamr_client.pruner, "PruneJob", Breaking(fault))
            with pytest.raises(BrokenOffError):
                asking.prune(QUERY, CODE)
            passed = asking.prune(QUERY, CODE, on_error="passthrough")
            assert (passed.text, passed.status) == (CODE, "passthrough")
            assert str(passed.reason).startswith("BrokenOffError: ")
        assert asking.prune(QUERY, CODE).cuts


@faults
async def test_awaited_functions(fault: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    transport = AsyncMockTransport(lambda request: uniform_answer(request, 0.5))
    async with AsyncPruner(transport=transport) as asking:
        with monkeypatch.context() as broken:
            broken.setattr(lamr_client.async_pruner, "PruneJob", Breaking(fault))
            with pytest.raises(BrokenOffError):
                await asking.prune(QUERY, CODE)
        assert (await asking.prune(QUERY, CODE)).cuts


@faults
def test_http(fault: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    with site() as served:
        with monkeypatch.context() as broken:
            broken.setattr(AsyncPruner, "prune", Breaking(fault))
            status, answer, _ = served.post("/v1/prune", {"query": QUERY, "code": CODE})
            assert (status, answer["error"]) == (500, "BrokenOffError")
            assert fault.__name__ in answer["message"]
        assert served.post("/v1/prune", b"[" * 100_000)[0] == 400
        assert served.post("/v1/prune", {"query": QUERY, "code": CODE})[0] == 200


def test_a_grammar_ends_another_process_and_the_service_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(levels: int) -> dict[str, str]:
        return {"query": QUERY, "code": "[\n" * levels + "1\n" + "]\n" * levels, "path": "a.json"}

    with site() as served:
        monkeypatch.setattr(trials, "_trials", [trials.Trials()])
        with monkeypatch.context() as narrow:
            narrow.setattr(trials, "MEMORY", 1 << 20)
            status, answer, _ = served.post("/v1/prune", deep(150))
            assert (status, answer["reason"].split("; ")[0]) == (
                200,
                "json whose grammar failed: pruned line by line",
            )
        assert "grammar" not in str(served.post("/v1/prune", deep(151))[1]["reason"])


@faults
async def test_mcp(fault: type[BaseException], monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    async with in_process(root) as client:
        with monkeypatch.context() as broken:
            broken.setattr(Workspace, "read", Breaking(fault))
            answer = await client.call_tool("outline", {"path": "a.py"})
            assert answer.is_error
            assert (
                f"BrokenOffError: the text was too much for what reads it ({fault.__name__})"
                in answer.content[0].text
            )
        assert "def handler_7(" in await text_of(client, "outline", path="a.py")


@faults
def test_the_hooks_server(
    fault: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Any, transcript: str
) -> None:
    with pruner() as asking:
        server = LocalServer(tmp_path / "hook.sock", store, lambda: asking)
        with monkeypatch.context() as broken:
            broken.setattr(asking, "prune", Breaking(fault))
            said = reason(server.answer(call(transcript)))
        assert f"BrokenOffError: the text was too much for what reads it ({fault.__name__})" in said
        assert b"updatedToolOutput" in server.answer(call(transcript, session_id="s2"))


@faults
def test_rows_of_a_batch(fault: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = worker.RowWorker(worker.WorkerOptions(BatchOptions(), 1))
    row = {"query": QUERY, "code": CODE, "effort": "instant"}
    with monkeypatch.context() as broken:
        broken.setattr(worker, "_pruned", Breaking(fault))
        assert rows.answer(row)["error"] == "BrokenOffError"
    assert "text" in rows.answer(row)


@faults
def test_the_command_line(
    fault: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main, "app", Breaking(fault))
    with pytest.raises(SystemExit) as ended:
        main.main()
    said = capsys.readouterr().err
    assert ended.value.code == BAD_INPUT
    assert said.startswith(f"lamr: the text was too much for what reads it ({fault.__name__}); ")
    assert said.count("\n") == 1
