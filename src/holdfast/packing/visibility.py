"""Visibility: how much of every tool result, and of every copy of a file, the window still shows.

Rule: made from a view alone. Where it is not certain that a line of a file is shown and current, it is not: nobody
may say "unchanged" of a text that is gone.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.ids import text_id
from holdfast.line_ranges import LineRange, covers_range, merge_ranges
from holdfast.messages import Image, Text, ToolMessage, joined_text
from holdfast.packing.presence import (
    NO_LINES,
    STATES,
    FileLines,
    PresenceState,
    StepPresence,
    has_written,
    lines_read,
    lines_written,
    quoted_tokens,
    read_range,
    shows_file,
    written_content,
)
from holdfast.packing.rendering.levels import LONG_ARGUMENT, source_id
from holdfast.packing.view import WindowView
from holdfast.tool_use import CHANGING, ToolUse
from holdfast.views.files import CallChange, CallMoment, changes_in, moment_of

VISIBLE_STATES: tuple[PresenceState, ...] = ("resident", "clipped", "digest")


class TextVisibility(Struct, frozen=True, gc=False):
    """A tool result, or as `argument` the text that a write was given.

    `state` is *resident* where the whole text is visible, *clipped* where it was shortened when it came or since,
    *digest* where some of its lines were picked, *stub* where only its name is left, *stale* where any of it
    is visible and its file was changed since, *gone* where nothing is. `tokens` is what it takes now, `size` what
    the whole takes, `id` brings that back. `is_copy` is whether it showed the file when it came. `lines` are those
    of the file that are visible verbatim and current; `is_open` and `end` say how far they go, as `FileLines` does.
    """

    step: int
    entry: str
    call: str
    part: Literal["result", "argument"]
    state: PresenceState
    tokens: int
    size: int
    id: str
    path: str = ""
    first: int = 0
    last: int = 0
    note: str = ""
    is_copy: bool = False
    lines: tuple[LineRange, ...] = ()
    is_open: bool = False
    end: int = 0


class VisibilityTotal(Struct, frozen=True):
    rows: int = 0
    tokens: int = 0
    size: int = 0


class Visibility(Struct, frozen=True):
    """Rows by step, oldest first. `changed` has the steps in which each file was changed, and `outdated` a sentence
    for each file that was not seen since."""

    rows: tuple[TextVisibility, ...]
    changed: dict[str, tuple[int, ...]]
    outdated: dict[str, str]

    def is_visible(self, path: str, first: int = 0, last: int = 0, *, since: int = 0) -> bool:
        """Whether every line of the range is visible, verbatim and current; steps before `since` do not count.

        Changes outside the agent's calls are for the caller to check. Without `last`, the range ends where an
        open-ended read ended. Lines picked by a digest or a note do not count.
        """
        rows = [row for row in self.rows if row.path == path and row.lines and row.step >= since]
        spans, start = merge_ranges(span for row in rows for span in row.lines), max(first, 1)
        # A file that another read shows to be longer ends nowhere that is known.
        longest = spans[-1][1] if spans else 0
        if last:
            end = max((row.end for row in rows), default=0)
            last = min(last, end) if end >= longest else last
            return start <= last and covers_range(spans, start, last)
        is_open = any(row.is_open and row.lines[-1][1] == longest for row in rows)
        return is_open and start <= longest and covers_range(spans, start, longest)

    def visible_lines(self, path: str) -> tuple[LineRange, ...]:
        """The lines of a file that are visible, verbatim and current."""
        return merge_ranges(span for row in self.rows if row.path == path for span in row.lines)

    def outdated_note(self, path: str) -> str:
        """The sentence that marks what was seen of a file as out of date; empty where it is not."""
        return self.outdated.get(path, "")

    def totals(self) -> dict[PresenceState, VisibilityTotal]:
        """Rows, visible tokens and tokens of the whole, by state."""
        found: dict[PresenceState, VisibilityTotal] = dict.fromkeys(STATES, VisibilityTotal())
        for row in self.rows:
            total = found[row.state]
            found[row.state] = VisibilityTotal(
                total.rows + 1, total.tokens + row.tokens, total.size + row.size
            )
        return found


class _RowDraft(Struct, frozen=True, gc=False):
    """A row before anything later is looked at. `at` is when it showed a file, None where it shows none;
    `instead` names a later read that shows as much."""

    row: TextVisibility
    at: CallMoment | None = None
    lines: FileLines = NO_LINES
    instead: str = ""


def visibility_of(view: WindowView) -> Visibility:
    """What the window shows of every result, and of every copy of a file."""
    quoted = quoted_tokens(view)
    drafts: list[_RowDraft] = []
    changes: dict[str, list[CallChange]] = {}
    sources: dict[str, _RowDraft] = {}
    for step in view.transcript.steps:
        for change in changes_in(step):
            changes.setdefault(change.path, []).append(change)
        drafts += _row_drafts(view, StepPresence(view, step, quoted), sources)
    for change in list(_unseen_changes(drafts, changes)):
        changes[change.path] = sorted([*changes.get(change.path, []), change], key=lambda c: c.at.step)
    rows = tuple(_finished_row(draft, changes) for draft in drafts)
    changed = {path: tuple(dict.fromkeys(c.at.step + 1 for c in made)) for path, made in changes.items()}
    return Visibility(rows, changed, _outdated(drafts, changes))


def _row_drafts(
    view: WindowView, presence: StepPresence, sources: dict[str, _RowDraft]
) -> Iterator[_RowDraft]:
    """A step's rows. `sources` are the copies of files so far, by the ids that bring them back; it adds its own."""
    step = presence.step
    superseded = view.files.stale_calls(step)
    for call_id, use in step.uses.items():
        result = step.results.get(call_id)
        if result is None:
            continue
        if use.kind == "write" and use.path and not result.error and has_written(use, result.text):
            for draft in _copy_written(view, presence, call_id):
                sources[draft.row.id] = draft
                yield draft
        draft = _returned(view, presence, call_id)
        if draft.at is not None:
            sources[draft.row.id] = draft
        elif use.kind == "recall" and not result.error and (source := sources.get(use.recalls)):
            note = f"brings back what step {source.row.step} showed"
            draft = _RowDraft(replace(draft.row, path=source.row.path, note=note), source.at)
        yield replace(draft, instead=superseded.get(call_id, ""))


def _copy_written(view: WindowView, presence: StepPresence, call_id: str) -> Iterator[_RowDraft]:
    """The file as a write left it, where the call tells."""
    step, use = presence.step, presence.step.uses[call_id]
    content = written_content(step.calls[call_id].arguments)
    if content is None:
        return
    shown, lines = presence.content(call_id, content), lines_written(content)
    row = TextVisibility(
        step=step.number + 1,
        entry=step.entry,
        call=use.label,
        part="argument",
        state=shown.state,
        tokens=shown.tokens,
        size=view.counter.text(content),
        id=text_id(content) if len(content) >= LONG_ARGUMENT else step.entry,
        path=use.path,
        first=min(lines.end, 1),
        last=lines.end,
    )
    yield _RowDraft(row, moment_of(step, call_id), lines if shown.state == "resident" else NO_LINES)


def _returned(view: WindowView, presence: StepPresence, call_id: str) -> _RowDraft:
    step, use = presence.step, presence.step.uses[call_id]
    result, shown = step.results[call_id], presence.result(call_id)
    text = joined_text(result.parts)
    is_read = use.kind == "read" and bool(use.path) and not use.is_mixed
    first, last = read_range(use, text) if is_read else (0, 0)
    row = TextVisibility(
        step=step.number + 1,
        entry=step.result_entries[call_id],
        call=use.label,
        part="result",
        state=shown.state,
        tokens=shown.tokens,
        size=sum(map(view.counter.part, result.parts)),
        id=_id_of(use, result, step.result_entries[call_id]),
        path=use.path if is_read or use.kind in CHANGING else "",
        first=first,
        last=last,
        note="failed" if result.error else "",
    )
    if not is_read or result.error or not _is_copy(use, result, text):
        return _RowDraft(row)
    lines = NO_LINES
    if shown.state in ("resident", "clipped"):
        lines = lines_read(use, text)
    if shown.state == "clipped":
        lines = lines.still_in(shown.text)
    return _RowDraft(row, moment_of(step, call_id), lines)


def _is_copy(use: ToolUse, result: ToolMessage, text: str) -> bool:
    return shows_file(use, text) or any(isinstance(part, Image) for part in result.parts)


def _id_of(use: ToolUse, result: ToolMessage, entry: str) -> str:
    """Of several parts that are not all texts only the entry brings back all."""
    if len(result.parts) == 1 and isinstance(picture := result.parts[0], Image):
        return source_id(use, picture.data or picture.url)
    is_text = bool(result.parts) and all(isinstance(part, Text) for part in result.parts)
    return source_id(use, joined_text(result.parts)) if is_text else entry


def _unseen_changes(
    drafts: Sequence[_RowDraft], changes: dict[str, list[CallChange]]
) -> Iterator[CallChange]:
    """Changes that no call tells of, such as a formatter's: a later copy has other words in the same line."""
    known: dict[str, dict[int, str]] = {}
    for draft in drafts:
        words = draft.lines.words()
        if not words or draft.at is None or _change_after(draft.at, changes.get(draft.row.path, ())):
            continue
        before = known.setdefault(draft.row.path, {})
        if any(before.get(number, line) != line for number, line in words.items()):
            before.clear()
            yield CallChange(draft.row.path, "other", draft.at)
        before.update(words)


def _finished_row(draft: _RowDraft, changes: dict[str, list[CallChange]]) -> TextVisibility:
    """The row with what came later in mind."""
    row = replace(draft.row, is_copy=draft.at is not None)
    change = _change_after(draft.at, changes.get(row.path, ())) if draft.at else None
    if change is None:
        lines = draft.lines
        note = "; ".join(filter(None, (row.note, draft.instead)))
        return replace(row, note=note, lines=lines.spans, is_open=lines.is_open, end=lines.end)
    note = "; ".join(filter(None, (row.note, _before(change))))
    return replace(row, note=note, state="stale" if row.state in VISIBLE_STATES else row.state)


def _change_after(at: CallMoment, changes: Sequence[CallChange]) -> CallChange | None:
    """The newest change that came, or may have come, after a moment."""
    return next((change for change in reversed(changes) if at.may_precede(change.at)), None)


def _before(change: CallChange) -> str:
    step = change.at.step + 1
    if change.kind == "other":
        return f"you saw this file before it changed: step {step} shows it otherwise"
    did = "you rewrote it" if change.kind == "write" else "your edit"
    return f"you saw this file before {did} at step {step}{'' if change.sure else ', which has no result'}"


def _outdated(drafts: Sequence[_RowDraft], changes: dict[str, list[CallChange]]) -> dict[str, str]:
    """Files of which nothing was seen since their newest change, each with the sentence that says so."""
    seen: dict[str, list[CallMoment]] = {}
    for draft in drafts:
        if draft.at is not None:
            seen.setdefault(draft.row.path, []).append(draft.at)
    return {
        path: _before(changes[path][-1])
        for path, moments in seen.items()
        if path in changes and all(at.may_precede(changes[path][-1].at) for at in moments)
    }
