"""Copilot CLI sessions: one event a line, `{"type", "data", "id", "parentId", "timestamp"}`.

Rule: what the model read and wrote becomes messages; hooks, turns and telemetry are counted.
"""

from collections.abc import Iterable

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    ChainStarted,
    Noted,
    Recording,
    SystemSet,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import AssistantPart, Image, Json, Text, Thinking, UserPart
from holdfast.wire.content_blocks import origin_of, tool_call
from holdfast.wire.foreign_json import count, items, obj, seconds, small, text
from holdfast.wire.recording_builder import RecordingBuilder

NAME = "copilot"


def read_copilot(values: Iterable[dict[str, Json]], builder: RecordingBuilder) -> Recording:
    session = CopilotSession(builder)
    for value in values:
        session.read(value)
    return builder.finish(session.id, meta=session.meta)


class CopilotSession:
    """Reads one session into a builder: keeps its images by id, and the chains of its sub-agents."""

    def __init__(self, builder: RecordingBuilder) -> None:
        self.id = ""
        self.meta: dict[str, Json] = {}
        self._builder = builder
        self._systems: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._images: dict[str, Image] = {}

    def read(self, line: dict[str, Json]) -> None:
        kind, data = text(line.get("type")), obj(line.get("data"))
        at = seconds(line.get("timestamp"))
        chain = self._chain(line, data, at)
        if kind == "session.start":
            self.id = self.id or text(data.get("sessionId"))
            context = obj(data.get("context"))
            keys = {"cwd": "cwd", "repo": "repository", "branch": "branch", "commit": "headCommit"}
            self.meta |= {"id": self.id, "version": data.get("copilotVersion")}
            self.meta |= {key: context.get(theirs) for key, theirs in keys.items()}
        elif kind == "session.model_change":
            self.meta["model"] = data.get("newModel")
        elif kind == "session.binary_asset":
            if (image := self._image(data)) is not None:
                self._images[text(data.get("assetId"))] = image
        elif kind == "system.message":
            # Repeated before every turn; only a change is an event.
            system = text(data.get("content"))
            if system and self._systems.get(chain) != system:
                self._systems[chain] = system
                self._builder.add(SystemSet(system), chain=chain, at=at)
        elif kind == "user.message":
            self._read_user(data, chain, at)
        elif kind == "assistant.message":
            self._builder.add(self._reply(data), chain=chain, at=at)
        elif kind == "tool.execution_complete":
            self._builder.add(self._returned(data), chain=chain, at=at)
        elif kind in ("abort", "session.compaction_complete", "session.truncation"):
            self._builder.add(_boundary(kind, data), chain=chain, at=at)
        elif kind == "session.error":
            self._builder.add(Noted(kind="error", text=text(data.get("message"))), chain=chain, at=at)
        elif kind != "subagent.started":
            self._builder.losses.add("left out", f"`{kind}` lines")

    def _chain(self, line: dict[str, Json], data: dict[str, Json], at: float | None) -> str:
        """The chain of a sub-agent's line, started at its first line; empty for the main chain."""
        agent = text(line.get("agentId"))
        if line.get("type") == "subagent.started":
            call = text(data.get("toolCallId"))
            chain = agent or call
            self._agents |= {agent: chain, call: chain}
            after = self._builder.caller(call)
            name = text(data.get("agentName"))
            self._builder.add(ChainStarted(agent=name, call_id=call), chain=chain, at=at, after=after)
            return chain
        key = agent or text(data.get("parentToolCallId"))
        if key and key not in self._agents:
            self._agents[key] = key
            after = self._builder.caller(key)
            call = key if after is not None else ""
            self._builder.add(ChainStarted(call_id=call), chain=key, at=at, after=after)
        return self._agents.get(key, "")

    def _read_user(self, data: dict[str, Json], chain: str, at: float | None) -> None:
        """What the person typed, then, as a reminder, what the program put around it."""
        said = text(data.get("content"))
        parts = self._parts(said, data.get("attachments"), "`{type}` attachments")
        if parts:
            origin = origin_of(parts, to_sub_agent=bool(chain))
            self._builder.add(UserSaid(parts, origin=origin), chain=chain, at=at)
        sent = text(data.get("transformedContent"))
        before, _, after = sent.partition(said) if said and said in sent else (sent, "", "")
        around = "\n\n".join(filter(None, (before.strip(), after.strip())))
        if around:
            self._builder.add(UserSaid((Text(around),), origin="reminder"), chain=chain, at=at)

    def _reply(self, data: dict[str, Json]) -> AssistantReplied:
        parts: list[AssistantPart] = []
        if thought := text(data.get("reasoningText")):
            parts.append(Thinking(thought))
        if data.get("reasoningOpaque"):
            self._builder.losses.add("left out", "opaque reasoning")
        if said := text(data.get("content")):
            parts.append(Text(said))
        for request in map(obj, items(data.get("toolRequests"))):
            call, name, arguments = (request.get(key) for key in ("toolCallId", "name", "arguments"))
            parts.append(tool_call(call, name, arguments, self._builder.losses))
        if data.get("outputTokens"):
            # Without the prompt's size a usage would say that nothing was sent.
            self._builder.losses.add("left out", "counts of output tokens alone")
        return AssistantReplied(tuple(parts), model=text(data.get("model")))

    def _returned(self, data: dict[str, Json]) -> ToolReturned:
        result, call_id = obj(data.get("result")), text(data.get("toolCallId"))
        failed = data.get("success") is False
        said = text(result.get("content")) or (text(obj(data.get("error")).get("message")) if failed else "")
        parts = self._parts(said, result.get("binaryResultsForLlm"), "binary results that are no pictures")
        return ToolReturned(call_id, self._builder.names.get(call_id, ""), parts, error=failed)

    def _parts(self, said: str, images: Json, others: str) -> tuple[UserPart, ...]:
        """A text and its images; what is none is lost, under the name of `others`."""
        parts: list[UserPart] = [Text(said)] if said else []
        for found in map(obj, items(images)):
            if (image := self._image(found)) is not None:
                parts.append(image)
            else:
                self._builder.losses.add("left out", others.format(type=text(found.get("type"))))
        return tuple(parts)

    def _image(self, data: dict[str, Json]) -> Image | None:
        if known := self._images.get(text(data.get("assetId"))):
            return known
        media, content = text(data.get("mimeType")), text(data.get("data"))
        return Image(media_type=media, data=content) if content and media.startswith("image/") else None


def _boundary(kind: str, data: dict[str, Json]) -> BoundarySeen:
    if kind == "abort":
        return BoundarySeen(kind="turn_aborted", trigger=text(data.get("reason")))
    rest = {key: value for key, value in data.items() if key not in ("summaryContent", "toolTelemetry")}
    return BoundarySeen(
        kind=kind.removeprefix("session."),
        trigger=text(data.get("trigger")),
        tokens_before=count(data.get("preCompactionTokens"))
        or count(data.get("preTruncationTokensInMessages")),
        summary=text(data.get("summaryContent")),
        data=small(rest),
    )
