"""The logs of the hosts that are known, one table each. How tables are read is `events`' matter."""

import re

from lamr_base.expressions import expression

from lamr_agents.sessions.events import LogFormat, Rule

_USER = {"message.role": "user"}
_ASSISTANT = {"message.role": "assistant"}
_OBSERVATION = expression(
    r"^\s*(?:<exception>.*?</exception>\s*)?<returncode>[^<]*</returncode>\s*"
    r"(?:<output>\n?|(?=<warning>\n))(.*?)(?:</output>|(?<=</output_tail>)|\Z)",
    re.DOTALL,
)
_FENCED_COMMAND = expression(r"```(?:bash|sh|mswea_bash_command)\n(.*?)\n```", re.DOTALL)
_MESSAGE = {"payload.type": "message"}
BY_A_SCRIPT = expression("exec-")  # how the names of calls begin that a script of Codex's model makes
_COMMAND = {"payload.type": "item_completed", "payload.item.type": "CommandExecution"}
_CLEARS_RESULTS = expression(r"^clear_tool_uses")

CLAUDE_CODE = LogFormat(
    "claude-code",
    None,
    {"parentUuid": None, "sessionId": None},
    (
        Rule("user", "message.content[]", _USER, {"type": "text"}),
        Rule("thought", "message.content[]", _ASSISTANT, {"type": "thinking"}, text="thinking"),
        Rule("assistant", "message.content[]", _ASSISTANT, {"type": "text"}),
        Rule("call", "message.content[]", _ASSISTANT, {"type": "tool_use"}),
        Rule(
            "result", "message.content[]", _USER, {"type": "tool_result"}, text="content", call="tool_use_id"
        ),
        Rule("compacted", record={"type": "system", "subtype": "compact_boundary"}, text="timestamp"),
        Rule(
            "cleared",
            "microcompactMetadata.compactedToolIds[]",
            {"subtype": "microcompact_boundary"},
            text="",
            call="",
        ),
        Rule("cleared", "message.context_management.applied_edits[]", text="type", pattern=_CLEARS_RESULTS),
    ),
    agents=("agentId", "isSidechain"),
    parents=("uuid", "parentUuid"),
)
"""Until 2.1.233 a session's file holds its sub-agents' lines as well; since then each has a file of its own."""
CODEX = LogFormat(
    "codex",
    None,
    {"payload": None, "timestamp": None},
    (
        Rule("user", "payload.content[]", {**_MESSAGE, "payload.role": "user"}),
        Rule("assistant", "payload.content[]", {**_MESSAGE, "payload.role": "assistant"}),
        Rule("thought", "payload.summary[]", {"payload.type": "reasoning"}),
        Rule("call", "payload", {"payload.type": "function_call"}, call="call_id", arguments="arguments"),
        Rule("call", "payload", {"payload.type": "custom_tool_call"}, call="call_id"),
        Rule("result", "payload", {"payload.type": "function_call_output"}, text="output", call="call_id"),
        Rule("result", "payload", {"payload.type": "custom_tool_call_output"}, text="output", call="call_id"),
        Rule("call", "payload.item", _COMMAND, arguments="", named=BY_A_SCRIPT),
        Rule("result", "payload.item", _COMMAND, text="aggregated_output", named=BY_A_SCRIPT),
        Rule("compacted", record={"type": "compacted"}, text="timestamp"),
    ),
    by_a_script=BY_A_SCRIPT,
)
"""In code mode the model's calls are scripts that run commands. The log has these between a script and its result."""
ENTIRE = LogFormat(
    "entire",
    None,
    {"cli_version": None, "agent": None, "ts": None},
    (
        Rule("user", "content[]", {"type": "user"}),
        Rule("assistant", "content[]", {"type": "assistant"}, {"type": "text"}),
        Rule("call", "content[]", {"type": "assistant"}, {"type": "tool_use"}),
        Rule("result", "content[]", {"type": "assistant"}, {"type": "tool_use"}, text="result.output"),
    ),
)
COPILOT_CLI = LogFormat(
    "copilot-cli",
    None,
    {"type": "user.message", "data": None},
    (
        Rule("user", "data", {"type": "user.message"}, text="content"),
        Rule("thought", "data", {"type": "assistant.message"}, text="reasoningText"),
        Rule("assistant", "data", {"type": "assistant.message"}, text="content"),
        Rule(
            "call",
            "data.toolRequests[]",
            {"type": "assistant.message"},
            call="toolCallId",
            arguments="arguments",
        ),
        Rule("result", "data", {"type": "tool.execution_complete"}, text="result.content", call="toolCallId"),
        Rule("compacted", record={"type": "session.compaction_complete"}, text="timestamp"),
    ),
    agents=("data.parentToolCallId", "agentId"),
)
PI = LogFormat(
    "pi",
    None,
    {"type": "message", "message.role": None},
    (
        Rule("user", "message.content[]", _USER, {"type": "text"}),
        Rule("thought", "message.content[]", _ASSISTANT, {"type": "thinking"}, text="thinking"),
        Rule("assistant", "message.content[]", _ASSISTANT, {"type": "text"}),
        Rule("call", "message.content[]", _ASSISTANT, {"type": "toolCall"}, arguments="arguments"),
        Rule("result", "message", {"message.role": "toolResult"}, text="content", call="toolCallId"),
        Rule("compacted", record={"type": "compaction"}, text="timestamp"),
    ),
)
OPENCODE = LogFormat(
    "opencode",
    "messages",
    {"info.role": None, "parts": None},
    (
        Rule("user", "parts[]", {"info.role": "user"}, {"type": "text"}, without=("synthetic",)),
        Rule("thought", "parts[]", {"info.role": "assistant"}, {"type": "reasoning"}),
        Rule("assistant", "parts[]", {"info.role": "assistant"}, {"type": "text"}),
        Rule("call", "parts[]", part={"type": "tool"}, call="callID", tool="tool", arguments="state.input"),
        Rule("result", "parts[]", part={"type": "tool"}, call="callID", text="state.output"),
        Rule(
            "cleared",
            "parts[]",
            part={"type": "tool", "state.time.compacted": None},
            call="callID",
            text="callID",
        ),
        Rule("compacted", "parts[]", part={"type": "compaction"}, text="type"),
        Rule("compacted", "info", {"info.role": "assistant", "info.summary": None}, text="time.created"),
        Rule("user", record={"type": "user"}),
        Rule("thought", "content[]", {"type": "assistant"}, {"type": "reasoning"}),
        Rule("assistant", "content[]", {"type": "assistant"}, {"type": "text"}),
        Rule("call", "content[]", {"type": "assistant"}, {"type": "tool"}, arguments="state.input"),
        Rule("result", "content[]", {"type": "assistant"}, {"type": "tool"}, text="state.content"),
        Rule("compacted", record={"type": "compaction", "status": "completed"}, text="time.created"),
    ),
)
"""The first rules read what OpenCode 1 exports and gives its plugins, the others what OpenCode 2 gives them."""
_GEMINI = (
    Rule("user", record={"type": "user"}, text="content"),
    Rule("assistant", record={"type": "gemini"}, text="content"),
    Rule("call", "toolCalls[]", {"type": "gemini"}, arguments="args"),
    Rule("result", "toolCalls[]", {"type": "gemini"}, text="result[].functionResponse.response.output"),
)
GEMINI_CLI = LogFormat("gemini-cli", "messages", {"type": None, "content": None, "timestamp": None}, _GEMINI)
GEMINI_CLI_LINES = LogFormat(
    "gemini-cli", None, {"type": "gemini", "content": None, "tokens": None}, _GEMINI, renewed="id"
)
"""Gemini CLI since it keeps a line a record, and writes a record again when the results of its tools are there."""
OPENHANDS = LogFormat(
    "openhands",
    "history",
    {"source": None, "timestamp": None},
    (
        Rule("user", record={"source": "user", "action": "message"}, text="args.content"),
        Rule("assistant", record={"source": "agent", "action": "message"}, text="args.content"),
        Rule("assistant", record={"source": "agent"}, text="args.thought"),
        Rule(
            "call",
            record={"action": None, "tool_call_metadata.function_name": None},
            call="tool_call_metadata.tool_call_id",
            tool="tool_call_metadata.function_name",
            arguments="tool_call_metadata.model_response.choices[].message.tool_calls[].function.arguments",
        ),
        Rule("result", record={"observation": None}, text="content", call="tool_call_metadata.tool_call_id"),
    ),
)
OPENHANDS_SDK = LogFormat(
    "openhands-sdk",
    None,
    {"kind": "MessageEvent", "llm_message": None},
    (
        Rule("user", record={"kind": "MessageEvent", "source": "user"}, text="llm_message.content"),
        Rule("assistant", record={"kind": "MessageEvent", "source": "agent"}, text="llm_message.content"),
        Rule("thought", record={"kind": "ActionEvent"}, text="reasoning_content"),
        Rule("assistant", record={"kind": "ActionEvent"}, text="thought"),
        Rule(
            "call",
            record={"kind": "ActionEvent"},
            call="tool_call_id",
            tool="tool_name",
            arguments="tool_call.arguments",
        ),
        Rule("result", record={"kind": "ObservationEvent"}, text="observation.content", call="tool_call_id"),
        Rule("compacted", record={"kind": "Condensation"}, text="timestamp"),
    ),
)
"""OpenHands since its SDK, which keeps a file an event; `about` joins them."""
_CHAT = (
    Rule("thought", record={"role": "assistant"}, text="reasoning_content"),
    Rule("assistant", record={"role": "assistant"}, text="content"),
    Rule("call", "tool_calls[]", {"role": "assistant"}, tool="function.name", arguments="function.arguments"),
)
SWE_AGENT = LogFormat(
    "swe-agent",
    "history",
    {"role": None, "message_type": None},
    (
        Rule("user", record={"role": "user"}, text="content"),
        *_CHAT,
        Rule("result", record={"role": "tool"}, text="content", call="tool_call_ids[]"),
    ),
)
MINI_SWE_AGENT = LogFormat(
    "mini-swe-agent",
    "messages",
    {"role": None, "content": None},
    (
        Rule("result", record={"role": "user"}, text="content", pattern=_OBSERVATION),
        Rule("user", record={"role": "user"}, text="content", unless=_OBSERVATION),
        *_CHAT,
        Rule("call", record={"role": "assistant"}, text="content", pattern=_FENCED_COMMAND),
        Rule("result", record={"role": "tool"}, text="content", call="tool_call_id"),
    ),
)
FORMATS = (
    CLAUDE_CODE,
    CODEX,
    ENTIRE,
    COPILOT_CLI,
    PI,
    OPENCODE,
    GEMINI_CLI,
    GEMINI_CLI_LINES,
    OPENHANDS,
    OPENHANDS_SDK,
    SWE_AGENT,
    MINI_SWE_AGENT,
)
"""In the order in which a log is tried: a format whose mark others' records could have comes last."""
