import json
import re
import shutil
import subprocess
import sys
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
RECORDINGS = EXAMPLES / "recordings"
OTHER_VERSIONS = 3

needs_tools = pytest.mark.skipif(
    not (shutil.which("git") and shutil.which("bash") and find_spec("pytest")),
    reason="playing the scripted agent needs git, bash and pytest",
)


@pytest.fixture(scope="module")
def recording():
    text = (RECORDINGS / "inventory.jsonl").read_text(encoding="utf-8")
    assert text.count("\n") == 1
    return json.loads(text)


@pytest.fixture
def recorder(monkeypatch):
    """Modules of `examples/recorder` by name; the folder is on the path for one test only."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return lambda name: import_module(f"recorder.{name}")


def load(name):
    return json.loads((RECORDINGS / name).read_text(encoding="utf-8"))


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


@pytest.mark.slow
@needs_tools
def test_the_script_makes_the_shipped_bytes():
    script = EXAMPLES / "make_recording.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    if done.returncode == OTHER_VERSIONS:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr


@needs_tools
@pytest.mark.parametrize(
    ("command", "claim", "said"),
    [("echo white", "black", "no 'black'"), ("echo black; exit 3", "black", "unexpected failure")],
)
def test_an_untrue_claim_stops_the_play(recorder, command, claim, said):
    script, workspaces = recorder("script"), recorder("workspace")
    steps = [script.step("", script.bash(command).showing(claim)), script.step("done")]
    with workspaces.fresh_workspace() as workspace, pytest.raises(AssertionError, match=said):
        recorder("play").play([script.Round("hello", steps)], workspace)


def test_a_summary_line_keeps_its_width_whatever_the_time(recorder):
    normalised = recorder("normalise").normalised
    quick = normalised("============================== 3 passed in 0.02s ===============================", {})
    slow = normalised("====================== 3 passed in 100.02s (0:01:40) ========================", {})
    assert quick == slow
    assert len(quick) == 80


def test_every_call_is_answered_before_the_next_turn(recording):
    seen, open_ids = set(), []
    for message in recording["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_ids.pop(0)
            continue
        assert not open_ids
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
        assert not seen & set(open_ids)
        seen |= set(open_ids)
    assert not open_ids
    assert len(seen) == recording["meta"]["n_tool_calls"]


def test_the_clock_only_moves_forward(recording):
    moments = [datetime.fromisoformat(moment) for moment in recording["meta"]["ts"]]
    assert len(moments) == len(recording["messages"]) == recording["meta"]["n_messages"]
    assert all(earlier < later for earlier, later in pairwise(moments))
    assert "made up" in recording["meta"]["clock"]


def test_it_has_what_the_demos_need(recording):
    messages = recording["messages"]
    results = [message for message in messages if message["role"] == "tool"]
    assert sum(message["role"] == "user" for message in messages) == 5
    assert 70 <= sum(message["role"] == "assistant" for message in messages) <= 100
    assert any(message.get("is_error") for message in results)
    assert any(message["content"].count("\n") > 350 for message in results)
    assert any(len(message.get("tool_calls", ())) > 2 for message in messages)
    assert any(message.get("reasoning") for message in messages)
    assert {call["name"] for message in messages for call in message.get("tool_calls", ())} == {
        tool["function"]["name"] for tool in recording["tools"]
    }


@pytest.mark.parametrize("name", ["inventory.jsonl", "openai_chat.json", "anthropic_messages.json"])
def test_no_place_of_a_machine_is_named(name):
    roots = re.compile(r"(?<![\w.$}/-])/(?:home|root|work|Users|private|opt|var|tmp|mnt)(?:/[\w.-]+)?")
    found = {place for text in texts(load(name)) for place in roots.findall(text)}
    assert found == {"/home/dev"}


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in RECORDINGS.iterdir()) < 700_000


def test_openai_messages_are_the_opening_of_the_recording(recording):
    system, *messages = load("openai_chat.json")
    assert system == {"role": "system", "content": recording["system"]}
    assert len(messages) >= 30
    for message, original in zip(messages, recording["messages"], strict=False):
        assert (message["role"], message["content"]) == (original["role"], original["content"])
        assert message.get("tool_call_id") == original.get("tool_call_id")
        calls = [
            {
                "id": call["id"],
                "name": call["function"]["name"],
                "arguments": json.loads(call["function"]["arguments"]),
            }
            for call in message.get("tool_calls", ())
        ]
        assert calls == original.get("tool_calls", [])
    assert recording["messages"][len(messages)]["role"] != "tool"


def test_anthropic_messages_answer_all_calls_of_a_turn_in_the_next():
    request = load("anthropic_messages.json")
    assert {tool["name"] for tool in request["tools"]} >= {"Read", "Bash"}
    turns = request["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"] * (
        len(turns) % 2
    )
    for turn, answer in zip(turns[1::2], turns[2::2], strict=False):
        calls = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        if calls:
            assert calls == [block["tool_use_id"] for block in answer["content"]]


def test_both_excerpts_hold_the_same_texts():
    _, *openai = load("openai_chat.json")
    blocks = [
        block
        for turn in load("anthropic_messages.json")["messages"]
        for block in (turn["content"] if isinstance(turn["content"], list) else [{"text": turn["content"]}])
    ]
    said = [block.get("text") or block.get("content") for block in blocks if block.get("type") != "tool_use"]
    assert said == [message["content"] for message in openai if message["content"]]
