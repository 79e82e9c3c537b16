"""What a loop needs besides messages: reports of usage and overflow, resumed sessions, the Recall tool."""

import json

import anthropic
import httpx2
import openai
import pytest
from google.genai import errors as genai_errors
from msgspec.structs import replace

import holdfast
from holdfast.errors import InputError, NotFound
from holdfast.events import OverflowReported, UsageReported
from holdfast.packing.profile import CODE
from holdfast.store import SqliteStore
from library.test_session_messages import QUESTION, REPLY, RESULT, chat_reply

TOO_LONG = (
    "This model's maximum context length is 8000 tokens. However, your messages resulted in 9000 tokens."
)


def http_response(status, body):
    return httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/"), json=body)


def overflows():
    chat = {"error": {"message": TOO_LONG, "code": "context_length_exceeded"}}
    yield openai.BadRequestError("400", response=http_response(400, chat), body=chat["error"])
    long = {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "prompt is too long: 9000 tokens > 8000 maximum",
        },
    }
    yield anthropic.BadRequestError("400", response=http_response(400, long), body=long)
    gemini = {
        "error": {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "The input token count (9000) exceeds the maximum number of tokens allowed (8000).",
        }
    }
    yield genai_errors.ClientError(400, gemini)


def grown_session(**settings):
    session = holdfast.Session(budget="16k", **settings)
    session.append({"role": "user", "content": "Go."})
    for number in range(12):
        function = {"name": "Read", "arguments": json.dumps({"path": f"f{number}.py"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        session.append({"role": "assistant", "content": "", "tool_calls": [call]})
        text = "\n".join(f"def function_{number}_{line}(): ..." for line in range(60))
        session.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return session


@pytest.mark.parametrize("error", [*overflows()], ids=["openai", "anthropic", "google-genai"])
def test_an_overflow_that_is_reported_makes_the_next_pack_smaller(error):
    session = grown_session()
    before = session.pack().tokens
    assert session.report(error) is True
    assert session.pack().tokens < 0.7 * before
    (said,) = [e.event for e in session.log.entries() if isinstance(e.event, OverflowReported)]
    assert said.limit == 8000


@pytest.mark.parametrize(
    "error",
    [
        openai.RateLimitError(
            "429", response=http_response(429, {}), body={"message": "Rate limit reached: tokens per min"}
        ),
        openai.AuthenticationError("401", response=http_response(401, {}), body=None),
        TimeoutError("the context length is fine"),
    ],
)
def test_another_error_changes_nothing(error):
    session = grown_session()
    before = session.pack().messages
    assert session.report(error) is False
    assert session.pack().messages == before


def usages(session):
    return [
        e.event.usage.prompt
        for e in session.log.entries()
        if getattr(e.event, "usage", None) or isinstance(e.event, UsageReported)
    ]


@pytest.mark.parametrize("order", ["append", "append report", "report append", "whole report"])
def test_usage_is_known_once_whichever_way_it_is_reported(order):
    session = holdfast.Session(budget="16k")
    session.append(QUESTION["openai"])
    session.pack()
    reply = chat_reply()
    for word in order.split():
        match word:
            case "report":
                assert session.report(reply) is False
            case "append":
                session.append(reply.choices[0].message)
            case "whole":
                session.append(reply)
    assert usages(session) == ([] if order == "append" else [120])


def test_counts_follow_what_the_provider_reports():
    """A provider that counts half as much again makes a session fold earlier."""

    def tokens(factor):
        session = holdfast.Session(budget="16k")
        session.append({"role": "user", "content": "Go."})
        for number in range(40):
            counted = round(session.pack().tokens * factor)
            reply = chat_reply("word " * 100).model_dump(mode="json", exclude_none=True)
            reply["usage"]["prompt_tokens"] = counted
            reply["choices"][0]["message"]["tool_calls"] = []
            session.append(reply["choices"][0]["message"])
            session.report(reply)
            session.append({"role": "user", "content": f"{number} more " * 100})
        return session.pack().tokens

    assert tokens(1.5) < tokens(1.0)


def test_what_is_no_response_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="a `dict` is no response of a provider"):
        holdfast.Session(budget="16k").report({"hello": 1})


def test_a_session_is_resumed_byte_for_byte_with_its_settings(tmp_path):
    store = tmp_path / "agent.db"
    with grown_session(
        store=store, profile=replace(CODE, first_sight_ratio=0.2), system="Be brief.", to="anthropic"
    ) as first:
        before = first.pack()
        log = first.log.id
    with holdfast.Session(store=store) as other:
        other.append({"role": "user", "content": "Another question."})
    with holdfast.Session.resume(store, log[:-2]) as again:
        assert again.log.id == log
        packed = again.pack()
        assert (packed.messages, packed.system, packed.tools) == (
            before.messages,
            before.system,
            before.tools,
        )
        assert again.profile == first.profile
        assert again.to == "anthropic"
    with holdfast.Session.resume(store, "newest", budget="8k") as newest:
        assert newest.log.id == other.log.id
        assert newest.profile.window == 8_000


def test_a_format_that_was_detected_is_known_after_a_restart(tmp_path):
    store = tmp_path / "agent.db"
    with holdfast.Session(store=store) as first:
        first.append(QUESTION["gemini"], REPLY["gemini"], RESULT["gemini"])
        before = first.pack()
    with holdfast.Session.resume(store) as again:
        assert again.pack().messages == before.messages


def test_a_store_without_a_session_says_how_to_begin_one(tmp_path):
    SqliteStore(tmp_path / "agent.db").close()
    with pytest.raises(NotFound, match="no session to resume") as raised:
        holdfast.Session.resume(tmp_path / "agent.db")
    assert "Session(store=" in raised.value.hint


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "gemini"])
def test_recall_is_offered_and_answered_in_every_format(name):
    session = holdfast.Session(budget="16k", to=name)
    (tool,) = session.tools
    assert "Recall" in json.dumps(tool)
    function = {"name": "Recall", "arguments": json.dumps({"query": "settings"})}
    call = {"id": "c1", "type": "function", "function": function}
    session.append({"role": "user", "content": "The settings are in a.toml."})
    session.append({"role": "assistant", "content": "", "tool_calls": [call]})
    same = {
        "openai": call,
        "responses": {"type": "function_call", "call_id": "c1", **function},
        "anthropic": {"type": "tool_use", "id": "c1", "name": "Recall", "input": {"query": "settings"}},
        "gemini": {"functionCall": {"name": "Recall", "args": {"query": "settings"}}},
    }[name]
    assert session.answer(same) is True
    assert "The settings are in a.toml." in json.dumps(session.pack().messages[-1])


def test_a_call_of_another_tool_is_left_to_the_agent():
    session = holdfast.Session(budget="16k")
    session.append(QUESTION["openai"], chat_reply())
    before = session.log.info.entries
    assert session.answer(chat_reply().choices[0].message.tool_calls[0]) is False
    assert session.log.info.entries == before
    with pytest.raises(InputError, match="no call of a tool"):
        session.answer({"content": "x"})
