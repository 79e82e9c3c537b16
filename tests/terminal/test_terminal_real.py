"""The full-screen agent in a real terminal: tmux stands for it, keys go in, and the screen is read."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import sys
from pathlib import Path

import pytest

from holdfast.events import AssistantReplied, ToolReturned, UserSaid
from holdfast.log import Log
from holdfast.messages import Text, ToolCall
from holdfast.store import SqliteStore
from support.provider_server import Script, serving
from support.terminal_session import repository
from support.terminal_tmux import TMUX, Tmux

PROCESS = Path(__file__).parents[1] / "support" / "terminal_process.py"

pytestmark = pytest.mark.skipif(not TMUX, reason="tmux is not installed")


@contextlib.contextmanager
def terminal(folder, *command, **env):
    opened = Tmux(folder, command, **env)
    try:
        opened.shows("Say what to do")
        yield opened
    finally:
        opened.close()


def events(folder, kind, log="session"):
    store = SqliteStore(folder / "store.db")
    found = [entry.event for entry in Log.open(store, log).entries() if isinstance(entry.event, kind)]
    store.close()
    return found


def test_type_approve_and_leave(tmp_path):
    root = repository(tmp_path)
    with terminal(tmp_path, sys.executable, PROCESS, tmp_path, "edit") as screen:
        screen.type("Print new instead of old, 请")
        screen.shows("old, 请")
        screen.press("Enter")
        screen.shows("y  yes, this once", "-     print('old')", "+     print('new')", "n  no, and say why")
        assert "ask mode" in screen.screen()
        assert "'old'" in (root / "main.py").read_text()
        screen.press("y")
        screen.shows("It prints new now.")
        assert "'new'" in (root / "main.py").read_text()
        screen.press("BTab")
        screen.shows("edit mode")
        screen.press("C-c")
        assert screen.code == 0
        assert "Say what to do" not in screen.screen(), "the screen is given back as it was"
    assert events(tmp_path, AssistantReplied)[-1].stop == "end"


def test_ctrl_c_ends_a_command_and_twice_leaves_without_colour(tmp_path):
    repository(tmp_path)
    with terminal(tmp_path, sys.executable, PROCESS, tmp_path, "sleep", NO_COLOR=1) as screen:
        screen.type("Sleep")
        screen.press("Enter")
        screen.shows("▸ Bash sleep 60")
        painted = re.findall("\x1b\\[([0-9;]*)m", screen.screen("-e"))
        codes = {int(code) for found in painted for code in found.split(";") if code}
        assert codes <= {0, 1, 2, 3, 4, 7, 22, 23, 24, 27, 39, 49}, "styles, and no colour"
        screen.press("C-c")
        screen.shows("■ Bash sleep 60  interrupted")
        screen.type("not sent")
        screen.shows("not sent")
        screen.press("C-c")
        screen.press("C-c")
        assert screen.code == 0
    assert "(interrupted before it ended" in events(tmp_path, ToolReturned)[0].parts[0].text
    kept = [json.loads(line) for line in (tmp_path / "store.db.prompts").read_text().splitlines()]
    assert kept == ["Sleep", "not sent"]


def test_the_prompt_is_written_in_an_editor(tmp_path):
    repository(tmp_path)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nread answer\nprintf \' and %s\' "$answer" >> "$1"\n')
    editor.chmod(0o755)
    with terminal(tmp_path, sys.executable, PROCESS, tmp_path, "none", EDITOR=editor, VISUAL="") as screen:
        screen.shows("ask mode")
        screen.type("Mend it")
        screen.press("C-g")
        screen.until(lambda: "Say what to do" not in screen.screen() and "ask mode" not in screen.screen())
        screen.type("test it")
        screen.press("Enter")
        screen.shows("› Mend it and test it", "ask mode")
        screen.press("Enter")
        screen.shows("Yes.")
        screen.press("C-d")
        assert screen.code == 0


def test_an_editor_that_fails_gives_the_screen_and_the_prompt_back(tmp_path):
    repository(tmp_path)
    with terminal(tmp_path, sys.executable, PROCESS, tmp_path, "none", EDITOR="false", VISUAL="") as screen:
        screen.shows("ask mode")
        screen.type("Mend it")
        screen.press("C-g")
        screen.shows("`false` ended with code 1; the prompt is as it was", "› Mend it", "ask mode")
        screen.type(" and test it")
        screen.press("Enter")
        screen.shows("▎ Mend it and test it", "Yes.")
        screen.press("C-d")
        assert screen.code == 0


@pytest.mark.slow
def test_a_command_of_ones_own_and_a_way_back_on_a_large_terminal(tmp_path):
    repository(tmp_path)
    with terminal(tmp_path, sys.executable, PROCESS, tmp_path, "none", size=(200, 60)) as screen:
        screen.shows("ask")
        screen.type("!echo $((6*7))")
        screen.press("Enter")
        screen.shows("✓ ! echo", "│ 42")
        screen.type("First words")
        screen.press("Enter")
        screen.shows("Yes.")
        screen.press("Escape")
        screen.press("Escape")
        screen.shows("go back to before", "› First words")
        screen.press("Enter")
        screen.shows("go back to before round 1", "› session")
        screen.press("Enter")
        screen.shows("│› First words")
        screen.press("C-c")
        screen.press("C-c")
        assert screen.code == 0
    said = [event.parts[0].text for event in events(tmp_path, UserSaid) if event.origin == "person"]
    assert said == ["First words"]


@pytest.mark.slow
def test_killed_in_the_middle_of_a_command_and_resumed(tmp_path):
    root = repository(tmp_path)
    run = ToolCall("c1", "Bash", {"command": "echo $PPID > ../child; sleep 60"})
    env = {"HOME": tmp_path, "HOLDFAST_STORE": tmp_path / "store.db", "XDG_CONFIG_HOME": tmp_path}
    scripts = [
        Script(parts=(Text("I begin."), run)),
        Script(parts=(Text("I look at what is there first."),)),
    ]
    with serving(*scripts) as server:
        model = f"compatible/test@{server.openai_url}"
        command = ["env", "-C", root, sys.executable, "-m", "holdfast", "--model", model, "--sandbox", "off"]
        with terminal(tmp_path, *command, "--mode", "auto", **env) as screen:
            screen.shows("auto mode")
            screen.type("Do it")
            screen.press("Enter")
            screen.shows("▸ Bash")
            os.kill(agent_pid(tmp_path, screen), signal.SIGKILL)
            assert screen.code == 128 + signal.SIGKILL
        with terminal(tmp_path, *command, "--continue", **env) as screen:
            screen.shows("Do it", "I begin.", "? Bash", "uncertain")
            screen.type("Go on")
            screen.press("Enter")
            screen.shows("I look at what is there first.")
            screen.press("C-d")
            assert screen.code == 0
            assert "to resume this session" in screen.screen()
        first, second = (seen.json["messages"] for seen in server.requests if seen.method == "POST")
    assert second[: len(first) - 1] == first[:-1], "what was sent is sent again"
    assert "uncertain, and it was not run again" in json.dumps(second)


@pytest.mark.slow
def test_output_is_seen_while_it_comes_and_kept_after_escape_and_a_resume(tmp_path):
    root = repository(tmp_path)
    command = "seq -f 'row %g' 9; printf '进度 10%%\\r进度 20%%'; sleep 60"
    scripts = [
        Script(parts=(ToolCall("c1", "Bash", {"command": command}),)),
        Script(parts=(Text("I see how far it came."),)),
    ]
    env = {"HOME": tmp_path, "HOLDFAST_STORE": tmp_path / "store.db", "XDG_CONFIG_HOME": tmp_path}
    with serving(*scripts) as server:
        model = f"compatible/test@{server.openai_url}"
        line = ["env", "-C", root, sys.executable, "-m", "holdfast", "--model", model, "--sandbox", "off"]
        with terminal(tmp_path, *line, "--mode", "auto", **env) as screen:
            screen.shows("auto mode")
            screen.type("Do it")
            screen.press("Enter")
            screen.shows("▸ Bash", "│ … 5 earlier lines", "│ row 9", "│ 进度 20%")
            assert "row 5" not in screen.screen()
            screen.press("C-o")
            screen.shows("│ row 1", "│ row 5", "│ 进度 20%")
            screen.press("Escape")
            screen.shows("■ Bash", "interrupted", "进度 20%")
            screen.press("C-d")
            assert screen.code == 0
        with terminal(tmp_path, *line, "--continue", **env) as screen:
            screen.shows("Do it", "■ Bash", "interrupted", "│ 进度 20%")
            screen.type("Go on")
            screen.press("Enter")
            screen.shows("I see how far it came.")
            screen.press("C-d")
            assert screen.code == 0
        said = [seen.json["messages"] for seen in server.requests if seen.method == "POST"][-1]
    (result,) = (message["content"] for message in said if message["role"] == "tool")
    assert result.startswith("Exit code: 143 (interrupted before it ended, with all it started)\nrow 1\n")
    assert "\n进度 20%" in result


def agent_pid(folder, screen):
    """The agent's process: the one whose command writes down who started it."""
    file = folder / "child"
    screen.until(lambda: file.exists() and file.read_text().strip())
    pid = int(file.read_text())
    while "holdfast" not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid


@pytest.mark.slow
def test_a_screen_ends_with_its_terminal(tmp_path):
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        env = {**os.environ, "HOLDFAST_STORE": str(tmp_path / "store.db"), "TERM": "xterm-256color"}
        os.execve(sys.executable, [sys.executable, "-m", "holdfast", "tour"], env)
    seen = b""
    while b"of 13k" not in seen:  # the status line, once the session is open
        seen += os.read(end, 65_536)
    os.close(end)
    assert ended_by_itself(pid, seconds=60.0)


def ended_by_itself(pid, seconds):
    """Whether a child ends in time; else it is killed."""
    watched = os.pidfd_open(pid)
    try:
        is_over = bool(select.select([watched], [], [], seconds)[0])
    finally:
        os.close(watched)
    if not is_over:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return is_over


@pytest.mark.slow
def test_an_error_of_the_screen_itself_is_no_success(tmp_path):
    root = repository(tmp_path)
    broken = "import holdfast.agents.commands.permissions as found\nfound.list_rules = None\n"
    (tmp_path / "sitecustomize.py").write_text(broken)
    env = {"HOME": tmp_path, "HOLDFAST_STORE": tmp_path / "store.db", "XDG_CONFIG_HOME": tmp_path}
    with serving() as server:
        model = f"compatible/test@{server.openai_url}"
        command = ["env", "-C", root, sys.executable, "-m", "holdfast", "--model", model, "--sandbox", "off"]
        with terminal(tmp_path, *command, PYTHONPATH=tmp_path, **env) as screen:
            screen.shows("ask mode")
            screen.type("/permissions")
            screen.press("Enter")
            assert screen.code == 1
