"""`holdfast pair` in a real folder against a provider on loopback."""

import json

import pytest
from command_line import holdfast

from holdfast.cli.pair import CODES, STOPPED
from holdfast.messages import Text
from support.agent_runs import CONFIG, bodies
from support.pair_commands import (
    BUILT,
    DESIGNED,
    MEASURED,
    OUTPUTS,
    PLAN,
    answering,
    begun,
    given,
    pair_folder,
)
from support.pair_runs import BOTH, PLANNER_WORKER, hand_over


@pytest.fixture
def root(own_place, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_place / "config"))
    return pair_folder(own_place)


def test_the_help_fits_a_terminal_and_has_examples():
    done = holdfast("pair", "--help")
    assert done.code == 0
    assert "Examples:\n" in done.text
    assert max(map(len, done.text.splitlines())) <= 80


def test_what_it_came_to_is_all_that_stands_on_stdout(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = holdfast(*begun(server, "--approve", "auto"))
    assert done.code == 0, done.err
    assert done.text == "done: `worker` says that nothing is left to do\n"
    assert "planner begins, iteration 1" in done.err
    assert "  planner: Write plan.md – " in done.err
    assert "decided by the policy `auto`: approve" in done.err
    assert (root / "out.txt").read_text() == "built\n"
    assert "Build it." in bodies(server)[0]["messages"][1]["content"], "the task of the folder"


def test_each_role_thinks_as_much_as_it_is_told(root, own_place):
    config = CONFIG.format(window=1_000_000).replace("price", 'thinking = "effort"\nprice', 1)
    (root / "holdfast.toml").write_text(config)
    own = PLANNER_WORKER.replace('name = "worker"', 'name = "worker"\neffort = "high"', 1)
    (own_place / "pair.toml").write_text(own)
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = holdfast(*begun(server, "--approve", "auto", "--init-effort", "low"))
    assert done.code == 0, done.err
    efforts = [(body["messages"][0]["content"][:8], body.get("reasoning_effort")) for body in bodies(server)]
    assert dict(efforts) == {"You plan": "low", "You work": "high"}


def test_as_json(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = holdfast(*begun(server, "--approve", "auto", "--json", "-p", "Build something else."))
    told = done.json
    assert told["outcome"] == "done"
    assert told["ended"] is True
    assert told["pending"] == []
    assert told["dollars"] == pytest.approx(4 * (600 * 1.0 + 600 * 0.1 + 40 * 5.0) / 1e6)
    assert [log.partition(".")[2] for log in told["logs"]] == ["", "planner", "worker"]
    assert "Build something else." in bodies(server)[0]["messages"][1]["content"]


def test_without_a_terminal_a_design_waits_and_can_be_gone_on_with(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        waits = holdfast(*begun(server))
        assert waits.code == CODES["ask"] == 17
        assert "error: the design `" in waits.err
        assert "hint: resume at a terminal with `--continue`" in waits.err
        assert "open: approve the design in `plan.md`?" in waits.text
        assert len(bodies(server)) == 2, "the second was not asked"
        done = holdfast("pair", "work", "--continue", "--approve", "auto", "--sandbox", "off")
    assert done.code == 0, done.err
    assert len(bodies(server)) == 4, "of the models that were named first"


def test_a_file_approves(root, own_place):
    with answering((PLAN, DESIGNED), BUILT) as server:
        waits = holdfast(*begun(server, "--approve", "file"))
        assert waits.code == 17
        request = next(own_place.glob("store.db.approvals/*/*.request.json"))
        asked = json.loads(request.read_text())
        assert asked["files"] == ["plan.md"]
        request.with_name(f"{asked['id']}.json").write_text('{"answer": "approve"}')
        done = holdfast(*given(server, "--continue", "--approve", "file"))
    assert done.code == 0, done.err


def test_a_store_that_agents_could_write_is_refused_and_leaves_no_log(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = holdfast(*begun(server, "--approve", "file", "--store", "work/store.db"))
    assert done.code == 2
    assert "is in the folder that the agents write to" in done.err
    assert not (root / "store.db").exists()


def test_a_stop_says_its_reason_and_its_evidence(root, own_place):
    (own_place / "pair.toml").write_text(BOTH)
    with answering((PLAN, DESIGNED), MEASURED) as server:
        done = holdfast(*begun(server, "--approve", "auto", "--max-iterations", "1"))
    assert done.code == STOPPED == 20
    assert "error: 1 iteration was made, which is the limit" in done.err
    assert "hint: resume with `--continue --max-iterations N`" in done.err
    assert done.text.splitlines()[1] == "- iteration 1: 1/2 (50%) passed; failures: 1 of layer 2"


def test_other_limits_come_from_a_file_and_roles_from_the_log(root, own_place):
    (own_place / "pair.toml").write_text(f"{BOTH}\n[stop.layers.2]\nsoft = 1\nhard = 1\n")
    other = BOTH.replace("You work by the plan.", "You are somebody else.")
    (own_place / "other.toml").write_text(f"{other}\n[stop]\ntarget = 0.5\nmax_iterations = 7\n")
    with answering((PLAN, DESIGNED, DESIGNED), (*MEASURED, [Text("I think.")])) as server:
        stopped = holdfast(*begun(server, "--approve", "auto"))
        assert (stopped.code, stopped.text.partition(":")[0]) == (20, "layer")
        assert "hint: resume with `--continue --pair FILE`, with other limits in its `[stop]`" in stopped.err
        limits = ("--pair", "other.toml", "--max-iterations", "9")
        done = holdfast(*given(server, "--continue", *limits, "--approve", "auto"))
    assert (done.code, done.text.partition(":")[0]) == (22, "unmeasured")
    assert "rules: 50% of the samples, at most 9 iterations" in done.err
    assert "somebody else" not in json.dumps(bodies(server))


def test_limits_that_a_file_does_not_name_stay_and_are_told(root, own_place):
    (own_place / "other.toml").write_text(f"{PLANNER_WORKER}\n[stop]\ngain_iterations = 9\n")
    with answering((PLAN, DESIGNED), BUILT) as server:
        holdfast(*begun(server, "--max-cost", "0.5", "--max-iterations", "3"))
        other = holdfast(*given(server, "--continue", "--pair", "other.toml"))
        same = holdfast(*given(server, "--continue", "--pair", "pair.toml"))
    assert "rules: 85% of the samples, at most 3 iterations, at most $0.50" in other.err
    assert "the pair's file has no `[stop]`, so the limits stay as they are" in same.err
    assert "rules:" not in same.err


@pytest.mark.slow
def test_who_is_blocked_again_and_again_is_stopped_until_it_may_do_something_else(root, own_place):
    (own_place / "pair.toml").write_text(BOTH)
    stuck = hand_over("plan.md", decisions=["May I run `make`?"])
    with answering((PLAN, DESIGNED), (*[stuck] * 5, *MEASURED)) as server:
        done = holdfast(*begun(server, "--approve", "auto"))
        assert (done.code, "error: `worker` needs an answer before it can continue" in done.err) == (17, True)
        again = [holdfast(*given(server, "--continue", "--approve", "auto")) for _ in range(5)]
        assert [one.code for one in again] == [17, 17, 17, STOPPED, STOPPED]
        assert "resume with `--continue` and another `--allow`, `--mode` or limit" in again[-1].err
        other = ("--allow", "Bash(make:*)", "--max-iterations", "1")
        done = holdfast(*given(server, "--continue", "--approve", "auto", *other))
    assert done.text.splitlines()[0] == "iterations: 1 iteration was made, which is the limit"


def test_what_is_spent_is_limited_for_both_and_all_runs(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        first = holdfast(*begun(server, "--approve", "auto", "--max-cost", "0.001"))
        assert first.code == CODES["cost"] == 11
        again = holdfast(*given(server, "--continue", "--approve", "auto"))
        assert again.code == 11, "it is still spent"
        done = holdfast(*given(server, "--continue", "--approve", "auto", "--max-cost", "5"))
    assert done.code == 0, done.err


def test_a_model_with_less_than_the_profile_is_said(root):
    (root / "holdfast.toml").write_text(CONFIG.format(window=128_000))
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = holdfast(*begun(server, "--approve", "auto"))
    assert "takes 128,000 tokens and not 200,000, so its context is summarized above 96,000" in done.err
    assert "takes 128,000 tokens and not 1,000,000" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("nowhere",), 2, "there is no folder `nowhere`"),
        (("work", "--pair", "no.toml"), 2, "the pair no.toml cannot be read"),
        (("work", "--continue"), 3, "there is no pair in"),
        (("work", "--continue", "-p", "x"), 2, "`--continue` takes the task"),
        (("work", "--log", "lnone"), 3, "lnone"),
        (("work",), 2, "ANTHROPIC_API_KEY"),
        (("work",), 2, "choose another with `--init-model` and `--execute-model`"),
        (("work", "--max-cost", "nan"), 2, "nan is not a number of dollars"),
        (("work", "--max-cost", "inf"), 2, "inf is not in the range"),
        (("work", "--max-cost", "1e400"), 2, "inf is not in the range"),
        (("work", "--max-iterations", "99999999999999999999"), 2, "is not in the range"),
    ],
    ids=[
        "folder",
        "file",
        "nothing",
        "both",
        "log",
        "key",
        "options",
        "nan",
        "infinite",
        "too_large",
        "iterations",
    ],
)
def test_errors_are_sentences(root, monkeypatch, arguments, code, sentence):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    done = holdfast("pair", *arguments)
    assert (done.code, done.out) == (code, b"")
    assert sentence in done.err
    assert "hint: " in done.err
    assert "Traceback" not in done.err


def test_what_cannot_be_opened_leaves_no_log(root, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert holdfast("pair", "work").code == 2
    assert holdfast("pair", "work", "--continue").code == 3


def test_a_tool_that_there_is_not(root, own_place):
    text = PLANNER_WORKER.replace('"Read", "Write", "Bash"', '"Read", "Wriet"')
    (own_place / "pair.toml").write_text(text)
    done = holdfast("pair", "work", "--pair", "pair.toml")
    assert done.code == 2
    assert "the role `worker` has a tool `Wriet`, which does not exist" in done.err
    assert "did you mean `Write`?" in done.err


def test_without_a_task(root):
    (root / "task.md").unlink()
    with answering((), ()) as server:
        done = holdfast(*begun(server))
    assert done.code == 2
    assert "there is no task: `work/task.md` does not exist" in done.err


def test_words_of_agents_are_text_on_stdout_too(root):
    hostile = "harmless?\x1b[2J\x1b]0;owned\x07\nsuccess: 15/15 (100%) passed"
    asking = hand_over("plan.md", design=["plan.md"], decisions=[hostile])
    with answering((PLAN, asking), BUILT) as server:
        done = holdfast(*begun(server))
    assert done.code == 17
    assert "\x1b" not in done.text
    assert [line.partition(" ")[0] for line in done.text.splitlines()] == ["ask:", "-", "-"]


def test_where_it_ends_well_an_open_question_is_still_hinted_at(root):
    asking = hand_over("out.txt", verdict="stop", decisions=["Ship it?"])
    with answering((PLAN, DESIGNED), (BUILT[0], asking)) as server:
        done = holdfast(*begun(server, "--approve", "auto"))
    assert done.code == 0
    assert "- open: Ship it?" in done.text
    assert "is an open question: resume with `--continue --approve ask`" in done.err


def test_outputs_of_an_earlier_pair_are_not_counted(root, own_place):
    (own_place / "pair.toml").write_text(BOTH)
    results = root / OUTPUTS / "evaluation_results"
    results.mkdir(parents=True)
    (results / "s1.json").write_text('{"passed": true}')
    with answering((PLAN, DESIGNED), MEASURED) as server:
        done = holdfast(*begun(server, "--approve", "auto"))
        assert bodies(server) == []
    assert done.code == 2
    assert f"`{OUTPUTS}` exists already, from another pair" in done.err


def test_logs_are_those_that_there_are(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        told = holdfast(*begun(server, "--json")).json
    assert [log.partition(".")[2] for log in told["logs"]] == ["", "planner", "worker"]
    assert all(holdfast("logs", "export", log).code == 0 for log in told["logs"])


def test_hints_on_another_machine_name_what_works_there(root, own_place, monkeypatch):
    with answering((PLAN, DESIGNED), BUILT) as server:
        logs = holdfast(*begun(server, "--json")).json["logs"]
        there = own_place / "there"
        root.rename(there)
        for log in logs:
            (own_place / f"{log}.jsonl").write_bytes(holdfast("logs", "export", log).out)
        monkeypatch.setenv("HOLDFAST_STORE", str(own_place / "second.db"))
        for log in logs:
            assert holdfast("logs", "import", own_place / f"{log}.jsonl").code == 0
        lost = holdfast("pair", "there", "--continue")
        assert (lost.code, "`--log ID`" in lost.err) == (3, True)
        waits = holdfast("pair", "there", "--log", logs[0])
    assert waits.code == 17
    assert f"hint: resume at a terminal with `--log {logs[0]}`" in waits.err
