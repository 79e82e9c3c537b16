"""What agents of a pair ask in words: a person at the terminal answers, and the answer arrives."""

import pytest
from command_line import holdfast, on_terminal

from holdfast.messages import Text, ToolCall
from support.agent_runs import bodies
from support.pair_commands import BUILT, DESIGNED, MEASURED, PLAN, answering, begun, given, pair_folder
from support.pair_runs import BOTH, PLANNER_WORKER, hand_over

COLOUR = {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}


@pytest.fixture
def root(own_place, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_place / "config"))
    return pair_folder(own_place)


@pytest.mark.slow
def test_an_agent_that_asks_in_its_turn_is_answered(root, own_place):
    text = PLANNER_WORKER.replace('["Read", "Write"]', '["Read", "Write", "AskUser"]')
    (own_place / "pair.toml").write_text(text)
    asks = [Text("I ask."), ToolCall("q1", "AskUser", {"questions": [COLOUR]})]
    with answering((asks, PLAN, DESIGNED), BUILT) as server:
        done = on_terminal(*begun(server), answer=b"blue\ny\n")
        assert done.code == 0, done.text
        assert "Which colour? (red | blue): " in done.text
        assert bodies(server)[1]["messages"][-1]["content"] == "Question: Which colour?\nAnswer: blue"


@pytest.mark.slow
def test_who_cannot_evaluate_is_told_what_to_do(root, own_place):
    (own_place / "pair.toml").write_text(BOTH)
    stuck = hand_over("plan.md", decisions=["May I evaluate by hand?"])
    with answering((PLAN, DESIGNED), (stuck, *MEASURED)) as server:
        options = ("--max-iterations", "1")
        done = on_terminal(*begun(server, *options), answer=b"y\nThis once.\n")
        assert done.code == 20, done.text
        assert "no rule allows it a command" in done.text
        told = [message["content"] for message in bodies(server)[3]["messages"] if message["role"] == "user"]
        assert 'The answer: "This once."' in told[-2]


def test_without_a_terminal_it_waits_with_a_question_and_goes_on_without_an_answer(root, own_place):
    (own_place / "pair.toml").write_text(BOTH)
    stuck = hand_over("plan.md", decisions=["May I evaluate by hand?"])
    with answering((PLAN, DESIGNED), (stuck, *MEASURED)) as server:
        waits = holdfast(*begun(server, "--approve", "auto", "--max-iterations", "1"))
        assert waits.code == 17
        assert "error: `worker` needs an answer before it can continue: May I evaluate by hand?" in waits.err
        assert "hint: make it possible (a command needs an `--allow` rule)" in waits.err
        done = holdfast(*given(server, "--continue", "--approve", "auto"))
    assert done.code == 20, done.err
