"""Rules that a person approved for good: kept by project, shared between agents, never obeyed when broken."""

import asyncio
import threading

import pytest

from holdfast.agents.approved_rules import FILE, approve_rule, approved_rules, forget_rule
from holdfast.messages import ToolCall
from holdfast.tools.permissions.decision import CallContext
from holdfast.tools.permissions.gate import ApprovalAnswer, PermissionGate, RulePlace
from holdfast.tools.permissions.tool_rules import Permissions


def test_rules_belong_to_a_project(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for rule in ("Bash(b)", "Bash(a 'x\ny')", "Bash(b)"):
        approve_rule(tmp_path, one, rule)
    assert approved_rules(tmp_path, one) == ["Bash(b)", "Bash(a 'x\ny')"]
    assert approved_rules(tmp_path, other) == []
    approve_rule(tmp_path, one, "Edit(src/**)")
    assert approved_rules(tmp_path, one / "sub") == ["Bash(b)", "Bash(a 'x\ny')"], "paths start at the folder"
    assert forget_rule(tmp_path, one, "Edit(src/**)")
    assert not forget_rule(tmp_path, other, "Bash(b)")
    assert forget_rule(tmp_path, one, "Bash(b)")
    assert approved_rules(tmp_path, one) == ["Bash(a 'x\ny')"]
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_no_rule_is_kept_or_read_where_an_agent_could_write_it(tmp_path):
    inside = tmp_path / ".config" / "holdfast"
    with pytest.raises(OSError, match="lies in the workspace"):
        approve_rule(inside, tmp_path, "Bash(a)")
    approve_rule(inside, tmp_path / "project", "Bash(a)")
    planted = (inside / FILE).read_text().replace("/project", "")
    (inside / FILE).write_text(planted)
    assert approved_rules(inside, tmp_path) == []


def test_a_broken_line_is_skipped(tmp_path):
    (tmp_path / FILE).write_bytes(b'{"root": "/x"\n\xff\n[]\n{"root": "/x", "allow": "Bash(a)"}\n')
    assert approved_rules(tmp_path, tmp_path.__class__("/x")) == ["Bash(a)"]


def test_agents_at_once_lose_nothing(tmp_path):
    root = tmp_path / "project"

    def work(number):
        for at in range(20):
            approve_rule(tmp_path, root, f"Bash(make {number}-{at})")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(approved_rules(tmp_path, root)) == 80


class Always:
    async def approve(self, question):  # noqa: ARG002 - the protocol's
        return ApprovalAnswer("pattern")


class Keeper:
    def __init__(self, keep):
        self.keep = keep

    def places(self, _rules):
        return (RulePlace("folder", "a file"),)


def check(keep):
    gate = PermissionGate(Permissions(), Always(), keeper=Keeper(keep))
    call = ToolCall("c1", "Bash", {"command": "npm install x", "access": "network"})
    return asyncio.run(gate.check(call, CallContext(sandbox="holds")))


def test_an_answer_for_good_is_kept_with_the_access_it_was_about():
    kept = []
    passed = check(lambda rules, place: kept.append((rules, place)))
    assert passed.refusal is None
    assert passed.access == "network"
    assert kept == [(("Bash(npm install:*) with network",), "folder")]


def test_a_rule_that_cannot_be_kept_holds_in_this_log():
    def fails(_rules, _place):
        raise OSError("the disk is full")

    passed = check(fails)
    assert passed.refusal is None
    assert passed.event is not None
    assert passed.event.reason == "in this log only, since the rule cannot be kept: the disk is full"
