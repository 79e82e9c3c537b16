"""Messages in any format and from any SDK go into a session, and come out in the format they came in."""

import dataclasses
import json

import pytest
from anthropic.types import Message
from google.genai import types as genai
from msgspec.structs import replace
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

import holdfast
from holdfast.errors import InputError
from holdfast.events import AssistantReplied
from holdfast.packing.profile import CODE

ARGUMENTS = {"path": "a.py"}


def chat_reply(text="Looking."):
    function = {"name": "Read", "arguments": json.dumps(ARGUMENTS)}
    message = {"role": "assistant", "content": text, "refusal": None}
    message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
    choice = {"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}
    usage = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}
    return ChatCompletion.model_validate(
        {
            "id": "r",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [choice],
            "usage": usage,
        }
    )


def responses_reply():
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Looking.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "Read",
            "arguments": json.dumps(ARGUMENTS),
        },
    ]
    usage = {
        "input_tokens": 120,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 127,
    }
    return Response.model_construct(
        id="r", object="response", model="m-1", status="completed", output=output, usage=usage
    )


def anthropic_reply():
    return Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m-1",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "Read", "input": ARGUMENTS},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 7},
        }
    )


def gemini_reply():
    call = genai.FunctionCall(name="Read", args=ARGUMENTS)
    parts = [genai.Part(text="Looking."), genai.Part(function_call=call, thought_signature=b"sig")]
    candidate = genai.Candidate(content=genai.Content(role="model", parts=parts), finish_reason="STOP")
    usage = genai.GenerateContentResponseUsageMetadata(
        prompt_token_count=120, candidates_token_count=7, cached_content_token_count=20
    )
    return genai.GenerateContentResponse(candidates=[candidate], usage_metadata=usage, model_version="m-1")


QUESTION = {
    "openai": {"role": "user", "content": "Read a.py."},
    "responses": {"role": "user", "content": [{"type": "input_text", "text": "Read a.py."}]},
    "anthropic": {"role": "user", "content": "Read a.py."},
    "gemini": genai.Content(role="user", parts=[genai.Part(text="Read a.py.")]),
}
REPLY = {
    "openai": chat_reply(),
    "responses": responses_reply(),
    "anthropic": anthropic_reply(),
    "gemini": gemini_reply(),
}
RESULT = {
    "openai": {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
    "responses": {"type": "function_call_output", "call_id": "c1", "output": "x = 1"},
    "anthropic": {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x = 1"}]}
        ],
    },
    "gemini": genai.Content(
        role="user",
        parts=[
            genai.Part(function_response=genai.FunctionResponse(name="Read", response={"output": "x = 1"}))
        ],
    ),
}
FORMATS = [*QUESTION]


@pytest.mark.parametrize("name", FORMATS)
def test_a_whole_response_is_appended_with_its_usage_and_comes_back_in_its_format(name):
    session = holdfast.Session(budget="16k", system="Be brief.")
    session.append(QUESTION[name], REPLY[name], RESULT[name])
    (reply,) = [e.event for e in session.log.entries() if isinstance(e.event, AssistantReplied)]
    assert (reply.usage.prompt, reply.usage.completion, reply.model) == (120, 7, "m-1")
    packed = session.pack()
    assert packed.provider == session.to == name
    text = json.dumps(packed.messages)
    assert all(word in text for word in ("Read a.py.", "Looking.", "a.py", "x = 1"))
    opaque = {"responses": "opaque", "anthropic": "c2ln", "gemini": "c2ln"}
    assert name not in opaque or opaque[name] in text


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("to", FORMATS)
def test_every_format_can_be_written_in_every_other(name, to):
    session = holdfast.Session(budget="16k", to=to)
    session.append(QUESTION[name], REPLY[name], RESULT[name])
    packed = session.pack()
    text = json.dumps(packed.messages)
    assert packed.provider == to
    assert all(word in text for word in ("Read a.py.", "Looking.", "x = 1"))
    assert ("c2ln" in text or "opaque" in text) is (name == to and name != "openai"), (
        "thinking stays where it is from"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_list_of_sdk_objects_is_packed_as_the_session_packs_it(name):
    reply = REPLY[name]
    said = {
        "openai": lambda: [reply.choices[0].message],
        "responses": lambda: reply.output,
        "anthropic": lambda: [{"role": "assistant", "content": reply.content}],
        "gemini": lambda: [reply.candidates[0].content],
    }[name]()
    packed = holdfast.pack([QUESTION[name], *said, RESULT[name]], budget="16k")
    assert packed.provider == name
    session = holdfast.Session(budget="16k")
    session.append(QUESTION[name])
    session.append(*said)
    session.append(RESULT[name])
    assert session.pack().messages == packed.messages


def test_dataclasses_and_typed_dicts_are_messages():
    @dataclasses.dataclass
    class Said:
        role: str
        content: str
        name: str | None = None

    session = holdfast.Session(budget="16k")
    session.append(Said("user", "Go."), Said("assistant", "Gone."))
    assert session.pack().messages == [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "Gone."},
    ]


@pytest.mark.parametrize(
    ("messages", "said", "hint"),
    [
        ([3], "message 0 is of type `int`", "model_dump"),
        ([{"role": "user", "content": "Go."}, "and then"], "message 1 is of type `str`", '"role": "user"'),
        ([{"type": "tool_result", "tool_use_id": "c1"}], "has no `role`", "a block of a message"),
        ([{"functionResponse": {"name": "f"}}], "has no `role`", "belongs to a content"),
        ([{"role": None, "content": "Go."}], "message 0 has no `role`", "model_dump"),
        ([{"role": "user", "content": "Go."}, b"and then"], "message 1 is of type `bytes`", "model_dump"),
        ([{"role": "user", "content": "Go."}, object()], "message 1 ", "model_dump"),
        (
            [{"role": "user", "content": "Go."}, {"role": "user", "content": "On.", "by": object()}],
            "message 1 holds something that JSON cannot: Encoding objects of type object",
            "model_dump",
        ),
        (
            [{"role": "user", "content": "Go."}, {"role": "user", "content": "On.", "at": {1: 2}}],
            "message 1 has the key 1 of type int",
            "write the key as a string",
        ),
    ],
)
def test_what_is_no_message_is_refused_with_its_place_and_nothing_is_recorded(messages, said, hint):
    session = holdfast.Session(budget="16k")
    before = session.log.info.entries
    for give in (lambda: session.append(*messages), lambda: holdfast.pack(messages)):
        with pytest.raises(InputError) as raised:
            give()
        assert said in str(raised.value)
        assert hint in str(raised.value)
    assert session.log.info.entries == before


def test_a_result_without_its_call_is_refused_and_the_nearest_call_is_named():
    session = holdfast.Session(budget="16k")
    session.append(QUESTION["openai"], chat_reply())
    with pytest.raises(InputError) as raised:
        session.append({"role": "tool", "tool_call_id": "c11", "content": "x"})
    assert "message 0 is the result of call `c11`, which no reply made" in str(raised.value)
    assert "did you mean `c1`?" in str(raised.value)


def test_an_anthropic_pack_marks_the_ends_of_its_layers_four_at_most():
    def marks(**settings):
        session = holdfast.Session(
            budget="16k", system="Be brief.", to="anthropic", profile=replace(CODE, **settings)
        )
        session.append(QUESTION["anthropic"], anthropic_reply(), RESULT["anthropic"])
        packed = session.pack()
        return json.dumps([packed.system, packed.tools, packed.messages]).count("cache_control")

    assert marks() == 2, "the system prompt, and the end of the round"
    assert marks(cache_marks=1) == 1
    assert marks(cache_marks=0) == 0


def test_items_of_the_providers_own_tools_are_passed_over():
    reply = {"object": "response", "output": [{"type": "compaction", "id": "x"}, *responses_reply().output]}
    session = holdfast.Session(budget="16k")
    session.append(QUESTION["responses"], reply, RESULT["responses"])
    assert "Looking." in json.dumps(session.pack().messages)


def test_what_could_not_be_read_is_among_the_losses(tmp_path):
    file = {"type": "file", "file": {"file_id": "f1"}}
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "Read them."}, file, file]},
        {"role": "assistant", "content": "I cannot."},
        {"role": "user", "content": [{"type": "text", "text": "And this?"}, file]},
    ]
    wanted = ("left out: `file` blocks (3)",)
    assert holdfast.pack(chat).losses == ("left out: `file` blocks (3), first in message 0",)
    store = tmp_path / "agent.db"
    with holdfast.Session(store=store) as session:
        session.append(chat[0])
        first = session.pack()
        session.append(*chat[1:])
        packed = session.pack()
    # Also when the store is closed, and each pack for itself.
    assert (first.losses, packed.losses) == (("left out: `file` blocks (2)",), wanted)
    with holdfast.Session.resume(store) as resumed:
        assert resumed.pack().losses == wanted


CHAT_WITH_ORPHANS = [
    QUESTION["openai"],
    {"role": "tool", "tool_call_id": "trimmed", "content": "of a call that somebody cut away"},
    {"role": "assistant", "content": "Looking."},
    {"role": "tool", "tool_call_id": "never made", "content": "8123"},
    {"role": "user", "content": "And now?"},
]


def test_a_result_without_its_call_is_named_by_its_place_in_the_list():
    losses = [one for one in holdfast.pack(CHAT_WITH_ORPHANS).losses if "waits" in one]
    wanted = "left out: message {}, as the result of `{}` has no call that waits for it; {}"
    hint = "put the reply with the call before it"
    assert losses == [wanted.format(1, "trimmed", hint), wanted.format(3, "never made", hint)]


def test_a_message_of_an_unknown_shape_is_named_by_its_place_in_the_list():
    chat = [
        QUESTION["openai"],
        {"role": "user", "content": [{"type": "hologram"}, {"type": "text", "text": "?"}]},
    ]
    assert holdfast.pack(chat).losses == ("left out: `hologram` blocks (1), first in message 1",)


CALL = {"id": "call_abc1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("result", "said", "refused"),
    [
        ({"tool_call_id": "call_abc2"}, "`call_abc2`", "message 2 is the result of call `call_abc2`"),
        ({}, "a call that it does not name", "message 2 is a tool result without the id of its call"),
    ],
)
def test_beside_a_result_without_its_call_stand_the_calls_without_a_result(result, said, refused):
    chat = [QUESTION["openai"], {"role": "assistant", "tool_calls": [CALL]}]
    chat.append({"role": "tool", "content": "8123", **result})
    assert holdfast.pack(chat).losses[0] == (
        f"left out: message 2, as the result of {said} has no call that waits for it "
        "(calls without a result: `call_abc1`); put the reply with the call before it"
    )
    with pytest.raises(InputError, match=f"{refused}.*\n.*call_abc1"):
        holdfast.Session().append(*chat)


def test_a_result_without_its_call_is_named_also_where_the_list_has_grown():
    holdfast.pack(CHAT_WITH_ORPHANS[:3])
    grown = holdfast.pack(CHAT_WITH_ORPHANS)
    assert [one.split(",")[0] for one in grown.losses if "waits" in one] == [
        "left out: message 1",
        "left out: message 3",
    ]


LONE_RESULTS = {
    "responses": {"type": "function_call_output", "call_id": "x", "output": "r"},
    "gemini": {"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {"output": "r"}}}]},
}


@pytest.mark.parametrize("name", LONE_RESULTS)
def test_a_list_of_one_result_without_its_call_is_refused_by_its_place(name):
    with pytest.raises(InputError, match="left out: message 0, as the result of `x`"):
        holdfast.pack([LONE_RESULTS[name]])


def test_no_cache_mark_is_on_a_result_without_content():
    session = holdfast.Session(budget="16k", to="anthropic")
    empty = {"type": "tool_result", "tool_use_id": RESULT["anthropic"]["content"][0]["tool_use_id"]}
    session.append(QUESTION["anthropic"], anthropic_reply(), {"role": "user", "content": [empty]})
    blocks = [block for message in session.pack().messages for block in message["content"]]
    assert blocks[-1] == empty
    assert "cache_control" in blocks[-2]
