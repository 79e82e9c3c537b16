"""Which files the agent read and changed, step by step: what makes an older read stale.

Rule: only what the agent's own calls say counts; the file system is never asked.
"""

from msgspec import Struct

from holdfast.tool_use import ToolUse
from holdfast.views.transcript import Step


class Touch(Struct, frozen=True):
    step: int
    kind: str
    first: int
    last: int


class FileTouches:
    """Touches by path, oldest first. A step counts once, when its results are in."""

    def __init__(self) -> None:
        self._by_path: dict[str, list[Touch]] = {}
        self._noted = -1

    def note(self, step: Step) -> None:
        if step.number <= self._noted:
            return
        self._noted = step.number
        for call_id, use in step.uses.items():
            result = step.results.get(call_id)
            if use.path and result is not None and not result.error:
                touch = Touch(step.number, use.kind, use.first, use.last)
                self._by_path.setdefault(use.path, []).append(touch)

    def stale_calls(self, step: Step) -> dict[str, str]:
        """Reads of this step that a later read or a whole rewrite of the same file stands for, and why."""
        stale: dict[str, str] = {}
        for call_id, use in step.uses.items():
            if use.kind == "read" and use.path:
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

    def _newest_edit(self, path: str) -> Touch | None:
        touches = reversed(self._by_path.get(path, []))
        return next((t for t in touches if t.kind in ("edit", "multiedit")), None)

    def _superseding(self, use: ToolUse, step: int) -> Touch | None:
        for touch in reversed(self._by_path.get(use.path, [])):
            if touch.step <= step:
                return None
            if touch.kind == "write" or (touch.kind == "read" and _covers(touch, use)):
                return touch
        return None


def _covers(touch: Touch, use: ToolUse) -> bool:
    """Whether a later read shows every line of an earlier one; a read without a range shows the whole file."""
    if not touch.first and not touch.last:
        return True
    if not use.first and not use.last:
        return False
    return touch.first <= use.first and (touch.last == 0 or 0 < use.last <= touch.last)
