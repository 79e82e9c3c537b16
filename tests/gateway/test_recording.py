"""What passes becomes logs: told apart, without keys, once."""

import json
import socket
import threading

import anthropic
import httpx2
import openai
import pytest

from gateway.client_lists import body, said, send
from gateway.gateway_server import gateway_before, remarks
from gateway.upstream_server import STREAM, upstream
from holdfast.events import AssistantReplied, LogStarted, Noted, Rewound, SystemSet, ToolReturned, UserSaid
from holdfast.gateway.conversations import GATEWAY
from holdfast.log import Log
from holdfast.messages import Text, Thinking, ToolCall, joined_text
from holdfast.store import MemoryStore, SqliteStore
from holdfast.views import path
from library import test_loops
from support.provider_server import Failure, Script, serving

KEY = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}


def turns(store, log: str = "") -> list:
    (found,) = [info.head.id for info in store.logs() if not log or info.head.id == log]
    entries = path(Log.open(store, found).entries())
    return [e.event for e in entries if isinstance(e.event, UserSaid | AssistantReplied | ToolReturned)]


def test_a_loop_with_anthropics_sdk_is_one_log(tmp_path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    call = ToolCall("toolu_1", "look", {"at": "it"})
    replies = (
        Script(parts=(Thinking("hm", "c2ln"), Text("I look."), call)),
        Script(parts=(Text("It is blue."),)),
        Script(parts=(Text("Yes."),)),
    )
    with serving(*replies) as server, gateway_before(server.url, store) as gateway:
        client = anthropic.Anthropic(base_url=gateway, api_key=KEY, max_retries=0)
        messages: list = [{"role": "user", "content": [{"type": "text", "text": "Which colour?"}]}]
        for result in ("It looks blue.", "", ""):
            with client.messages.stream(
                model="m", max_tokens=99, messages=messages, system="Be brief.", tools=[TOOL]
            ) as stream:
                reply = stream.get_final_message()
            messages.append(
                {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in reply.content]}
            )
            if result:
                answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": result}
                messages.append({"role": "user", "content": [answer]})
            else:
                messages.append({"role": "user", "content": "Sure?"})
    said = turns(store)
    assert [type(event).__name__ for event in said] == [
        "UserSaid", "AssistantReplied", "ToolReturned", "AssistantReplied", "UserSaid", "AssistantReplied"
    ]  # fmt: skip
    assert said[1].usage.prompt > 0
    assert joined_text(said[-1].parts) == "Yes."
    events = [entry.event for entry in Log.open(store, store.logs()[0].head.id).entries()]
    assert not [event for event in events if isinstance(event, Rewound)]
    assert len([event for event in events if isinstance(event, SystemSet)]) == 1
    store.close()
    assert KEY.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_loops_with_openais_sdk_are_one_log(wire) -> None:
    store = MemoryStore()
    call = ToolCall("call_1", "look", {"at": "it"})
    replies = Script(parts=(call,)), Script(parts=(Text("Blue."),))
    with serving(*replies) as server, gateway_before(server.url, store) as gateway:
        client = openai.OpenAI(base_url=f"{gateway}/v1", api_key="k", max_retries=0)
        if wire == "chat":
            tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
            messages: list = [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Colour?"},
            ]
            function = {"name": "look", "arguments": '{"at": "it"}'}
            list(client.chat.completions.create(model="m", messages=messages, tools=tools, stream=True))
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "call_1", "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "blue"},
            ]  # fmt: skip
            list(client.chat.completions.create(model="m", messages=messages, tools=tools, stream=True))
        else:
            tools = [{"type": "function", "name": "look", "parameters": {"type": "object"}}]
            items: list = [{"role": "user", "content": "Colour?"}]
            about = {
                "model": "m",
                "tools": tools,
                "instructions": "Be brief.",
                "stream": True,
                "store": False,
            }
            list(client.responses.create(input=items, **about))
            items += [
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "look",
                    "arguments": '{"at": "it"}',
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "blue"},
            ]
            list(client.responses.create(input=items, **about))
    said = turns(store)
    assert [type(event).__name__ for event in said] == [
        "UserSaid", "AssistantReplied", "ToolReturned", "AssistantReplied"
    ]  # fmt: skip
    assert joined_text(said[-1].parts) == "Blue."


def ask(gateway: str, messages: list, **more) -> None:
    headers = more.pop("headers", {})
    body = {"model": "m", "max_tokens": 9, "stream": True, "messages": messages, **more}
    httpx2.post(f"{gateway}/v1/messages", json=body, headers=headers, timeout=60).raise_for_status()


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict:
    return {"role": "assistant", "content": text}


def test_conversations_are_told_apart_by_their_messages() -> None:
    store = MemoryStore()
    with serving(Script(parts=(Text("Ok."),))) as server, gateway_before(server.url, store) as gateway:
        for _ in range(2):
            ask(gateway, [user("First.")], tools=[TOOL])
        ask(gateway, [user("Second.")], tools=[TOOL])
        ask(gateway, [user("First."), assistant("Ok."), user("More.")], tools=[TOOL])
        ask(gateway, [user("First.")], system="Write a title.")
    logs = {info.head.title: info for info in store.logs()}
    assert len(store.logs()) == 3
    assert {info.head.source for info in store.logs()} == {GATEWAY}
    assert len(turns(store, logs["Second."].head.id)) == 2


def test_a_text_that_was_cut_inside_an_emoji_passes_as_it_is_and_is_recorded() -> None:
    store = MemoryStore()
    half = b'{"model": "m", "messages": [{"role": "user", "content": "It is blue \\ud83d"}]}'
    with upstream() as (url, seen), gateway_before(url, store) as gateway:
        assert httpx2.post(f"{gateway}/v1/chat/completions", content=half).status_code == 200
    assert seen.requests[0].body == half
    assert turns(store)[0] == UserSaid((Text("It is blue \ufffd"),))


def test_sessions_that_begin_with_the_same_words_are_logs_of_their_own() -> None:
    """A client that says nothing of its session, asked twice to do the same."""
    store = MemoryStore()

    def asked(name: str, steps: int) -> list[dict]:
        words = [(assistant(f"{name} {n}"), user(f"On, {n}.")) for n in range(steps)]
        return [user("Fix the bug."), *(message for pair in words for message in pair)]

    with serving(Script(parts=(Text("Ok."),))) as server, gateway_before(server.url, store) as gateway:
        for steps in range(4):
            ask(gateway, asked("one", steps), tools=[TOOL])
        for steps in range(4):
            ask(gateway, asked("two", steps), tools=[TOOL])
            ask(gateway, asked("three", steps), tools=[TOOL])
        ask(gateway, asked("one", 4), tools=[TOOL])
    found = [[joined_text(event.parts) for event in turns(store, info.head.id)] for info in store.logs()]
    assert sorted((texts[1], len(texts)) for texts in found) == [("one 0", 10), ("three 0", 8), ("two 0", 8)]


def test_the_model_is_known_also_where_the_path_names_it() -> None:
    store = MemoryStore()
    with upstream() as (url, _), gateway_before(url, store, mode="fold", budget=16_000) as gateway:
        send(gateway, "gemini", body("gemini", [said("gemini", "user", "Hi.")]))
    (started,) = [
        Log.open(store, info.head.id).entries()[0].event
        for info in store.logs()
        if info.head.source == GATEWAY
    ]
    assert isinstance(started, LogStarted)
    assert started.meta[GATEWAY]["model"] == "gemini-3.8-flash"


def test_a_client_that_summarized_goes_on_in_its_log() -> None:
    store = MemoryStore()
    headers = {"X-Claude-Code-Session-Id": "s1"}
    continued = (
        "This session is being continued from a previous conversation that ran out of context. It was long."
    )
    with serving(Script(parts=(Text("Ok."),))) as server, gateway_before(server.url, store) as gateway:
        ask(gateway, [user("Begin.")], tools=[TOOL], headers=headers)
        ask(gateway, [user(continued)], tools=[TOOL], headers=headers)
        ask(gateway, [user("Another agent's work.")], tools=[TOOL], headers=headers)
        ask(gateway, [user("Begin.")], tools=[TOOL], headers={"X-Claude-Code-Session-Id": "s2"})
    assert len(store.logs()) == 3
    first = min(store.logs(), key=lambda info: info.head.at or 0).head.id
    assert [joined_text(event.parts)[:12] for event in turns(store, first)] == ["This session", "Ok."]


def test_a_summary_continues_the_log_of_the_agent_and_not_of_its_sub_agent() -> None:
    store = MemoryStore()
    headers = {"X-Claude-Code-Session-Id": "s1"}
    continued = "This session is being continued from a previous conversation that ran out of context."
    with serving(Script(parts=(Text("Ok."),))) as server, gateway_before(server.url, store) as gateway:
        for messages in ([user("Begin.")], [user("Begin."), assistant("Ok."), user("More.")]):
            ask(gateway, messages, tools=[TOOL], headers=headers)
        ask(gateway, [user("A sub-agent's task.")], tools=[TOOL], headers=headers)
        ask(gateway, [user(continued)], tools=[TOOL], headers=headers)
    first, second = store.logs()
    assert joined_text(turns(store, first.head.id)[0].parts) == continued
    assert joined_text(turns(store, second.head.id)[0].parts) == "A sub-agent's task."


def test_a_gateway_that_starts_again_knows_its_conversations(tmp_path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    with serving(Script(parts=(Text("Ok."),))) as server:
        with gateway_before(server.url, store) as gateway:
            ask(gateway, [user("First.")])
        with gateway_before(server.url, store) as gateway:
            ask(gateway, [user("First."), assistant("Ok."), user("More.")])
    assert len(turns(store)) == 4


def test_an_error_of_the_provider_is_noted() -> None:
    store = MemoryStore()
    with (
        serving(Failure(kind="overloaded")) as server,
        gateway_before(server.url, store) as gateway,
        pytest.raises(httpx2.HTTPStatusError),
    ):
        ask(gateway, [user("First.")])
    entries = Log.open(store, store.logs()[0].head.id).entries()
    assert next(e.event.text for e in entries if isinstance(e.event, Noted)).startswith("HTTP 5")


def test_gemini_replies_in_pieces_are_one_reply() -> None:
    store = MemoryStore()
    pieces = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "It is "}]}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "blue."}]}}]},
        test_loops.gemini(("look", {"at": "it"}), 1),
    ]
    answer = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces).encode()
    with upstream(answer, headers=[STREAM]) as (address, _), gateway_before(address, store) as gateway:
        contents: list = [{"role": "user", "parts": [{"text": "Colour?"}]}]
        url = f"{gateway}/v1beta/models/gemini-3:streamGenerateContent?alt=sse"
        httpx2.post(url, json={"contents": contents, "systemInstruction": {"parts": [{"text": "Brief."}]}})
        contents += [
            {
                "role": "model",
                "parts": [{"text": "It is blue."}, {"functionCall": {"name": "look", "args": {"at": "it"}}}],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "look", "response": {"output": "seen"}}}],
            },
        ]
        httpx2.post(url, json={"contents": contents, "systemInstruction": {"parts": [{"text": "Brief."}]}})
    said = turns(store)
    assert [type(event).__name__ for event in said] == [
        "UserSaid", "AssistantReplied", "ToolReturned", "AssistantReplied"
    ]  # fmt: skip
    assert said[1].usage


def told(text: str) -> list[dict]:
    """A message of a client that puts something before the person's words."""
    parts = [{"type": "text", "text": text}, {"type": "text", "text": "Fix the parser."}]
    return [{"role": "user", "content": parts}]


@pytest.mark.parametrize(
    "messages",
    [
        told("<system-reminder>\nBe careful.\n</system-reminder>"),
        told("<session_context>\nThis is the Gemini CLI.\n</session_context>"),
        [
            user("This is the Qwen Code. We are setting up the context for our chat."),
            assistant("Got it. Thanks for the context!"),
            user("Fix the parser."),
        ],
        [user("Change the greeting."), assistant("An example."), user("Fix the parser.")],
    ],
)
def test_a_title_is_what_a_person_said(messages: list[dict]) -> None:
    store = MemoryStore()
    with serving(Script(parts=(Text("Ok."),))) as server, gateway_before(server.url, store) as gateway:
        ask(gateway, messages)
    assert [info.head.title for info in store.logs()] == ["Fix the parser."]


def test_a_reply_that_the_provider_breaks_off_is_broken_off_for_the_client(caplog) -> None:
    store = MemoryStore()
    reply = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n3\r\n: a\r\n"

    def answer(listening: socket.socket) -> None:
        client, _ = listening.accept()
        client.recv(100_000)
        client.sendall(reply)
        client.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, args=[listening]).start()
        upstream_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with gateway_before(upstream_url, store) as gateway, pytest.raises(httpx2.RemoteProtocolError):
            ask(gateway, [user("Hi.")])
    (remark,) = remarks(store, "provider")
    assert remark.text == "the provider broke off before the reply was whole"
    assert caplog.text == ""


@pytest.mark.parametrize("kept", [{"previous_response_id": "resp_1"}, {"conversation": {"id": "conv_1"}}])
@pytest.mark.parametrize("mode", ["watch", "safe", "fold"])
def test_what_continues_a_history_kept_at_the_provider_passes_and_is_not_recorded(
    tmp_path, kept, mode
) -> None:
    """The list is only what is new, and would be taken for a history that was cut short."""
    store = MemoryStore()
    sent = body("responses", [said("responses", "user", "Go on.")], **kept)
    with upstream() as (url, seen), gateway_before(url, store, files=tmp_path, mode=mode) as gateway:
        send(gateway, "responses", sent)
    assert seen.requests[0].body == sent
    assert [info for info in store.logs() if info.head.source == GATEWAY] == []
