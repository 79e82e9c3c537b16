"""Logs that were damaged: what is readable is resumed, the rest is named, and nothing else is changed."""

import asyncio
import sqlite3

import pytest

from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.options import AgentOptions
from holdfast.agents.sessions import REVIEW_SOURCE, begin_session, resume_session
from holdfast.events import Folded, UserSaid
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.models.scripted import ScriptedModel
from holdfast.store import SqliteStore
from support.agent_runs import call, repository

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


def hold_conversation(root, model, text, **more):
    async def work():
        options = AgentOptions(
            root=root, store=root.parent / "store.db", sandbox="off", mode="auto", budget=12_000, **more
        )
        opened = await open_coding_session(options, model=model, env=NOWHERE)
        try:
            end = await opened.coding.say(text)
            return end, opened.notes, opened.coding.session.log.id, opened.coding.session.log.entries()
        finally:
            await opened.close()

    return asyncio.run(work())


def damaged(root, *statements):
    with sqlite3.connect(root.parent / "store.db") as db:
        for trigger in ("entries_are_append_only", "texts_are_never_changed"):
            db.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            assert db.execute(statement).rowcount
    db.close()


def work(root, rounds=1):
    for number in range(rounds * 12):
        (root / f"f{number}.py").write_text(f"name_{number} = '{'x' * 60}'\n" * 30)
    reads = [[call("Read", f"c{n}", path=f"f{n}.py")] for n in range(rounds * 12)]
    # The same again and again: a summary that is asked for on the way takes one of the replies.
    return ScriptedModel(*reads, "I have read it.", repeat_last=True)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = X'00' WHERE seq = {}",
        "DELETE FROM entries WHERE seq = {}",
        "DELETE FROM artifacts WHERE n = (SELECT max(artifact) FROM refs, entries WHERE n = entry AND seq = {})",
    ],
    ids=["torn", "gone", "without-its-text"],
)
def test_what_is_readable_goes_on_and_the_rest_is_named(root, statement):
    _, _, log, entries = hold_conversation(root, work(root), "Read all of it.")
    assert any(isinstance(entry.event, Folded) for entry in entries)
    lost = next(
        e.seq for e in entries if type(e.event).__name__ == "ToolReturned" and e.event.call_id == "c2"
    )
    damaged(root, statement.format(lost))
    # Whether a summary is asked for besides depends on a few tokens: ids of logs differ in theirs.
    model = ScriptedModel("I see what is left.", repeat_last=True)
    end, notes, new, _ = hold_conversation(root, model, "And now?", resumes_newest=True)
    assert end.text == "I see what is left."
    assert new != log
    assert notes[0] == f"log `{log}` is damaged (entries {lost}); the readable part continues as `{new}`"
    sent = next(str(r.messages) for r in model.requests if "And now?" in str(r.messages[-2:]))
    assert "Read all of it." in sent
    assert f"1 of {entries[-1].seq} entries of this conversation's log are damaged" in sent
    # Where a summary is due, it is asked for what the request itself then leaves out.
    assert any("I have read it." in str(request.messages) for request in model.requests)
    _, again, same, _ = hold_conversation(root, ScriptedModel("Yes."), "Still there?", resumes_newest=True)
    assert (same, [note for note in again if "damaged" in note]) == (new, [])


def test_a_sound_log_is_left_alone(root):
    _, _, log, _ = hold_conversation(root, work(root), "Read.")
    _, notes, same, _ = hold_conversation(root, ScriptedModel("Yes."), "More.", log=log[:10])
    assert (same, notes) == (log, ())


def test_a_salvaged_review_is_still_a_review(root):
    with SqliteStore(root.parent / "store.db") as store:
        log = Log.open(store, begin_session(store, root, source=REVIEW_SOURCE))
        log.append_all([UserSaid((Text("Review it."),)), UserSaid((Text("Why?"),))])
    damaged(root, "UPDATE entries SET body = X'00' WHERE seq = 2")
    with SqliteStore(root.parent / "store.db") as store:
        new, notes = resume_session(store, root, source=REVIEW_SOURCE)
        assert (new != log.id, len(notes)) == (True, 1)
        assert resume_session(store, root, source=REVIEW_SOURCE) == (new, ())
