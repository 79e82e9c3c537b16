"""Presence: how much of a text the window shows, in its own place or quoted in a note, and which lines of a file.

Rule: what counts is what the messages hold; a level or a note's list only says which kind of shortening it is.
When in doubt, a line is not shown: one that is wrongly taken for shown would let somebody say "unchanged" of a
text that nobody has, and one that is wrongly taken for missing costs one more read.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from holdfast.line_ranges import LineRange, merge_ranges
from holdfast.messages import (
    AssistantMessage,
    Json,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
    joined_text,
)
from holdfast.packing.lines.excerpts import parse_ranges
from holdfast.packing.lines.passages import RESULT, json_records
from holdfast.packing.rendering.digests import reports_failure
from holdfast.packing.rendering.marks import marked_as
from holdfast.packing.view import WindowView
from holdfast.tool_use import FROM_END, ToolUse
from holdfast.tool_use.output import exit_code, output_rows, output_text
from holdfast.views.transcript import Step

FEWEST = 4
"""An unnumbered text of fewer lines may as well be a message about the file; to read it again is cheap."""

LONGEST = 2_000
"""Characters from which a line may have been cut inside by the tool."""

EDGE_ROWS = 40
"""Lines at either end of a result in which its first and its last line number are."""

CONTENT_KEYS = ("content", "contents", "file_text", "text")

_NUMBER = re.compile(r"[ \t]*(\d{1,9})([→\t|:]|\.(?= |$))")
_CUT = re.compile(
    r"(?i)[ \t]*[\[(<{*.…-].*(?:truncat|omitted|elided|clipped|left out|not shown|\bmore lines?\b|\bshowing\b)"
    r"|.*…\s?\d+[^\n]{0,20}truncated"
)
_FAILED = re.compile(
    r"(?i)\W*(?:tool_use_)?error\b|traceback \(|(?:[^\n]*\n){0,5}[^\n]{0,200}"
    r"(?:no such file or directory|\bdoes not exist\b|exit(?:ed)? (?:with )?(?:code|status) [1-9])"
)
_DONE = re.compile(r"(?i)\b(?:success\w*|wrote|written|created|updated|saved|overwritten|done|ok)\b")
_NOT = re.compile(r"(?i)\bnot?\b|n't\b|\breject|\bdeclin|\bcancel|error")
_ELSEWHERE = re.compile(r"\s*cd\s")


class FileLines(Struct, frozen=True, gc=False):
    """Lines of a file by number, each as it is in the text, a number before it included.

    `known_by` says how the numbers are known: they come before the lines, the lines were counted from where the
    call says they begin, or the text is the file. `is_open` means that the lines go on to where a read without an
    end would; `end` is the file's last line, 0 where that is not known.
    """

    lines: dict[int, str]
    known_by: Literal["number", "count", "file"] = "count"
    is_open: bool = False
    end: int = 0

    @property
    def spans(self) -> tuple[LineRange, ...]:
        return merge_ranges((n, n) for n in self.lines)

    def still_in(self, shown: str) -> "FileLines":
        """Of a text that was shortened, the lines that are left. Only numbers tell a line from another like it."""
        if self.known_by != "number":
            return FileLines({})
        rows = set(shown.split("\n"))
        left = {number: row for number, row in self.lines.items() if row in rows}
        return FileLines(left, "number", self.is_open and max(self.lines) in left, self.end)

    def words(self) -> dict[int, str]:
        """The lines without their numbers and white space at the ends; none where the numbers are only counted,
        since a head that a tool puts above the lines would shift them all."""
        if self.known_by == "count":
            return {}
        if self.known_by == "file":
            return {number: row.strip() for number, row in self.lines.items()}
        return {number: _NUMBER.sub("", row, count=1).strip() for number, row in self.lines.items()}


NO_LINES = FileLines({})


def lines_read(use: ToolUse, text: str) -> FileLines:
    """The lines that a read returned."""
    if use.is_mixed or not shows_file(use, text) or _ELSEWHERE.match(use.command):
        return NO_LINES
    whole = text.split("\n")
    own = output_rows(whole)
    rows = whole[own.start : own.stop]
    is_cut = any(_CUT.match(row) for row in (*whole[: own.start], *whole[own.stop :]))
    numbered = _numbered(use, rows)
    if not numbered:
        return _counted(use, rows, is_cut=is_cut)
    is_cut = is_cut or any(_CUT.match(row) for row in rows if not _NUMBER.match(row))
    last = max(numbered)
    end = last if use.last > last and not is_cut else 0
    lines = _uncut(numbered)
    return FileLines(lines, "number", not use.last and not is_cut and last in lines, end)


def lines_written(content: str) -> FileLines:
    """The lines of a text that a write left as a file."""
    rows = content.removesuffix("\n").split("\n") if content else []
    return FileLines(dict(enumerate(rows, 1)), "file", True, len(rows))


def written_content(arguments: Mapping[str, Json]) -> str | None:
    """The text that a write leaves as its file; None where the call does not tell it, or only adds to the file."""
    mode = arguments.get("mode")
    if arguments.get("append") or (isinstance(mode, str) and mode.startswith("a")):
        return None
    return next((v for key in CONTENT_KEYS if isinstance(v := arguments.get(key), str)), None)


def shows_file(use: ToolUse, text: str) -> bool:
    """Whether a read returned what is in the file, not a message about it: few tools say that they failed."""
    rows = output_text(text).rstrip().split("\n", FEWEST)
    first = next((row for row in rows if not row.startswith("(")), "")
    if not use.command and (found := _NUMBER.match(first)) and found[2] not in ":.":
        return True
    is_long = len(rows) >= FEWEST or rows[0].lstrip()[:1] == "{"
    return is_long and not _FAILED.match(text) and not (use.command and exit_code(text))


def has_written(use: ToolUse, text: str) -> bool:
    """Whether a result says that a write was made; a call that a person refused is seldom flagged as an error."""
    line = text.split("\n", 1)[0][:400].replace(use.path, "")
    return bool(_DONE.search(line)) and not _NOT.search(line) and not reports_failure(line)


def read_range(use: ToolUse, text: str) -> LineRange:
    """First and last line of a read, by the numbers in its result or else by the call; 0 where neither tells."""
    rows = output_text(text).split("\n")
    if not use.command:
        first = next((int(m[1]) for row in rows[:EDGE_ROWS] if (m := _NUMBER.match(row))), 0)
        last = next((int(m[1]) for row in reversed(rows[-EDGE_ROWS:]) if (m := _NUMBER.match(row))), 0)
        if 0 < first <= last < first + len(rows) and (last - first + 1) * 2 >= _without_remarks(rows):
            return first, last
    if use.first == FROM_END:
        return 0, 0
    return use.first or int(use.last > 0), use.last


def _numbered(use: ToolUse, rows: Sequence[str]) -> dict[int, str]:
    """Rows by the numbers they begin with; none unless half of the rows are numbered, without a gap."""
    if use.command:
        # What a shell prints of a file has no numbers, and a file may hold some of its own.
        return {}
    found = [(int(m[1]), m[2], row) for row in rows if (m := _NUMBER.match(row))]
    in_order = all(b[0] == a[0] + 1 for a, b in pairwise(found))
    # A few lines such as `404: not found` are no listing, and neither is a list of steps in a text.
    sure = len(found) >= FEWEST or all(separator not in ":." for _, separator, _ in found)
    if any(separator == "." for _, separator, _ in found):
        sure = sure and found[0][0] == max(use.first, 1) and len(found) >= len([row for row in rows if row])
    is_listing = in_order and sure and len(found) * 2 >= _without_remarks(rows)
    return {number: row for number, _, row in found} if is_listing else {}


def _without_remarks(rows: Sequence[str]) -> int:
    """How many rows there are besides those in brackets, with which a tool speaks about a file."""
    return sum(not row.startswith("(") for row in rows)


def _counted(use: ToolUse, rows: Sequence[str], *, is_cut: bool) -> FileLines:
    """Rows without numbers, counted from where the call says that they begin. `is_cut` says that there is more."""
    if not rows:
        return NO_LINES
    if use.first == FROM_END or (rows[0].lstrip()[:1] == "{" and not use.path.endswith(".json")):
        return NO_LINES
    rows, has_tail = _without_tail(rows)
    is_cut = is_cut or has_tail
    if len(rows) < FEWEST or any(_CUT.match(row) for row in rows):
        return NO_LINES
    first = use.first or 1
    asked = use.last - first + 1 if use.last else len(rows)
    end = first + len(rows) - 1 if len(rows) < asked and not is_cut else 0
    lines = _uncut(dict(enumerate(rows[:asked], first)))
    reaches = not use.last and not is_cut and first + len(rows) - 1 in lines
    return FileLines(lines, "count", reaches, end)


def _without_tail(rows: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The rows without a last one that says how many more there are, and whether there was such a row."""
    if rows and not rows[-1]:
        rows = rows[:-1]
    if rows and _CUT.match(rows[-1]):
        rows = rows[:-1]
        return (rows[:-1] if rows and not rows[-1].strip() else rows), True
    return rows, False


def _uncut(lines: Mapping[int, str]) -> dict[int, str]:
    return {number: row for number, row in lines.items() if len(row) < LONGEST}


PresenceState = Literal["resident", "clipped", "digest", "stub", "stale", "gone"]
STATES: tuple[PresenceState, ...] = ("resident", "clipped", "digest", "stub", "stale", "gone")

Part = Literal["result", "argument"]
Place = tuple[str, str, Part]
"""Where a text is in a log: entry of the step, call, and whether the call returned it or was given it."""


class Presence(Struct, frozen=True, gc=False):
    """The state of a text, the tokens it takes, and what it is shown as."""

    state: PresenceState = "gone"
    tokens: int = 0
    text: str = ""


GONE = Presence()


class StepPresence:
    """A step as the window shows it now. `quoted` are the tokens that notes take to quote it."""

    def __init__(self, view: WindowView, step: Step, quoted: dict[Place, int]) -> None:
        self.step = step
        self._counter = view.counter
        self._level = view.levels[step.number][0]
        self._quoted = quoted
        self._results: dict[str, ToolMessage] = {}
        self._calls: dict[str, ToolCall] = {}
        for message in view.blocks[step.position].messages:
            if isinstance(message, ToolMessage):
                self._results[message.call_id] = message
            elif isinstance(message, AssistantMessage):
                self._calls.update((call.id, call) for call in message.calls)

    def result(self, call_id: str) -> Presence:
        shown = self._results.get(call_id)
        if shown is None:
            return self._quotation(call_id, "result")
        tokens = sum(map(self._counter.part, shown.parts))
        state = self._state(self.step.results[call_id].parts, shown.parts)
        return Presence(state, tokens, joined_text(shown.parts))

    def content(self, call_id: str, content: str) -> Presence:
        """What a write was given."""
        call = self._calls.get(call_id)
        if call is None:
            return self._quotation(call_id, "argument")
        shown = written_content(call.arguments) or ""
        tokens = min(self._counter.text(shown), self._counter.part(call))
        if shown == content:
            return Presence("resident", tokens, shown)
        return Presence("stub" if self._level == "stub" or marked_as(shown) else "digest", tokens, shown)

    def _quotation(self, call_id: str, part: Part) -> Presence:
        tokens = self._quoted.get((self.step.entry, call_id, part))
        return GONE if tokens is None else Presence("digest", tokens)

    def _state(self, whole: tuple[UserPart, ...], shown: tuple[UserPart, ...]) -> PresenceState:
        if shown == whole:
            return "resident"
        if all(isinstance(s, Text) and s not in whole and marked_as(s.text) for s in shown):
            return "stub"
        return "clipped" if self._level in ("full", "clipped") else "digest"


def quoted_tokens(view: WindowView) -> dict[Place, int]:
    """Tokens of the lines that notes quote, by where these came from; in sum no more than the notes take."""
    steps = {step.entry: step for step in view.transcript.steps}
    count = view.counter.text
    found: dict[Place, int] = {}
    for note, block in view.notes.values():
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
            lines = (json_records(text) if part == "result" else None) or text.split("\n")
            rows = [lines[n] for n in parse_ranges(kept.lines) if n < len(lines) and lines[n] in shown]
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
    return written_content(step.calls[call_id].arguments) or ""
