"""The box: history, completion, long pastes, new lines."""

import asyncio
import json
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from holdfast.agents.mentions import find_mentions
from holdfast.agents.model_requests import RequestSettings
from holdfast.errors import InputError
from holdfast.events import UserSaid
from holdfast.messages import Image, joined_text
from holdfast.models.catalogue import ModelEntry
from holdfast.terminal.candidates import (
    Candidate,
    CompletionQuery,
    add_folders,
    find_query,
    format_mention,
    match_commands,
    match_files,
)
from holdfast.terminal.editor import edit_text, editor_command
from holdfast.terminal.interface import NotePiece
from holdfast.terminal.pasted_path import pasted_picture
from holdfast.terminal.prompt import PromptHistory, register_alt_enter
from support.terminal_session import Terminal, call, driven

PATHS = [
    "main.py",
    "src/loader.py",
    "src/load.py",
    "tests/test_loader.py",
    "docs/读我.md",
    "src/with space.py",
]


def kept_in(file):
    history = PromptHistory()
    history.keep_in(file)
    return history


def said(terminal):
    return [joined_text(event.parts) for event in terminal.events(UserSaid) if event.origin == "person"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("/he", CompletionQuery("command", "he", 0)),
        ("look at @sr", CompletionQuery("file", "sr", 8)),
        ("请看@src", CompletionQuery("file", "src", 2)),
        ('@"with sp', CompletionQuery("file", "with sp", 0)),
        ("me@host", None),
        ("\\@src", None),
        ("a /he", None),
        ("/help me", None),
    ],
)
def test_what_the_text_before_the_cursor_asks_for(before, found):
    assert find_query(before) == found


def test_files_come_by_name_part_and_letters():
    found = [c.text for c in match_files("load", PATHS)]
    assert found == ["src/load.py", "src/loader.py", "tests/test_loader.py"]
    assert match_files("src/loader.py", PATHS)[0].text == "src/loader.py"
    assert [c.text for c in match_files("tldr", PATHS)] == ["tests/test_loader.py"]
    assert [c.text for c in match_files("读", PATHS)] == ["docs/读我.md"]
    assert match_files("[", PATHS) == []
    assert "src/" in add_folders(PATHS)


def test_commands_come_by_their_beginning_first():
    commands = [Candidate("/recall"), Candidate("/clear"), Candidate("/compact")]
    assert [c.text for c in match_commands("c", commands)] == ["/clear", "/compact", "/recall"]


@given(st.text(st.characters(blacklist_characters='"\n\0/', blacklist_categories=["Cs", "Cc"]), min_size=1))
def test_a_completed_mention_names_just_that_file(name):
    found = list(find_mentions(f"look at {format_mention(name)} please"))
    assert [one.path for one in found] == [name]


def test_history_goes_back_and_forth_and_outlives_the_process(tmp_path):
    file = tmp_path / "kept" / "prompts"
    history = PromptHistory()
    history.add("one")
    history.keep_in(file)
    history.add("two\nlines")
    history.add("two\nlines")
    again = kept_in(file)
    assert again.older("draft") == "two\nlines"
    assert again.older("") == "one"
    assert again.older("") is None
    assert again.newer() == "two\nlines"
    assert again.newer() == "draft"
    assert again.newer() is None
    assert file.stat().st_mode & 0o777 == 0o600


def test_history_keeps_no_secret_and_reads_over_a_torn_line(tmp_path):
    file = tmp_path / "prompts"
    file.write_text('"whole"\n{"other": 1}\n"torn')
    history = kept_in(file)
    history.add("use password=hunter2hunter2 now")
    assert "hunter2" not in file.read_text()
    assert history.older("") == "use password=hunter2hunter2 now", "in this session it is as it was typed"
    assert kept_in(file).older("") is not None


def test_new_lines_long_pastes_and_the_way_back(tmp_path):
    terminal = Terminal(tmp_path, "One.", "Two.")
    paste = "\n".join(f"line {n}" for n in range(500))

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            prompt = terminal.app.prompt
            await pilot.press("a", "ctrl+j", "b", "alt+enter", "c", "backslash", "enter", "d")
            assert prompt.text == "a\nb\nc\nd"
            await pilot.press("enter")
            await terminal.idle(pilot)
            prompt.post_message(events.Paste(paste))
            await pilot.pause()
            assert prompt.text == "[pasted #1: 500 lines, 4,389 characters]"
            await pilot.press("x", "enter")
            await terminal.idle(pilot)
            assert "… 490 more lines" in terminal.text()
            await pilot.press("up")
            assert prompt.text.startswith("[pasted #1")
            assert prompt.whole == paste + "x"
            await pilot.press("up")
            assert prompt.text == "a\nb\nc\nd"

    driven(work())
    assert said(terminal) == ["a\nb\nc\nd", paste + "x"]


@pytest.mark.slow
def test_files_and_commands_are_completed_in_the_box(tmp_path):
    terminal = Terminal(tmp_path, [call("Read", path="src/with space.py")], "Read.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            prompt = terminal.app.prompt
            await pilot.press(*"@spa")
            await terminal.until(pilot, lambda: "src/with space.py" in terminal.text())
            await pilot.press("tab")
            assert prompt.text == '@"src/with space.py" '
            await pilot.press(*"@加载")
            await terminal.until(pilot, lambda: "› src/加载.py" in terminal.text())
            await pilot.press("enter")
            assert prompt.text == '@"src/with space.py" @src/加载.py '
            await pilot.press("enter")
            await terminal.idle(pilot)
            await pilot.press("/", "h")
            await terminal.until(pilot, lambda: "› /help" in terminal.text())
            await pilot.press("escape")
            await pilot.pause()
            assert "› /help" not in terminal.text()
            await pilot.press("backspace", "h", "tab")
            assert prompt.text == "/help "
            await pilot.press("ctrl+u", *"/mod")
            await terminal.until(pilot, lambda: "/model" in terminal.text())
            await pilot.press("tab")
            assert prompt.text == "/mode", "what both begin with, and both are still offered"
            await pilot.press("l", "tab")
            assert prompt.text == "/model"

    driven(work())
    assert said(terminal) == ['@"src/with space.py" @src/加载.py ']
    assert "You must read them" in str(terminal.model.requests[0].messages)


def test_earlier_input_is_searched(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test(size=(40, 12)) as pilot:
            await terminal.ready(pilot)
            for line in ("fix the loader", "write tests", "fix\nthe parser"):
                terminal.app.prompt.lines_kept.add(line)
            await terminal.type(pilot, "half", "ctrl+r")
            await terminal.until(pilot, lambda: bool(terminal.app.query("#typed:focus")))
            assert "› fix the parser" in terminal.text()
            await pilot.press(*"loader")
            await terminal.until(pilot, lambda: "› fix the loader" in terminal.text())
            await pilot.press("enter")
            await terminal.until(pilot, lambda: terminal.app.prompt.text == "fix the loader")
            await pilot.press("up")
            assert terminal.app.prompt.text == "half", "what was in the box is kept"

    driven(work())


def test_an_editor_is_named_or_found_and_one_that_fails_changes_nothing(tmp_path):
    assert editor_command({"VISUAL": "sh -c", "EDITOR": "false"}) == ["sh", "-c"]
    with pytest.raises(InputError, match="`no-such-editor` was not found"):
        editor_command({"EDITOR": "no-such-editor"})
    assert edit_text("one", ["sh", "-c", 'echo two >> "$0"']) == "onetwo"
    with pytest.raises(InputError, match="ended with code 1"):
        edit_text("one", ["false"])


def test_the_path_of_a_picture_that_is_pasted_becomes_a_mention(tmp_path):
    picture = tmp_path / "my shot.png"
    picture.write_bytes(b"")
    mention = f'@"{picture}" '
    for pasted in (str(picture).replace(" ", "\\ "), f"'{picture}' ", picture.as_uri()):
        assert pasted_picture(pasted) == mention
    for other in (
        str(picture),
        f"{picture}x",
        "my shot.png",
        "it's a word",
        "",
        "~nobody/a.png",
        "a\n/b.png",
    ):
        assert pasted_picture(other) == ""


def test_a_picture_is_attached_and_sent(tmp_path):
    settings = RequestSettings(entry=ModelEntry(name="scripted/model", images=True))
    terminal = Terminal(tmp_path, "I see it.", request_settings=settings)
    raw = b"GIF89a\x01\x00\x01\x00\x00\x00\x00\x3b"
    (tmp_path / "shot.gif").write_bytes(raw)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            terminal.app.prompt.post_message(events.Paste(str(tmp_path / "shot.gif")))
            await terminal.until(pilot, lambda: terminal.app.prompt.text.startswith("@"))
            await pilot.press("enter")
            await terminal.idle(pilot)
            notes = [piece.text for piece in terminal.app.transcript.pieces if isinstance(piece, NotePiece)]
            assert "is a GIF picture of 1 × 1 pixels" in notes[0]

    driven(work())
    [sent] = [
        part
        for m in terminal.model.requests[0].messages
        for part in getattr(m, "parts", ())
        if isinstance(part, Image)
    ]
    assert b64decode(sent.data) == raw


def test_alt_enter_of_old_terminals_is_a_new_line():
    register_alt_enter()
    assert [event.key for event in XTermParser(False).feed("\x1b\r")] == ["ctrl+j"]


def test_what_is_typed_before_the_agent_is_loaded_is_said_then(tmp_path):
    terminal = Terminal(tmp_path, "Hello.")
    make, go = terminal.make, asyncio.Event()

    async def slowly(options, **asked):
        await go.wait()
        return await make(options, **asked)

    terminal.make = slowly

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.say(pilot, "one")
            await terminal.say(pilot, "two")
            go.set()
            await terminal.ready(pilot)
            await terminal.until(pilot, lambda: "Hello." in terminal.text())

    driven(work())
    assert said(terminal) == ["one", "two"]
    lines = (tmp_path / "store.db.prompts").read_text().splitlines()
    assert [json.loads(line) for line in lines] == ["one", "two"]


def test_what_the_empty_prompt_says_is_cut_with_a_mark(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test(size=(40, 12)) as pilot:
            await terminal.ready(pilot)
            await terminal.until(pilot, lambda: "│› Say what to do · / commands · @…" in terminal.text())
            await pilot.resize_terminal(80, 24)
            await terminal.until(pilot, lambda: "Shift+Tab mode   " in terminal.text())

    driven(work())
