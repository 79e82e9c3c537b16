"""opencode sessions as `opencode export` writes them: `{"info", "messages": [{"info", "parts"}]}`.

Rule: the parts from one `step-start` to the next are one reply, and a call's state is its result. A compaction is a
boundary with the summary that was written for it.
"""

from collections.abc import Mapping, Sequence

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    ChainStarted,
    Event,
    Noted,
    OverflowReported,
    Recording,
    Rewound,
    SystemSet,
    ToolReturned,
    UsageReported,
    UserSaid,
)
from holdfast.messages import AssistantPart, Json, Text, Thinking, Usage, UserPart
from holdfast.wire.content_blocks import image_at, origin_of, tool_call
from holdfast.wire.foreign_json import count, items, obj, seconds, text
from holdfast.wire.recording_builder import RecordingBuilder, first_line

NAME = "opencode"
ABORTED = "MessageAbortedError"
OVERFLOWED = "ContextOverflowError"
SUMMARY = "a summary"

SessionValue = dict[str, Json]
"""A session as it is exported."""


def is_opencode(record: dict[str, Json]) -> bool:
    messages = record.get("messages")
    if not isinstance(record.get("info"), dict) or not isinstance(messages, list):
        return False
    first = obj(messages[0]) if messages else {}
    return {"info", "parts"} <= first.keys() or (
        not messages and text(record["info"].get("id")).startswith("ses")
    )


def read_opencode(value: Json, builder: RecordingBuilder, id: str = "") -> Recording:  # noqa: A002
    return read_sessions(obj(value), {}, builder, id)


def read_sessions(
    session: SessionValue, children: Mapping[str, SessionValue], builder: RecordingBuilder, own: str
) -> Recording:
    """A session with those of its sub-agents, which are known by their ids."""
    info = obj(session.get("info"))
    reader = OpencodeSession(builder, children)
    reader.read(session, "")
    if builder.is_empty():
        builder.refuse("holds no message that opencode would have", hint="check that the agent took a turn")
    keys = {"id": "id", "cwd": "directory", "version": "version", "parent": "parentID"}
    meta = {key: info.get(theirs) for key, theirs in keys.items()} | reader.meta
    return builder.finish(text(info.get("id")) or own, title=text(info.get("title")), meta=meta)


class OpencodeSession:
    """Reads a session, and below it those of its sub-agents, into a builder."""

    def __init__(self, builder: RecordingBuilder, children: Mapping[str, SessionValue]) -> None:
        self.meta: dict[str, Json] = {}
        self._builder = builder
        self._children = dict(children)
        self._system: dict[str, str] = {}

    def read(self, session: SessionValue, chain: str) -> None:
        info = obj(session.get("info"))
        messages = [obj(message) for message in items(session.get("messages"))]
        is_sub_agent = bool(chain or info.get("parentID"))
        before: dict[str, int] = {}
        for message in messages:
            head = obj(message.get("info"))
            before[text(head.get("id"))] = self._builder.newest(chain) or 0
            if head.get("role") == "user":
                self._read_user(message, messages, chain, is_sub_agent=is_sub_agent)
            elif head.get("role") == "assistant":
                self._read_replies(message, chain)
            else:
                self._builder.losses.add(
                    "left out", f"messages with the role `{text(head.get('role'))[:40]}`"
                )
        undone = text(obj(info.get("revert")).get("messageID"))
        if undone in before:
            self._builder.add(Rewound(reason="revert"), chain=chain, after=before[undone])

    def _read_user(
        self, message: dict[str, Json], messages: Sequence[dict[str, Json]], chain: str, *, is_sub_agent: bool
    ) -> None:
        head = obj(message.get("info"))
        at = seconds(obj(head.get("time")).get("created"))
        if (system := text(head.get("system"))) and self._system.get(chain) != system:
            self._system[chain] = system
            self._builder.add(SystemSet(system), chain=chain, at=at)
        said: list[UserPart] = []
        added: list[UserPart] = []
        for part in map(obj, items(message.get("parts"))):
            kind = text(part.get("type"))
            if kind == "text" and not part.get("ignored"):
                (added if part.get("synthetic") else said).extend(_texts(part))
            elif kind == "file" and (image := _image(part)):
                said.append(image)
            elif kind == "compaction":
                self._builder.add(_compaction(part, head, messages), chain=chain, at=at)
            elif kind == "subtask":
                said += [Text(prompt)] if (prompt := text(part.get("prompt"))) else []
            else:
                self._builder.losses.add("left out", f"`{kind[:40]}` parts of user messages")
        if said:
            origin = origin_of(tuple(said), to_sub_agent=is_sub_agent)
            self._builder.add(UserSaid(tuple(said), origin=origin), chain=chain, at=at)
        if added:
            self._builder.add(UserSaid(tuple(added), origin="reminder"), chain=chain, at=at)

    def _read_replies(self, message: dict[str, Json], chain: str) -> None:
        head = obj(message.get("info"))
        at = seconds(obj(head.get("time")).get("created"))
        model = text(head.get("modelID"))
        self.meta |= {"model": model, "provider": head.get("providerID")} if model and not chain else {}
        if head.get("summary") is True:
            # Its text is the boundary's; nobody was answered by it.
            if usage := _usage(head.get("tokens")):
                self._builder.add(UsageReported(usage, model=model, purpose=SUMMARY), chain=chain, at=at)
            return
        steps = _steps(items(message.get("parts")))
        for parts in steps:
            self._read_step(parts, head, chain, at, is_only=len(steps) == 1)
        if error := obj(head.get("error")):
            self._builder.add(_error(error), chain=chain, at=at)

    def _read_step(
        self,
        parts: Sequence[dict[str, Json]],
        head: dict[str, Json],
        chain: str,
        at: float | None,
        *,
        is_only: bool,
    ) -> None:
        written: list[AssistantPart] = []
        usage = _usage(head.get("tokens")) if is_only else None
        stop = text(head.get("finish"))
        for part in parts:
            kind = text(part.get("type"))
            if kind == "text":
                written += _texts(part)
            elif kind == "reasoning":
                written += _thinking(part)
            elif kind == "tool":
                state = obj(part.get("state"))
                call, name = part.get("callID"), part.get("tool")
                written.append(tool_call(call, name, state.get("input"), self._builder.losses))
            elif kind == "step-finish":
                usage = _usage(part.get("tokens")) or usage
                stop = text(part.get("reason")) or stop
            elif kind == "retry":
                self._builder.add(_error(obj(part.get("error"))), chain=chain, at=at)
            elif kind != "step-start":
                self._builder.losses.add("left out", f"`{kind[:40]}` parts")
        reply = AssistantReplied(tuple(written), model=text(head.get("modelID")), usage=usage, stop=stop)
        self._builder.add(reply, chain=chain, at=at)
        for part in parts:
            if part.get("type") == "tool":
                state, call_id = obj(part.get("state")), text(part.get("callID"))
                self._read_sub_agent(state, call_id)
                self._read_result(state, call_id, text(part.get("tool")), chain)

    def _read_sub_agent(self, state: dict[str, Json], call_id: str) -> None:
        """The session that a call started, if it did."""
        child = text(obj(state.get("metadata")).get("sessionId"))
        if session := self._children.pop(child, None):
            given = obj(state.get("input"))
            agent, about = text(given.get("subagent_type")), text(given.get("description"))
            started = ChainStarted(agent=agent, call_id=call_id, title=first_line(about))
            began = seconds(obj(state.get("time")).get("start"))
            self._builder.add(started, chain=child, at=began, after=self._builder.caller(call_id))
            self.read(session, child)

    def _read_result(self, state: dict[str, Json], call_id: str, tool: str, chain: str) -> None:
        status = state.get("status")
        if status not in ("completed", "error"):
            return
        said = text(state.get("output")) if status == "completed" else text(state.get("error"))
        found: list[UserPart] = [Text(said)] if said else []
        for attached in map(obj, items(state.get("attachments"))):
            if image := _image(attached):
                found.append(image)
            else:
                self._builder.losses.add("left out", "attachments of results that are no pictures")
        ended = seconds(obj(state.get("time")).get("end"))
        returned = ToolReturned(call_id, tool, tuple(found), error=status == "error")
        self._builder.add(returned, chain=chain, at=ended)


def _steps(parts: Sequence[Json]) -> list[list[dict[str, Json]]]:
    """The parts of each model response in a message."""
    steps: list[list[dict[str, Json]]] = [[]]
    for part in map(obj, parts):
        if part.get("type") == "step-start" and any(p.get("type") != "step-start" for p in steps[-1]):
            steps.append([])
        steps[-1].append(part)
    return steps


def _texts(part: dict[str, Json]) -> list[Text]:
    said = text(part.get("text"))
    return [Text(said)] if said else []


def _thinking(part: dict[str, Json]) -> list[Thinking]:
    """Only Anthropic's signatures are taken back by a messages API."""
    signature = text(obj(obj(part.get("metadata")).get("anthropic")).get("signature"))
    said = text(part.get("text"))
    return [Thinking(said, signature=signature)] if said or signature else []


def _image(part: dict[str, Json]) -> UserPart | None:
    return image_at(text(part.get("url"))) if text(part.get("mime")).startswith("image/") else None


def _compaction(
    part: dict[str, Json], head: dict[str, Json], messages: Sequence[dict[str, Json]]
) -> BoundarySeen:
    summaries = (
        message
        for message in messages
        if obj(message.get("info")).get("summary") is True
        and obj(message.get("info")).get("parentID") == head.get("id")
    )
    parts = map(obj, items(next(summaries, {}).get("parts")))
    written = "\n".join(text(found.get("text")) for found in parts if found.get("type") == "text")
    return BoundarySeen(kind="compaction", trigger="auto" if part.get("auto") else "manual", summary=written)


def _error(error: dict[str, Json]) -> Event:
    name, message = text(error.get("name")), text(obj(error.get("data")).get("message"))
    if name == ABORTED:
        return BoundarySeen(kind="turn_aborted", trigger=message)
    said = ": ".join(filter(None, (name, message)))
    return OverflowReported(message=said) if name == OVERFLOWED else Noted(kind="error", text=said)


def _usage(value: Json) -> Usage | None:
    tokens = obj(value)
    cache = obj(tokens.get("cache"))
    read, write = count(cache.get("read")), count(cache.get("write"))
    prompt = count(tokens.get("input")) + read + write
    completion = count(tokens.get("output")) + count(tokens.get("reasoning"))
    return Usage(prompt, completion, cache_read=read, cache_write=write) if prompt else None
