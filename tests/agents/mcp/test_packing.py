"""The tool that packs: which files it looks at, and what it says of what it left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from lamr_agents.mcp.server import MOST_PATHS, MOST_TOKENS
from lamr_postprocess import approximate_tokens

from tests.agents.mcp.test_mcp import QUESTION, in_process, listing, text_of
from tests.agents.samples import CODE, LINES, line_of

ODD = "[1] *?!#.py"
OTHER = CODE.replace("handler_", "sender_")
SECRET = "key = 'AKIA" + "QYLPMN5HFZZ7KQW3'\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.py").write_text(CODE, encoding="utf-8")
    (folder / "inner" / "b.py").write_text(OTHER, encoding="utf-8")
    (folder / "inner" / ODD).write_text("def handler_30_of_all():\n    return 1\n", encoding="utf-8")
    (folder / "keys.py").write_text(f"{SECRET}def handler_30():\n    return key\n", encoding="utf-8")
    return folder


async def test_the_lines_of_all_files_come_with_their_numbers_and_can_be_expanded(root: Path) -> None:
    async with in_process(root) as client:
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
    root: Path, paths: list[str], there: list[str], missing: list[str]
) -> None:
    async with in_process(root) as client:
        question = "What do handler_30 and sender_30 write?"
        shown = await text_of(client, "pack", question=question, paths=paths)
        assert all(f"## File: {path}\n" in shown for path in there)
        assert not any(f"## File: {path}\n" in shown for path in missing)


async def test_files_with_secrets_are_left_out_though_they_are_named(root: Path) -> None:
    async with in_process(root) as client:
        for paths in ([], ["keys.py"]):
            shown = await text_of(client, "pack", question="Which key does handler_30 return?", paths=paths)
            assert "AKIA" not in shown
        assert "[lamr: no line is kept: there is no file to choose from]" in shown.splitlines()
        assert shown.splitlines()[-1].startswith("[lamr: files left out: ")
        assert "1 with secrets" in shown.splitlines()[-1]


async def test_nothing_outside_the_roots_is_packed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "c.py").write_text("def handler_30_outside():\n    return 1\n")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "link.py").symlink_to(tmp_path / "outside" / "c.py")
    async with in_process(root) as client:
        shown = await text_of(client, "pack", question="What does handler_30_outside return?")
        assert "def handler_30_outside" not in shown
        for path in ("link", "link.py", "..", str(tmp_path / "outside")):
            answer = await client.call_tool("pack", {"question": QUESTION, "paths": ["a.py", path]})
            assert answer.is_error
            assert "OutsideRootsError" in answer.content[0].text
    async with in_process(root, roots=listing(root / "inner")) as client:
        assert "## File: a.py" not in await text_of(client, "pack", question=QUESTION)
        assert (
            await client.call_tool("pack", {"question": QUESTION, "paths": [str(root / "a.py")]})
        ).is_error


async def test_of_several_roots_one_is_packed_and_its_paths_can_be_followed(root: Path) -> None:
    (root / "other").mkdir()
    (root / "other" / "c.py").write_text(CODE)
    inner, other = root / "inner", root / "other"
    async with in_process(root, roots=listing(inner, other)) as client:
        first = await text_of(client, "pack", question=QUESTION)
        assert "## File: b.py" in first
        assert "paths start from" not in first
        second = await text_of(client, "pack", question=QUESTION, paths=[str(other)])
        assert "## File: c.py" in second
        assert second.splitlines()[-1] == f"[lamr: paths start from {other}]"
        both = await client.call_tool("pack", {"question": QUESTION, "paths": [str(inner), str(other)]})
        assert both.is_error
        assert "several roots" in both.content[0].text


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
async def test_what_a_caller_can_mend_is_told(root: Path, arguments: dict[str, object], words: str) -> None:
    async with in_process(root) as client:
        answer = await client.call_tool("pack", {"question": QUESTION, **arguments})
        assert answer.is_error
        assert words in answer.content[0].text
