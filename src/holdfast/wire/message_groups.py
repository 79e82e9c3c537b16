"""Messages as they are appended to a session: which of them belong together, and whether results have their calls.

Rule: what is no message is refused with its place in what was given, before anything is recorded.
"""

from collections.abc import Iterator, Sequence

from holdfast.errors import InputError, suggest
from holdfast.events import Event, SystemSet, ToolReturned
from holdfast.messages import Json
from holdfast.wire.content_blocks import CallNames
from holdfast.wire.foreign_json import items, obj
from holdfast.wire.message_checks import check_roles, is_message
from holdfast.wire.message_lists import distinct_format
from holdfast.wire.responses import is_reply_item
from holdfast.wire.sdk_objects import ProviderResponse, read_response

MOST_CALLS = 12
"""How many of the newest calls a hint may name."""


def message_groups(messages: list[Json]) -> Iterator[tuple[int, list[Json], ProviderResponse | None]]:
    """Messages that are read together, with the place of the first: one each, all items of one reply, or those of a
    whole response. Raises InputError for what is none of these."""
    group: list[Json] = []
    for at, message in enumerate(messages):
        if group and not (is_reply_item(message) and distinct_format([message, *group]) == "responses"):
            yield at - len(group), group, None
            group = []
        if (response := read_response(message)) is not None:
            _check_response(message, response, at)
            # Items of tools of the provider's own hold nothing for us.
            known = [item for item in response.messages if is_message(item)]
            if known:
                yield at, known, response
            continue
        check_roles([message], at)
        if is_reply_item(message):
            group.append(message)
        else:
            yield at, [message], None
    if group:
        yield len(messages) - len(group), group, None


def _check_response(message: Json, response: ProviderResponse, at: int) -> None:
    """Raise InputError for a piece of a streamed reply, and for a chat completion without a choice."""
    choices = items(obj(message).get("choices"))
    if any("delta" in obj(choice) for choice in choices):
        raise InputError(
            f"message {at} is a piece of a streamed reply",
            hint="append the reply once it is whole: `stream.get_final_completion()`",
        )
    if response.format == "openai" and not choices:
        raise InputError(f"message {at} is a response without a choice", hint="ask the model again")


def joined_prompts(system: str, events: Sequence[Event]) -> list[Event]:
    """Events with one system prompt of all that open a conversation; one that stands already comes first."""
    said = [event.text for event in events if isinstance(event, SystemSet)]
    if not said:
        return list(events)
    prompt = SystemSet("\n\n".join(text for text in dict.fromkeys([system, *said]) if text))
    return [prompt, *(event for event in events if not isinstance(event, SystemSet))]


def check_call(result: ToolReturned, names: CallNames, at: int) -> None:
    """Raise InputError for a result whose call is in no reply before it."""
    if result.call_id not in names:
        # Gemini's calls need no id.
        by_name = bool(result.name and not result.call_id)
        known = [*(names.values() if by_name else names)][-MOST_CALLS:]
        called = result.name if by_name else result.call_id
        hint = suggest(called, known, lists=True) if known else "append the reply with its call first"
        if not called:
            raise InputError(f"message {at} is a tool result without the id of its call", hint=hint)
        call = f"a call of `{called}`" if by_name else f"call `{called}`"
        raise InputError(f"message {at} is the result of {call}, which no reply made", hint=hint)


def check_waiting(call_id: str, names: CallNames) -> None:
    """Raise InputError for a call that no reply made, or that has its result."""
    if call_id not in names.unanswered:
        known = [*names.unanswered][-MOST_CALLS:]
        hint = (
            suggest(call_id, known, lists=True)
            if known
            else "append the reply with the call first, and answer it once"
        )
        raise InputError(f"the call `{call_id}` waits for no result", hint=hint)
