"""A request as the rules see it, and the rules that both providers have.

Rule: messages are taken apart once, so that every rule looks only at its own pieces. Taking apart never raises and
never repairs: what has the wrong shape is set aside for the rule that judges that shape. Each rule function states
one constraint and yields every place that breaks it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct, field

from holdfast.messages import Json

Breach = tuple[int | None, str, str]
"""Where (index of the message, None for `system`, `tools` or the list itself), what, and which call id."""


class Exchange(Struct, gc=False):
    """The ids a message asks for, and the ids of the answers right after it with their messages' indices."""

    index: int
    asked: list[str]
    answered: list[str]
    places: list[int]


class ParsedRequest(Struct, gc=False):
    """The pieces of one request; `int` is always the index of the message that a piece is in.

    `odd` is content that is neither text nor a list with something in it. `strays` are parts of a content list
    that are no object with a type, `parts` all others by role and type; `stray_calls` are calls that are no
    object. Parts inside an Anthropic tool result have the role `tool_result`, and `kinds` is, per Anthropic
    message, the types of its blocks in order. `marks` are cache marks in the order in which Anthropic reads a
    request: tools, system, messages.
    """

    messages: Json
    system: Json
    tools: Json
    turns: list[tuple[int, str, dict[str, Json]]] = field(default_factory=list)
    texts: list[tuple[int, str, str]] = field(default_factory=list)
    lists: list[tuple[int, str, list[Json]]] = field(default_factory=list)
    odd: list[tuple[int, str, Json]] = field(default_factory=list)
    strays: list[tuple[int, Json]] = field(default_factory=list)
    parts: defaultdict[tuple[str, str], list[tuple[int, dict[str, Json]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    kinds: list[tuple[int, str, list[str]]] = field(default_factory=list)
    calls: list[tuple[int, dict[str, Json]]] = field(default_factory=list)
    stray_calls: list[tuple[int, Json]] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    marks: list[tuple[int | None, Json]] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[tuple[int, dict[str, Json]]]:
        """All parts of one type, wherever they are."""
        return [item for (_, part_kind), items in self.parts.items() if part_kind == kind for item in items]


RuleFunction = Callable[[ParsedRequest], Iterator[Breach]]


class ProviderRule(NamedTuple):
    """One constraint of one provider. `find` yields every place that breaks it."""

    name: str
    explanation: str
    find: RuleFunction


def named_rules(provider: str, *functions: RuleFunction) -> tuple[ProviderRule, ...]:
    """Rules by their functions: the name of each is the rule's, and its docstring says what the rule demands."""
    return tuple(
        ProviderRule(f"{provider}.{f.__name__.replace('_', '-')}", f.__doc__ or "", f) for f in functions
    )


def read_openai(messages: Json, system: Json, tools: Json) -> ParsedRequest:
    request = ParsedRequest(messages, system, tools)
    exchange: Exchange | None = None
    for index, role, message, content in _turns(request):
        if content:
            _file_parts(request, index, role, content)
        if role != "tool":
            calls = message.get("tool_calls")
            exchange = _openai_calls(request, index, calls) if isinstance(calls, list) else None
            continue
        if exchange is None:
            exchange = open_exchange(request, index, [])
        if isinstance(call_id := message.get("tool_call_id"), str):
            exchange.answered.append(call_id)
            exchange.places.append(index)
    return request


def read_anthropic(messages: Json, system: Json, tools: Json) -> ParsedRequest:
    request = ParsedRequest(messages, system, tools)
    parts, kinds, calls = request.parts, request.kinds, request.calls
    exchange: Exchange | None = None
    for index, role, _, content in _turns(request):
        row: list[str] = []
        asked: list[str] = []
        for block in content:
            block_kind = block.get("type") if isinstance(block, dict) else None
            if not isinstance(block_kind, str):
                request.strays.append((index, block))
                continue
            row.append(block_kind)
            parts[role, block_kind].append((index, block))
            if block_kind == "tool_use":
                calls.append((index, block))
                if isinstance(call_id := block.get("id"), str):
                    asked.append(call_id)
            elif block_kind == "tool_result":
                if exchange is None or role != "user":
                    exchange = open_exchange(request, index, [])
                _file_result(request, index, block, exchange)
        kinds.append((index, role, row))
        exchange = open_exchange(request, index, asked) if asked else None
    request.marks += _marks(request)
    return request


def describe(value: Json) -> str:
    """What a JSON value is, in words. Containers are never printed: they may be huge or endlessly deep."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"`{value}`" if len(value) <= 60 else f"`{value[:60]}…`"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


def _turns(request: ParsedRequest) -> Iterator[tuple[int, str, dict[str, Json], list[Json]]]:
    """Files every message that has a role by the shape of its content, and yields it with that content if it
    is a list. What is no message, or has no role, is yielded without both: it separates calls from answers."""
    turns, texts, lists = request.turns, request.texts, request.lists
    for index, message in enumerate(request.messages if isinstance(request.messages, list) else ()):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str):
            yield index, "", {}, []
            continue
        turns.append((index, role, message))
        content = message.get("content")
        if isinstance(content, str):
            texts.append((index, role, content))
            yield index, role, message, []
        elif isinstance(content, list) and content:
            lists.append((index, role, content))
            yield index, role, message, content
        else:
            request.odd.append((index, role, content))
            yield index, role, message, []


def open_exchange(request: ParsedRequest, index: int, asked: list[str]) -> Exchange:
    exchange = Exchange(index, asked, [], [])
    request.exchanges.append(exchange)
    return exchange


def _openai_calls(request: ParsedRequest, index: int, calls: list[Json]) -> Exchange:
    ids = []
    for call in calls:
        if not isinstance(call, dict):
            request.stray_calls.append((index, call))
            continue
        request.calls.append((index, call))
        if isinstance(call_id := call.get("id"), str):
            ids.append(call_id)
    return open_exchange(request, index, ids)


def _file_parts(request: ParsedRequest, index: int, role: str, content: list[Json]) -> None:
    for part in content:
        part_kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part_kind, str):
            request.parts[role, part_kind].append((index, part))
        else:
            request.strays.append((index, part))


def _file_result(request: ParsedRequest, index: int, block: dict[str, Json], exchange: Exchange) -> None:
    if isinstance(call_id := block.get("tool_use_id"), str):
        exchange.answered.append(call_id)
        exchange.places.append(index)
    if isinstance(inner := block.get("content"), list):
        _file_parts(request, index, "tool_result", inner)


def _marks(request: ParsedRequest) -> list[tuple[int | None, Json]]:
    marked: list[tuple[int | None, dict[str, Json]]] = []
    for group in (request.tools, request.system):
        marked += (
            [(None, item) for item in group if isinstance(item, dict)] if isinstance(group, list) else []
        )
    placed = [item for parts in request.parts.values() for item in parts if "cache_control" in item[1]]
    marked += sorted(placed, key=itemgetter(0))
    return [(index, mark) for index, part in marked if (mark := part.get("cache_control")) is not None]


IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")


def messages_present(request: ParsedRequest) -> Iterator[Breach]:
    """`messages` is a list with at least one message."""
    if not isinstance(request.messages, list):
        yield None, f"`messages` is {describe(request.messages)}, not a list", ""
    elif not request.messages:
        yield None, "`messages` is empty", ""


def message_object(request: ParsedRequest) -> Iterator[Breach]:
    """Every message is a JSON object."""
    if isinstance(request.messages, list) and len(request.turns) < len(request.messages):
        for index, message in enumerate(request.messages):
            if not isinstance(message, dict):
                yield index, f"the message is {describe(message)}, not an object", ""


def roles_outside(request: ParsedRequest, legal: Collection[str]) -> Iterator[Breach]:
    if isinstance(request.messages, list) and len(request.turns) < len(request.messages):
        for index, message in enumerate(request.messages):
            if isinstance(message, dict) and not isinstance(role := message.get("role"), str):
                yield index, f"the role is {describe(role)}", ""
    for index, role, _ in request.turns:
        if role not in legal:
            yield index, f"the role is {describe(role)}", ""


def parts_outside(request: ParsedRequest, legal: dict[str, tuple[str, ...]]) -> Iterator[Breach]:
    """Parts without a type, of a type their role does not allow, or of text without text."""
    for index, part in request.strays:
        yield index, f"a part of the content is {describe(part)} without a type", ""
    for (role, part_kind), parts in request.parts.items():
        if role in legal and part_kind not in legal[role]:
            for index, _ in parts:
                yield index, f"a part of type {describe(part_kind)} is not allowed in `{role}` content", ""
    for index, part in request.of_kind("text"):
        if not isinstance(text := part.get("text"), str):
            yield index, f"the text of a text part is {describe(text)}", ""


def call_ids_unique(request: ParsedRequest) -> Iterator[Breach]:
    seen: dict[str, int] = {}
    for exchange in request.exchanges:
        for call_id in exchange.asked:
            if call_id in seen:
                yield (
                    exchange.index,
                    f"call id {describe(call_id)} was used by message {seen[call_id]}",
                    call_id,
                )
            else:
                seen[call_id] = exchange.index


def calls_answered(request: ParsedRequest) -> Iterator[Breach]:
    for exchange in request.exchanges:
        if exchange.asked == exchange.answered:
            continue
        answered = set(exchange.answered)
        for call_id in exchange.asked:
            if call_id not in answered:
                yield (
                    exchange.index,
                    f"call {describe(call_id)} is not answered in the next message",
                    call_id,
                )


def calls_answered_once(request: ParsedRequest) -> Iterator[Breach]:
    for exchange in request.exchanges:
        if len(exchange.answered) < 2 or len(set(exchange.answered)) == len(exchange.answered):
            continue
        seen: set[str] = set()
        for index, call_id in zip(exchange.places, exchange.answered, strict=True):
            if call_id in seen:
                yield index, f"call {describe(call_id)} is answered a second time", call_id
            seen.add(call_id)


def results_have_calls(request: ParsedRequest) -> Iterator[Breach]:
    for exchange in request.exchanges:
        if exchange.asked == exchange.answered:
            continue
        asked = set(exchange.asked)
        for index, call_id in zip(exchange.places, exchange.answered, strict=True):
            if call_id not in asked:
                yield index, f"result of {describe(call_id)}, which the message before did not call", call_id


@lru_cache(maxsize=512)
def is_name(name: str, longest: int) -> bool:
    """Few names come back often, so they are remembered."""
    return len(name) <= longest and NAME.match(name) is not None


def repeated(names: list[Json]) -> Iterator[str]:
    """Names that occur a second time; another rule checks what is not a name."""
    seen: set[str] = set()
    for name in names:
        if isinstance(name, str):
            if name in seen:
                yield name
            seen.add(name)


def id_of(call: dict[str, Json]) -> str:
    return call_id if isinstance(call_id := call.get("id"), str) else ""
