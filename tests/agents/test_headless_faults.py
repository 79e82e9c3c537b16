"""Faults of the ancestors, with the whole agent: what it reads, edits, is told and is reminded of."""

import asyncio

import pytest

from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.options import AgentOptions
from holdfast.agents.tool_results import NEARBY_CALLS, RepeatGuard
from holdfast.events import AssistantReplied, ToolReturned, UsageReported
from holdfast.models.scripted import ScriptedModel
from support.agent_runs import call, repository

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


def hold_conversation(root, model, *texts, between=lambda _: None):
    """The coding after saying these texts one after the other."""

    async def work():
        options = AgentOptions(
            root=root, store=root.parent / "store.db", sandbox="off", mode="auto", budget=32_000
        )
        opened = await open_coding_session(options, model=model, env=NOWHERE)
        for number, text in enumerate(texts):
            await opened.coding.say(text)
            between(number)
        entries = opened.coding.session.log.entries()
        rounds = len(opened.coding.session.window.transcript.rounds)
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
    entries, _ = hold_conversation(root, model, "Change it.")
    failed, texts = zip(*results(entries), strict=True)
    assert failed == (False, False, False, False, True)
    assert "modified_externally" not in texts[3]
    assert "you have not read it" in texts[4]
    assert (root / "other.py").read_text() == "kept = True\n"
    assert "'newest'" in (root / "main.py").read_text()


def test_fault_09_rules_that_were_edited_are_the_ones_that_are_sent(root):
    (root / "code_law.md").write_text("Use spaces.\n")
    model = ScriptedModel("One.", "Two.")
    hold_conversation(
        root, model, "First.", "Second.", between=lambda _: (root / "code_law.md").write_text("Use tabs.\n")
    )
    first, second = (str(request.messages) for request in model.requests)
    assert "Use spaces." in first
    assert "Use tabs." in second
    assert "Use spaces." not in second


def test_fault_13_reminders_open_no_round(root):
    model = ScriptedModel("", "I read main.py.", "And again.")
    entries, rounds = hold_conversation(root, model, "Look at @main.py", "Once more: @main.py")
    reminders = [e for e in entries if getattr(e.event, "origin", "") == "reminder"]
    assert len(reminders) == 3, "two of mentions, one of an empty reply"
    assert rounds == 2


def test_what_was_done_long_ago_and_is_done_again_is_no_loop():
    repeats = RepeatGuard()
    same = call("Read", "r", path="a.py")
    for number in range(4):
        assert repeats.saw(same, "text", is_read_only=True) == "", f"time {number}"
        for other in range(NEARBY_CALLS):
            repeats.saw(call("Read", "o", path=f"{number}_{other}.py"), "text", is_read_only=True)
    verdicts = [repeats.saw(same, "text", is_read_only=True) for _ in range(4)]
    assert verdicts == ["", "", "remind", "stop"]


def test_two_calls_by_turns_are_a_loop_and_calls_as_near_as_allowed_count():
    repeats = RepeatGuard()
    one, other = call("Read", "r", path="a.py"), call("Read", "r", path="b.py")
    verdicts = [repeats.saw(which, "text", is_read_only=True) for _ in range(3) for which in (one, other)]
    assert verdicts == ["", "", "", "", "remind", "remind"]
    repeats = RepeatGuard()
    for number in range(2):
        repeats.saw(one, "text", is_read_only=True)
        for place in range(NEARBY_CALLS - 1):
            repeats.saw(call("Read", "o", path=f"{number}_{place}.py"), "text", is_read_only=True)
    assert repeats.saw(one, "text", is_read_only=True) == "remind"


@pytest.mark.slow
def test_what_summaries_cost_is_spent_by_the_run(root):
    for number in range(40):
        (root / f"f{number}.py").write_text(f"name_{number} = '{'x' * 60}'\n" * 25)
    left = iter(range(40))

    def reply(request):
        if not request.tools:
            return "Nothing to sum up."
        number = next(left, None)
        return "Done." if number is None else [call("Read", f"c{number}", path=f"f{number}.py")]

    async def work():
        options = AgentOptions(root=root, store=root.parent / "store.db", sandbox="off", budget=16_000)
        opened = await open_coding_session(options, model=ScriptedModel(reply, repeat_last=True), env=NOWHERE)
        await opened.coding.say("Read all.")
        spent, entries = opened.coding.agent.budget.spent, opened.coding.session.log.entries()
        await opened.close()
        return spent, entries

    spent, entries = asyncio.run(work())
    beside = [e.event.usage.prompt for e in entries if isinstance(e.event, UsageReported)]
    replies = [e.event.usage.prompt for e in entries if isinstance(e.event, AssistantReplied)]
    assert beside
    assert spent.usage.prompt == sum(replies) + sum(beside)
