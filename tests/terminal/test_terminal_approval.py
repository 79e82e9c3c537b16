"""A command that waits for approval can be read to its end, with the keys that answer."""

import pytest

from holdfast.agents.kept_rules import KeptRules
from support.terminal_session import Terminal, call

BEGIN = "cat > notes.txt <<'END'"
LINES = (
    "\n".join([BEGIN, *(f"line {n}" for n in range(60)), "END", "rm -rf precious"]),
    BEGIN,
    "rm -rf precious",
)
WORDS = ("; ".join(f"touch file-{n}" for n in range(700)), "touch file-0; ", "file-699")


DENIED = ("n", "enter")


def asked_about(folder, command, size, *keys, closing=DENIED, **more):
    """What the screen says when a command is asked about, and after each key."""
    terminal = Terminal(folder, [call("Bash", "1", command=command)], "Done.", **more)
    return terminal.asked("Go", *keys, *closing, size=size)[: 1 + len(keys)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)], ids=str)
@pytest.mark.parametrize(("command", "begin", "end"), [LINES, WORDS], ids=["lines", "words"])
def test_a_long_command_is_scrolled_to_its_end(tmp_path, size, command, begin, end):
    first, *_, last, why = asked_about(tmp_path, command, size, *["pagedown"] * 45, "n", closing=["enter"])
    assert f"$ {begin}" in first
    assert "the rest" in first
    assert end not in first
    assert end in last
    for screen in (first, last):
        assert screen.index("y  yes, this once") < screen.index("n  no, and say why")
    assert "Why not?" in why
    for screen in (first, last, why):
        assert " ask " in screen.split("\n")[-1], "the status line is the last"


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
    _, where = asked_about(tmp_path, command, size, "p", closing=["escape", *DENIED], rule_keeper=keeper)
    shown = "".join(where.replace("│", " ").split())
    for rule in ("npm run build-everything", ".venv/bin/python -m pytest", "cargo clippy"):
        assert f"Bash({rule}:*)".replace(" ", "") in shown
    for key in ("p  for me, in this folder", "t  for everyone", "Esc goes back"):
        assert key in where


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
def test_a_long_address_leaves_room_for_the_keys_and_is_read_to_its_end(tmp_path, size):
    keeper = KeptRules(tmp_path / "repo", {"XDG_CONFIG_HOME": str(tmp_path / "config")})
    site = ".".join([*[f"accounts-{n}" * 5 for n in range(4)], "evil.example"])
    terminal = Terminal(
        tmp_path, [call("WebFetch", "1", url=f"https://{site}/x", prompt="x")], "Done.", rule_keeper=keeper
    )
    keys = ["pagedown", "p", "pagedown"]
    first, change, where, end, *_ = terminal.asked("Go", *keys, "escape", *DENIED, size=size)
    for screen in (first, change):
        assert "y  yes, this once" in screen
        assert "n  no, and say why" in screen
    for screen in (where, end):
        assert "p  for me, in this folder" in screen
        assert "t  for everyone" in screen
        assert "Esc goes back" in screen
    for screen in (first, change, where, end):
        assert " ask " in screen.split("\n")[-1], "the status line is the last"
    for screen in (change, end):
        assert "evil.example" in "".join(screen.replace("│", " ").split())
