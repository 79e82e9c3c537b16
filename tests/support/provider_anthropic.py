"""The Anthropic Messages API as it streams: https requests aside, event for event."""

from typing import Any

import msgspec

from holdfast.messages import AssistantPart, Text, Thinking, ToolCall, Usage
from support.provider_script import Broken, Kind, Protocol, Script, Sent, pieces, woven

_STOPS = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refused": "refusal",
    "other": "pause_turn",
}

_FAILURES: dict[Kind, tuple[int, str, str]] = {
    "overflow": (400, "invalid_request_error", "prompt is too long: 205351 tokens > 200000 maximum"),
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "rate": (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
    ),
    "quota": (
        400,
        "invalid_request_error",
        (
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade "
            "or purchase credits."
        ),
    ),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "server": (500, "api_error", "Internal server error"),
    "missing": (404, "not_found_error", "model: claude-nope"),
    "refused": (
        400,
        "invalid_request_error",
        "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01",
    ),
}


def events(script: Script, body: Any) -> list[Sent]:
    parts = [(isinstance(p, ToolCall), *_part(i, p, script.piece)) for i, p in enumerate(script.parts)]
    begin = [_event("message_start", message=_message(body, script.usage)), _event("ping")]
    ending: dict[str, Any] = {"stop_reason": _STOPS[script.ending], "stop_sequence": None}
    if script.ending == "refused":
        ending["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
    end = [_event("message_delta", delta=ending, usage=_usage(script.usage)), _event("message_stop")]
    return begin + woven(parts, script.interleaved) + end


def _event(kind: str, **fields: Any) -> Sent:
    return Sent({"type": kind, **fields}, kind)


def _message(body: Any, usage: Usage) -> dict[str, Any]:
    created = {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0}
    begun = {**_usage(usage), "output_tokens": 1, "cache_creation": created, "service_tier": "standard"}
    return {
        "id": "msg_01Loopback",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": begun,
    }


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.prompt - usage.cache_read - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.completion,
    }


def _part(index: int, part: AssistantPart, size: int) -> tuple[list[Sent], list[Sent], list[Sent]]:
    block, deltas = _block(part, size)
    return (
        [_event("content_block_start", index=index, content_block=block)],
        [_event("content_block_delta", index=index, delta=delta) for delta in deltas],
        [_event("content_block_stop", index=index)],
    )


def _block(part: AssistantPart, size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if isinstance(part, Text):
        block: dict[str, Any] = {"type": "text", "text": ""}
        return block, [{"type": "text_delta", "text": piece} for piece in pieces(part.text, size)]
    if isinstance(part, ToolCall):
        arguments = part.raw or msgspec.json.encode(part.arguments).decode()
        block = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(arguments, size)]]
        # A call without arguments is sent without any of their text.
        return block, deltas[:1] if arguments == "{}" else deltas
    assert isinstance(part, Thinking)
    if part.redacted:
        return {"type": "redacted_thinking", "data": part.redacted}, []
    block = {"type": "thinking", "thinking": "", "signature": ""}
    thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(part.text, size)]
    return block, [*thoughts, {"type": "signature_delta", "signature": part.signature}]


def failure(kind: Kind) -> tuple[int, Any]:
    status, name, message = _FAILURES[kind]
    error = {"type": name, "message": message}
    return status, {"type": "error", "error": error, "request_id": "req_011Loopback"}


def broken(how: Broken, body: Any) -> list[Sent]:
    _, name, message = _FAILURES[how.kind]
    return [_event("error", error={"type": name, "message": message})]


ANTHROPIC = Protocol(events, failure, broken, b'event: ping\ndata: {"type": "ping"}\n\n')
