"""`holdfast pair` in a real folder against a provider on loopback."""

import asyncio
import json
import signal
import subprocess
import threading
from contextlib import contextmanager

import pytest
from command_line import command, holdfast, on_terminal

from holdfast.cli.pair import CODES, STOPPED
from support.agent_runs import CONFIG, Answering, bodies, killed, says
from support.pair_plays import BOTH, PLANNER_WORKER, hand_over, write
from support.pair_values import layout_in, write_results
from support.provider_server import Stall, serving

PLAN = write("plan.md", "1. build\n")
DESIGNED = hand_over("plan.md", design=["plan.md"])
DONE = hand_over("out.txt", verdict="stop")
BUILT = (write("out.txt", "built\n"), DONE)


@pytest.fixture
def root(own_place, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_place / "config"))
    root = own_place / "work"
    root.mkdir()
    (root / "task.md").write_text("Build it.\n")
    (root / "holdfast.toml").write_text(CONFIG.format(window=1_000_000))
    (own_place / "pair.toml").write_text(PLANNER_WORKER)
    return root


@contextmanager
def answering(first, second):
    """A provider that answers both agents, each from a list of its own; what they are stands in their prompts."""
    left = {"You plan.": [*first], "You work by the plan.": [*second]}

    def answer(body):
        system = str(body["messages"][0]["content"])
        return says(*left[system].pop(0))

    server = Answering(answer)
    thread = threading.Thread(target=lambda: asyncio.run(server.run()), name="provider")
    thread.start()
    try:
        assert server.ready.wait(10), "the server did not start"
        yield server
    finally:
        server.stop()
        thread.join()


def given(server, *more):
    model = f"compatible/test@{server.openai_url}"
    return ("pair", "work", "--init-model", model, "--execute-model", model, "--sandbox", "off", *more)


def begun(server, *more):
    return given(server, "--pair", "pair.toml", *more)


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
        assert "hint: go on at a terminal with `--continue`" in waits.err
        assert "open: approve the design in `plan.md`?" in waits.text
        assert len(bodies(server)) == 2, "the second was not asked"
        done = holdfast("pair", "work", "--continue", "--approve", "auto", "--sandbox", "off")
    assert done.code == 0, done.err
    assert len(bodies(server)) == 4, "of the models that were named first"


def test_interrupted_and_gone_on_with(root):
    replies = [Stall(), says(*PLAN), says(*DESIGNED), *(says(*reply) for reply in BUILT)]
    with serving(*replies) as server:
        running = subprocess.Popen(
            command(*begun(server, "--approve", "auto")), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        ended = killed(running, lambda: len(bodies(server)) == 1, signal.SIGINT)
        assert ended.code == 130, ended.err
        assert "error: `planner`: interrupted" in ended.err
        assert "hint: `--continue` goes on" in ended.err
        done = holdfast(*given(server, "--continue", "--approve", "auto"))
    assert done.code == 0, done.err


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


def test_approvals_that_agents_could_write_are_refused(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = holdfast(*begun(server, "--approve", "file", "--store", "work/store.db"))
    assert done.code == 2
    assert "could be written by the agents themselves" in done.err


def test_a_person_approves_at_a_terminal(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = on_terminal(*begun(server), answer=b"y\n")
    assert "approve the design in `plan.md`? [y/N]: " in done.text
    assert done.code == 0, done.text


def test_a_person_says_what_must_change(root):
    better = write("plan.md", "1. build and test\n", id_="w2")
    with answering((PLAN, DESIGNED, better, DESIGNED), BUILT) as server:
        done = on_terminal(*begun(server), answer=b"n\nTests are missing.\ny\n")
    assert done.code == 0, done.text
    assert "Tests are missing." in bodies(server)[2]["messages"][-1]["content"]


def test_a_stop_says_its_reason_and_its_evidence(root, own_place):
    (own_place / "pair.toml").write_text(BOTH)
    write_results(layout_in(root), 1, 1, {"f1": (2, "high")})
    report = hand_over("plan.md", verdict="continue", success={"passed": 1, "total": 2})
    with answering((PLAN, DESIGNED), (report,)) as server:
        done = holdfast(*begun(server, "--approve", "auto", "--max-iterations", "1"))
    assert done.code == STOPPED == 20
    assert "error: 1 iteration was made, as many as allowed" in done.err
    assert "hint: " in done.err
    assert done.text.splitlines()[1] == "- iteration 1: 1/2 (50%) passed; failures: 1 of layer 2"


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
    assert "takes 128,000 tokens and not 200,000, so its context is summed up above 96,000" in done.err
    assert "takes 128,000 tokens and not 1,000,000" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("nowhere",), 2, "there is no folder `nowhere`"),
        (("work", "--pair", "no.toml"), 2, "the pair no.toml cannot be read"),
        (("work", "--continue"), 3, "there is no pair in"),
        (("work", "--continue", "-p", "x"), 2, "`--continue` goes on with the pair and the task"),
        (("work", "--log", "lnone"), 3, "lnone"),
        (("work",), 2, "ANTHROPIC_API_KEY"),
    ],
    ids=["folder", "file", "nothing", "both", "log", "key"],
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
    assert "the role `worker` has a tool `Wriet`, which there is not" in done.err
    assert "the nearest is `Write`" in done.err


def test_without_a_task(root):
    (root / "task.md").unlink()
    with answering((), ()) as server:
        done = holdfast(*begun(server))
    assert done.code == 2
    assert "there is no task: `work/task.md` does not exist" in done.err
