"""`lamr mcp` and the official client: over standard input and output, over HTTP, and in one process."""

import http.client
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import mcp
import mcp_types
import pytest
from lamr_agents.mcp.server import (
    MOST_CHARACTERS,
    MOST_PATHS,
    MOST_TOKENS,
    MOST_UNPRUNED_LINES,
    create_server,
)
from lamr_agents.mcp.workspace import Reach
from lamr_client import AccessDeniedError, AsyncPruner, ModelMismatchError, ServerUnavailableError
from lamr_client.mock_transport import AsyncMockTransport, uniform_answer
from lamr_postprocess import approximate_tokens

from tests.agents.samples import CODE, LINES, line_of
from tests.client.conftest import free_port
from tests.processes import eventually

__all__ = ["free_port"]

QUESTION = "What does handler_30 write?"
MOST_TOLD = 720
"""Tokens of what a model is told of all tools, which it pays for in each request."""
SMALL = "def f():\n    return 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "small.py").write_text(SMALL, encoding="utf-8")
    return tmp_path


def in_process(
    root: Path, *, transport: AsyncMockTransport | None = None, roots: Any = None, **more: Any
) -> mcp.Client:
    def make() -> AsyncPruner:
        asked = transport or AsyncMockTransport(lambda request: uniform_answer(request, 0.5))
        return AsyncPruner(transport=asked, retries=0)

    return mcp.Client(create_server(Reach([root]), make, {}), list_roots_callback=roots, **more)


def listing(*folders: Path) -> Any:
    """A client's answer to what its roots are."""

    async def list_roots(_context: Any) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=folder.as_uri()) for folder in folders])

    return list_roots


async def text_of(client: mcp.Client, tool: str, **arguments: object) -> str:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return "".join(part.text for part in answer.content)


async def refusal_of(client: mcp.Client, tool: str, **arguments: object) -> str:
    """The words of an error."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return "".join(part.text for part in answer.content)


async def test_a_file_is_shown_for_a_question_and_a_cut_expanded(root: Path) -> None:
    async with in_process(root) as client:
        shown = await text_of(client, "read_file", path="a.py", question=QUESTION)
        number = line_of("value_30 =")
        assert f"{number}\t{LINES[number - 1]}" in shown
        assert re.search(r" 1-\d+ pruned", shown)
        cut = re.search(r"(\d+)-(\d+) pruned: (handler_\d+), (handler_\d+)", shown)
        assert cut, "a cut names the definitions that begin in it"
        inside = "".join(LINES[int(cut[1]) - 1 : int(cut[2])])
        assert re.findall(r"def (handler_\d+)\(", inside)[:2] == [cut[3], cut[4]]
        assert "value_7 =" not in shown
        first = line_of("def handler_7(")
        cut = await text_of(client, "expand", path="a.py", first=first, last=first + 1)
        assert cut == "".join(f"{n}\t{LINES[n - 1]}\n" for n in (first, first + 1))
        assert "[lamr: the file has" in await text_of(client, "expand", path="a.py", first=1, last=10_000)


async def test_answers_are_texts_and_nothing_else(root: Path) -> None:
    async with in_process(root) as client:
        tools = (await client.list_tools()).tools
        assert all(tool.output_schema is None for tool in tools)
        assert not any("\n        " in (tool.description or "") for tool in tools)
        told = "".join(f"{tool.name}{tool.description}{json.dumps(tool.input_schema)}" for tool in tools)
        assert approximate_tokens(told) < MOST_TOLD
        answer = await client.call_tool("read_file", {"path": "small.py", "question": QUESTION})
        assert answer.structured_content is None
        assert [part.type for part in answer.content] == ["text"]


async def test_a_small_file_comes_whole_with_its_numbers(root: Path) -> None:
    async with in_process(root) as client:
        shown = await text_of(client, "read_file", path="small.py", question=QUESTION)
        assert shown == "1\tdef f():\n2\t    return 1\n"


async def test_outlines_searches_and_texts(root: Path) -> None:
    async with in_process(root) as client:
        outline = await text_of(client, "outline", path="a.py")
        assert "def handler_59(" in outline
        assert "value_" not in outline
        found = await text_of(client, "search", pattern="value_30 =")
        assert found.startswith(f"a.py:{line_of('value_30 =')}:value_30 =")
        assert await text_of(client, "search", pattern="nowhere_at_all") == "no match\n"
        pruned = await text_of(client, "prune_text", text=CODE, question=QUESTION, path="x.py")
        assert "def handler_30(" in pruned
        assert len(pruned) < len(CODE) / 2
        log = "".join(f"FAILED a.py::test_{n} - {'x' * 200}\n" for n in range(300)) + "300 failed in 1.20s\n"
        pruned = await text_of(client, "prune_text", text=log, question=QUESTION, path="run.log")
        assert "300 failed in 1.20s" in pruned
        assert pruned.endswith(f"[lamr: {pruned.count('FAILED')} of 300 failures shown]\n")


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("read_file", {"path": "../x.py", "question": "q"}, "OutsideRootsError"),
        ("read_file", {"path": "none.py", "question": "q"}, "no such file"),
        ("read_file", {"path": "a.py", "question": " "}, "InvalidInputError"),
        ("outline", {"path": "a\ud800.py"}, "no such file"),
        ("expand", {"path": "a.py", "first": 5, "last": 2}, "a range goes upwards"),
        ("search", {"pattern": "("}, "is not a regular expression"),
    ],
)
async def test_what_a_caller_can_mend_is_told(
    root: Path, tool: str, arguments: dict[str, object], message: str
) -> None:
    async with in_process(root) as client:
        assert message in await refusal_of(client, tool, **arguments)


@pytest.mark.parametrize("error", [AccessDeniedError("it wants a key"), ModelMismatchError("another model")])
async def test_a_file_comes_whole_with_the_reason_while_the_server_refuses(
    root: Path, error: Exception
) -> None:
    transport = AsyncMockTransport(lambda request: uniform_answer(request, 0.5))
    async with in_process(root, transport=transport) as client:
        assert re.search(r" 1-\d+ pruned", await text_of(client, "read_file", path="a.py", question=QUESTION))
        transport.errors = [error] * 99
        whole = await text_of(client, "read_file", path="a.py", question=QUESTION)
        reason, *lines = whole.splitlines()
        assert reason.startswith(f"[lamr: not pruned: {type(error).__name__}: ")
        assert lines == [f"{n}\t{line}" for n, line in enumerate(CODE.splitlines(), 1)]
        text = await text_of(client, "prune_text", text=CODE, question=QUESTION)
        assert text == f"{reason}\n{CODE}"
        transport.errors = []
        assert re.search(r" 1-\d+ pruned", await text_of(client, "read_file", path="a.py", question=QUESTION))


async def test_a_server_that_fails_leaves_the_answer_to_the_line_model(root: Path) -> None:
    transport = AsyncMockTransport(errors=[ServerUnavailableError("it was killed")] * 99)
    last = "[lamr: judged in haste (line model; server unavailable): ask again later for a better answer]"
    async with in_process(root, transport=transport) as client:
        shown = await text_of(client, "read_file", path="a.py", question=QUESTION)
        assert shown.splitlines()[-1] == last
        text = await text_of(client, "prune_text", text=CODE, question=QUESTION)
        assert text.splitlines()[-1] == last


async def test_effort_and_time_are_those_of_the_server(root: Path) -> None:
    transport = AsyncMockTransport(lambda request: uniform_answer(request, 0.5))

    def make() -> AsyncPruner:
        return AsyncPruner(transport=transport)

    async with mcp.Client(create_server(Reach([root]), make, {}, "instant", 5.0)) as client:
        assert re.search(r" 1-\d+ pruned", await text_of(client, "read_file", path="a.py", question=QUESTION))
        await text_of(client, "prune_text", text=CODE, question=QUESTION)
    assert not transport.requests


async def test_a_large_file_that_cant_be_pruned_comes_with_what_is_missing(root: Path) -> None:
    (root / "large.py").write_text("value = compute(1)\n" * (MOST_UNPRUNED_LINES + 1))
    transport = AsyncMockTransport(errors=[AccessDeniedError("it wants a key")] * 99)
    async with in_process(root, transport=transport) as client:
        shown = await text_of(client, "read_file", path="large.py", question=QUESTION)
        assert shown.endswith("2000 lines at a time; expand shows others]\n")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_only_files_in_the_clients_roots_are_read(root: Path, mode: str) -> None:
    inner, other = root / "inner", root / "other"
    for folder in (inner, other):
        folder.mkdir()
        (folder / "b.py").write_text(SMALL)
    (inner / "link.py").symlink_to(other / "b.py")
    async with in_process(root, roots=listing(inner), mode=mode) as client:
        assert await text_of(client, "expand", path="b.py", first=1, last=1) == "1\tdef f():\n"
        for path in (str(other / "b.py"), "../a.py", "link.py"):
            for tool in ("read_file", "outline"):
                more = {"question": QUESTION} if tool == "read_file" else {}
                assert "OutsideRootsError" in await refusal_of(client, tool, path=path, **more)
        assert "a.py" not in await text_of(client, "search", pattern="def ")
    async with in_process(
        inner, roots=listing(root, other), mode=mode
    ) as client:  # the command's are narrower
        assert await refusal_of(client, "outline", path=str(root / "a.py"))
        assert await text_of(client, "outline", path="b.py")
    async with in_process(inner, roots=listing(other), mode=mode) as client:
        assert "no folder in common" in await refusal_of(client, "outline", path="b.py")
    async with in_process(inner, roots=listing(), mode=mode) as client:
        assert await text_of(client, "outline", path="b.py")


async def test_the_command_speaks_over_standard_input_and_takes_the_roots_of_who_started_it(
    root: Path,
) -> None:
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "lamr_cli.main", "mcp"], cwd=Path(sys.prefix)
    )
    async with mcp.Client(server, list_roots_callback=listing(root)) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"read_file", "pack", "expand", "outline", "search", "prune_text"}
        assert "handler_30" in await text_of(client, "read_file", path="a.py", question=QUESTION)
        assert await refusal_of(client, "outline", path=sys.prefix + "/pyvenv.cfg")


async def test_what_is_no_message_of_the_protocol_is_answered_with_an_error(root: Path) -> None:
    command = [sys.executable, "-m", "lamr_cli.main", "mcp", "--root", str(root)]
    call = '{"jsonrpc": "2.0", "id": ID, "method": "tools/call", "params": {"name": "outline", "arguments": {ARGS}}}'
    cases: list[tuple[str, int | str | None, int]] = [
        ('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', None, -32600),
        ("[]", None, -32600),
        ('"ping"', None, -32600),
        ('{"jsonrpc": "2.0", "id": 2, "method": 5}', 2, -32600),
        ('{"jsonrpc": "2.0", "id": 1}', None, -32600),
        ("{", None, -32700),
        ("\udcff", None, -32700),
        ("[" * 10_000, None, -32700),
        (call.replace("ID", "3").replace("ARGS", '"path": "a\\ud800.py"'), 3, -32700),
        (call.replace("ID", '"four"').replace("ARGS", '"\\udcff": 1'), "four", -32700),
        (call.replace("ID", '"\\ud800"').replace("ARGS", '"path": "a.py"'), None, -32700),
        (call.replace("ID", "5.5").replace("ARGS", '"\\ud800": 1'), None, -32700),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message, known, code in cases:
            process.stdin.write(message.encode("utf-8", "surrogateescape") + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert (answer["id"], answer["error"]["code"]) == (known, code), message[:80]
            assert answer["error"]["message"]
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 99, "method": "ping"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 99
        process.stdin.close()
        assert process.wait(30) == 0


async def test_wrong_arguments_are_named_without_a_librarys_words(root: Path) -> None:
    async with in_process(root) as client:
        words = await refusal_of(client, "expand", path="a.py", first="x")
        assert "the arguments of expand can't be used: " in words
        assert "first: " in words
        assert "last: " in words
        assert "pydantic" not in words
        assert "validation error" not in words


async def test_the_command_speaks_over_http_but_not_to_names_and_pages_of_other_places(
    root: Path, free_port: int
) -> None:
    command = [sys.executable, "-m", "lamr_cli.main", "mcp", "--root", str(root)]
    options = ["--transport", "http", "--port", str(free_port), "--allowed-host", "lamr.example"]

    def ask(headers: dict[str, str]) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", free_port, timeout=30)
        connection.request("POST", "/mcp", b"[]", {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def answers() -> bool:
        with suppress(OSError):
            return ask({})[0] != 403
        return False

    with subprocess.Popen([*command, *options]) as process:
        try:
            assert eventually(answers, 120)
            async with mcp.Client(f"http://127.0.0.1:{free_port}/mcp") as client:
                shown = await text_of(client, "expand", path="small.py", first=1, last=1)
                assert shown == "1\tdef f():\n"
            status, said = ask({"Host": "evil.example"})
            assert (status, "--allowed-host" in said) == (403, True)
            assert ask({"Origin": "http://evil.example"})[0] == 403
            assert ask({"Host": "localhost", "Origin": "http://localhost:3000"})[0] != 403
            assert ask({"Host": "lamr.example:1"})[0] != 403
        finally:
            process.terminate()
            assert process.wait(30) == 0


async def test_no_answer_is_longer_than_hosts_take(root: Path) -> None:
    bundle = "var a=1;" + "function f(x){return x+1};" * 9_000
    (root / "bundle.js").write_text(bundle, encoding="utf-8")
    (root / "long.py").write_text(
        "".join(f"def f{i}(a, b):\n    return a\n" for i in range(9_000)), encoding="utf-8"
    )
    (root / "wide.txt").write_text(f"{'y' * 5_000}\nshort\n", encoding="utf-8")
    async with in_process(root) as client:
        assert (
            await text_of(client, "outline", path="bundle.js")
            == "// ... minified: 1 line of 234,008 characters\n"
        )
        shown = await text_of(client, "read_file", path="bundle.js", question="What does function f return?")
        assert "the parts around what is looked for" in shown
        assert len(shown) < 12_000
        shown = await text_of(client, "expand", path="bundle.js", first=1, last=1)
        assert "[lamr: 2,000 of the line's 234,008 characters]" in shown
        shown = await text_of(client, "outline", path="long.py")
        assert len(shown) < MOST_CHARACTERS + 300
        assert "of the answer's" in shown.splitlines()[-1]
        assert await text_of(client, "expand", path="wide.txt", first=2, last=2) == "2\tshort\n"


async def test_a_minified_file_that_cannot_be_read_is_shown_in_part(root: Path) -> None:
    (root / "bundle.js").write_text("var a=1;" * 30_000, encoding="utf-8")
    (root / "wide.js").write_text("var a = 1;\n" * 900 + f"// {'x' * 9_000}\n", encoding="utf-8")
    failing = AsyncMockTransport(errors=[ModelMismatchError("another model", server="a:1")] * 99)
    async with in_process(root, transport=failing) as client:
        assert len(await text_of(client, "read_file", path="bundle.js", question=QUESTION)) < 12_000
        shown = await text_of(client, "read_file", path="wide.js", question=QUESTION)
        assert "2,000 of the line's" in shown


@pytest.mark.parametrize(
    "form", ["{n:6d}\tvalue_{k} = compute_something({k})\n", "{n}: value_{k} = compute({k}, 1)\n"]
)
async def test_numbers_in_a_file_are_its_own_text(root: Path, form: str) -> None:
    (root / "n.txt").write_text("".join(form.format(n=k + 1000, k=k) for k in range(400)), encoding="utf-8")
    async with in_process(root) as client:
        shown = await text_of(client, "read_file", path="n.txt", question="value_230")
        outlined = await text_of(client, "outline", path="n.txt")
        marked = re.findall(r"(\d+)(?:-(\d+))? pruned", shown + outlined)
        assert marked
        assert all(int(each or 0) <= 400 for pair in marked for each in pair)
        packed = await text_of(client, "pack", question="value_230", max_tokens=300)
        assert all(int(each) <= 400 for each in re.findall(r"(\d+) pruned", packed))


@pytest.mark.parametrize("sign", ["\U000e0041", "\u200b", "\u3164"])
async def test_an_answer_says_how_many_lines_hide_something(root: Path, sign: str) -> None:
    (root / "b.py").write_text(CODE.replace("value_30 =", f"value_30 = '{sign}' or"), encoding="utf-8")
    async with in_process(root) as client:
        shown = await text_of(client, "read_file", path="b.py", question=QUESTION)
        assert sign in shown
        assert shown.endswith("[lamr: 1 of the lines shown have invisible characters]\n")


# The tool that packs: which files it looks at, and what it says of what it left out


ODD = "[1] *?!#.py"
OTHER = CODE.replace("handler_", "sender_")
SECRET = "key = 'AKIA" + "QYLPMN5HFZZ7KQW3'\n"


@pytest.fixture
def packed_root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text(CODE, encoding="utf-8")
    (folder / "inner" / "b.py").write_text(OTHER, encoding="utf-8")
    (folder / "inner" / ODD).write_text("def handler_30_of_all():\n    return 1\n", encoding="utf-8")
    (folder / "keys.py").write_text(f"{SECRET}def handler_30():\n    return key\n", encoding="utf-8")
    return folder


async def test_the_lines_of_all_files_come_with_their_numbers_and_can_be_expanded(packed_root: Path) -> None:
    async with in_process(packed_root) as client:
        shown = await text_of(client, "pack", question=QUESTION, max_tokens=1500)
        assert approximate_tokens(shown) <= 1500
        assert "## File: a.py" in shown
        number = line_of("value_30 =")
        assert f"{number}\t{LINES[number - 1]}" in shown
        assert " pruned" in shown
        path = f"inner/{ODD}"
        assert f"## File: {path}" in shown
        assert "handler_30_of_all" in await text_of(client, "expand", path=path, first=1, last=1)


@pytest.mark.parametrize(
    ("paths", "there", "missing"),
    [
        (["inner"], ["inner/b.py", f"inner/{ODD}"], ["a.py"]),
        ([f"inner/{ODD}"], [f"inner/{ODD}"], ["a.py", "inner/b.py"]),
        (["a.py", "./inner/b.py"], ["a.py", "inner/b.py"], [f"inner/{ODD}"]),
        (["a.py", "."], ["a.py", "inner/b.py", f"inner/{ODD}"], []),
    ],
)
async def test_paths_say_which_files_are_looked_at(
    packed_root: Path, paths: list[str], there: list[str], missing: list[str]
) -> None:
    async with in_process(packed_root) as client:
        question = "What do handler_30 and sender_30 write?"
        shown = await text_of(client, "pack", question=question, paths=paths)
        assert all(f"## File: {path}\n" in shown for path in there)
        assert not any(f"## File: {path}\n" in shown for path in missing)


async def test_files_with_secrets_are_left_out_though_they_are_named(packed_root: Path) -> None:
    async with in_process(packed_root) as client:
        for paths in ([], ["keys.py"]):
            shown = await text_of(client, "pack", question="Which key does handler_30 return?", paths=paths)
            assert "AKIA" not in shown
        assert "[lamr: no line is kept: there is no file to choose from]" in shown.splitlines()
        assert shown.splitlines()[-1].startswith("[lamr: files left out: ")
        assert "1 with secrets" in shown.splitlines()[-1]


async def test_nothing_outside_the_roots_is_packed(packed_root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "c.py").write_text("def handler_30_outside():\n    return 1\n")
    (packed_root / "link").symlink_to(tmp_path / "outside")
    (packed_root / "link.py").symlink_to(tmp_path / "outside" / "c.py")
    async with in_process(packed_root) as client:
        shown = await text_of(client, "pack", question="What does handler_30_outside return?")
        assert "def handler_30_outside" not in shown
        for path in ("link", "link.py", "..", str(tmp_path / "outside")):
            words = await refusal_of(client, "pack", question=QUESTION, paths=["a.py", path])
            assert "OutsideRootsError" in words
    async with in_process(packed_root, roots=listing(packed_root / "inner")) as client:
        assert "## File: a.py" not in await text_of(client, "pack", question=QUESTION)
        assert await refusal_of(client, "pack", question=QUESTION, paths=[str(packed_root / "a.py")])


async def test_of_several_roots_one_is_packed_and_its_paths_can_be_followed(packed_root: Path) -> None:
    (packed_root / "other").mkdir()
    (packed_root / "other" / "c.py").write_text(CODE)
    inner, other = packed_root / "inner", packed_root / "other"
    async with in_process(packed_root, roots=listing(inner, other)) as client:
        first = await text_of(client, "pack", question=QUESTION)
        assert "## File: b.py" in first
        assert "paths start from" not in first
        second = await text_of(client, "pack", question=QUESTION, paths=[str(other)])
        assert "## File: c.py" in second
        assert second.splitlines()[-1] == f"[lamr: paths start from {other}]"
        both = await refusal_of(client, "pack", question=QUESTION, paths=[str(inner), str(other)])
        assert "several roots" in both


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"max_tokens": 0}, "max_tokens: 1 to"),
        ({"max_tokens": MOST_TOKENS + 1}, "max_tokens: 1 to"),
        ({"max_tokens": 5}, "BudgetError"),
        ({"paths": ["none"]}, "none: no such file or folder"),
        ({"paths": ["a.py"] * (MOST_PATHS + 1)}, "at the most; name folders"),
        ({"question": " "}, "InvalidInputError"),
        ({"paths": "a.py"}, "the arguments of pack can't be used: paths: "),
    ],
)
async def test_what_a_caller_of_pack_can_mend_is_told(
    packed_root: Path, arguments: dict[str, object], words: str
) -> None:
    async with in_process(packed_root) as client:
        assert words in await refusal_of(client, "pack", **{"question": QUESTION, **arguments})
