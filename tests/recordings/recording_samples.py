"""Small recordings of our own making, one for each format, and ways to put them on disk."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holdfast.events import AssistantReplied, Recording, SystemSet, ToolReturned, UserSaid
from holdfast.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from recordings.document_samples import GEMINI, MINI_SWE_AGENT, OPENCODE, PIXEL


def write_lines(path: Path, values: Iterable[Any], end: str = "\n") -> Path:
    text = "\n".join(json.dumps(value, ensure_ascii=False) for value in values) + end
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def messages_of(recording: Recording, chain: str = "") -> list[Message]:
    """The messages a model would have seen, in file order."""
    found: list[Message] = []
    for recorded in recording.events:
        event = recorded.event
        if recorded.chain != chain:
            continue
        if isinstance(event, SystemSet):
            found.append(SystemMessage(event.text))
        elif isinstance(event, UserSaid):
            found.append(UserMessage(event.parts))
        elif isinstance(event, AssistantReplied):
            found.append(AssistantMessage(event.parts))
        elif isinstance(event, ToolReturned):
            found.append(ToolMessage(event.call_id, event.name, event.parts, event.error))
    return found


def events_of(recording: Recording, kind: Any) -> list[Any]:
    return [recorded.event for recorded in recording.events if isinstance(recorded.event, kind)]


def calls_of(recording: Recording) -> list[ToolCall]:
    replies = events_of(recording, AssistantReplied)
    return [part for reply in replies for part in reply.parts if isinstance(part, ToolCall)]


def texts_on_path(recording: Recording) -> list[str]:
    """The first texts from the start to the newest entry, following `after`."""
    newest: dict[str, int] = {}
    parents: list[int | None] = []
    for index, recorded in enumerate(recording.events):
        parents.append(newest.get(recorded.chain) if recorded.after is None else recorded.after)
        newest[recorded.chain] = index
    texts: list[str] = []
    at: int | None = newest[""]
    while at is not None:
        parts = getattr(recording.events[at].event, "parts", ())
        texts += [parts[0].text] if parts and hasattr(parts[0], "text") else []
        at = parents[at]
    return texts[::-1]


NEUTRAL = {
    "id": "demo/one",
    "source": "demo",
    "system": "Be brief.",
    "tools": None,
    "messages": [
        {"role": "user", "content": "Fix the parser"},
        {
            "role": "assistant",
            "content": "Reading.",
            "reasoning": "look first",
            "tool_calls": [
                {"id": "c1", "name": "Read", "arguments": {"path": "p.py"}},
                {"id": "c2", "name": "Grep", "arguments": {"pattern": "def"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "Read", "content": "def p(): ..."},
        {"role": "tool", "tool_call_id": "c2", "name": "Grep", "content": "p.py:1"},
        {"role": "user", "content": "This session is being continued from a previous conversation. Summary"},
        {"role": "assistant", "content": "Done."},
    ],
    "meta": {
        "repo": "demo/demo",
        "models": ["claude"],
        "usage": [[1, 100, 20, 60]],
        "ts": [f"2026-01-01T00:00:0{n}Z" for n in range(6)],
        "events": [
            {"type": "compact_boundary", "at": 4, "trigger": "auto", "pre_tokens": 9000},
            {"type": "compact_summary", "at": 4, "chars": 69},
        ],
    },
}

OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {
        "type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
        {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{broken"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a pixel"},
    {"role": "tool", "tool_call_id": "c2", "content": "bad arguments"},
    {"role": "assistant", "content": "A pixel."},
]  # fmt: skip

RESPONSES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}]},
    {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "opaque"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "a pixel"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A pixel."}]},
]

GEMINI_CONTENTS = [
    {"role": "user", "parts": [{"text": "What is this?"}, {
        "inlineData": {"mimeType": "image/png", "data": PIXEL}}]},
    {"role": "model", "parts": [
        {"text": "Looking."},
        {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "c2ln"}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "a pixel"}}}]},
    {"role": "model", "parts": [{"text": "A pixel."}]},
]  # fmt: skip

ANTHROPIC = {
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "What is this?"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig=="},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [
                {"type": "text", "text": "here"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]},
            {"type": "text", "text": "and be quick"}]},
        {"role": "assistant", "content": "A pixel."},
    ],
}  # fmt: skip


def cc_line(kind: str, own: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    """A line of a Claude Code session."""
    message = {"role": kind, "content": content, **more.pop("message", {})}
    head = {"type": kind, "uuid": own, "parentUuid": parent, "sessionId": "s-1", "isSidechain": False}
    return {**head, "timestamp": "2026-01-01T00:00:00Z", "message": message, **more}


def cc_call(call: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def cc_result(call: str, said: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": said}]


CLAUDE_CODE = [
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
    cc_line("user", "u1", None, "Fix the parser"),
    cc_line("assistant", "a1", "u1", [{"type": "thinking", "thinking": "hm", "signature": "s"}],
            message={"id": "m1", "model": "claude", "usage": {"input_tokens": 5, "output_tokens": 1}}),
    cc_line("assistant", "a2", "a1", [cc_call("t1", path="a.py")],
            message={"id": "m1", "usage": {"input_tokens": 5, "output_tokens": 2}}),
    cc_line("user", "r1", "a2", cc_result("t1", "A"), toolUseResult={"file": "a.py"}),
    cc_line("assistant", "a3", "a2", [cc_call("t2", path="b.py")],
            message={"id": "m1", "stop_reason": "tool_use",
                     "usage": {"input_tokens": 5, "cache_read_input_tokens": 90,
                               "cache_creation_input_tokens": 5, "output_tokens": 30}}),
    cc_line("user", "r2", "a3", cc_result("t2", "B")),
    cc_line("assistant", "a4", "r2", [{"type": "text", "text": "Done."}], message={"id": "m2"}),
    {"type": "summary", "summary": "Parser fixed", "leafUuid": "a4"},
]  # fmt: skip


def codex_line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def codex_item(kind: str, **payload: Any) -> dict[str, Any]:
    return codex_line("response_item", type=kind, **payload)


def codex_said(role: str, said: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_item("message", role=role, content=[{"type": kind, "text": said}])


def codex_tokens(total: int, prompt: int) -> dict[str, Any]:
    last = {"input_tokens": prompt, "cached_input_tokens": 7, "output_tokens": 3}
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    return codex_line("event_msg", type="token_count", info=info)


CODEX = [
    codex_line("session_meta", id="x-1", cwd="/code", base_instructions={"text": "You are Codex."}),
    codex_said("developer", "<permissions instructions>be careful</permissions instructions>"),
    codex_said("user", "<environment_context><cwd>/code</cwd></environment_context>"),
    codex_line("turn_context", model="gpt-5", cwd="/code"),
    codex_said("user", "Fix the parser"),
    codex_line("event_msg", type="user_message", message="Fix the parser"),
    codex_item("reasoning", summary=[{"type": "summary_text", "text": "look"}], encrypted_content="zzz"),
    codex_said("assistant", "Reading."),
    codex_item("function_call", name="exec_command", call_id="c1", arguments='{"cmd": "ls"}'),
    codex_item("custom_tool_call", name="apply_patch", call_id="c2", input="*** Begin Patch"),
    codex_item("function_call_output", call_id="c1", output="p.py"),
    codex_item("custom_tool_call_output", call_id="c2", output={"content": "no", "success": False}),
    codex_tokens(110, 100),
    codex_item("local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls"]}),
    codex_item("function_call_output", call_id="c3", output=[
        {"type": "input_text", "text": "shot"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}]),
    codex_item("web_search_call", status="completed", action={"query": "parser"}),
    codex_tokens(110, 100),
    codex_said("assistant", "Done."),
    codex_tokens(230, 120),
    codex_line("compacted", message="They fixed the parser."),
    codex_line("event_msg", type="turn_aborted", reason="interrupted"),
]  # fmt: skip


def copilot_line(kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
    line = {"type": kind, "data": data, "id": "i", "timestamp": "2026-01-01T00:00:00Z", "parentId": None}
    return {**line, "agentId": agent} if agent else line


COPILOT = [
    copilot_line("session.start", sessionId="p-1", copilotVersion="1.0", context={"cwd": "/code"}),
    copilot_line("session.model_change", newModel="claude"),
    copilot_line("system.message", role="system", content="You are Copilot."),
    copilot_line("session.binary_asset", assetId="sha:1", mimeType="image/png", data=PIXEL),
    copilot_line("user.message", content="What is this?",
                 transformedContent="<current_datetime>now</current_datetime>\n\nWhat is this?",
                 attachments=[{"type": "blob", "assetId": "sha:1", "mimeType": "image/png"},
                              {"type": "file", "path": "/a"}]),
    copilot_line("assistant.message", content="", model="claude", reasoningText="hm", outputTokens=4,
                 toolRequests=[{"toolCallId": "c1", "name": "task", "arguments": {"prompt": "look"}},
                               {"toolCallId": "c2", "name": "view", "arguments": {"path": "a"}}]),
    copilot_line("subagent.started", "agent-1", toolCallId="c1", agentName="explore"),
    copilot_line("user.message", "agent-1", content="look"),
    copilot_line("assistant.message", "agent-1", content="seen"),
    copilot_line("tool.execution_complete", toolCallId="c2", success=False,
                 error={"message": "Path does not exist"}),
    copilot_line("tool.execution_complete", toolCallId="c1", success=True,
                 result={"content": "seen", "binaryResultsForLlm": [
                     {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}),
    copilot_line("session.compaction_complete", preCompactionTokens=900, summaryContent="They looked."),
    copilot_line("system.message", role="system", content="You are Copilot."),
    copilot_line("assistant.message", content="A pixel."),
    copilot_line("abort", reason="user_initiated"),
    copilot_line("hook.start", hookType="stop"),
]  # fmt: skip


def pi_line(kind: str, own: str = "", parent: str | None = None, **more: Any) -> dict[str, Any]:
    tree = {"id": own, "parentId": parent} if own else {}
    return {"type": kind, **tree, "timestamp": "2026-01-01T00:00:00Z", **more}


def pi_said(own: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return pi_line("message", own, parent, message={"role": role, "content": content, **more})


PI = [
    {"type": "session", "id": "pi-1", "version": 3, "cwd": "/code", "provider": "anthropic", "modelId": "claude"},
    pi_said("e1", None, "user", [{"type": "text", "text": "Fix the parser"}]),
    pi_said("e2", "e1", "assistant", [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "text", "text": "Reading."},
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "p.py"}}],
        api="anthropic-messages", model="claude", stopReason="toolUse",
        usage={"input": 5, "output": 6, "cacheRead": 7, "cacheWrite": 8}),
    pi_said("e3", "e2", "toolResult", [
        {"type": "text", "text": "def p"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}],
        toolCallId="c1", toolName="read", isError=False),
    pi_said("e4", "e3", "assistant", [], stopReason="aborted", errorMessage="Request was aborted"),
    pi_line("compaction", "e5", "e4", summary="They read.", tokensBefore=900, firstKeptEntryId="e2"),
    pi_said("e6", "e5", "user", "go on"),
    pi_said("e7", "e6", "assistant", [{"type": "text", "text": "Done."}], stopReason="stop"),
    pi_line("label", "e8", "e7", label="here"),
]  # fmt: skip

SWE_AGENT = {
    "environment": "main",
    "info": {"exit_status": "submitted", "submission": "diff " * 200},
    "history": [
        {"role": "system", "content": "SETTING: shell", "agent": "main"},
        {"role": "user", "content": "a demonstration", "is_demo": True},
        {"role": "user", "content": "Fix the issue", "agent": "main"},
        {"role": "assistant", "content": "list\n```\nls -F\n```", "thought": "list", "action": "ls -F\n"},
        {"role": "user", "content": "setup.py", "agent": "main"},
        {"role": "assistant", "content": "no action at all", "thought": "no action at all", "action": ""},
        {"role": "user", "content": "Your output was not formatted correctly."},
        {"role": "assistant", "content": "open it", "thought": "open it", "action": "open 'setup.py'",
         "tool_calls": [{"id": "k1", "type": "function",
                         "function": {"name": "open", "arguments": '{"path":"setup.py"}'}}]},
        {"role": "tool", "content": "[File: setup.py]", "tool_call_ids": ["k1"]},
    ],
}  # fmt: skip

FILES: dict[str, tuple[str, list[Any]]] = {
    "neutral": ("a.jsonl", [NEUTRAL]),
    "openai": ("a.json", [OPENAI]),
    "responses": ("a.json", [RESPONSES]),
    "gemini-contents": ("a.json", [GEMINI_CONTENTS]),
    "anthropic": ("a.json", [ANTHROPIC]),
    "claude-code": ("a.jsonl", CLAUDE_CODE),
    "codex": ("a.jsonl", CODEX),
    "copilot": ("a.jsonl", COPILOT),
    "pi": ("a.jsonl", PI),
    "swe-agent": ("a.traj", [SWE_AGENT]),
    "gemini": ("a.json", [GEMINI]),
    "opencode": ("a.json", [OPENCODE]),
    "mini-swe-agent": ("a.traj.json", [MINI_SWE_AGENT]),
}
