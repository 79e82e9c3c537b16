"""Light and dark terminals."""

import pytest

from holdfast.errors import ConfigError
from holdfast.terminal.colours import theme_of
from holdfast.terminal.piece_widgets import render_markdown
from support.terminal_session import Terminal, driven

CODE = "```python\ndef load(): return None\n```"


@pytest.mark.parametrize(
    ("env", "theme"),
    [
        ({}, "ansi-dark"),
        ({"COLORFGBG": "15;0"}, "ansi-dark"),
        ({"COLORFGBG": "0;15"}, "ansi-light"),
        ({"COLORFGBG": "0;default;7"}, "ansi-light"),
        ({"COLORFGBG": "default;default"}, "ansi-dark"),
        ({"COLORFGBG": "0;15", "HOLDFAST_THEME": "Dark"}, "ansi-dark"),
        ({"HOLDFAST_THEME": "light"}, "ansi-light"),
    ],
)
def test_the_theme_follows_the_terminal(env, theme):
    assert theme_of(env) == theme


def test_a_theme_that_is_none_is_an_error():
    with pytest.raises(ConfigError, match="`pink`"):
        theme_of({"HOLDFAST_THEME": "pink"})


def test_code_has_other_colours_on_a_light_terminal():
    assert render_markdown(CODE, 60).spans != render_markdown(CODE, 60, is_dark=False).spans


def test_the_screen_has_the_theme(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THEME", "light")
    terminal = Terminal(tmp_path, CODE)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            assert terminal.app.theme == "ansi-light"
            await terminal.say(pilot, "Code")
            await terminal.until(pilot, lambda: "def load()" in terminal.text())

    driven(work())
