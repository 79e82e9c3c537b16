"""The real peers, where their environments are set up, and the command that runs them."""

import subprocess
import sys
from pathlib import Path

import pytest
from peers.adapter import close_idle
from peers.adapters.stand_in import SUMMARY_CHARACTERS, summarize
from peers.environments import interpreter, requirements
from peers.policies import ALL, peer_of

from holdfast.lab.policy import PolicyReply, Task
from holdfast.lab.scored_message import read_message

RUN = Path(__file__).parents[2] / "benchmarks" / "peers" / "run.py"
ROOMY = Task(50_000, lambda messages: sum(len(read_message(m).text) // 4 for m in messages))
SHORT = [
    {"role": "user", "content": "Rename `alpha` in src/main.py, please: it is 'wrong' & <old>."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_a", "name": "Read", "arguments": {"file_path": "src/main.py", "limit": 20}},
            {
                "id": "call_b",
                "name": "Bash",
                "arguments": {"command": "grep -rn 'alpha' .", "env": {"A": [1]}},
            },
        ],
    },
    {"role": "tool", "tool_call_id": "call_a", "name": "Read", "content": "1\talpha = 'ä'\n"},
    {"role": "tool", "tool_call_id": "call_b", "name": "Bash", "content": "./src/main.py:1:alpha\n"},
    {"role": "assistant", "content": "It stands in one place."},
    {"role": "user", "content": "Go on."},
]


@pytest.fixture(autouse=True, scope="module")
def _no_process_left():
    yield
    close_idle()


def started(plan, task=ROOMY):
    if not interpreter(peer_of(plan)).exists():
        pytest.skip(
            f"the environment of `{peer_of(plan)}` is not set up (benchmarks/peers/run.py --set-up-only)"
        )
    return plan.start(task)


@pytest.mark.parametrize("plan", ALL, ids=lambda plan: plan.name)
def test_a_short_history_comes_back_as_it_is(plan):
    policy = started(plan)
    for end in (1, 4, 6):
        sent = policy.pack(SHORT[:end], None)
        assert isinstance(sent, PolicyReply)
        assert list(map(read_message, sent.messages)) == list(map(read_message, SHORT[:end]))
    assert policy.about
    policy.close()


@pytest.mark.parametrize("plan", ALL, ids=lambda plan: plan.name)
def test_a_plan_says_its_pins_and_can_be_found_by_its_name(plan):
    module = sys.modules["peers.policies"]
    assert getattr(module, plan.name) is plan
    pins = requirements(peer_of(plan)).read_text().split()
    assert all(pin.count("==") == 1 for pin in pins)
    assert pins[0].replace("==", " ") in plan.about


def test_the_stand_in_keeps_the_user_and_paths_within_its_room():
    texts = [f"request {n}: " + "word " * 300 for n in range(20)]
    summary = summarize(texts, " ".join(f"src/part{n}/file.py" for n in range(2_000)) + " and e.g. self.x")
    assert len(summary) <= SUMMARY_CHARACTERS
    assert "request 0:" in summary
    assert "request 19:" in summary
    assert "request 5:" not in summary
    assert "src/part1999/file.py\nsrc/part1998/file.py" in summary
    assert "self.x" not in summary


def test_a_summary_of_a_summary_does_not_nest():
    first = summarize(["do this"], "a/b.py")
    again = summarize([f"A summary so far:\n\n{first}", "then that"], f"{first} c/d.py")
    assert again == "The user said:\ndo this\nthen that\n\nPaths seen, newest first:\nc/d.py\na/b.py"


def run(*arguments):
    return subprocess.run([sys.executable, str(RUN), *arguments], capture_output=True, text=True, check=False)


def test_the_list_names_every_plan():
    done = run("--list")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line[0] != " "] == [plan.name for plan in ALL]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--only", "nobody", "--list"], "error: there is no peer policy `nobody`"),
        (["--jobs", "2"], "error: no recordings are named"),
        (["--budget", "many", str(RUN)], "many"),
    ],
    ids=["name", "files", "budget"],
)
def test_a_mistake_is_told_in_a_sentence(arguments, reason):
    done = run(*arguments)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
