"""Residency: how much of a text stands in the window, in its own place or quoted in a note.

Rule: what counts is what the messages hold. A level or a note's list only says which kind of shortening it is.
"""

from typing import Literal

from msgspec import Struct

from holdfast.messages import (
    AssistantMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
    joined_text,
)
from holdfast.packing.folding.excerpts import RESULT, numbers_in
from holdfast.packing.lines.records import records_of
from holdfast.packing.renditions.file_lines import written
from holdfast.packing.renditions.marks import marked_as
from holdfast.packing.window import Window
from holdfast.views.transcript import Step

State = Literal["resident", "clipped", "digest", "stub", "stale", "gone"]
STATES: tuple[State, ...] = ("resident", "clipped", "digest", "stub", "stale", "gone")

Part = Literal["result", "argument"]
Place = tuple[str, str, Part]
"""Where a text stands in a log: entry of the step, call, and whether the call returned it or was given it."""


class Residence(Struct, frozen=True, gc=False):
    """How a text stands, what it takes there, and as what."""

    state: State = "gone"
    tokens: int = 0
    text: str = ""


GONE = Residence()


class StepView:
    """A step as the window shows it now. `quoted` are the tokens that notes take to quote it."""

    def __init__(self, window: Window, step: Step, quoted: dict[Place, int]) -> None:
        self.step = step
        self._counter = window.scene.counter
        self._level = window.levels[step.number][0]
        self._quoted = quoted
        self._results: dict[str, ToolMessage] = {}
        self._calls: dict[str, ToolCall] = {}
        for message in window.blocks[step.position].messages:
            if isinstance(message, ToolMessage):
                self._results[message.call_id] = message
            elif isinstance(message, AssistantMessage):
                self._calls.update((call.id, call) for call in message.calls)

    def result(self, call_id: str) -> Residence:
        shown = self._results.get(call_id)
        if shown is None:
            return self._quotation(call_id, "result")
        tokens = sum(map(self._counter.part, shown.parts))
        state = self._state(self.step.results[call_id].parts, shown.parts)
        return Residence(state, tokens, joined_text(shown.parts))

    def content(self, call_id: str, content: str) -> Residence:
        """What a write was given."""
        call = self._calls.get(call_id)
        if call is None:
            return self._quotation(call_id, "argument")
        shown = written(call.arguments) or ""
        tokens = min(self._counter.text(shown), self._counter.part(call))
        if shown == content:
            return Residence("resident", tokens, shown)
        return Residence("stub" if self._level == "stub" or marked_as(shown) else "digest", tokens, shown)

    def _quotation(self, call_id: str, part: Part) -> Residence:
        tokens = self._quoted.get((self.step.entry, call_id, part))
        return GONE if tokens is None else Residence("digest", tokens)

    def _state(self, whole: tuple[UserPart, ...], shown: tuple[UserPart, ...]) -> State:
        if shown == whole:
            return "resident"
        if all(isinstance(s, Text) and s not in whole and marked_as(s.text) for s in shown):
            return "stub"
        return "clipped" if self._level in ("full", "clipped") else "digest"


def quoted_tokens(window: Window) -> dict[Place, int]:
    """Tokens of the lines that notes quote, by where these came from; in sum no more than the notes take."""
    steps = {step.entry: step for step in window.transcript.steps}
    count = window.scene.counter.text
    found: dict[Place, int] = {}
    for note, block in window.notes.values():
        shown = {
            row
            for message in block.messages
            if isinstance(message, UserMessage)
            for row in joined_text(message.parts).split("\n")
        }
        left = block.tokens
        for kept in note.kept:
            if kept.part != RESULT and not kept.part.isdecimal():
                continue
            part: Part = "result" if kept.part == RESULT else "argument"
            text = _source_text(steps.get(kept.step), kept.call, part)
            lines = (records_of(text) if part == "result" else None) or text.split("\n")
            rows = [lines[n] for n in numbers_in(kept.lines) if n < len(lines) and lines[n] in shown]
            quoted = "\n".join(row for row in rows if row.strip())
            if quoted:
                place = kept.step, kept.call, part
                # Records may take more than the text they were taken from, and two notes may quote the same.
                tokens = min(count(quoted), count(text) - found.get(place, 0), left)
                found[place] = found.get(place, 0) + tokens
                left -= tokens
    return found


def _source_text(step: Step | None, call_id: str, part: Part) -> str:
    """The text that kept lines were taken from, if it is one that can be asked for."""
    if step is None or call_id not in step.results:
        return ""
    if part == "result":
        return joined_text(step.results[call_id].parts)
    return written(step.calls[call_id].arguments) or ""
