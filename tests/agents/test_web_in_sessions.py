"""The coding agent and the web: by a rule a page is read, clipped when it is long, and recalled; else it is not."""

import pytest

from holdfast.messages import ToolCall
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


def test_with_nobody_there_a_public_page_is_refused_with_the_rule_that_would_allow_it(setup):
    coding = setup.open([ToolCall("w1", "WebFetch", {"url": "https://example.com/"})], "Done.", mode="edit")
    coding.runner.run(coding.say("Read it."))
    (refusal,) = result_texts(coding)
    assert "`WebFetch(domain:example.com)` would allow it" in refusal
