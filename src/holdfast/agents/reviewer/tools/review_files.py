"""The files of a review as its tools read them: either side, by the name that a model gives.

Rule: a name is in the diff or passes the workspace's guard. The lines shown are those that findings are verified
against, without secrets, so that what was read can be quoted. Ids of units are never guessed.
"""

import difflib
from collections.abc import Iterable
from threading import Lock

from msgspec import Struct

from holdfast.messages import Json
from holdfast.review.diff import FileChange
from holdfast.review.finding import Side
from holdfast.review.findings import NumberedLines, Sides
from holdfast.review.review import Review
from holdfast.review.unit import Unit
from holdfast.review.versions import MOST_TEXT, decode_text, is_binary
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.search.ripgrep import Ripgrep
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

_UNCHANGED = "not changed by this diff"
_ONLY_HUNKS = "only the lines that the diff shows are known: no file here fits it"


class FileVersion(Struct, frozen=True):
    """One side of a file. If it is not whole, lines are missing."""

    path: str
    side: Side
    lines: NumberedLines
    is_whole: bool = True
    notes: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        return max(self.lines, default=0)

    @property
    def shown(self) -> str:
        return printable_path(self.path)

    @property
    def all_notes(self) -> tuple[str, ...]:
        return self.notes if self.is_whole else (*self.notes, _ONLY_HUNKS)


class DiskVersions:
    """Both sides of files that the diff does not name, read from disk through the workspace's guard.

    **Contract:** raises `ToolError` if a path leads outside, is missing, or is not a text file.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def new(self, path: str) -> str | None:
        with self._workspace.open_file(path) as opened:
            raw = opened.file.read(MOST_TEXT + 1)
            shown = opened.place.shown
        if len(raw) > MOST_TEXT:
            raise ToolError("EXECUTION_ERROR", f"`{shown}` is larger than {MOST_TEXT} bytes")
        if is_binary(raw):
            raise ToolError("BINARY_FILE", f"`{shown}` is a binary file")
        return decode_text(raw)

    def old(self, path: str) -> str | None:
        return self.new(path)


class ReviewFiles:
    """What the tools of one review share. Versions are read under a lock, because tools run in threads."""

    def __init__(self, review: Review, program: Ripgrep) -> None:
        self.review = review
        self.program = program
        self.lock = Lock()
        files = review.diff.files
        moved = {file.old_path: file for file in files if file.change in ("deleted", "renamed")}
        self._by_name = moved | {file.path: file for file in files}

    @property
    def changed(self) -> frozenset[str]:
        """The paths of the files of the diff, of deleted files the old ones."""
        return frozenset(file.path for file in self.review.diff.files)

    def change(self, path: str, workspace: Workspace) -> FileChange | None:
        """The change of a file, by its new or old name. ACCESS_DENIED if it is not in the diff and lies outside."""
        if path in self._by_name:
            return self._by_name[path]
        place = workspace.locate(path)
        return self._by_name.get(place.inner) if place.root == workspace.roots[0] else None

    def version(self, path: str, side: Side, workspace: Workspace) -> FileVersion:
        file = self.change(path, workspace)
        with self.lock:
            return self._changed_file(file, side) if file else self._unchanged_file(path, side, workspace)

    def has_line(self, path: str, line: int, text: str) -> bool:
        """Does the new side of a changed file have this line, as far as is known? A search cuts long lines."""
        with self.lock:
            lines = self.review.sides.lines(path, "new") or {}
            is_whole = bool(lines) and self.review.versions.new(path) is not None
        known = lines.get(line, "" if is_whole else text)
        return known == text or "[line cut]" in text

    def _changed_file(self, file: FileChange, side: Side) -> FileVersion:
        shown = printable_path(file.path)
        notes: list[str] = []
        if file.is_submodule:
            raise ToolError("INVALID_PARAM", f"`{shown}` is a submodule and has no lines")
        if side == "old" and file.change == "added":
            raise ToolError("NOT_FOUND", f"`{shown}` is new in this diff: there is no version before it")
        if side == "new" and file.change == "deleted":
            side = "old"
            notes.append("this diff deletes the file: these are the lines before it")
        if file.old_path != file.path:
            notes.append(f"{file.change} from `{printable_path(file.old_path)}`")
        sides = self.review.sides
        if sides.lines(file.path, side) is None:
            if file.is_binary:
                raise ToolError("BINARY_FILE", f"`{shown}` is a binary file")
            raise ToolError(
                "NOT_FOUND", f"the {side} lines of `{shown}` are not in the diff, and no file here fits it"
            )
        versions = sides.versions
        text = versions.new(file.path) if side == "new" else versions.old(file.old_path)
        lines = sides.safe_lines(file.path, side)
        return FileVersion(file.path, side, lines, text is not None, tuple(notes))

    def _unchanged_file(self, path: str, side: Side, workspace: Workspace) -> FileVersion:
        """A file that is the same on both sides."""
        place = workspace.locate(path)
        sides = self.review.sides
        is_in_project = bool(place.inner) and place.root == workspace.roots[0]
        if (
            is_in_project
            and (sides.versions.new if side == "new" else sides.versions.old)(place.inner) is not None
        ):
            return FileVersion(place.inner, side, sides.safe_lines(place.inner, side), notes=(_UNCHANGED,))
        disk = Sides((), DiskVersions(workspace))
        notes = (_UNCHANGED, "as it is on the disk")
        return FileVersion(place.shown, side, disk.safe_lines(place.path, side), notes=notes)


MOST_NAMED = 8


def listing_result(
    rows: Iterable[str],
    notes: Iterable[str],
    data: dict[str, Json],
    *,
    is_whole: bool,
    path: str = "",
    shown: str,
) -> ToolResult:
    """Rows, then notes in parentheses. If something is left out, the result is partial."""
    envelope = Envelope(
        status="success" if is_whole else "partial",
        text="\n".join([*rows, *(f"({note})" for note in notes)]),
        data={**data, "truncated": not is_whole},
        context={"path": path} if path else {},
    )
    return build_result(envelope, shown)


def require_unit(review: Review, name: str) -> Unit:
    """A unit by the id that a model wrote. NOT_FOUND names the units of the file, if a path was given, else
    similar ids."""
    unit = review.unit(name.strip())
    if unit is not None:
        return unit
    hint = "Ids begin with `u-`; the index of the change lists them"
    if own := [unit.id for unit in review.sides.units_of(name)]:
        more = f" and {len(own) - MOST_NAMED} more" if len(own) > MOST_NAMED else ""
        hint = f"The units of this file are {_quoted(own[:MOST_NAMED])}{more}"
    elif near := difflib.get_close_matches(name, [unit.id for unit in review.units], n=3, cutoff=0.7):
        hint = f"Similar: {_quoted(near)}"
    raise ToolError("NOT_FOUND", f"there is no unit `{printable_path(name[:100])}`", hint=hint)


def _quoted(ids: list[str]) -> str:
    return ", ".join(f"`{one}`" for one in ids)
