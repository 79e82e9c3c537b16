"""What may be fetched from the web: asked by domain, in plan mode only by a rule, and never what is private."""

import asyncio

import pytest

from holdfast.errors import ConfigError
from holdfast.messages import ToolCall
from holdfast.tools.permissions.decision import CallContext, decide
from holdfast.tools.permissions.gate import (
    ApprovalAnswer,
    PermissionGate,
    UnattendedApprover,
    call_context,
    session_scope,
)
from holdfast.tools.permissions.tool_rules import Permissions, parse_permissions, parse_tool_rule
from holdfast.tools.workspace import Workspace

MODES = ("plan", "ask", "edit", "auto")
PLAN, ASK, EDIT, AUTO = MODES
SEARCH = ToolCall("s1", "WebSearch", {"query": "msgspec structs"})


def page(url="https://example.com/a"):
    return ToolCall("c1", "WebFetch", {"url": url})


def rules(**lists):
    return parse_permissions(lists, "holdfast.toml")


def decided(call, mode=ASK, permissions=None):
    context = call_context(call, Workspace([]), ".", is_read_only=True)
    return decide(call, mode, permissions or Permissions(), context)


@pytest.mark.parametrize("call", [page(), SEARCH], ids=["page", "search"])
def test_the_web_is_asked_about_except_in_auto_mode_and_closed_in_plan_mode(call):
    assert [decided(call, mode).verdict for mode in MODES] == ["deny", "ask", "ask", "allow"]
    rule = "WebFetch(domain:example.com)" if call.name == "WebFetch" else "WebSearch"
    assert rule in decided(call, PLAN).reason
    assert decided(call).offered_rules == (rule,)
    mine = Permissions().allowing(rule)
    assert {decided(call, mode, mine).verdict for mode in MODES} == {"allow"}


def test_deny_beats_ask_beats_allow():
    allow = ["WebFetch(domain:example.com)"]
    for lists, wanted in (
        ({"allow": allow, "ask": ["WebFetch"]}, "ask"),
        ({"allow": allow, "deny": ["WebFetch(domain:example.com)"]}, "deny"),
        ({"allow": ["WebFetch"], "deny": ["WebFetch(domain:*.example.com)"]}, "allow"),
    ):
        for mode in MODES:
            assert decided(page(), mode, rules(**lists)).verdict == wanted


@pytest.mark.parametrize(
    ("rule", "hits", "misses"),
    [
        (
            "domain:example.com",
            ["example.com", "example.com:8443"],
            ["a.example.com", "example.com.evil.org"],
        ),
        ("domain:example.com:8443", ["example.com:8443"], ["example.com", "example.com:84430"]),
        ("domain:*.example.com", ["a.example.com", "a.b.example.com:1"], ["example.com", "aexample.com"]),
        ("domain:*", ["example.com", "[2606:4700::1]:80"], []),
        ("domain:[::1]", ["[::1]", "[::1]:80"], ["[::2]"]),
        ("domain:Example.com", ["example.com"], ["exampleXcom"]),
        ("domain:example.com.", ["example.com"], ["example.com.evil.org"]),
        ("domain:bücher.example", ["xn--bcher-kva.example"], ["bucher.example"]),
        ("domain:*.bücher.example", ["a.xn--bcher-kva.example:1"], ["xn--bcher-kva.example"]),
        ("domain:example.com:443", ["example.com", "example.com:443"], ["example.com:4433"]),
        ("domain:[::0001]:80", ["[::1]", "[::1]:80"], ["[::1]:81"]),
        ("domain:0x7f.1", ["127.0.0.1"], ["0x7f.1"]),
    ],
)
def test_which_sites_a_rule_means(rule, hits, misses):
    parsed = parse_tool_rule(f"WebFetch({rule})", "here")
    assert all(parsed.matches("WebFetch", site) for site in hits)
    assert not any(parsed.matches("WebFetch", site) for site in misses)
    assert not parsed.matches("WebSearch", hits[0])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("WebFetch(example.com)", "names no domain"),
        ("WebFetch(domain:https://example.com)", "names no domain"),
        ("WebFetch(domain:a*b)", "names no domain"),
        ("WebFetch()", "names no domain"),
        ("WebFetch(domain:-)", "names no domain"),
        ("WebFetch with private", "names no domain"),
        ("WebFetch(domain:*) with private", "needs the name of one host"),
        ("WebFetch(domain:*.corp) with private", "needs the name of one host"),
        ("WebSearch(python)", "take no pattern"),
        ("Read(src/**) with private", "only rules for WebFetch"),
    ],
)
def test_a_rule_that_cannot_be_read_is_an_error(rule, message):
    with pytest.raises(ConfigError, match=message):
        parse_tool_rule(rule, "here")


@pytest.mark.parametrize(
    "url", ["http://localhost:8000/", "http://127.0.0.1/", "http://[::1]:1/", "http://10.0.0.9/"]
)
def test_what_is_private_needs_a_rule_that_says_so(url):
    site = call_context(page(url), Workspace([]), ".", is_read_only=True).path
    for mode in MODES:
        for allowed in (Permissions(), rules(allow=["WebFetch"]), rules(allow=[f"WebFetch(domain:{site})"])):
            decision = decided(page(url), mode, allowed)
            assert (decision.verdict, decision.offered_rules) == ("deny", ())
        mine = Permissions().allowing(f"WebFetch(domain:{site}) with private", "--allow")
        assert decided(page(url), mode, mine).verdict == "allow"
        assert mine.may_reach(site)
        assert not mine.may_reach("example.com")
    assert "with private" in decided(page(url), ASK).reason


@pytest.mark.parametrize("blank", [" ", "\n", "\u2003", "\x1c", "\x85"])
def test_blanks_around_an_address_get_around_no_rule(blank):
    for url in (f"{blank}https://example.com/", f"https://example.com/{blank}"):
        assert decided(page(url), "plan").verdict == "deny"
        assert decided(page(url), "ask").verdict == "ask"
        assert decided(page(url), "auto", rules(deny=["WebFetch(domain:example.com)"])).verdict == "deny"


def test_an_address_that_cannot_be_read_is_left_to_the_tool():
    for mode in MODES:
        assert decided(page("file:///etc/passwd"), mode).verdict == "allow"


def test_an_answer_for_the_session_holds_for_the_domain():
    assert session_scope(page()) == session_scope(page("https://EXAMPLE.com/b?c"))
    assert session_scope(page()) != session_scope(page("https://example.org/"))

    class Person:
        questions = 0

        async def approve(self, question):
            self.questions += 1
            assert question.offered_rules == ("WebFetch(domain:example.com)",)
            return ApprovalAnswer("log")

    person = Person()
    gate = PermissionGate(Permissions(), person)

    async def ask_twice():
        for number in range(2):
            call = ToolCall(f"c{number}", "WebFetch", {"url": f"https://example.com/{number}"})
            context = call_context(call, Workspace([]), ".", is_read_only=True)
            assert (await gate.check(call, context)).refusal is None

    asyncio.run(ask_twice())
    assert person.questions == 1


def test_nobody_there_means_no_and_the_rule_is_named():
    gate = PermissionGate(Permissions(), UnattendedApprover())
    checked = asyncio.run(gate.check(page(), CallContext("example.com", is_read_only=True)))
    text = checked.refusal.envelope.text
    assert "the rule `WebFetch(domain:example.com)` would allow it" in text
    assert "nobody is there" in text
