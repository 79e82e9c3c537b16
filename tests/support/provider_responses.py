"""The OpenAI Responses API as it streams."""

from itertools import count
from typing import Any

import msgspec

from holdfast.messages import AssistantPart, Text, Thinking, ToolCall, Usage
from support.provider_chat import FAILURES
from support.provider_script import Broken, Kind, Protocol, Script, Sent, pieces, woven

_INCOMPLETE = {"length": "max_output_tokens", "refused": "content_filter", "other": "steered"}
_IN_STREAM = {
    "rate": "rate_limit_exceeded",
    "overflow": "context_length_exceeded",
    "refused": "invalid_prompt",
}


def events(script: Script, body: Any) -> list[Sent]:
    items = [_item(i, part, script.piece) for i, part in enumerate(script.parts)]
    reason = _INCOMPLETE.get(script.ending)
    status = "incomplete" if reason else "completed"
    whole = [item for item, *_ in items]
    last = _response(body, status, whole, script.usage, reason)
    opening = [
        Sent({"type": f"response.{name}", "response": _response(body, "in_progress")})
        for name in ("created", "in_progress")
    ]
    parts = [
        (isinstance(part, ToolCall), *around) for part, (_, *around) in zip(script.parts, items, strict=True)
    ]
    ending = [Sent({"type": f"response.{status}", "response": last})]
    return _numbered(opening + woven(parts, script.interleaved) + ending)


def _numbered(sent: list[Sent]) -> list[Sent]:
    numbers = count()
    return [Sent({**one.data, "sequence_number": next(numbers)}, one.data["type"]) for one in sent]


def _response(
    body: Any,
    status: str,
    output: list[Any] | None = None,
    usage: Usage | None = None,
    reason: str | None = None,
) -> dict[str, Any]:
    """The request is said back in it, instructions and tools as well, as the real one does."""
    return {
        "id": "resp_loopback",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": body["model"],
        "output": output or [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _usage(usage) if usage else None,
        "metadata": {},
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total,
    }


Around = tuple[dict[str, Any], list[Sent], list[Sent], list[Sent]]


def _item(index: int, part: AssistantPart, size: int) -> Around:
    """The finished item, and the events before, of and after its text."""
    if isinstance(part, Text):
        return _message(index, part, size)
    if isinstance(part, ToolCall):
        return _call(index, part, size)
    return _reasoning(index, part, size)


def _message(index: int, part: Text, size: int) -> Around:
    place = {"item_id": f"msg_{index}", "output_index": index, "content_index": 0}
    blank = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    whole = {**blank, "text": part.text}
    item = {
        "id": f"msg_{index}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [whole],
    }
    start = [
        _added(index, {**item, "status": "in_progress", "content": []}),
        Sent({"type": "response.content_part.added", **place, "part": blank}),
    ]
    deltas = [
        Sent({"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []})
        for piece in pieces(part.text, size)
    ]
    end = [
        Sent({"type": "response.output_text.done", **place, "text": part.text, "logprobs": []}),
        Sent({"type": "response.content_part.done", **place, "part": whole}),
        _done(index, item),
    ]
    return item, start, deltas, end


def _call(index: int, part: ToolCall, size: int) -> Around:
    arguments = part.raw or msgspec.json.encode(part.arguments).decode()
    place = {"item_id": f"fc_{index}", "output_index": index}
    item = {"id": f"fc_{index}", "type": "function_call", "status": "completed", "call_id": part.id}
    item |= {"name": part.name, "arguments": arguments}
    deltas = [
        Sent({"type": "response.function_call_arguments.delta", **place, "delta": piece})
        for piece in pieces(arguments, size)
    ]
    end = [
        Sent({"type": "response.function_call_arguments.done", **place, "arguments": arguments}),
        _done(index, item),
    ]
    return item, [_added(index, {**item, "status": "in_progress", "arguments": ""})], deltas, end


def _reasoning(index: int, part: Thinking, size: int) -> Around:
    """The signature is what the API calls encrypted content. Thinking without text comes without a summary."""
    place = {"item_id": f"rs_{index}", "output_index": index, "summary_index": 0}
    encrypted = part.signature or part.redacted or None
    item: dict[str, Any] = {"id": f"rs_{index}", "type": "reasoning", "summary": []}
    item["encrypted_content"] = encrypted
    added = [_added(index, dict(item))]
    if not part.text:
        return item, added, [], [_done(index, item)]
    summary = {"type": "summary_text", "text": part.text}
    item["summary"] = [summary]
    part_added = {"type": "response.reasoning_summary_part.added", **place, "part": {**summary, "text": ""}}
    deltas = [
        Sent({"type": "response.reasoning_summary_text.delta", **place, "delta": piece})
        for piece in pieces(part.text, size)
    ]
    end = [
        Sent({"type": "response.reasoning_summary_text.done", **place, "text": part.text}),
        Sent({"type": "response.reasoning_summary_part.done", **place, "part": summary}),
        _done(index, item),
    ]
    return item, [*added, Sent(part_added)], deltas, end


def _added(index: int, item: dict[str, Any]) -> Sent:
    return Sent({"type": "response.output_item.added", "output_index": index, "item": item})


def _done(index: int, item: dict[str, Any]) -> Sent:
    return Sent({"type": "response.output_item.done", "output_index": index, "item": item})


def failure(kind: Kind) -> tuple[int, Any]:
    status, name, code, message = FAILURES[kind]
    if kind == "overflow":
        message = (
            "Your input exceeds the context window of this model. Please adjust your input and try again."
        )
    return status, {"error": {"message": message, "type": name, "param": None, "code": code}}


def broken(how: Broken, body: Any) -> list[Sent]:
    said = failure(how.kind)[1]["error"]
    code = _IN_STREAM.get(how.kind, "server_error")
    if how.bare:
        bare = {"type": "error", "code": code, "message": said["message"], "param": None}
        return [Sent({**bare, "sequence_number": 99}, "error")]
    failed = {**_response(body, "failed"), "error": {"code": code, "message": said["message"]}}
    return [Sent({"type": "response.failed", "response": failed, "sequence_number": 99}, "response.failed")]


RESPONSES = Protocol(events, failure, broken, b": keep-alive\n\n")
