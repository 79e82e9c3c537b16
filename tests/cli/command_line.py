"""Running commands: in this process for speed, in one of their own where streams and signals matter."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.cli.app import run


class Outcome(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def holdfast(*args: object) -> Outcome:
    """A command in this process, with streams that remember what was written to them."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code = run([str(arg) for arg in args])
    finally:
        sys.stdout, sys.stderr = before
    return Outcome(code, _written(out), _written(err).decode())


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    data: bytes = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return data


def process(*args: object, **options: Any) -> Outcome:
    """A command in a process of its own."""
    done = subprocess.run(command(*args), capture_output=True, timeout=60, check=False, **options)
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "holdfast", *map(str, args)]


def on_terminal(*args: object, answer: bytes = b"", env: dict[str, str] | None = None) -> Outcome:
    """A command whose three streams are one terminal; all it shows is in `out`."""
    master, slave = pty.openpty()
    running = subprocess.Popen(
        command(*args),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", **(env or {})},
        start_new_session=True,
    )
    os.close(slave)
    os.write(master, answer)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:
        pass  # Linux reports the other end's close of a terminal as an error.
    os.close(master)
    return Outcome(running.wait(timeout=60), shown, "")


def json_file(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def lines_file(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values), encoding="utf-8")
    return path


def call(id_: str, tool: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"id": id_, "type": "function", "function": function}


def work(steps: int = 12, lines: int = 120) -> list[dict[str, Any]]:
    """OpenAI messages: two rounds of reading files, the second one longer."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Look around [first]\nand be quick"},
    ]
    for n in range(1, steps + 1):
        if n == 3:
            messages.append({"role": "user", "content": "Now read on"})
        made = call(f"c{n}", "Read", path=f"src/part_{n}.py")
        messages.append({"role": "assistant", "content": f"Reading {n}.", "tool_calls": [made]})
        text = "\n".join(f"def name_{n}_{i}(): return {i * n}" for i in range(lines))
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": text})
    return messages


def neutral(id_: str, messages: list[dict[str, Any]], **meta: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "source": "test",
        "system": "Be brief.",
        "tools": [],
        "messages": messages,
        "meta": meta,
    }
