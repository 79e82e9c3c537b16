"""After a rewind everything is as in a session that never went further."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.limits import RunLimits
from holdfast.errors import InputError
from holdfast.events import Rewound, SystemSet, ToolReturned, UserSaid
from holdfast.messages import Text
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.permissions.gate import ApprovalAnswer
from support.coding_sessions import CodingSetup, call, requests, run, say
from support.session_histories import FEW, ROUNDS, edit, hold_conversation, main_text, packed, played, state


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def test_rounds_are_listed_with_their_first_words(setup):
    text = run(hold_conversation(setup), "/rewind").text
    assert "| 2 | `Make it new.` |" in text
    assert "| 3 | `Make it newer, and write more.` |" in text


def test_a_number_alone_says_what_would_be_changed_and_changes_nothing(setup):
    coding = hold_conversation(setup)
    before = coding.session.log.info.entries
    text = run(coding, "/rewind 2").text
    assert "2 rounds left behind, from `Make it new.` on" in text
    assert "`/rewind 2 files`: 3 edits undone in `main.py`, `more.py`" in text
    assert coding.session.log.info.entries == before
    assert "'newer'" in main_text(setup)


def test_the_session_goes_back_and_the_files_stay(setup):
    coding = hold_conversation(setup, "Hello again.")
    shown = run(coding, "/rewind 2 session")
    assert shown.is_reread
    assert "Edits made since stay in `main.py`, `more.py`" in shown.text
    assert "'newer'" in main_text(setup)
    say(coding, "Well?")
    sent = str([m for m in requests(coding)[-1].messages if "system" not in str(type(m)).lower()])
    assert "Read it." in sent
    assert "Make it new." not in sent
    assert "check" not in sent


def test_the_files_go_back_and_the_session_goes_on(setup):
    coding = hold_conversation(setup)
    shown = run(coding, "/rewind 3 files")
    assert not shown.is_reread
    assert "2 edits undone" in shown.text
    assert "'new'" in main_text(setup)
    assert not (setup.root / "more.py").exists()
    assert len(coding.session.window.transcript.rounds) == 3
    assert "took back your last edits" in str(coding.session.window.transcript.items[-1].message)


def test_both_go_back_and_the_agent_may_edit_as_it_could_then(setup):
    coding = hold_conversation(setup, [edit("new", "other", "7")], "Done.")
    assert "2 edits undone" in run(coding, "/rewind 3 both").text
    say(coding, "Make it other.")
    assert "'other'" in main_text(setup), "it knows the file as it was before round 3"
    rewound = [e.event for e in coding.session.log.entries() if isinstance(e.event, Rewound)]
    assert rewound == [Rewound("before round 3", files=True)]


def test_an_edit_in_the_last_step_of_the_round_before_stays(setup):
    coding = setup.open(
        [call("Read", "1", path="main.py")], [edit("old", "new", "2")], "Hello.", limits=RunLimits(steps=2)
    )
    [stop] = say(coding, "Edit.")
    assert stop.reason == "steps"
    say(coding, "Hello?")
    assert "No file was edited since." in run(coding, "/rewind 2").text
    run(coding, "/rewind 2 both")
    assert "'new'" in main_text(setup)


def test_what_somebody_else_wrote_is_said_and_nothing_goes_back(setup):
    coding = hold_conversation(setup)
    (setup.root / "main.py").write_text("mine\n")
    before = coding.session.log.info.entries
    assert "cannot be undone: `main.py` was changed since" in run(coding, "/rewind 2").text
    for what in ("files", "both"):
        with pytest.raises(ToolError, match=r"`main\.py` was changed since"):
            run(coding, f"/rewind 2 {what}")
    assert (setup.root / "more.py").exists()
    assert coding.session.log.info.entries == before


@pytest.mark.parametrize(
    "line", ["/rewind 4 session", "/rewind 0", "/rewind two", "/rewind 2 all", "/rewind -1"]
)
def test_what_cannot_be_gone_back_to_is_said(setup, line):
    coding = hold_conversation(setup)
    before = coding.session.log.info.entries
    with pytest.raises(InputError):
        run(coding, line)
    assert coding.session.log.info.entries == before


def test_files_that_nobody_edited_cannot_go_back(setup):
    coding = setup.open("Hello.")
    say(coding, "Hi.")
    with pytest.raises(InputError, match="no file was edited"):
        run(coding, "/rewind 1 files")


def test_going_back_again_and_again(setup):
    coding = hold_conversation(setup, "Second try.", "Third try.")
    run(coding, "/rewind 3 session")
    say(coding, "Again.")
    run(coding, "/rewind 2 session")
    say(coding, "And again.")
    words = [str(item.message) for item in coding.session.window.transcript.items]
    assert "Look at main." in words[0]
    assert "And again." in words[-2]
    assert len(words) == 5
    assert "Second try." in run(coding, "/recall second try").text, "what was left behind is in the log"


class Person:
    def __init__(self, *answers):
        self.answers = list(answers)

    async def approve(self, _question):
        return self.answers.pop(0)


def test_answers_given_in_rounds_left_behind_are_asked_for_again(setup):
    person = Person(ApprovalAnswer("log"), ApprovalAnswer("deny", "not now"))
    write = [call("Write", "1", path="a", content="a")]
    coding = setup.open(write, "Done.", write, "Refused.", mode="ask", approver=person)
    say(coding, "Write.")
    run(coding, "/rewind 1 session")
    say(coding, "Write.")
    assert person.answers == []
    results = [e.event for e in coding.session.log.entries() if isinstance(e.event, ToolReturned)]
    assert [result.error for result in results] == [False, True]
    assert "not now" in results[1].parts[0].text
    assert coding.gate.mode == "ask"


def test_a_prompt_that_is_newer_than_the_round_stays(setup):
    coding = setup.open("First.")
    coding.session.record(SystemSet("An older prompt."), UserSaid((Text("Said long ago."),)))
    newer = setup.open("Yes.")
    system = newer.session.window.transcript.system
    assert system != "An older prompt."
    run(newer, "/rewind 1 talk")
    assert newer.session.window.transcript.system == system
    assert newer.session.window.transcript.items == []


def test_a_session_that_is_opened_after_a_rewind_is_the_one_that_made_it(setup):
    coding = hold_conversation(setup)
    run(coding, "/rewind 3 session")
    again = setup.open()
    assert state(again) == state(coding)
    assert packed(again) == packed(coding)


@pytest.mark.slow
@FEW
@given(ROUNDS, st.data())
def test_after_a_rewind_all_is_as_it_was_then(rounds, data):
    """The pack is, to the byte, the one of the log when it had only these rounds; so is what the tools know."""
    with tempfile.TemporaryDirectory() as folder:
        setup = CodingSetup(Path(folder))
        coding, seen = played(setup, rounds)
        back = data.draw(st.integers(1, len(rounds)))
        what = data.draw(st.sampled_from(["session", "both"]))
        run(coding, f"/rewind {back} {what}")
        again = setup.open(window=16_000)
        for one in (coding, again):
            assert (packed(one), state(one)) == seen[back - 1]
        if what == "both":
            for key, sight in coding.tool_state.files.by_key.items():
                assert content_hash((setup.root / key).read_bytes()) == sight.hash, (
                    "the disk is as it is known"
                )
        setup.close()
