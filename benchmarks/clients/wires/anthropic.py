"""Anthropic's Messages API.

Rule: neighbours of one role are one message, as the API has it, before anything is judged, counted or signed.
"""

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from clients.thinking import ThinkingSigner
from clients.wires.anthropic_rules import broken_rules, merged
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

MOST_BYTES = 32 * 1024 * 1024
THOUGHT = "The next command shows what is still missing."


class AnthropicWire:
    name = "anthropic"

    def __init__(self, signer: ThinkingSigner) -> None:
        self._signer = signer

    def read(self, body: Body, path: str, headers: Mapping[str, str]) -> Asked:
        tools, messages = objects(body.get("tools")), merged(body)
        parts = [block for _, message in messages for block in objects(message["content"])]
        said = [joined_text(m["content"]) for _, m in messages if m.get("role") == "user"]
        return Asked(
            body=body,
            model=str(body.get("model")),
            blocks=_blocks(body, messages),
            system=joined_text(body.get("system")),
            tools={str(tool.get("name")): tool.get("input_schema") or {} for tool in tools},
            calls=[str(part.get("id")) for part in parts if part.get("type") == "tool_use"],
            results=[
                ToolResult(str(part.get("tool_use_id")), joined_text(part.get("content")))
                for part in parts
                if part.get("type") == "tool_result"
            ],
            last_user=next((text for text in reversed(said) if text), ""),
            session=named_session(headers),
            is_streamed=body.get("stream") is True,
            is_counting=path.endswith("/count_tokens"),
            headers=headers,
        )

    def judge(self, asked: Asked) -> list[Breach]:
        beta = asked.headers.get("anthropic-beta", "")
        return [*broken_rules(asked), *self._signer.judge(asked.body, merged(asked.body), beta)]

    def say(self, asked: Asked, said: Said) -> list[Body]:
        thinking = asked.body.get("thinking")
        kind = thinking.get("type", "disabled") if isinstance(thinking, dict) else "disabled"
        content: list[Body] = []
        if said.calls and kind != "disabled":
            text = "" if thinking.get("display") == "omitted" else THOUGHT
            calls = [call.id for call in said.calls]
            signature = self._signer.sign(asked.body, merged(asked.body), text, calls)
            content.append({"type": "thinking", "thinking": text, "signature": signature})
        if said.text:
            content.append({"type": "text", "text": said.text})
        uses = ({"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in said.calls)
        return content + list(uses)

    def whole(self, asked: Asked, content: list[Body], bill: Bill) -> Body:
        return {
            # A client joins replies of the same id.
            "id": f"msg_{secrets.token_hex(12)}",
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": content,
            "stop_reason": _stop(content),
            "stop_sequence": None,
            "usage": _usage(bill),
        }

    def events(self, asked: Asked, content: list[Body], bill: Bill) -> list[bytes]:
        begun = {**self.whole(asked, [], bill), "stop_reason": None}
        begun["usage"] = {**begun["usage"], "output_tokens": 1}
        out = [_event("message_start", message=begun), _event("ping")]
        for index, block in enumerate(content):
            start, deltas = _streamed(block)
            out.append(_event("content_block_start", index=index, content_block=start))
            out += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
            out.append(_event("content_block_stop", index=index))
        ending = {"stop_reason": _stop(content), "stop_sequence": None}
        return [*out, _event("message_delta", delta=ending, usage=_usage(bill)), _event("message_stop")]

    def counted(self, bill: Bill) -> Body:
        return {"input_tokens": bill.prompt}

    def error(self, breach: Breach) -> Body:
        kind = "request_too_large" if breach.status == 413 else "invalid_request_error"
        said = {"type": kind, "message": breach.message}
        return {"type": "error", "error": said, "request_id": "req_loopback"}

    def too_long(self, tokens: int, window: int) -> Breach:
        return Breach("A20", f"prompt is too long: {tokens} tokens > {window} maximum")


def _blocks(body: Body, messages: list[tuple[int, Body]]) -> list[PromptBlock]:
    out = [
        PromptBlock("tools", canonical(t), canonical(t).decode(), _mark(t))
        for t in objects(body.get("tools"))
    ]
    system = body.get("system")
    system = [{"type": "text", "text": system}] if isinstance(system, str) else objects(system)
    out += [PromptBlock("system", canonical(s), joined_text([s]), _mark(s)) for s in system]
    for _, message in messages:
        for block in objects(message["content"]):
            data = canonical({"role": message.get("role"), **block})
            out.append(PromptBlock("messages", data, _text(block), _mark(block)))
        if message.get("role") == "system" and not message["content"]:
            out.append(PromptBlock("messages", canonical(message), ""))
    if isinstance(mark := body.get("cache_control"), dict) and out:
        out[-1] = msgspec.structs.replace(out[-1], mark=str(mark.get("ttl", "5m")))
    return out


def _mark(block: Body) -> str:
    inner = [one.get("cache_control") for one in objects(block.get("content"))]
    mark = next((m for m in (block.get("cache_control"), *inner) if isinstance(m, dict)), None)
    return str(mark.get("ttl", "5m")) if mark else ""


def _text(block: Body) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text"))
        case "tool_result":
            return joined_text(block.get("content"))
        case "tool_use":
            return f"{block.get('name')} {canonical(block.get('input')).decode()}"
        case "thinking":
            return str(block.get("thinking"))
    return canonical(block).decode()


def _usage(bill: Bill) -> Body:
    kept = {
        "ephemeral_5m_input_tokens": bill.write - bill.write_hour,
        "ephemeral_1h_input_tokens": bill.write_hour,
    }
    return {
        "input_tokens": bill.plain,
        "cache_creation_input_tokens": bill.write,
        "cache_read_input_tokens": bill.read,
        "cache_creation": kept,
        "output_tokens": bill.output,
        "service_tier": "standard",
    }


def _stop(content: list[Body]) -> str:
    return "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"


def _event(kind: str, **fields: Any) -> bytes:
    return server_event({"type": kind, **fields}, kind)


def _streamed(block: Body) -> tuple[Body, list[Body]]:
    match block["type"]:
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
        case "tool_use":
            given = msgspec.json.encode(block["input"]).decode()
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(given)]]
            return {**block, "input": {}}, deltas
    return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
