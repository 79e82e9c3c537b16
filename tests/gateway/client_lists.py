"""Requests of clients in all four formats, for tests of the gateway."""

import json
from typing import Any

import httpx2

PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3.8-flash:generateContent",
}
LISTS = {"anthropic": "messages", "openai": "messages", "responses": "input", "gemini": "contents"}
FORMATS = tuple(PATHS)
RUN = {"command": "python worker.py"}


def long_text(lines: int = 900, *, name: str = "worker") -> str:
    """Output of a command, every line of it different."""
    rows = [
        f"2026-11-18T10:{n // 60:02}:{n % 60:02} {name}-{n % 7} INFO handled item {n * 7919}"
        for n in range(lines)
    ]
    rows[lines // 2] = f"2026-11-18T10:59:59 {name}-3 ERROR: the ledger of item 4711 does not add up"
    return "\n".join(rows)


def step(
    format_: str, number: int, tool: str, arguments: dict[str, Any], result: str
) -> list[dict[str, Any]]:
    """A reply with one call, and its result."""
    id_ = f"call_{number}"
    match format_:
        case "anthropic":
            call = {"type": "tool_use", "id": id_, "name": tool, "input": arguments}
            answer = {"type": "tool_result", "tool_use_id": id_, "content": result}
            return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
        case "openai":
            function = {"name": tool, "arguments": json.dumps(arguments)}
            call = {"id": id_, "type": "function", "function": function}
            return [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": id_, "content": result},
            ]
        case "responses":
            call = {"type": "function_call", "call_id": id_, "name": tool, "arguments": json.dumps(arguments)}
            return [call, {"type": "function_call_output", "call_id": id_, "output": result}]
        case _:
            call = {"functionCall": {"name": tool, "args": arguments}}
            answer = {"functionResponse": {"name": tool, "response": {"output": result}}}
            return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]


def said(format_: str, role: str, text: str) -> dict[str, Any]:
    if format_ == "gemini":
        return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text}]}
    return {"role": role, "content": text}


def first_turn(format_: str, result: str, tool: str = "Bash", arguments: dict | None = None) -> list[dict]:
    """A question, a call and its result."""
    return [said(format_, "user", "Why does it fail?"), *step(format_, 1, tool, arguments or RUN, result)]


def tools(format_: str) -> list[dict[str, Any]]:
    names = ("Bash", "Read")
    schema = {"type": "object", "properties": {}}
    match format_:
        case "anthropic":
            return [{"name": name, "description": "Works.", "input_schema": schema} for name in names]
        case "openai":
            return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]
        case "responses":
            return [{"type": "function", "name": name, "parameters": schema} for name in names]
        case _:
            return [{"functionDeclarations": [{"name": name, "description": "Works."} for name in names]}]


def body(format_: str, messages: list[dict[str, Any]], **more: Any) -> bytes:
    """A request, written in a way that nobody would write it again by chance."""
    fields: dict[str, Any] = {"tools": tools(format_), LISTS[format_]: messages, **more}
    if format_ != "gemini":
        fields = {"model": more.pop("model", "test"), "max_tokens": 99, **fields}
    return json.dumps(fields, ensure_ascii=True, separators=(", ", " :")).encode()


def send(gateway: str, format_: str, sent: bytes, session: str = "s1") -> httpx2.Response:
    headers = {"content-type": "application/json", "x-session-id": session}
    return httpx2.post(gateway + PATHS[format_], content=sent, headers=headers, timeout=30)


def list_in(format_: str, sent: bytes) -> list[dict[str, Any]]:
    return json.loads(sent)[LISTS[format_]]


def result_in(format_: str, message: dict[str, Any]) -> str:
    match format_:
        case "anthropic":
            return message["content"][0]["content"]
        case "openai":
            return message["content"]
        case "responses":
            return message["output"]
        case _:
            return message["parts"][0]["functionResponse"]["response"]["output"]


def parallel_step(format_: str, number: int, results: list[str]) -> list[dict[str, Any]]:
    """A reply with a call for each result, which come in the reverse order."""
    steps = [
        step(format_, number * 10 + n, "Bash", {"command": f"make {n}"}, text)
        for n, text in enumerate(results)
    ]
    calls, answers = ([pair[side] for pair in steps] for side in (0, 1))
    match format_:
        case "openai":
            joined = [call for message in calls for call in message["tool_calls"]]
            return [{**calls[0], "tool_calls": joined}, *reversed(answers)]
        case "responses":
            return [*calls, *reversed(answers)]
    key = "content" if format_ == "anthropic" else "parts"
    parts = [[part for message in side for part in message[key]] for side in (calls, answers)]
    for n, (call, answer) in enumerate(zip(*parts, strict=True)):
        if format_ == "gemini":
            call["functionCall"]["id"] = answer["functionResponse"]["id"] = f"g{number}_{n}"
    return [{**calls[0], key: parts[0]}, {**answers[0], key: parts[1][::-1]}]
