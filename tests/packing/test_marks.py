"""Marks for an agent without the tool Recall."""

import pytest

from holdfast.ids import text_id
from holdfast.messages import AssistantMessage, Text, Thinking, ToolCall, ToolMessage, UserMessage
from holdfast.packing.rendering.clip import clip_chars, clip_line, recall_gap
from holdfast.packing.rendering.marks import mark, without_recall

NOTE = mark("steps 3-17 folded (6 Bash, 4 Read)", text_id("a"))
GAP = mark("371 of 400 lines left out, the first gap", text_id("b"), lines="3-216")


def test_a_mark_still_says_what_is_missing() -> None:
    message = UserMessage((Text(f"{NOTE}\nkept (line)\n{GAP}\n{recall_gap(2, 9)}\n{recall_gap(2, 3)}"),))
    assert without_recall(message) == UserMessage(
        (
            Text(
                "[holdfast: steps 3-17 folded (6 Bash, 4 Read)]\nkept (line)\n"
                "[holdfast: 371 of 400 lines left out, the first gap]\n[… 7 lines left out]\n[… 1 line left out]"
            ),
        )
    )


def test_marks_inside_lines_and_arguments_too() -> None:
    line = clip_line("x" * 900, 0.1, number=7)
    call = ToolCall("1", "Write", {"content": clip_chars("y" * 900, 40, 40), "also": [{"text": line}]})
    sent = without_recall(AssistantMessage((call,)))
    assert "Recall" in str(call)
    assert "Recall" not in str(sent)
    assert str(sent).count("left out") == 2


def test_thoughts_are_not_touched() -> None:
    thought = Thinking(f"It says {NOTE}.", signature="s")
    assert without_recall(AssistantMessage((thought,))) == AssistantMessage((thought,))


@pytest.mark.parametrize(
    "text",
    [
        "[holdfast: the todo list]",
        'Recall(id="a1")',
        "[… 3 lines left out]",
        f"{NOTE[:-1]} and more",
        "say Recall lines 3",
    ],
)
def test_what_is_no_mark_with_a_call_stays(text: str) -> None:
    message = ToolMessage("1", "Read", (Text(text),))
    assert without_recall(message) == message


def test_another_way_to_get_a_text_takes_the_place_of_the_call() -> None:
    message = UserMessage((Text(f"{NOTE}\n{GAP}\n{recall_gap(2, 9)}"),))
    sent = without_recall(message, lambda _, id_, part: f"{part or 'all'} of {id_}")
    assert sent == UserMessage(
        (
            Text(
                f"[holdfast: steps 3-17 folded (6 Bash, 4 Read); all of {text_id('a')}]\n"
                f"[holdfast: 371 of 400 lines left out, the first gap; lines 3-216 of {text_id('b')}]\n"
                "[… 7 lines left out, lines 3-9]"
            ),
        )
    )
