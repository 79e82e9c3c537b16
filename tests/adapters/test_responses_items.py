"""Items of the Responses API that are neither messages nor function calls."""

import pytest

from holdfast.adapters.responses_items import ResponsesItems
from holdfast.errors import InputError
from holdfast.events import AssistantReplied, ToolReturned, UserSaid
from holdfast.followed_conversations import FollowedConversation, FollowedConversations
from holdfast.messages import Image, Text, ToolCall

SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
ITEMS = [
    {"role": "user", "content": "Find it."},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xx"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "port"}},
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "yy"},
    {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Found."}],
    },
    {"type": "computer_call", "id": "cu", "call_id": "c1", "action": {"type": "screenshot"}},
    {"type": "computer_call_output", "call_id": "c1", "output": SCREEN},
    {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}},
    {"type": "shell_call_output", "call_id": "s1", "output": [{"stdout": "a b", "stderr": ""}]},
    {"type": "mcp_list_tools", "id": "ml", "server_label": "x", "tools": []},
    {"type": "mcp_call", "id": "mc", "name": "look", "arguments": "{}", "output": "a long result"},
    {"type": "mcp_approval_request", "id": "ap", "name": "look", "arguments": "{}"},
    {"type": "mcp_approval_response", "approval_request_id": "ap", "approve": True},
    {"type": "image_generation_call", "id": "ig", "result": "AAAA", "status": "completed"},
    {"type": "compaction", "id": "cp", "encrypted_content": "zz"},
    {"type": "item_of_the_future", "id": "q", "text": "Hello."},
    {"type": "function_call_output", "output": "of no call"},
    {"role": "user", "content": [{"type": "input_file", "file_id": "f1"}]},
    {"type": "message", "role": "user", "content": "More."},
]


def started() -> FollowedConversation:
    return FollowedConversations(ResponsesItems(), budget="16k", to="responses").get("a")


def test_every_item_is_sent_as_it_was() -> None:
    sent = started().pack(ITEMS).messages
    assert all(one is other for one, other in zip(sent, ITEMS, strict=True))


def test_what_a_tool_did_is_a_call_and_a_result_in_the_log() -> None:
    events = [event for _, events in ResponsesItems().read(ITEMS) for event in events]
    calls = [p for e in events if isinstance(e, AssistantReplied) for p in e.parts if isinstance(p, ToolCall)]
    results = {event.call_id: event for event in events if isinstance(event, ToolReturned)}
    assert [call.name for call in calls] == [
        *("web_search", "computer", "shell", "look", "look", "image_generation"),
    ]
    assert {call.id for call in calls} == results.keys()
    assert results["mc"].parts == (Text("a long result"),)
    assert results["c1"].parts == results["ig"].parts == (Image("image/png", "AAAA"),)
    assert "a b" in results["s1"].parts[0].text
    reminders = [event for event in events if isinstance(event, UserSaid) and event.origin == "reminder"]
    assert len(reminders) == 5


def test_a_hosted_call_is_folded_with_its_result() -> None:
    """As a function call and its output, where it is shortened; never one without the other."""
    conversation = started()
    given = ITEMS[:1]
    for number in range(40):
        text = "\n".join(f"line {line} of {number}" for line in range(300))
        given = [
            *given,
            {"type": "mcp_call", "id": f"mc_{number}", "name": "look", "arguments": "{}", "output": text},
        ]
        sent = conversation.pack(given)
        assert sent.tokens < 16_000
        calls = {item["call_id"] for item in sent.messages if item.get("type") == "function_call"}
        assert calls == {i["call_id"] for i in sent.messages if i.get("type") == "function_call_output"}
        hosted = {item["id"] for item in sent.messages if item.get("type") == "mcp_call"}
        assert not calls & hosted
    assert "line 7 of 2" in conversation.recall({"query": "line 7 of 2"})


@pytest.mark.parametrize("wrong", ["hello", None, {"text": "hello"}, ["x"]])
def test_what_is_no_item_is_named_by_its_place(wrong) -> None:
    with pytest.raises(InputError, match="message 1 is a"):
        started().pack([ITEMS[0], wrong])
