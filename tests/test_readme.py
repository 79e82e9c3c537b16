"""The README's Python, run as it stands: with the real OpenAI client, against a server on loopback."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import holdfast
from holdfast.messages import Text, ToolCall
from support.provider_server import Script, serving

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
RECORDINGS = ROOT / "examples" / "recordings"
BASH = {
    "type": "function",
    "function": {
        "name": "Bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {}},
    },
}


@contextmanager
def chat_server(monkeypatch: pytest.MonkeyPatch, *replies: dict) -> Iterator[list[dict]]:
    """A server that gives these replies one after the other, and the requests it was sent."""
    asked: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            choice = {"index": 0, "finish_reason": "stop", "message": replies[len(asked) - 1]}
            reply = {
                "id": "r",
                "object": "chat.completion",
                "created": 0,
                "model": "test",
                "choices": [choice],
            }
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "a key for loopback")
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()


def said(text: str) -> dict:
    return {"role": "assistant", "content": text}


def called(name: str, **arguments: object) -> dict:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{name}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_there_are_three_examples_within_their_length():
    lengths = [len([x for x in block.splitlines() if x.strip() and "import" not in x]) for block in BLOCKS]
    assert len(lengths) == 3
    assert lengths[0] <= 3
    assert lengths[1] <= 8
    assert lengths[2] <= 15


@pytest.mark.parametrize("file", ["openai_chat.json", "anthropic_messages.json"])
def test_a_list_is_packed_in_three_lines(file, capsys, monkeypatch):
    content = json.loads((RECORDINGS / file).read_text("utf-8"))
    messages = content["messages"] if isinstance(content, dict) else content
    code = BLOCKS[0].replace('budget="32k"', 'budget="32k", to="openai"')
    with chat_server(monkeypatch, said("It fits.")) as asked:
        names = {"messages": messages, "tools": [BASH], "model": "test"}
        exec(code if file.startswith("anthropic") else BLOCKS[0], names)
    assert names["packed"].tokens <= 32_000
    assert asked[0]["messages"] == names["packed"].messages
    assert [tool["function"]["name"] for tool in asked[0]["tools"]] == ["Bash", "Recall"]
    assert "It fits." in capsys.readouterr().out


def test_an_agent_of_ones_own_answers_with_its_tool(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = ToolCall("c1", "stock", {"product": "kettle"})
    with serving(Script(parts=(call,)), Script(parts=(Text("There are 12."),))) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "a key for loopback")
        exec(BLOCKS[1], {})
    assert capsys.readouterr().out == "There are 12.\n"
    assert server.requests[1].json["messages"][-1]["content"][0]["content"][0]["text"] == "12"
    assert (tmp_path / "shop.db").exists()


def test_the_loop_runs_with_a_tool_and_recall(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {
        "tools": [BASH],
        "model": "test",
        "run_tool": lambda name, arguments: f"{name} {arguments['command']}\nE   AssertionError: 3 != 4",
    }
    replies = called("Bash", command="make"), called("Recall", query="AssertionError"), said("Done.")
    with chat_server(monkeypatch, *replies) as asked:
        exec(BLOCKS[2], names)
    last = asked[-1]
    assert [tool["function"]["name"] for tool in last["tools"]] == ["Bash", "Recall"]
    assert [m["role"] for m in last["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert "AssertionError: 3 != 4" in last["messages"][-1]["content"]
    assert (tmp_path / "agent.db").exists()


def test_the_version_is_the_packages():
    assert holdfast.__version__
