"""OpenAI chat completions as they stream, with DeepSeek's `reasoning_content`."""

from typing import Any

import msgspec

from holdfast.messages import AssistantPart, Text, Thinking, ToolCall, Usage
from support.provider_script import Broken, Kind, Protocol, Script, Sent, pieces, woven

_STOPS = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refused": "content_filter",
    "other": "eos_of_another_kind",
}

FAILURES: dict[Kind, tuple[int, str, str | None, str]] = {
    "overflow": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130345 "
            "tokens. Please reduce the length of the messages."
        ),
    ),
    "auth": (
        401,
        "invalid_request_error",
        "invalid_api_key",
        "Incorrect API key provided: sk-bad****key. You can find your API key in the account settings.",
    ),
    "rate": (
        429,
        "tokens",
        "rate_limit_exceeded",
        (
            "Rate limit reached for gpt-test in organization org-loopback on tokens per min (TPM): Limit 30000, "
            "Used 29000, Requested 2000. Please try again in 2s."
        ),
    ),
    "quota": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "overloaded": (
        503,
        "server_error",
        None,
        "The engine is currently overloaded, please try again later",
    ),
    "server": (
        500,
        "server_error",
        None,
        "The server had an error while processing your request. Sorry about that!",
    ),
    "missing": (
        404,
        "invalid_request_error",
        "model_not_found",
        "The model `gpt-nope` does not exist or you do not have access to it.",
    ),
    "refused": (
        400,
        "invalid_request_error",
        None,
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    ),
}


def events(script: Script, body: Any) -> list[Sent]:
    counted = bool((body.get("stream_options") or {}).get("include_usage"))
    parts = _parts(script, body)
    opening = [_chunk(body, {"role": "assistant", "content": "", "refusal": None})]
    ending = [_chunk(body, {}, _STOPS[script.ending])]
    usage = [Sent({**_frame(body), "choices": [], "usage": _usage(script.usage)})] if counted else []
    return opening + woven(parts, script.interleaved) + ending + usage + [Sent("[DONE]")]


def _frame(body: Any) -> dict[str, Any]:
    frame = {"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 1_790_000_000}
    return {**frame, "model": body["model"], "system_fingerprint": "fp_loopback"}


def _chunk(body: Any, delta: dict[str, Any], finish: str | None = None) -> Sent:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return Sent({**_frame(body), "choices": [choice]})


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _parts(script: Script, body: Any) -> list[tuple[bool, list[Sent], list[Sent], list[Sent]]]:
    number = 0
    parts = []
    for part in script.parts:
        first, deltas = _deltas(part, number, script)
        number += isinstance(part, ToolCall)
        start = [_chunk(body, delta) for delta in first]
        parts.append((isinstance(part, ToolCall), start, [_chunk(body, delta) for delta in deltas], []))
    return parts


def _deltas(part: AssistantPart, number: int, script: Script) -> tuple[list[Any], list[Any]]:
    if isinstance(part, Text):
        return [], [{"content": piece} for piece in pieces(part.text, script.piece)]
    if isinstance(part, Thinking):
        return [], [{script.reasoning: piece, "content": None} for piece in pieces(part.text, script.piece)]
    arguments = part.raw or msgspec.json.encode(part.arguments).decode()
    function = {"name": part.name, "arguments": ""}
    first = {"index": number, "id": part.id, "type": "function", "function": function}
    rest = [{"index": number, "function": {"arguments": p}} for p in pieces(arguments, script.piece)]
    return [{"tool_calls": [first]}], [{"tool_calls": [call]} for call in rest]


def failure(kind: Kind) -> tuple[int, Any]:
    status, name, code, message = FAILURES[kind]
    return status, {"error": {"message": message, "type": name, "param": None, "code": code}}


def broken(how: Broken, body: Any) -> list[Sent]:
    return [Sent(failure(how.kind)[1])]


CHAT = Protocol(events, failure, broken, b": keep-alive\n\n")
