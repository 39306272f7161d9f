"""Tools of the Model Context Protocol: read a file for a question, expand a cut, outline, search, prune a text.

What a tool answers is text for a model, with the file's own line numbers. Errors that a caller can mend are answered as
such.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any, TypeVar, cast

from lamr_client import AsyncPruner, InvalidInputError, LamrError, PruneResult
from lamr_client.effort import EffortName
from lamr_errors import visible
from lamr_postprocess import split_lines
from lamr_postprocess.render import NAMED
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Resolve
from mcp_types import ListRootsResult
from pydantic import ValidationError

from lamr_agents.faults import words_of
from lamr_agents.mcp.roots import Reach, ask_for_roots
from lamr_agents.outlines import outline as outline_of
from lamr_agents.policy import Policy
from lamr_agents.skim import haste
from lamr_agents.thin import NOT_PRUNED, NOTE
from lamr_agents.words import FILE_ENDS, MORE_LINES, MORE_MATCHES

MOST_LINES = 800
"""Of one answer of `expand`."""
MOST_UNPRUNED_LINES = 2000
"""Of a file that couldn't be pruned."""
MOST_CHARACTERS = 60_000
"""Of one answer: hosts take 25,000 tokens, and a token of code has hardly ever fewer than 2.4 characters."""
MOST_OF_A_LINE = 2_000
"""Characters of a line that is shown as it is in the file."""
MOST_FAULTS = 10
"""Of a call's arguments that are named."""
Roots = Annotated[ListRootsResult, Resolve(ask_for_roots)]
_INSTRUCTIONS = (
    "read_file shows the lines of a file that answer a question; comments mark what was cut, with line numbers and the "
    "names of the definitions in it. expand shows a range of lines as it is."
)


def create_server(
    reach: Reach,
    make_pruner: Callable[[], AsyncPruner],
    effort: EffortName = "auto",
    within: float | None = None,
) -> MCPServer:
    """Make the server.

    Args:
        reach: the folders whose files may be read.
        make_pruner: gives the pruner; called in a thread, when a tool first needs it.
        effort, within: of each pruning, see `lamr_client.Pruner.prune`.
    """
    warm = _Warm(make_pruner)

    @asynccontextmanager
    async def lifespan(_server: MCPServer) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await warm.close()

    server = _Server(
        "lamr",
        instructions=_INSTRUCTIONS,
        version=version("lamr-server"),
        lifespan=lifespan,
        log_level="WARNING",
    )
    tools = _Tools(reach, warm, {"effort": effort, "within": within})
    for tool in (tools.read_file, tools.expand, tools.outline, tools.search, tools.prune_text):
        # Else hosts get the text once more as a field of a structure, and some show the model that one, with its line
        # ends and quotes escaped. `getdoc` takes the source's indentation off what the model is told in every session.
        server.add_tool(tool, description=inspect.getdoc(tool), structured_output=False)
    return server


class _Server(MCPServer):
    """The protocol's server, whose words about wrong arguments are for a model: which argument, and what is wrong."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            faults = error.__cause__.errors(include_input=False, include_url=False)[:MOST_FAULTS]
            said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {words_of(each)}" for each in faults)
            raise ToolError(visible(f"the arguments of {name} can't be used: {said}")) from error


_Tool = TypeVar("_Tool", bound=Callable[..., Any])


def _telling(tool: _Tool) -> _Tool:
    """A tool whose errors of lamr's are the tool's, which the model reads."""

    @wraps(tool)
    async def told(*arguments: Any, **options: Any) -> str:
        try:
            answer: str = await tool(*arguments, **options)
        except LamrError as error:
            raise ToolError(f"{type(error).__name__}: {visible(str(error), lines=True)}") from error
        return bounded(answer)

    return cast(_Tool, told)


def bounded(answer: str) -> str:
    """The beginning of an answer that is longer than hosts take, in whole lines, with a line that says so."""
    if len(answer) <= MOST_CHARACTERS:
        return answer
    end = answer.rfind("\n", 0, MOST_CHARACTERS) + 1 or MOST_CHARACTERS
    break_ = "" if answer[end - 1] == "\n" else "\n"
    return (
        f"{answer[:end]}{break_}{NOTE} these are {end:,} of the answer's {len(answer):,} characters; ask for less: "
        "expand shows a range of lines, search the lines that match]\n"
    )


class _Tools:
    """The tools; their docstrings and arguments are what a model is told of them, `roots` is asked of the client."""

    def __init__(self, reach: Reach, warm: _Warm, limits: Mapping[str, Any]) -> None:
        self._reach = reach
        self._warm = warm
        self._limits = limits

    @_telling
    async def read_file(self, path: str, question: str, task: str = "", *, roots: Roots) -> str:
        """Show the lines of a file that answer a question, numbered; comments say what was cut.

        Args:
            path: the file.
            question: what you want to know from it.
            task: what the question serves, such as the issue you work on.
        """
        code = await asyncio.to_thread(self._reach.workspace(roots).read, path)
        try:
            result = await (await self._warm.pruner()).prune(
                question,
                code,
                task=task,
                path=path,
                markers=NAMED,
                line_numbers=True,
                min_tokens=Policy.least_tokens,
                excerpts=True,
                **self._limits,
            )
        except InvalidInputError:
            raise
        except LamrError as error:
            return _not_pruned(error) + _range(code, 1, MOST_UNPRUNED_LINES)
        return _numbered(code, 1) if result.status == "passthrough" else result.text + _fault(result)

    @_telling
    async def expand(self, path: str, first: int, last: int, *, roots: Roots) -> str:
        """Show a range of a file's lines as they are, such as a range that was cut.

        Args:
            path: the file.
            first: the first line, from 1.
            last: the last line.
        """
        code = await asyncio.to_thread(self._reach.workspace(roots).read, path)
        if not 1 <= first <= last:
            raise ToolError(f"lines {first}-{last}: lines count from 1, and a range goes upwards")
        count = len(split_lines(code))
        end = FILE_ENDS.format(lines=count) if last > count else ""
        return _range(code, first, min(last, first + MOST_LINES - 1), wanted=last) + end

    @_telling
    async def outline(self, path: str, *, roots: Roots) -> str:
        """Show the headers of a file's definitions, with comments for what is between them.

        Args:
            path: the file.
        """
        code = await asyncio.to_thread(self._reach.workspace(roots).read, path)
        return (await asyncio.to_thread(outline_of, code, path))[0]

    @_telling
    async def search(self, pattern: str, path: str = ".", *, roots: Roots) -> str:
        """Show the lines that match a regular expression, as path:line:text.

        Args:
            pattern: the regular expression.
            path: a file or folder; everything without one.
        """
        found, more = await asyncio.to_thread(self._reach.workspace(roots).search, pattern, path)
        lines = [f"{visible(each.path)}:{each.line}:{each.text}\n" for each in found]
        lines += [MORE_MATCHES] if more else []
        return "".join(lines) or "no match\n"

    @_telling
    async def prune_text(self, text: str, question: str, path: str = "") -> str:
        """Show the lines of a text that answer a question; comments say what was cut.

        Args:
            text: code, a log, or any other text.
            question: what you want to know from it.
            path: a file name that tells the text's language.
        """
        try:
            result = await (await self._warm.pruner()).prune(
                question, text, path=path or None, markers=NAMED, excerpts=True, **self._limits
            )
        except InvalidInputError:
            raise
        except LamrError as error:
            return _not_pruned(error) + text
        return result.text + _fault(result)


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


def _fault(result: PruneResult) -> str:
    """The last line of an answer that a fault left to the line model; nothing where none did."""
    end = "" if result.text.endswith("\n") else "\n"
    return f"{end}{NOTE} {haste(result)}ask again later for a better answer]\n" if haste(result) else ""


def _not_pruned(error: LamrError) -> str:
    return f"{NOTE} {NOT_PRUNED}: {type(error).__name__}: {visible(str(error))}]\n"


def _range(code: str, first: int, last: int, wanted: int | None = None) -> str:
    """Numbered lines, and a line that says so where there are more of those that were wanted (None: of all)."""
    lines = split_lines(code)
    missing = min(len(lines) if wanted is None else wanted, len(lines)) > last
    more = MORE_LINES.format(lines=last - first + 1) if missing else ""
    return _numbered("".join(lines[first - 1 : last]), first) + more


def _numbered(text: str, first: int) -> str:
    return "".join(f"{number}\t{_shortened(line)}" for number, line in enumerate(split_lines(text), first))


def _shortened(line: str) -> str:
    """A line as it is, or the beginning of a very long one."""
    if len(line) <= MOST_OF_A_LINE:
        return line
    end = "\n" if line.endswith("\n") else ""
    return f"{line[:MOST_OF_A_LINE]} {NOTE} {MOST_OF_A_LINE:,} of the line's {len(line):,} characters]{end}"
