"""The summary layer: archive entries, then working state, as the log's compactions left them.

Rule: a summary is shown and never summarised; only under overflow are its lines cut to a sentence each.
"""

import re
from collections.abc import Iterable
from itertools import islice

import msgspec

from holdfast.events import RecapSet
from holdfast.messages import AssistantMessage, Json, Message, SystemMessage, Text, UserMessage
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.levels import RenderContext
from holdfast.views.compactions import Compactions
from holdfast.views.todos import Todo, Todos
from holdfast.views.transcript import Transcript

# A point inside a path or a version ends nothing: only white space behind it does, which CJK stops do not need.
_STOP = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_TAGGED = re.compile(r"(?s)\s*<(\w+)>\s*(\{.*\})\s*</\1>\s*")
_BULLET = re.compile(r"\s*+(?:[-*+]\s++)?+(?:\d++[.)]\s++)?+")


def summary_messages(scene: RenderContext, transcript: Transcript, sentences: int = 0) -> tuple[Message, ...]:
    """The layer in the profile's shape; one sentence a line where it is over its cap."""
    return summary_of(scene, transcript.compactions, sentences)


def summary_of(scene: RenderContext, compactions: Compactions, sentences: int = 0) -> tuple[Message, ...]:
    messages = _shaped(scene.profile, compactions, sentences)
    cap = scene.profile.summary_cap
    if cap and not sentences and scene.counter.messages(messages) > cap:
        messages = _shaped(scene.profile, compactions, 1)
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
        # The archive in one message and the state in the other: what was archived stands at the same place.
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
    # A tag inside a string would end the summary for whoever looks for it.
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


# The tail: volatile lines, rebuilt for every request and always last, where they re-bill nothing.
#
# Rule: lines that others wrote cannot end the frame that they stand in.

_FRAME = re.compile(r"<(?=\s*/?\s*system-reminder)", re.IGNORECASE)
_MARKS = {"done": "[x]", "active": "[>]", "pending": "[ ]"}


def tail_messages(
    todos: Todos, recaps: Iterable[RecapSet], lines: int, cap: int, counter: TokenCounter
) -> tuple[Message, ...]:
    """The todo recap, only when something is left to do, and what else was set to stand here; each in so many
    lines, and in fewer where they are more than `cap` tokens, if there is a cap."""
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
    body = "\n".join(["<system-reminder>", *told, "</system-reminder>"])
    return UserMessage((Text(body),))


def _standing(recap: RecapSet, lines: int) -> str:
    most = len(recap.lines) if recap.whole else max(lines, 1)
    shown = [_framed(line) for line in recap.lines[:most]]
    left = len(recap.lines) - len(shown)
    head = f"{recap.title}: {len(recap.lines)}." + (f" {left} not listed." if left else "")
    return "\n".join([head, *(f"- {line}" for line in shown)])


def _todos(todos: Todos, lines: int) -> str:
    """So many lines of the list, what is active and what is next before what is done."""
    ranked = sorted(range(len(todos.items)), key=lambda i: (_order(todos.items[i]), i))
    shown = [todos.items[i] for i in sorted(ranked[: max(lines, 1)])]
    rows = [f"{_MARKS[t.status]} {_short(t.text)}" for t in shown]
    left = len(todos.items) - len(shown)
    head = f"Todo recap: {todos.done} of {len(todos.items)} done." + (f" {left} not listed." if left else "")
    return "\n".join([head, *rows])


def _order(todo: Todo) -> int:
    return {"active": 0, "pending": 1, "done": 2}[todo.status]


def _short(text: str) -> str:
    line = _framed(text)
    return line if len(line) <= 160 else line[:157] + "..."


def _framed(text: str) -> str:
    """On one line, with no tag of the frame in it."""
    return _FRAME.sub("‹", " ".join(text.split()))


# The frame of a pack: what stands round the rounds, and no fold of steps can lower.
#
# Rule: the stable layer and the tools are written once and stay until one of them is set anew; summary and recap are
# written from the log whenever they are asked for.


class FixedLayers:
    def __init__(self, scene: RenderContext, transcript: Transcript) -> None:
        self.recap_lines = scene.profile.recap_lines
        self.summary_sentences = 0
        self._scene = scene
        self._transcript = transcript
        self._stable: tuple[tuple[Message, ...], int] | None = None
        self._tool_tokens: int | None = None

    def forget(self) -> None:
        """Something was set that the stable layer or the tools are made of."""
        self._stable = self._tool_tokens = None

    @property
    def stable(self) -> tuple[tuple[Message, ...], int]:
        """Layer 1 and its tokens, tool definitions not included."""
        if self._stable is None:
            messages = tuple(SystemMessage(text) for text in self._stable_texts())
            self._stable = messages, self._scene.counter.messages(messages)
        return self._stable

    @property
    def tool_tokens(self) -> int:
        if self._tool_tokens is None:
            self._tool_tokens = self._scene.counter.tools(self._transcript.tools)
        return self._tool_tokens

    def summary(self) -> tuple[Message, ...]:
        return summary_messages(self._scene, self._transcript, self.summary_sentences)

    def tail(self) -> tuple[Message, ...]:
        return self.recap(self.recap_lines)

    def recap(self, lines: int) -> tuple[Message, ...]:
        """Todos and what else stands last, each in so many lines."""
        todos, recaps = self._transcript.todos, self._transcript.recaps.values()
        return tail_messages(todos, recaps, lines, self._scene.profile.tail_cap, self._scene.counter)

    def sizes(self) -> dict[str, int]:
        """Tokens of each part."""
        count = self._scene.counter.messages
        return {
            "stable": self.stable[1],
            "tools": self.tool_tokens,
            "summary": count(self.summary()),
            "tail": count(self.tail()),
        }

    def _stable_texts(self) -> list[str]:
        by_name = {
            "system": [self._transcript.system],
            "rules": list(self._transcript.rules.values()),
            "context": list(self._transcript.contexts.values()),
        }
        ordered = [text for name in self._scene.profile.pinned_order for text in by_name.get(name, [])]
        return [text for text in ordered if text.strip()]
