"""Gemini contents: read as REST and the SDK have them, and written so that reading gives the same messages."""

from base64 import b64encode, urlsafe_b64encode
from contextlib import suppress

import msgspec
import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_conversations import (
    ANYTHING,
    GREP,
    IMAGES,
    READ,
    TEXTS,
    conversations,
    encoded,
    read_back,
    read_messages,
    tools_in,
    write_checked,
)

from holdfast.errors import InputError
from holdfast.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from holdfast.session import Session
from holdfast.wire.gemini import MADE_ID, gemini_usage, to_gemini
from holdfast.wire.message_lists import distinct_format, events_from_messages, recording_from_messages
from holdfast.wire.sdk_objects import plain_json, read_response

ASKED = {"role": "user", "parts": [{"text": "Fix the parser."}]}
SIGNATURE = b"\xfb\xff\xfe signed"


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def call(name="Read", /, **args):
    return {"functionCall": {"name": name, "args": args}}


def answer(said, name="Read"):
    return {"functionResponse": {"name": name, "response": {"output": said}}}


def parts_written(*messages):
    """The parts of the contents after the first, which is what was asked."""
    asked = UserMessage((Text("go"),))
    return [
        part
        for content in write_checked([asked, *messages], "gemini").messages[1:]
        for part in content["parts"]
    ]


def test_objects_of_the_sdk_are_read():
    image = types.Part.from_bytes(data=b"\xfb\xff\xfe\x01", mime_type="image/png")
    called = types.Part(
        function_call=types.FunctionCall(id="f1", name="Read", args={"path": "a.py"}),
        thought_signature=SIGNATURE,
    )
    returned = types.Part(
        function_response=types.FunctionResponse(id="f1", name="Read", response={"output": "x = 1"})
    )
    contents = [
        types.UserContent(parts=[types.Part.from_text(text="Fix it."), image]),
        types.ModelContent(
            parts=[types.Part(text="I look.", thought=True), types.Part(text="Well."), called]
        ),
        types.Content(role="user", parts=[returned]),
    ]
    signature = urlsafe_b64encode(SIGNATURE).decode()
    assert read_messages(contents, "gemini") == [
        UserMessage((Text("Fix it."), Image("image/png", b64encode(b"\xfb\xff\xfe\x01").decode()))),
        AssistantMessage(
            (
                Thinking("I look."),
                Text("Well."),
                Thinking(redacted=encoded({"thoughtSignature": signature})),
                ToolCall("f1", "Read", {"path": "a.py"}),
            )
        ),
        ToolMessage("f1", "Read", (Text("x = 1"),)),
    ]


def test_what_is_written_is_read_by_the_sdk_with_the_same_bytes():
    signed = types.Part(function_call=types.FunctionCall(name="Read", args={}), thought_signature=SIGNATURE)
    image = types.Part.from_bytes(data=b"\xfb\xff\xfe\x01", mime_type="image/png")
    contents = [
        types.UserContent(parts=[image]),
        types.ModelContent(parts=[signed]),
        types.UserContent(parts=[types.Part.from_function_response(name="Read", response={"output": "x"})]),
    ]
    written = write_checked(read_messages(contents, "gemini"), "gemini").messages
    assert [types.Content.model_validate(content) for content in written] == [
        types.Content(role=content.role, parts=content.parts) for content in contents
    ]


def test_dumps_that_keep_empty_fields_and_snake_case_are_read_the_same():
    contents = [
        types.UserContent(parts=[types.Part.from_bytes(data=b"\xff\x00", mime_type="image/png")]),
        types.ModelContent(
            parts=[
                types.Part(text="hm", thought=True),
                types.Part(
                    function_call=types.FunctionCall(name="Read", args={}), thought_signature=SIGNATURE
                ),
            ]
        ),
        types.Content(parts=[types.Part.from_function_response(name="Read", response={"result": "x"})]),
        types.UserContent(parts=[types.Part.from_uri(file_uri="https://a.org/a.png", mime_type="image/png")]),
    ]
    snakes = [content.model_dump(mode="json") for content in contents]
    assert "function_call" in snakes[1]["parts"][1]
    assert snakes[2]["role"] is None
    assert read_messages(snakes, "gemini") == read_messages(contents, "gemini")
    assert len(read_messages(snakes, "gemini")) == 4


def test_a_whole_response_of_the_sdk_is_a_message_with_its_usage():
    response = types.GenerateContentResponse(
        candidates=[
            types.Candidate(
                content=types.ModelContent(parts=[types.Part(text="Done.", thought_signature=SIGNATURE)]),
                finish_reason=types.FinishReason.STOP,
            )
        ],
        model_version="gemini-4-pro",
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=100,
            candidates_token_count=7,
            thoughts_token_count=20,
            cached_content_token_count=60,
        ),
    )
    read = read_response(plain_json(response))
    assert (read.format, read.model, read.stop) == ("gemini", "gemini-4-pro", "stop")
    assert read.usage == Usage(100, 27, cache_read=60)
    assert gemini_usage(response.usage_metadata.model_dump(mode="json")) == read.usage
    (event,) = events_from_messages(read.messages, "gemini")
    assert event.parts[-1] == Text("Done.")


def test_two_calls_of_one_function_are_paired_with_their_results_in_order():
    contents = [
        ASKED,
        model(call(path="a.py"), call("Grep"), call(path="b.py")),
        user(answer("of a"), answer("of b"), answer("lines", "Grep")),
        model(call(path="c.py")),
        user(answer("of c")),
    ]
    messages = read_messages(contents, "gemini")
    calls = {c.id: c for m in messages if isinstance(m, AssistantMessage) for c in m.calls}
    assert len(calls) == 4
    results = [(calls[m.call_id].arguments, m.text) for m in messages if isinstance(m, ToolMessage)]
    assert results == [
        ({"path": "a.py"}, "of a"),
        ({"path": "b.py"}, "of b"),
        ({}, "lines"),
        ({"path": "c.py"}, "of c"),
    ]
    assert all(id_.startswith(MADE_ID) for id_ in calls)
    assert write_checked(messages, "gemini").messages == contents


def test_results_that_come_one_by_one_are_paired_in_order():
    contents = [
        ASKED,
        model(call(path="a.py"), call(path="b.py")),
        user(answer("of a")),
        user(answer("of b")),
    ]
    messages = read_messages(contents, "gemini")
    assert [m.call_id for m in messages[2:]] == [c.id for c in messages[1].calls]
    written = write_checked(messages, "gemini").messages
    assert written[2:] == [user(answer("of a"), answer("of b"))]


def test_made_ids_are_new_whatever_ids_the_model_gave():
    given_id = {"functionCall": {"id": f"{MADE_ID}0", "name": "Read", "args": {}}}
    messages = read_messages([ASKED, model(call(), given_id, call())], "gemini")
    assert len({c.id for c in messages[1].calls}) == 3
    odd = {"functionCall": {"id": 5, "name": "Read"}}
    assert read_messages([ASKED, model(odd)], "gemini")[1].calls[0].id.startswith(MADE_ID)


def test_a_result_without_an_id_answers_the_call_that_has_one():
    """`Part.from_function_response` of the SDK takes no id."""
    called = {"functionCall": {"id": "f1", "name": "Read", "args": {}}}
    other = {"functionCall": {"id": "f2", "name": "Read", "args": {}}}
    named = {"functionResponse": {"id": "f1", "name": "Read", "response": {"output": "first"}}}
    messages = read_messages([ASKED, model(called, other), user(answer("second"), named)], "gemini")
    assert [(m.call_id, m.text) for m in messages[2:]] == [("f2", "second"), ("f1", "first")]
    written = write_checked(messages, "gemini").messages
    assert [part["functionCall"]["id"] for part in written[1]["parts"]] == ["f1", "f2"]
    assert [part["functionResponse"]["id"] for part in written[2]["parts"]] == ["f2", "f1"]


def test_a_result_without_a_name_has_that_of_its_call():
    called = {"functionCall": {"id": "f1", "name": "Read", "args": {}}}
    returned = {"functionResponse": {"id": "f1", "response": {"output": "x"}}}
    assert read_messages([ASKED, model(called), user(returned)], "gemini")[2] == ToolMessage(
        "f1", "Read", (Text("x"),)
    )


def test_a_session_sends_calls_without_ids_as_they_came():
    contents = [ASKED, model(call(path="a.py"), call(path="b.py")), user(answer("of a"), answer("of b"))]
    session = Session(budget="8k")
    session.append(*contents)
    assert session.pack().messages == contents


@pytest.mark.parametrize(
    "parts",
    [
        [{**call(), "thoughtSignature": "c2ln"}, call()],
        [{"text": "Well.", "thoughtSignature": "MQ=="}, {**call(), "thoughtSignature": "Mg=="}],
        [{"text": "Well."}, {"text": "", "thoughtSignature": "ZW5k"}],
        [{"text": "", "thoughtSignature": "MQ=="}, call()],
        [{"text": "", "thoughtSignature": "MQ=="}, {**call(), "thoughtSignature": "Mg=="}],
        [{"text": "I look.", "thought": True, "thoughtSignature": "MQ=="}, call()],
        [
            {"text": "", "thought": True, "thoughtSignature": "MQ=="},
            {"text": "Well.", "thoughtSignature": "Mg=="},
        ],
    ],
)
def test_thought_signatures_return_on_the_same_part(parts):
    results = user(*(answer("x") for part in parts if "functionCall" in part))
    contents = [ASKED, model(*parts), *([results] if results["parts"] else [])]
    messages = read_messages(contents, "gemini")
    assert write_checked(messages, "gemini").messages == contents


def test_a_signature_without_its_part_is_not_sent():
    signed = Thinking(redacted='{"thoughtSignature":"MQ=="}')
    assert parts_written(AssistantMessage((Text("Well."), signed))) == [{"text": "Well."}]
    assert parts_written(AssistantMessage((signed, Text(""), Text("Well.")))) == [{"text": "Well."}]
    ending = Thinking(redacted='{"thoughtSignature":"MQ==","text":""}')
    assert parts_written(AssistantMessage((signed, ending))) == []
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "MQ=="}
    assert read_messages([ASKED, model(code, {"text": "1"})], "gemini")[1] == AssistantMessage((Text("1"),))


@pytest.mark.parametrize(
    ("response", "said", "is_error"),
    [
        ({"output": "x = 1"}, "x = 1", False),
        ({"result": "x = 1"}, "x = 1", False),
        ({"error": "no such file"}, "no such file", True),
        ({"error": {"code": 2}}, '{"code":2}', True),
        ({"output": ["a", "b"]}, '["a","b"]', False),
        ({"output": "x", "error": None}, '{"output":"x","error":null}', False),
        ({"lines": 3}, '{"lines":3}', False),
        ({"output": ""}, "", False),
        (None, "", False),
    ],
)
def test_function_responses_are_read_by_the_keys_that_gemini_knows(response, said, is_error):
    returned = {"functionResponse": {"name": "Read", "response": response}}
    result = read_messages([ASKED, model(call()), user(returned)], "gemini")[2]
    assert (result.text, result.error) == (said, is_error)
    key = "error" if is_error else "output"
    assert parts_written(AssistantMessage((ToolCall(f"{MADE_ID}0", "Read", {}),)), result)[1:] == [
        {"functionResponse": {"name": "Read", "response": {key: said}}}
    ]


def test_pictures_in_function_responses_are_read_and_stand_beside_them_when_written():
    picture = {"inlineData": {"mimeType": "image/png", "data": "-_-_"}}
    returned = {"functionResponse": {"name": "Read", "response": {"output": "x"}, "parts": [picture]}}
    messages = read_messages([ASKED, model(call()), user(returned)], "gemini")
    assert messages[2].parts == (Text("x"), Image("image/png", "+/+/"))
    written = write_checked(messages, "gemini")
    assert written.messages[2] == user(answer("x"), {"inlineData": {"mimeType": "image/png", "data": "+/+/"}})
    assert written.losses == ("moved beside the result: pictures in tool results (1)",)


def test_files_that_are_no_pictures_are_counted():
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}
    film = {"file_data": {"mime_type": "video/mp4", "file_uri": "https://a.org/a.mp4"}}
    photo = {"fileData": {"fileUri": "https://a.org/a.png"}}
    recording = recording_from_messages([user({"text": "look"}, sound, film, photo)])
    assert recording.events[-1].event.parts == (Text("look"), Image("", url="https://a.org/a.png"))
    assert recording.notes == tuple(
        f"left out: `{kind}` parts (1), first in message 0" for kind in ("audio/wav", "video/mp4")
    )


def test_replies_that_follow_each_other_are_one_content():
    replies = [AssistantMessage((Text("First."),)), AssistantMessage((ToolCall("f1", "Read", {}),))]
    written = write_checked(
        [UserMessage((Text("go"),)), *replies, ToolMessage("f1", "Read", (Text("x"),))], "gemini"
    ).messages
    assert [content["role"] for content in written] == ["user", "model", "user"]


def test_system_messages_are_sent_beside_the_contents():
    late = [SystemMessage("Be brief."), UserMessage((Text("go"),)), SystemMessage("Be kind.")]
    request = write_checked(late, "gemini")
    assert request.system == [{"text": "Be brief."}, {"text": "Be kind."}]
    assert request.losses == ("moved to the system field: system messages after the first turn (1)",)


def test_arguments_that_are_no_json_object_are_wrapped():
    broken = AssistantMessage((ToolCall("f1", "Read", {}, raw='{"path": '),))
    request = write_checked([UserMessage((Text("go"),)), broken, ToolMessage("f1", "Read", ())], "gemini")
    assert request.messages[1]["parts"][0]["functionCall"]["args"] == {"raw": '{"path": '}
    assert "wrapped as `raw`: arguments that are no JSON object (1)" in request.losses


def test_tool_definitions_are_read_and_written_with_types_in_lower_case():
    schema = types.Schema(type=types.Type.OBJECT, properties={"path": types.Schema(type=types.Type.STRING)})
    function = types.FunctionDeclaration(name="Read", description=READ.description, parameters=schema)
    assert plain_json(schema)["type"] == "OBJECT"
    assert tools_in([ASKED], [types.Tool(function_declarations=[function])], "gemini") == (READ,)
    snakes = [types.Tool(function_declarations=[function]).model_dump(mode="json", exclude_none=True)]
    assert tools_in([ASKED], snakes, "gemini") == (READ,)
    written = to_gemini([], [READ, GREP]).tools
    assert tools_in([ASKED], written, "gemini") == (READ, GREP)
    assert [f.name for f in types.Tool.model_validate(written[0]).function_declarations] == ["Read", "Grep"]
    assert to_gemini([]).tools == []


SIGNATURES = st.sampled_from(["MQ==", "c2ln", "-_-_"])
OWN = SIGNATURES.map(
    lambda signature: Thinking(redacted=encoded({"thoughtSignature": signature}))
) | st.builds(
    lambda signature, said: Thinking(
        said, redacted=encoded({"thoughtSignature": signature, "thought": True})
    ),
    SIGNATURES,
    st.sampled_from(["", "I look."]),
)
RESULTS = st.lists(TEXTS, max_size=1).map(tuple)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(messages=conversations(thinking=OWN, result_parts=RESULTS, errors=st.booleans()))
def test_whatever_is_written_passes_and_reads_as_the_same_messages(messages):
    assert read_back(messages, "gemini") == messages


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(messages=conversations(thinking=OWN, result_parts=st.lists(TEXTS | IMAGES, max_size=3).map(tuple)))
def test_no_picture_of_a_result_is_lost(messages):
    def pictures(some):
        parts = [p for m in some if isinstance(m, UserMessage | ToolMessage) for p in m.parts]
        return [part for part in parts if isinstance(part, Image)]

    assert pictures(read_back(messages, "gemini")) == pictures(messages)


@settings(max_examples=100, deadline=None)
@given(messages=conversations(thinking=OWN, result_parts=RESULTS))
def test_without_ids_every_result_finds_its_call(messages):
    """Ids are taken off before reading: parallel calls of one function are told apart by their order alone."""
    written = write_checked(messages, "gemini")
    held = [
        part.get("functionCall") or part.get("functionResponse")
        for c in written.messages
        for part in c["parts"]
    ]
    for one in filter(None, held):
        one.pop("id")
    read = read_messages(written.messages, "gemini", system=written.system)
    ids = {c.id: c for m in messages if isinstance(m, AssistantMessage) for c in m.calls}
    made = {c.id: c for m in read if isinstance(m, AssistantMessage) for c in m.calls}

    def exchanges(some, calls):
        found = [(calls[m.call_id], m) for m in some if isinstance(m, ToolMessage)]
        return [(c.name, c.arguments, m.name, m.parts) for c, m in found]

    assert exchanges(read, made) == exchanges(messages, ids)
    assert write_checked(read, "gemini").messages == written.messages


@pytest.mark.parametrize("content", [ASKED, model(call()), {"parts": [answer("x")]}])
def test_contents_are_told_from_other_formats_by_their_shape(content):
    assert distinct_format([content]) == "gemini"


FIELDS = (
    "text thought thoughtSignature functionCall function_call functionResponse inlineData fileData".split()
)


@settings(max_examples=200, deadline=None)
@given(
    role=st.sampled_from(["user", "model", "system"]) | ANYTHING,
    parts=st.lists(
        st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, ANYTHING)) | ANYTHING, max_size=3
    ),
)
def test_fields_of_any_type_are_read(role, parts):
    """Read, or refused in a sentence: a role that no provider knows."""
    with suppress(InputError):
        for event in events_from_messages([{"role": role, "parts": parts}], "gemini"):
            msgspec.json.encode(event)
