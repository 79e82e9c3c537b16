"""The effects of commands: which files a command changed, created or deleted.

Rule: only what was seen is reported. A file counts as changed if its directory entry differs afterwards; its
earlier content is known only if this session had kept that very version. Links and ignored files are looked at only
if the agent has seen them. Changes by background processes cannot be told apart from the command's own.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.file_text import load_file
from holdfast.tools.files.seen_files import AgentEdit, SeenFiles
from holdfast.tools.search.ripgrep import FileWalk, find_ripgrep, read_paths, run_program
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

MOST_FILES = 20_000
"""A folder with more files is not scanned: it would take longer than the commands."""
SECONDS = 5.0
MOST_NAMED = 200
"""How many files of one command the log names."""
MOST_KEPT = 30
LARGEST_KEPT = 1024 * 1024
"""How many files of one command are kept as they are afterwards, and up to how many bytes."""
SHOWN = 3
"""How many files a card on the screen names."""

CommandChange = Literal["changed", "created", "deleted"]
FileStamp = tuple[int, ...]
FolderState = dict[str, FileStamp]
"""The stamp of each file by its path: when it was written and changed, its size, and its inode."""


class CommandEdit(AgentEdit, frozen=True):
    """A change by a command whose earlier bytes are kept. All changes of one command have the same `command`."""

    command: str = ""


class IrreversibleChange(Struct, frozen=True):
    """A change by a command that cannot be undone."""

    path: str
    how: CommandChange
    step: int


class CommandEffects(Struct, frozen=True):
    """The part of a result's data about files: how each was changed, and the hashes before and after, if known. If
    `looked` is false, nothing is known."""

    step: int = 0
    looked: bool = False
    changed: list[tuple[str, CommandChange, str, str]] = field(default_factory=list)
    more: int = 0
    """How many more files were changed than are named."""
    number: int = 0

    def split(self, log: str = "") -> tuple[list[AgentEdit], list[IrreversibleChange]]:
        """The changes that can be undone, and those that cannot. `log` is that of the sub-agent that made them."""
        edits: list[AgentEdit] = []
        irreversible = []
        for path, how, before, after in self.changed:
            if how == "changed" and before and after:
                command = f"{log}:{self.step}:{self.number}"
                edits.append(CommandEdit(path, path, before, after, self.step, command=command))
            else:
                irreversible.append(IrreversibleChange(path, how, self.step))
        return edits, irreversible


def read_command_effects(data: dict[str, Json]) -> CommandEffects:
    """The effects in the data of a command's result. Older versions recorded none: nothing is known of them."""
    try:
        return msgspec.convert(data, CommandEffects)
    except msgspec.ValidationError:
        return CommandEffects()


class ChangeDetector:
    """Compares a folder before and after a command."""

    def __init__(self, files: SeenFiles) -> None:
        self._files = files
        self.step = files.step
        self._commands = 0
        self._kept: dict[str, tuple[FileStamp, str]] = {}
        """The kept version of each file as a command left it: its stamp and its hash."""

    async def scan(self, root: str) -> FolderState | None:
        """None if the folder is too large or cannot be listed."""
        try:
            done = await run_program(find_ripgrep().files(FileWalk()), root, SECONDS)
        except ToolError:
            return None
        return await asyncio.to_thread(self._stamps, root, done.output)

    def _stamps(self, root: str, listed: bytes) -> FolderState | None:
        paths = {
            *read_paths(listed),
            *(key for key in self._files.by_key if not key.startswith(("/", "hex:"))),
        }
        if len(paths) > MOST_FILES:
            return None
        found: FolderState = {}
        for path in paths:
            try:
                status = os.lstat(os.path.join(root, path))  # noqa: PTH118 - many, and bytes in names
            except (OSError, ValueError):
                continue
            found[path] = (status.st_mtime_ns, status.st_size, status.st_ctime_ns, status.st_ino)
        return found

    def compare(
        self, workspace: Workspace, before: FolderState | None, after: FolderState | None
    ) -> CommandEffects:
        """What differs. Blocks: changed files are read."""
        step = self.step()
        self._commands += 1
        if before is None or after is None:
            return CommandEffects(step, number=self._commands)
        paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        differing = [
            self._difference(workspace, path, before, after, keeps=len(paths) <= MOST_KEPT) for path in paths
        ]
        # A file that was only touched is not changed, if its bytes are known.
        changed = [one for one in differing if one[2] != one[3] or not one[2]]
        more = max(0, len(changed) - MOST_NAMED)
        return CommandEffects(step, True, changed[:MOST_NAMED], more, self._commands)

    def _difference(
        self, workspace: Workspace, path: str, before: FolderState, after: FolderState, *, keeps: bool
    ) -> tuple[str, CommandChange, str, str]:
        how: CommandChange = (
            "changed" if path in before and path in after else "created" if path in after else "deleted"
        )
        if printable_path(path) != path:
            return printable_path(path), how, "", ""
        was = self._known(path, before[path]) if path in before else ""
        now = self._now(workspace, path, after[path], keeps=keeps) if path in after else ""
        return path, how, was, now

    def _known(self, path: str, stamp: FileStamp) -> str:
        """The hash of a version, if its bytes are kept."""
        kept = self._kept.get(path)
        sight = self._files.by_key.get(path)
        if kept and kept[0] == stamp:
            found = kept[1]
        elif sight and (sight.mtime_ns, sight.size) == stamp[:2]:
            found = sight.hash
        else:
            return ""
        return found if self._files.snapshots.get(found) is not None else ""

    def _now(self, workspace: Workspace, path: str, stamp: FileStamp, *, keeps: bool) -> str:
        """The hash of a file as it is now; empty if it is too large, a link, or unreadable."""
        if stamp[1] > LARGEST_KEPT:
            return ""
        try:
            current = load_file(workspace, path)
        except ToolError:
            return ""
        if current.place.path != os.path.join(workspace.roots[0], path):  # noqa: PTH118 - as above
            return ""
        if keeps and len(current.raw) <= LARGEST_KEPT:
            self._kept[path] = (stamp, self._files.snapshots.keep(current.raw))
        return current.hash


class TrackedBash:
    """Bash, whose result also says which files the command changed."""

    def __init__(self, bash: Tool, detector: ChangeDetector, note: Callable[[CommandEffects], None]) -> None:
        self.name, self.definition, self.is_read_only = bash.name, bash.definition, bash.is_read_only
        self._bash = bash
        self._detector = detector
        self._note = note

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:
        root = workspace.roots[0]
        before = await self._detector.scan(root)
        try:
            result = await self._bash.run(arguments, workspace)
        except asyncio.CancelledError:
            # It was cancelled before the folder could be compared.
            self._note(CommandEffects(self._detector.step()))
            raise
        if result.is_error:
            return result
        effects = CommandEffects(self._detector.step())
        # There is little time to answer an interruption; one that comes now does not cost the result.
        with contextlib.suppress(asyncio.CancelledError):
            if result.envelope.data.get("stopped") != "cancelled":
                after = await self._detector.scan(root)
                effects = await asyncio.to_thread(self._detector.compare, workspace, before, after)
        data = {**result.envelope.data, **msgspec.to_builtins(effects)}
        self._note(effects)
        shown = ", ".join(filter(None, (result.shown, _summary(effects))))
        return replace(result, envelope=replace(result.envelope, data=data), shown=shown)


def _summary(effects: CommandEffects) -> str:
    """The changed files, as a card shows them."""
    if not effects.changed:
        return ""
    first = effects.changed[:SHOWN]
    names = [f"{path}{'' if how == 'changed' else f' ({how})'}" for path, how, *_ in first]
    left = len(effects.changed) + effects.more - len(names)
    return f"changed {', '.join(names)}{f' and {left} more' if left else ''}"
