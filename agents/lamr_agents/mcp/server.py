"""Tools of the Model Context Protocol: read a file for a question, pack many, expand a cut, outline, search, prune.

What a tool answers is text for a model, with the file's own line numbers. Errors that a caller can mend are answered as
such."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from lamr_base.choices import EffortName
from lamr_base.errors import own_errors, visible
from lamr_base.records import dataclass
from lamr_client import AsyncPruner, InvalidInputError, LamrError, PruneResult
from lamr_postprocess import BudgetError, SourceFile, split_lines
from lamr_postprocess.prune import FAILURES_SHOWN, UNSEEN_SHOWN
from lamr_postprocess.render import NAMED
from lamr_postprocess.trials import try_first
from lamr_repositories import PackResult, Using, WalkOptions
from lamr_repositories import pack as pack_of
from lamr_repositories.ignoring import literal
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Resolve
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, ListRootsResult, Tool
from pydantic import ValidationError

from lamr_agents.mcp.workspace import OutsideRootsError, Reach, Workspace, ask_for_roots
from lamr_agents.policy import Policy
from lamr_agents.skim import haste
from lamr_agents.skim import outline as outline_of
from lamr_agents.skimmed import FILE_ENDS, MORE_LINES, MORE_MATCHES
from lamr_agents.thin import NOT_PRUNED, NOTE

MOST_CHARACTERS = 60_000
"""Of one answer: hosts take 25,000 tokens, and a token of code has hardly ever fewer than 2.4 characters."""
LONGEST_PRUNED = MOST_CHARACTERS - 500  # characters of a text that was pruned, beside what is said below it
MOST_OF_A_LINE = 2_000  # characters of a line that is shown as it is in the file
MOST_TOKENS = 16_000  # largest pack; a larger one is longer than an answer may be
MOST_PATHS = 100
_PREFIX = "Value error, "  # pydantic's prefix of our own checks' messages
MOST_LINES = 800  # most lines of one answer of `expand`
MOST_UNPRUNED_LINES = 2000  # most lines shown of a file that couldn't be pruned
MOST_FAULTS = 10  # most argument errors that are named
Roots = Annotated[ListRootsResult, Resolve(ask_for_roots)]
_ONE_MESSAGE = (
    "a message is one request, notification or answer of JSON-RPC; send those of a batch one by one"
)
_INSTRUCTIONS = (
    "read_file shows the lines of a file that answer a question; comments mark what was cut, with line numbers and the "
    "names of the definitions in it. expand shows a range of lines as it is."
)


def create_server(
    reach: Reach,
    make_pruner: Callable[[], AsyncPruner],
    using: Using,
    effort: EffortName = "auto",
    within: float | None = None,
) -> MCPServer:
    """Make the server.

    Args:
        reach: the folders whose files may be read.
        make_pruner: gives the pruner; called in a thread, when a tool first needs it.
        using: which model ranks files of packs, and what keeps their indexes, as for `lamr_repositories.pack`.
        effort, within: of each pruning, see `lamr_client.Pruner.prune`."""
    warm = _Warm(make_pruner)

    @asynccontextmanager
    async def lifespan(_server: MCPServer) -> AsyncIterator[None]:
        try_first()
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
    tools = _Tools(reach, warm, using, {"effort": effort, "within": within})
    for tool in (tools.read_file, tools.pack, tools.expand, tools.outline, tools.search, tools.prune_text):
        # Else hosts get the text once more as a field of a structure, and some show the model that one, with its line
        # ends and quotes escaped. `getdoc` takes the source's indentation off what the model is told in every session.
        server.add_tool(tool, description=inspect.getdoc(tool), structured_output=False)
    return server


class _Server(MCPServer):
    """The protocol's server, with fewer words about arguments, and those about wrong ones for a model."""

    async def run_stdio_async(self) -> None:
        """Serve on standard input and output; what isn't one message of the protocol gets an error."""
        options = self._lowlevel_server.create_initialization_options()
        async with stdio_server() as (read, write):
            messages: Any = _messages(read, write)  # which is as much of a stream as the library uses
            await self._lowlevel_server.run(messages, write, options)

    async def list_tools(self) -> list[Tool]:
        """The tools without titles made from names, which a model would pay for in each request."""
        tools = await super().list_tools()
        return [tool.model_copy(update={"input_schema": _untitled(tool.input_schema)}) for tool in tools]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            faults = error.__cause__.errors(include_input=False, include_url=False)[:MOST_FAULTS]
            said = "; ".join(
                f"{'.'.join(map(str, each['loc']))}: {each['msg'].removeprefix(_PREFIX)}" for each in faults
            )
            raise ToolError(visible(f"the arguments of {name} can't be used: {said}")) from error


async def _messages(read: Any, write: Any) -> AsyncIterator[SessionMessage]:
    """A client's messages; what is none is answered here, since the library would say nothing."""
    async with read:
        async for each in read:
            if isinstance(each, SessionMessage):
                yield each
            else:
                await write.send(SessionMessage(_protocol_error(each)))


def _protocol_error(error: Exception) -> JSONRPCError:
    faults = error.errors() if isinstance(error, ValidationError) else ()
    code, said, message = INVALID_REQUEST, _ONE_MESSAGE, faults[-1]["input"] if faults else ""
    if faults and faults[0]["type"] == "json_invalid":
        code, said = PARSE_ERROR, faults[0]["msg"]
        with suppress(ValueError, RecursionError):  # a text with half a character can be read as well
            message = json.loads(message)
    asked = message.get("id") if isinstance(message, dict) and "method" in message else None
    sendable = type(asked) is int or (isinstance(asked, str) and asked.isprintable())
    return JSONRPCError(
        jsonrpc="2.0", id=asked if sendable else None, error=ErrorData(code=code, message=said)
    )


def _untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's schema without titles, of itself or of its arguments."""
    arguments = {
        name: {key: value for key, value in each.items() if key != "title"}
        for name, each in schema["properties"].items()
    }
    return {key: value for key, value in schema.items() if key != "title"} | {"properties": arguments}


def _telling(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool whose errors of lamr's are the tool's, which the model reads."""

    @wraps(tool)
    async def told(*arguments: Any, **options: Any) -> str:
        try:
            with own_errors():
                answer: str = await tool(*arguments, **options)
        except LamrError as error:
            raise ToolError(f"{type(error).__name__}: {visible(str(error), lines=True)}") from error
        return bounded(answer)

    return told


@dataclass(frozen=True)
class _Tools:
    """The tools; their docstrings and arguments are what a model is told of them, `roots` is asked of the client."""

    _reach: Reach
    _warm: _Warm
    _using: Using
    _limits: Mapping[str, Any]

    @_telling
    async def read_file(self, path: str, question: str, task: str = "", *, roots: Roots) -> str:
        """Show the lines of a file that answer a question, numbered; comments say what was cut.

        Args:
            path: the file.
            question: what you want to know from it.
            task: what the question serves, such as the issue you work on."""
        code = await asyncio.to_thread(self._reach.workspace(roots).read, path)
        result = await self._pruned(
            question,
            code,
            task=task,
            path=path,
            listed=False,
            line_numbers=True,
            min_tokens=Policy.least_tokens,
        )
        if isinstance(result, LamrError):
            return _not_pruned(result) + ranged(code, 1, MOST_UNPRUNED_LINES)
        return numbered(code, 1) if result.status == "passthrough" else result.text + _beside(result)

    @_telling
    async def pack(
        self,
        question: str,
        max_tokens: int = 8_000,
        paths: Sequence[str] = (),
        task: str = "",
        *,
        roots: Roots,
    ) -> str:
        """Show the lines of many files that answer a question, as read_file does of one.

        Args:
            question: what you want to know.
            max_tokens: of the answer.
            paths: files or folders to look in; everything without any.
            task: what the question serves."""
        workspace = self._reach.workspace(roots)
        using: Using = {**self._using, "task": task}
        return await asyncio.to_thread(packed, workspace, using, question, max_tokens, paths)

    @_telling
    async def expand(self, path: str, first: int, last: int, *, roots: Roots) -> str:
        """Show a range of a file's lines as they are, such as a range that was cut.

        Args:
            path: the file.
            first: the first line, from 1.
            last: the last line."""
        code = await asyncio.to_thread(self._reach.workspace(roots).read, path)
        if not 1 <= first <= last:
            raise ToolError(f"lines {first}-{last}: lines count from 1, and a range goes upwards")
        count = len(split_lines(code))
        end = FILE_ENDS.format(lines=count) if last > count else ""
        return ranged(code, first, min(last, first + MOST_LINES - 1), wanted=last) + end

    @_telling
    async def outline(self, path: str, *, roots: Roots) -> str:
        """Show the headers of a file's definitions, with comments for what is between them.

        Args:
            path: the file."""
        code = await asyncio.to_thread(self._reach.workspace(roots).read, path)
        return (await asyncio.to_thread(outline_of, SourceFile(code, path, listed=False)))[0]

    @_telling
    async def search(self, pattern: str, path: str = ".", *, roots: Roots) -> str:
        """Show the lines that match a regular expression, as path:line:text.

        Args:
            pattern: the regular expression.
            path: a file or folder; everything without one."""
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
            path: a file name that tells the text's language."""
        result = await self._pruned(question, text, path=path or None)
        if isinstance(result, LamrError):
            return _not_pruned(result) + text
        return result.text + _beside(result)

    async def _pruned(self, question: str, code: str, **options: Any) -> PruneResult | LamrError:
        """Prune a text, to what one answer holds; the error of what can't be pruned now."""
        options |= {"markers": NAMED, "excerpts": True, **self._limits}
        try:
            pruner = await self._warm.pruner()
            result = await pruner.prune(question, code, **options)
            if result.cuts and len(result.text) > LONGEST_PRUNED:
                fitting = int(0.9 * result.tokens_out * LONGEST_PRUNED / len(result.text))
                with suppress(BudgetError):  # what must stay is longer
                    return await pruner.prune(question, code, **options, max_tokens=fitting)
        except InvalidInputError:
            raise
        except LamrError as error:
            return error
        return result


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


def _beside(result: PruneResult) -> str:
    """The last line of an answer with a fault, failures left out, or lines that hide something; mostly nothing."""
    shown, failures = result.failures
    said = [FAILURES_SHOWN.format(shown=shown, all=failures)] if shown < failures else []
    said += [UNSEEN_SHOWN.format(unseen=result.unseen)] if result.unseen else []
    said += [f"{haste(result)}ask again later for a better answer"] if haste(result) else []
    end = "" if result.text.endswith("\n") else "\n"
    return f"{end}{NOTE} {'; '.join(said)}]\n" if said else ""


def _not_pruned(error: LamrError) -> str:
    return f"{NOTE} {NOT_PRUNED}: {type(error).__name__}: {visible(str(error))}]\n"


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


def ranged(code: str, first: int, last: int, wanted: int | None = None) -> str:
    """Numbered lines, and a line that says so where there are more of those that were wanted (None: of all)."""
    lines = split_lines(code)
    missing = min(len(lines) if wanted is None else wanted, len(lines)) > last
    more = MORE_LINES.format(lines=last - first + 1) if missing else ""
    return numbered("".join(lines[first - 1 : last]), first) + more


def numbered(text: str, first: int) -> str:
    return "".join(f"{number}\t{_shortened(line)}" for number, line in enumerate(split_lines(text), first))


def _shortened(line: str) -> str:
    if len(line) <= MOST_OF_A_LINE:
        return line
    end = "\n" if line.endswith("\n") else ""
    return f"{line[:MOST_OF_A_LINE]} {NOTE} {MOST_OF_A_LINE:,} of the line's {len(line):,} characters]{end}"


def packed(workspace: Workspace, using: Using, question: str, max_tokens: int, paths: Sequence[str]) -> str:
    """The lines of the files below some paths (none: all) that answer a question, and what a caller should know."""
    if not 1 <= max_tokens <= MOST_TOKENS:
        raise InvalidInputError(f"max_tokens: 1 to {MOST_TOKENS}", argument="max_tokens")
    root, inside = _root_of(workspace, paths)
    walk = WalkOptions(include=tuple(f"/{literal(path)}" for path in inside))
    shape: Using = {"walk": walk, "form": "markdown", "line_numbers": True}
    result = pack_of(root, question, max_tokens, **(using | shape))
    return result.text + "".join(f"{NOTE} {words}]\n" for words in _remarks(result, root, workspace))


def _root_of(workspace: Workspace, paths: Sequence[str]) -> tuple[Path, list[str]]:
    """The root that the paths lie in, and their names below it; the first root and none where it is meant whole."""
    if len(paths) > MOST_PATHS:
        raise InvalidInputError(f"paths: {MOST_PATHS} at the most; name folders", argument="paths")
    meant = [workspace.resolve(path) for path in paths]
    missing = next((path for path, place in zip(paths, meant, strict=True) if not place.exists()), None)
    if missing is not None:
        raise InvalidInputError(f"{missing:.200}: no such file or folder", argument="paths")
    for root in workspace.roots:
        if all(place == root or root in place.parents for place in meant):
            inside = [place.relative_to(root).as_posix() for place in meant]
            return root, [] if "." in inside else inside
    raise OutsideRootsError("paths: they lie in several roots; ask for one at a time", argument="paths")


def _remarks(result: PackResult, root: Path, workspace: Workspace) -> list[str]:
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in result.counts.left_out.items())
    remarks = list(map(visible, result.notes))
    if left_out and not result.files:
        remarks.append(f"files left out: {left_out}")
    if root != workspace.roots[0]:
        remarks.append(f"paths start from {visible(str(root))}")
    return remarks
