"""Gemini CLI sessions: one document with its messages, or a line for each message and each change of them.

Rule: a message that is written again replaces its earlier version. A history that the agent replaced is a boundary;
what was said before it stays.
"""

from collections.abc import Iterable

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    Noted,
    Recording,
    Rewound,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import AssistantPart, Image, Json, Text, Thinking, Usage, UserPart, joined_text
from holdfast.wire.content_blocks import origin_of, tool_call
from holdfast.wire.foreign_json import count, items, obj, seconds, text
from holdfast.wire.recording_builder import RecordingBuilder

NAME = "gemini"
CANCELLED = "Request cancelled."
FAILED = ("error", "cancelled")


def is_gemini(record: dict[str, Json]) -> bool:
    """Whether a value is a whole session, or the first line of one."""
    return "sessionId" in record and "projectHash" in record


def read_gemini(values: Iterable[dict[str, Json]], builder: RecordingBuilder) -> Recording:
    session = GeminiSession(builder)
    for value in values:
        session.read(value)
    session.flush()
    return builder.finish(session.id, title=session.title, meta=session.meta)


class GeminiSession:
    """Reads one session into a builder: keeps the messages that may still be written again."""

    def __init__(self, builder: RecordingBuilder) -> None:
        self.id = ""
        self.title = ""
        self.meta: dict[str, Json] = {}
        self._builder = builder
        self._is_sub_agent = False
        self._waiting: dict[str, dict[str, Json]] = {}
        self._before: dict[str, int] = {}
        """The event before each message that was placed, so that the session can go back there."""
        self._answered: set[str] = set()

    def read(self, record: dict[str, Json]) -> None:
        if "$rewindTo" in record:
            self._rewind(text(record["$rewindTo"]))
        elif "$set" in record:
            self._update(obj(record["$set"]))
        elif is_gemini(record):
            self._read_head(record)
            for message in map(obj, items(record.get("messages"))):
                self._take(message)
        elif text(record.get("type")):
            self._take(record)
        else:
            self._builder.losses.add("left out", "lines without a `type`")

    def _read_head(self, head: dict[str, Json]) -> None:
        self.id = self.id or text(head.get("sessionId"))
        self.title = text(head.get("summary")) or self.title
        self._is_sub_agent = self._is_sub_agent or head.get("kind") == "subagent"
        keys = {"id": "sessionId", "project": "projectHash", "directories": "directories", "kind": "kind"}
        self.meta |= {key: head[theirs] for key, theirs in keys.items() if theirs in head}

    def _take(self, message: dict[str, Json]) -> None:
        own = text(message.get("id")) or f"message {len(self._waiting) + len(self._before)}"
        if own in self._before:
            self._add_results(message)
        else:
            self._waiting[own] = message

    def _update(self, changes: dict[str, Json]) -> None:
        self._read_head(changes)
        messages = changes.get("messages")
        if not isinstance(messages, list):
            return
        if not self._before and not self._waiting:
            for message in map(obj, messages):
                self._take(message)
            return
        self.flush()
        new = [message for message in map(obj, messages) if text(message.get("id")) not in self._before]
        spoken = (message for message in new if message.get("type") == "user")
        summary = next((joined_text(self._parts(message.get("content"))) for message in spoken), "")
        if summary:
            replaced = BoundarySeen(kind="compaction", summary=summary, data={"messages": len(messages)})
            self._builder.add(replaced, at=seconds(changes.get("lastUpdated")))
        for message in new:
            self._before[text(message.get("id"))] = self._builder.newest() or 0

    def _rewind(self, target: str) -> None:
        self.flush()
        before = self._before.get(target, 0)
        known = list(self._before)
        for gone in known[known.index(target) :] if target in self._before else known:
            del self._before[gone]
        self._builder.add(Rewound(reason="rewind"), after=before)

    def flush(self) -> None:
        """Place the messages that wait; they are not expected to be written again."""
        waiting, self._waiting = self._waiting, {}
        for own, message in waiting.items():
            self._before[own] = self._builder.newest() or 0
            self._place(message)

    def _place(self, message: dict[str, Json]) -> None:
        kind, at = text(message.get("type")), seconds(message.get("timestamp"))
        if kind == "gemini":
            self._builder.add(self._reply(message), at=at)
            self._add_results(message)
            return
        parts = self._parts(message.get("content"))
        said = joined_text(parts).strip()
        if kind == "user" and parts:
            origin = origin_of(parts, to_sub_agent=self._is_sub_agent)
            self._builder.add(UserSaid(parts, origin=origin), at=at)
        elif kind == "error":
            self._builder.add(Noted(kind="error", text=said), at=at)
        elif kind == "info" and said == CANCELLED:
            self._builder.add(BoundarySeen(kind="turn_aborted", trigger="user"), at=at)
        else:
            self._builder.losses.add("left out", f"`{kind[:40]}` messages")

    def _reply(self, message: dict[str, Json]) -> AssistantReplied:
        parts: list[AssistantPart] = []
        for thought in map(obj, items(message.get("thoughts"))):
            said = "\n\n".join(filter(None, (text(thought.get("subject")), text(thought.get("description")))))
            parts += [Thinking(said)] if said else []
        parts += [part for part in self._parts(message.get("content")) if isinstance(part, Text)]
        for call in map(obj, items(message.get("toolCalls"))):
            parts.append(tool_call(call.get("id"), call.get("name"), call.get("args"), self._builder.losses))
        model = text(message.get("model"))
        self.meta |= {"model": model} if model else {}
        return AssistantReplied(tuple(parts), model=model, usage=_usage(message.get("tokens")))

    def _add_results(self, message: dict[str, Json]) -> None:
        """The results of a reply's calls that are not known yet."""
        for call in map(obj, items(message.get("toolCalls"))):
            call_id, result = text(call.get("id")), call.get("result")
            if call_id in self._answered or result is None:
                continue
            self._answered.add(call_id)
            if call.get("resultDisplay"):
                self._builder.losses.add("left out", "what the screen showed of results (`resultDisplay`)")
            failed = call.get("status") in FAILED
            returned = ToolReturned(call_id, text(call.get("name")), self._parts(result), error=failed)
            self._builder.add(returned, at=seconds(call.get("timestamp")))

    def _parts(self, content: Json) -> tuple[UserPart, ...]:
        """Texts and pictures of a message or a result."""
        parts: list[UserPart] = []
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, str):
                parts += [Text(block)] if block else []
                continue
            part = obj(block)
            data = obj(part.get("inlineData"))
            response = obj(obj(part.get("functionResponse")).get("response"))
            media = text(data.get("mimeType"))
            if said := text(part.get("text")) or text(response.get("output")) or text(response.get("error")):
                parts.append(Text(said))
            elif media.startswith("image/"):
                parts.append(Image(media_type=media, data=text(data.get("data"))))
            elif part and "text" not in part and not response:
                self._builder.losses.add("left out", f"`{next(iter(part))[:40]}` parts")
        return tuple(parts)


def _usage(value: Json) -> Usage | None:
    """What was thought is counted apart from what was said."""
    tokens = obj(value)
    prompt, cached = count(tokens.get("input")), count(tokens.get("cached"))
    completion = count(tokens.get("output")) + count(tokens.get("thoughts"))
    return Usage(prompt, completion, cache_read=cached) if prompt else None
