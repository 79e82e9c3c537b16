"""Plain lists of messages, as a program holds them, into recordings and events.

Rule: the same reading as from a file; what could not be kept is said in notes or in `Noted` events.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Event, Noted, Recording
from holdfast.messages import Json, Thinking
from holdfast.recordings.recording_files import MESSAGES, is_message, message_format
from holdfast.wire.anthropic import NAME as ANTHROPIC
from holdfast.wire.anthropic import anthropic_events, read_anthropic
from holdfast.wire.foreign_json import Losses, is_too_deep
from holdfast.wire.openai import openai_events, read_openai
from holdfast.wire.recording_builder import RecordingBuilder, content_id


def recording_from_messages(
    messages: Sequence[dict[str, Json]],
    *,
    system: str | list[dict[str, Json]] | None = None,
    tools: Sequence[dict[str, Json]] | None = None,
    format: str | None = None,  # noqa: A002
) -> Recording:
    """A recording from a list of OpenAI or Anthropic messages; the shape tells which, unless `format` does."""
    tally = Losses()
    request = _checked({"messages": list(messages), "system": system, "tools": list(tools or ())}, tally)
    for number, message in enumerate(request["messages"]):
        if not is_message(message):
            raise InputError(
                f"message {number} has no `role`.", hint='a message is {"role": …, "content": …}.'
            )
    name = _known(format) if format else message_format(request["messages"])
    draft = RecordingBuilder(name, where="the list of messages", notes=tally.sentences())
    read = read_anthropic if name == ANTHROPIC else read_openai
    return read(request, draft, content_id(name, request))


def events_from_message(
    message: dict[str, Json],
    format: str | None = None,  # noqa: A002
    *,
    names: Mapping[str, str] | None = None,
    opening: bool = True,
) -> list[Event]:
    """The events of one message, for appending one at a time.

    `names` gives the tool of a call id, for formats whose results do not say it. `opening` is True until a turn
    has been taken: a system message then sets the prompt, later it is a reminder.
    """
    tally = Losses()
    message = _checked(message, tally)
    if not is_message(message):
        raise InputError("the message has no `role`.", hint='a message is {"role": …, "content": …}.')
    name = _known(format) if format else message_format([message])
    read = anthropic_events if name == ANTHROPIC else openai_events
    events: list[Event] = []
    for event in read(message, names or {}, tally, opening=opening):
        if isinstance(event, AssistantReplied) and all(isinstance(part, Thinking) for part in event.parts):
            tally.add("left out", "assistant messages with neither text nor call")
        else:
            events.append(event)
    return [*events, *(Noted(kind="import", text=sentence) for sentence in tally.sentences())]


def _known(format: str) -> str:  # noqa: A002
    if format not in MESSAGES:
        raise InputError(
            f"`{format}` is not a format of message lists.", hint=f"known: {', '.join(sorted(MESSAGES))}."
        )
    return format


def _checked(value: Json, tally: Losses) -> Json:
    """The value if it is plain JSON, with U+FFFD for lone surrogates: Python strings can hold them."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        value = _scrubbed(value, tally)
    except RecursionError as error:
        raise InputError("a message nests values too deep.", hint="messages are plain JSON.") from error
    except TypeError as error:
        raise InputError(
            f"a message holds what JSON cannot: {error}.",
            hint="pass plain dicts; SDK objects have `model_dump()`.",
        ) from error
    if is_too_deep(value):
        raise InputError("a message nests values too deep.", hint="messages are plain JSON.")
    for key in _keys(value):
        if not isinstance(key, str):
            raise InputError(
                f"a message has the key {str(key)[:40]} of type {type(key).__name__}, and JSON's keys are strings.",
                hint="write the key as a string: two keys that differ in type only would become one.",
            )
    return value


def _keys(value: Json) -> Iterator[Json]:
    """The keys of all objects within a value."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield from found
            waiting += [v for v in found.values() if isinstance(v, dict | list | tuple)]
        elif isinstance(found, list | tuple):
            waiting += [v for v in found if isinstance(v, dict | list | tuple)]


def _scrubbed(value: Json, tally: Losses) -> Json:
    if isinstance(value, str):
        clean = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        tally.add("replaced by U+FFFD", "texts with lone surrogates", clean != value)
        return clean
    if isinstance(value, dict):
        return {_scrubbed(key, tally): _scrubbed(item, tally) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, tally) for item in value]
    return value
