"""Which files the agent read and changed, step by step: what makes an older read stale.

Rule: only what the agent's own calls say counts; the file system is never asked.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from holdfast.messages import ToolMessage, joined_text
from holdfast.tool_use import CHANGING, FROM_END, ToolUse
from holdfast.tool_use.output import exit_code
from holdfast.views.transcript import Step

_NOTHING_NEW = re.compile(r"\W*(?:file )?unchanged since ", re.IGNORECASE)
"""A read that points to an earlier one shows nothing itself."""


class FileTouch(Struct, frozen=True):
    step: int
    kind: str
    first: int
    last: int


class CallMoment(Struct, frozen=True, gc=False):
    """When a call of a step was made, and when it was answered: places among the step's calls and its results."""

    step: int
    call: int
    answer: int

    def may_precede(self, other: "CallMoment") -> bool:
        """Whether the other call may have run after this one. Calls of one step may run side by side."""
        if self.step != other.step:
            return self.step < other.step
        return self.call < other.call or self.answer < other.answer


def moment_of(step: Step, call_id: str) -> CallMoment:
    """A call that has no result yet is answered after all that have one."""
    answers = list(step.results)
    answer = answers.index(call_id) if call_id in step.results else len(answers)
    return CallMoment(step.number, list(step.calls).index(call_id), answer)


class CallChange(Struct, frozen=True, gc=False):
    """A file that a call of the agent changed, or may have: `sure` is false of a call without a result."""

    path: str
    kind: str
    at: CallMoment
    sure: bool = True


def changes_in(step: Step) -> Iterator[CallChange]:
    """What a step changed, a running one included; an edit that failed changed nothing."""
    for call_id, use in step.uses.items():
        result = step.results.get(call_id)
        if result is None or _did_something(step, call_id, result):
            for path in use.changed:
                yield CallChange(path, _change_kind(use), moment_of(step, call_id), result is not None)


def _change_kind(use: ToolUse) -> str:
    """A script that applies a patch edits files, whatever else it does."""
    return use.kind if use.kind in CHANGING else "multiedit"


def _did_something(step: Step, call_id: str, result: ToolMessage) -> bool:
    if result.error or step.calls[call_id].arguments.get("dry_run") is True:
        return False
    kind = step.uses[call_id].kind
    if kind in CHANGING or (kind == "read" and step.uses[call_id].command):
        # Some agents say that a call failed in its text alone.
        return not exit_code(joined_text(result.parts))
    return kind != "read" or not _NOTHING_NEW.match(joined_text(result.parts)[:100])


class FileTouches:
    """Touches by path, oldest first. A step counts once, when its results are in."""

    def __init__(self, by_path: dict[str, list[FileTouch]] | None = None, noted: int = -1) -> None:
        self._by_path = {} if by_path is None else by_path
        self._noted = noted

    def snapshot(self) -> "FileTouches":
        """The touches up to now. It shares what is known with this one, and what is noted later does not show."""
        return FileTouches(self._by_path, self._noted)

    def note(self, step: Step) -> None:
        if step.number <= self._noted:
            return
        self._noted = step.number
        for call_id, use in step.uses.items():
            result = step.results.get(call_id)
            if result is None or not _did_something(step, call_id, result):
                continue
            for path in use.changed:
                self._note(path, FileTouch(step.number, _change_kind(use), 0, 0))
            if use.path and not use.changed and not use.is_mixed:
                self._note(use.path, FileTouch(step.number, use.kind, use.first, use.last))

    def _note(self, path: str, touch: FileTouch) -> None:
        self._by_path.setdefault(path, []).append(touch)

    def stale_calls(self, step: Step) -> dict[str, str]:
        """Reads of this step that a later read or a whole rewrite of the same file replaces, and why."""
        stale: dict[str, str] = {}
        for call_id, use in step.uses.items():
            if use.kind == "read" and use.path and not use.is_mixed:
                later = self._superseding(use, step.number)
                if later:
                    verb = "rewritten" if later.kind == "write" else "read again"
                    stale[call_id] = f"{verb} in step {later.step + 1}"
        return stale

    def edited_since(self, step: Step) -> dict[str, str]:
        """Reads of this step whose file was edited later, and when: what they show is partly out of date.

        Not those that `stale_calls` names: of them a newer result shows the edited file.
        """
        edited: dict[str, str] = {}
        for call_id, use in step.uses.items():
            if use.kind == "read" and use.path and not self._superseding(use, step.number):
                later = self._newest_edit(use.path)
                if later and later.step > step.number:
                    edited[call_id] = f"edited in step {later.step + 1}"
        return edited

    def _newest_edit(self, path: str) -> FileTouch | None:
        return next((t for t in self._newest_first(path) if t.kind in ("edit", "multiedit")), None)

    def _superseding(self, use: ToolUse, step: int) -> FileTouch | None:
        for touch in self._newest_first(use.path):
            if touch.step <= step:
                return None
            if touch.kind == "write" or (touch.kind == "read" and _covers(touch, use)):
                return touch
        return None

    def _newest_first(self, path: str) -> Iterator[FileTouch]:
        return (touch for touch in reversed(self._by_path.get(path, ())) if touch.step <= self._noted)


def _covers(touch: FileTouch, use: ToolUse) -> bool:
    """Whether a later read shows every line of an earlier one; a read without a range shows the whole file."""
    if touch.first == FROM_END:
        return False
    if not touch.first and not touch.last:
        return True
    if not use.first and not use.last:
        return False
    return touch.first <= use.first and (touch.last == 0 or 0 < use.last <= touch.last)
