"""The full-screen agent, driven by keys: a real session, real tools, a real repository."""

import asyncio
import json
import threading

import pytest

from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.options import AgentOptions
from holdfast.errors import ConfigError
from holdfast.events import ApprovalGiven, AssistantReplied, ToolReturned, UserSaid
from holdfast.messages import Text, Thinking, ToolMessage, joined_text
from holdfast.models.catalogue import ModelEntry
from holdfast.models.errors import ModelError
from holdfast.models.model import ModelReply, ReplyCompleted, TextDelta
from holdfast.terminal.app import AgentApp
from holdfast.terminal.interface import CallCard, NotePiece, ReplyPiece, ThinkingPiece, UserPiece
from holdfast.terminal.piece_widgets import CardWidget
from support.terminal_session import Terminal, call, driven, repository

EDIT = call("Edit", "3", path="main.py", old_string="old", new_string="new")
READ = call("Read", "1", path="main.py")


def cards(terminal):
    return [piece for piece in terminal.app.transcript.pieces if isinstance(piece, CallCard)]


def notes(terminal):
    return [piece.text for piece in terminal.app.transcript.pieces if isinstance(piece, NotePiece)]


class Slow:
    """A model that waits in the middle of its reply until it is let go on."""

    name = "slow/model"

    def __init__(self, *texts):
        self.texts = list(texts)
        self.go = asyncio.Event()
        self.requests = []
        self.ends = None
        """What the first reply is broken off with."""

    async def stream(self, request):
        self.requests.append(request)
        text = self.texts.pop(0)
        yield TextDelta(text[:10])
        await self.go.wait()
        if self.ends and self.texts:
            raise self.ends
        yield TextDelta(text[10:])
        yield ReplyCompleted(ModelReply(parts=(Text(text),), stop="end"))

    async def aclose(self):
        pass


async def approving(terminal, pilot, *keys):
    await terminal.until(pilot, lambda: terminal.app.panels.panel is not None)
    await pilot.press(*keys)


@pytest.mark.slow
def test_a_task_from_the_first_word_to_the_last(tmp_path):
    terminal = Terminal(
        tmp_path,
        [Thinking("First I look."), Text("I look at **it**."), READ, call("Grep", "2", pattern="print")],
        [EDIT],
        [call("TodoWrite", "5", todos=[{"content": "check it", "status": "in_progress"}])],
        "It prints `new` now.\n\n- one\n- two",
    )

    async def work():
        async with terminal.app.run_test(size=(80, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Print new instead of old in @main.py")
            await terminal.until(pilot, lambda: terminal.app.panels.panel is not None)
            asked = terminal.text()
            assert "-     print('old')" in asked, "the diff is seen before anything is approved"
            assert "+     print('new')" in asked
            assert "'old'" in (terminal.root / "main.py").read_text()
            await pilot.press("y")
            await terminal.idle(pilot)
            await terminal.until(pilot, lambda: " • one" in terminal.text())
            return terminal.text()

    screen = driven(work())
    assert "'new'" in (terminal.root / "main.py").read_text()
    assert [(c.name, c.about, c.state) for c in cards(terminal)] == [
        ("Read", "main.py", "done"),
        ("Grep", "print", "done"),
        ("Edit", "main.py", "done"),
        ("TodoWrite", "0/1: check it", "done"),
    ]
    assert "✓ Read main.py" in screen
    assert "▸ thought, 3 words" in screen
    assert "I look at it." in screen, "Markdown is rendered"
    assert "[>] check it" in screen
    assert "scripted/model · main · ask mode · " in screen
    assert [event.decision for event in terminal.events(ApprovalGiven)] == ["once"]


@pytest.mark.slow
def test_a_denial_is_read_by_the_model(tmp_path):
    terminal = Terminal(tmp_path, [READ], [EDIT], "I leave it.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Change it")
            await approving(terminal, pilot, "n", *"keep it", "enter")
            await terminal.idle(pilot)

    driven(work())
    assert "'old'" in (terminal.root / "main.py").read_text()
    assert "keep it" in str(terminal.model.requests[-1].messages)
    assert cards(terminal)[-1].state == "refused"
    assert terminal.events(ApprovalGiven)[-1].reason == "keep it"


@pytest.mark.slow
@pytest.mark.parametrize(("key", "decision"), [("a", "log"), ("p", "pattern")])
def test_an_approval_for_more_than_once_is_not_asked_again(tmp_path, key, decision):
    again = call("Edit", "4", path="main.py", old_string="new", new_string="newer")
    terminal = Terminal(tmp_path, [READ], [EDIT], [again], "Done.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Change it twice")
            await approving(terminal, pilot, key)
            await terminal.idle(pilot)

    driven(work())
    assert "newer" in (terminal.root / "main.py").read_text()
    assert [event.decision for event in terminal.events(ApprovalGiven)] == [decision]


@pytest.mark.slow
def test_escape_leaves_the_reason_and_then_interrupts_the_run(tmp_path):
    terminal = Terminal(tmp_path, [READ], [EDIT], "Never said.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Change it")
            await approving(terminal, pilot, "n")
            await pilot.press("escape")
            assert terminal.app.panels.panel is not None, "only the line for the reason is closed"
            await pilot.press("escape")
            await terminal.idle(pilot)
            assert terminal.app.panels.panel is None
            assert terminal.app.focused is terminal.app.prompt

    driven(work())
    assert "'old'" in (terminal.root / "main.py").read_text()
    assert len(terminal.model.requests) == 2, "the last reply was never asked for"
    assert any("interrupted" in note for note in notes(terminal))


def test_a_key_that_comes_too_early_approves_nothing(tmp_path):
    terminal = Terminal(tmp_path, [READ], [EDIT], "Done.")
    terminal.app.panels._grace = 60.0

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Change it")
            await approving(terminal, pilot, "y", "e", "s")
            assert terminal.app.panels.panel is not None
            assert terminal.app.prompt.text == "yes"
            await pilot.press("escape")
            await terminal.idle(pilot)

    driven(work())
    assert "'old'" in (terminal.root / "main.py").read_text()


def test_a_key_after_others_is_no_answer_either(tmp_path):
    """Each key that is typed on begins the moment of silence again."""
    terminal = Terminal(tmp_path, [READ], [EDIT], "Done.")
    terminal.app.panels._grace = 60.0

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Change it")
            await approving(terminal, pilot, "p")
            panel = terminal.app.panels.panel
            first = panel._until
            await pilot.press("l")
            assert panel._until > first
            panel._until = 0.0
            await pilot.press("y")
            await terminal.idle(pilot)
            assert terminal.app.prompt.text == "pl", "what was typed is kept"

    driven(work())
    assert "'new'" in (terminal.root / "main.py").read_text()


def test_a_large_change_is_counted_whole_and_can_be_opened(tmp_path):
    root = repository(tmp_path)
    (root / "long.txt").write_text("".join(f"old line {n}\n" for n in range(2999)))
    text = "".join(f"new line {n}\n" for n in range(2999))
    reading = call("Read", "r", path="long.txt", limit=3000)
    terminal = Terminal(
        tmp_path, [reading], [call("Write", path="long.txt", content=text)], "Done.", root=root
    )

    async def work():
        async with terminal.app.run_test(size=(100, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Write it")
            await terminal.until(pilot, lambda: "no, and say why" in terminal.text())
            assert "+2,999 -2,999 · the first 400 lines of the change; o opens the whole" in terminal.text()
            await pilot.press("o")
            change = terminal.app.panels.panel.query_one("#change")
            await terminal.until(pilot, lambda: change.virtual_size.height > 5_900)
            change.scroll_end(animate=False)
            await terminal.until(pilot, lambda: "+ new line 2998" in terminal.text())
            await pilot.press("y")
            await terminal.idle(pilot)

    driven(work())
    assert (root / "long.txt").read_text() == text


def test_what_is_typed_while_it_works_is_queued_and_read(tmp_path):
    model = Slow("The first reply, in two pieces.", "The second one, after that.")
    terminal = Terminal(tmp_path, model=model)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.until(pilot, lambda: "The first" in terminal.text())
            await terminal.say(pilot, "And this too")
            await terminal.until(pilot, lambda: "queued" in terminal.text())
            model.go.set()
            await terminal.idle(pilot)
            assert "queued" not in terminal.text()

    driven(work())
    said = [joined_text(event.parts) for event in terminal.events(UserSaid)]
    assert said == ["First", "And this too"]
    assert "And this too" in str(model.requests[1].messages)


def test_escape_puts_what_is_queued_back_and_sends_nothing(tmp_path):
    model = Slow("A long reply that goes wrong", "Better.")
    terminal = Terminal(tmp_path, model=model)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.until(pilot, lambda: "A long rep" in terminal.text())
            for text in ("No, otherwise", "And shorter"):
                await terminal.say(pilot, text)
            await terminal.type(pilot, "half")
            await pilot.press("escape")
            await terminal.idle(pilot)
            assert terminal.app.prompt.text == "No, otherwise\nAnd shorter\nhalf"
            assert "queued" not in terminal.text()
            assert terminal.app.conversation.session.figures().is_partly_priced, "no usage was reported"
            assert len(model.requests) == 1
            model.go.set()
            await pilot.press("enter")
            await terminal.idle(pilot)

    driven(work())
    replies = [(joined_text(r.parts), r.stop) for r in terminal.events(AssistantReplied)]
    assert replies == [("A long rep", "interrupted"), ("Better.", "end")]
    assert said_by_person(terminal) == ["First", "No, otherwise\nAnd shorter\nhalf"]


def test_what_is_queued_when_a_run_fails_is_said_to_be_kept(tmp_path):
    model = Slow("A long reply that breaks off", "Better.")
    model.ends = ModelError("the provider's reply ended too early")
    terminal = Terminal(tmp_path, model=model)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.until(pilot, lambda: "A long rep" in terminal.text())
            await terminal.say(pilot, "And this too")
            model.go.set()
            await terminal.idle(pilot)
            assert notes(terminal)[-1].startswith("the provider's reply ended too early")
            assert "send a message to continue" in notes(terminal)[-1]
            await terminal.say(pilot, "Go on")
            await terminal.idle(pilot)

    driven(work())
    assert said_by_person(terminal) == ["First", "And this too", "Go on"]
    assert "And this too" in str(model.requests[-1].messages)


def test_up_takes_the_newest_queued_message_back(tmp_path):
    model = Slow("The first reply.", "The second.")
    terminal = Terminal(tmp_path, model=model)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.until(pilot, lambda: "The fir" in terminal.text())
            for text in ("Stays", "See @nowhere.py"):
                await terminal.say(pilot, text)
            await pilot.press("up")
            assert terminal.app.prompt.text == "See @nowhere.py"
            await pilot.press("ctrl+u")
            model.go.set()
            await terminal.idle(pilot)

    driven(work())
    assert [joined_text(event.parts) for event in terminal.events(UserSaid)] == ["First", "Stays"]


def said_by_person(terminal):
    return [joined_text(event.parts) for event in terminal.events(UserSaid) if event.origin == "person"]


def test_ctrl_c_interrupts_and_a_second_one_leaves_with_everything_kept(tmp_path):
    model = Slow("A reply that is broken off")
    terminal = Terminal(tmp_path, model=model)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.until(pilot, lambda: "A reply th" in terminal.text())
            await terminal.say(pilot, "queued words")
            await terminal.type(pilot, "half a tho")
            await pilot.press("ctrl+c")
            await terminal.idle(pilot)
            assert terminal.app.is_running
            await pilot.press("ctrl+c")
            await terminal.until(pilot, lambda: terminal.app.return_value is not None)

    driven(work())
    assert terminal.app.return_value == 0
    assert said_by_person(terminal) == ["First"]
    assert terminal.events(AssistantReplied)[-1].stop == "interrupted"
    kept = (tmp_path / "store.db.prompts").read_text().splitlines()
    assert [json.loads(line) for line in kept][-1] == "queued words\nhalf a tho"


def test_ctrl_c_leaves_while_the_first_session_is_still_loading(tmp_path):
    begins, may_open = asyncio.Event(), asyncio.Event()

    async def open_slowly(_display, _target):
        begins.set()
        await may_open.wait()
        raise ConfigError("no session")

    async def work():
        app = AgentApp(AgentOptions(root=repository(tmp_path)), open_slowly)
        async with app.run_test() as pilot:
            await begins.wait()
            await pilot.press("ctrl+c")
            may_open.set()
            while app.return_value is None:
                await pilot.pause()
            return app.return_value

    assert driven(work()) == 0


def test_the_focus_goes_from_the_prompt_to_a_card_and_back(tmp_path):
    terminal = Terminal(tmp_path, [READ], "Done.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Read it")
            await terminal.idle(pilot)
            await pilot.press("ctrl+up")
            await terminal.until(pilot, lambda: isinstance(terminal.app.focused, CardWidget))
            await pilot.press("ctrl+down")
            await terminal.until(pilot, lambda: terminal.app.prompt.has_focus)

    driven(work())


def test_ctrl_d_leaves_only_an_empty_box(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.type(pilot, "ab", "home", "ctrl+d")
            assert terminal.app.prompt.text == "b"
            await pilot.press("backspace", "delete", "ctrl+d")
            await terminal.until(pilot, lambda: terminal.app.return_value is not None)

    driven(work())
    assert terminal.app.return_value == 0


def test_escape_before_the_first_request_is_not_lost(tmp_path, monkeypatch):
    go_on = threading.Event()

    async def load(*_):
        await asyncio.to_thread(go_on.wait, 60)

    monkeypatch.setattr("holdfast.terminal.screen_session.load_scanner_for", load)
    terminal = Terminal(tmp_path, "Yes.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.until(pilot, lambda: "● working" in terminal.text())
            await pilot.press("escape")
            await terminal.until(pilot, lambda: "● stopping" in terminal.text())
            go_on.set()
            await terminal.idle(pilot)
            assert terminal.model.requests == []
            assert notes(terminal)[-1] == "interrupted; send a message to continue"
            await terminal.say(pilot, "Second")
            await terminal.idle(pilot)
            assert len(terminal.model.requests) == 1, "the next run is not interrupted"

    driven(work())


def test_a_tool_that_runs_is_ended_by_escape(tmp_path):
    terminal = Terminal(tmp_path, [call("Bash", command="echo so far 请; sleep 60")], "I see.", mode="auto")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Sleep")
            await terminal.until(pilot, lambda: "▸ Bash echo so far" in terminal.text())
            await terminal.until(pilot, lambda: "│ so far 请" in terminal.text())
            await pilot.press("escape")
            await terminal.idle(pilot)
            assert "│ so far 请" in terminal.text(), "what it had printed stays on its card"
            await terminal.say(pilot, "Well?")
            await terminal.until(pilot, lambda: "I see." in terminal.text())

    driven(work())
    assert cards(terminal)[0].state == "interrupted"
    (result,) = terminal.events(ToolReturned)
    assert result.parts[0].text.startswith("Exit code: 143 (interrupted before it ended")
    assert result.parts[0].text.endswith("\nso far 请")
    read = [m for m in terminal.model.requests[-1].messages if isinstance(m, ToolMessage)]
    assert "so far 请" in str(read)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (40, 12), (40, 16), (120, 50)], ids=str)
def test_keys_and_status_stay_on_the_screen_however_small_and_long_the_diff(tmp_path, size):
    text = "".join(f"line {n} of a file that is rather long\n" for n in range(300))
    terminal = Terminal(tmp_path, [call("Write", path="long.txt", content=text)], "Done.")

    async def work():
        async with terminal.app.run_test(size=size) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Write it")
            await terminal.until(pilot, lambda: "no, and say why" in terminal.text())
            screen = terminal.text()
            assert "+ line 0" in screen
            assert "y  yes, this once" in screen
            assert "ask" in screen.split("\n")[-1], "the status line is the last"
            await pilot.press("pagedown", "pagedown")
            await terminal.until(pilot, lambda: "+ line 0" not in terminal.text())
            await pilot.press("y")
            await terminal.idle(pilot)

    driven(work())
    assert (terminal.root / "long.txt").read_text() == text


def test_a_key_that_is_not_offered_is_no_answer(tmp_path):
    terminal = Terminal(tmp_path, [call("Bash", command="./made-up-program $x")], "Done.")

    async def work():
        async with terminal.app.run_test(size=(80, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Run it")
            await terminal.until(pilot, lambda: "no, and say why" in terminal.text())
            assert "yes, always" not in terminal.text()
            await pilot.press("p")
            await pilot.pause()
            assert terminal.app.panels.panel is not None
            await pilot.press("y")
            await terminal.idle(pilot)

    driven(work())


def test_a_key_lets_the_model_think_more_and_after_the_most_as_little_as_it_can(tmp_path):
    entry = ModelEntry(name="test/a", thinking="effort", efforts=("low", "high"), effort="low")
    terminal = Terminal(tmp_path, "One.", "Two.", request_settings=RequestSettings(entry=entry))

    async def work():
        async with terminal.app.run_test(size=(120, 40)) as pilot:
            await terminal.ready(pilot)
            assert "low effort" in terminal.text()
            seen = []
            for _ in range(3):
                await pilot.press("ctrl+t")
                seen.append(terminal.coding.agent.effort)
            assert seen == ["high", "off", "low"]
            await pilot.press("ctrl+t")
            await terminal.say(pilot, "Go")
            await terminal.idle(pilot)
            assert "high effort" in terminal.text()

    driven(work())
    assert terminal.coding.agent.model.requests[0].effort == "high"


def test_modes_are_switched_and_hold_for_the_next_call(tmp_path):
    terminal = Terminal(tmp_path, [READ], [EDIT], "Done.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            seen = []
            for _ in range(4):
                await pilot.press("shift+tab")
                seen.append(terminal.coding.gate.mode)
            assert seen == ["edit", "auto", "plan", "ask"]
            await pilot.press("shift+tab")
            await pilot.pause()
            assert "edit mode" in terminal.text()
            await terminal.say(pilot, "Change it")
            await terminal.idle(pilot)

    driven(work())
    assert "'new'" in (terminal.root / "main.py").read_text()
    assert terminal.events(ApprovalGiven) == []


@pytest.mark.slow
def test_questions_are_answered_by_number_mark_and_own_words(tmp_path):
    options = [{"label": "red"}, {"label": "green", "description": "like grass"}]
    asked = call(
        "AskUser",
        questions=[
            {"question": "Which colour?", "options": options},
            {"question": "Which ones?", "options": options, "multiple": True},
            {"question": "Which else?", "options": options},
            {"question": "And?", "options": options},
        ],
    )
    terminal = Terminal(tmp_path, [asked], "Good.")

    def is_asked(number):
        panel = terminal.app.panels.panel
        return panel is not None and f" {number} of 4" in str(panel.border_title) and panel.has_focus

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Ask me")
            screens = []
            for keys in (["2"], ["space", "down", "space", "enter"], ["o", *"blue", "enter"], ["s"]):
                await terminal.until(pilot, lambda: is_asked(len(screens) + 1))
                screens.append(terminal.text())
                await pilot.press(*keys)
            assert "2 green  like grass" in screens[0]
            await terminal.idle(pilot)

    driven(work())
    text = joined_text(terminal.events(ToolReturned)[0].parts)
    assert "Which colour?\nAnswer: green" in text
    assert "Answer: red; green" in text
    assert '"blue"' in text
    assert "No answer" in text


def test_a_question_that_escape_ends_changed_nothing(tmp_path):
    asked = call("AskUser", questions=[{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}])
    terminal = Terminal(tmp_path, [asked])

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Ask me")
            await terminal.until(pilot, lambda: terminal.app.panels.panel is not None)
            await pilot.press("escape")
            await terminal.idle(pilot)

    driven(work())
    (result,) = terminal.events(ToolReturned)
    assert joined_text(result.parts).endswith("AskUser was interrupted; nothing was changed.")


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (120, 50)], ids=str)
def test_keys_and_the_chosen_option_stay_on_the_screen_however_long_the_question(tmp_path, size):
    options = [{"label": f"label {n}", "description": "about this " * 20} for n in range(6)]
    asked = call("AskUser", questions=[{"question": f"Which {'word ' * 190}of all?", "options": options}])
    terminal = Terminal(tmp_path, [asked], "Good.")

    async def work():
        async with terminal.app.run_test(size=size) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Ask me")
            await terminal.until(pilot, lambda: "s no answer" in terminal.text())
            await terminal.until(pilot, lambda: "› 1 label 0" in terminal.text())
            assert "Which word" in terminal.text()
            assert " ask " in terminal.text().split("\n")[-1], "the status line is the last"
            await pilot.press("up")
            await terminal.until(pilot, lambda: "› 6 label 5" in terminal.text())
            await pilot.press(*["pagedown"] * 20)
            await terminal.until(pilot, lambda: "of all?" in terminal.text())
            await pilot.press("enter")
            await terminal.idle(pilot)

    driven(work())
    assert "Answer: label 5" in joined_text(terminal.events(ToolReturned)[0].parts)


def test_tool_output_is_data_and_not_markup_or_escapes(tmp_path):
    root = repository(tmp_path)
    (root / "evil.txt").write_text("[bold red]x[/] \x1b[2J\x1b]0;owned\x07 \u202egnp.exe\n[/oops\n")
    terminal = Terminal(tmp_path, [call("Read", path="evil.txt")], "Saw [link]it[/] \x1b[31mred.", root=root)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Read [b]it[/b]")
            await terminal.idle(pilot)
            await pilot.press("ctrl+o")
            await pilot.pause()
            return terminal.text()

    screen = driven(work())
    assert "Read [b]it[/b]" in screen
    assert "[bold red]x[/] ␛[2J␛]0;owned␇" in screen
    assert "[/oops" in screen
    assert "Saw [link]it[/] red." in screen
    assert not any(code in screen for code in "\x1b\x07\u202e")


def test_a_resumed_session_is_shown_with_what_is_uncertain(tmp_path):
    first = Terminal(tmp_path, [Thinking("hm"), READ, EDIT], "It says new.", mode="auto")

    async def work(terminal, *, says=""):
        async with terminal.app.run_test(size=(80, 30)) as pilot:
            await terminal.ready(pilot)
            if says:
                await terminal.say(pilot, says)
                await terminal.idle(pilot)
            await pilot.pause()
            return terminal.text()

    driven(work(first, says="Change it"))
    live = list(first.app.transcript.pieces)
    crashed = AssistantReplied((Text("I run it."), call("Bash", "9", command="make deploy")))
    first.coding.session.record(UserSaid((Text("Again"),)), crashed)
    again = Terminal(tmp_path, root=first.root)
    screen = driven(work(again))
    pieces = again.app.transcript.pieces
    assert [type(piece) for piece in pieces[:5]] == [UserPiece, ThinkingPiece, CallCard, CallCard, ReplyPiece]
    for old, new in zip(live, pieces, strict=False):
        if isinstance(old, CallCard):
            assert (old.name, old.about, old.state, old.shown) == (new.name, new.about, new.state, new.shown)
            assert old.full == new.full
        else:
            assert old.text == new.text
    assert pieces[-1].state == "uncertain"
    assert "? Bash make deploy  uncertain" in screen
    assert "It says new." in screen
    assert "cache 0%" in screen, "what was spent before is counted"


def test_clear_starts_a_new_session_and_help_lists_the_keys(tmp_path):
    terminal = Terminal(tmp_path, "One.", "Two.")

    async def work():
        async with terminal.app.run_test(size=(100, 60)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.idle(pilot)
            log = terminal.app.conversation.log
            await terminal.say(pilot, "/clear")
            await terminal.until(pilot, lambda: len(terminal.targets) == 2)
            await terminal.ready(pilot)
            assert terminal.app.conversation.log != log
            assert terminal.app.transcript.pieces == []
            await terminal.say(pilot, "/help")
            await terminal.until(pilot, lambda: "/undo [N]" in terminal.text())
            assert "/resume [ID | WORDS]" in terminal.text(), "a pipe is no border of the table"
            await terminal.say(pilot, "/exit")
            await terminal.until(pilot, lambda: terminal.app.return_value == 0)

    driven(work())
