"""The coding agent and the web: by a rule a page is read, clipped when it is long, and recalled; else it is not."""

import pytest

from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.spending import measure_spending
from holdfast.events import UsageReported
from holdfast.messages import Text, ToolCall, Usage
from holdfast.models.catalogue import ModelEntry, Price
from holdfast.models.errors import BadReply
from holdfast.models.model import ModelReply, WebSource
from holdfast.tools.permissions.tool_rules import Permissions
from support.coding_sessions import CodingSetup
from support.web_server import Answer, web_server

LONG = "\n".join(f"Line {number} of the manual." for number in range(30_000))


@pytest.fixture
def setup(tmp_path):
    opened = CodingSetup(tmp_path)
    yield opened
    opened.close()


def result_texts(coding):
    requests = coding.agent.model.requests
    return [message.text for message in requests[-1].messages if type(message).__name__ == "ToolMessage"]


def test_a_page_is_fetched_by_a_rule_clipped_and_recalled(setup):
    with web_server(lambda _: Answer(LONG.encode(), "text/plain")) as server:
        rule = f"WebFetch(domain:{server.site}) with private"
        fetch = ToolCall("w1", "WebFetch", {"url": server.url("/manual"), "prompt": "the end"})
        recall = ToolCall("r1", "Recall", {"query": "Line 15123 of the manual"})
        permissions = Permissions().allowing(rule)
        coding = setup.open([fetch], [recall], "Done.", permissions=permissions, mode="plan")
        coding.runner.run(coding.say("Read the manual."))
        page, recalled = result_texts(coding)
        assert "200 OK, text/plain" in page
        assert len(page) < 60_000
        assert "Line 15123 " not in page
        assert "Line 15123 of the manual." in recalled
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("mode", "words"),
    [("plan", "plan mode"), ("ask", "not on the public web"), ("auto", "not on the public web")],
)
def test_without_a_rule_nothing_is_sent(setup, mode, words):
    with web_server(lambda _: Answer(b"secret")) as server:
        fetch = ToolCall("w1", "WebFetch", {"url": server.url("/")})
        coding = setup.open([fetch], "Done.", mode=mode)
        coding.runner.run(coding.say("Read it."))
        (refusal,) = result_texts(coding)
        assert words in refusal
        assert server.requests == []


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_an_address_that_the_rules_cannot_read_is_not_fetched_either(setup, mode):
    """Whatever the gate takes for no address is none for the tool, even where a rule opens the site."""
    with web_server(lambda _: Answer(b"secret")) as server:
        url = server.url("/")
        odd = [
            f" {url}",
            f"{url}\n",
            f"\u2003{url}",
            url.replace("//", "//\t"),
            f"<{url}>",
            url.replace(":", " :"),
        ]
        calls = [ToolCall(f"w{n}", "WebFetch", {"url": one}) for n, one in enumerate(odd)]
        port = server.site.partition(":")[2]
        permissions = Permissions().allowing(f"WebFetch(domain:{server.site}) with private")
        permissions = permissions.adding("deny", f"WebFetch(domain:127.0.0.1:{port})", "here")
        coding = setup.open(calls, "Done.", mode=mode, permissions=permissions)
        coding.runner.run(coding.say("Read it."))
        assert len(result_texts(coding)) == len(odd)
        assert not any("200 OK" in text for text in result_texts(coding))
        assert server.requests == []


def test_with_nobody_there_a_public_page_is_refused_with_the_rule_that_would_allow_it(setup):
    coding = setup.open([ToolCall("w1", "WebFetch", {"url": "https://example.com/"})], "Done.", mode="edit")
    coding.runner.run(coding.say("Read it."))
    (refusal,) = result_texts(coding)
    assert "`WebFetch(domain:example.com)` would allow it" in refusal


ENTRY = ModelEntry(
    name="scripted/model", price=Price(input=1.0, output=1.0), search="web_search", search_price=10.0
)
SEARCH = ToolCall("s1", "WebSearch", {"query": "msgspec release"})
FOUND = ModelReply(
    parts=(Text("It is "), Text("0.22.")),
    stop="end",
    usage=Usage(1_000_000, searches=2),
    sources=(WebSource("https://a.example/", "A"),),
)


def searching(setup, *replies, entry=ENTRY, **more):
    return setup.open(*replies, request_settings=RequestSettings(entry=entry), **more)


def test_a_search_is_a_request_of_its_own_that_is_billed_and_stays_out_of_the_conversation(setup):
    coding = searching(setup, [SEARCH], FOUND, "Done.")
    coding.runner.run(coding.say("Which release?"))
    begin, search, last = coding.agent.model.requests
    assert "WebSearch" in {tool.name for tool in begin.tools}
    assert search.searches == 5
    assert search.tools == ()
    assert "msgspec release" in str(search.messages[-1])
    assert "Which release?" not in str(search.messages)
    assert last.searches == 0
    (result,) = result_texts(coding)
    assert "It is 0.22." in result
    assert "- A: https://a.example/" in result
    assert "is data from the web" in result
    entries = coding.session.log.entries()
    (paid,) = [entry.event for entry in entries if isinstance(entry.event, UsageReported)]
    assert (paid.purpose, paid.usage.searches) == ("search", 2)
    dollars = measure_spending(list(entries), lambda _: ENTRY).total.dollars
    assert dollars == pytest.approx(coding.agent.budget.spent.dollars)
    assert dollars > 1.02


def test_a_search_that_fails_is_an_error_that_the_model_reads(setup):
    coding = searching(setup, [SEARCH], BadReply("the provider is overloaded"), "Done.")
    coding.runner.run(coding.say("Which release?"))
    (result,) = result_texts(coding)
    assert "the search failed: the provider is overloaded" in result


def test_without_a_search_tool_of_the_provider_there_is_none(setup):
    coding = searching(setup, "Done.", entry=ModelEntry(name="scripted/model"))
    coding.runner.run(coding.say("Hello."))
    (request,) = coding.agent.model.requests
    assert {tool.name for tool in request.tools} & {"WebSearch", "WebFetch"} == {"WebFetch"}


def test_in_plan_mode_a_search_needs_a_rule(setup):
    coding = searching(setup, [SEARCH], "Done.", mode="plan")
    coding.runner.run(coding.say("Which release?"))
    (refusal,) = result_texts(coding)
    assert "the rule `WebSearch` would allow it" in refusal
    allowed = searching(
        setup,
        [SEARCH],
        FOUND,
        "Done.",
        mode="plan",
        log="other",
        permissions=Permissions().allowing("WebSearch"),
    )
    allowed.runner.run(allowed.say("Which release?"))
    assert "It is 0.22." in result_texts(allowed)[0]
