"""`holdfast pair` and a person at its terminal: what is asked there, and what a signal ends."""

import os
import pty
import signal
import subprocess
import sys

import pytest
from command_line import command, holdfast, on_terminal

from support.agent_runs import bodies, killed, says, waited
from support.pair_commands import BUILT, DESIGNED, PLAN, answering, begun, given, pair_folder
from support.pair_runs import write
from support.provider_server import Stall, serving


@pytest.fixture
def root(own_place, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_place / "config"))
    return pair_folder(own_place)


@pytest.mark.slow
def test_interrupted_and_gone_on_with(root):
    replies = [Stall(), says(*PLAN), says(*DESIGNED), *(says(*reply) for reply in BUILT)]
    with serving(*replies) as server:
        running = subprocess.Popen(
            command(*begun(server, "--approve", "auto")), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        ended = killed(running, lambda: len(bodies(server)) == 1, signal.SIGINT)
        assert ended.code == 130, ended.err
        assert "error: `planner`: interrupted" in ended.err
        assert "hint: `--continue` resumes it" in ended.err
        done = holdfast(*given(server, "--continue", "--approve", "auto"))
    assert done.code == 0, done.err


@pytest.mark.slow
def test_a_person_approves_at_a_terminal(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = on_terminal(*begun(server), answer=b"y\n")
    assert "approve the design in `plan.md`? [y/N]: " in done.text
    assert done.code == 0, done.text


@pytest.mark.slow
def test_a_person_says_what_must_change(root):
    better = write("plan.md", "1. build and test\n", id_="w2")
    with answering((PLAN, DESIGNED, better, DESIGNED), BUILT) as server:
        done = on_terminal(*begun(server), answer=b"n\nTests are missing.\ny\n")
    assert done.code == 0, done.text
    assert "Tests are missing." in bodies(server)[2]["messages"][-1]["content"]


HELD = """
import sys, time
from pathlib import Path
import holdfast.agents.pair.startup as startup
begin = startup.begin_pair
def held(*given):
    Path("begins").touch()
    while not Path("sent").exists():
        time.sleep(0.01)
    return begin(*given)
startup.begin_pair = held
from holdfast.cli.app import run
sys.exit(run(sys.argv[1:]))
"""
"""Holds up the opening of a pair until the signal was sent."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_interrupted_while_it_opens(root, own_place, number):
    with serving(Stall()) as server:
        given = map(str, begun(server, "--approve", "auto"))
        running = subprocess.Popen(
            [sys.executable, "-c", HELD, *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        waited((own_place / "begins").exists)
        running.send_signal(number)
        (own_place / "sent").touch()
        _, err = running.communicate(timeout=60)
        assert bodies(server) == []
    assert running.returncode == 128 + number
    assert err.endswith("error: interrupted\n")
    assert "Traceback" not in err


def asked_at_terminal(arguments, act):
    """A command on a terminal; something is done when it asks. Its exit code, and all that it showed."""
    master, slave = pty.openpty()
    running = subprocess.Popen(
        command(*arguments), stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    shown, is_asked = b"", False
    try:
        while chunk := os.read(master, 65_536):
            shown += chunk
            if b"[y/N]" in shown and not is_asked:
                is_asked = True
                act(master, running)
    except OSError:
        pass  # The other end was closed.
    os.close(master)
    return running.wait(timeout=60), shown.decode()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_a_signal_ends_a_question_and_nothing_is_decided(root, number):
    with answering((PLAN, DESIGNED), BUILT) as server:
        code, shown = asked_at_terminal(begun(server), lambda _, running: running.send_signal(number))
        assert len(bodies(server)) == 2, "the second was not asked"
        done = holdfast(*given(server, "--continue", "--approve", "auto"))
    assert code == 128 + number, shown
    assert "resume with `--continue`" in shown
    assert "[y/N]: \r\n" in shown, "what is said then begins a line"
    assert "decided by" not in shown
    assert done.code == 0, done.err


@pytest.mark.slow
def test_the_end_of_the_input_decides_nothing(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        code, shown = asked_at_terminal(begun(server), lambda master, _: os.write(master, b"\x04"))
    assert code == 17, shown
    assert "decided by" not in shown


@pytest.mark.slow
def test_what_is_neither_yes_nor_no_is_asked_again(root):
    with answering((PLAN, DESIGNED), BUILT) as server:
        done = on_terminal(*begun(server), answer=b"maybe\ny\n")
    assert done.code == 0, done.text
    assert done.text.count("[y/N]") == 2
