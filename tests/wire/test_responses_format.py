"""Items of the OpenAI Responses API: read as they come from the SDK, and written so that reading gives the same."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import (
    EasyInputMessage,
    FunctionTool,
    Response,
    ResponseFunctionToolCall,
    ResponseFunctionWebSearch,
    ResponseInputImage,
    ResponseInputText,
    ResponseOutputMessage,
    ResponseOutputRefusal,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_custom_tool_call import ResponseCustomToolCall
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_input_item import FunctionCallOutput
from openai.types.responses.response_reasoning_item import Summary
from wire_conversations import (
    ANYTHING,
    FOREIGN,
    IMAGES,
    LINE,
    READ,
    TEXTS,
    conversations,
    encoded,
    read_back,
    read_messages,
    tools_in,
    without_thinking,
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
from holdfast.wire.formats import FORMATS
from holdfast.wire.message_lists import distinct_format, events_from_messages, recording_from_messages
from holdfast.wire.responses import to_responses
from holdfast.wire.sdk_objects import plain_json, read_response

ASKED = {"role": "user", "content": "Fix the parser."}
REASONING = ResponseReasoningItem(
    id="rs_1",
    type="reasoning",
    summary=[
        Summary(text="Look first.", type="summary_text"),
        Summary(text="Then fix.", type="summary_text"),
    ],
    encrypted_content="gAAAA-opaque",
    status="completed",
)
CALL = ResponseFunctionToolCall(
    id="fc_1",
    call_id="call_1",
    name="Read",
    arguments='{"path":"a.py"}',
    type="function_call",
    status="completed",
)
OUTPUT = FunctionCallOutput(call_id="call_1", output="x = 1", type="function_call_output")
SAID = ResponseOutputMessage(
    id="msg_1",
    role="assistant",
    type="message",
    status="completed",
    content=[ResponseOutputText(text="Done.", type="output_text", annotations=[])],
)
SEARCH = ResponseFunctionWebSearch(
    id="ws_1",
    type="web_search_call",
    status="completed",
    action=ActionSearch(type="search", query="parsers", queries=["parsers"]),
)


def response(*output, **more):
    return Response.model_validate(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "gpt-6",
            "status": "completed",
            "output": [item.model_dump() for item in output],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            **more,
        }
    )


def test_objects_of_the_sdk_are_read_and_several_items_of_a_reply_are_one_message():
    asked = EasyInputMessage(
        role="user",
        content=[
            ResponseInputText(text="Fix it.", type="input_text"),
            ResponseInputImage(type="input_image", detail="auto", image_url="data:image/png;base64,AAAA"),
        ],
    )
    system = EasyInputMessage(role="developer", content="Be brief.")
    messages = read_messages([system, asked, REASONING, SAID, CALL, OUTPUT, SAID], "responses")
    thinking = Thinking(
        "Look first.\n\nThen fix.", redacted='{"id":"rs_1","encrypted_content":"gAAAA-opaque"}'
    )
    call = ToolCall("call_1", "Read", {"path": "a.py"})
    assert messages == [
        SystemMessage("Be brief."),
        UserMessage((Text("Fix it."), Image("image/png", "AAAA"))),
        AssistantMessage((thinking, Text("Done."), call)),
        ToolMessage("call_1", "Read", (Text("x = 1"),)),
        AssistantMessage((Text("Done."),)),
    ]


def test_dumps_that_keep_empty_fields_are_read_the_same():
    objects = [EasyInputMessage(role="user", content="go"), REASONING, CALL, OUTPUT, SAID]
    dumped = [item.model_dump() for item in objects]
    assert dumped[0]["type"] is None
    assert read_messages(dumped, "responses") == read_messages(objects, "responses")


def test_a_whole_response_of_the_sdk_is_one_message_with_its_usage():
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 107,
    }
    read = read_response(plain_json(response(REASONING, SAID, CALL, usage=usage)))
    assert (read.format, read.model, read.stop) == ("responses", "gpt-6", "completed")
    assert read.usage == Usage(100, 7, cache_read=60)
    (event,) = events_from_messages(read.messages, "responses")
    assert [type(part) for part in event.parts] == [Thinking, Text, ToolCall]


def test_items_of_the_providers_own_tools_do_not_split_a_reply():
    items = plain_json([REASONING, SEARCH, SAID, CALL])
    recording = recording_from_messages([ASKED, *items, plain_json(OUTPUT)])
    assert recording.source == "responses"
    assert "left out: `web_search_call` items (1), first in message 1" in recording.notes
    (reply,) = (r.event for r in recording.events if type(r.event).__name__ == "AssistantReplied")
    assert [type(part) for part in reply.parts] == [Thinking, Text, ToolCall]


def test_a_response_with_items_of_the_providers_own_tools_is_appended_to_a_session():
    session = Session(budget="8k")
    session.append(ASKED, response(REASONING, SEARCH, SAID))
    assert [item["type"] for item in session.pack().messages] == ["message", "reasoning", "message"]


def test_reasoning_goes_back_byte_for_byte_before_the_item_it_led_to():
    second = REASONING.model_copy(update={"id": "rs_2", "encrypted_content": "gAAAA-second"})
    messages = read_messages([ASKED, REASONING, CALL, second, SAID, OUTPUT], "responses")
    items = write_checked(messages, "responses").messages
    kinds = ["message", "reasoning", "function_call", "reasoning", "message", "function_call_output"]
    assert [item["type"] for item in items] == kinds
    assert [item["encrypted_content"] for item in items if item["type"] == "reasoning"] == [
        "gAAAA-opaque",
        "gAAAA-second",
    ]
    assert items[1]["id"] == "rs_1"
    assert items[1]["summary"] == [{"type": "summary_text", "text": "Look first.\n\nThen fix."}]


@pytest.mark.parametrize("after", [(), (Text(""),), (Thinking("more thoughts"),)])
def test_reasoning_that_led_to_nothing_is_not_sent(after):
    opaque = Thinking("hm", redacted='{"id":"rs_1","encrypted_content":"gAAAA"}')
    asked = UserMessage((Text("go"),))
    assert [item["type"] for item in to_responses([asked, AssistantMessage((opaque, *after))]).messages] == [
        "message"
    ]
    spoken = AssistantMessage((opaque, Text("Yes."), opaque, *after))
    items = write_checked([asked, spoken], "responses").messages
    assert [item["type"] for item in items] == ["message", "reasoning", "message"]


def test_reasoning_without_encrypted_content_is_readable_and_not_sent_back():
    shown = REASONING.model_copy(update={"encrypted_content": None})
    messages = read_messages([ASKED, shown, SAID], "responses")
    assert messages[1].parts[0] == Thinking("Look first.\n\nThen fix.")
    assert [item["type"] for item in write_checked(messages, "responses").messages] == ["message", "message"]


@pytest.mark.parametrize("broken", ['{"id":', "{oops", '{"thoughtSignature":5', "[]"])
def test_opaque_thinking_that_is_no_item_is_left_out(broken):
    reply = AssistantMessage((Thinking(redacted=broken), Text("Done.")))
    for format_ in ("responses", "gemini"):
        written = write_checked([UserMessage((Text("go"),)), reply], format_).messages
        assert len(written) == 2
        assert broken not in encoded(written)


def test_custom_tool_calls_and_their_outputs_are_read():
    custom = ResponseCustomToolCall(call_id="c1", name="Bash", input="ls -l", type="custom_tool_call")
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.py"}
    assert read_messages([ASKED, custom, output], "responses")[1:] == [
        AssistantMessage((ToolCall("c1", "Bash", {"input": "ls -l"}),)),
        ToolMessage("c1", "Bash", (Text("a.py"),)),
    ]


def test_outputs_are_text_or_lists_with_images():
    shown = [
        {"type": "input_text", "text": "two pictures"},
        {"type": "input_image", "image_url": "data:image/jpeg;base64,BBBB"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
    ]
    output = FunctionCallOutput(call_id="call_1", output=shown, type="function_call_output")
    messages = read_messages([ASKED, CALL, output], "responses")
    pictures = (Image("image/jpeg", "BBBB"), Image("", url="https://example.org/a.png"))
    assert messages[2] == ToolMessage("call_1", "Read", (Text("two pictures"), *pictures))
    assert read_back(messages, "responses") == messages
    assert read_messages([ASKED, CALL, OUTPUT], "responses")[2].parts == (Text("x = 1"),)


def test_a_refusal_and_arguments_that_are_no_json_are_kept_as_written():
    refused = SAID.model_copy(update={"content": [ResponseOutputRefusal(refusal="No.", type="refusal")]})
    call = CALL.model_copy(update={"arguments": '{"path": '})
    messages = read_messages([ASKED, refused, call, OUTPUT], "responses")
    assert messages[1] == AssistantMessage((Text("No."), ToolCall("call_1", "Read", {}, raw='{"path": ')))
    assert read_back(messages, "responses") == messages


def test_tool_definitions_are_read_and_written():
    defined = {"name": "Read", "description": READ.description, "parameters": READ.schema}
    tool = FunctionTool(type="function", strict=True, **defined)
    assert tools_in([ASKED, plain_json(SAID)], [tool, {"type": "web_search"}], "responses") == (READ,)
    written = to_responses([], [READ]).tools
    assert written == [{"type": "function", **defined, "strict": False}]
    assert tools_in([ASKED], written, "responses") == (READ,)
    FunctionTool.model_validate(written[0], strict=True)


def test_what_has_no_place_is_counted():
    messages = [
        UserMessage(()),
        AssistantMessage((Thinking("hm"), ToolCall("c1", "Read", {}))),
        ToolMessage("c1", "Read", (Text("x"),), error=True),
        AssistantMessage(()),
    ]
    assert to_responses(messages).losses == (
        "left out: messages with nothing to send (1)",
        "left out: thinking blocks that are no reasoning items (1)",
        "left out: error flags of tool results (1)",
        "left out: assistant messages with neither text nor call (1)",
    )


OPAQUE = st.builds(
    lambda said, id_: Thinking(said, redacted=encoded({"id": id_, "encrypted_content": f"g-{id_}"})),
    st.sampled_from(["", "Look first."]),
    st.sampled_from(["rs_1", "rs_2"]),
)
RESULTS = st.lists(TEXTS | IMAGES, max_size=3).map(tuple)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(messages=conversations(thinking=OPAQUE, result_parts=RESULTS))
def test_whatever_is_written_passes_and_reads_as_the_same_messages(messages):
    assert read_back(messages, "responses") == messages


LINES = st.lists(LINE, max_size=1).map(tuple)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    messages=conversations(thinking=st.sampled_from(FOREIGN), result_parts=LINES, said=LINE, is_mixed=False),
    route=st.lists(st.sampled_from(sorted(FORMATS)), min_size=2, max_size=4),
)
def test_crossing_formats_loses_no_call_and_no_result(messages, route):
    crossed = messages
    for format_ in route:
        crossed = read_back(crossed, format_)
    assert without_thinking(crossed) == without_thinking(messages)


OPAQUE_OF = {
    "openai": set(),
    "anthropic": {"ANTHROPIC-SIGNATURE", "ANTHROPIC-REDACTED"},
    "responses": {"RESPONSES-ENCRYPTED"},
    "gemini": {"GEMINI-SIGNATURE", "GEMINI-THOUGHT", "GEMINI-END"},
}


@pytest.mark.parametrize("thinking", FOREIGN)
@pytest.mark.parametrize("format_", sorted(FORMATS))
def test_thinking_is_sent_to_its_own_provider_only(format_, thinking):
    messages = [UserMessage((Text("go"),)), AssistantMessage((thinking, Text("Done.")))]
    written = encoded(write_checked(messages, format_).messages)
    own = {word for word in OPAQUE_OF[format_] if word in thinking.signature + thinking.redacted}
    assert {word for words in OPAQUE_OF.values() for word in words if word in written} == own
    if thinking.text:
        assert (thinking.text in written) == bool(own)


@pytest.mark.parametrize("item", plain_json([REASONING, CALL, OUTPUT, SAID, SEARCH]))
def test_items_are_told_from_other_formats_by_their_shape(item):
    assert distinct_format([ASKED, item]) == "responses"


KINDS = ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call")
FIELDS = "content call_id name arguments output input summary encrypted_content".split()


@settings(max_examples=200, deadline=None)
@given(
    item=st.fixed_dictionaries(
        {"type": st.sampled_from(KINDS), "role": st.sampled_from(["user", "assistant", "system"]) | ANYTHING},
        optional=dict.fromkeys(FIELDS, ANYTHING),
    )
)
def test_fields_of_any_type_are_read(item):
    """Read, or refused in a sentence: a role that no provider knows."""
    with suppress(InputError):
        for event in events_from_messages([item], "responses"):
            msgspec.json.encode(event)
