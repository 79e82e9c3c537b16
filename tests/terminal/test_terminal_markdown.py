"""A reply in chunks: the same however it arrives, and nothing of it is lost."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import Text
from holdfast.models.model import ModelReply, ReplyCompleted, TextDelta
from holdfast.terminal.markdown_chunks import HARD, SOFT, cut_blocks, cut_chunks
from holdfast.terminal.piece_widgets import ReplyChunk
from support.terminal_session import Terminal, driven

LINES = [
    "# Head",
    "words " * 40,
    "- item",
    "  more of it",
    "1. one",
    "```python",
    "```",
    "~~~~",
    "x = 1",
    "",
    "",
    "| a | b |",
]
texts = st.lists(st.sampled_from(LINES), max_size=400).map("\n".join)


def pieces(text):
    """All chunks, and what is left."""
    found = list(cut_chunks(text))
    last = found[-1] if found else None
    return found, text[last.end if last else 0 :]


@given(texts)
def test_nothing_is_lost_and_no_chunk_is_long(text):
    chunks, rest = pieces(text)
    opens, whole = "", ""
    for chunk in chunks:
        assert chunk.text.startswith(opens)
        whole += chunk.text.removeprefix(opens)
        assert len(chunk.text) - len(opens) <= HARD
        opens = chunk.opens
    assert whole + rest == text
    assert len(rest) <= HARD


@given(texts, st.lists(st.integers(1, 3000), max_size=60))
def test_the_chunks_are_the_same_however_the_text_arrives(text, sizes):
    found, end, opens, at = [], 0, "", 0
    for size in [*sizes, len(text)]:
        at = min(len(text), at + size)
        for chunk in cut_chunks(text[:at], end, opens):
            found.append(chunk)
            end, opens = chunk.end, chunk.opens
    assert found == pieces(text)[0]


@given(texts)
def test_blocks_are_all_of_the_text(text):
    if not any(chunk.opens for chunk in cut_chunks(text, soft=0)):
        assert "".join(cut_blocks(text)) == text


def test_a_chunk_ends_before_a_block_and_not_inside_a_list_or_code():
    filler = "words " * (SOFT // 6)
    listed = f"{filler}\n\nIntro\n\n- one\n\n- two\n\n  more\n\nAfter\n\nLast\n"
    [chunk] = cut_chunks(listed)
    assert listed[chunk.end :].startswith("Intro")
    code = f"```\n{filler}\n\nx\n\ny\n```\n\nAfter\n\nLast\n"
    [chunk] = cut_chunks(code)
    assert code[chunk.end :].startswith("After")


@pytest.mark.parametrize("size", [(40, 12), (200, 60)])
def test_markdown_is_laid_out_while_it_streams(tmp_path, size):
    long = "".join(f"Part {n} is **bold** and long enough to fill a line.\n\n" for n in range(200))
    model = Slow(f"# Head\n\n- **one**\n- two\n\n{long}End.")
    terminal = Terminal(tmp_path, model=model)

    async def work():
        async with terminal.app.run_test(size=size) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.until(pilot, lambda: " • one" in terminal.text())
            assert "Part 0" not in terminal.text()
            model.go.set()
            await terminal.idle(pilot)
            await terminal.until(pilot, lambda: "End." in terminal.text())
            assert "Part 199 is bold" in terminal.text()
            assert len(terminal.app.query(ReplyChunk)) < 10

    driven(work())


class Slow:
    """A model that waits after the first characters of its reply until it is told to go on."""

    name = "slow/model"

    def __init__(self, text):
        self.text = text
        self.go = asyncio.Event()

    async def stream(self, _request):
        yield TextDelta(self.text[:24])
        await self.go.wait()
        yield TextDelta(self.text[24:])
        yield ReplyCompleted(ModelReply(parts=(Text(self.text),), stop="end"))

    async def aclose(self):
        pass


def test_long_code_goes_on_as_code():
    code = "```python\n" + "x = 1\n" * 1_500 + "```\n"
    chunks, rest = pieces(code)
    assert len(chunks) == 1
    assert chunks[0].is_inside
    assert chunks[0].opens == "```python\n"
    assert rest.endswith("```\n")
