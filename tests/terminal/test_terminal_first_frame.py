"""The first frame: there before the library that draws is loaded, as that library paints it, and no key is lost."""

import asyncio
import contextlib
import os
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from holdfast.agents.options import AgentOptions
from holdfast.terminal.app import AgentApp
from holdfast.terminal.first_frame import ENTER, LEAVE, default_banner, frame
from holdfast.terminal.interface import StatusFigures
from support.terminal_pty import Pty
from support.terminal_session import driven, repository

FIGURES = StatusFigures(model="anthropic/claude-opus-5-5", branch="main", mode="ask")
MODEL = "compatible/none@http://127.0.0.1:9/v1"
"""Nobody answers there; nothing is asked before something is said."""
HELD = """
import sys

held = sys.argv.pop(1)

class Hold:
    '''Holds up the import of the library that draws until something comes through the pipe.'''

    def find_spec(self, name, path=None, target=None):
        if name == "textual":
            sys.meta_path.remove(self)
            with open(held, "rb") as pipe:
                pipe.read()

sys.meta_path.insert(0, Hold())
from holdfast.cli import main
main()
"""


def rows(sent, height):
    """What a frame puts on each row, without its styles."""
    lines = [""] * height
    for row, text in re.findall(r"\x1b\[(\d+);1H([^\x1b]*(?:\x1b\[[0-9;]*m[^\x1b]*)*)", sent):
        lines[int(row) - 1] = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip()
    return lines


@contextlib.contextmanager
def started(folder, *options, held="", **env):
    """The agent in a terminal. With the pipe `held`, the first frame stays until that is written to."""
    root = repository(folder)
    places = {"HOME": folder, "HOLDFAST_STORE": folder / "store.db", "XDG_CONFIG_HOME": folder}
    program = ["-c", HELD, held] if held else ["-m", "holdfast"]
    command = [sys.executable, *program, "--model", MODEL, *options]
    opened = Pty(command, root, **{"TERM": "xterm-256color", "COLUMNS": "", "LINES": "", **places, **env})
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (62, 12)])
def test_it_is_what_the_library_paints_next(tmp_path, width, height):
    root = repository(tmp_path)

    async def never(_display, _target):
        await asyncio.Event().wait()

    async def work():
        app = AgentApp(AgentOptions(root=root), never, banner=default_banner(root), figures=FIGURES)
        async with app.run_test(size=(width, height)) as pilot:
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    painted = [re.sub(r"loading · \d+ s", "loading · 0 s", row) for row in driven(work())]
    assert rows(frame(default_banner(root), FIGURES, width, height, is_coloured=True), height) == painted
    assert "anthropic/claude-opus-5-5 · main · ask mode · $0.00" in painted[-1]


@given(
    st.integers(24, 200),
    st.integers(8, 60),
    st.builds(
        StatusFigures,
        model=st.text(max_size=60),
        branch=st.text(max_size=60),
        mode=st.sampled_from(["", "auto"]),
    ),
    st.text(max_size=80),
    st.booleans(),
)
def test_no_row_is_longer_than_the_terminal_and_no_text_steers_it(
    width, height, figures, banner, is_coloured
):
    sent = frame(banner, figures, width, height, is_coloured=is_coloured)
    for line in rows(sent, height):
        assert cell_len(line) < width
    rest = re.sub(r"\x1b\[(?:2J|\d+;1H|[0-9;]*m)", "", sent)
    assert not any(unicodedata.category(character) == "Cc" for character in rest)
    if not is_coloured:
        assert not re.search(r"\x1b\[[0-9;]*\d\dm", sent)


@pytest.fixture
def pipe(tmp_path):
    place = tmp_path / "pipe"
    os.mkfifo(place)
    return place


@pytest.mark.slow
def test_what_is_typed_before_the_prompt_is_there_arrives_in_it(tmp_path, pipe):
    with started(tmp_path, held=pipe) as terminal:
        terminal.read_until(b"loading")
        assert b"\x1b[?1000h" not in terminal.sent, "the library has not begun yet"
        terminal.write("früh 请\r and more".encode())
        pipe.write_bytes(b"go on")
        terminal.read_until(b"queued: read at the next step")
        terminal.read_until(b"and more")
        assert "früh 请".encode() in terminal.sent
        assert terminal.sent.count(ENTER.encode()) == 1


def test_an_early_ctrl_c_leaves_the_terminal_as_it_was(tmp_path, pipe):
    with started(tmp_path, held=pipe) as terminal:
        terminal.read_until(b"loading")
        assert terminal.attributes() != terminal.before, "nothing typed is shown"
        terminal.write(b"\x03")
        assert terminal.code() == 130
        assert terminal.attributes() == terminal.before
        assert terminal.sent.index(ENTER.encode()) < terminal.sent.rindex(LEAVE.encode())
        assert terminal.sent.endswith(b"interrupted\r\n")


@pytest.mark.slow
def test_leaving_later_gives_back_what_was_there_before_the_first_frame(tmp_path):
    with started(tmp_path) as terminal:
        terminal.read_until(b"tokens are assumed")
        terminal.write(b"\x04")
        assert terminal.code() == 0
        assert terminal.attributes() == terminal.before
        assert b"to resume this session" in terminal.sent


@pytest.mark.slow
def test_a_terminal_that_understands_nothing_gets_no_first_frame(tmp_path):
    with started(tmp_path, TERM="unknown") as terminal:
        terminal.read_until(ENTER.encode())
        assert terminal.sent.startswith(ENTER.encode())
        assert b"loading" not in terminal.sent.partition(b"\x1b[?1000h")[0]


@pytest.mark.slow
def test_after_a_tour_nothing_is_said_of_going_on(tmp_path):
    command = [sys.executable, "-m", "holdfast", "tour"]
    terminal = Pty(command, tmp_path, TERM="xterm-256color", COLUMNS="", LINES="", HOME=tmp_path)
    try:
        terminal.read_until(b"type anything and press Enter to begin")
        terminal.read_until(b"of 13k")
        terminal.write(b"\x04")
        assert terminal.code() == 0
        assert b"to resume this session" not in terminal.sent, "the scratch store is gone"
    finally:
        terminal.close()


@pytest.mark.slow
def test_what_is_wrong_is_said_on_the_screen_that_was_there(tmp_path):
    with started(tmp_path, "--continue") as terminal:
        assert terminal.code() == 3
        said = terminal.sent.rpartition(b"\x1b[?1049l")[2]
        assert b"there is no session in" in said
        assert terminal.attributes() == terminal.before
