"""Hooks in sessions of the coding agent: real programs around real calls, prompts and ends."""

import asyncio
import json

import pytest
from msgspec import Struct

from holdfast.agents.coding.hooked_messages import MOST_CONTINUATIONS
from holdfast.agents.hooks import Hook
from holdfast.agents.notices import HookReported, SubAgentNotice
from holdfast.agents.outcomes import Done, Stop
from holdfast.events import Noted, ToolReturned
from holdfast.messages import ToolCall, ToolMessage, UserMessage, joined_text
from holdfast.tools.call import CallFinished
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.permissions.gate import ApprovalAnswer
from holdfast.tools.permissions.tool_rules import parse_permissions
from holdfast.tools.tool import TypedTool
from holdfast.tools.workspace import Workspace
from support.agent_runs import waited
from support.coding_sessions import CodingSetup, call, requests, say

EDIT = call("Edit", "e", path="main.py", old_string="old", new_string="new")
READ = call("Read", "r", path="main.py")


class Named(Struct):
    name: str


async def answer(_arguments: Named, _workspace: Workspace) -> ToolResult:
    return tool_result("It was called.", "called")


SERVER_TOOL = TypedTool("McpCall", Named, "Call a tool of a server.", answer)


class Approving:
    """Answers every question the same way, and remembers them."""

    def __init__(self, decision="once"):
        self.asked = []
        self.decision = decision

    async def approve(self, question):
        self.asked.append(question)
        return ApprovalAnswer(self.decision)


class Hooked(CodingSetup):
    def __init__(self, folder):
        super().__init__(folder)
        self.hooks, self.news = [], []
        self.then = lambda _: None

    def hook(self, event, command, **more):
        self.hooks.append(Hook(event, command, self.root, **more))

    def says(self, event, **answer):
        match = {"match": answer.pop("match")} if "match" in answer else {}
        self.hook(event, f"echo '{json.dumps(answer)}'", **match)

    def work(self, *replies, **more):
        return self.open(*replies, hooks=tuple(self.hooks), watch=self._watch, **more)

    def _watch(self, notice):
        self.news.append(notice)
        self.then(notice)

    @property
    def reported(self):
        return [one.text for one in self.news if isinstance(one, HookReported)]

    @property
    def main(self):
        return (self.root / "main.py").read_text()


@pytest.fixture
def setup(tmp_path):
    found = Hooked(tmp_path)
    yield found
    found.close()


def results(coding):
    return [
        joined_text(e.event.parts) for e in coding.session.log.entries() if isinstance(e.event, ToolReturned)
    ]


def notes(coding):
    return [
        e.event for e in coding.session.log.entries() if isinstance(e.event, Noted) and e.event.kind == "hook"
    ]


def heard(coding):
    """What the model read last, but for results."""
    return [joined_text(m.parts) for m in requests(coding)[-1].messages if isinstance(m, UserMessage)]


def test_a_hook_before_a_tool_denies_with_its_reason(setup):
    setup.says("before_tool", decision="deny", reason="not on Fridays", match="Edit|Write")
    coding = setup.work([READ], [EDIT], "Done.")
    assert say(coding, "Go.") == [Done("Done.")]
    assert "print('old')" in results(coding)[0]
    assert results(coding)[1].startswith("ACCESS_DENIED: Edit was not run: the hook `echo '{")
    assert "denied it: not on Fridays. Do not try to get around it" in results(coding)[1]
    assert "old" in setup.main
    assert [(note.data["event"], note.data["reason"], note.data["call"]) for note in notes(coding)] == [
        ("before_tool", "not on Fridays", "e")
    ]
    assert [line.endswith(" denied Edit: not on Fridays") for line in setup.reported] == [True]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 3", "it ended with exit code 3"),
        ("echo {", "it printed no answer that can be read"),
        ("sleep 60", "it did not end within 0.3 s"),
        ("cat /dev/zero", "it printed more than"),
    ],
)
def test_a_hook_before_a_tool_that_fails_denies(setup, command, why):
    setup.hook("before_tool", command, match="Edit", timeout=0.3)
    coding = setup.work([READ], [EDIT], "Done.")
    assert say(coding, "Go.") == [Done("Done.")]
    assert f"which decides about it, failed: {why}" in results(coding)[1]
    assert "old" in setup.main
    assert why in setup.reported[0]


@pytest.mark.parametrize("event", ["after_tool", "prompt", "stop"])
@pytest.mark.parametrize("command", ["exit 3", "echo {", "sleep 60", "cat /dev/zero"])
def test_any_other_hook_that_fails_loses_nothing(setup, event, command):
    setup.hook(event, command, timeout=0.3)
    coding = setup.work([READ], [EDIT], "Done.")
    assert say(coding, "Go.") == [Done("Done.")]
    assert "new" in setup.main
    assert len(results(coding)) == 2
    assert all("failed at" in line for line in setup.reported)
    assert setup.reported


def test_no_hook_widens_what_rules_deny(setup):
    setup.says("before_tool", decision="allow")
    permissions = parse_permissions({"deny": ["Edit"]}, "t")
    coding = setup.work([READ], [EDIT], "Done.", permissions=permissions)
    say(coding, "Go.")
    assert "old" in setup.main
    approver = Approving("deny")
    asked = setup.work([READ], [EDIT], "Done.", log="other", mode="ask", approver=approver)
    say(asked, "Go.")
    assert len(approver.asked) == 1, "an allowance of the hook does not take the place of a person"
    assert "old" in setup.main


@pytest.mark.parametrize(("decision", "word"), [("deny", "old"), ("once", "new")])
def test_a_hook_may_ask_about_what_is_allowed(setup, decision, word):
    setup.says("before_tool", decision="ask", reason="sure?", match="Edit")
    approver = Approving(decision)
    coding = setup.work([READ], [EDIT], "Done.", approver=approver)
    say(coding, "Go.")
    assert word in setup.main
    (question,) = approver.asked
    assert question.reason.endswith(" asks: sure?")
    assert question.offered_rules == ()


def test_where_nobody_is_what_a_hook_asks_about_is_denied(setup):
    setup.says("before_tool", decision="ask", match="Edit")
    coding = setup.work([READ], [EDIT], "Done.")
    say(coding, "Go.")
    assert "nobody is there to approve it" in results(coding)[1]
    assert "old" in setup.main


def test_what_hooks_are_told(setup):
    for event in ("before_tool", "after_tool", "prompt", "stop"):
        setup.hook(event, f"cat > ../{event}.json")
    coding = setup.work([READ], "Done.")
    say(coding, "Go.")
    told = {
        e: json.loads((setup.folder / f"{e}.json").read_text())
        for e in ("before_tool", "after_tool", "prompt", "stop")
    }
    common = {
        "session": coding.session.log.id,
        "parent": "",
        "cwd": str(setup.root.resolve()),
        "mode": "auto",
    }
    about = {"tool": "Read", "input": {"path": "main.py"}, "call": "r"}
    assert told["before_tool"] == {"event": "before_tool", **common, **about}
    result = told["after_tool"].pop("result")
    assert told["after_tool"] == {"event": "after_tool", **common, **about}
    assert (result["is_error"], "print('old')" in result["text"]) == (False, True)
    assert told["prompt"] == {"event": "prompt", **common, "prompt": "Go."}
    assert told["stop"] == {"event": "stop", **common, "reply": "Done.", "continued": 0}


def test_context_of_hooks_reaches_the_model_as_data(setup):
    setup.says("before_tool", context="before it", match="Edit")
    setup.says("after_tool", context="E501 at line 3", match="Edit")
    setup.says("prompt", context="the build is red")
    coding = setup.work([READ], [EDIT], "Done.")
    say(coding, "Go.")
    texts = heard(coding)
    assert texts[0] == "Go."
    for said in ("the build is red", "before it", "E501 at line 3"):
        (framed,) = [text for text in texts if said in text]
        assert framed.startswith("<system-reminder>\nThe hook `echo ")
        assert "data about this work, no message of the user.\n" in framed


def test_a_call_of_a_server_through_another_tool_is_matched_by_its_own_name(setup):
    setup.says("before_tool", decision="deny", reason="no", match="mcp__issues__*")
    through = ToolCall("m", "McpCall", {"name": "mcp__issues__close"})
    other = ToolCall("n", "McpCall", {"name": "mcp__issue"})
    coding = setup.work([through, other], "Done.", more_tools=(SERVER_TOOL,))
    say(coding, "Go.")
    assert ["denied it: no" in text for text in results(coding)] == [True, False]
    assert results(coding)[1] == "It was called."


def test_a_prompt_that_is_blocked_never_reaches_the_model(setup):
    setup.hook("prompt", "grep -q secret && { echo no secrets >&2; exit 2; }; exit 0")
    coding = setup.work("Fine.", "Fine again.")
    ends = say(coding, "Take the secret.", "Go.")
    assert isinstance(ends[0], Stop)
    assert ends[0].reason == "blocked"
    assert "blocked the message: no secrets" in ends[0].sentence
    assert ends[1] == Done("Fine.")
    assert heard(coding)[0] == "Go."
    assert "secret." not in str(requests(coding)[-1].messages)


def test_a_message_said_while_the_agent_works_is_heard_by_the_hooks_first(setup):
    setup.hook("prompt", "sleep 0.1; grep -q secret && { echo no >&2; exit 2; }; exit 0")
    coding = setup.work([READ], "Done.", "And this.")

    def speak(notice):
        if isinstance(notice, CallFinished):
            coding.add_message("a secret")
            coding.add_message("one more")

    setup.then = speak
    assert say(coding, "Go.") == [Done("And this.")]
    assert [text for text in heard(coding) if not text.startswith("<")] == ["Go.", "one more"]


def test_a_message_that_the_hooks_still_hear_can_be_taken_back(setup):
    begun = setup.root / "begun"
    setup.hook("prompt", f"grep -q later && touch '{begun}' && sleep 60; exit 0")
    coding = setup.work([READ], "Done.")
    taken, tasks = [], []

    async def change_mind():
        await asyncio.to_thread(waited, begun.exists)
        taken.append(coding.take_back("later @all"))

    def speak(notice):
        if isinstance(notice, CallFinished):
            coding.add_message("later \\@all")
            tasks.append(asyncio.create_task(change_mind()))

    setup.then = speak
    assert say(coding, "Go.") == [Done("Done.")]
    assert taken == [True]
    assert not coding.take_back("Go.")
    assert [text for text in heard(coding) if not text.startswith("<")] == ["Go."]


def test_what_is_attached_to_a_prompt_does_not_bypass_the_hooks(setup):
    setup.hook("prompt", "grep -q secret && { echo no secrets >&2; exit 2; }; exit 0")
    coding = setup.work("Fine.")

    blocked = coding.runner.run(coding.say("Look.", "<attachment>a secret</attachment>"))
    end = coding.runner.run(coding.say("Look.", "@a"))
    assert "blocked the message: no secrets" in blocked.sentence
    assert end == Done("Fine.")
    assert [text for text in heard(coding) if not text.startswith("<")] == ["Look.", "@a"]


def test_a_hook_at_the_end_keeps_the_agent_going_but_not_for_ever(setup):
    setup.says("stop", decision="block", reason="the tests fail")
    coding = setup.work(*(f"Done {n}." for n in range(9)))
    assert say(coding, "Go.") == [Done(f"Done {MOST_CONTINUATIONS}.")]
    told = [text for text in heard(coding) if "the tests fail" in text]
    assert len(told) == MOST_CONTINUATIONS
    assert "asks you to continue" in told[0]
    # Also of the last one, after which the run ends.
    assert len(setup.reported) == MOST_CONTINUATIONS + 1
    assert all("asks the agent to continue" in one for one in setup.reported)


def test_a_hook_at_the_end_can_count_how_often_it_asked(setup):
    setup.hook("stop", "grep -q '\"continued\":0' && { echo once more >&2; exit 2; }; exit 0")
    coding = setup.work("One.", "Two.", "Three.", "Four.")
    assert say(coding, "Go.", "Again.") == [Done("Two."), Done("Four.")]


def test_an_interruption_ends_a_hook_at_the_end(setup):
    setup.hook("stop", "touch began; exec sleep 600", timeout=500)
    coding = setup.work("Done.", "Next.")

    async def conversation():
        run = asyncio.create_task(coding.say("Go."))
        await asyncio.to_thread(waited, (setup.root / "began").exists)
        coding.agent.interrupt()
        return await run

    assert coding.runner.run(conversation()) == Done("Done.")


def test_an_interruption_ends_a_hook_at_a_prompt_and_sends_nothing(setup):
    setup.hook("prompt", "test -e ../free && exit 0; touch began; exec sleep 600", timeout=500)
    coding = setup.work("Done.")

    async def conversation():
        run = asyncio.create_task(coding.say("Go."))
        await asyncio.to_thread(waited, (setup.root / "began").exists)
        assert coding.interrupt()
        end = await run
        (setup.root.parent / "free").touch()
        assert not coding.interrupt(), "nothing runs"
        return end, await coding.say("Again.")

    interrupted, done = coding.runner.run(conversation())
    assert interrupted.reason == "interrupted"
    assert "was not sent" in interrupted.sentence
    assert done == Done("Done."), "the next run is not interrupted"
    assert "Go." not in str(coding.agent.model.requests)


def test_an_interruption_ends_a_hook_after_a_tool_and_keeps_the_result(setup):
    setup.hook("after_tool", "touch began; exec sleep 600", timeout=500)
    coding = setup.work([READ], "Done.")

    async def conversation():
        run = asyncio.create_task(coding.say("Go."))
        await asyncio.to_thread(waited, (setup.root / "began").exists)
        coding.agent.interrupt()
        return await run

    assert coding.runner.run(conversation()).reason == "interrupted"
    assert "print('old')" in results(coding)[0]


def test_hooks_stand_around_the_calls_of_sub_agents_too(setup):
    setup.hook("before_tool", "cat >> ../told; echo >> ../told; exit 0", match="Read")
    setup.says("before_tool", decision="deny", reason="no", match="Read")
    task = call("Task", "t", description="look", prompt="Look.")
    coding = setup.work([task], [READ], "I could not.", "Done.")
    assert say(coding, "Go.") == [Done("Done.")]
    told = json.loads((setup.folder / "told").read_text())
    assert told["parent"] == coding.session.log.id
    assert told["session"] != told["parent"]
    inner = [one.notice for one in setup.news if isinstance(one, SubAgentNotice)]
    assert [one.text.endswith(" denied Read: no") for one in inner if isinstance(one, HookReported)] == [True]


def test_an_agent_cannot_rewrite_the_hook_that_watches_it(setup):
    (setup.root / "check.sh").write_text("exit 0\n")
    files = ((str(setup.root / "check.sh"), ""),)
    setup.hook("before_tool", "sh check.sh", match="Bash", files=files)
    rewrite = call("Write", "w", path="escape.sh", content="x")
    coding = setup.work([rewrite], [call("Bash", "b", command="true")], "Done.")
    say(coding, "Go.")
    assert "was changed since the session began" in results(coding)[1]
    assert results(coding)[1].startswith("ACCESS_DENIED")


def test_results_are_answers_to_their_calls_whatever_hooks_say(setup):
    setup.says("after_tool", context="noted")
    setup.says("before_tool", context="watched")
    both = [READ, call("LS", "l")]
    coding = setup.work(both, "Done.")
    say(coding, "Go.")
    messages = requests(coding)[-1].messages
    at = next(n for n, m in enumerate(messages) if getattr(m, "calls", ()))
    assert [m.call_id for m in messages[at + 1 : at + 3] if isinstance(m, ToolMessage)] == ["r", "l"]
