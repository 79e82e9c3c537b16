"""The loop: what each kind of step comes to, and that the log is valid whatever happens."""

import asyncio
import random
import string
import threading
import time

import pytest
from msgspec import Struct

from holdfast.agents.agent import Agent
from holdfast.agents.limits import RAISE, RunBudget, RunLimits
from holdfast.agents.loop import CUT_OFF, EMPTY, run
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.notices import FoldMade, Reminded, StepBegan, SummaryMade
from holdfast.agents.outcomes import Done, Stop
from holdfast.agents.tool_results import UNCERTAIN
from holdfast.events import AssistantReplied, OverflowReported, ToolReturned, UserSaid
from holdfast.log import Log
from holdfast.messages import Text, ToolCall, Usage
from holdfast.models.catalogue import ModelEntry, Price
from holdfast.models.errors import NetworkFailed, Overflowed
from holdfast.models.model import ModelReply, TextDelta
from holdfast.models.scripted import ScriptedModel
from holdfast.redaction import redact
from holdfast.session import Session
from holdfast.store import SqliteStore
from holdfast.tools.envelope import Envelope, ToolError, build_result
from holdfast.tools.tool import TypedTool
from holdfast.tools.workspace import Workspace


class Word(Struct):
    word: str = ""


class Scene:
    """An agent with two small tools: `Look` reads, `Do` counts how often it was done."""

    def __init__(self, folder, *replies, budget="32k", clock=None, **more):
        self.done: list[str] = []
        self.waiting = asyncio.Event()
        self.news = []
        self.store = SqliteStore(folder / "store.db")
        tools = [
            TypedTool("Look", Word, "Looks.", self._look, is_read_only=True),
            TypedTool("Do", Word, "Does.", self._do),
        ]
        self.session = Session(store=self.store, log="session", budget=budget, system="Work.", tools=None)
        self.model = ScriptedModel(*replies, repeat_last=more.pop("repeat_last", False))
        budget = RunBudget(more.pop("limits", None), **({"clock": clock} if clock else {}))
        self.agent = Agent(
            self.model,
            tools,
            session=self.session,
            workspace=Workspace([folder]),
            budget=budget,
            watch=self.news.append,
            **more,
        )

    async def _look(self, word, _):
        return build_result(Envelope(status="success", text=f"seen {word.word}"), "seen")

    async def _do(self, word, _):
        if word.word == "wrong":
            raise ToolError("INVALID_PARAM", "no such thing")
        self.done.append(word.word)
        if word.word == "wait":
            self.waiting.set()
            await asyncio.sleep(60)
        return build_result(Envelope(status="success", text=f"did {word.word}"), "did")

    def run(self, text="Please."):
        self.agent.say(text)
        return asyncio.run(run(self.agent))

    def events(self, kind):
        return [entry.event for entry in self.session.log.entries() if isinstance(entry.event, kind)]

    def told(self, kind):
        return [notice for notice in self.news if isinstance(notice, kind)]


def call(name, word="", id_="c1"):
    return ToolCall(id_, name, {"word": word} if word else {})


def test_a_reply_without_calls_is_the_end(tmp_path):
    scene = Scene(tmp_path, "Good day.")
    assert scene.run() == Done("Good day.")
    assert [type(e).__name__ for e in scene.events((UserSaid, AssistantReplied))] == [
        "UserSaid",
        "AssistantReplied",
    ]


def test_calls_are_run_and_their_results_go_back_in_order(tmp_path):
    scene = Scene(tmp_path, [Text("I look."), call("Look", "a", "1"), call("Do", "b", "2")], "Done.")
    assert scene.run() == Done("Done.")
    results = scene.events(ToolReturned)
    assert [(r.call_id, r.parts[0].text) for r in results] == [("1", "seen a"), ("2", "did b")]
    assert "did b" in str(scene.model.requests[1].messages)


def test_what_a_tool_refuses_is_an_answer(tmp_path):
    scene = Scene(tmp_path, [call("Do", "wrong")], "I see.")
    assert scene.run() == Done("I see.")
    (result,) = scene.events(ToolReturned)
    assert result.error
    assert "no such thing" in result.parts[0].text


def test_steps_are_bounded(tmp_path):
    scene = Scene(tmp_path, *([[call("Do", f"n{n}", f"c{n}")] for n in range(9)]), limits=RunLimits(steps=4))
    end = scene.run()
    assert isinstance(end, Stop)
    assert end.reason == "steps"
    assert scene.done == ["n0", "n1", "n2", "n3"]
    assert scene.session.window.transcript.has_all_results


def test_time_is_bounded(tmp_path):
    now = iter(range(0, 1000, 10))
    replies = [[call("Do", f"n{n}", f"c{n}")] for n in range(9)]
    scene = Scene(tmp_path, *replies, limits=RunLimits(seconds=25), clock=lambda: next(now))
    assert scene.run().reason == "time"


class HangingModel:
    """Says a few words and never comes to an end."""

    name = "hanging"

    def __init__(self):
        self.asked = 0

    async def stream(self, _):
        self.asked += 1
        yield TextDelta("So far. ")
        await asyncio.sleep(3600)

    async def aclose(self):
        pass


def timed(folder, make, has_begun):
    """A scene whose time was over after it had begun to hang, however slow the machine is."""
    for seconds in (0.2, 2.0, 20.0):
        (folder / str(seconds)).mkdir()
        scene = make(folder / str(seconds), RunLimits(seconds=seconds))
        assert scene.run() == Stop("time", f"the limit of {seconds:g} seconds is reached", RAISE)
        if has_begun(scene):
            return scene
    raise AssertionError("it never began")


def test_time_is_over_while_a_tool_runs_and_every_call_gets_a_result(tmp_path):
    calls = [call("Do", "a", "1"), call("Do", "wait", "2"), call("Do", "b", "3")]
    scene = timed(
        tmp_path,
        lambda folder, limits: Scene(folder, calls, "Later.", limits=limits),
        lambda scene: scene.waiting.is_set(),
    )
    results = scene.events(ToolReturned)
    assert [(r.call_id, r.error) for r in results] == [("1", False), ("2", True), ("3", True)]
    assert "interrupted before it ended; what it did is uncertain" in results[1].parts[0].text
    scene.agent.budget.limits = RunLimits()
    assert scene.run("Go on.") == Done("Later.")


def test_time_is_over_while_the_model_replies_and_its_text_is_kept(tmp_path):
    def make(folder, limits):
        scene = Scene(folder, "Later.", limits=limits)
        scene.later, scene.agent.model = scene.model, HangingModel()
        return scene

    scene = timed(tmp_path, make, lambda scene: scene.agent.model.asked)
    (kept,) = scene.events(AssistantReplied)
    assert (kept.stop, kept.parts) == ("interrupted", (Text("So far. "),))
    scene.agent.budget.limits, scene.agent.model = RunLimits(), scene.later
    assert scene.run("Go on.") == Done("Later.")


def test_time_is_over_while_a_request_waits_for_a_summary(tmp_path):
    def make(folder, limits):
        words = [[call("Do", f"{n} " + f"word{n} " * 400, f"c{n}")] for n in range(60)]
        more = {"summarizer": HangingModel(), "compacts_in_background": False}
        return Scene(folder, *words, budget="16k", limits=limits, **more)

    scene = timed(tmp_path, make, lambda scene: scene.agent._summarizer.asked)
    assert not scene.told(SummaryMade)
    assert scene.session.window.transcript.has_all_results


def test_runs_that_count_together_share_their_limits(tmp_path):
    scene = Scene(tmp_path, "One.", "Two.", "Three.", limits=RunLimits(steps=2))
    scene.agent.budget.count_together(time.monotonic())
    assert [scene.run(), scene.run()] == [Done("One."), Done("Two.")]
    assert scene.run().reason == "steps"
    scene.agent.budget.limits = RunLimits(seconds=3600)
    scene.agent.budget.count_together(time.monotonic() - 3600)
    assert scene.run().sentence == "the limit of 3600 seconds is reached"


def test_cost_is_bounded(tmp_path):
    def dear(n):
        return ModelReply(parts=(call("Do", f"n{n}", f"c{n}"),), stop="calls", usage=Usage(1_000_000))

    request_settings = RequestSettings(entry=ModelEntry(price=Price(input=1.0, output=1.0)))
    scene = Scene(
        tmp_path, *map(dear, range(9)), limits=RunLimits(dollars=2.5), request_settings=request_settings
    )
    end = scene.run()
    assert end.reason == "cost"
    assert "the limit of $2.50 is reached ($3.00 spent)" in end.sentence
    assert len(scene.done) == 3


def test_an_empty_reply_is_asked_for_once_more(tmp_path):
    scene = Scene(tmp_path, ModelReply(parts=(), stop="end"), "Here.")
    assert scene.run() == Done("Here.")
    assert [n.text for n in scene.told(Reminded)] == [EMPTY]
    assert [e.origin for e in scene.events(UserSaid)] == ["person", "reminder"]


def test_two_empty_replies_end_it(tmp_path):
    scene = Scene(tmp_path, ModelReply(parts=(Text(" \n"),), stop="end"), ModelReply(parts=(), stop="end"))
    assert scene.run().reason == "empty"
    assert scene.events(AssistantReplied) == []


def test_a_reply_that_was_cut_off_goes_on(tmp_path):
    scene = Scene(tmp_path, ModelReply(parts=(Text("First half"),), stop="length"), "second half.")
    assert scene.run() == Done("second half.")
    assert [n.text for n in scene.told(Reminded)] == [CUT_OFF]


def test_the_same_call_with_the_same_result_is_pointed_out_and_then_stopped(tmp_path):
    scene = Scene(tmp_path, [call("Look", "a")], repeat_last=True)
    end = scene.run()
    assert end.reason == "loop"
    assert len(scene.events(ToolReturned)) == 4
    assert [n.text[:27] for n in scene.told(Reminded)] == ["You have called Look 3 time"]


def test_a_command_that_gives_the_same_result_again_and_again_is_stopped_too(tmp_path):
    scene = Scene(tmp_path, [call("Do", "a")], repeat_last=True, limits=RunLimits(steps=9))
    assert scene.run().reason == "loop"
    assert scene.done == ["a"] * 4
    assert [n.text[:26] for n in scene.told(Reminded)] == ["You have called Do 3 times"]


def test_a_command_between_others_that_change_something_is_work(tmp_path):
    replies = [[call("Do", "test", f"t{n}"), call("Do", f"change {n}", f"d{n}")] for n in range(6)]
    assert Scene(tmp_path, *replies, "Done.").run() == Done("Done.")


def test_the_same_call_between_changes_is_work(tmp_path):
    replies = [[call("Look", "a", f"l{n}"), call("Do", f"change {n}", f"d{n}")] for n in range(6)]
    assert Scene(tmp_path, *replies, "Done.").run() == Done("Done.")


def test_a_model_that_cannot_be_asked_ends_the_run_and_the_next_goes_on(tmp_path):
    scene = Scene(tmp_path, NetworkFailed("no route", hint="try again"), "Now.")
    end = scene.run()
    assert (end.reason, end.sentence, end.hint) == ("model", "no route", "try again")
    assert asyncio.run(run(scene.agent)) == Done("Now.")


def test_one_overflow_is_folded_and_a_second_ends_it(tmp_path):
    work = [[call("Do", f"{n} " + "word " * 300, f"c{n}")] for n in range(12)]
    scene = Scene(tmp_path, *work, Overflowed("too long", limit=9_000), "Done.")
    assert scene.run() == Done("Done.")
    assert [e.limit for e in scene.events(OverflowReported)] == [9_000]
    assert [n.fold.reason for n in scene.told(FoldMade)] == ["overflow"]


def test_a_second_overflow_in_a_row_ends_it(tmp_path):
    work = [[call("Do", f"{n} " + "word " * 300, f"c{n}")] for n in range(12)]
    scene = Scene(tmp_path, *work, Overflowed("too long", limit=9_000), Overflowed("still too long"))
    assert scene.run() == Stop("overflow", "still too long")


def test_an_overflow_where_nothing_can_be_folded_names_what_is_in_the_way(tmp_path):
    end = Scene(tmp_path, Overflowed("too long")).run()
    assert end.reason == "overflow"
    assert "tool definitions" in end.hint


def test_what_is_said_meanwhile_comes_in_between_two_steps(tmp_path):
    scene = Scene(tmp_path, [call("Do", "a")], "And that too.")
    said = scene.agent.say

    def interject(request):
        said("Also this.")
        return "First."

    scene.model._replies = (interject, "And that too.")
    assert scene.run() == Done("And that too.")
    kinds = [type(e).__name__ for e in scene.events((UserSaid, AssistantReplied))]
    assert kinds == ["UserSaid", "AssistantReplied", "UserSaid", "AssistantReplied"]


async def _interrupted_at(scene, event):
    scene.agent.say("Please.")
    running = asyncio.create_task(run(scene.agent))
    await event.wait()
    scene.agent.interrupt()
    return await running


def test_an_interrupt_in_a_tool_leaves_a_result_for_every_call(tmp_path):
    scene = Scene(tmp_path, [call("Do", "a", "1"), call("Do", "wait", "2"), call("Do", "b", "3")], "Later.")
    assert asyncio.run(_interrupted_at(scene, scene.waiting)).reason == "interrupted"
    results = scene.events(ToolReturned)
    assert [(r.call_id, r.error) for r in results] == [("1", False), ("2", True), ("3", True)]
    assert "uncertain" in results[1].parts[0].text
    assert "not started" in results[2].parts[0].text
    assert scene.run("Go on.") == Done("Later.")


def test_an_interrupt_in_a_reply_keeps_what_was_said(tmp_path):
    scene = Scene(tmp_path, "A long reply. " * 50, "Later.")

    def watch(notice):
        scene.news.append(notice)
        if sum(type(n).__name__ == "TextDelta" for n in scene.news) == 5:
            scene.agent.interrupt()

    scene.agent.watch = watch
    assert scene.run().reason == "interrupted"
    (kept,) = scene.events(AssistantReplied)
    assert kept.stop == "interrupted"
    assert ("A long reply. " * 50).startswith(kept.parts[0].text)
    scene.agent.watch = scene.news.append
    assert scene.run("Go on.") == Done("Later.")


def test_a_call_without_a_result_is_uncertain_after_a_crash_and_not_run_again(tmp_path):
    scene = Scene(tmp_path, "Let me look.")
    scene.session.record(
        UserSaid((Text("Do it."),)), AssistantReplied((call("Do", "a", "1"), call("Do", "b", "2")))
    )
    scene.session.record(ToolReturned("1", "Do", (Text("did a"),)))
    assert asyncio.run(run(scene.agent)) == Done("Let me look.")
    assert [r.parts[0].text for r in scene.events(ToolReturned)] == ["did a", UNCERTAIN]
    assert scene.done == []


@pytest.mark.slow
@pytest.mark.parametrize("in_background", [True, False])
def test_three_hundred_steps_after_one_message_stay_in_a_small_window(tmp_path, in_background):
    def works(n):
        return [call("Look" if n % 3 else "Do", f"{n} " + f"word{n} " * 120, f"c{n}")]

    def answer(request):
        if "Summarize" in str(request.messages[-1]) or len(request.tools) == 0:
            return "nothing of use"
        return works(next(count))

    count = iter(range(1000))
    scene = Scene(
        tmp_path,
        answer,
        repeat_last=True,
        budget="16k",
        limits=RunLimits(steps=300),
        compacts_in_background=in_background,
    )
    assert scene.run().reason == "steps"
    assert scene.told(FoldMade) or scene.told(SummaryMade)
    assert max(n.tokens for n in scene.told(StepBegan)) <= 16_000
    assert len(scene.events(ToolReturned)) == 300


def test_each_run_may_have_an_event_loop_of_its_own(tmp_path):
    scene = Scene(tmp_path, [call("Do", "a")], "One.", [call("Do", "b", "c2")], "Two.")
    assert scene.run() == Done("One.")
    assert scene.run("Again.") == Done("Two.")
    assert scene.done == ["a", "b"]


class LargeScene(Scene):
    """`Look` gives a large text with a secret. `searches` says, for each search of it, whether it was done off the
    event loop; `during` is called before each."""

    def __init__(self, folder, during=lambda _: None):
        super().__init__(folder, [call("Look")], "Done.")
        self.during = during
        self.secret = "ghp_" + "".join(random.Random(5).choices(string.ascii_letters + string.digits, k=36))
        self.text = "".join(f"line {n} of the table\n" for n in range(10_000)) + f"token {self.secret} is set"
        self.searches = []
        self.session.log = Log.open(self.store, "session", redact=self._redact)

    def _redact(self, text):
        if text == self.text:
            self.searches.append(threading.current_thread() is not threading.main_thread())
            self.during(self)
        return redact(text)

    async def _look(self, _, __):
        return build_result(Envelope(status="success", text=self.text), "seen")

    def stored(self):
        (result,) = self.events(ToolReturned)
        return result.parts[0].text


def test_a_large_result_is_searched_for_secrets_once_and_off_the_event_loop(tmp_path):
    scene = LargeScene(tmp_path)
    assert scene.run() == Done("Done.")
    assert scene.searches == [True]
    assert scene.secret not in scene.stored()
    assert scene.stored() == redact(scene.text)


def test_an_interrupt_while_a_result_is_searched_for_secrets_does_not_cost_it(tmp_path):
    scene = LargeScene(tmp_path, lambda scene: scene.agent.interrupt())
    assert scene.run().reason == "interrupted"
    assert scene.stored() == redact(scene.text)


def test_a_search_for_secrets_that_fails_leaves_nothing_unredacted(tmp_path):
    def fail(_):
        raise RuntimeError("no scanner")

    scene = LargeScene(tmp_path, fail)
    with pytest.raises(RuntimeError):
        scene.run()
    assert len(scene.searches) > 1
    assert not scene.events(ToolReturned)
    assert not any(scene.secret in str(entry.event) for entry in scene.session.log.entries())
