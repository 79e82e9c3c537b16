"""Sub-agents: their own log and limits, nothing changed unasked, a bounded report, and who pays."""

import asyncio

import pytest

from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.coding.task import LONGEST_REPORT, SUB_AGENT_PROMPT, TaskSettings
from holdfast.agents.limits import RunLimits
from holdfast.agents.notices import SubAgentNotice
from holdfast.agents.options import AgentOptions
from holdfast.events import ApprovalGiven, LogStarted, ToolReturned, UsageReported
from holdfast.log import Log
from holdfast.messages import SystemMessage, ToolMessage
from holdfast.models.scripted import ScriptedModel
from holdfast.recall import answer_recall
from holdfast.tools.permissions.gate import ApprovalAnswer
from holdfast.views import path
from support.agent_runs import call, repository, waited

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


def is_sub(request):
    return isinstance(request.messages[0], SystemMessage) and request.messages[0].text.startswith(
        SUB_AGENT_PROMPT
    )


def asked(request):
    """What the sub-agent was told."""
    return next(m.parts[0].text for m in request.messages if hasattr(m, "parts"))


def results(request):
    return [m.text for m in request.messages if isinstance(m, ToolMessage)]


def tasks(*prompts, **more):
    return [call("Task", f"t{n}", description=f"look {n}", prompt=p, **more) for n, p in enumerate(prompts)]


def modelled(parent, sub):
    """A model for both: `parent` are replies in their order, `sub` is a function of the request."""
    left = list(parent)
    return ScriptedModel(lambda request: sub(request) if is_sub(request) else left.pop(0), repeat_last=True)


class Ended:
    """A session with one round: what it came to, what was told, and the logs it left behind."""

    def __init__(self, root, model, *, settings=None, approver=None, mode="auto"):
        self.news = []
        self.model = model

        async def work():
            options = AgentOptions(
                root=root, store=root.parent / "store.db", sandbox="off", mode=mode, budget=32_000
            )
            more = {"watch": self.news.append, "approver": approver, "tasks": settings}
            opened = await open_coding_session(options, model=model, env=NOWHERE, **more)
            coding = opened.coding
            try:
                self.end = await coding.say("Go.")
                self.spent = coding.agent.budget.spent
                self.log = coding.session.log.id
                self.entries = coding.session.log.entries()
                store = coding.session.store
                subs = [info.head for info in store.logs() if info.head.source == "holdfast task"]
                self.subs = {head.id: path(Log.open(store, head.id).entries()) for head in subs}
                self.recalled = [answer_recall(store, {"id": head.id})[0] for head in subs]
            finally:
                await opened.close()

        asyncio.run(work())

    @property
    def texts(self):
        return [e.event.parts[0].text for e in self.entries if isinstance(e.event, ToolReturned)]


def looker(request):
    """Reads main.py and says what it found."""
    if results(request):
        return f"It prints {'old' if 'old' in results(request)[-1] else 'nothing'}."
    return [call("Read", "r", path="main.py")]


def test_a_report_names_its_log_and_the_log_its_parent(root):
    done = Ended(root, modelled([tasks("What does main.py print?"), "Old."], looker))
    assert done.end.text == "Old."
    ((log, entries),) = done.subs.items()
    assert done.texts == [f'It prints old.\n[2 steps; what it did and saw: Recall(id="{log}")]']
    started = entries[0].event
    assert isinstance(started, LogStarted)
    assert (started.title, started.meta["parent"], started.meta["call"]) == ("look 0", done.log, "t0")
    assert "It prints old." in done.recalled[0], "Recall reaches it"
    told = [notice for notice in done.news if isinstance(notice, SubAgentNotice)]
    assert {(notice.call, notice.log) for notice in told} == {("t0", log)}


def test_it_knows_nothing_of_the_session_and_has_nothing_that_changes(root):
    (root / "code_law.md").write_text("Never use tabs.\n")
    done = Ended(root, modelled([tasks("Only this."), "Ok."], lambda _: "Nothing."))
    request = next(request for request in done.model.requests if is_sub(request))
    assert {tool.name for tool in request.tools} == {"LS", "Glob", "Grep", "Read", "Recall"}
    said = str(request.messages)
    assert "Only this." in said
    assert "Go." not in said
    assert "Never use tabs." in said, "the rules of the project hold for it too"


def test_several_work_at_the_same_time_and_answer_in_their_order(root):
    met = []

    class Meeting(ScriptedModel):
        """Its sub-agents wait until all three are there: one after the other they would wait for ever."""

        async def stream(self, request):
            if is_sub(request):
                met.append(asked(request))
                while len(met) < 3:  # noqa: ASYNC110 - each waits for the last
                    await asyncio.sleep(0.01)
            async for came in super().stream(request):
                yield came

    left = [tasks("0", "1", "2"), "Done."]
    model = Meeting(lambda r: f"This is {asked(r)}." if is_sub(r) else left.pop(0), repeat_last=True)
    done = Ended(root, model)
    assert [text.split("\n")[0] for text in done.texts] == ["This is 0.", "This is 1.", "This is 2."]
    assert sorted(met) == ["0", "1", "2"]
    assert len(done.subs) == 3
    calls = {entries[0].event.meta["call"] for entries in done.subs.values()}
    assert calls == {"t0", "t1", "t2"}


def writer(request):
    if not results(request):
        return [call("Write", "w", path=f"{asked(request)}.txt", content="made\n")]
    return f"Made, or not: {results(request)[-1][:40]}"


class Person:
    """Answers what is asked, and never two things at once."""

    def __init__(self, *decisions):
        self.decisions = list(decisions)
        self.asked = []
        self.is_asked = False

    async def approve(self, question):
        assert not self.is_asked
        self.is_asked = True
        await asyncio.sleep(0.01)
        self.asked.append(question.call.arguments["path"])
        self.is_asked = False
        return ApprovalAnswer(self.decisions.pop(0))


def test_one_that_writes_is_asked_about_like_its_parent(root):
    person = Person("once", "deny")
    model = modelled([tasks("a", "b", writes=True), "Done."], writer)
    done = Ended(root, model, approver=person, mode="ask")
    assert person.asked == ["a.txt", "b.txt"]
    assert (root / "a.txt").read_text() == "made\n"
    assert not (root / "b.txt").exists()
    assert "[It changed: a.txt. Read them before you edit them.]" in done.texts[0]
    assert "denied" in done.texts[1]
    approvals = [
        e.event for entries in done.subs.values() for e in entries if isinstance(e.event, ApprovalGiven)
    ]
    assert [approval.decision for approval in approvals] == ["once", "deny"], "each in the log of its own"


def test_in_plan_mode_not_even_one_that_writes_changes_anything(root):
    done = Ended(root, modelled([tasks("a", writes=True), "Done."], writer), mode="plan")
    assert "plan mode" in str(done.subs)
    assert not (root / "a.txt").exists()


def test_limits_end_it_and_the_report_says_so(root):
    def endless(request):
        return [call("Grep", f"g{len(results(request))}", pattern=f"x{len(results(request))}")]

    settings = TaskSettings(limits=RunLimits(steps=3))
    done = Ended(root, modelled([tasks("Find it."), "Ok."], endless), settings=settings)
    assert "[The sub-agent was stopped: the limit of 3 steps is reached." in done.texts[0]
    tokens = TaskSettings(limits=RunLimits(tokens=5_000))
    done = Ended(root, modelled([tasks("Find it."), "Ok."], endless), settings=tokens)
    assert "the limit of 5000 tokens is reached" in done.texts[0]


def test_what_it_spends_is_spent_by_its_parent(root):
    done = Ended(root, modelled([tasks("What does it print?"), "Old."], looker))
    (log,) = done.subs
    paid = [e.event for e in done.entries if isinstance(e.event, UsageReported)]
    assert [event.purpose for event in paid] == [f"task {log}"] * 2
    own = [e.event.usage for e in done.entries if type(e.event).__name__ == "AssistantReplied"]
    assert done.spent.usage.prompt == sum(u.prompt for u in own) + sum(event.usage.prompt for event in paid)
    assert done.spent.steps == 2, "its steps are its own"


def test_a_long_report_is_cut_and_the_rest_can_be_recalled(root):
    long = "\n".join(f"finding {n} " + "x" * 60 for n in range(600)) + "\nthe very end"
    done = Ended(root, modelled([tasks("Say much."), "Ok."], lambda _: long))
    text = done.texts[0]
    assert len(text) < LONGEST_REPORT + 300
    assert "the very end" in text
    assert "characters left out: Recall(id=" in text


def test_sub_agents_have_none_of_their_own_unless_allowed(root):
    seen = []

    def deep(request):
        seen.append("Task" in {tool.name for tool in request.tools})
        if seen[-1] and not results(request):
            return [call("Task", "inner", description="deeper", prompt="Deeper.")]
        return "At the bottom."

    done = Ended(root, modelled([tasks("Go down."), "Ok."], deep), settings=TaskSettings(depth=2))
    assert seen == [True, False, True]
    assert len(done.subs) == 2
    parents = [entries[0].event.meta["parent"] for entries in done.subs.values()]
    assert parents == [done.log, next(iter(done.subs))]


def test_an_interruption_ends_it_and_leaves_two_valid_logs(root):
    async def work():
        options = AgentOptions(
            root=root, store=root.parent / "store.db", sandbox="off", mode="auto", budget=32_000
        )
        slow = [call("Bash", "b", command="touch begun; sleep 30")]
        model = modelled([tasks("Wait.", writes=True)], lambda _: slow)
        opened = await open_coding_session(options, model=model, env=NOWHERE)
        running = asyncio.create_task(opened.coding.say("Go."))
        await asyncio.to_thread(waited, (root / "begun").exists)
        opened.coding.agent.interrupt()
        end = await running
        store = opened.coding.session.store
        log = next(info.head.id for info in store.logs() if info.head.source == "holdfast task")
        entries = Log.open(store, log).entries()
        own = opened.coding.session.log.entries()
        await opened.close()
        return end, entries, [e.event for e in own if isinstance(e.event, ToolReturned)], log

    end, entries, (reported,), log = asyncio.run(work())
    assert end.reason == "interrupted"
    assert "[The sub-agent was stopped: it was interrupted." in reported.parts[0].text
    assert f'Recall(id="{log}")' in reported.parts[0].text
    last = [e.event for e in entries if isinstance(e.event, ToolReturned)]
    assert len(last) == 1, "the command of the sub-agent has its result"
