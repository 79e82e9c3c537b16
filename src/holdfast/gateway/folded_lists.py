"""A client's list of messages, packed to a budget, as bytes of the client's own wherever a message stays as it was.

Rule: what is sent passes the provider's rules, or nothing is changed. System prompt and tools are never touched.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.errors import ContextOverflow, HoldfastError
from holdfast.followed_conversations import FollowedConversation, PackedConversation
from holdfast.gateway.client_requests import ClientRequest
from holdfast.messages import Json
from holdfast.packing.validator import Violation, check
from holdfast.wire.anthropic import may_be_marked
from holdfast.wire.content_blocks import SYSTEM_ROLES, FormatName, WireDict
from holdfast.wire.foreign_json import Losses, items, obj
from holdfast.wire.message_lists import grouped_events

THINKING = ("thinking", "redacted_thinking")
MARKED_MESSAGES = 3
"""Messages from the end of a list that clients mark for the cache."""


class FoldedList(Struct, frozen=True):
    """The list to send, as JSON. `is_folded` says that a fold was made for it."""

    encoded: bytes
    is_folded: bool
    cut_ids: tuple[str, ...]


def folded_list(
    conversation: FollowedConversation[Json],
    request: ClientRequest,
    raw: Sequence[bytes],
    *,
    binds_thinking: bool,
    is_free: bool,
) -> FoldedList | None:
    """What to send in place of a client's list, whose messages are `raw`; None where it may go as it is.

    A model that binds its thinking to what was before it refuses a thought behind other messages. There a fold is
    made only when it is free (the cache is cold) and a person speaks, or when nothing else fits, and what was
    thought before it is left out from then on: that is allowed from the beginning up to any place.
    """
    if len(request.readable) < len(request.messages):
        return None
    is_bound = binds_thinking and any(map(_has_thinking, request.messages))
    packed = _packed(conversation, request, may_fold=not is_bound or (is_free and _person_speaks(request)))
    if packed.unread:
        return None
    sent = _sent_messages(packed, request, raw, thoughtless=packed.folded_at if is_bound else 0)
    sent = _with_cache_marks(_with_files(_joined(sent, request.format), request), request)
    if [one.raw for one in sent] == list(raw):
        return None
    _check(request, [one.message for one in sent])
    encoded = b"[%b]" % b",".join(one.raw or msgspec.json.encode(one.message) for one in sent)
    ids = tuple(cut.id for cut in packed.cuts if cut.id)
    return FoldedList(encoded, packed.fold is not None, ids)


def _check(request: ClientRequest, sent: list[WireDict]) -> None:
    """Raises HoldfastError where a list breaks a rule that the client's own does not. Clients may use what is newer
    than our rules."""

    def violations(messages: list[Json]) -> tuple[Violation, ...]:
        return check(messages, request.format, system=request.system or None, tools=request.wire_tools)

    known = {broken.rule for broken in violations(request.messages)}
    new = [broken for broken in violations(sent) if broken.rule not in known]
    if new:
        raise HoldfastError(
            f"the packed list would break `{new[0].rule}`: {new[0].message}",
            hint="this is a fault of Holdfast: please report it",
        )


class _SentMessage(Struct, frozen=True):
    """A message, and the client's own bytes of it if it is the client's own."""

    message: WireDict
    raw: bytes = b""


def _sent_messages(
    packed: PackedConversation[Json], request: ClientRequest, raw: Sequence[bytes], *, thoughtless: int
) -> list[_SentMessage]:
    """The system prompt of the client, then what was packed; the first `thoughtless` messages of the client's list
    are sent without what was thought."""
    prompts = request.messages[: _leading_prompts(request)]
    sent = [_SentMessage(obj(prompt), raw[place]) for place, prompt in enumerate(prompts)]
    places = {id(message): place for place, message in enumerate(request.messages)}
    for message in packed.messages:
        place = places.get(id(message))
        if place is None:
            sent.append(_SentMessage(message))
        elif place < thoughtless and _has_thinking(message):
            sent.append(_SentMessage(_without_thinking(message)))
        else:
            sent.append(_SentMessage(obj(message), raw[place]))
    return sent


def _packed(
    conversation: FollowedConversation[Json], request: ClientRequest, *, may_fold: bool
) -> PackedConversation[Json]:
    def packed(may_fold: bool) -> PackedConversation[Json]:
        return conversation.pack_for_client(
            request.messages, system=request.system, tools=request.tools, may_fold=may_fold
        )

    try:
        return packed(may_fold)
    except ContextOverflow:
        if may_fold:
            raise
        return packed(True)


def _leading_prompts(request: ClientRequest) -> int:
    """How many messages at the beginning are the system prompt."""
    roles = [obj(message).get("role") for message in request.messages]
    return next((at for at, role in enumerate(roles) if role not in SYSTEM_ROLES), len(roles))


def _has_thinking(message: Json) -> bool:
    return any(obj(block).get("type") in THINKING for block in items(obj(message).get("content")))


def _without_thinking(message: Json) -> WireDict:
    blocks = [block for block in items(obj(message).get("content")) if obj(block).get("type") not in THINKING]
    return {**obj(message), "content": blocks or [{"type": "text", "text": "…"}]}


def _person_speaks(request: ClientRequest) -> bool:
    """Whether the last message is somebody's words, and not results that the model waits for."""
    last = obj(request.messages[-1])
    content = last.get("content")
    is_result = any(obj(block).get("type") == "tool_result" for block in items(content))
    return last.get("role") == "user" and bool(content) and not is_result


def _joined(sent: Sequence[_SentMessage], format_: FormatName) -> list[_SentMessage]:
    """Messages of ours beside messages of the same role as one, where results of one reply belong into one."""
    if format_ not in ("anthropic", "gemini"):
        return list(sent)
    key = "content" if format_ == "anthropic" else "parts"
    joined: list[_SentMessage] = []
    for one in sent:
        before = joined[-1] if joined else None
        is_own = before is not None and not (before.raw and one.raw)
        if before is None or not is_own or before.message.get("role") != one.message.get("role"):
            joined.append(one)
            continue
        both = [*_blocks(before.message, key), *_blocks(one.message, key)]
        if format_ == "anthropic":
            both.sort(key=lambda block: obj(block).get("type") != "tool_result")
        joined[-1] = _SentMessage({**one.message, key: both})
    return joined


def _with_files(sent: list[_SentMessage], request: ClientRequest) -> list[_SentMessage]:
    """Messages of ours with what no log can hold, such as a PDF, if the client has it beside the same results."""
    if request.format not in ("anthropic", "gemini"):
        return sent
    key = "content" if request.format == "anthropic" else "parts"
    own = {id_: at for at, one in enumerate(sent) if not one.raw for id_ in _result_ids(one.message, key)}
    first = next((at for at, one in enumerate(sent) if not one.raw and _is_user(one.message)), None)
    raw = {id(one.message) for one in sent if one.raw}
    for message in map(obj, request.messages):
        places = [own[id_] for id_ in _result_ids(message, key) if id_ in own]
        # Beside words that were shortened or put into a note, it goes where the first of these stands.
        is_gone = (
            first is not None
            and id(message) not in raw
            and _is_user(message)
            and not _result_ids(message, key)
        )
        at = max(places) if places else first if is_gone else None
        if at is None:
            continue
        files = [
            block
            for block in items(message.get(key))
            if _is_unheld({**message, key: [block]}, key, request.format)
            and not any(block in _blocks(one.message, key) for one in sent)
        ]
        if files:
            sent[at] = _SentMessage({**sent[at].message, key: [*_blocks(sent[at].message, key), *files]})
    return sent


def _is_user(message: WireDict) -> bool:
    return message.get("role") == "user"


def _result_ids(message: WireDict, key: str) -> list[str]:
    blocks = [obj(block) for block in items(message.get(key))]
    found = [block.get("tool_use_id") or obj(block.get("functionResponse")).get("id") for block in blocks]
    return [id_ for id_ in found if isinstance(id_, str)]


def _is_unheld(message: WireDict, key: str, format_: FormatName) -> bool:
    """Whether a log cannot hold the only block of a message, which is no result."""
    losses = Losses()
    list(grouped_events([message], format_, losses))
    return not _result_ids(message, key) and bool(losses.sentences())


def _with_cache_marks(sent: list[_SentMessage], request: ClientRequest) -> list[_SentMessage]:
    """Messages of ours at the end of the list marked where the client marks its own: its cache ends there."""
    if request.format != "anthropic":
        return sent
    for back in range(1, min(MARKED_MESSAGES, len(sent), len(request.messages)) + 1):
        mark = obj(next(iter(items(obj(request.messages[-back]).get("content"))[-1:]), None)).get(
            "cache_control"
        )
        one = sent[-back]
        if mark is None or one.raw or one.message.get("role") != obj(request.messages[-back]).get("role"):
            continue
        blocks = _blocks(one.message, "content")
        if not may_be_marked(obj(blocks[-1])):
            continue
        marked = [*blocks[:-1], {**obj(blocks[-1]), "cache_control": mark}]
        sent[-back] = _SentMessage({**one.message, "content": marked})
    return sent


def _blocks(message: WireDict, key: str) -> list[Json]:
    content = message.get(key)
    return [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
