"""The layers that no fold of steps can lower: the stable layer, the summary layer and the tail.

Rule: a summary is shown and never summarised; only under overflow are its lines cut to a sentence each. The tail is
volatile: it is rebuilt for every request and always last, where it re-bills nothing. Lines that others wrote cannot
end the tag that encloses them.
"""

import re
from collections.abc import Iterable
from itertools import islice

import msgspec
from msgspec import Struct

from holdfast.events import RecapSet
from holdfast.messages import (
    AssistantMessage,
    Json,
    Message,
    SystemMessage,
    Text,
    UserMessage,
    system_reminder,
)
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.levels import RenderContext
from holdfast.views.compactions import Compactions
from holdfast.views.todos import Todos
from holdfast.views.transcript import Transcript

# A point inside a path or a version ends nothing: only white space after it does, which CJK stops do not need.
_STOP = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_TAGGED = re.compile(r"(?s)\s*<(\w+)>\s*(\{.*\})\s*</\1>\s*")
_BULLET = re.compile(r"\s*+(?:[-*+]\s++)?+(?:\d++[.)]\s++)?+")


class StableLayer(Struct, frozen=True):
    """Layer 1. Its tokens do not include those of the tool definitions."""

    messages: tuple[Message, ...]
    tokens: int
    tool_tokens: int


def stable_layer(context: RenderContext, transcript: Transcript) -> StableLayer:
    by_name = {
        "system": [transcript.system],
        "rules": list(transcript.rules.values()),
        "context": list(transcript.contexts.values()),
    }
    texts = [text for name in context.profile.pinned_order for text in by_name.get(name, [])]
    messages = tuple(SystemMessage(text) for text in texts if text.strip())
    return StableLayer(messages, context.counter.messages(messages), context.counter.tools(transcript.tools))


def summary_messages(
    context: RenderContext, compactions: Compactions, sentences: int = 0
) -> tuple[Message, ...]:
    """The summary layer in the profile's shape: archive entries, then working state. One sentence a line where it
    is over its cap."""
    messages = _shaped(context.profile, compactions, sentences)
    cap = context.profile.summary_cap
    if cap and not sentences and context.counter.messages(messages) > cap:
        messages = _shaped(context.profile, compactions, 1)
    return messages


def _shaped(profile: Profile, compactions: Compactions, sentences: int) -> tuple[Message, ...]:
    """System messages, or a user message and the reply to it."""
    archive = _filled_texts((archived.text for archived in compactions.archive.values()), sentences)
    state = _filled_texts((compactions.state.text,) if compactions.state else (), sentences)
    texts = [*archive, *state]
    if not texts:
        return ()
    if profile.summary_role == "mock_pair":
        prompt = UserMessage((Text(profile.mock_prompt),))
        return prompt, AssistantMessage((Text("\n\n".join(texts)),))
    if profile.summary_messages == 1:
        texts = ["\n\n".join(texts)]
    elif 0 < profile.summary_messages < len(texts):
        # The archive in one message and the state in the other: what was archived is at the same place.
        texts = ["\n\n".join(archive), *state]
    return tuple(SystemMessage(text) for text in texts)


def _filled_texts(texts: Iterable[str], sentences: int) -> list[str]:
    """The texts that say anything; providers refuse a message that does not."""
    spoken = (text for text in texts if text.strip())
    return [_shortened(text, sentences) if sentences else text for text in spoken]


def _shortened(text: str, sentences: int) -> str:
    """A sentence a line; of JSON in tags, a sentence a line of each string, so that it stays JSON."""
    tagged = _TAGGED.fullmatch(text)
    if tagged is None:
        return _fewer(text, sentences)
    tag, written = tagged.groups()
    try:
        value = msgspec.json.decode(written)
    except msgspec.DecodeError:
        return _fewer(text, sentences)
    plain = msgspec.json.format(msgspec.json.encode(_less(value, sentences)), indent=2).decode()
    # A tag inside a string would end the summary for a reader that looks for the tag.
    plain = re.sub(rf"(?i)<(?=/?\s*{tag})", r"\\u003c", plain)
    return f"<{tag}>\n{plain}\n</{tag}>"


def _less(value: Json, sentences: int) -> Json:
    if isinstance(value, str):
        return _fewer(value, sentences)
    if isinstance(value, list):
        return [_less(item, sentences) for item in value]
    if isinstance(value, dict):
        return {key: _less(item, sentences) for key, item in value.items()}
    return value


def _fewer(text: str, sentences: int) -> str:
    return "\n".join(_first_sentences(line, sentences) for line in text.split("\n"))


def _first_sentences(line: str, sentences: int) -> str:
    """The line up to its n-th stop; the number of a list item is no sentence."""
    bullet = _BULLET.match(line)
    stops = _STOP.finditer(line, bullet.end() if bullet else 0)
    end = next(islice(stops, sentences - 1, None), None)
    return line[: end.start()] if end else line


_ORDER = ("active", "pending", "done")
_MARKS = {"done": "[x]", "active": "[>]", "pending": "[ ]"}


def tail_messages(
    todos: Todos, recaps: Iterable[RecapSet], lines: int, cap: int, counter: TokenCounter
) -> tuple[Message, ...]:
    """The todo recap, only when something is left to do, and what else was set to come last; each in at most
    `lines` lines, and in fewer where they are more than `cap` tokens, if there is a cap."""
    standing = [recap for recap in recaps if recap.lines]
    if not todos.open and not standing:
        return ()
    messages = (_recap(todos, standing, lines),)
    while cap and lines > 1 and counter.messages(messages) > cap:
        lines //= 2
        messages = (_recap(todos, standing, lines),)
    return messages


def _recap(todos: Todos, standing: Iterable[RecapSet], lines: int) -> UserMessage:
    told = [_standing(recap, lines) for recap in standing]
    if todos.open:
        told.append(_todos(todos, lines))
    return UserMessage((Text(system_reminder("\n".join(told))),))


def _standing(recap: RecapSet, lines: int) -> str:
    most = len(recap.lines) if recap.whole else max(lines, 1)
    shown = [_one_line(line) for line in recap.lines[:most]]
    left = len(recap.lines) - len(shown)
    more = f" {left} not listed." if left else ""
    head = f"{recap.title}:" if recap.whole else f"{recap.title}: {len(recap.lines)}.{more}"
    return "\n".join([head, *(f"- {line}" for line in shown)])


def _todos(todos: Todos, lines: int) -> str:
    """So many lines of the list, what is active and what is next before what is done."""
    ranked = sorted(range(len(todos.items)), key=lambda i: (_ORDER.index(todos.items[i].status), i))
    shown = [todos.items[i] for i in sorted(ranked[: max(lines, 1)])]
    rows = [f"{_MARKS[t.status]} {_short(t.text)}" for t in shown]
    left = len(todos.items) - len(shown)
    head = f"Todo recap: {todos.done} of {len(todos.items)} done." + (f" {left} not listed." if left else "")
    return "\n".join([head, *rows])


def _short(text: str) -> str:
    line = _one_line(text)
    return line if len(line) <= 160 else line[:157] + "..."


def _one_line(text: str) -> str:
    return " ".join(text.split())
