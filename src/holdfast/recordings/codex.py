"""Codex rollouts: session files of the Codex CLI, with the event envelope or, older, without it.

Rule: the items of one model response (reasoning, message, calls up to the first output) are one reply.
"""

from collections.abc import Iterable

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    Recording,
    Rewound,
    SystemSet,
    ToolReturned,
    UsageReported,
    UserSaid,
)
from holdfast.messages import AssistantPart, Json, Text, Thinking, Usage
from holdfast.wire.content_blocks import origin_of, tool_call, user_parts
from holdfast.wire.foreign_json import count, items, obj, seconds, small, text
from holdfast.wire.recording_builder import EMPTY_REPLY, RecordingBuilder

NAME = "codex"
ENVELOPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output")
REPEATS = ("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content")


def read_codex(values: Iterable[dict[str, Json]], builder: RecordingBuilder) -> Recording:
    rollout = CodexRollout(builder)
    for value in values:
        rollout.read(value)
    rollout.close()
    return builder.finish(rollout.id, meta=rollout.meta)


class CodexRollout:
    """Reads one rollout into a builder: keeps the reply that is still open."""

    def __init__(self, builder: RecordingBuilder) -> None:
        self._builder = builder
        self._open: list[AssistantPart] = []
        self._opened_at: float | None = None
        self._at: float | None = None
        self._reply: int | None = None
        self._spent = 0
        self._model = ""
        self._sub_agent = False
        # The event before each turn, so that turns can be taken back.
        self._turns: list[int] = []
        self.id = ""
        self.meta: dict[str, Json] = {}

    def read(self, line: dict[str, Json]) -> None:
        kind = text(line.get("type"))
        self._at = seconds(line.get("timestamp")) or self._at
        payload = obj(line.get("payload"))
        if kind == "session_meta":
            self._read_session(payload)
        elif kind == "turn_context":
            self._model = self.meta["model"] = text(payload.get("model")) or self._model
        elif kind == "response_item":
            self._read_item(payload)
        elif kind == "event_msg":
            self._read_notice(payload)
        elif kind == "compacted":
            self.close()
            kept = len(items(payload.get("replacement_history")))
            data = small({"replacement_items": kept or None, "window_number": payload.get("window_number")})
            summary = text(payload.get("message"))
            self._builder.add(BoundarySeen(kind="compacted", summary=summary, data=data), at=self._at)
        elif not kind and "record_type" not in line and "id" in line:
            self._read_session(line)
        elif kind and "payload" not in line:
            self._read_item(line)
        else:
            self._builder.losses.add("left out", f"`{kind or line.get('record_type')}` lines")

    def _read_session(self, session: dict[str, Json]) -> None:
        if self.id:
            # A fork repeats the head of the session it came from after its own.
            self._builder.losses.add("left out", "further `session_meta` lines")
            return
        self.id = text(session.get("id"))
        source = session.get("source")
        self._sub_agent = "subagent" in obj(source) or session.get("thread_source") == "subagent"
        git = obj(session.get("git"))
        keys = ("cwd", "cli_version", "originator", "model_provider", "parent_thread_id", "forked_from_id")
        self.meta = {
            "id": self.id,
            **{key: session.get(key) for key in keys},
            "source": source,
            "repo": git.get("repository_url"),
            "commit": git.get("commit_hash"),
            "branch": git.get("branch"),
        }
        base = obj(session.get("base_instructions"))
        if system := text(base.get("text")) or text(session.get("instructions")):
            self._builder.add(SystemSet(system), at=self._at)

    def _read_item(self, item: dict[str, Json]) -> None:
        kind = text(item.get("type"))
        if kind == "message":
            self._read_message(item)
        elif kind == "reasoning":
            self._read_reasoning(item)
        elif kind in CALLS:
            self._continue(_call(item, kind, self._builder))
        elif kind in OUTPUTS:
            self._read_output(item)
        else:
            self._builder.losses.add("left out", f"`{kind}` items")

    def _read_message(self, message: dict[str, Json]) -> None:
        role = text(message.get("role"))
        parts = user_parts(message.get("content"), self._builder.losses)
        if role == "assistant":
            for part in parts:
                if isinstance(part, Text):
                    self._continue(part)
            return
        self.close()
        if not parts:
            self._builder.losses.add("left out", f"empty {role} messages")
        elif role == "user":
            origin = origin_of(parts, to_sub_agent=self._sub_agent)
            if origin != "reminder":
                self._turns.append(self._builder.newest() or 0)
            self._builder.add(UserSaid(parts, origin=origin), at=self._at)
        else:
            # Developer messages are about different subjects (permissions, modes) at different times. If each one
            # replaced the last, the others would be lost and the prefix would move; reminders keep their place.
            self._builder.losses.add("kept as reminders", f"{role} messages")
            self._builder.add(UserSaid(parts, origin="reminder"), at=self._at)

    def _read_reasoning(self, item: dict[str, Json]) -> None:
        blocks = [*items(item.get("summary")), *items(item.get("content"))]
        thoughts = [text(obj(block).get("text")) for block in blocks]
        if said := "\n\n".join(filter(None, thoughts)):
            self._continue(Thinking(said))
        else:
            self._builder.losses.add("left out", "reasoning items without readable text")
        if item.get("encrypted_content"):
            # Only OpenAI can decrypt it, and only in its own Responses API.
            self._builder.losses.add("left out", "encrypted reasoning")

    def _read_output(self, item: dict[str, Json]) -> None:
        self.close()
        output = item.get("output")
        body = obj(output)
        parts = user_parts(body.get("content", body.get("body")) if body else output, self._builder.losses)
        call_id, failed = text(item.get("call_id")), body.get("success") is False
        returned = ToolReturned(call_id, self._builder.names.get(call_id, ""), parts, error=failed)
        self._builder.add(returned, at=self._at)

    def _read_notice(self, notice: dict[str, Json]) -> None:
        kind = text(notice.get("type"))
        if kind == "token_count":
            self._read_usage(obj(notice.get("info")))
        elif kind == "turn_aborted":
            self.close()
            aborted = BoundarySeen(kind="turn_aborted", trigger=text(notice.get("reason")))
            self._builder.add(aborted, at=self._at)
        elif kind == "thread_rolled_back":
            self._roll_back(count(notice.get("num_turns")))
        elif kind in REPEATS:
            self._builder.losses.add("left out", "notices that repeat an item")
        else:
            self._builder.losses.add("left out", f"`{kind}` notices")

    def _read_usage(self, info: dict[str, Json]) -> None:
        """Counts are repeated when only rate limits changed; a new total means that a response ended."""
        total = count(obj(info.get("total_token_usage")).get("total_tokens"))
        if total == self._spent:
            return
        self._spent = total
        self.close()
        last = obj(info.get("last_token_usage"))
        keys = ("input_tokens", "output_tokens", "cached_input_tokens")
        prompt, completion, cached = (count(last.get(key)) for key in keys)
        usage = Usage(prompt, completion, cache_read=cached)
        if prompt and self._reply is not None:
            self._builder.report_usage(self._reply, usage)
        elif prompt:
            self._builder.add(UsageReported(usage, model=self._model, purpose=EMPTY_REPLY), at=self._at)
        self._reply = None

    def _roll_back(self, turns: int) -> None:
        """The newest turns were taken back: the session continues from where they began."""
        self.close()
        if not 0 < turns <= len(self._turns):
            self._builder.losses.add("left out", "rollbacks of turns that are not in the file")
            return
        before = self._turns[-turns]
        del self._turns[-turns:]
        self._builder.add(Rewound(reason="thread_rolled_back"), at=self._at, after=before)

    def _continue(self, part: AssistantPart) -> None:
        if not self._open:
            self._opened_at = self._at
        self._open.append(part)

    def close(self) -> None:
        if self._open:
            reply = AssistantReplied(tuple(self._open), model=self._model)
            self._reply = self._builder.add(reply, at=self._opened_at)
            self._open = []


def _call(item: dict[str, Json], kind: str, builder: RecordingBuilder) -> AssistantPart:
    call_id = item.get("call_id") or item.get("id")
    if kind == "local_shell_call":
        return tool_call(call_id, "local_shell", obj(item.get("action")), builder.losses)
    if kind == "custom_tool_call":
        # Free text by design, not broken JSON: as an argument it can be shortened and searched like any other.
        return tool_call(call_id, item.get("name"), {"input": text(item.get("input"))}, builder.losses)
    return tool_call(call_id, item.get("name") or kind, item.get("arguments"), builder.losses)
