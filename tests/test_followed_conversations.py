"""The part that all adapters share: a list that a framework keeps, followed by a log."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError, InputError
from holdfast.events import AssistantReplied, Folded, OverflowReported, Rewound, SystemSet, ToolsSet
from holdfast.followed_conversations import MOST_OPEN, FollowedConversation, FollowedConversations
from holdfast.messages import ToolDefinition, Usage
from holdfast.recall import RECALL_TOOL
from holdfast.wire.translation import WireTranslation

SECRET = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"


def started(tmp_path=None, **settings) -> FollowedConversations:
    store = str(tmp_path / "store.db") if tmp_path else None
    return FollowedConversations(WireTranslation("openai"), store=store, **{"budget": "16k", **settings})


def step(number: int, words: int = 400) -> list[dict]:
    function = {"name": "read", "arguments": json.dumps({"path": f"src/part_{number}.py"})}
    text = " ".join(f"value_{number}_{word}" for word in range(words))
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
    ]


def history(steps: int, words: int = 400) -> list[dict]:
    return [
        {"role": "user", "content": "Read every part."},
        *(m for n in range(steps) for m in step(n, words)),
    ]


def events(conversation: FollowedConversation, kind: type) -> list:
    return [entry.event for entry in conversation.session.log.entries() if isinstance(entry.event, kind)]


def test_what_is_sent_as_it_was_are_the_given_objects() -> None:
    given = history(2, words=20)
    sent = started().get("a").pack(given, system="Be brief.")
    assert sent.system == "Be brief."
    assert all(one is other for one, other in zip(sent.messages, given, strict=True))


def test_a_store_may_be_a_path(tmp_path) -> None:
    conversations = FollowedConversations(WireTranslation("openai"), store=tmp_path / "store.db")
    conversations.get("a").pack(history(1))
    assert len(conversations.store.logs()) == 1


def test_a_long_list_is_folded_and_pairs_stay_whole() -> None:
    conversation = started().get("a")
    given = history(1)
    for number in range(1, 30):
        given += step(number)
        sent = conversation.pack(given, tools=[RECALL_TOOL])
        assert sent.tokens < 16_000
        calls = [c["id"] for m in sent.messages for c in m.get("tool_calls") or ()]
        assert calls == [m["tool_call_id"] for m in sent.messages if m["role"] == "tool"]
    assert events(conversation, Folded)
    assert "value_3_7" in conversation.recall({"query": "value_3_7"})


def test_marks_name_recall_only_where_the_agent_has_it() -> None:
    given = [{"role": "user", "content": "Read every part."}]
    without, having = started().get("a"), started().get("b")
    for number in range(30):
        given += step(number, words=3_000 if number == 28 else 400)
        bare, whole = without.pack(given), having.pack(given, tools=[RECALL_TOOL])
        assert "Recall" not in str(bare.messages)
    assert "[holdfast: steps 1-" in str(bare.messages)
    assert str(whole.messages).count("Recall(id=") > 1


def test_a_resumed_conversation_sends_the_same_bytes(tmp_path) -> None:
    given = history(25)
    kept = started(tmp_path)
    for end in range(1, len(given) + 1, 2):
        first = kept.get("thread 1/é").pack(given[:end], system="Be brief.")
    kept.close()
    again = started(tmp_path).get("thread 1/é")
    before = len(again.session.log.entries())
    assert again.pack(given, system="Be brief.").messages == first.messages
    assert len(again.session.log.entries()) == before


def test_a_resumed_list_with_a_secret_is_known_again(tmp_path) -> None:
    given = [{"role": "user", "content": f"The key is {SECRET}."}, *step(1)]
    sent = started(tmp_path).get("a").pack(given)
    assert SECRET not in str(sent.messages)
    again = started(tmp_path).get("a")
    assert again.pack([*given, *step(2)]).messages[:3] == sent.messages
    assert not events(again, Rewound)


def test_an_edited_list_is_followed_from_where_it_differs() -> None:
    conversation = started().get("a")
    given = history(4, words=20)
    conversation.pack(given)
    edited = [*given[:5], {"role": "user", "content": "Stop, and count instead."}]
    assert conversation.pack(edited).messages == edited
    assert len(events(conversation, Rewound)) == 1
    other = [{"role": "user", "content": "Something else."}]
    assert conversation.pack(other).messages == other


@given(st.lists(st.tuples(st.integers(0, 30), st.lists(st.integers(0, 9), max_size=6)), max_size=8))
def test_whatever_happened_to_a_list_its_pack_is_that_of_a_new_conversation(changes) -> None:
    """A list is cut somewhere and goes on otherwise, again and again; short enough to need no fold."""
    conversation = started(budget="64k").get("a")
    given = history(2, words=3)
    for cut, steps in changes:
        given = [*given[: max(1, cut % (len(given) + 1))], *(m for n in steps for m in step(n, words=3))]
        sent = conversation.pack(given, tools=[RECALL_TOOL])
        fresh = started(budget="64k").get("b").pack(given, tools=[RECALL_TOOL])
        assert sent == fresh


def test_usage_goes_with_the_reply_it_counted() -> None:
    conversation = started().get("a")
    given = history(0)
    conversation.pack(given)
    conversation.report_usage(Usage(1_234, 5), "model-1")
    conversation.pack(
        [*given, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "More."}]
    )
    (reply,) = events(conversation, AssistantReplied)
    assert (reply.usage, reply.model) == (Usage(1_234, 5), "model-1")


def test_an_overflow_makes_the_next_pack_smaller() -> None:
    conversation = started().get("a")
    given = history(8)
    whole = conversation.pack(given).tokens
    assert not conversation.report_error(ValueError("no such model"))
    assert conversation.report_error(RuntimeError("the window is full"), is_overflow=True)
    assert events(conversation, OverflowReported)
    assert conversation.pack(given).tokens < whole


def test_more_conversations_than_are_kept_open(tmp_path) -> None:
    kept = started(tmp_path)
    given = history(1)
    first = kept.get("c0").pack(given)
    for number in range(MOST_OPEN + 3):
        kept.get(f"c{number}").pack(given)
    assert kept.get("c0").pack(given) == first


def test_as_many_conversations_stay_open_as_may_the_last_used_longest() -> None:
    kept = started()
    opened = [kept.get(f"c{number}") for number in range(MOST_OPEN)]
    assert kept.get("c0") is opened[0]
    kept.get("one more")
    assert kept.get("c0") is opened[0]
    assert kept.get("c2") is opened[2]
    assert kept.get("c1") is not opened[1]


def test_two_processes_take_turns_with_one_conversation(tmp_path) -> None:
    """As behind a web server: whoever is asked has the whole list, and may have an older view of the log."""
    workers = [started(tmp_path), started(tmp_path)]
    given = history(1)
    for number in range(1, 30):
        given += step(number)
        sent = workers[number % 2].get("a").pack(given, tools=[RECALL_TOOL])
        calls = [c["id"] for m in sent.messages for c in m.get("tool_calls") or ()]
        assert calls == [f"call_{n}" for n in range(number + 1)][-len(calls) :]
    conversation = started(tmp_path).get("a")
    assert len(events(conversation, AssistantReplied)) == 30
    assert events(conversation, Folded)
    assert not events(conversation, Rewound)


def test_one_store_holds_conversations_apart(tmp_path) -> None:
    kept = started(tmp_path)
    kept.get("a").pack([{"role": "user", "content": "The port is 8123."}])
    kept.get("b").pack([{"role": "user", "content": "Which port?"}])
    assert "The port is" not in kept.get("b").recall({"query": "port"})


@pytest.mark.parametrize("wrong", ["hello", {"text": "hello"}, None])
def test_what_is_no_message_is_named_by_its_place(wrong) -> None:
    with pytest.raises(InputError, match="message 1"):
        started().get("a").pack([{"role": "user", "content": "Hello."}, wrong])


def test_an_empty_list_is_refused_in_a_sentence() -> None:
    with pytest.raises(HoldfastError, match="nothing to pack"):
        started().get("a").pack([])


def test_a_prompt_and_tools_with_a_secret_are_recorded_once() -> None:
    conversation = started().get("a")
    tool = ToolDefinition("call", f"Calls with {SECRET}.", {"type": "object"})
    for _ in range(3):
        sent = conversation.pack(history(1, words=3), system=f"The key is {SECRET}.", tools=[tool])
    assert SECRET not in sent.system
    assert (len(events(conversation, SystemSet)), len(events(conversation, ToolsSet))) == (1, 1)


def test_a_text_that_json_cannot_hold_is_named_by_its_place() -> None:
    with pytest.raises(InputError, match="message 1 holds something that JSON cannot"):
        started().get("a").pack([*history(0), {"role": "user", "content": "a \ud800 b"}])
