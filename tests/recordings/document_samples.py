"""Small recordings of our own making, of agents that keep a session as one document or in a database."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def gemini_call(call: str, name: str, output: str, status: str = "success", **args: Any) -> dict[str, Any]:
    key = "output" if status == "success" else "error"
    answer = {"functionResponse": {"id": call, "name": name, "response": {key: output}}}
    head = {"id": call, "name": name, "args": args, "status": status, "timestamp": "2026-01-01T00:00:03Z"}
    return {**head, "result": [answer], "resultDisplay": output, "displayName": name}


def gemini_said(own: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": own, "timestamp": "2026-01-01T00:00:02Z", "type": kind, "content": content, **more}


GEMINI_HEAD = {"sessionId": "g-1", "projectHash": "abc", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}
GEMINI_MESSAGES = [
    gemini_said("m1", "user", [{"text": "What is this?"},
                               {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]),
    gemini_said("m2", "gemini", "Looking.", model="gemini-3",
                thoughts=[{"subject": "Look", "description": "I look at it.", "timestamp": "2026-01-01T00:00:01Z"}],
                tokens={"input": 100, "output": 5, "cached": 60, "thoughts": 7, "tool": 0, "total": 112},
                toolCalls=[gemini_call("c1", "read_file", "a pixel", file_path="a.png"),
                           gemini_call("c2", "run_shell_command", "[Cancelled]", "cancelled", command="ls")]),
    gemini_said("m3", "info", "Request cancelled."),
    gemini_said("m4", "error", "quota exceeded"),
    gemini_said("m5", "gemini", "A pixel.", model="gemini-3"),
]  # fmt: skip
GEMINI = {**GEMINI_HEAD, "messages": GEMINI_MESSAGES}

MINI_SWE_AGENT = {
    "info": {
        "exit_status": "Submitted", "submission": "diff", "mini_version": "1.15.0",
        "model_stats": {"instance_cost": 0.25, "api_calls": 3},
        "config": {"model": {"model_name": "google/gemini"}, "environment": {"cwd": "/testbed"}},
    },
    "messages": [
        {"role": "system", "content": "One block of bash a turn."},
        {"role": "user", "content": "Fix the issue"},
        {"role": "assistant", "content": "THOUGHT: list\n\n```bash\nls -F\n```", "extra": {
            "cost": 0.1, "response": {"model": "gemini-3", "created": 1_763_506_828, "usage": {
                "prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}}}}},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\nsetup.py\n</output>"},
        {"role": "assistant", "content": "```bash\na\n```\nor\n```bash\nb\n```", "extra": {}},
        {"role": "user", "content": "Please always provide EXACTLY ONE action."},
        {"role": "assistant", "content": "THOUGHT: submit\n\n```bash\nsubmit\n```", "extra": {}},
        {"role": "user", "content": "diff --git a/setup.py",
         "extra": {"returncode": 1, "timestamp": 1_763_506_900.5}},
    ],
    "trajectory_format": "mini-swe-agent-1",
    "instance_id": "demo__demo-1",
}  # fmt: skip


def opencode_said(own: str, role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    head = {"id": own, "sessionID": "ses_1", "role": role, "time": {"created": 1_767_225_600_000}}
    return {
        "info": {**head, **info},
        "parts": [{"id": f"prt_{own}_{n}", **part} for n, part in enumerate(parts)],
    }


def opencode_tool(
    call: str, tool: str, output: str, status: str = "completed", **state: Any
) -> dict[str, Any]:
    key = "output" if status == "completed" else "error"
    time = {"start": 1_767_225_601_000, "end": 1_767_225_602_000}
    return {"type": "tool", "callID": call, "tool": tool,
            "state": {"status": status, key: output, "time": time, **state}}  # fmt: skip


def opencode_finish(prompt: int, reason: str = "tool-calls") -> dict[str, Any]:
    tokens = {"input": prompt, "output": 5, "reasoning": 7, "cache": {"read": 60, "write": 3}}
    return {"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0}


PICTURE = {"type": "file", "mime": "image/png", "url": f"data:image/png;base64,{PIXEL}"}
OPENCODE = {
    "info": {"id": "ses_1", "directory": "/code", "title": "A pixel", "version": "1.14.30"},
    "messages": [
        opencode_said("msg_1", "user", {"type": "text", "text": "What is this?"}, PICTURE,
                      {"type": "text", "text": "<file>a</file>", "synthetic": True}, {"type": "agent", "name": "x"},
                      system="You are opencode."),
        opencode_said("msg_2", "assistant", {"type": "step-start"},
                      {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "sig"}}},
                      {"type": "text", "text": "Looking."},
                      opencode_tool("c1", "task", "seen", input={"prompt": "look", "description": "Look",
                                                                 "subagent_type": "explore"},
                                    metadata={"sessionId": "ses_2"}),
                      opencode_tool("c2", "read", "no such file", "error", input={"filePath": "/a"}),
                      opencode_finish(37), {"type": "step-start"},
                      opencode_tool("c3", "read", "a pixel", input={"filePath": "/b"}, attachments=[PICTURE]),
                      opencode_finish(40), {"type": "patch", "files": []},
                      modelID="claude", providerID="anthropic", parentID="msg_1"),
        opencode_said("msg_3", "user", {"type": "compaction", "auto": True}),
        opencode_said("msg_4", "assistant", {"type": "text", "text": "They looked."}, summary=True,
                      parentID="msg_3", modelID="claude", tokens={"input": 900, "output": 9}),
        opencode_said("msg_5", "assistant", {"type": "text", "text": "A pixel."}, modelID="claude", finish="stop",
                      error={"name": "MessageAbortedError", "data": {"message": "aborted"}}),
    ],
}  # fmt: skip
OPENCODE_CHILD = {
    "info": {"id": "ses_2", "parentID": "ses_1", "directory": "/code", "title": "Look", "version": "1.14.30"},
    "messages": [
        opencode_said("msg_6", "user", {"type": "text", "text": "look"}),
        opencode_said("msg_7", "assistant", {"type": "text", "text": "seen"}, modelID="haiku"),
    ],
}


def write_opencode_database(path: Path, *sessions: dict[str, Any]) -> Path:
    """A database with the tables that opencode keeps sessions in, as far as they are read."""
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,"
            " title TEXT, version TEXT, revert TEXT, time_created INTEGER);"
            "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
            "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);"
        )
        for number, session in enumerate(sessions):
            info = session["info"]
            row = (info["id"], "p", info.get("parentID"), info["directory"], info["title"], info["version"])
            revert = json.dumps(info["revert"]) if "revert" in info else None
            database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, revert, number))
            for at, message in enumerate(session["messages"]):
                own = message["info"]["id"]
                data = json.dumps({key: value for key, value in message["info"].items() if key != "id"})
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (own, info["id"], at, data))
                for part in message["parts"]:
                    row = (part["id"], own, info["id"], json.dumps(part))
                    database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    return path
