"""The three shapes a recording is shipped in: neutral, OpenAI chat messages, Anthropic messages.

Rule: plain dictionaries in, plain dictionaries out; this file shows the formats without any library.
"""

import json
from typing import Any

Message = dict[str, Any]


def opening(messages: list[Message], at_least: int) -> list[Message]:
    """The first messages up to the end of a step: no call without its results."""
    end = next(
        (i for i, each in enumerate(messages) if i >= at_least and each["role"] != "tool"), len(messages)
    )
    return messages[:end]


def openai_chat(system: str, messages: list[Message]) -> list[Message]:
    """As the API takes them: arguments as a JSON string; it has no place for reasoning and error marks."""
    return [{"role": "system", "content": system}, *(_openai(message) for message in messages)]


def _openai(message: Message) -> Message:
    if message["role"] == "tool":
        return {key: message[key] for key in ("role", "tool_call_id", "content")}
    shaped = {"role": message["role"], "content": message["content"]}
    if calls := message.get("tool_calls"):
        shaped["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {
                    "name": call["name"],
                    "arguments": json.dumps(call["arguments"], ensure_ascii=False),
                },
            }
            for call in calls
        ]
    return shaped


def anthropic_messages(system: str, tools: list[Message], messages: list[Message]) -> Message:
    """A request: results of one step stand together in one user message."""
    turns: list[Message] = []
    for message in messages:
        if message["role"] == "tool" and turns[-1]["role"] == "user":
            turns[-1]["content"].append(_tool_result(message))
        else:
            turns.append(_anthropic(message))
    return {"system": system, "tools": [_anthropic_tool(tool) for tool in tools], "messages": turns}


def _anthropic(message: Message) -> Message:
    """Reasoning is left out: the API takes thinking back only with the signature of who thought it."""
    if message["role"] == "user":
        return {"role": "user", "content": message["content"]}
    if message["role"] == "tool":
        return {"role": "user", "content": [_tool_result(message)]}
    blocks: list[Message] = [{"type": "text", "text": message["content"]}] if message["content"] else []
    blocks += [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
        for call in message.get("tool_calls", ())
    ]
    return {"role": "assistant", "content": blocks}


def _tool_result(message: Message) -> Message:
    failed = {"is_error": True} if message.get("is_error") else {}
    return {
        "type": "tool_result",
        "tool_use_id": message["tool_call_id"],
        "content": message["content"],
        **failed,
    }


def _anthropic_tool(tool: Message) -> Message:
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }
