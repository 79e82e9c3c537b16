"""What an agent tells, as pieces: nothing void stays, nothing said is lost; and what the screen loads first."""

import subprocess
import sys

from holdfast.agents.notices import FoldMade, Replied, StepBegan
from holdfast.events import Folded
from holdfast.messages import Text, Thinking, ToolCall
from holdfast.models.model import (
    ArgumentsDelta,
    CallAnnounced,
    ModelReply,
    RetryScheduled,
    TextDelta,
    ThinkingDelta,
)
from holdfast.terminal.event_view import EventView
from holdfast.terminal.interface import CallCard, NotePiece, ReplyPiece, ThinkingPiece
from holdfast.tools.call import CallFinished, CallStarted
from holdfast.tools.envelope import Envelope, build_result


class Stage:
    """A stage that only keeps what is on it."""

    def __init__(self):
        self.pieces = []

    def add(self, piece):
        self.pieces.append(piece)

    def change(self, piece):
        assert any(one is piece for one in self.pieces), "only what is there can change"

    def drop(self, piece):
        self.pieces = [one for one in self.pieces if one is not piece]

    def stepped(self, number):
        pass

    def refresh_figures(self):
        pass


def followed(*notices):
    stage = Stage()
    following = EventView(stage, lambda _: None)
    for notice in notices:
        following(notice)
    return stage, following


def finished(call, text="fine"):
    return CallFinished(call, build_result(Envelope(status="success", text=text), text), 1.5)


def test_a_retry_takes_back_what_came_and_says_so():
    stage, following = followed(
        StepBegan(1, 10, 20, 30),
        ThinkingDelta("hm"),
        TextDelta("half a re"),
        CallAnnounced(0, "a", "Read"),
        RetryScheduled(2.0, "overloaded"),
        TextDelta("whole"),
    )
    following.ended()
    assert stage.pieces == [
        NotePiece("retrying in 2.0 s: overloaded", "warning"),
        ReplyPiece("whole", is_whole=True),
    ]


def test_two_calls_with_one_id_get_their_own_results():
    first, second = ToolCall("x", "Read", {"path": "a"}), ToolCall("x", "Read", {"path": "b"})
    stage, _ = followed(
        StepBegan(1, 10, 20, 30),
        TextDelta("I look."),
        CallAnnounced(0, "x", "Read"),
        ArgumentsDelta(0, '{"path": "a"}'),
        CallAnnounced(1, "x", "Read"),
        Replied(ModelReply(parts=(Text("I look."), first, second), stop="calls"), None),
        CallStarted(first),
        CallStarted(second),
        finished(second, "of b"),
        finished(first, "of a"),
    )
    answer, *cards = stage.pieces
    assert answer == ReplyPiece("I look.", is_whole=True)
    assert [(card.about, card.state, card.full) for card in cards] == [
        ("a", "done", "of a"),
        ("b", "done", "of b"),
    ]


def test_an_interruption_keeps_text_and_drops_half_a_call():
    stage, following = followed(
        StepBegan(1, 10, 20, 30), ThinkingDelta("so"), TextDelta("I wr"), CallAnnounced(0, "a", "Write")
    )
    assert [type(piece) for piece in stage.pieces] == [ThinkingPiece, ReplyPiece, CallCard]
    following.ended()
    assert stage.pieces == [ThinkingPiece("so", is_whole=True), ReplyPiece("I wr", is_whole=True)]


def test_a_reply_that_did_not_stream_is_shown_all_the_same():
    call = ToolCall("a", "Bash", {"command": "make"})
    stage, _ = followed(Replied(ModelReply(parts=(Thinking("hm"), call), stop="calls"), 0.1), finished(call))
    assert [(piece.name, piece.state, piece.seconds) for piece in stage.pieces] == [("Bash", "done", 1.5)]


def test_a_fold_is_told_in_tokens():
    stage, _ = followed(FoldMade(Folded("pressure", tokens_before=31_000, tokens_after=12_400, why="full")))
    assert stage.pieces[0].text.startswith("folded 31k → 12k tokens: full.")


def test_numbers_in_the_reason_of_a_fold_are_grouped():
    stage, _ = followed(FoldMade(Folded("pressure", tokens_before=31_000, why="29512 of 30000 tokens")))
    assert "tokens: 29,512 of 30,000 tokens." in stage.pieces[0].text


def test_nothing_of_the_agent_is_loaded_before_the_screen():
    heavy = [
        "textual",
        "asyncio.events",
        "holdfast.packing.window",
        "holdfast.store",
        "holdfast.models",
        "holdfast.tools",
        "holdfast.session",
    ]
    heavy += ["splintr", "kingfisher_sdk", "sqlite3", "httpx2", "rich.markdown"]
    code = f"import sys, holdfast.terminal; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
