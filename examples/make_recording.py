"""Make the recordings in `examples/recordings`: play the scripted agent and write down what happened.

    python examples/make_recording.py            writes the files
    python examples/make_recording.py --check    plays again and compares: 0 same, 1 different,
                                                 3 different, but made with other versions of the tools

Rule: the same bytes each time. Needs git, bash and pytest; does not need holdfast.
"""

import argparse
import json
import platform
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recorder.definitions import TOOLS
from recorder.normalise import NOTE
from recorder.play import Played, play
from recorder.rounds import ROUNDS
from recorder.shapes import anthropic_messages, openai_chat, opening
from recorder.workspace import fresh_workspace

HERE = Path(__file__).parent
RECORDINGS = HERE / "recordings"
SYSTEM = (HERE / "recorder" / "system.md").read_text(encoding="utf-8").rstrip("\n")
EXCERPT_MESSAGES = 30
SAME, DIFFERENT, OTHER_VERSIONS = 0, 1, 3


def make_files() -> dict[str, str]:
    """File name and text of everything that is shipped."""
    with fresh_workspace() as workspace:
        played = play(ROUNDS, workspace)
    excerpt = opening(played.messages, EXCERPT_MESSAGES)
    return {
        "inventory.jsonl": _json(_neutral(played)),
        "openai_chat.json": _json(openai_chat(SYSTEM, excerpt), indent=1),
        "anthropic_messages.json": _json(anthropic_messages(SYSTEM, TOOLS, excerpt), indent=1),
    }


def _neutral(played: Played) -> dict[str, Any]:
    calls = [call["name"] for message in played.messages for call in message.get("tool_calls", ())]
    roles = Counter(message["role"] for message in played.messages)
    meta = {
        "licence": "Apache-2.0",
        "agent": "scripted: words written by hand, tool results from real runs in examples/sample_project",
        "clock": "made up: `ts` follows from the length of the messages",
        "normalised": NOTE,
        "made_with": tool_versions(),
        "n_messages": len(played.messages),
        "n_user": roles["user"],
        "n_assistant": roles["assistant"],
        "n_tool_calls": len(calls),
        "tools_used": dict(sorted(Counter(calls).items())),
        "ts": [moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in played.moments],
    }
    return {
        "id": "examples/inventory",
        "source": "examples",
        "system": SYSTEM,
        "tools": TOOLS,
        "messages": played.messages,
        "meta": meta,
    }


def tool_versions() -> dict[str, str]:
    """What can change the wording of a result: a new version may phrase a failure in another way."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)  # noqa: S607
    full = {"python": platform.python_version(), "pytest": version("pytest"), "git": git.stdout.split()[2]}
    return {name: ".".join(number.split(".")[:2]) for name, number in full.items()}


def check(files: dict[str, str]) -> int:
    shipped = {name: _on_disk(name) for name in files}
    made_with, here = _made_with(shipped["inventory.jsonl"]), _made_with(files["inventory.jsonl"])
    files["inventory.jsonl"] = files["inventory.jsonl"].replace(json.dumps(here), json.dumps(made_with))
    different = [name for name in files if files[name] != shipped[name]]
    if not different:
        print("the recordings are what the script makes", file=sys.stderr)
        return SAME
    print(f"different from what the script makes: {', '.join(different)}", file=sys.stderr)
    if made_with == here:
        print("hint: run `python examples/make_recording.py` and look at the difference", file=sys.stderr)
        return DIFFERENT
    print(f"hint: they were made with {made_with}, here are {here}", file=sys.stderr)
    return OTHER_VERSIONS


def _made_with(recording: str) -> dict[str, str]:
    return json.loads(recording)["meta"]["made_with"] if recording else {}


def _on_disk(name: str) -> str:
    path = RECORDINGS / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the recordings in examples/recordings.")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    arguments = parser.parse_args()
    files = make_files()
    if arguments.check:
        return check(files)
    RECORDINGS.mkdir(exist_ok=True)
    for name, text in files.items():
        (RECORDINGS / name).write_text(text, encoding="utf-8")
        print(f"{RECORDINGS / name}: {len(text.encode())} bytes", file=sys.stderr)
    return SAME


if __name__ == "__main__":
    sys.exit(main())
