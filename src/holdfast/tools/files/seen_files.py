"""What this agent has seen of each file and done to it: what it may edit, and what others changed since.

Rule: the state is a fold of the `data` of earlier results and of nothing else, so that feeding them again after a
crash gives the same state. What is not remembered counts as not seen.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.line_ranges import LineRange, covers_range, merge_ranges, missing_ranges
from holdfast.messages import Json
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.line_diff import (
    LineChange,
    shift_ranges,
)
from holdfast.tools.files.snapshots import MemorySnapshots, Snapshots
from holdfast.tools.workspace_files import VERSION_CONTROL, WorkspacePath, printable_path

IsVisible = Callable[[str, int, int, int], bool]
"""Whether the lines from first to last of a file, under this name, are still visible in the window, shown in a
certain step or later."""

READ, UNDO = "Read", "Undo"
CHANGING_TOOLS = ("Edit", "MultiEdit", "Write")

_SPELLED = "hex:"

ENDLESS = 1 << 62
"""More lines than any file has."""


class SeenFile(Struct, frozen=True):
    """A file as the agent knows it. `shown` are the lines of this very version that a result showed, each with its
    step; `known` those that it saw in this or an earlier version, or wrote. `encoding` is the one that was asked
    for, `seen_as` the one that was used."""

    hash: str
    size: int
    mtime_ns: int
    total_lines: int
    encoding: str = ""
    shown: tuple[tuple[int, int, int], ...] = ()
    known: tuple[LineRange, ...] = ()
    seen_as: str = ""


class AgentEdit(Struct, frozen=True):
    """A change that the agent made. `before` is empty if there was no file."""

    key: str
    path: str
    before: str
    after: str
    step: int


class _FileData(Struct, kw_only=True):
    path: str
    size: int
    mtime_ns: int
    total_lines: int
    file: str = ""
    called: str = ""

    @property
    def key(self) -> str:
        return self.file or self.path


class _RestoredFile(_FileData, kw_only=True):
    hash: str


class _Read(_RestoredFile, kw_only=True):
    first: int = 0
    last: int = 0
    column: int = 1
    step: int = 0
    encoding: str = ""
    asked_encoding: str = ""


class _Changed(_FileData, kw_only=True):
    before: str
    after: str
    changes: list[tuple[int, int, int, int]]
    step: int = 0
    dry_run: bool = False
    modified_externally: bool = False
    encoding: str = ""
    is_hull: bool = False


class _Undone(Struct):
    count: int
    files: list[_RestoredFile] = field(default_factory=list)
    dry_run: bool = False


class SeenFiles:
    """What was seen, what was changed, and where both versions are kept.

    `is_visible` and `step` come from the window and the loop; without them nothing counts as visible. `protected`
    are folders that may be read but not written, such as that of the log.
    """

    def __init__(
        self,
        snapshots: Snapshots | None = None,
        *,
        is_visible: IsVisible | None = None,
        step: Callable[[], int] = lambda: 0,
        protected: Iterable[str | Path] = (),
    ) -> None:
        self.snapshots: Snapshots = snapshots if snapshots is not None else MemorySnapshots()
        self.is_visible = is_visible or (lambda *_: False)
        self.step = step
        self.protected = tuple(os.path.realpath(folder) for folder in protected)
        self.by_key: dict[str, SeenFile] = {}
        self.edits: list[AgentEdit] = []
        self._outdated: dict[str, tuple[LineRange, ...]] = {}
        """Lines that a result showed with another text than the file has now, where the calls do not tell."""
        self._names: dict[str, set[str]] = {}

    def seen(self, place: WorkspacePath) -> SeenFile | None:
        return self.by_key.get(key_of(place))

    def expect_writable(self, place: WorkspacePath) -> None:
        """ACCESS_DENIED for what an agent's edit must never reach, whichever way the path led there."""
        names = {name.lower() for name in place.path.split("/")}
        if inside := [name for name in VERSION_CONTROL if name in names]:
            raise ToolError(
                "ACCESS_DENIED",
                f"`{place.shown}` lies inside `{inside[0]}`, whose files can make version control run programs",
                hint="Use version control's own commands",
            )
        for folder in self.protected:
            if place.path == folder or place.path.startswith(folder.rstrip("/") + "/"):
                raise ToolError("ACCESS_DENIED", f"`{place.shown}` belongs to this agent's own records")

    def visible_step(self, place: WorkspacePath, asked: str, first: int, last: int) -> int | None:
        """The step that showed these lines of this version, or the newest of several, if the window still shows all
        of them, under the name that was asked for or the one we give. It sees only the agent's own calls, with each
        file under the name that the call used; where it may show an outdated text without knowing it, nothing
        counts as visible."""
        seen, outdated = self.seen(place), self._outdated.get(key_of(place), ())
        shown = [(a, b, step) for a, b, step in (seen.shown if seen else ()) if a <= last and first <= b]
        is_covered = covers_range(((a, b) for a, b, _ in shown), first, last)
        if not is_covered or any(a <= last and first <= b for a, b in outdated):
            return None
        # Steps before the oldest of these show another version.
        since = min(step for _, _, step in shown)
        if not any(self.is_visible(name, first, last, since) for name in dict.fromkeys((asked, place.shown))):
            return None
        whole = [step for a, b, step in shown if a <= first and last <= b]
        return max(whole or [step for _, _, step in shown])

    def note(self, name: str, called: str, data: dict[str, Json]) -> None:
        """Take in a new result. Its data also gets the name that the call used for the file."""
        if called != data["path"]:
            data["called"] = printable_path(called)
        self.restore(name, data)

    def restore(self, name: str, data: dict[str, Json]) -> None:
        """Take in an earlier result. Results of other tools, errors, and results of other versions of these tools
        are ignored."""
        try:
            if name == READ:
                self._note_read(msgspec.convert(data, _Read))
            elif name in CHANGING_TOOLS:
                self._note_change(name, msgspec.convert(data, _Changed))
            elif name == UNDO:
                self._note_undo(msgspec.convert(data, _Undone))
        except msgspec.ValidationError:
            return

    def _note_read(self, read: _Read) -> None:
        key = read.key
        self._names.setdefault(key, set()).add(read.called or read.path)
        seen = self.by_key.get(key)
        if seen is None or seen.hash != read.hash:
            self._mark_outdated(key, seen)
            seen = SeenFile(read.hash, read.size, read.mtime_ns, read.total_lines)
        encoding = read.asked_encoding or seen.encoding
        if encoding != seen.encoding:
            # The same bytes, but they were shown as another text.
            self._mark_outdated(key, seen)
            seen = replace(seen, shown=())
        if not read.last and read.total_lines:
            # The cells of a notebook are shown in rows that only look like lines of the file.
            self._outdated[key] = ((1, ENDLESS),)
        shown = seen.shown
        if read.last >= read.first > 0 and read.column == 1:
            # Newest last; a range inside a newer one is dropped.
            kept = [s for s in shown if not (read.first <= s[0] and s[1] <= read.last)]
            shown = (*kept, (read.first, read.last, read.step))
        self.by_key[key] = replace(
            seen,
            mtime_ns=read.mtime_ns,
            encoding=encoding,
            seen_as=read.encoding or seen.seen_as,
            shown=shown,
            known=merge_ranges([*seen.known, *((first, last) for first, last, _ in shown)]),
        )

    def _note_change(self, name: str, changed: _Changed) -> None:
        if changed.dry_run:
            return
        key = changed.key
        self._names.setdefault(key, set()).add(changed.called or changed.path)
        seen = self.by_key.get(key)
        if changed.before == changed.after and seen and seen.hash == changed.after:
            return
        if len(self._names[key]) == 1 and changed.before != changed.after:
            # The window knows of this change, and that everything it showed before is outdated.
            self._outdated.pop(key, None)
        else:
            self._mark_outdated(key, seen)
        known = seen.known if seen and not changed.modified_externally else ()
        changes = [LineChange(*numbers) for numbers in changed.changes]
        total = changed.total_lines
        written = ((1, total, changed.step),) if name == "Write" and total else ()
        self.by_key[key] = SeenFile(
            changed.after,
            changed.size,
            changed.mtime_ns,
            total,
            seen.encoding if seen and changed.before else "",
            written,
            ((1, total),) if written else _known(known, changes, total, is_hull=changed.is_hull),
            changed.encoding,
        )
        if changed.before != changed.after:
            self.edits.append(AgentEdit(key, changed.path, changed.before, changed.after, changed.step))

    def _note_undo(self, undone: _Undone) -> None:
        if undone.dry_run:
            return
        del self.edits[max(len(self.edits) - undone.count, 0) :]
        for back in undone.files:
            seen = self.by_key.pop(back.key, None)
            self._mark_outdated(back.key, seen)
            if back.hash:
                encoding, seen_as = (seen.encoding, seen.seen_as) if seen else ("", "")
                now = back.hash, back.size, back.mtime_ns, back.total_lines
                self.by_key[back.key] = SeenFile(*now, encoding, seen_as=seen_as)

    def _mark_outdated(self, key: str, seen: SeenFile | None) -> None:
        """From now on the file has another text than was shown."""
        if seen and seen.shown:
            spans = [(first, last) for first, last, _ in seen.shown]
            self._outdated[key] = merge_ranges([*self._outdated.get(key, ()), *spans])


def _known(
    spans: tuple[LineRange, ...], changes: list[LineChange], total: int, *, is_hull: bool
) -> tuple[LineRange, ...]:
    """The lines that the agent knows after its edit. For many changes only the hull is recorded: what lies between
    them is known if all of it was."""
    known = shift_ranges(spans, changes, total)
    if not is_hull or covers_range(spans, changes[0].first + 1, changes[0].last):
        return known
    hull = changes[0].new_first + 1, changes[0].new_last
    return missing_ranges([*missing_ranges(known, total), hull], total)


def key_of(place: WorkspacePath) -> str:
    """The key of a file: its shown path, or its bytes where that is not a path."""
    return path_data(place).get("file") or place.shown


def path_data(place: WorkspacePath) -> dict[str, Json]:
    """How `data` names a file."""
    is_path = printable_path(place.path) == place.path and not place.shown.startswith(_SPELLED)
    if is_path:
        return {"path": place.shown}
    return {"path": place.shown, "file": _SPELLED + os.fsencode(place.path).hex()}


def path_of(key: str) -> str:
    """The path of a key."""
    return os.fsdecode(bytes.fromhex(key.removeprefix(_SPELLED))) if key.startswith(_SPELLED) else key
