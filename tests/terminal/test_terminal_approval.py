"""A command that waits for approval can be read to its end, with the keys that answer."""

import pytest

from holdfast.agents.kept_rules import KeptRules
from support.terminal_session import Terminal, call, driven

LONG = "\n".join(["cat > notes.txt <<'END'", *(f"line {n}" for n in range(60)), "END", "rm -rf precious"])


def asked_about(folder, command, size, *keys, **more):
    """What the screen says when a command is asked about, and after each key."""
    seen = []

    async def work():
        terminal = Terminal(folder, [call("Bash", "1", command=command)], "Done.", **more)
        async with terminal.app.run_test(size=size) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Go")
            await terminal.until(pilot, lambda: terminal.app.panels.panel is not None)
            await pilot.pause()
            seen.append(terminal.text())
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
                seen.append(terminal.text())
            await pilot.press(*["escape"] * ("p" in keys), "n", "enter")
            await terminal.idle(pilot)

    driven(work())
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)])
def test_a_long_command_is_scrolled_to_its_end(tmp_path, size):
    first, *_, last = asked_about(tmp_path, LONG, size, *["pagedown"] * 12)
    assert "$ cat > notes.txt <<'END'" in first
    assert "rm -rf precious" not in first
    assert "rm -rf precious" in last
    for screen in (first, last):
        assert "n  no, and say why" in screen


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 24), (80, 24)])
def test_a_command_of_many_words_leaves_room_for_the_keys(tmp_path, size):
    command = f"python3 -c '{'import os; ' * 60}os.sync()'"
    (first,) = asked_about(tmp_path, command, size)
    assert "a  yes, in this session: this" in first
    assert "n  no, and say why" in first


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
def test_the_rules_are_shown_whole_before_they_are_kept(tmp_path, size):
    keeper = KeptRules(tmp_path / "repo", {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    command = "npm run build-everything && .venv/bin/python -m pytest -q && cargo clippy --fix"
    _, where = asked_about(tmp_path, command, size, "p", rule_keeper=keeper)
    shown = "".join(where.replace("│", " ").split())
    for rule in ("npm run build-everything", ".venv/bin/python -m pytest", "cargo clippy"):
        assert f"Bash({rule}:*)".replace(" ", "") in shown
    for key in ("p  for me, in this folder", "t  for everyone", "Esc goes back"):
        assert key in where
