"""OpenAI's Chat Completions, as most other servers have them too.

Rule: the rules are the validator's; those that are ours alone are left out.
"""

import secrets
import time
from collections.abc import Mapping

import msgspec

from clients.wires.values import (
    Asked,
    Bill,
    Body,
    Breach,
    PromptBlock,
    Said,
    ToolResult,
    canonical,
    joined_text,
    named_session,
    objects,
    pieces,
    server_event,
)
from holdfast.packing.validator import Violation, check

RULES = {
    "call-answered": "C01",
    "call-answered-once": "C01",
    "call-id-unique": "C01",
    "result-has-call": "C02",
    "result-names-call": "C02",
    "tools-legal": "C03",
    "content-shape": "C03",
    "calls-list": "C03",
    "call-shape": "C03",
    "call-arguments": "C03",
}
"""Rules of the validator with their ids in our table; the others keep their names."""

WORDS = {
    "call-answered": "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: {id}",
    "result-has-call": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
    "with 'tool_calls'.",
}


class ChatWire:
    name = "chat"

    def read(self, body: Body, path: str, headers: Mapping[str, str]) -> Asked:  # noqa: ARG002
        messages = objects(body.get("messages"))
        functions = [f for tool in objects(body.get("tools")) if isinstance(f := tool.get("function"), dict)]
        blocks = [PromptBlock("tools", canonical(f), canonical(f).decode()) for f in functions]
        for message in messages:
            said = [joined_text(message.get("content"))]
            said += [canonical(call.get("function")).decode() for call in objects(message.get("tool_calls"))]
            blocks.append(PromptBlock("messages", canonical(_plain(message)), "\n".join(said)))
        user = [joined_text(m.get("content")) for m in messages if m.get("role") == "user"]
        return Asked(
            body=body,
            model=str(body.get("model")),
            blocks=blocks,
            system="\n".join(
                joined_text(m.get("content")) for m in messages if m.get("role") in ("system", "developer")
            ),
            tools={str(f.get("name")): f.get("parameters") or {} for f in functions},
            calls=[str(call.get("id")) for m in messages for call in objects(m.get("tool_calls"))],
            results=[
                ToolResult(str(m.get("tool_call_id")), joined_text(m.get("content")))
                for m in messages
                if m.get("role") == "tool"
            ],
            last_user=user[-1] if user else "",
            session=named_session(headers),
            is_streamed=body.get("stream") is True,
            wants_json=isinstance(body.get("response_format"), dict),
            headers=headers,
        )

    def judge(self, asked: Asked) -> list[Breach]:
        found = check(asked.body.get("messages"), "openai", tools=asked.body.get("tools"))
        return [_breach(one) for one in found if ".strict-" not in one.rule]

    def say(self, asked: Asked, said: Said) -> Body:  # noqa: ARG002
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()},
            }
            for call in said.calls
        ]
        return {"role": "assistant", "content": said.text or None, **({"tool_calls": calls} if calls else {})}

    def whole(self, asked: Asked, content: Body, bill: Bill) -> Body:
        message = {**content, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _stop(content)}
        return {**_frame(asked, "chat.completion"), "choices": [choice], "usage": _usage(bill)}

    def events(self, asked: Asked, content: Body, bill: Bill) -> list[bytes]:
        deltas: list[Body] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": piece} for piece in pieces(content["content"] or "")]
        for index, call in enumerate(content.get("tool_calls", ())):
            function = call["function"]
            first = {**call, "index": index, "function": {**function, "arguments": ""}}
            rest = [{"index": index, "function": {"arguments": p}} for p in pieces(function["arguments"])]
            deltas += [{"tool_calls": [one]} for one in (first, *rest)]
        frame = _frame(asked, "chat.completion.chunk")
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": _stop(content)})
        out = [server_event({**frame, "choices": [choice]}) for choice in choices]
        if (asked.body.get("stream_options") or {}).get("include_usage"):
            out.append(server_event({**frame, "choices": [], "usage": _usage(bill)}))
        return [*out, server_event("[DONE]")]

    def counted(self, bill: Bill) -> Body:
        return {"input_tokens": bill.prompt}

    def error(self, breach: Breach) -> Body:
        code = "context_length_exceeded" if breach.rule == "window" else None
        said = {"message": breach.message, "type": "invalid_request_error", "param": "messages", "code": code}
        return {"error": said}

    def too_long(self, tokens: int, window: int) -> Breach:
        words = (
            f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} "
            "tokens. Please reduce the length of the messages."
        )
        return Breach("window", words)


def _plain(message: Body) -> Body:
    """A message with its content as text, whichever way the client wrote it."""
    content = message.get("content")
    texts = isinstance(content, list) and all(one.get("type") == "text" for one in objects(content))
    return {**message, "content": joined_text(content) if texts else content}


def _breach(violation: Violation) -> Breach:
    name = violation.rule.partition(".")[2]
    said = WORDS.get(name, violation.message).format(id=violation.id)
    where = "" if violation.index is None else f"messages.[{violation.index}]: "
    return Breach(RULES.get(name, violation.rule), where + said)


def _frame(asked: Asked, kind: str) -> Body:
    name = f"chatcmpl-{secrets.token_hex(12)}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": asked.model}


def _stop(content: Body) -> str:
    return "tool_calls" if content.get("tool_calls") else "stop"


def _usage(bill: Bill) -> Body:
    return {
        "prompt_tokens": bill.prompt,
        "completion_tokens": bill.output,
        "total_tokens": bill.prompt + bill.output,
        "prompt_tokens_details": {"cached_tokens": bill.read, "cache_write_tokens": bill.write},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
