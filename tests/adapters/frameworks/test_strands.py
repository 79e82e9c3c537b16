"""The conversation manager in agents of Strands, with a model that follows a script."""

import asyncio
import json
import os
import struct
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from zlib import crc32

import pytest
from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.hooks import BeforeModelCallEvent
from strands.models.model import Model
from strands.session import FileSessionManager
from strands.types.exceptions import (
    ContextWindowOverflowException,
    EventLoopException,
    ModelThrottledException,
)
from strands.vended_plugins.context_injector import ContextInjector

from holdfast.adapters.converse_lists import ConverseTranslation
from holdfast.adapters.strands import HoldfastConversationManager
from holdfast.errors import HoldfastError, InputError
from holdfast.events import AssistantReplied, Folded, OverflowReported, Rewound, ToolReturned
from holdfast.messages import AssistantMessage, Text, Thinking, ToolCall, ToolMessage, Usage, UserMessage
from holdfast.recall import RECALL_TOOL

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "strands_agent.py"
USAGE = {"inputTokens": 100, "outputTokens": 5, "totalTokens": 145, "cacheReadInputTokens": 40}
Calls = list[tuple[str, dict]]


class ScriptedModel(Model):
    """Does what the script says, request by request: calls, a text, or an error. Keeps what it was sent."""

    def __init__(self, *script: Calls | str | Exception) -> None:
        self.script = list(script)
        self.requests: list[list[dict]] = []
        self.prompts: list[str | None] = []
        self.tools: list[str] = []

    def get_config(self) -> dict:
        return {}

    def update_config(self, **_: object) -> None: ...

    async def structured_output(self, *_: object, **__: object):
        raise NotImplementedError
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        self.requests.append(messages)
        self.prompts.append(system_prompt)
        self.tools = [spec["name"] for spec in tool_specs]
        step = self.script[len(self.requests) - 1]
        await asyncio.sleep(0)
        if isinstance(step, Exception):
            raise step
        for event in reply(step, len(self.requests)):
            yield event


def reply(step: Calls | str, number: int) -> list[dict]:
    events: list[dict] = [{"messageStart": {"role": "assistant"}}]
    if isinstance(step, str):
        events += [{"contentBlockDelta": {"delta": {"text": step}, "contentBlockIndex": 0}}]
        events += [{"contentBlockStop": {"contentBlockIndex": 0}}]
    else:
        for at, (name, arguments) in enumerate(step):
            use = {"toolUseId": f"call_{number}_{at}", "name": name}
            events += [{"contentBlockStart": {"start": {"toolUse": use}, "contentBlockIndex": at}}]
            delta = {"toolUse": {"input": json.dumps(arguments)}}
            events += [{"contentBlockDelta": {"delta": delta, "contentBlockIndex": at}}]
            events += [{"contentBlockStop": {"contentBlockIndex": at}}]
    events += [{"messageStop": {"stopReason": "end_turn" if isinstance(step, str) else "tool_use"}}]
    return [*events, {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 1}}}]


@tool
def read(part: int) -> str:
    """Read a part."""
    return " ".join(f"value_{part}_{word}" for word in range(100))


@tool
async def wait(turns: int) -> dict:
    """Wait for a while."""
    for _ in range(turns):
        await asyncio.sleep(0.001)
    return {"status": "success", "content": [{"json": {"waited": turns}}]}


def made(*script: Calls | str | Exception, manager=None, **settings) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*script)
    settings = {"callback_handler": None, "retry_strategy": None, "tools": [read, wait], **settings}
    manager = manager or HoldfastConversationManager("16k")
    return Agent(model=model, conversation_manager=manager, **settings), model


def reads(count: int, start: int = 0) -> list[Calls]:
    return [[("read", {"part": number})] for number in range(start, start + count)]


def events(agent: Agent, kind: type) -> list:
    log = agent.conversation_manager.conversation(agent).session.log
    return [entry.event for entry in log.entries() if isinstance(entry.event, kind)]


def blocks(messages: list[dict], kind: str) -> list:
    return [block[kind] for message in messages for block in message["content"] if kind in block]


def bare(messages: list[dict]) -> list[dict]:
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def check_request(messages: list[dict]) -> None:
    """Roles alternate, and every reply's calls are answered by the very next message."""
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + [
        "user"
    ]
    for said, answer in zip(messages[1::2], messages[2::2], strict=True):
        called = {use["toolUseId"] for use in blocks([said], "toolUse")}
        assert called == {result["toolUseId"] for result in blocks([answer], "toolResult")}
    assert len(json.dumps(messages)) < 16_000 * 4


def test_a_long_run_is_folded_and_the_agent_keeps_everything() -> None:
    agent, model = made(*reads(50), [("Recall", {"query": "value_3_7"})], "Done.", system_prompt="Be brief.")
    assert str(agent("Read every part.")) == "Done.\n"
    for request in model.requests:
        check_request(request)
    assert len(agent.messages) == 104
    assert len(model.requests[-1]) < 60
    assert set(model.prompts) == {"Be brief."}
    assert model.tools == ["read", "wait", RECALL_TOOL.name]
    assert events(agent, Folded)
    assert not events(agent, Rewound)
    assert "value_3_7" in agent.messages[-2]["content"][0]["toolResult"]["content"][0]["text"]
    # What is sent as it was is what the agent has, to the letter.
    assert bare(model.requests[-1])[-6:] == bare(agent.messages)[-7:-1]
    assert bare(model.requests[5]) == bare(agent.messages)[:11]


def test_usage_is_recorded_with_each_reply_and_also_the_last() -> None:
    agent, _ = made(*reads(2), "Done.")
    agent("Go.")
    usages = [reply.usage for reply in events(agent, AssistantReplied)]
    assert usages == [Usage(140, 5, cache_read=40)] * 3


def test_an_overflow_is_answered_by_one_smaller_request() -> None:
    agent, model = made(*reads(8), ContextWindowOverflowException("too long"), "Done.")
    agent("Go.")
    refused, sent = model.requests[-2:]
    assert len(json.dumps(sent)) < 0.8 * len(json.dumps(refused))
    check_request(sent)
    assert len(events(agent, OverflowReported)) == 1
    assert len(agent.messages) == 18


class StatusError(Exception):
    """An error as an SDK raises it, which Strands does not know as an overflow."""

    status_code = 400


def test_an_overflow_in_the_words_of_a_provider_is_known_with_its_limit() -> None:
    error = StatusError("prompt is too long: 90001 tokens > 90000 maximum")
    agent, model = made(*reads(8), error, "Done.")
    agent("Go.")
    assert [report.limit for report in events(agent, OverflowReported)] == [90_000]
    assert len(model.requests) == 10


def test_the_second_overflow_in_a_row_is_raised_and_the_next_run_may_try_again() -> None:
    error = ContextWindowOverflowException("too long")
    agent, model = made(*reads(8), error, error, error, "Done.")
    with pytest.raises(ContextWindowOverflowException):
        agent("Go.")
    assert len(model.requests) == 10
    assert len(agent.messages) == 17
    assert str(agent("Try again.")) == "Done.\n"


def test_an_overflow_before_a_failed_run_does_not_count_in_the_next() -> None:
    too_long = ContextWindowOverflowException("too long")
    agent, model = made(*reads(8), too_long, ValueError("broken"), too_long, "Done.")
    with pytest.raises(ValueError, match="broken"):
        agent("Go.")
    agent([])
    assert len(model.requests) == 12


def test_the_error_of_a_run_is_not_hidden_by_a_list_that_cannot_be_read() -> None:
    agent, _ = made("Done.")

    def fail(_: BeforeModelCallEvent) -> None:
        agent.messages.append({"role": "tool", "content": []})
        raise ValueError("broken")

    agent.add_hook(fail)
    with pytest.raises(ValueError, match="broken"):
        agent("Go.")


def test_other_errors_and_retries_leave_the_agent_as_it_was() -> None:
    agent, model = made(*reads(2), ValueError("broken"), ModelThrottledException("slow down"), "Done.")
    with pytest.raises(EventLoopException, match="broken"):
        agent("Go.")
    with pytest.raises(ModelThrottledException):
        agent([])
    agent([])
    assert [len(request) for request in model.requests] == [1, 3, 5, 5, 5]
    assert not events(agent, Rewound)


def test_results_of_parallel_calls_stay_with_them_in_whichever_order_they_come() -> None:
    calls = [("wait", {"turns": 30}), ("read", {"part": 1}), ("wait", {"turns": 1})]
    agent, model = made(calls, "Done.")
    agent("Go.")
    check_request(model.requests[-1])
    assert bare(model.requests[-1]) == bare(agent.messages)[:3], "also `json`, which no message of ours has"
    assert [result.call_id for result in events(agent, ToolReturned)] == ["call_1_0", "call_1_1", "call_1_2"]


def resumable(tmp_path, *script, session: str = "one", **settings) -> tuple[Agent, ScriptedModel]:
    manager = HoldfastConversationManager("16k", store=tmp_path / "store.db")
    stored = FileSessionManager(session_id=session, storage_dir=str(tmp_path / "sessions"))
    return made(*script, manager=manager, session_manager=stored, **settings)


def test_a_second_process_continues_with_the_same_bytes(tmp_path) -> None:
    first, model = resumable(tmp_path, *reads(40), "Done.", ValueError("no network"))
    first("Go.")
    with pytest.raises(ValueError):
        first("Go on.")
    before = len(events(first, object))
    again, other = resumable(tmp_path, "Done again.")
    assert len(again.messages) == 83, "the session has all"
    again([])
    assert bare(other.requests[0]) == bare(model.requests[-1])
    assert len(events(again, object)) == before + 1, "the new reply, and nothing twice"
    assert not events(again, Rewound)


def test_a_session_that_had_another_manager_gives_all_its_messages_back(tmp_path) -> None:
    stored = FileSessionManager(session_id="one", storage_dir=str(tmp_path / "sessions"))
    model = ScriptedModel(*reads(5), "Done.")
    Agent(
        model=model,
        tools=[read],
        conversation_manager=SlidingWindowConversationManager(4),
        session_manager=stored,
        callback_handler=None,
    )("Go.")
    agent, _ = resumable(tmp_path, "Done.")
    assert len(agent.messages) == 12


def test_sessions_and_agents_are_kept_apart(tmp_path) -> None:
    one, _ = resumable(tmp_path, "Noted.", "Again.")
    other, model = resumable(tmp_path, [("Recall", {"query": "port"})], "I do not know.", session="two")
    one("The port is 8123.")
    other("Which port?")
    assert "8123" not in json.dumps(model.requests[-1])
    manager = HoldfastConversationManager("16k")
    agents = [made("Noted.", manager=manager)[0] for _ in range(2)]
    agents[0]("The port is 8123.")
    agents[1]("Which port?")
    assert [len(events(agent, AssistantReplied)) for agent in agents] == [1, 1]


def test_several_agents_run_at_once_with_one_manager() -> None:
    manager = HoldfastConversationManager("16k")
    teams = [made(*reads(40, start), "Done.", manager=manager) for start in (0, 100, 200)]

    async def run() -> None:
        await asyncio.gather(*(agent.invoke_async("Go.") for agent, _ in teams))

    asyncio.run(run())
    for (agent, model), start in zip(teams, (0, 100, 200), strict=True):
        assert events(agent, Folded)
        check_request(model.requests[-1])
        others = {0, 100, 200} - {start}
        assert not any(f"value_{other}_" in json.dumps(model.requests) for other in others)


def test_what_is_injected_for_one_request_is_not_recorded() -> None:
    injector = ContextInjector(lambda _: "It is noon.", trigger="everyTurn")
    agent, model = made(*reads(40), "Done.", plugins=[injector])
    agent("Go.")
    assert all(request[-1]["content"][-1]["text"].strip() == "It is noon." for request in model.requests)
    assert all(json.dumps(request).count("It is noon.") == 1 for request in model.requests)
    assert events(agent, Folded)
    assert not events(agent, Rewound)
    for request in model.requests:
        check_request(request)


def test_messages_that_the_user_takes_back_are_forgotten() -> None:
    agent, model = made(*reads(3), "Done.", "Hello.")
    agent("Go.")
    del agent.messages[1:]
    agent.messages[0]["content"][0]["text"] = "Greet."
    agent([])
    assert bare(model.requests[-1]) == [{"role": "user", "content": [{"text": "Greet."}]}]
    assert len(events(agent, Rewound)) == 1


def test_a_tool_of_the_same_name_is_refused_in_a_sentence() -> None:
    @tool(name="Recall")
    def mine(word: str) -> str:
        """Remember."""
        return word

    with pytest.raises(InputError, match="`Recall` is taken"):
        made("Done.", tools=[mine])
    manager = HoldfastConversationManager("16k")
    made("Done.", manager=manager, tools=[manager.recall_tool])


@pytest.mark.parametrize("wrong", [{"role": "user", "content": "Hello."}, {"role": "tool", "content": []}])
def test_what_is_no_message_is_named_by_its_place(wrong) -> None:
    agent, _ = made("Done.", messages=[{"role": "user", "content": [{"text": "Hello."}]}, wrong])
    with pytest.raises(InputError, match="message 1 is a dict with the role"):
        agent("Go.")


def test_what_cannot_fit_is_said_in_a_sentence() -> None:
    agent, _ = made("Done.", manager=HoldfastConversationManager("4k"), system_prompt="word " * 9_000)
    with pytest.raises(HoldfastError, match="system"):
        agent("Go.")


PICTURE = {"image": {"format": "png", "source": {"bytes": b"\x89PNG picture"}}}
SIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
OPAQUE = {"reasoningContent": {"redactedContent": b"opaque"}}
CALL = {"toolUse": {"toolUseId": "c1", "name": "read", "input": {"part": 1}, "reasoningSignature": "t"}}
DOCUMENT = {"document": {"format": "pdf", "name": "plan", "source": {"bytes": b"%PDF"}}}


def use(call_id: str) -> dict:
    return {"toolUse": {"toolUseId": call_id, "name": "read", "input": {}}}


def result(call_id: str) -> dict:
    content = [{"json": {"id": call_id}}]
    return {"toolResult": {"toolUseId": call_id, "status": "success", "content": content}}


def test_pictures_thinking_and_documents_go_back_as_they_came() -> None:
    cited = {"citationsContent": {"citations": [], "content": [{"text": "As said."}]}}
    given = [
        {
            "role": "user",
            "content": [{"text": "Look."}, PICTURE, DOCUMENT, {"cachePoint": {"type": "default"}}],
        },
        {"role": "assistant", "content": [SIGNED, OPAQUE, {"text": "I read."}, CALL]},
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "status": "error", "content": [PICTURE, DOCUMENT]}}
            ],
        },
        {"role": "assistant", "content": [cited]},
        {"role": "user", "content": [DOCUMENT]},
        {"role": "assistant", "content": [use("c2"), use("c3")]},
        {"role": "user", "content": [{"text": "Quick!"}, result("c3"), result("c2")]},
    ]
    agent, model = made("Done.", messages=given)
    agent([])
    assert bare(model.requests[0]) == bare(given[:7])


def test_what_is_written_anew_says_the_same() -> None:
    write = ConverseTranslation().write
    reply = {"role": "assistant", "content": [SIGNED, OPAQUE, {"text": "I read."}, CALL]}
    ((_, read_events),) = ConverseTranslation().read([reply])
    assert write(AssistantMessage(read_events[0].parts)) == [reply]
    result = {"toolUseId": "c1", "status": "error", "content": [{"text": "No."}, PICTURE]}
    said = {"role": "user", "content": [{"toolResult": result}]}
    ((_, (returned,)),) = ConverseTranslation().read([said])
    assert write(ToolMessage(returned.call_id, "", returned.parts, error=True)) == [said]
    stored = {"image": {"format": "jpeg", "source": {"location": {"type": "s3", "uri": "s3://a/b"}}}}
    ((_, (asked,)),) = ConverseTranslation().read([{"role": "user", "content": [stored, {"text": " "}]}])
    assert write(UserMessage(asked.parts)) == [{"role": "user", "content": [stored]}]
    assert write(AssistantMessage((Thinking("Hm."), ToolCall("c", "read", {}, raw="{"))))[0]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
        {"toolUse": {"toolUseId": "c", "name": "read", "input": {"raw": "{"}}},
    ]
    assert write(UserMessage((Text(" "),))) == []


def framed(event: dict) -> bytes:
    """An event as Bedrock streams it: lengths and checksums around headers and JSON."""
    ((kind, value),) = event.items()
    headers = b""
    for name, text in (
        (":event-type", kind),
        (":message-type", "event"),
        (":content-type", "application/json"),
    ):
        headers += (
            struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(text)) + text.encode()
        )
    body = json.dumps(value).encode()
    prelude = struct.pack("!II", len(headers) + len(body) + 16, len(headers))
    message = prelude + struct.pack("!I", crc32(prelude)) + headers + body
    return message + struct.pack("!I", crc32(message))


def test_the_example_runs_as_it_is(tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("The port is 8123.")
    script = [[("read_file", {"path": "notes.txt"})], "It is 8123.", "As I said, 8123."]
    asked: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = b"".join(map(framed, reply(script[len(asked) - 1], len(asked))))
            self.send_response(200)
            self.send_header("Content-Type", "application/vnd.amazon.eventstream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "a key for loopback",
        "AWS_SECRET_ACCESS_KEY": "a key for loopback",
        "AWS_REGION": "us-west-2",
        "NO_PROXY": "127.0.0.1",
    }
    said = []
    for question in ("Which port?", "Sure?"):
        command = [sys.executable, str(EXAMPLE), question]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    server.shutdown()
    server.server_close()
    assert said == ["It is 8123.", "As I said, 8123."]
    assert "The port is 8123." in json.dumps(asked[-1]["messages"]), "the second run has the first"
    assert [spec["toolSpec"]["name"] for spec in asked[0]["toolConfig"]["tools"]] == ["read_file", "Recall"]
