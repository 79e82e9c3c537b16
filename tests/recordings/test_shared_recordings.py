"""Every recording in the folder that HOLDFAST_RECORDINGS names, in and out, counted against its source."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from recording_samples import calls_of, events_of, messages_of

from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    ChainStarted,
    Recording,
    ToolReturned,
    UsageReported,
    UserSaid,
)
from holdfast.recordings import find_recording, read_recordings
from holdfast.wire.anthropic import to_anthropic
from holdfast.wire.message_lists import recording_from_messages
from holdfast.wire.openai import to_openai

FOLDER = Path(os.environ.get("HOLDFAST_RECORDINGS", "nowhere"))
NEUTRAL = sorted(FOLDER.glob("*.jsonl.gz"))
RAW = sorted([*(FOLDER / "raw").glob("*.gz"), *(FOLDER / "more" / "raw").glob("*.gz")])
SAMPLE = 40

pytestmark = [
    pytest.mark.recordings,
    pytest.mark.skipif(not NEUTRAL, reason="HOLDFAST_RECORDINGS names no folder with recordings"),
]


def values_in(path: Path) -> Iterator[dict[str, Any]]:
    """The values of a file by the standard library alone: several may share a line."""
    scan = json.JSONDecoder().raw_decode
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in data.split(b"\n") if ".jsonl" in path.name else [data]:
        rest = line.decode().strip()
        while rest:
            value, end = scan(rest)
            rest = rest[end:].strip()
            yield value


def tally(recording: Recording) -> Counter[str]:
    return Counter(
        calls=len(calls_of(recording)),
        results=len(events_of(recording, ToolReturned)),
        replies=len(events_of(recording, AssistantReplied)),
        users=len(events_of(recording, UserSaid)),
    )


def check_wires(recording: Recording) -> None:
    """Both exporters keep every call and result, and OpenAI's messages read back as what they were."""
    messages = messages_of(recording)
    openai, anthropic = to_openai(messages), to_anthropic(messages)
    assert [m.call_id for m in messages if m.__class__.__name__ == "ToolMessage"] == [
        m["tool_call_id"] for m in openai.messages if m["role"] == "tool"
    ]
    blocks = [block["type"] for message in anthropic.messages for block in message["content"]]
    assert blocks.count("tool_use") == sum(len(m.get("tool_calls", ())) for m in openai.messages)
    back = to_openai(messages_of(recording_from_messages(openai.messages, format="openai")))
    assert back.messages == openai.messages


@pytest.mark.slow
@pytest.mark.parametrize("path", NEUTRAL, ids=lambda path: path.name)
def test_neutral_recordings(path: Path) -> None:
    for recording, value in islice(zip(read_recordings(path), values_in(path), strict=True), SAMPLE):
        messages = value["messages"]
        roles = Counter(message["role"] for message in messages)
        assert recording.id == value["id"]
        assert recording.notes == ()
        assert tally(recording) == Counter(
            calls=sum(len(message.get("tool_calls", ())) for message in messages),
            results=roles["tool"],
            replies=roles["assistant"],
            users=roles["user"],
        )
        usages = [e.usage.prompt for e in events_of(recording, AssistantReplied | UsageReported) if e.usage]
        assert usages == [row[1] for row in value["meta"].get("usage", [])]
        summaries = [e for e in value["meta"].get("events", []) if e["type"] == "compact_summary"]
        assert sum(
            bool(b.summary) for b in events_of(recording, BoundarySeen) if b.kind == "compact_boundary"
        ) == len(summaries)
        check_wires(recording)


@pytest.mark.parametrize("path", RAW, ids=lambda path: path.name)
def test_raw_recordings(path: Path) -> None:
    recording = find_recording(path)
    count = {
        "claude-code": claude_code_counts,
        "codex": codex_counts,
        "copilot": copilot_counts,
        "pi": pi_counts,
        "swe-agent": swe_agent_counts,
        "gemini": gemini_counts,
        "mini-swe-agent": mini_swe_agent_counts,
        "opencode": opencode_counts,
    }[recording.source]
    assert path.name.split("__")[0].replace("_", "-").replace("sweagent", "swe-agent") == recording.source
    assert tally(recording) == count(list(values_in(path)))
    check_wires(recording)


def test_both_sub_agents_of_a_session_are_chains() -> None:
    paths = [path for path in RAW if "410df8db" in path.name]
    if not paths:
        pytest.skip("the session is not in this folder")
    recording = find_recording(paths[0])
    started = events_of(recording, ChainStarted)
    assert len(started) == 2
    calls = {call.id for call in calls_of(recording)}
    assert all(chain.call_id in calls and chain.agent for chain in started)


def claude_code_counts(lines: list[dict[str, Any]]) -> Counter[str]:
    lines = [
        line["data"]["message"] if line.get("data", {}).get("type") == "agent_progress" else line
        for line in lines
    ]
    spoken = {line["uuid"]: line for line in lines if line["type"] in ("user", "assistant")}.values()
    contents = [line["message"]["content"] for line in spoken]
    kinds = Counter(block["type"] for blocks in contents if isinstance(blocks, list) for block in blocks)
    users = [line["message"]["content"] for line in spoken if line["type"] == "user"]
    return Counter(
        calls=kinds["tool_use"],
        results=kinds["tool_result"],
        replies=len({line["message"]["id"] for line in spoken if line["type"] == "assistant"}),
        users=sum(isinstance(said, str) or any(b["type"] == "text" for b in said) for said in users),
    )


def codex_counts(lines: list[dict[str, Any]]) -> Counter[str]:
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    kinds = Counter(item["type"] for item in items)
    infos = [line["payload"]["info"] for line in lines if line["payload"].get("type") == "token_count"]
    totals = {info["total_token_usage"]["total_tokens"] for info in infos}
    return Counter(
        calls=kinds["function_call"] + kinds["custom_tool_call"],
        results=kinds["function_call_output"] + kinds["custom_tool_call_output"],
        replies=len(totals),
        users=sum(item["type"] == "message" and item["role"] != "assistant" for item in items),
    )


def copilot_counts(lines: list[dict[str, Any]]) -> Counter[str]:
    kinds = Counter(line["type"] for line in lines)
    replies = [line["data"] for line in lines if line["type"] == "assistant.message"]
    said = [line["data"] for line in lines if line["type"] == "user.message"]
    return Counter(
        calls=sum(len(reply["toolRequests"]) for reply in replies),
        results=kinds["tool.execution_complete"],
        replies=len(replies),
        users=len(said) + sum(data["content"] != data["transformedContent"] for data in said),
    )


def pi_counts(lines: list[dict[str, Any]]) -> Counter[str]:
    messages = [line["message"] for line in lines if line["type"] == "message"]
    roles = Counter(message["role"] for message in messages)
    replies = [message["content"] for message in messages if message["role"] == "assistant"]
    return Counter(
        calls=sum(block["type"] == "toolCall" for blocks in replies for block in blocks),
        results=roles["toolResult"],
        replies=sum(
            any(b["type"] != "thinking" and b.get("text", "x") for b in blocks) for blocks in replies
        ),
        users=roles["user"],
    )


def swe_agent_counts(values: list[dict[str, Any]]) -> Counter[str]:
    history = values[0]["history"]
    roles = Counter(message["role"] for message in history)
    return Counter(
        calls=sum(len(message.get("tool_calls") or ()) for message in history),
        results=roles["tool"],
        replies=roles["assistant"],
        users=roles["user"],
    )


def gemini_counts(values: list[dict[str, Any]]) -> Counter[str]:
    messages = values[0]["messages"]
    kinds = Counter(message["type"] for message in messages)
    calls = [call for message in messages for call in message.get("toolCalls", ())]
    silent = sum(m["type"] == "gemini" and not m["content"] and not m.get("toolCalls") for m in messages)
    return Counter(
        calls=len(calls),
        results=sum("result" in call for call in calls),
        replies=kinds["gemini"] - silent,
        users=kinds["user"],
    )


def mini_swe_agent_counts(values: list[dict[str, Any]]) -> Counter[str]:
    messages = values[0]["messages"]
    roles = Counter(message["role"] for message in messages)
    blocks = [m["content"].count("```bash\n") for m in messages if m["role"] == "assistant"]
    return Counter(
        calls=blocks.count(1),
        results=blocks.count(1),
        replies=roles["assistant"],
        users=roles["user"] - blocks.count(1),
    )


def opencode_counts(values: list[dict[str, Any]]) -> Counter[str]:
    messages = values[0]["messages"]
    roles = Counter(message["info"]["role"] for message in messages)
    tools = [part for message in messages for part in message["parts"] if part["type"] == "tool"]
    return Counter(calls=len(tools), results=len(tools), replies=roles["assistant"], users=roles["user"])
