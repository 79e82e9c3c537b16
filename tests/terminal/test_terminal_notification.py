"""What a person who looked away is sent at the end of a turn."""

import pytest

from holdfast.errors import ConfigError
from holdfast.terminal.notification import notification
from support.terminal_session import Terminal, driven


def test_only_a_long_turn_is_told_and_in_the_way_that_was_chosen():
    assert notification({}, 19.9) == ""
    assert notification({}, 20.0) == "\a"
    assert notification({"HOLDFAST_NOTIFY": "off"}, 900.0) == ""
    assert notification({"HOLDFAST_NOTIFY": "OSC9"}, 20.0).startswith("\x1b]9;")
    assert notification({"HOLDFAST_NOTIFY_SECONDS": "5"}, 5.0) == "\a"


@pytest.mark.parametrize("wrong", [{"HOLDFAST_NOTIFY": "horn"}, {"HOLDFAST_NOTIFY_SECONDS": "soon"}])
def test_a_wrong_setting_is_an_error_with_a_hint(wrong):
    with pytest.raises(ConfigError) as error:
        notification(wrong, 30.0)
    assert error.value.hint


def test_the_bell_rings_at_the_end_of_a_turn(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_NOTIFY_SECONDS", "0")
    terminal, sent = Terminal(tmp_path), []

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            write = terminal.app._driver.write
            monkeypatch.setattr(terminal.app._driver, "write", lambda data: (sent.append(data), write(data)))
            await terminal.say(pilot, "First")
            await terminal.idle(pilot)

    driven(work())
    assert sent.count("\a") == 1
