"""What the page asks for, as JSON values: a timeline, the window at a request, a block as sent and as it was.

Rule: texts are passed on as they are. It is the page that may show them only as text.
"""

from collections.abc import Sequence
from itertools import accumulate

import msgspec

from holdfast.messages import (
    AssistantPart,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    UserPart,
)
from holdfast.numbers import grouped
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.recorded_sessions import RecordedSessions
from holdfast.viewer.sent import LAYER_KINDS, Basis, PlacedBlock, SentBlock, place_block
from holdfast.views.transcript import Step

FIRST_WORDS = 140
"""Characters of a block that its row shows."""

MOST_BLOCKS = 200
"""Blocks in one answer: the list of a long session has tens of thousands, and a screen shows thirty."""

SHOWN: dict[Basis, str] = {
    "pack": "what Holdfast sent: packs made again from the log, with its folds and summaries",
    "list": "what the client sent: its own list of messages, as recorded",
    "preview": "what Holdfast would send for the same work; nothing of it was sent",
}


def refused_of(recorded: RecordedSessions) -> Json:
    """Files that are not shown, the first of them with the reason."""
    refused = recorded.refused()
    return {"total": len(refused), "files": refused[:MOST_BLOCKS]}


def timeline_of(history: RequestHistory, first: int = 0) -> Json:
    """All requests but the `first` so many, column by column since that is smaller."""
    requests = history.requests[first:]
    models = list(dict.fromkeys(request.model for request in history.requests))
    return {
        "history": history.id,
        "first": first,
        "basis": history.basis,
        "shown": SHOWN[history.basis],
        "remark": " ".join(filter(None, (history.remark, _shortened_words(history)))),
        "unread": history.unread[:MOST_BLOCKS],
        "profile": "" if history.basis == "list" else history.profile.name,
        "budget": 0 if history.basis == "list" else history.profile.window,
        "kinds": LAYER_KINDS,
        "layers": [[request.layers[at] for request in requests] for at in range(len(LAYER_KINDS))],
        "tokens": [request.tokens for request in requests],
        "cached": [request.cached for request in requests],
        "reported": [request.usage.prompt if request.usage else 0 for request in requests],
        "removed": [request.removed for request in requests],
        "is_reported": [int(request.is_reported) for request in requests],
        "dollars": [request.dollars for request in requests],
        "at": [request.at for request in requests],
        "step": [request.step for request in requests],
        "models": models,
        "model": [models.index(request.model) for request in requests],
        "marks": [
            (request.number, mark.kind, mark.text[:400]) for request in requests for mark in request.marks
        ],
    }


def _shortened_words(history: RequestHistory) -> str:
    shortened = sum(request.removed > 0 for request in history.requests)
    if not shortened:
        return ""
    requests = f"{grouped(shortened)} of the {grouped(len(history.requests))} requests"
    return f"The gateway sent large results shorter than they are here, in {requests}."


def window_of(
    history: RequestHistory, number: int, first: int = 0, words: str = "", most: int = MOST_BLOCKS
) -> Json:
    """The blocks of a request from the `first` on, at `most` so many. With `words`, only those that have
    these in their text, in capital letters or small."""
    sought = words.casefold()
    blocks, request = history.blocks(number), history.requests[number - 1]
    found: Sequence[int] = range(len(blocks))
    if sought:
        found = [at for at in found if sought in message_text(blocks[at].message).casefold()]
    starts = [*accumulate((block.tokens for block in blocks), initial=request.layers[0])]
    rows = []
    for at in found[first : first + most]:
        placed = place_block(request, at, blocks[at])
        rows.append(_block_row(at, placed, cache_state(placed, starts[at], request.cached)))
    return {"number": number, "total": len(found), "first": first, "blocks": rows}


def cache_state(placed: PlacedBlock, start: int, cached: int) -> str:
    """Whether a block that begins after `start` tokens came from the cache, whose part is known in tokens only."""
    if not placed.is_same:
        return "new"
    return "cached" if start + placed.block.tokens / 2 < cached else "sent again"


def _block_row(at: int, placed: PlacedBlock, cache: str) -> Json:
    block = placed.block
    return {
        "at": at,
        "kind": block.kind,
        "layer": placed.layer,
        "tool": block.tool,
        "step": block.step,
        "level": block.level,
        "tokens": block.tokens,
        "age": placed.age,
        "same": placed.is_same,
        "cache": cache,
        "cuts": len(block.cuts),
        "words": first_words(block.message),
    }


def reading_of(history: RequestHistory, number: int, at: int) -> Json:
    return block_reading(history, history.blocks(number)[at])


def block_reading(history: RequestHistory, block: SentBlock) -> Json:
    """One block: as the model saw it, and as it was where that differs."""
    seen = message_text(block.message)
    original = _original(history, block)
    return {
        "kind": block.kind,
        "tool": block.tool,
        "step": block.step,
        "level": block.level,
        "tokens": block.tokens,
        "entry": block.entry,
        "seen": seen,
        "original": None if original is None or original == seen else original,
        "cuts": [msgspec.to_builtins(cut) for cut in block.cuts],
    }


def message_text(message: Message) -> str:
    """A message as text: calls with their arguments, a picture by its kind."""
    if isinstance(message, SystemMessage):
        return message.text
    return "\n".join(map(_part_text, message.parts))


def _part_text(part: UserPart | AssistantPart) -> str:
    match part:
        case Text():
            return part.text
        case Thinking():
            return f"[thinking]\n{part.text or '(only the provider can read it)'}\n[/thinking]"
        case ToolCall():
            arguments = part.raw or msgspec.json.format(msgspec.json.encode(part.arguments)).decode()
            return f"{part.name} {arguments}"
        case Image():
            return f"[{part.media_type or 'picture'}, {len(part.data)} characters of base64]"


def first_words(message: Message, most: int = FIRST_WORDS) -> str:
    """The beginning of a message on one line."""
    parts: Sequence[UserPart | AssistantPart] = (
        (Text(message.text),) if isinstance(message, SystemMessage) else message.parts
    )
    words = ""
    for part in parts:
        # Long texts are cut before they are joined: a row needs little of them.
        text = part.text[: most * 4] if isinstance(part, Text | Thinking) else _part_text(part)
        words = f"{words} {' '.join(text[: most * 4].split())}".strip()
        if len(words) > most:
            return f"{words[:most]}…"
    return words


def _original(history: RequestHistory, block: SentBlock) -> str | None:
    item = history.item(block.position)
    if item is None or block.kind not in ("user", "assistant", "result"):
        return None
    if block.kind == "result":
        whole = item.results.get(block.call_id) if isinstance(item, Step) else None
        return None if whole is None else message_text(whole)
    return message_text(item.message)
