"""Claude Code sessions: project JSONL files, a tree of lines by `uuid` and `parentUuid`.

Rule: lines with the same message id are one reply, at the place of its first line. The chain of a sub-agent
begins with one `ChainStarted`, after the reply whose call started it where that is known.
"""

from collections.abc import Iterable

from msgspec import Struct

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    ChainStarted,
    Event,
    Noted,
    Origin,
    OverflowReported,
    Recording,
    UserSaid,
)
from holdfast.messages import Json, joined_text
from holdfast.wire.anthropic import anthropic_usage, reply_parts, user_events
from holdfast.wire.content_blocks import is_machine_made, user_parts
from holdfast.wire.foreign_json import count, items, obj, seconds, small, text
from holdfast.wire.recording_builder import EventTree, RecordingBuilder, first_line

NAME = "claude-code"
INTERRUPTED = "[Request interrupted by user"
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}


class SideChains:
    """Which sub-agent's chain a line belongs to, and which call started it."""

    def __init__(self, lines: list[dict[str, Json]], builder: RecordingBuilder) -> None:
        self._builder = builder
        self._calls = _agent_calls(lines)
        self._keys = _roots(lines)
        self._started: set[str] = set()
        spoken = [line for line in lines if line.get("type") in ("user", "assistant")]
        # A sub-agent's own file: its one chain is the main chain of the recording.
        self._alone = bool(spoken) and all(line.get("isSidechain") for line in spoken)
        agent = text(spoken[0].get("agentId")) if self._alone else ""
        self.suffix = f"/{agent}" if agent else ""

    def is_side(self, line: dict[str, Json]) -> bool:
        return bool(line.get("isSidechain") or line.get("parent_tool_use_id"))

    def chain_of(self, line: dict[str, Json]) -> str:
        """The line's chain, begun if this is its first line; empty on the main chain."""
        if not self.is_side(line) or self._alone:
            return ""
        named = text(line.get("agentId")) or text(line.get("parent_tool_use_id"))
        key = named or self._keys.get(text(line.get("uuid")), "") or "side"
        if key not in self._started:
            self._started.add(key)
            self._start(key, line)
        return key

    def _start(self, key: str, line: dict[str, Json]) -> None:
        content = obj(line.get("message")).get("content")
        prompt = text(content) or next((text(obj(block).get("text")) for block in items(content)), "")
        call_id = text(line.get("callId")) or text(line.get("parent_tool_use_id"))
        call_id = call_id or next((c for c, call in self._calls.items() if call.get("prompt") == prompt), "")
        call = self._calls.get(call_id, {})
        started = ChainStarted(
            agent=text(call.get("subagent_type")),
            call_id=call_id,
            title=first_line(text(call.get("description")) or prompt),
        )
        after = self._builder.caller(call_id)
        at = seconds(line.get("timestamp"))
        self._builder.add(started, chain=key, at=at, after=self._builder.newest() if after is None else after)


def _roots(lines: list[dict[str, Json]]) -> dict[str, str]:
    """The first line of its chain for each side line: older versions name no agent."""
    roots: dict[str, str] = {}
    for line in lines:
        if line.get("isSidechain"):
            own = text(line.get("uuid"))
            roots.setdefault(own, roots.get(text(line.get("parentUuid")), own))
    return roots


def _agent_calls(lines: list[dict[str, Json]]) -> dict[str, dict[str, Json]]:
    """The arguments of calls that carry a prompt, by call id."""
    calls: dict[str, dict[str, Json]] = {}
    for line in lines:
        if line.get("type") == "assistant":
            for block in map(obj, items(obj(line.get("message")).get("content"))):
                if "prompt" in obj(block.get("input")):
                    calls[text(block.get("id"))] = obj(block.get("input"))
    return calls


class ReplyLines(Struct):
    """The lines of one model response: their blocks in order, and what the last of them reports."""

    blocks: list[Json]
    usage: Json = None
    stop: str = ""
    index: int | None = None
    placed: bool = False


def read_claude_code(values: Iterable[dict[str, Json]], builder: RecordingBuilder) -> Recording:
    lines = [_unwrapped(value) for value in values]
    session = ClaudeCodeSession(lines, builder)
    for line in lines:
        session.read(line)
    return builder.finish(session.id, title=session.title, meta=session.meta)


def _unwrapped(line: dict[str, Json]) -> dict[str, Json]:
    """A sub-agent's message as a line of its own: newer versions report them as progress of the call."""
    data = obj(line.get("data"))
    inner = obj(data.get("message"))
    if line.get("type") != "progress" or data.get("type") != "agent_progress" or not inner.get("message"):
        return line
    chain = {"isSidechain": True, "agentId": data.get("agentId"), "callId": line.get("parentToolUseID")}
    return {"sessionId": line.get("sessionId"), **inner, **chain}


class ClaudeCodeSession:
    def __init__(self, lines: list[dict[str, Json]], builder: RecordingBuilder) -> None:
        self._chains = SideChains(lines, builder)
        ids = (text(line.get("sessionId")) or text(line.get("session_id")) for line in lines)
        self.id = next(filter(None, ids), "") + self._chains.suffix
        self.title = ""
        self.meta: dict[str, Json] = {"id": self.id}
        self._builder = builder
        self._tree = EventTree(builder)
        self._replies = _replies(lines)
        self._summaries = {
            text(line.get("parentUuid")): _said(line) for line in lines if line.get("isCompactSummary")
        }
        self._seen: set[str] = set()
        self._uuids = {text(line.get("uuid")) for line in lines}
        self._boundaries = {text(line.get("uuid")) for line in lines if _is_boundary(line)}

    def read(self, line: dict[str, Json]) -> None:
        kind, own = text(line.get("type")), text(line.get("uuid"))
        if own in self._seen:
            self._builder.losses.add("left out", "lines that repeat an earlier uuid")
            return
        if own:
            self._seen.add(own)
        if kind == "assistant":
            self._read_reply(line)
        elif kind == "user":
            self._read_user(line)
        elif _is_boundary(line):
            self._add(self._boundary(line), line)
        elif kind == "attachment" and obj(line.get("attachment")).get("type") == "queued_command":
            self._read_queued(line)
        else:
            self._skip(line, kind)

    def _read_user(self, line: dict[str, Json]) -> None:
        for key in ("cwd", "gitBranch", "version"):
            self.meta.setdefault(key, line.get(key))
        if line.get("toolUseResult") is not None:
            self._builder.losses.add("left out", "structured copies of results (`toolUseResult`)")
        content = obj(line.get("message")).get("content")
        events = user_events(content, self._builder.names, self._builder.losses)
        if line.get("isCompactSummary") and text(line.get("parentUuid")) not in self._boundaries:
            events.insert(0, BoundarySeen(kind="compact_summary", summary=_said(line)))
        for event in events:
            if isinstance(event, UserSaid):
                if joined_text(event.parts).startswith(INTERRUPTED):
                    self._add(BoundarySeen(kind="turn_aborted", trigger="user"), line)
                self._add(UserSaid(event.parts, origin=self._origin(event, line)), line)
            else:
                self._add(event, line)
        if not events:
            self._tree.skip(text(line.get("uuid")), text(line.get("parentUuid")))

    def _origin(self, event: UserSaid, line: dict[str, Json]) -> Origin:
        kind = text(obj(line.get("origin")).get("kind")) or "human"
        if line.get("isMeta") or line.get("isCompactSummary") or event.origin == "reminder":
            return "reminder"
        if self._chains.is_side(line) or kind == "peer":
            return "agent"
        return "person" if kind == "human" else "reminder"

    def _read_queued(self, line: dict[str, Json]) -> None:
        """What was typed while the agent worked: it has no user line."""
        queued = obj(line.get("attachment"))
        parts = user_parts(queued.get("prompt"), self._builder.losses)
        human = text(obj(queued.get("origin")).get("kind")) in ("", "human") and not queued.get("isMeta")
        typed = human and queued.get("commandMode", "prompt") == "prompt"
        if parts:
            machine = not typed or is_machine_made(joined_text(parts))
            self._add(UserSaid(parts, origin="reminder" if machine else "person"), line)

    def _read_reply(self, line: dict[str, Json]) -> None:
        message = obj(line.get("message"))
        own, parent = text(line.get("uuid")), text(line.get("parentUuid"))
        if line.get("isApiErrorMessage"):
            # Written by the program in place of a reply; no model wrote or read it.
            said = _said(line)
            too_long = "prompt is too long" in said.lower()
            self._add(OverflowReported(message=said) if too_long else Noted(kind="error", text=said), line)
            return
        reply = self._replies[_reply_key(line)]
        if not reply.placed:
            reply.placed = True
            model = text(message.get("model"))
            if model != "<synthetic>":
                self.meta["model"] = model
            parts, usage = reply_parts(reply.blocks, self._builder.losses), anthropic_usage(reply.usage)
            reply.index = self._add(AssistantReplied(parts, model, usage, reply.stop), line)
        elif reply.index is not None:
            self._tree.alias(own, reply.index)
        else:
            self._tree.skip(own, parent)

    def _boundary(self, line: dict[str, Json]) -> BoundarySeen:
        meta = obj(line.get("compactMetadata")) or obj(line.get("microcompactMetadata"))
        known = ("trigger", "preTokens")
        return BoundarySeen(
            kind=text(line.get("subtype")),
            trigger=text(meta.get("trigger")),
            tokens_before=count(meta.get("preTokens")),
            summary=self._summaries.get(text(line.get("uuid")), ""),
            data=small({key: value for key, value in meta.items() if key not in known}),
        )

    def _add(self, event: Event, line: dict[str, Json]) -> int | None:
        """A compaction clears `parentUuid`, though the session continues: only what a person says can be a root."""
        own, parent = text(line.get("uuid")), text(line.get("parentUuid"))
        person = isinstance(event, UserSaid) and event.origin == "person"
        root = person and "parentUuid" in line and line["parentUuid"] is None
        if self._tree.knows(own):
            parent, root = own, False
        return self._tree.add(
            event,
            own=own,
            parent=parent or text(line.get("logicalParentUuid")),
            chain=self._chains.chain_of(line),
            at=seconds(line.get("timestamp")),
            root=root,
        )

    def _skip(self, line: dict[str, Json], kind: str) -> None:
        self._tree.skip(text(line.get("uuid")), text(line.get("parentUuid")))
        if kind in TITLES and text(line.get("leafUuid")) in {*self._uuids, ""}:
            self.title = text(line.get(TITLES[kind])) or self.title
            return
        inner = obj(line.get("data") or line.get("attachment"))
        detail = text(line.get("subtype")) or text(inner.get("type"))
        self._builder.losses.add("left out", f"`{kind}{': ' + detail if detail else ''}` lines")


def _replies(lines: list[dict[str, Json]]) -> dict[str, ReplyLines]:
    replies: dict[str, ReplyLines] = {}
    seen: set[str] = set()
    for line in lines:
        own = text(line.get("uuid"))
        if line.get("type") != "assistant" or (own and own in seen):
            continue
        seen.add(own)
        message = obj(line.get("message"))
        reply = replies.setdefault(_reply_key(line), ReplyLines([]))
        content = message.get("content")
        reply.blocks += content if isinstance(content, list) else [{"type": "text", "text": text(content)}]
        reply.usage = message.get("usage") or reply.usage
        reply.stop = text(message.get("stop_reason")) or reply.stop
    return replies


def _reply_key(line: dict[str, Json]) -> str:
    return text(obj(line.get("message")).get("id")) or f"line {text(line.get('uuid'))}"


def _is_boundary(line: dict[str, Json]) -> bool:
    return line.get("type") == "system" and text(line.get("subtype")).endswith("compact_boundary")


def _said(line: dict[str, Json]) -> str:
    content = obj(line.get("message")).get("content")
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(
        part if isinstance(part, str) else text(obj(part).get("text")) for part in blocks if part
    )
