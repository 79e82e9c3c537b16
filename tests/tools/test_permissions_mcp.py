"""Tools of MCP servers that are called by name through McpCall are judged as what they are."""

import pytest

from holdfast.messages import ToolCall
from holdfast.tools.permissions.decision import CallContext, decide
from holdfast.tools.permissions.gate import session_scope
from holdfast.tools.permissions.tool_rules import Permissions, parse_permissions, parse_tool_rule

SCENE = CallContext()
MODES = ("plan", "ask", "edit", "auto")


def rules(tools=(), **lists):
    return parse_permissions(lists, "holdfast.toml", tools=tools)


def by_name(tool):
    return ToolCall("c1", "McpCall", {"name": tool, "arguments": {"x": 1}})


def direct(tool):
    return ToolCall("c1", tool, {"x": 1})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "lists",
    [
        {},
        {"deny": ["mcp__git__push"]},
        {"deny": ["mcp__git"]},
        {"deny": ["mcp__git__*"]},
        {"ask": ["mcp__git__push"]},
        {"allow": ["mcp__git__push"]},
        {"allow": ["mcp__git"], "ask": ["mcp__git__push"]},
        {"allow": ["mcp__git__push"], "deny": ["mcp__other"]},
        {"allow": ["mcp__other__push"]},
    ],
    ids=["none", "deny", "server", "star", "ask", "allow", "both", "beside", "other"],
)
def test_the_way_by_name_is_judged_like_the_direct_one(mode, lists):
    wanted = decide(direct("mcp__git__push"), mode, rules(**lists), SCENE)
    assert decide(by_name("mcp__git__push"), mode, rules(**lists), SCENE) == wanted


def test_one_allowed_tool_does_not_open_the_way_to_the_others():
    allowed = rules(allow=["mcp__git__log"])
    assert decide(by_name("mcp__git__log"), "ask", allowed, SCENE).verdict == "allow"
    asked = decide(by_name("mcp__git__push"), "ask", allowed, SCENE)
    assert (asked.verdict, asked.offered_rules) == ("ask", ("mcp__git__push",))
    assert "mcp__git__push may change something" in asked.reason
    assert parse_tool_rule(asked.offered_rules[0], "here").matches("mcp__git__push", "")


def test_a_rule_for_mcp_call_itself_holds_for_all_that_go_through_it():
    call = by_name("mcp__git__push")
    tools = ("McpCall",)
    assert decide(call, "auto", rules(tools, deny=["McpCall"], allow=["mcp__git"]), SCENE).verdict == "deny"
    assert decide(call, "auto", rules(tools, ask=["McpCall"], allow=["mcp__git"]), SCENE).verdict == "ask"
    assert decide(call, "ask", rules(tools, allow=["McpCall"], deny=["mcp__git"]), SCENE).verdict == "deny"
    assert decide(direct("mcp__git__push"), "auto", rules(tools, deny=["McpCall"]), SCENE).verdict == "allow"


@pytest.mark.parametrize("name", ["Read", "TodoWrite", "Bash", "McpCall", "", 7, None, ["mcp__a__b"]])
def test_no_name_turns_a_call_of_a_server_into_something_harmless(name):
    decision = decide(ToolCall("c1", "McpCall", {"name": name}), "ask", Permissions(), SCENE)
    assert (decision.verdict, decision.offered_rules) == ("ask", ())
    assert decide(ToolCall("c1", "McpCall", {"name": name}), "plan", Permissions(), SCENE).verdict == "deny"


def test_only_mcp_call_calls_another_tool():
    deny = rules(deny=["mcp__git"])
    call = ToolCall("c1", "TodoWrite", {"name": "mcp__git__push"})
    assert decide(call, "ask", deny, SCENE).verdict == "allow"


def test_an_answer_for_the_whole_log_is_for_that_tool_alone():
    calls = [ToolCall(str(n), "McpCall", {"name": name}) for n, name in enumerate(["mcp__a__x", "mcp__a__y"])]
    assert [session_scope(call) for call in calls] == ["mcp__a__x", "mcp__a__y"]
