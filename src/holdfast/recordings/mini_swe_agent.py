"""mini-swe-agent trajectories (`*.traj.json`): messages in OpenAI's shape, or in that of the Responses API.

Rule: the one block of code in a reply is a call of `bash`, and the message after it is the result. Where the model
called tools by itself, its own calls and results count.
"""

import re

from holdfast.events import AssistantReplied, Noted, Recording, ToolReturned, UserSaid
from holdfast.messages import AssistantPart, Json, Text, Thinking, ToolCall, Usage
from holdfast.wire.content_blocks import split_system, tool_call, user_message_events, user_parts
from holdfast.wire.foreign_json import count, items, obj, seconds, text
from holdfast.wire.openai import reply_parts
from holdfast.wire.recording_builder import RecordingBuilder

NAME = "mini-swe-agent"
SUBMITTED = "Submitted"
_ACTION = re.compile(r"```(?:bash|mswea_bash_command)[^\S\n]*+\n(.*?)\n```", re.DOTALL)


def is_mini_swe_agent(record: dict[str, Json]) -> bool:
    named = text(record.get("trajectory_format")).startswith(NAME)
    return isinstance(record.get("messages"), list) and (named or "mini_version" in obj(record.get("info")))


def read_mini_swe_agent(value: Json, builder: RecordingBuilder, id: str = "") -> Recording:  # noqa: A002
    run = obj(value)
    info = obj(run.get("info"))
    config = obj(info.get("config"))
    opening, rest = split_system(items(run.get("messages")), builder.losses)
    builder.set_up(opening, None)
    trajectory = MiniTrajectory(builder, text(obj(config.get("model")).get("model_name")))
    for message in map(obj, rest):
        trajectory.read(message)
    if builder.is_empty():
        builder.refuse("has no messages of a run", hint="check that the run took a step")
    meta = {
        "instance": run.get("instance_id"),
        "exit_status": info.get("exit_status"),
        "version": info.get("mini_version"),
        "model": trajectory.model,
        "model_stats": info.get("model_stats"),
        "cwd": obj(config.get("environment")).get("cwd"),
    }
    return builder.finish(id, title=text(run.get("instance_id")), meta=meta)


class MiniTrajectory:
    """Reads the messages of one run into a builder: keeps the calls in plain text that wait for their results."""

    def __init__(self, builder: RecordingBuilder, model: str) -> None:
        self.model = model
        self._builder = builder
        self._waiting: list[str] = []
        self._has_replied = False

    def read(self, message: dict[str, Json]) -> None:
        extra = obj(message.get("extra"))
        role, at = text(message.get("role")), seconds(extra.get("timestamp"))
        if role == "assistant" or isinstance(message.get("output"), list):
            self._read_reply(message, extra, at)
        elif role == "exit":
            self._read_exit(message, extra, at)
        elif role == "tool" or message.get("type") == "function_call_output":
            call_id = text(message.get("tool_call_id")) or text(message.get("call_id"))
            self._add_result(call_id, message.get("content", message.get("output")), extra, at)
        elif role == "user" and self._waiting and not extra.get("interrupt_type"):
            self._add_result(self._waiting.pop(0), message.get("content"), extra, at)
        elif role in ("user", "system", "developer"):
            self._read_input(message, at)
        else:
            self._builder.losses.add("left out", f"messages with the unknown role `{role[:40]}`")

    def _read_reply(self, message: dict[str, Json], extra: dict[str, Json], at: float | None) -> None:
        response = obj(extra.get("response")) or message
        parts = self._parts(message)
        if not any(isinstance(part, ToolCall) for part in parts):
            parts = self._with_calls(parts, extra)
        model = self.model = text(response.get("model")) or self.model
        reply = AssistantReplied(parts, model=model, usage=_usage(response.get("usage")))
        self._builder.add(reply, at=at or seconds(response.get("created")))
        self._has_replied = True

    def _parts(self, message: dict[str, Json]) -> tuple[AssistantPart, ...]:
        losses = self._builder.losses
        if not isinstance(message.get("output"), list):
            return reply_parts(message, losses)
        parts: list[AssistantPart] = []
        for item in map(obj, items(message.get("output"))):
            kind = item.get("type")
            if kind == "function_call":
                call_id = item.get("call_id") or item.get("id")
                parts.append(tool_call(call_id, item.get("name"), item.get("arguments"), losses))
            elif kind == "reasoning":
                blocks = map(obj, [*items(item.get("summary")), *items(item.get("content"))])
                said = "\n\n".join(filter(None, (text(block.get("text")) for block in blocks)))
                parts += [Thinking(said)] if said else []
            else:
                found = user_parts(item.get("content"), losses)
                parts += [part for part in found if isinstance(part, Text)]
        return tuple(parts)

    def _with_calls(
        self, parts: tuple[AssistantPart, ...], extra: dict[str, Json]
    ) -> tuple[AssistantPart, ...]:
        """The reply with its block of code as a call: the only one, since the agent runs no other."""
        said = "\n".join(part.text for part in parts if isinstance(part, Text))
        found = [command.strip() for command in _ACTION.findall(said)]
        given = [text(obj(action).get("command")) for action in items(extra.get("actions"))]
        commands = given or (found if len(found) == 1 else [])
        if not commands:
            return parts
        calls: list[AssistantPart] = []
        for command in commands:
            call_id = f"call_{len(self._builder.names) + len(calls)}"
            calls.append(ToolCall(call_id, "bash", {"command": command}))
            self._waiting.append(call_id)
        told = _ACTION.sub("", said).strip()
        others = [part for part in parts if not isinstance(part, Text)]
        return (*others, *([Text(told)] if told else []), *calls)

    def _add_result(self, call_id: str, content: Json, extra: dict[str, Json], at: float | None) -> None:
        code = extra.get("returncode")
        failed = isinstance(code, int) and code != 0
        parts = user_parts(content, self._builder.losses)
        name = self._builder.names.get(call_id, "bash")
        self._builder.add(ToolReturned(call_id, name, parts, error=failed), at=at)

    def _read_input(self, message: dict[str, Json], at: float | None) -> None:
        """The task; after the first reply, only the program speaks: about replies that it could not read."""
        parts = user_parts(message.get("content"), self._builder.losses)
        self._waiting.clear()
        if not self._has_replied and message.get("role") == "user":
            self._builder.extend(user_message_events(parts, self._builder.losses), at=at)
        elif parts:
            self._builder.add(UserSaid(parts, origin="reminder"), at=at)

    def _read_exit(self, message: dict[str, Json], extra: dict[str, Json], at: float | None) -> None:
        status = text(extra.get("exit_status"))
        if status in ("", SUBMITTED):
            self._builder.losses.add("left out", "`exit` messages")
        else:
            said = "\n".join(dict.fromkeys(filter(None, (status, text(message.get("content"))))))
            self._builder.add(Noted(kind="error", text=said), at=at)


def _usage(value: Json) -> Usage | None:
    """In the words of the chat API or of the Responses API."""
    usage = obj(value)
    prompt = count(usage.get("prompt_tokens")) or count(usage.get("input_tokens"))
    completion = count(usage.get("completion_tokens")) or count(usage.get("output_tokens"))
    details = obj(usage.get("prompt_tokens_details")) or obj(usage.get("input_tokens_details"))
    return Usage(prompt, completion, cache_read=count(details.get("cached_tokens"))) if prompt else None
