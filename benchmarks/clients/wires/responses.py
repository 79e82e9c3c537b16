"""OpenAI's Responses API, without anything kept at the provider.

Rule: an item that was handed out comes back as it was, or without its id, or not at all.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from itertools import count

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

CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")
PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg", "compaction": "cmp"}
RULES = {
    "call-answered": "R01",
    "call-answered-once": "R01",
    "output-has-call": "R02",
    "reasoning-led-somewhere": "R04",
}
WORDS = {
    "call-answered": "No tool output found for function call {id}.",
    "output-has-call": "No tool call found for function call output with call_id {id}.",
    "reasoning-led-somewhere": "Item '{item}' of type 'reasoning' was provided without its required following "
    "item.",
}


class ResponsesWire:
    name = "responses"

    def __init__(self) -> None:
        self._reasoning_of: dict[str, str] = {}
        self._sealed: dict[str, str] = {}

    def read(self, body: Body, path: str, headers: Mapping[str, str]) -> Asked:
        items, tools = _items(body), objects(body.get("tools"))
        blocks = [PromptBlock("tools", canonical(t), canonical(t).decode()) for t in tools]
        if body.get("instructions"):
            blocks.append(PromptBlock("system", canonical(body["instructions"]), str(body["instructions"])))
        blocks += [PromptBlock("messages", canonical(item), _text(item)) for item in items]
        user = [joined_text(item.get("content")) for item in items if item.get("role") == "user"]
        prompts = [joined_text(i.get("content")) for i in items if i.get("role") in ("system", "developer")]
        return Asked(
            body=body,
            model=str(body.get("model")),
            blocks=blocks,
            system="\n".join([str(body.get("instructions") or ""), *prompts]),
            tools={
                str(t.get("name")): t.get("parameters") or {} for t in tools if t.get("type") == "function"
            },
            calls=[str(item.get("call_id")) for item in items if item.get("type") in CALLS],
            results=[
                ToolResult(str(item.get("call_id")), joined_text(item.get("output")))
                for item in items
                if item.get("type") in OUTPUTS
            ],
            last_user=user[-1] if user else "",
            session=named_session(headers) or str(body.get("prompt_cache_key") or ""),
            is_streamed=body.get("stream") is True,
            is_counting=path.endswith("/input_tokens"),
            headers=headers,
        )

    def judge(self, asked: Asked) -> list[Breach]:
        items = _items(asked.body)
        found = [_breach(one, items) for one in check(items, "responses", tools=asked.body.get("tools"))]
        return [
            *found,
            *self._reasoning(items),
            *_ids(items),
            *self._kept(asked.body, items),
            *_trigger(items),
        ]

    def _reasoning(self, items: list[Body]) -> Iterator[Breach]:
        """R03: a call that was handed out with its id comes with the reasoning before it."""
        there = {item.get("id") for item in items if item.get("type") == "reasoning"}
        for item in items:
            needed = self._reasoning_of.get(str(item.get("id")))
            if item.get("type") == "function_call" and needed and needed not in there:
                words = f"Item '{item['id']}' of type 'function_call' was provided without its required"
                yield Breach("R03", f"{words} 'reasoning' item: '{needed}'.")

    def _kept(self, body: Body, items: list[Body]) -> Iterator[Breach]:
        """R06, R07: nothing is kept here, and what is sealed comes back as it was."""
        if body.get("previous_response_id"):
            yield Breach("R06", "Previous response cannot be used for this organization: no data is kept.")
        for item in items:
            kind, sealed = item.get("type"), item.get("encrypted_content")
            if kind == "reasoning" and body.get("store") is False and not sealed:
                words = f"Item with id '{item.get('id')}' not found."
                yield Breach("R06", f"{words} Items are not persisted when `store` is set to false.")
            elif kind in ("reasoning", "compaction") and sealed and sealed not in self._sealed:
                rule = "R06" if kind == "reasoning" else "R07"
                yield Breach(rule, "The encrypted content could not be verified.")

    def say(self, asked: Asked, said: Said) -> list[Body]:
        number = f"{said.number}_{secrets.token_hex(4)}"
        if _items(asked.body)[-1:] and _items(asked.body)[-1].get("type") == "compaction_trigger":
            return [{"type": "compaction", "id": f"cmp_{number}", "encrypted_content": self._seal(number)}]
        items: list[Body] = []
        if said.calls and "reasoning.encrypted_content" in (asked.body.get("include") or ()):
            sealed = self._seal(number)
            items.append(
                {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": sealed}
            )
        if said.text:
            text = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
            item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
            items.append({**item, "content": [text]})
        for at, call in enumerate(said.calls):
            item = {
                "id": f"fc_{number}_{at}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id,
            }
            if items and items[0]["type"] == "reasoning":
                self._reasoning_of[item["id"]] = items[0]["id"]
            items.append(
                {**item, "name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()}
            )
        return items

    def _seal(self, number: str) -> str:
        sealed = f"sealed-{number}-{secrets.token_hex(16)}"
        self._sealed[sealed] = number
        return sealed

    def whole(self, asked: Asked, content: list[Body], bill: Bill) -> Body:
        return _response(_name(), asked, "completed", content, bill)

    def events(self, asked: Asked, content: list[Body], bill: Bill) -> list[bytes]:
        name = _name()
        begun = _response(name, asked, "in_progress", [], None)
        out: list[Body] = [
            {"type": f"response.{name}", "response": begun} for name in ("created", "in_progress")
        ]
        for index, item in enumerate(content):
            out += _item_events(index, item)
        out.append(
            {"type": "response.completed", "response": _response(name, asked, "completed", content, bill)}
        )
        numbers = count()
        return [server_event({**one, "sequence_number": next(numbers)}, one["type"]) for one in out]

    def counted(self, bill: Bill) -> Body:
        return {"object": "response.input_tokens", "input_tokens": bill.prompt}

    def error(self, breach: Breach) -> Body:
        code = "context_length_exceeded" if breach.rule == "window" else None
        said = {"message": breach.message, "type": "invalid_request_error", "param": "input", "code": code}
        return {"error": said}

    def too_long(self, tokens: int, window: int) -> Breach:
        words = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return Breach("window", f"{words} ({tokens} tokens, {window} at most)")


def _items(body: Body) -> list[Body]:
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)


def _text(item: Body) -> str:
    match item.get("type", "message"):
        case "message":
            return joined_text(item.get("content"))
        case "function_call" | "custom_tool_call":
            return f"{item.get('name')} {item.get('arguments') or item.get('input')}"
        case "function_call_output" | "custom_tool_call_output":
            return joined_text(item.get("output"))
        case "reasoning":
            return joined_text(item.get("summary"))
    return canonical(item).decode()


def _breach(violation: Violation, items: list[Body]) -> Breach:
    name = violation.rule.partition(".")[2]
    item = items[violation.index].get("id", "") if violation.index is not None else ""
    said = WORDS.get(name, f"input[{violation.index}]: {violation.message}").format(
        id=violation.id, item=item
    )
    return Breach(RULES.get(name, violation.rule), said)


def _ids(items: list[Body]) -> Iterator[Breach]:
    """R05: ids begin with the letters of their kind."""
    for at, item in enumerate(items):
        prefix = PREFIXES.get(item.get("type", "message"))
        given = item.get("id")
        if prefix and isinstance(given, str) and not given.startswith(prefix):
            words = f"Invalid 'input[{at}].id': '{given}'. Expected an ID that begins with '{prefix}'."
            yield Breach("R05", words)


def _trigger(items: list[Body]) -> Iterator[Breach]:
    """R07: a summary is asked for at the end."""
    for at, item in enumerate(items[:-1]):
        if item.get("type") == "compaction_trigger":
            yield Breach("R07", f"input[{at}]: 'compaction_trigger' must be the last input item.")


def _name() -> str:
    return f"resp_{secrets.token_hex(12)}"


def _response(name: str, asked: Asked, status: str, output: list[Body], bill: Bill | None) -> Body:
    usage = bill and {
        "input_tokens": bill.prompt,
        "input_tokens_details": {"cached_tokens": bill.read, "cache_write_tokens": bill.write},
        "output_tokens": bill.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": bill.prompt + bill.output,
    }
    return {
        "id": name,
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": asked.body.get("instructions"),
        "model": asked.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": asked.body.get("store", True),
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        "metadata": {},
    }


def _item_events(index: int, item: Body) -> list[Body]:
    place = {"item_id": item["id"], "output_index": index}
    out: list[Body] = []
    begun = {**item, "status": "in_progress"}
    if item["type"] == "message":
        begun["content"] = []
        part, inner = item["content"][0], {**place, "content_index": 0}
        blank = {**part, "text": ""}
        out.append({"type": "response.content_part.added", **inner, "part": blank})
        delta = {"type": "response.output_text.delta", **inner, "logprobs": []}
        out += [{**delta, "delta": piece} for piece in pieces(part["text"])]
        out.append({"type": "response.output_text.done", **inner, "text": part["text"], "logprobs": []})
        out.append({"type": "response.content_part.done", **inner, "part": part})
    elif item["type"] == "function_call":
        begun["arguments"] = ""
        delta = {"type": "response.function_call_arguments.delta", **place}
        out += [{**delta, "delta": piece} for piece in pieces(item["arguments"])]
        done = {"type": "response.function_call_arguments.done", **place, "name": item["name"]}
        out.append({**done, "arguments": item["arguments"]})
    added = {"type": "response.output_item.added", "output_index": index, "item": begun}
    return [added, *out, {"type": "response.output_item.done", "output_index": index, "item": item}]
