"""A chat completion, packed without a framework."""

from holdfast.adapters.chat_calls import PackedCall
from holdfast.followed_conversations import FollowedConversations
from holdfast.wire.translation import WireTranslation

CACHED = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
MESSAGES = [{"role": "system", "content": [CACHED]}, {"role": "user", "content": "Hello."}]


def call_of(messages: list, *, can_recall: bool = True, **request) -> PackedCall:
    conversation = FollowedConversations(WireTranslation("openai"), budget="16k").get("a")
    return PackedCall(conversation, {"messages": messages, **request}, can_recall=can_recall)


def test_a_prompt_that_is_sent_as_it_was_keeps_its_cache_marks() -> None:
    assert call_of(MESSAGES).pack()["messages"] == MESSAGES


def test_a_secret_in_the_prompt_is_not_sent() -> None:
    secret = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"
    messages = [{"role": "system", "content": f"The key is {secret}."}, *MESSAGES[1:]]
    sent = call_of(messages).pack()["messages"]
    assert secret not in str(sent)
    assert [message["role"] for message in sent] == ["system", "user"]


def test_tools_are_only_sent_where_there_are_some() -> None:
    assert "tools" not in call_of(MESSAGES, can_recall=False).pack()
    assert "tools" not in call_of(MESSAGES, functions=[{"name": "read"}]).pack()
    assert [tool["function"]["name"] for tool in call_of(MESSAGES).pack()["tools"]] == ["Recall"]
