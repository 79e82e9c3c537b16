"""The agent in a terminal that draws no screen."""

import sys

from holdfast.messages import Text
from support.provider_server import Script, serving
from support.terminal_pty import Pty
from support.terminal_session import repository


def test_a_dumb_terminal_gets_lines_of_plain_text_in_one_session(tmp_path):
    root = repository(tmp_path)
    scripts = [Script(parts=(Text("The first reply."),)), Script(parts=(Text("The second one."),))]
    with serving(*scripts) as server:
        model = f"compatible/test@{server.openai_url}"
        command = [sys.executable, "-m", "holdfast", "--model", model, "--sandbox", "off"]
        env = {"HOME": tmp_path, "HOLDFAST_STORE": tmp_path / "store.db", "XDG_CONFIG_HOME": tmp_path}
        terminal = Pty(command, root, TERM="dumb", COLUMNS="", LINES="", **env)
        try:
            terminal.read_until(b"> ")
            terminal.write(b"One\n")
            terminal.read_until(b"The first reply.")
            terminal.write(b"Two\n")
            terminal.read_until(b"The second one.")
            terminal.read_until(b"> ")
            terminal.write(b"/model other/name\n")
            terminal.read_until(b"`/model` needs a screen")
            terminal.read_until(b"> ")
            terminal.write(b"/exit\n")
            assert terminal.code() == 0
            assert b"\x1b" not in terminal.sent
        finally:
            terminal.close()
        sent = [seen.json["messages"] for seen in server.requests if seen.method == "POST"]
    assert len(sent) == 2
    assert "One" in str(sent[1])
    assert "The first reply." in str(sent[1])
