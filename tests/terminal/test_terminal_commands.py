"""Commands and first words on the screen: what is shown without a model, and what commands do to the session."""

import pytest
from msgspec.structs import replace

from holdfast.agents.hooks import Hook
from holdfast.agents.options import AgentOptions
from holdfast.errors import NotFound
from holdfast.events import UserSaid
from holdfast.messages import joined_text
from holdfast.terminal.app import AgentApp
from holdfast.terminal.candidates import find_query
from holdfast.terminal.interface import CallCard, NotePiece, ReplyPiece, UserPiece
from support.last_message import last_message
from support.terminal_session import Terminal, call, driven, repository

READ = call("Read", "1", path="main.py")
EDIT = call("Edit", "2", path="main.py", old_string="old", new_string="new")
OTHER = "compatible/other@http://127.0.0.1:9/v1"


def notes(terminal):
    return [piece.text for piece in terminal.app.transcript.pieces if isinstance(piece, NotePiece)]


def test_commands_answer_in_markdown_and_reach_the_session(tmp_path):
    terminal = Terminal(tmp_path, "Hello.")

    async def work():
        async with terminal.app.run_test(size=(90, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "/mode plan")
            await terminal.idle(pilot)
            assert terminal.coding.gate.mode == "plan"
            assert "plan mode" in terminal.text()
            await terminal.say(pilot, "/context")
            await terminal.idle(pilot)
            assert len(notes(terminal)) == 2
            await terminal.say(pilot, "/contxt")
            await terminal.idle(pilot)
            assert "did you mean `/context`?" in notes(terminal)[-1]
            assert "there is no command" in terminal.text()

    driven(work())
    assert terminal.events(UserSaid) == [], "a command is not said to the model"


@pytest.mark.slow
def test_a_rewind_shows_the_session_as_it_is_now(tmp_path):
    terminal = Terminal(tmp_path, "One.", "Two.", "Three.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            for text in ("First", "Second"):
                await terminal.say(pilot, text)
                await terminal.idle(pilot)
            await terminal.say(pilot, "/rewind 2 talk")
            await terminal.idle(pilot)
            pieces = terminal.app.transcript.pieces
            assert [p.text for p in pieces if isinstance(p, UserPiece | ReplyPiece)] == ["First", "One."]
            assert "Two." not in terminal.text()
            assert terminal.app.prompt.text == "Second", "to be said in other words"
            await pilot.press("enter")
            await terminal.idle(pilot)
            assert last_message(terminal.model.requests[-1]).parts[0].text == "Second"

    driven(work())


def test_what_stands_in_the_prompt_outlives_a_rewind(tmp_path):
    terminal = Terminal(tmp_path, "One.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.idle(pilot)
            terminal.app.conversation.submit("/rewind 1 talk")
            terminal.app.prompt.put("typed meanwhile")
            await terminal.idle(pilot)
            assert terminal.app.prompt.text == "First"
            await pilot.press("up")
            assert terminal.app.prompt.text == "typed meanwhile"

    driven(work())


@pytest.mark.slow
def test_a_command_that_comes_while_it_works_waits(tmp_path):
    terminal = Terminal(tmp_path, [READ], [EDIT], "Done.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Change it")
            await terminal.until(pilot, lambda: terminal.app.panels.panel is not None)
            terminal.app.prompt.focus()
            await terminal.say(pilot, "/mode auto")
            assert terminal.coding.gate.mode == "ask"
            terminal.app.panels.panel.focus()
            await pilot.press("y")
            await terminal.until(pilot, lambda: terminal.coding.gate.mode == "auto")
            await terminal.idle(pilot)

    driven(work())
    kinds = [type(piece) for piece in terminal.app.transcript.pieces]
    assert kinds.index(ReplyPiece) < len(kinds) - 1
    assert kinds.count(CallCard) == 2


def test_another_model_continues_the_same_session(tmp_path):
    terminal = Terminal(tmp_path, "One.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.idle(pilot)
            log = terminal.app.conversation.log
            other = AgentOptions(root=terminal.root, log=log, model=OTHER)
            await terminal.app.conversation._open(other)
            await terminal.until(pilot, lambda: len(terminal.targets) == 2)
            await terminal.ready(pilot)
            assert terminal.targets[1] == other
            assert "One." in terminal.text()

    driven(work())


def test_rules_are_offered_once_in_a_folder_without_any(tmp_path):
    root = repository(tmp_path)
    (root / "code_law.md").unlink()

    async def work(terminal):
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await pilot.pause()
            return terminal.text()

    assert "/init" in driven(work(Terminal(tmp_path, root=root)))
    assert "/init" not in driven(work(Terminal(tmp_path, root=root, log="another")))


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A person without keys, servers or a configuration."""
    for name in ("HOLDFAST_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "store.db"))
    return AgentOptions(root=repository(tmp_path), sandbox="off")


def test_without_a_model_three_lines_say_what_to_do(bare, tmp_path):
    terminal = Terminal(tmp_path, root=bare.root)
    terminal.app = AgentApp(bare)

    async def work():
        async with terminal.app.run_test(size=(80, 24)) as pilot:
            await terminal.until(pilot, lambda: "To begin" in terminal.text())
            screen = terminal.text()
            assert "Found:" in screen
            assert "holdfast tour" in " ".join(screen.split())
            await terminal.say(pilot, "Hello?")
            await terminal.until(pilot, lambda: "waits until a model is chosen" in terminal.text())
            await terminal.say(pilot, "/model anthropic/claude-opus-4-6")
            await terminal.until(pilot, lambda: "needs a key" in " ".join(terminal.text().split()))
            await pilot.press("ctrl+d")
            await terminal.until(pilot, lambda: terminal.app.return_value is not None)

    driven(work())
    assert terminal.app.failure is None


def test_a_session_that_is_not_there_ends_the_screen_with_its_error(bare, tmp_path):
    terminal = Terminal(tmp_path, root=bare.root)
    terminal.app = AgentApp(replace(bare, log="l0nosuchlog", model=OTHER))

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.until(pilot, lambda: terminal.app.return_value is not None)

    driven(work())
    assert isinstance(terminal.app.failure, NotFound)
    assert terminal.app.return_value == NotFound.exit_code


def test_a_path_at_the_beginning_is_no_command(tmp_path):
    terminal = Terminal(tmp_path, "Yes.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "/usr/bin/env is a path")
            await terminal.idle(pilot)

    driven(work())
    assert [joined_text(e.parts) for e in terminal.events(UserSaid)] == ["/usr/bin/env is a path"]


def test_an_own_command_is_offered_with_its_file_and_said(tmp_path):
    terminal = Terminal(tmp_path, "Looked.")
    folder = terminal.root / ".claude" / "commands" / "code"
    folder.mkdir(parents=True)
    (folder / "look.md").write_text(
        "---\ndescription: Look at a | file\nargument-hint: FILE\n---\nLook at $1.\n"
    )

    async def work():
        async with terminal.app.run_test(size=(120, 40)) as pilot:
            await terminal.ready(pilot)
            offered = terminal.app._offer(find_query("/code:l"))
            assert [(one.text, one.about) for one in offered] == [
                ("/code:look", "Look at a | file (.claude/commands/code/look.md)")
            ]
            await terminal.say(pilot, "/help")
            assert (
                "| `/code:look FILE` | Look at a \\| file (.claude/commands/code/look.md) |"
                in notes(terminal)[-1]
            )
            await terminal.say(pilot, "/code:look main.py")
            await terminal.idle(pilot)

    driven(work())
    assert [joined_text(event.parts) for event in terminal.events(UserSaid)][:1] == ["Look at main.py."]


def test_what_a_hook_does_is_a_line_on_the_screen_also_after_a_resume(tmp_path):
    terminal = Terminal(tmp_path, [READ], "Looked.")
    terminal.hooks = (Hook("before_tool", "echo not here >&2; exit 2", terminal.root),)

    async def work():
        async with terminal.app.run_test(size=(120, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Look.")
            await terminal.idle(pilot)
            told = "the hook `echo not here >&2; exit 2` denied Read: not here"
            assert told in notes(terminal)
            assert told in [
                piece.text
                for piece in terminal.app.conversation.session.earlier()
                if isinstance(piece, NotePiece)
            ]

    driven(work())
