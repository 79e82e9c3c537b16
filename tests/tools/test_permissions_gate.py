"""The gate: whom it asks, what it remembers, and what the model reads of a refusal."""

import asyncio
import subprocess

import pytest

from holdfast.compaction.facts.call_results import outcome_of
from holdfast.events import ApprovalGiven
from holdfast.messages import Text, ToolCall, ToolMessage
from holdfast.tool_use import recognize_tool
from holdfast.tools.permissions.decision import CallContext
from holdfast.tools.permissions.gate import ApprovalAnswer, PermissionGate, UnattendedApprover, call_context
from holdfast.tools.permissions.tool_rules import Permissions, parse_permissions
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace

ROOT = "/srv/project"


class Person:
    """Answers from a list, and keeps what was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.questions = []

    async def approve(self, question):
        self.questions.append(question)
        return self.answers.pop(0)


def bash(command, call="c1"):
    return ToolCall(call, "Bash", {"command": command})


def check(gate, call):
    path = call.arguments.get("path", "")
    return asyncio.run(gate.check(call, CallContext(path, call.name == "Read")))


def test_what_is_allowed_is_not_asked_about_and_leaves_no_event():
    person = Person()
    passage = check(PermissionGate(Permissions(), person), bash("git show HEAD"))
    assert (passage.refusal is None, passage.event, person.questions) == (True, None, [])


def test_once_is_once():
    person = Person(ApprovalAnswer("once"), ApprovalAnswer("once"))
    gate = PermissionGate(Permissions(), person)
    first = check(gate, bash("npm test"))
    assert first.refusal is None
    assert first.event == ApprovalGiven("c1", "once")
    check(gate, bash("npm test", "c2"))
    assert len(person.questions) == 2


def test_for_this_log_means_the_same_again():
    person = Person(ApprovalAnswer("log"), ApprovalAnswer("once"))
    gate = PermissionGate(Permissions(), person)
    event = check(gate, bash("npm test && npm run lint")).event
    assert event == ApprovalGiven("c1", "log", "Bash(npm test && npm run lint)")
    assert check(gate, bash("npm test && npm run lint", "c2")).refusal is None
    assert len(person.questions) == 1
    check(gate, bash("npm test", "c3"))
    assert len(person.questions) == 2


def test_a_pattern_covers_its_like_and_nothing_more():
    person = Person(ApprovalAnswer("pattern"), ApprovalAnswer("deny"), ApprovalAnswer("deny"))
    gate = PermissionGate(Permissions(), person)
    event = check(gate, bash("npm install a")).event
    assert event == ApprovalGiven("c1", "pattern", "Bash(npm install:*)")
    assert check(gate, bash("npm install b", "c2")).event is None
    assert check(gate, bash("npm publish", "c3")).refusal
    assert check(gate, bash("npm install b && rm -rf /", "c4")).refusal
    assert len(person.questions) == 3


def test_a_pattern_that_was_not_offered_is_no_rule():
    gate = PermissionGate(Permissions(), Person(ApprovalAnswer("pattern")))
    assert check(gate, bash("npm a && npm $b")).event == ApprovalGiven("c1", "once")


def test_a_command_of_parts_is_allowed_for_good_by_a_rule_for_each():
    person = Person(ApprovalAnswer("pattern"), ApprovalAnswer("deny"))
    gate = PermissionGate(Permissions(), person)
    event = check(gate, bash("npm run build && npm test 2>&1 | tail -5")).event
    assert event is not None
    assert event.rules == ("Bash(npm run build:*)", "Bash(npm test:*)")
    later = PermissionGate(Permissions(), Person(ApprovalAnswer("deny")))
    later.restore(event)
    for one in (gate, later):
        assert check(one, bash("npm test -- -v && npm run build", "c3")).refusal is None
        assert check(one, bash("npm publish", "c4")).refusal


def test_the_question_says_why_and_what_would_allow_it():
    person = Person(ApprovalAnswer("deny", "not now"), ApprovalAnswer("deny"))
    gate = PermissionGate(Permissions(), person)
    check(gate, bash("ls; npm install a"))
    check(gate, bash("ls; npm install a", "c2"))
    first, second = person.questions
    assert first.reason == "`npm install` is not known to only read"
    assert (first.denied_before, second.denied_before) == ("", "not now")


def test_the_model_reads_a_persons_denial_and_its_reason():
    gate = PermissionGate(Permissions(), Person(ApprovalAnswer("deny", "use uv instead")))
    call = bash("pip install x")
    passage = check(gate, call)
    assert passage.event == ApprovalGiven("c1", "deny", "", "use uv instead")
    assert passage.refusal is not None
    envelope = passage.refusal.envelope
    assert envelope.error is not None
    assert envelope.error.code == "ACCESS_DENIED"
    assert "use uv instead" in envelope.text
    result = ToolMessage("c1", "Bash", (Text(envelope.text),), True)
    outcome = outcome_of(recognize_tool(call), result, envelope.text)
    assert outcome.is_refused
    assert outcome.line == "use uv instead"


def test_a_rule_denies_without_asking_and_says_which():
    permissions = parse_permissions({"deny": ["Bash(git push:*)", "Edit(docs/**)"]}, "holdfast.toml")
    person = Person()
    gate = PermissionGate(permissions, person, mode="auto")
    refused = check(gate, bash("git add . && git push origin main"))
    assert refused.refusal is not None
    assert "the rule `Bash(git push:*)` denies it" in refused.refusal.envelope.text
    assert "(`git push origin main`)" in refused.refusal.envelope.text
    edit = check(gate, ToolCall("c2", "Edit", {"path": "docs/a.md"}))
    assert edit.event == ApprovalGiven("c2", "deny", "Edit(docs/**)", "the rule `Edit(docs/**)` denies it")
    assert person.questions == []


def test_plan_mode_is_said_to_the_model():
    passage = check(
        PermissionGate(Permissions(), Person(), mode="plan"), ToolCall("c1", "Write", {"path": "a"})
    )
    assert passage.refusal is not None
    assert passage.refusal.envelope.text.startswith("ACCESS_DENIED: Write was not run: this is plan mode")


def test_answers_survive_a_resume():
    person = Person(
        ApprovalAnswer("pattern"), ApprovalAnswer("log"), ApprovalAnswer("deny", "no"), ApprovalAnswer("once")
    )
    calls = [bash("npm install a", "c1"), bash("make x", "c2"), bash("make y", "c3"), bash("make z", "c4")]
    gate = PermissionGate(Permissions(), person)
    events = [check(gate, call).event for call in calls]
    later = Person(ApprovalAnswer("once"))
    resumed = PermissionGate(Permissions(), later)
    for event, call in zip(events, calls, strict=True):
        resumed.restore(event, call)
    # The very calls: their answers stand, also where the process died between answer and result.
    passages = [check(resumed, call) for call in calls]
    assert [passage.refusal is None for passage in passages] == [True, True, False, True]
    assert passages[2].refusal is not None
    assert "the user said: no" in passages[2].refusal.envelope.text
    # Their like.
    assert check(resumed, bash("npm install b", "d1")).refusal is None
    assert check(resumed, bash("make x", "d2")).refusal is None
    assert later.questions == []
    check(resumed, bash("make y", "d3"))
    assert later.questions[0].denied_before == "no"


def test_a_denial_by_rule_stays_one_after_a_resume():
    gate = PermissionGate(Permissions(), UnattendedApprover())
    denied = check(PermissionGate(Permissions(), Person(), mode="plan"), bash("rm -rf /"))
    refused = check(gate, bash("npm test", "c2"))
    resumed = PermissionGate(Permissions(), Person())
    for passage in (denied, refused):
        resumed.restore(passage.event)
    for call in (bash("rm -rf /"), bash("npm test", "c2")):
        again = check(resumed, call)
        assert again.refusal is not None
        assert "The user" not in again.refusal.envelope.text


def test_a_pattern_of_another_version_is_asked_again():
    gate = PermissionGate(Permissions(), Person(ApprovalAnswer("deny")))
    gate.restore(ApprovalGiven("c0", "pattern", "Bash(a | b)"))
    gate.restore(ApprovalGiven("c0", "pattern", "Nonesuch(x)"))
    assert check(gate, bash("npm test")).refusal


def test_nobody_there_denies_what_no_rule_allows():
    strict = check(PermissionGate(Permissions(), UnattendedApprover()), bash("npm install x"))
    assert strict.refusal is not None
    text = strict.refusal.envelope.text
    assert (
        "the rule `Bash(npm install:*)` would allow it; nobody is there to approve it: `npm install`" in text
    )
    assert strict.event is not None
    assert strict.event.rule == "unattended"
    by_rule = parse_permissions({"allow": ["Bash(npm install:*)"]}, "x")
    assert check(PermissionGate(by_rule, UnattendedApprover()), bash("npm install x")).refusal is None


def test_gate_and_shell_together(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "sub").mkdir()
    workspace = Workspace([tmp_path])

    async def call(gate, shell, command):
        asked = bash(command, command)
        passage = await gate.check(asked, call_context(asked, workspace, shell.cwd, is_read_only=False))
        return passage.refusal or await bash_tool(shell).run(asked.arguments, workspace)

    with Shell() as shell:
        gate = PermissionGate(Permissions(), UnattendedApprover(), mode="edit")
        texts = [
            asyncio.run(call(gate, shell, command)).envelope.text
            for command in ("git status --short", "ls", "cat a", "rm -rf ../../y")
        ]
    assert texts[0] == "Exit code: 0\n(no output)"
    assert texts[1] == "Exit code: 0\nsub"
    assert texts[2].startswith("Exit code: 1")
    assert texts[3].startswith("ACCESS_DENIED: Bash was not run")


@pytest.mark.parametrize("name", ["Edit", "mcp__x__y"], ids=str)
def test_for_this_log_means_this_file_or_this_tool(name):
    person = Person(ApprovalAnswer("log"), ApprovalAnswer("deny"))
    gate = PermissionGate(Permissions(), person)
    check(gate, ToolCall("c1", name, {"path": "a.py", "old": "x"}))
    assert check(gate, ToolCall("c2", name, {"path": "a.py", "old": "y"})).refusal is None
    assert bool(check(gate, ToolCall("c3", name, {"path": "b.py"})).refusal) == (name == "Edit")
