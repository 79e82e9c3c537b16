"""Rules that both providers have: the list itself, and calls with their answers.

Rule: each function states one constraint and yields every place that breaks it.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from holdfast.messages import Json
from holdfast.packing.validator.request import Found, Request, kind

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")


def messages_present(request: Request) -> Iterator[Found]:
    if not isinstance(request.messages, list):
        yield None, f"`messages` is {kind(request.messages)}, not a list", ""
    elif not request.messages:
        yield None, "`messages` is empty", ""


def messages_are_objects(request: Request) -> Iterator[Found]:
    if isinstance(request.messages, list) and len(request.turns) < len(request.messages):
        for index, message in enumerate(request.messages):
            if not isinstance(message, dict):
                yield index, f"the message is {kind(message)}, not an object", ""


def roles_outside(request: Request, legal: Collection[str]) -> Iterator[Found]:
    if isinstance(request.messages, list) and len(request.turns) < len(request.messages):
        for index, message in enumerate(request.messages):
            if isinstance(message, dict) and not isinstance(role := message.get("role"), str):
                yield index, f"the role is {kind(role)}", ""
    for index, role, _ in request.turns:
        if role not in legal:
            yield index, f"the role is {kind(role)}", ""


def parts_outside(request: Request, legal: dict[str, tuple[str, ...]]) -> Iterator[Found]:
    """Parts without a type, of a type their role does not allow, or of text without text."""
    for index, part in request.strays:
        yield index, f"a part of the content is {kind(part)} without a type", ""
    for (role, part_kind), parts in request.parts.items():
        if role in legal and part_kind not in legal[role]:
            for index, _ in parts:
                yield index, f"a part of type {kind(part_kind)} may not stand in `{role}` content", ""
    for index, part in request.of_kind("text"):
        if not isinstance(text := part.get("text"), str):
            yield index, f"the text of a text part is {kind(text)}", ""


def call_ids_unique(request: Request) -> Iterator[Found]:
    seen: dict[str, int] = {}
    for exchange in request.exchanges:
        for call_id in exchange.asked:
            if call_id in seen:
                yield exchange.index, f"call id {kind(call_id)} was used by message {seen[call_id]}", call_id
            else:
                seen[call_id] = exchange.index


def calls_answered(request: Request) -> Iterator[Found]:
    for exchange in request.exchanges:
        if exchange.asked == exchange.answered:
            continue
        answered = set(exchange.answered)
        for call_id in exchange.asked:
            if call_id not in answered:
                yield (
                    exchange.index,
                    f"call {kind(call_id)} is not answered right behind this message",
                    call_id,
                )


def calls_answered_once(request: Request) -> Iterator[Found]:
    for exchange in request.exchanges:
        if len(exchange.answered) < 2 or len(set(exchange.answered)) == len(exchange.answered):
            continue
        seen: set[str] = set()
        for index, call_id in zip(exchange.places, exchange.answered, strict=True):
            if call_id in seen:
                yield index, f"call {kind(call_id)} is answered a second time", call_id
            seen.add(call_id)


def results_have_calls(request: Request) -> Iterator[Found]:
    for exchange in request.exchanges:
        if exchange.asked == exchange.answered:
            continue
        asked = set(exchange.asked)
        for index, call_id in zip(exchange.places, exchange.answered, strict=True):
            if call_id not in asked:
                yield index, f"result of {kind(call_id)}, which the message before did not call", call_id


@lru_cache(maxsize=512)
def is_name(name: str, longest: int) -> bool:
    """Few names come back often, so they are remembered."""
    return len(name) <= longest and NAME.match(name) is not None


def repeated(names: list[Json]) -> Iterator[str]:
    """Names that stand a second time; what is no name is another rule's matter."""
    seen: set[str] = set()
    for name in names:
        if isinstance(name, str):
            if name in seen:
                yield name
            seen.add(name)


def id_of(call: dict[str, Json]) -> str:
    return call_id if isinstance(call_id := call.get("id"), str) else ""
