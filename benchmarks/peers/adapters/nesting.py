"""Calls as OpenAI's interface nests them, for libraries that read its messages as they are.

Rule: there and back gives the same message, ids included.
"""

import json

from peers.adapters.serve import Message


def nest(message: Message) -> Message:
    """Flat calls as `{"type": "function", "function": {…}}` with the arguments as JSON text."""
    nested: Message = {
        key: message[key] for key in ("role", "content", "name", "tool_call_id") if key in message
    }
    calls = message.get("tool_calls")
    if calls:
        nested["tool_calls"] = [
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
    return nested


def flatten(message: Message) -> Message:
    calls = message.get("tool_calls")
    if not calls:
        return message
    flat = [
        {
            "id": call["id"],
            "name": call["function"]["name"],
            "arguments": json.loads(call["function"]["arguments"]),
        }
        for call in calls
    ]
    return {**message, "tool_calls": flat}
