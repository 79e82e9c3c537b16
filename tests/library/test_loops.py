"""The loops in `examples/loops`, run as they stand: with the providers' own SDKs, against a server on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import holdfast
from holdfast.events import AssistantReplied, OverflowReported

LOOPS = Path(__file__).parents[2] / "examples" / "loops"
MODEL = "model-1"

Script = list[tuple[str, dict] | str]
"""What the model does, request by request: a call, a text, or `too long`."""


def chat(step: tuple[str, dict] | str, number: int) -> dict:
    message: dict = {"role": "assistant", "content": step if isinstance(step, str) else None}
    if not isinstance(step, str):
        function = {"name": step[0], "arguments": json.dumps(step[1])}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    head = {"id": "r", "object": "chat.completion", "created": 0, "model": MODEL}
    return {**head, "choices": [choice], "usage": usage}


def responses(step: tuple[str, dict] | str, number: int) -> dict:
    if isinstance(step, str):
        part = {"type": "output_text", "text": step, "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
        output = [item]
    else:
        sealed = {"summary": [], "encrypted_content": f"opaque-{number}"}
        reasoning = {"type": "reasoning", "id": f"rs_{number}", **sealed}
        call = {"type": "function_call", "call_id": f"call_{number}", "name": step[0]}
        output = [reasoning, {**call, "arguments": json.dumps(step[1]), "status": "completed"}]
    usage = {"input_tokens": 50, "output_tokens": 5, "total_tokens": 55}
    head = {"id": "r", "object": "response", "created_at": 0, "model": MODEL, "status": "completed"}
    return {**head, "output": output, "usage": usage, "tools": [], "parallel_tool_calls": True}


def anthropic_stream(step: tuple[str, dict] | str, number: int) -> str:
    if isinstance(step, str):
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step}
    else:
        block = {"type": "tool_use", "id": f"call_{number}", "name": step[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
    head = {"id": "m", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    usage = {"input_tokens": 50, "output_tokens": 1}
    events = [
        {"type": "message_start", "message": {**head, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def gemini(step: tuple[str, dict] | str, number: int) -> dict:
    part = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step[0], "args": step[1]}}
    content = {"role": "model", "parts": [{**part, "thoughtSignature": "c2ln"}]}
    usage = {"promptTokenCount": 50, "candidatesTokenCount": 5, "totalTokenCount": 55}
    candidate = {"content": content, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}


GEMINI_TOO_LONG = "The input token count (90001) exceeds the maximum number of tokens allowed (90000)."
ERRORS = {
    "chat": {
        "error": {"message": "maximum context length is 90000 tokens", "code": "context_length_exceeded"}
    },
    "responses": {"error": {"message": "exceeds the context window", "code": "context_length_exceeded"}},
    "messages": {"type": "error", "error": {"message": "prompt is too long: 90001 tokens > 90000 maximum"}},
    "gemini": {"error": {"code": 400, "message": GEMINI_TOO_LONG}},
}


@contextmanager
def provider(script: Script) -> Iterator[tuple[str, list[dict]]]:
    """A server that plays a model of any provider, its address, and the requests it was sent."""
    asked: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            step, number = script[len(asked) - 1], len(asked)
            kinds = {"completions": "chat", "responses": "responses", "messages": "messages"}
            kind = kinds.get(self.path.split("?")[0].rsplit("/", 1)[-1], "gemini")
            status, content_type = 200, "application/json"
            if step == "too long":
                status, body = 400, json.dumps(ERRORS[kind])
            elif kind == "messages":
                content_type, body = "text/event-stream", anthropic_stream(step, number)
            else:
                write = {"chat": chat, "responses": responses, "gemini": gemini}[kind]
                body = json.dumps(write(step, number))
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def environment(address: str) -> dict[str, str]:
    keys = {f"{name}_API_KEY": "a key for loopback" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
    bases = {
        "OPENAI_BASE_URL": f"{address}/v1",
        "ANTHROPIC_BASE_URL": address,
        "GOOGLE_GEMINI_BASE_URL": address,
    }
    return {**os.environ, **keys, **bases, "NO_PROXY": "127.0.0.1"}


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["openai_chat", "openai_responses", "anthropic_messages", "google_genai"])
def test_a_loop_runs_with_a_tool_an_overflow_and_recall(loop, tmp_path):
    for number in range(4):
        rows = [f"row {row} of part {number}: nothing to be found here" for row in range(300)]
        (tmp_path / f"part{number}.txt").write_text("\n".join(["the port is 8123", *rows]))
    script: Script = [
        *(("read_file", {"path": f"part{number}.txt"}) for number in range(4)),
        "too long",
        ("Recall", {"query": "port"}),
        "It listens on 8123.",
    ]
    with provider(script) as (address, asked):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(LOOPS / f"{loop}.py"), "Which port?"],
            cwd=tmp_path,
            env=environment(address),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "It listens on 8123.\n"
    assert len(asked) == 7
    assert len(json.dumps(asked[5])) < 0.7 * len(json.dumps(asked[4])), "smaller after the overflow"
    last = json.dumps(asked[-1])
    assert "the port is 8123" in last
    assert "[recall search query" in last
    assert '"Recall"' in json.dumps(asked[0]["tools"])
    with holdfast.Session.resume(tmp_path / "agent.db") as session:
        events = [entry.event for entry in session.log.entries()]
        assert [e.usage.prompt for e in events if isinstance(e, AssistantReplied)] == [50] * 6
        assert sum(isinstance(e, OverflowReported) for e in events) == 1
        assert "It listens on 8123." in json.dumps(session.pack().messages)
