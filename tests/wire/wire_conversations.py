"""Conversations for tests of message formats: written, read back, and crossed from one format to another."""

import msgspec
from hypothesis import strategies as st

from holdfast.events import AssistantReplied, SystemSet, ToolReturned, ToolsSet, UserSaid
from holdfast.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from holdfast.packing.validator import check
from holdfast.wire.formats import FORMATS
from holdfast.wire.message_lists import recording_from_messages
from holdfast.wire.sdk_objects import plain_json

READ = ToolDefinition("Read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
GREP = ToolDefinition("Grep", "Finds lines.", {"type": "object", "properties": {}})

FOREIGN = (
    Thinking("plain thoughts"),
    Thinking("signed thoughts", signature="ANTHROPIC-SIGNATURE"),
    Thinking(redacted="ANTHROPIC-REDACTED"),
    Thinking("reasoning", redacted='{"id":"rs_1","encrypted_content":"RESPONSES-ENCRYPTED"}'),
    Thinking(redacted='{"thoughtSignature":"GEMINI-SIGNATURE"}'),
    Thinking("thought", redacted='{"thoughtSignature":"GEMINI-THOUGHT","thought":true}'),
    Thinking(redacted='{"thoughtSignature":"GEMINI-END","text":""}'),
)
"""Thinking of every provider, and what its opaque part is called."""


def read_messages(messages, format_, **around):
    """The messages of ours in a list of a provider's, objects of its SDK among them."""
    recording = recording_from_messages(plain_json(messages), format=format_, **around)
    found = []
    for recorded in recording.events:
        event = recorded.event
        if isinstance(event, SystemSet):
            found.append(SystemMessage(event.text))
        elif isinstance(event, UserSaid):
            found.append(UserMessage(event.parts))
        elif isinstance(event, AssistantReplied):
            found.append(AssistantMessage(event.parts))
        elif isinstance(event, ToolReturned):
            found.append(ToolMessage(event.call_id, event.name, event.parts, error=event.error))
    return found


def tools_in(messages, tools, format_):
    events = recording_from_messages(messages, tools=plain_json(tools), format=format_).events
    return next((r.event.tools for r in events if isinstance(r.event, ToolsSet)), ())


def write_checked(messages, format_, tools=(READ, GREP)):
    """A request that the validator lets pass."""
    request = FORMATS[format_].write_request(messages, tools)
    broken = check(request.messages, format_, system=request.system, tools=request.tools or None)
    assert broken == ()
    return request


def read_back(messages, format_):
    request = write_checked(messages, format_)
    return read_messages(request.messages, format_, system=request.system)


def without_thinking(messages):
    """Calls and texts of the messages; a reply that only thought is left out."""
    kept = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
            kept += [AssistantMessage(parts)] if parts else []
        else:
            kept.append(message)
    return kept


WORDS = st.text(min_size=1, max_size=12).filter(str.strip)
TEXTS = st.builds(Text, WORDS)
IMAGES = st.builds(Image, st.sampled_from(["image/png", "image/jpeg"]), st.sampled_from(["AAAA", "+/+/"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=2)
NO_ERRORS = st.just(False)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["text", "type", "name", "data", "id", "output"]), inner, max_size=2
        )
    ),
    max_leaves=5,
)
"""Values of the wrong type for most fields."""
LINE = st.sampled_from(["one line", "two\nlines", "trois à la fois"]).map(Text)


@st.composite
def conversations(draw, *, thinking, result_parts, said=TEXTS, is_mixed=True, errors=NO_ERRORS):
    """Rounds of steps with parallel calls. `thinking` gives thoughts for the part after them; with `is_mixed` texts
    and calls stand in any order."""
    messages = [SystemMessage(draw(WORDS))] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 2))):
        messages.append(UserMessage((*draw(st.lists(said | IMAGES, max_size=2)), draw(said))))
        for _ in range(draw(st.integers(0, 2))):
            parts, results = [], []
            for _ in range(draw(st.integers(1, 3))):
                name, id_ = draw(st.sampled_from(["Read", "Grep"])), f"call_{number}"
                number += 1
                parts.append(ToolCall(id_, name, draw(ARGUMENTS)))
                results.append(ToolMessage(id_, name, draw(result_parts), error=draw(errors)))
            texts = draw(st.lists(said, max_size=2))
            parts = draw(st.permutations([*texts, *parts])) if is_mixed else [*texts, *parts]
            messages.append(AssistantMessage(draw(thought_through(parts, thinking, is_mixed))))
            order = [part.id for part in parts if isinstance(part, ToolCall)]
            messages += sorted(results, key=lambda result: order.index(result.call_id))
        messages.append(AssistantMessage(draw(thought_through([draw(said)], thinking, is_mixed))))
    return messages


@st.composite
def thought_through(draw, parts, thinking, is_mixed):
    found = []
    for number, part in enumerate(parts):
        found += draw(st.lists(thinking, max_size=1)) if is_mixed or not number else []
        found.append(part)
    return tuple(found)


def encoded(value):
    return msgspec.json.encode(value).decode()
