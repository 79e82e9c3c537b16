"""Role shaping: the same text, at the place a model has for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
    joined_text,
)
from holdfast.models.catalogue_keys import SystemStyle
from holdfast.models.openai_chat_api import ACKNOWLEDGED, apply_system_style

STATIC, RULES, SUMMARY = (
    SystemMessage("You are careful."),
    SystemMessage("Rules."),
    SystemMessage("[History Summary]"),
)
QUESTION, ANSWER = UserMessage((Text("and now?"),)), AssistantMessage((Text("this"),))


def test_blocks_are_left_as_they_are():
    sent = (STATIC, RULES, SUMMARY, QUESTION, ANSWER)
    assert apply_system_style(sent, "blocks") == sent


def test_merged_is_one_message_with_the_summary_last():
    merged, *rest = apply_system_style((STATIC, SUMMARY, QUESTION, ANSWER), "merged")
    assert merged == SystemMessage("You are careful.\n\n[History Summary]")
    assert rest == [QUESTION, ANSWER]


def test_a_model_without_a_system_role_is_told_by_a_user_and_seems_to_answer():
    sent = apply_system_style((STATIC, RULES, SUMMARY, QUESTION), "mock_pair")
    assert sent == (
        UserMessage((Text("You are careful."), Text("Rules."), Text("[History Summary]"))),
        AssistantMessage((Text(ACKNOWLEDGED),)),
        QUESTION,
    )


@pytest.mark.parametrize("style", ["merged", "mock_pair"])
def test_blank_system_messages_make_nothing(style: SystemStyle):
    assert apply_system_style((SystemMessage(" \n"), QUESTION), style) == (QUESTION,)
    assert apply_system_style((QUESTION,), style) == (QUESTION,)
    assert apply_system_style((), style) == ()


def test_a_late_system_message_keeps_its_order_among_the_others():
    assert apply_system_style((STATIC, QUESTION, SUMMARY), "merged") == (
        SystemMessage("You are careful.\n\n[History Summary]"),
        QUESTION,
    )


messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, st.text(max_size=20)),
    st.builds(lambda text: UserMessage((Text(text),)), st.text(max_size=9)),
    st.builds(lambda text: AssistantMessage((Text(text),)), st.text(max_size=9)),
    st.builds(lambda text: ToolMessage("c", "Read", (Text(text),)), st.text(max_size=9)),
)


@given(st.lists(messages, max_size=8), st.sampled_from(["blocks", "merged", "mock_pair"]))
def test_no_word_is_lost_and_the_order_stays(sent: list[Message], style: SystemStyle):
    made = apply_system_style(sent, style)
    system = [m.text for m in sent if isinstance(m, SystemMessage) and m.text.strip()]
    others = [m for m in sent if not isinstance(m, SystemMessage)]
    if style == "blocks":
        assert list(made) == sent
        return
    head = 0 if not system else 1 if style == "merged" else 2
    assert list(made[head:]) == others
    if system:
        first = made[0]
        text = first.text if isinstance(first, SystemMessage) else joined_text(first.parts)
        assert text == ("\n\n" if style == "merged" else "\n").join(system)
    assert sum(isinstance(m, SystemMessage) for m in made) == (style == "merged" and bool(system))
    assert apply_system_style(made, style) == made
