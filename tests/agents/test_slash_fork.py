"""A fork is like the session that it came from, and continues by itself."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.sessions import sessions_in
from holdfast.events import Compacted, Folded
from holdfast.models.scripted import ScriptedModel
from holdfast.views import path
from support.coding_sessions import CodingSetup, call, run, say
from support.session_histories import (
    FEW,
    ROUNDS,
    edit,
    hold_conversation,
    main_text,
    packed,
    played,
    state,
    unnamed,
)


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def test_a_fork_goes_on_from_here_and_leaves_this_session_as_it_is(setup):
    coding = hold_conversation(setup)
    before = path(coding.session.log.entries())
    shown = run(coding, "/fork")
    fork = setup.open([edit("newer", "newest", "7")], "Done.", log=shown.open_log)
    assert fork.session.log.id == shown.open_log != "session"
    assert state(fork) == state(coding)
    copied = fork.session.log.entries()[1 : len(before)]
    assert [(e.event, e.at) for e in copied] == [(e.event, e.at) for e in before[1:]]
    say(fork, "Make it newest.")
    assert "'newest'" in main_text(setup)
    assert path(setup.open().session.log.entries()) == before
    assert fork.session.log.entries()[0].event.forked_from == before[-1].id
    assert f"`/resume {coding.session.log.id}`" in shown.text
    assert fork.session.log.verify() == []
    assert {info.head.id for info in sessions_in(setup.store, setup.root.resolve())} == {
        "session",
        shown.open_log,
    }


def test_a_fork_from_before_a_round(setup):
    fork = setup.open(log=run(hold_conversation(setup), "/fork 2").open_log)
    assert len(fork.session.window.transcript.rounds) == 1
    assert fork.tool_state.files.edits == []
    assert "Read it." in str(fork.session.window.transcript.items[-1].message)


def test_edits_can_be_taken_back_in_a_fork(setup):
    fork = setup.open(log=run(hold_conversation(setup), "/fork").open_log)
    run(fork, "/undo 2")
    assert "'new'" in main_text(setup)


def test_a_fork_of_a_rewound_session_has_its_path_only(setup):
    coding = hold_conversation(setup, "Anew.")
    run(coding, "/rewind 2 session")
    say(coding, "From here.")
    fork = setup.open(log=run(coding, "/fork").open_log)
    assert unnamed(packed(fork)) == unnamed(packed(coding))
    assert "Make it new" not in str([e.event for e in fork.session.log.entries()])


@pytest.mark.slow
def test_a_fork_keeps_folds_and_summaries(setup):
    (setup.root / "big.txt").write_text("".join(f"entry {n}: {'word ' * 12}\n" for n in range(200)))
    reads = [[call("Bash", f"b{n}", command=f"sed -n '{n},+60p' big.txt")] for n in range(1, 100, 4)]
    # Its summaries have not the form that is asked for, so that the rule half stands in.
    summarizer = ScriptedModel("Well.", repeat_last=True)
    coding = setup.open(
        *reads, "Read all.", "Yes.", window=16_000, summarizer=summarizer, compacts_in_background=True
    )
    say(coding, "Read it in parts.", "Is it all?")
    run(coding, "/compact now")
    events = [e.event for e in path(coding.session.log.entries())]
    assert any(isinstance(e, Folded) and e.reason != "manual" for e in events)
    assert any(isinstance(e, Compacted) for e in events)
    fork = setup.open(log=run(coding, "/fork").open_log, window=16_000)
    assert unnamed(packed(fork)) == unnamed(packed(coding))
    run(fork, "/compact undo")
    assert unnamed(packed(fork)) != unnamed(packed(coding))
    run(coding, "/compact undo")
    assert unnamed(packed(fork)) == unnamed(packed(coding))


@pytest.mark.slow
@FEW
@given(ROUNDS, st.data())
def test_a_fork_packs_as_the_session_did(rounds, data):
    with tempfile.TemporaryDirectory() as folder:
        setup = CodingSetup(Path(folder))
        coding, seen = played(setup, rounds)
        at = data.draw(st.integers(1, len(rounds) + 1))
        line = f"/fork {at}" if at <= len(rounds) else "/fork"
        fork = setup.open(log=run(coding, line).open_log, window=16_000)
        sent, known = seen[at - 1]
        assert unnamed(packed(fork)) == unnamed(sent)
        assert state(fork) == known
        setup.close()
