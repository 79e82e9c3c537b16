"""`holdfast run` with MCP servers that do not start: the person is told, in every form of output."""

import pytest
from command_line import holdfast

from holdfast.agents.coding import coding_session
from support.agent_runs import Ran, call, environment, repository, says
from support.provider_server import serving

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

WAITS = "while [ ! -e go ]; do sleep 0.05; done; echo it is broken >&2; exit 3"
FORMS = [[], ["--json"], ["--stream-json"]]


def ran(tmp_path, monkeypatch, command, *answers, options=()):
    """A run in this process, with a server that runs this command."""
    root = repository(
        tmp_path,
        more=f'[mcp.servers.sample]\ncommand = "sh"\nargs = ["-c", "{command}"]\nstop_seconds = 0.2\n',
    )
    monkeypatch.chdir(root)
    for name, value in environment(root).items():
        monkeypatch.setenv(name, value)
    with serving(*answers) as server:
        name = f"compatible/test@{server.openai_url}"
        given = ("--model", name, "--sandbox", "off", "--mode", "auto", "--trust", "-p", "Go.", *options)
        done = holdfast("run", *given)
    assert done.code == 0, done.err
    return Ran(done.code, done.out, done.err.encode())


def told(done, options, place):
    """What the person is told of servers at the beginning or at the end of a run."""
    notes = done.lines[place]["notes"] if "--stream-json" in options else done.err.splitlines()
    return [note.removeprefix("warning: ") for note in notes if "MCP server" in note]


@pytest.mark.parametrize("options", FORMS, ids=["text", "json", "stream"])
def test_a_server_that_fails_at_once(tmp_path, monkeypatch, options):
    monkeypatch.setattr(coding_session, "SERVER_SECONDS", 60.0)
    done = ran(tmp_path, monkeypatch, "echo it is broken >&2; exit 3", says("Hi."), options=options)
    (note,) = told(done, options, 0)
    assert note.startswith("the MCP server `sample` cannot be used: its process ended with exit code 3")
    assert "it is broken" in note


@pytest.mark.parametrize("options", FORMS, ids=["text", "json", "stream"])
def test_a_server_that_does_not_answer(tmp_path, monkeypatch, options):
    monkeypatch.setattr(coding_session, "SERVER_SECONDS", 0.1)
    done = ran(tmp_path, monkeypatch, "sleep 600", says("Hi."), options=options)
    assert told(done, options, 0) == [
        "the MCP server `sample` did not start within 0.1 s; its tools can be used once it has"
    ]


@pytest.mark.parametrize("options", FORMS, ids=["text", "json", "stream"])
def test_a_server_that_fails_later(tmp_path, monkeypatch, options):
    monkeypatch.setattr(coding_session, "SERVER_SECONDS", 0.1)
    # McpDescribe waits until it is known whether the server can be used.
    asks = says(call("Bash", "b", command="touch go"), call("McpDescribe", "d"))
    done = ran(tmp_path, monkeypatch, WAITS, asks, says("Hi."), options=options)
    note = told(done, options, -1)[-1]
    assert note.startswith("the MCP server `sample` cannot be used: its process ended with exit code 3")
    if options == ["--json"]:
        assert done.json["notes"] == [note]
