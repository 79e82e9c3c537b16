"""Sessions at their edges: formats that only tools tell, prompts in parts, what is refused, and what stays."""

import json

import httpx2
import pytest
from msgspec.structs import replace

import holdfast
from holdfast.errors import HoldfastError, InputError
from holdfast.events import LogStarted, OverflowReported
from holdfast.log import Log
from holdfast.packing.profile import CODE
from holdfast.session_settings import SESSION, session_settings
from holdfast.store import MemoryStore
from holdfast.wire.sdk_objects import plain_json, read_response
from library.test_session_messages import QUESTION, REPLY, RESULT, anthropic_reply, chat_reply

TOOLS = {
    "openai": {"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}},
    "responses": {"type": "function", "name": "Read", "parameters": {"type": "object"}},
    "anthropic": {"name": "Read", "input_schema": {"type": "object"}},
    "gemini": {"functionDeclarations": [{"name": "Read", "parametersJsonSchema": {"type": "object"}}]},
}


@pytest.mark.parametrize("name", TOOLS)
def test_a_format_that_only_the_tools_tell_is_known_after_a_restart(name, tmp_path):
    with holdfast.Session(tools=[TOOLS[name]], store=tmp_path / "agent.db") as first:
        first.append({"role": "user", "content": "Go."})
        before = first.pack()
        assert before.provider == name
    with holdfast.Session.resume(tmp_path / "agent.db") as again:
        assert again.pack().messages == before.messages
        assert again.tools == first.tools


def test_two_recalls_without_ids_get_an_answer_each():
    session = holdfast.Session(budget="16k", to="gemini")
    session.append({"role": "user", "parts": [{"text": "The port is 8123, the host is loopback."}]})
    calls = [{"functionCall": {"name": "Recall", "args": {"query": word}}} for word in ("port", "host")]
    session.append({"role": "model", "parts": calls})
    assert all(map(session.answer, calls))
    parts = session.pack().messages[-1]["parts"]
    answers = [part["functionResponse"]["response"]["output"] for part in parts]
    assert ['query "port"' in answers[0], 'query "host"' in answers[1]] == [True, True]


@pytest.mark.parametrize("first", QUESTION)
@pytest.mark.parametrize("second", QUESTION)
def test_a_list_of_mixed_formats_keeps_every_call_and_result(first, second):
    rounds = []
    for number, name in enumerate((first, second)):
        said = read_response(plain_json(REPLY[name])).messages
        text = json.dumps([*said, plain_json(RESULT[name])])
        rounds += [
            {"role": "user", "content": "Read a.py."},
            *json.loads(text.replace('"c1"', f'"c{number}"')),
        ]
    packed = holdfast.pack(rounds, budget="16k", to="openai")
    assert [m["role"] for m in packed.messages] == ["user", "assistant", "tool"] * 2
    assert [m["content"] for m in packed.messages[2::3]] == ["x = 1", "x = 1"]


def test_prompts_that_open_a_conversation_are_joined_as_a_list_joins_them():
    opening = [{"role": "system", "content": "One."}, {"role": "developer", "content": "Two."}]
    question = {"role": "user", "content": "Go."}
    wanted = [{"role": "system", "content": "One.\n\nTwo."}, question]
    together, apart = holdfast.Session(), holdfast.Session()
    together.append(*opening, question)
    for message in (*opening, question):
        apart.append(message)
    assert (
        together.pack().messages
        == apart.pack().messages
        == holdfast.pack([*opening, question]).messages
        == wanted
    )
    given = holdfast.Session(system="Zero.")
    given.append(*opening, question)
    assert given.pack().messages[0]["content"] == "Zero.\n\nOne.\n\nTwo."


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([print], "tool 0 is of type `builtin_function_or_method`"),
        ([TOOLS["openai"], None], "tool 1 is of type `NoneType`"),
        (TOOLS["openai"], "the tools are of type `dict`, not a list"),
        ("Read", "the tools are of type `str`, not a list"),
    ],
)
def test_what_is_no_tool_is_refused(tools, said):
    for make in (holdfast.Session, lambda **given: holdfast.pack([QUESTION["openai"]], **given)):
        with pytest.raises(InputError) as raised:
            make(tools=tools)
        assert said in str(raised.value)
        assert raised.value.hint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"profile": 3}, "the profile is of type `int`"),
        ({"weights": 3}, "the weights are of type `int`"),
        ({"model": 3}, "`model` is of type `int`"),
        ({"tools": 3}, "the tools are of type `int`"),
        ({"system": 3}, "`system` is of type `int`"),
        ({"store": 3}, "the store is of type `int`"),
        ({"log": 3}, "`log` is of type `int`"),
        ({"store": "a\0b"}, "cannot be created: embedded null byte"),
    ],
)
def test_what_a_session_cannot_be_made_with_is_refused(given, said):
    makers = [holdfast.Session]
    if not given.keys() & {"system", "store", "log"}:
        makers.append(lambda **given: holdfast.pack([QUESTION["openai"]], **given))
    for make in makers:
        with pytest.raises(holdfast.HoldfastError) as raised:
            make(**given)
        assert said in str(raised.value)
        assert raised.value.hint


def test_a_closed_session_says_so(tmp_path):
    session = holdfast.Session(store=tmp_path / "agent.db")
    session.close()
    with pytest.raises(holdfast.HoldfastError, match="is closed\nhint: open it again"):
        session.append(QUESTION["openai"])


def test_tools_may_come_from_anything_that_can_be_listed():
    session = holdfast.Session(tools=(tool for tool in [TOOLS["anthropic"]]))
    assert [tool["name"] for tool in session.tools] == ["Read", "Recall"]


def test_a_refused_append_leaves_the_session_as_it_was():
    session = holdfast.Session(budget="16k")
    session.append(QUESTION["openai"])
    session.pack()
    session.report(chat_reply())
    with pytest.raises(InputError):
        session.append(anthropic_reply(), 3)
    assert session.to == "openai"
    session.append(chat_reply().choices[0].message)
    assert [e.event.usage.prompt for e in session.log.entries() if hasattr(e.event, "usage")] == [120]


def test_a_response_that_says_only_text_settles_the_format():
    session = holdfast.Session(budget="16k", system="Be brief.")
    reply = anthropic_reply()
    reply.content = [block for block in reply.content if block.type == "text"]
    session.append(QUESTION["anthropic"], reply)
    assert session.pack().provider == "anthropic"
    assert session.pack().system


class Broken:
    def model_dump(self, **_):
        raise ValueError("no dump today")


def test_objects_that_cannot_be_dumped_are_refused_in_a_sentence():
    session = holdfast.Session(budget="16k")
    cyclic: dict = {"role": "user"}
    cyclic["content"] = [cyclic]
    for use in (session.append, session.answer, session.report, lambda bad: holdfast.pack([bad])):
        for bad in (Broken(), cyclic):
            with pytest.raises(InputError) as raised:
                use(bad)
            assert raised.value.hint


def test_settings_of_another_version_are_read_one_by_one():
    store = MemoryStore()
    kept = {"profile": {"name": "code", "window": 9_000}, "model": "m-1", "to": "a format of the future"}
    log = Log.create(store, meta={SESSION: kept})
    settings = session_settings(store, log.id)
    assert (settings.profile.window, settings.model, settings.to) == (9_000, "m-1", None)
    assert isinstance(log.entries()[0].event, LogStarted)


def test_a_reply_that_the_window_had_no_room_for_makes_the_next_pack_smaller():
    session = holdfast.Session(budget="16k", profile=replace(CODE, cache_marks=0))
    session.append(QUESTION["anthropic"])
    reply = anthropic_reply()
    reply.stop_reason = "model_context_window_exceeded"
    session.append(reply)
    assert session.report(reply) is True
    assert sum(isinstance(e.event, OverflowReported) for e in session.log.entries()) == 1


@pytest.mark.parametrize(
    ("error", "is_overflow"),
    [
        ("prompt is too long: 9000 tokens > 8000 maximum", True),
        ("unknown field", False),
    ],
)
def test_an_error_of_an_http_client_is_read_by_its_body(error, is_overflow):
    request = httpx2.Request("POST", "http://127.0.0.1/")
    response = httpx2.Response(400, request=request, json={"error": {"message": error}})
    session = holdfast.Session(budget="16k")
    session.append(QUESTION["openai"])
    failed = httpx2.HTTPStatusError("Client error '400 Bad Request'", request=request, response=response)
    assert session.report(failed) is is_overflow
    assert session.report(ValueError("the input is too long")) is False


def test_a_call_is_answered_once_and_only_if_a_reply_made_it():
    session = holdfast.Session(budget="16k")
    function = {"name": "Recall", "arguments": "{broken"}
    call = {"id": "c1", "type": "function", "function": function}
    with pytest.raises(InputError, match="the call `c1` waits for no result"):
        session.answer(call)
    session.append(QUESTION["openai"], {"role": "assistant", "tool_calls": [call]})
    assert session.answer(call)
    assert "not a JSON object" in session.pack().messages[-1]["content"]
    with pytest.raises(InputError, match="waits for no result"):
        session.answer(call)


def test_a_blocked_prompt_is_a_response_without_a_reply():
    session = holdfast.Session(budget="16k")
    session.append(QUESTION["gemini"])
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    before = session.log.info.entries
    session.append(blocked)
    assert session.report(blocked) is False
    assert session.log.info.entries == before


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "H"}}]},
            "a piece of a streamed",
        ),
        ({"object": "chat.completion", "choices": []}, "a response without a choice"),
        ({"role": "human", "content": "Hello."}, "the role `human`, which no provider knows"),
    ],
)
def test_what_holds_no_message_is_refused(message, words) -> None:
    session = holdfast.Session()
    with pytest.raises(HoldfastError, match=words) as caught:
        session.append(message)
    assert caught.value.hint
    assert not session.window.transcript.items


def test_a_store_that_is_not_there_is_not_made_by_resuming(tmp_path) -> None:
    with pytest.raises(HoldfastError, match="there is no store"):
        holdfast.Session.resume(tmp_path / "typo.db")
    assert not (tmp_path / "typo.db").exists()


def test_a_name_that_gemini_refuses() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "3d view", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "seen"},
    ]
    parts = [part for content in holdfast.pack(said, to="gemini").messages for part in content["parts"]]
    assert parts[1]["functionCall"]["name"] == parts[2]["functionResponse"]["name"] == "_3d_view"
    tool = {"name": "3d view", "input_schema": {"type": "object"}}
    with pytest.raises(HoldfastError, match="Gemini takes no function with the name `3d view`"):
        holdfast.pack(said, tools=[tool], to="gemini")
