"""MCP servers at an address: a real one, and some that answer wrongly, for ever, or no more."""

import asyncio

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from holdfast.messages import ToolCall
from holdfast.tools.breaker import BreakerRules
from holdfast.tools.mcp.client import McpServers, McpSettings
from holdfast.tools.mcp.server_config import HttpServer
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace
from support.mcp_web import hostile_address, web_server


@pytest.fixture
def workspace(tmp_path):
    return Workspace([tmp_path])


async def asked(toolbox, *calls):
    return await toolbox.run_calls(
        [ToolCall(str(n), name, arguments) for n, (name, arguments) in enumerate(calls)]
    )


def run(server, workspace, *calls, environment=None, settings=None):
    """Connect, call, close: the results, and why the server cannot be used at the end."""

    async def scenario():
        async with McpServers({"h": server}, environment=environment or {}, settings=settings) as servers:
            await servers.ready(60)
            results = await asked(Toolbox(servers.tools(), workspace), *calls)
            return results, servers.troubles

    return asyncio.run(scenario())


ECHO = ("mcp__h__echo", {})


@pytest.mark.slow
def test_a_server_at_an_address_that_goes_away_and_comes_back(workspace):
    async def scenario():
        with web_server() as port:
            server = HttpServer(f"http://127.0.0.1:{port}/mcp", call_seconds=10.0)
            servers = McpServers({"w": server})
            servers.start()
            await servers.ready(60)
            toolbox = Toolbox(servers.tools(), workspace)
            results = await asked(toolbox, ("mcp__w__add", {"a": 1, "b": 1}))
        results += await asked(toolbox, *[("mcp__w__add", {"a": 2, "b": 2})] * 2)
        with web_server(port):
            results += await asked(toolbox, ("mcp__w__add", {"a": 3, "b": 3}))
            await servers.close()
        return results

    before, lost, gone, after = asyncio.run(scenario())
    assert before.envelope.text == "2"
    assert "Whether it did what was asked is uncertain" in lost.envelope.text
    assert "cannot be used: ConnectError" in gone.envelope.text
    assert after.envelope.text == "6"


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("silent", "it did not answer within 0.5 s when it was started"),
        ("html", "text/html"),
        ("error", "it answered with HTTP 500 Internal Server Error"),
        ("forbidden", "it answered with HTTP 401 Unauthorized"),
        ("no json", "JSON"),
        ("packed", "it compresses its answers with `gzip`"),
        ("endless", "the answer is longer than 16777216 bytes"),
    ],
)
def test_an_address_that_speaks_no_mcp_costs_no_more_than_its_time(workspace, mode, reason):
    with hostile_address(mode) as url:
        server = HttpServer(url, start_seconds=0.5 if mode == "silent" else 10.0, call_seconds=10.0)
        (described,), troubles = run(server, workspace, ("McpDescribe", {}))
    assert "The server `h` is not there: " in described.envelope.text
    assert reason in troubles["h"]
    assert reason in described.envelope.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("html", "text/html"),
        ("error", "cannot be used: it answered with HTTP 500 Internal Server Error"),
        ("forbidden", "cannot be used: it answered with HTTP 401 Unauthorized"),
        ("no json", "JSON"),
        ("packed", "cannot be used: it compresses its answers with `gzip`"),
        ("endless", "the answer is longer than 16777216 bytes"),
        ("endless event", "SSE"),
        ("events", "cannot be used: it sends messages without end"),
        ("questions", "cannot be used: it asked 1001 questions and did not take the answers"),
    ],
)
def test_an_address_that_breaks_in_the_middle_of_a_call_is_a_failed_call(workspace, mode, reason):
    with hostile_address(f"call: {mode}") as url:
        (result,), _ = run(HttpServer(url, start_seconds=10.0, call_seconds=20.0), workspace, ECHO)
    assert result.envelope.error.code == "EXECUTION_ERROR"
    assert reason in result.envelope.text
    assert "Whether it did what was asked is uncertain" in result.envelope.text


def test_an_address_that_falls_silent_is_left_after_its_time(workspace):
    with hostile_address("call: silent") as url:
        (result,), _ = run(HttpServer(url, start_seconds=10.0, call_seconds=0.3), workspace, ECHO)
    assert result.envelope.error.code == "TIMEOUT"


def test_an_address_that_keeps_failing_is_left_alone(workspace):
    settings = McpSettings(breaker=BreakerRules(failures=2, pause=60.0))
    with hostile_address("call: error") as url:
        results, _ = run(HttpServer(url), workspace, ECHO, ECHO, ECHO, settings=settings)
    assert [result.envelope.error.code for result in results] == [
        "EXECUTION_ERROR",
        "EXECUTION_ERROR",
        "CIRCUIT_OPEN",
    ]
    assert "HTTP 500" in results[2].envelope.text


def test_an_event_may_be_as_large_as_a_body(workspace):
    with hostile_address("call: large event") as url:
        (result,), _ = run(HttpServer(url), workspace, ECHO)
    assert result.envelope.data["chars"] == 2_000_000


def test_headers_are_filled_from_variables_and_a_missing_one_is_named(workspace):
    with hostile_address("call: header") as url:
        server = HttpServer(url, {"Authorization": "Bearer ${THE_TOKEN}"})
        (result,), _ = run(server, workspace, ECHO, environment={"THE_TOKEN": "t0ken"})
        (missing,), troubles = run(server, workspace, ("McpDescribe", {}), environment={"OTHER": "x"})
    assert result.envelope.text == "Bearer t0ken"
    assert "the MCP server `h` needs the variable `THE_TOKEN`, which is not set" in troubles["h"]
    assert "THE_TOKEN" in missing.envelope.text
