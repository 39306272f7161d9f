"""A host's call with a result of a tool, as far as hosts don't differ, and how a host reads and answers its own."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lamr_base.records import dataclass

from lamr_agents.intent import Intent, intent_of, known_of
from lamr_agents.policy import NO_LIMITS, ShownLimits, ToolResult
from lamr_agents.sessions import Heard
from lamr_agents.sessions.notices import gaps, stated
from lamr_agents.sessions.shown import framed
from lamr_agents.sessions.tools import QUESTION, shown_by
from lamr_agents.skim import asked_for
from lamr_agents.skimmed import Skim
from lamr_agents.thin import BESIDE
from lamr_agents.transcript import text_of


@dataclass(frozen=True)
class Call:
    """A call whose result may be pruned."""

    session: str  # the host's name for it; of a sub-agent, followed by `/` and the agent's
    tool: str  # the tool's name
    asked: ToolResult  # what was asked for and came back
    intent: Intent  # what the agent is after
    response: Mapping[str, Any]  # the tool's output as the host gave it
    since: float = 0.0  # when the context was last compacted, in seconds since 1970; 0 for never
    seen: bool = False  # whether the transcript says that the agent saw the file before
    known: Mapping[int, str] = field(default_factory=dict)  # lines of the file in the transcript, by number


@dataclass(frozen=True)
class SampleRead:
    """A read of a whole file."""

    path: str  # the file
    text: str  # its text
    question: str  # what is looked for
    session: str  # the session's name
    folder: str  # a folder in which the host may keep what it needs

    @property
    def asked(self) -> dict[str, str]:
        """The tool's input, by a name of the path that any host may have."""
        return {"file_path": self.path, QUESTION: self.question}

    @property
    def printing(self) -> dict[str, str]:
        """The input of a shell that prints the file."""
        return {"command": shlex.join(["cat", self.path]), QUESTION: self.question}


@dataclass(frozen=True)
class HookHost:
    """How a host's calls are read and answered."""

    name: str  # the host's, as in `hosts.HOSTS`; calls name it
    # a call, from the host's payload and the transcript that it names; None where the call is none of a tool that
    # reads a file
    read_call: Callable[[Mapping[str, Any]], Call | None]
    # what is printed for a call and what is shown of it; None where the result stays as it is without a word
    answer: Callable[[Call, Skim], Mapping[str, Any] | None]
    # a call for a whole file as the host would make it, but for its words, for `lamr agents test`
    sample: Callable[[SampleRead], Mapping[str, Any]]
    # the JSON that tells the agent something beside a result that stays; `%s` stands for the words
    beside: str = BESIDE
    # the environment variable that names the host's folder to the hook; empty where calls name files
    variable: str = ""
    passed: str = ""  # what stands in a call that passes at once; empty for nothing
    # whether a call's transcript or messages are what the model is given, without branches that were left and results
    # that were cleared; if not, no result counts as being in the context
    tells_context: bool = False


MOST_PATH = 4096  # characters of a path, and of the names of several files; what is longer names none


@dataclass(frozen=True)
class HostCall:
    """A tool's call as the host names it."""

    session: str  # the host's name for it
    tool: str  # the tool's name
    given: Mapping[str, Any]  # its input
    response: Mapping[str, Any]  # its output as the host gave it
    folder: Path  # the current one of the session


@dataclass(frozen=True)
class HostOutput:
    """What a tool's call printed."""

    text: str  # the text, with what the host puts around the code
    failed: Callable[[str], Any]  # whether the tool reports an error, from what stands after the code
    bare: bool = False  # whether the host puts nothing around the code
    uncut: str = ""  # why the text passes; empty where the policy decides
    limits: ShownLimits = NO_LIMITS  # how much the host shows of it


def call_of(
    call: HostCall,
    output: HostOutput,
    hear: Callable[[], Heard],
    placed: Callable[[Path, str], Path] = Path.joinpath,
) -> Call | None:
    """A call whose result may be pruned; None where it shows no code of a file."""
    seen = shown_by(call.tool, call.given)
    if seen is None:
        return None
    read, name = seen
    if len(read.path) > MOST_PATH or len(name) > MOST_PATH:
        return None
    before, code, after = ("", output.text, "") if output.bare else framed(output.text)
    heard = hear()
    intent = intent_of(known_of(heard, call.given, read.path))
    path = str(placed(call.folder, read.path)) if read.path else ""
    said = stated(before, after)
    asked = asked_for(
        code,
        replace(read, path=path),
        intent=intent,
        name=name,
        stated=said,
        whole=text_of(path) if (said.tail or gaps(code)) and not name else "",
        limits=output.limits.inside(before, after),
    )
    since, before_it = seconds_of(heard.compacted), heard.seen.has(name or path)
    known = {} if name else heard.seen.lines_of(read.path)
    asked = replace(asked, failed=bool(output.failed(after)), uncut=output.uncut)
    return Call(call.session, call.tool, asked, intent, call.response, since, before_it, known)


def seconds_of(when: str) -> float:
    """A time of a host's log, as it is written or in milliseconds, in seconds since 1970; 0 for none."""
    if when.isdecimal():
        return int(when[:15]) / 1000
    try:
        return datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0
