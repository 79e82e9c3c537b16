"""The README's code, run as it stands."""

import json
import re
from pathlib import Path

import pytest

import holdfast

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_two_examples_within_their_length():
    lines = [
        len([x for x in block.splitlines() if x.strip() and not x.startswith("import")]) for block in BLOCKS
    ]
    assert len(lines) == 2
    assert lines[0] <= 3
    assert lines[1] <= 10


@pytest.mark.parametrize("file", ["openai_chat.json", "anthropic_messages.json"])
def test_a_list_is_packed_in_three_lines(file, capsys):
    content = json.loads((ROOT / "examples" / "recordings" / file).read_text("utf-8"))
    messages = content["messages"] if isinstance(content, dict) else content
    names = {"messages": messages}
    exec(BLOCKS[0], names)
    assert names["packed"].tokens <= 32_000
    assert names["packed"].messages[-1]["role"] in capsys.readouterr().out


def test_the_loop_runs_with_a_tool_and_recall(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []

    def call_model(packed):
        asked.append((packed.messages, [t["function"]["name"] for t in packed.tools]))
        calls = [("Bash", {"command": "make"}), ("Recall", {"query": "AssertionError"})]
        if len(asked) > len(calls):
            return {"role": "assistant", "content": "Done."}
        tool, arguments = calls[len(asked) - 1]
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{len(asked)}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    bash = {
        "name": "Bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {}},
    }
    names = {
        "tools": [{"type": "function", "function": bash}],
        "call_model": call_model,
        "run_tool": lambda _: "E   AssertionError: 3 != 4",
        "name": lambda call: call["function"]["name"],
        "arguments": lambda call: json.loads(call["function"]["arguments"]),
    }
    exec(BLOCKS[1], names)
    last, tools = asked[-1]
    assert tools == ["Bash", "Recall"]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert "AssertionError: 3 != 4" in last[-1]["content"]
    assert (tmp_path / "agent.db").exists()


def test_the_version_is_the_packages():
    assert holdfast.__version__
