"""Tools of the Model Context Protocol: read a file for a question, expand a cut, outline, search, prune a text.

What a tool answers is text for a model, with the file's own line numbers. Errors that a caller can mend are answered as
such. This module knows the protocol's tools; files are the workspace's matter, and judging lines the pruner's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version

from lamr_client import AsyncPruner, LamrError
from lamr_postprocess import split_lines
from lamr_postprocess.render import NAMED
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from lamr_agents.policy import Policy
from lamr_agents.skim import outline as outline_of
from lamr_agents.workspace import Workspace

MOST_LINES = 800
"""Of one answer of `expand`."""
_INSTRUCTIONS = (
    "read_file shows the lines of a file that answer a question; comments mark what was cut, with line numbers and the "
    "names of the definitions in it. expand shows a range of lines as it is."
)


def create_server(workspace: Workspace, make_pruner: Callable[[], AsyncPruner]) -> MCPServer:
    """Make the server.

    Args:
        workspace: the files that may be read.
        make_pruner: gives the pruner; called in a thread, when a tool first needs it.
    """
    warm = _Warm(make_pruner)

    @asynccontextmanager
    async def lifespan(_server: MCPServer) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await warm.close()

    server = MCPServer(
        "lamr",
        instructions=_INSTRUCTIONS,
        version=version("lamr-server"),
        lifespan=lifespan,
        log_level="WARNING",
    )

    @server.tool()
    async def read_file(path: str, question: str, task: str = "") -> str:
        """Show the lines of a file that answer a question, numbered; comments say what was cut.

        Args:
            path: the file.
            question: what you want to know from it.
            task: what the question serves, such as the issue you work on.
        """

        async def read() -> str:
            code = await asyncio.to_thread(workspace.read, path)
            result = await (await warm.pruner()).prune(
                question,
                code,
                task=task,
                path=path,
                markers=NAMED,
                line_numbers=True,
                min_tokens=Policy.least_tokens,
            )
            return _numbered(code, 1) if result.status == "passthrough" else result.text

        return await _answered(read)

    @server.tool()
    async def expand(path: str, first: int, last: int) -> str:
        """Show a range of a file's lines as they are, such as a range that was cut.

        Args:
            path: the file.
            first: the first line, from 1.
            last: the last line.
        """

        async def read() -> str:
            lines = split_lines(await asyncio.to_thread(workspace.read, path))
            if not 1 <= first <= last:
                raise ToolError(f"lines {first}-{last}: lines count from 1, and a range goes upwards")
            shown = lines[first - 1 : min(last, first + MOST_LINES - 1)]
            more = f"[lamr: {MOST_LINES} lines at a time]\n" if last - first >= MOST_LINES else ""
            end = f"[lamr: the file has {len(lines)} lines]\n" if last > len(lines) else ""
            return _numbered("".join(shown), first) + more + end

        return await _answered(read)

    @server.tool()
    async def outline(path: str) -> str:
        """Show the headers of a file's definitions, with comments for what is between them.

        Args:
            path: the file.
        """

        async def read() -> str:
            code = await asyncio.to_thread(workspace.read, path)
            return (await asyncio.to_thread(outline_of, code, path))[0]

        return await _answered(read)

    @server.tool()
    async def search(pattern: str, path: str = ".") -> str:
        """Show the lines that match a regular expression, as path:line:text.

        Args:
            pattern: the regular expression.
            path: a file or folder; everything without one.
        """

        async def find() -> str:
            found, more = await asyncio.to_thread(workspace.search, pattern, path)
            lines = [f"{each.path}:{each.line}:{each.text}\n" for each in found]
            lines += ["[lamr: there are more matches; narrow the search]\n"] if more else []
            return "".join(lines) or "no match\n"

        return await _answered(find)

    @server.tool()
    async def prune_text(text: str, question: str, path: str = "") -> str:
        """Show the lines of a text that answer a question; comments say what was cut.

        Args:
            text: code, a log, or any other text.
            question: what you want to know from it.
            path: a file name that tells the text's language.
        """

        async def prune() -> str:
            pruner = await warm.pruner()
            return (await pruner.prune(question, text, path=path or None, markers=NAMED)).text

        return await _answered(prune)

    return server


class _Warm:
    """A pruner that is made when it is first needed."""

    def __init__(self, make: Callable[[], AsyncPruner]) -> None:
        self._make = make
        self._making = asyncio.Lock()
        self._pruner: AsyncPruner | None = None

    async def pruner(self) -> AsyncPruner:
        async with self._making:
            if self._pruner is None:
                self._pruner = await asyncio.to_thread(self._make)
            return self._pruner

    async def close(self) -> None:
        if self._pruner is not None:
            await self._pruner.close()


async def _answered(work: Callable[[], Awaitable[str]]) -> str:
    """The work's answer; what is lamr's error becomes the tool's, which the model reads."""
    try:
        return await work()
    except LamrError as error:
        raise ToolError(f"{type(error).__name__}: {error}") from error


def _numbered(text: str, first: int) -> str:
    return "".join(f"{number}\t{line}" for number, line in enumerate(split_lines(text), first))
