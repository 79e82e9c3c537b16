"""The providers' message shapes, in and out, for live requests and recordings alike.

Rule: pure and one to one. In come events that say what happened; out go messages as a provider takes them. Nothing
is repaired here, and what has no place in a shape is counted and said.
"""

from holdfast.wire.anthropic import anthropic_message, anthropic_tool, join_anthropic, to_anthropic
from holdfast.wire.message_lists import events_from_message, recording_from_messages
from holdfast.wire.openai import join_openai, openai_message, openai_tool, to_openai
from holdfast.wire.request import WireDict, WireRequest

__all__ = [
    "WireDict",
    "WireRequest",
    "anthropic_message",
    "anthropic_tool",
    "events_from_message",
    "join_anthropic",
    "join_openai",
    "openai_message",
    "openai_tool",
    "recording_from_messages",
    "to_anthropic",
    "to_openai",
]
