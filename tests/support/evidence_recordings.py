"""Small recordings with evidence that is used long after it was seen, and policies in modules of their own."""

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

from support.evidence import called, result, user


def make_recording(
    id_: str = "recording", steps: int = 14, *, words: int = 120, source: str = "evidence"
) -> dict[str, Any]:
    """A neutral recording: each result names a file that is read eight steps later."""
    messages = [user(f"Go through the modules of {id_}.")]
    for n in range(steps):
        path = f"src/part/module_{id_}_{n - 8}.py" if n >= 8 else "README.md"
        messages += [
            called(f"c{n}", "Read", file_path=path),
            result(
                f"c{n}", f"the loader of step {n} is src/part/module_{id_}_{n}.py now\n" + "word " * words
            ),
        ]
    messages.append({"role": "assistant", "content": "All read."})
    return {"id": id_, "source": source, "system": "Be brief.", "tools": [], "messages": messages, "meta": {}}


def replies(recording: dict[str, Any]) -> list[int]:
    return [i for i, message in enumerate(recording["messages"]) if message["role"] == "assistant"]


def write_recordings(path: Path, *recordings: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(recording) + "\n" for recording in recordings), encoding="utf-8")
    return path


def write_policy(folder: Path, module: str, pack: str, before: str = "") -> str:
    """A module with a policy whose `pack` has this body; its name as `--policy` wants it."""
    body = "".join(f"        {line}\n" for line in dedent(pack).strip().split("\n"))
    lines = [dedent(before), "class Own:", "    def __init__(self, task):", "        self.task = task", ""]
    text = "\n".join(lines) + f"\n    def pack(self, messages, at):\n{body}"
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    return f"{module}:Own"
