"""A yes for good: the panel asks where it is kept, and there it is."""

import sys
import tomllib
from pathlib import Path

import pytest

from holdfast.agents.approved_rules import approved_rules
from holdfast.agents.kept_rules import KeptRules
from holdfast.events import ApprovalGiven
from holdfast.terminal.interface import NotePiece
from support.terminal_session import Terminal, call, repository
from support.terminal_tmux import TMUX, Tmux

PROCESS = Path(__file__).parents[1] / "support" / "terminal_process.py"
RULE = "Bash(make test:*)"
MAKE = call("Bash", "1", command="make test")


class Scene:
    def __init__(self, folder, again="make test -k"):
        self.root = repository(folder)
        (self.root / "Makefile").write_text("test:\n\t@echo made\n")
        self.own = folder / "config" / "holdfast" / "holdfast.toml"
        self.env = {"XDG_CONFIG_HOME": str(folder / "config")}
        keeper = KeptRules(self.root, self.env)
        again = call("Bash", "2", command=again)
        self.terminal = Terminal(folder, [MAKE], [again], "Done.", root=self.root, rule_keeper=keeper)

    def answered(self, *keys, size=(100, 40)):
        """What the panel said after each key."""
        return self.terminal.asked("Test it", *keys, size=size)

    def decisions(self):
        return [(one.decision, one.rule) for one in self.terminal.events(ApprovalGiven)]


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(100, 40), (40, 24)])
def test_a_rule_for_me_everywhere(scene, size):
    first, where, *_ = scene.answered("p", "e", size=size)
    assert f"p  yes, always: {RULE}" in first
    for line in (
        "Where is this kept?",
        "p  for me, in this folder",
        "e  for me, everywhere",
        "t  for everyone",
    ):
        assert line in where
    assert tomllib.loads(scene.own.read_text()) == {"permissions": {"allow": [RULE]}}
    assert scene.decisions() == [("pattern", RULE)], "the second call is not asked about"


@pytest.mark.slow
def test_the_same_key_twice_is_for_this_folder(scene):
    scene.answered("p", "p")
    assert approved_rules(scene.own.parent, scene.root) == [RULE]
    assert not scene.own.exists()
    assert scene.decisions() == [("pattern", RULE)]


@pytest.mark.slow
def test_a_rule_for_everyone(scene):
    scene.answered("p", "t")
    assert tomllib.loads((scene.root / "holdfast.toml").read_text()) == {"permissions": {"allow": [RULE]}}
    assert (scene.own.parent / "trusted").exists()


@pytest.mark.slow
def test_escape_goes_back_and_other_keys_are_no_answers(tmp_path):
    scene = Scene(tmp_path, again="make test")
    _, where, still, back, *_ = scene.answered("p", "y", "escape", "a")
    assert "Where is this kept?" in where
    assert "Where is this kept?" in still, "y is no place"
    assert "y  yes, this once" in back
    assert scene.decisions() == [("log", "Bash(make test)")]
    assert not scene.own.parent.exists()


@pytest.mark.slow
def test_a_rule_that_cannot_be_kept_is_said_and_the_call_is_made(scene):
    scene.own.parent.mkdir(parents=True)
    scene.own.write_text("[permissions\n")
    scene.answered("p", "e")
    (note,) = [piece.text for piece in scene.terminal.app.transcript.pieces if isinstance(piece, NotePiece)][
        :1
    ]
    assert note.startswith(
        "The rule holds in this log only, since the rule cannot be kept: it is not valid TOML"
    )
    assert scene.decisions() == [("pattern", RULE)]
    assert scene.own.read_text() == "[permissions\n"


@pytest.mark.slow
@pytest.mark.skipif(not TMUX, reason="tmux is not installed")
def test_in_a_real_terminal_the_next_session_does_not_ask(tmp_path):
    root = repository(tmp_path)
    (root / "Makefile").write_text("test:\n\t@echo made > made\n")
    for keys in ([f"yes, always: {RULE}", "p"], ["for me, everywhere", "e"]), ():
        (root / "made").unlink(missing_ok=True)
        command = (sys.executable, PROCESS, tmp_path, "make")
        screen = Tmux(tmp_path, command, XDG_CONFIG_HOME=tmp_path / "config")
        try:
            screen.shows("Say what to do")
            screen.type("Make it")
            screen.press("Enter")
            for shown, key in keys:
                screen.shows(shown)
                screen.press(key)
            screen.shows("It is made.")
            screen.press("C-c")
            assert screen.code == 0
        finally:
            screen.close()
        assert (root / "made").read_text() == "made\n"
        (tmp_path / "store.db").unlink()
    own = tmp_path / "config" / "holdfast" / "holdfast.toml"
    assert tomllib.loads(own.read_text()) == {"permissions": {"allow": [RULE]}}
