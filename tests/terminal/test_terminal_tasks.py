"""Sub-agents on the screen: how far one is, what it would change, what it reports, and who pays."""

import asyncio
import threading

import pytest

from holdfast.agents.coding.task import SUB_AGENT_PROMPT
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.notices import Replied, StepBegan, SubAgentNotice
from holdfast.messages import SystemMessage, Text, ToolMessage, Usage
from holdfast.models.catalogue import ModelEntry, Price
from holdfast.models.model import ModelReply
from holdfast.models.scripted import ScriptedModel
from holdfast.redaction import kingfisher
from holdfast.terminal.cards import format_progress
from holdfast.terminal.event_view import update_progress
from holdfast.terminal.interface import CallCard, TaskProgress
from holdfast.tools.call import CallStarted
from support.last_message import last_message
from support.terminal_session import Terminal, call, driven

PRICED = RequestSettings(entry=ModelEntry(price=Price(input=5, output=25, cache_read=0.5, cache_write=6.25)))
EDIT = call("Edit", "e", path="main.py", old_string="old", new_string="new")


def no_price(_):
    return None


def is_sub(request):
    first = request.messages[0]
    return isinstance(first, SystemMessage) and first.text.startswith(SUB_AGENT_PROMPT)


class Employed(ScriptedModel):
    """The session gives one task; the sub-agent's replies wait until `goes_on` is set."""

    def __init__(self, *subs, writes=False):
        self.subs = list(subs)
        self.goes_on = asyncio.Event()
        self.writes = writes
        super().__init__(self.reply, repeat_last=True)

    def reply(self, request):
        if is_sub(request):
            said = self.subs.pop(0)
            parts = (Text(said),) if isinstance(said, str) else tuple(said)
            stop = "end" if isinstance(said, str) else "calls"
            return ModelReply(parts=parts, stop=stop, usage=Usage(10_000, 100), model="m")
        if isinstance(last_message(request), ToolMessage):
            return ModelReply(parts=(Text("Done."),), stop="end", usage=Usage(1_000, 10), model="m")
        more = {"writes": True} if self.writes else {}
        return [call("Task", "t", description="find the loader", prompt="Find the loader.", **more)]

    async def stream(self, request):
        if is_sub(request) and len(self.subs) == 1:
            await self.goes_on.wait()
        async for came in super().stream(request):
            yield came


def cards(terminal):
    return [piece for piece in terminal.app.transcript.pieces if isinstance(piece, CallCard)]


def test_a_card_says_how_far_a_sub_agent_is_and_then_what_it_reports(tmp_path):
    model = Employed([call("Read", "r", path="main.py")], "It is in `main.py:1`.\nNothing else.")
    terminal = Terminal(tmp_path, model=model, request_settings=PRICED, mode="auto")

    async def work():
        async with terminal.app.run_test(size=(100, 30)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Where?")
            await terminal.until(pilot, lambda: "step 2 of 60 · Read main.py · 10k tokens" in terminal.text())
            assert "▸ Task find the loader" in terminal.text()
            assert "· $0.05" in terminal.text()
            model.goes_on.set()
            await terminal.idle(pilot)
            shown = terminal.text()
            assert "✓ Task find the loader" in shown
            assert "2 steps, 20,200 tokens, $0.1050, log l" in shown
            assert "It is in `main.py:1`." in shown
            assert "Recall(id=" not in shown, "that line is for the model"
            assert terminal.app.status.figures.dollars > 0.1, "what it spends is on the status line at once"

    driven(work())


def test_the_card_of_a_sub_agent_that_is_interrupted_has_no_tick(tmp_path):
    model = Employed([call("Read", "r", path="main.py")], "Never said.")
    terminal = Terminal(tmp_path, model=model, mode="auto")

    async def work():
        async with terminal.app.run_test(size=(100, 30)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Where?")
            await terminal.until(pilot, lambda: "step 2 of 60" in terminal.text())
            await pilot.press("escape")
            await terminal.idle(pilot)
            assert cards(terminal)[0].state == "interrupted"
            assert "■ Task find the loader" in terminal.text()

    driven(work())


@pytest.mark.slow
def test_what_a_sub_agent_would_change_is_shown_as_it_would_be(tmp_path):
    model = Employed([call("Read", "r", path="main.py")], [EDIT], "Did it.", writes=True)
    model.goes_on.set()
    terminal = Terminal(tmp_path, model=model)

    async def work():
        async with terminal.app.run_test(size=(100, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Do it.")
            await terminal.until(pilot, lambda: terminal.app.panels.panel is not None)
            await terminal.until(pilot, lambda: "+     print('new')" in terminal.text())
            assert "by the sub-agent for “find the loader”" in terminal.text()
            assert [card.name for card in cards(terminal)] == ["Task"], "its calls have no cards of their own"
            assert cards(terminal)[0].state == "waiting"
            await pilot.press("y")
            await terminal.idle(pilot)
            assert cards(terminal)[0].state == "done"
        assert "'new'" in (terminal.root / "main.py").read_text()

    driven(work())


def test_tasks_side_by_side_have_their_own_cards(tmp_path):
    def reply(request):
        if is_sub(request):
            asked = next(m.parts[0].text for m in request.messages if hasattr(m, "parts"))
            return f"Report on {asked}"
        if isinstance(last_message(request), ToolMessage):
            return "Done."
        # Some providers number the calls of a reply carelessly.
        return [call("Task", "same", description=f"look at {n}", prompt=n) for n in ("a", "b")]

    terminal = Terminal(tmp_path, model=ScriptedModel(reply, repeat_last=True))

    async def work():
        async with terminal.app.run_test(size=(100, 30)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Go.")
            await terminal.idle(pilot)
            shown = terminal.text()
            assert shown.index("Task look at a") < shown.index("Report on a") < shown.index("Task look at b")
            assert all(card.work and card.work.step == 1 for card in cards(terminal))

    driven(work())


KEY = "sk-" + "".join("aZ3kQ9xT7bLm2WpR"[n * 7 % 16] for n in range(40))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "replies"),
    [
        (f"Go {KEY}", ["Done."]),
        ("Go", [f"It is {KEY}."]),
        ("Go", [[call("Bash", command=f"echo {KEY}")], "Done."]),
        ("Go", [[call("Bash", command="cat key")], "Done."]),
    ],
)
def test_the_scanner_for_secrets_is_loaded_when_it_is_needed_and_off_the_event_loop(
    tmp_path, monkeypatch, said, replies
):
    """It takes seconds on a busy machine. Loaded in the middle of a run, it made the screen stand still."""
    terminal = Terminal(tmp_path, "Yes.", *replies, mode="auto")
    (terminal.root / "key").write_text(KEY)
    kingfisher._load.cache_clear()
    threads = []
    load = kingfisher._load

    def loading():
        threads.append(threading.current_thread())
        return load()

    loading.cache_info = load.cache_info
    monkeypatch.setattr(kingfisher, "_load", loading)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Hello")
            await terminal.idle(pilot)
            assert not kingfisher.is_kingfisher_loaded(), "nothing looks like a key"
            await terminal.say(pilot, said)
            await terminal.idle(pilot)

    driven(work())
    assert threads
    assert threads[0] is not threading.main_thread()


def test_what_deeper_ones_spend_is_counted_and_what_they_do_is_not():
    work = TaskProgress()
    update_progress(work, StepBegan(2, 100, 200, 300, most=60), no_price)
    update_progress(work, CallStarted(call("Grep", pattern="x")), no_price)
    reply = ModelReply(parts=(), stop="end", usage=Usage(900, 100))
    update_progress(work, SubAgentNotice("i", "l2", Replied(reply, 0.25)), no_price)
    update_progress(work, SubAgentNotice("i", "l2", CallStarted(call("Read", path="y"))), no_price)
    assert work == TaskProgress(2, 60, "Grep x", 1_000, 0.25)


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (80, "step 3 of 60 · Grep load in src · 12k tokens · $0.02"),
        (50, "step 3 of 60 · Grep load in… · 12k tokens · $0.02"),
        (30, "step 3 of 60 · 12k tokens · $0.02"),
    ],
)
def test_in_few_columns_what_it_does_gives_way(width, said):
    assert format_progress(TaskProgress(3, 60, "Grep load in src", 12_345, 0.02), width) == said
