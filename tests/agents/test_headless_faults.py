"""Faults of the ancestors, with the whole agent: what it reads, edits, is told and is reminded of."""

import asyncio

import pytest

from holdfast.agents.coding.setup import open_desk
from holdfast.agents.coding.wish import Wish
from holdfast.events import ToolReturned
from holdfast.models.scripted import ScriptedModel
from support.agent_runs import call, repository

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


def talked(root, model, *texts, between=lambda _: None):
    """The desk after saying these texts one after the other."""

    async def work():
        wish = Wish(root=root, store=root.parent / "store.db", sandbox="off", mode="auto", budget=32_000)
        opened = await open_desk(wish, model=model, env=NOWHERE)
        for number, text in enumerate(texts):
            await opened.desk.say(text)
            between(number)
        entries = opened.desk.session.log.entries()
        rounds = len(opened.desk.session.window.transcript.rounds)
        await opened.close()
        return entries, rounds

    return asyncio.run(work())


def results(entries):
    return [(e.event.error, e.event.parts[0].text) for e in entries if isinstance(e.event, ToolReturned)]


def edit(id_, old, new):
    return call("Edit", id_, path="main.py", old_string=old, new_string=new)


def test_fault_06_read_edit_edit_works_and_an_unread_file_is_not_overwritten(root):
    (root / "other.py").write_text("kept = True\n")
    model = ScriptedModel(
        [call("Read", "1", path="main.py")],
        [edit("2", "old", "new"), edit("3", "new", "newest")],
        [call("Read", "4", path="main.py")],
        [call("Write", "5", path="other.py", content="lost = True\n")],
        "Done.",
    )
    entries, _ = talked(root, model, "Change it.")
    failed, texts = zip(*results(entries), strict=True)
    assert failed == (False, False, False, False, True)
    assert "modified_externally" not in texts[3]
    assert "you have not read it" in texts[4]
    assert (root / "other.py").read_text() == "kept = True\n"
    assert "'newest'" in (root / "main.py").read_text()


def test_fault_09_rules_that_were_edited_are_the_ones_that_are_sent(root):
    (root / "code_law.md").write_text("Use spaces.\n")
    model = ScriptedModel("One.", "Two.")
    talked(
        root, model, "First.", "Second.", between=lambda _: (root / "code_law.md").write_text("Use tabs.\n")
    )
    first, second = (str(request.messages) for request in model.requests)
    assert "Use spaces." in first
    assert "Use tabs." in second
    assert "Use spaces." not in second


def test_fault_13_reminders_open_no_round(root):
    model = ScriptedModel("", "I read main.py.", "And again.")
    entries, rounds = talked(root, model, "Look at @main.py", "Once more: @main.py")
    reminders = [e for e in entries if getattr(e.event, "origin", "") == "reminder"]
    assert len(reminders) == 3, "two of mentions, one of an empty reply"
    assert rounds == 2
