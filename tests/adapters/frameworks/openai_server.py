"""A server on loopback that plays a model behind OpenAI's interfaces: Chat Completions and Responses."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

MODEL = "model-1"
TOO_LONG = "too long"
REFUSAL = (
    "This model's maximum context length is 90000 tokens. However, your messages resulted in 90001 tokens."
)
Step = str | list[tuple[str, dict]]
"""What the model does: a text, calls of tools, or TOO_LONG for a refusal."""


@contextmanager
def openai_server(script: Sequence[Step]) -> Iterator[tuple[str, list[dict]]]:
    """The base address, and the requests that it was sent."""
    asked: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(request)
            number = len(asked)
            step = script[number - 1]
            is_chat = self.path.endswith("/chat/completions")
            status, kind = 200, "application/json"
            if step == TOO_LONG:
                error = {"message": REFUSAL, "code": "context_length_exceeded"}
                status, body = 400, json.dumps({"error": error})
            elif is_chat and request.get("stream"):
                kind, body = "text/event-stream", _chunks(_chat(step, number))
            else:
                body = json.dumps((_chat if is_chat else _response)(step, number))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


def _chat(step: Step, number: int) -> dict:
    calls = [
        {
            "id": f"call_{number}_{at}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for at, (name, given) in enumerate([] if isinstance(step, str) else step)
    ]
    message = {"role": "assistant", "content": step if isinstance(step, str) else None}
    message |= {"tool_calls": calls} if calls else {}
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    details = {"cached_tokens": 40}
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 5,
        "total_tokens": 55,
        "prompt_tokens_details": details,
    }
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": MODEL}
    return {**head, "choices": [choice], "usage": usage}


def _chunks(whole: dict) -> str:
    message, choice = whole["choices"][0]["message"], whole["choices"][0]
    calls = [{**call, "index": at} for at, call in enumerate(message.get("tool_calls", []))]
    head = {**whole, "object": "chat.completion.chunk", "choices": [], "usage": None}
    delta = {
        "index": 0,
        "delta": {**message, **({"tool_calls": calls} if calls else {})},
        "finish_reason": None,
    }
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks = [{**head, "choices": [delta]}, {**head, "choices": [end]}, {**head, "usage": whole["usage"]}]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def _response(step: Step, number: int) -> dict:
    if isinstance(step, str):
        part = {"type": "output_text", "text": step, "annotations": []}
        output = [
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
        ]
    else:
        reasoning = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": f"opaque-{number}"}
        output = [reasoning] + [
            {
                "type": "function_call",
                "call_id": f"call_{number}_{at}",
                "name": name,
                "arguments": json.dumps(given),
            }
            for at, (name, given) in enumerate(step)
        ]
    details = {
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    usage = {"input_tokens": 50, "output_tokens": 5, "total_tokens": 55, **details}
    head = {"id": "r", "object": "response", "created_at": 0, "model": MODEL, "status": "completed"}
    return {
        **head,
        "output": output,
        "usage": usage,
        "tools": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
    }
