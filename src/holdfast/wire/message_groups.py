"""Messages as they are appended to a session: which of them belong together, and whether results have their calls.

Rule: what is no message is refused with its place in what was given, before anything is recorded.
"""

from collections.abc import Iterator, Mapping

from holdfast.errors import InputError, suggest
from holdfast.events import ToolReturned
from holdfast.messages import Json
from holdfast.wire.message_lists import check_roles, distinct_format, is_message
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
            # Items of tools of the provider's own hold nothing for us.
            known = [item for item in response.messages if is_message(item)]
            if known:
                yield at, known, response
            continue
        check_roles([message], "message {}" if len(messages) > 1 else "the message", at)
        if is_reply_item(message):
            group.append(message)
        else:
            yield at, [message], None
    if group:
        yield len(messages) - len(group), group, None


def check_call(result: ToolReturned, names: Mapping[str, str], at: int) -> None:
    if result.call_id not in names:
        made = (
            suggest(result.call_id, [*names][-12:], lists=True)
            if names
            else "append the reply with its call first"
        )
        raise InputError(
            f"message {at} is the result of call `{result.call_id}`, which no reply made", hint=made
        )
