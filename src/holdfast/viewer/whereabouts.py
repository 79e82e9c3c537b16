"""Where something of a log is in the window of a request: in full, shortened, in a note or a summary, or nowhere.

Rule: answers come from the blocks that were sent. A note speaks of the items it replaced, a summary of what it
covers; whether either has the same words is for the reader of their text to say.
"""

from bisect import bisect_right
from functools import cached_property
from typing import Literal

from msgspec import Struct

from holdfast.messages import Message
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.sent import SentBlock
from holdfast.views.transcript import FrozenTranscript, Item, Step

Presence = Literal["full", "shortened", "note", "summary", "tail", "gone"]


class WindowPlace(Struct, frozen=True, gc=False):
    """`at` is the number of the block that has it, or speaks of it; -1 where none does. `words` say where it is."""

    presence: Presence
    at: int
    words: str


class Whereabouts:
    """All places of one request. An index is made when it is first needed: most comparisons need none."""

    def __init__(self, history: RequestHistory, number: int) -> None:
        self.transcript = history.transcript(number)
        self.blocks = history.blocks(number)
        self._is_list = history.basis == "list"

    @cached_property
    def summary(self) -> int:
        """The last block of a summary, which is the working state where there is one; -1 where there is none."""
        return max((at for at, block in enumerate(self.blocks) if block.kind == "summary"), default=-1)

    @cached_property
    def _shown(self) -> dict[tuple[int, str], int]:
        """The first block of each item, or of one result of a step."""
        shown: dict[tuple[int, str], int] = {}
        for at, block in enumerate(self.blocks):
            if block.kind in ("user", "assistant", "result"):
                shown.setdefault((block.position, block.call_id), at)
        return shown

    @cached_property
    def _notes(self) -> list[tuple[int, int]]:
        return sorted((block.position, at) for at, block in enumerate(self.blocks) if block.kind == "note")

    @cached_property
    def _covered(self) -> int:
        return _covered_position(self.transcript)

    def shown(self, item: Item, call_id: str = "") -> Message | None:
        """An item as the window has it, or one result of a step; None where it has no block of its own."""
        at = self._shown.get((item.position, call_id), -1)
        return None if at < 0 else self.blocks[at].message

    def of(self, item: Item, call_id: str = "") -> WindowPlace:
        """Where an item is, or one result of a step."""
        at = self._shown.get((item.position, call_id), -1)
        if at < 0:
            return self.of_hidden(item.position)
        block = self.blocks[at]
        if block.message == original_message(item, call_id):
            return WindowPlace("full", at, "in the window in full")
        level = f" ({block.level})" if block.level and block.level != "full" else ""
        return WindowPlace("shortened", at, f"in the window, shortened{level}")

    def of_hidden(self, position: int) -> WindowPlace:
        """Where something is that has no block of its own."""
        note = self._note_over(position)
        if note >= 0:
            return WindowPlace("note", note, f"in {note_name(self.transcript, self.blocks[note])}")
        if self.summary >= 0 and (position <= self._covered or self._is_list):
            what = (
                "the client's compaction; its summary is" if self._is_list else "a compaction; the summary is"
            )
            return WindowPlace("summary", self.summary, f"before {what} in the window")
        if self._is_list:
            return WindowPlace("gone", -1, "before the client's compaction, and not in the window")
        return WindowPlace("gone", -1, "not in the window")

    def _note_over(self, position: int) -> int:
        """The block of the note that replaced an item, -1 where none did."""
        before = bisect_right(self._notes, (position, len(self.blocks)))
        if before == 0:
            return -1
        at = self._notes[before - 1][1]
        return at if position <= self.blocks[at].end else -1


def original_message(item: Item, call_id: str = "") -> Message | None:
    """An item as it is in the log, or one result of a step; None where that was never recorded."""
    if not call_id:
        return item.message
    return item.results.get(call_id) if isinstance(item, Step) else None


def note_name(transcript: FrozenTranscript, note: SentBlock) -> str:
    """A note by the steps that it replaced, counted from 1."""
    first = _first_step(transcript, range(note.position, note.end + 1))
    last = _first_step(transcript, range(note.end, note.position - 1, -1))
    if not first:
        return "a note"
    return f"the note of step {first}" if first == last else f"the note of steps {first} to {last}"


def _first_step(transcript: FrozenTranscript, positions: range) -> int:
    """The number of the first step at these positions, counted from 1; 0 where there is none."""
    items = (transcript.items[position] for position in positions)
    return next((item.number + 1 for item in items if isinstance(item, Step)), 0)


def _covered_position(transcript: FrozenTranscript) -> int:
    """The newest item that a summary covers, -1 where there is none."""
    covered = transcript.compactions.covered
    if not covered:
        return -1
    for item in reversed(transcript.items):
        if item.entry == covered or (isinstance(item, Step) and covered in item.result_entries.values()):
            return item.position
    return -1
