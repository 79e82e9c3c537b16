"""What commands leave behind: files that are others after a command than they were before it.

Rule: only what was seen is said. A file was changed where the folder has another entry for it afterwards; what it
was before is known only where this talk had kept that very version. Links, and what the repository ignores, are
looked at only if the agent knows them; what runs on in the background, or beside the command, is not told apart.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.messages import Json, ToolDefinition
from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.file_text import load_file
from holdfast.tools.files.seen_files import AgentEdit, SeenFiles
from holdfast.tools.search.ripgrep import FileWalk, find_ripgrep, read_paths, run_program
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

MOST_FILES = 20_000
"""Files beyond which a folder is not looked at: it would take longer than the commands."""
SECONDS = 5.0
MOST_TOLD = 200
"""Files of one command that the log names."""
MOST_KEPT = 30
LARGEST_KEPT = 1024 * 1024
"""Files of one command, and bytes of each, that are kept as they are afterwards."""
NAMED = 3
"""Files that a card names."""

How = Literal["changed", "created", "deleted"]
FileStamp = tuple[int, ...]
FolderState = dict[str, FileStamp]
"""By its path, what the folder says of a file: when it was written and changed, its size, and which one it is."""


class CommandEdit(AgentEdit, frozen=True):
    """A change of a command, from bytes that are kept to others. `command` is the same for all of its changes."""

    command: str = ""


class IrreversibleChange(Struct, frozen=True):
    """What a command did to a file that cannot be taken back."""

    path: str
    how: How
    step: int


class CommandEffects(Struct, frozen=True):
    """What the data of a result says: of each file how it was changed, and by hashes from what to what, as far as
    that is known. Without `looked` nobody looked."""

    step: int = 0
    looked: bool = False
    changed: list[tuple[str, How, str, str]] = field(default_factory=list)
    more: int = 0
    """Files that were changed and are not named."""
    number: int = 0

    def made(self, log: str = "") -> list[AgentEdit]:
        command = f"{log}:{self.step}:{self.number}"
        known = [one for one in self.changed if one[1] == "changed" and one[2] and one[3]]
        return [
            CommandEdit(path, path, before, after, self.step, command=command)
            for path, _, before, after in known
        ]

    def left(self) -> list[IrreversibleChange]:
        return [
            IrreversibleChange(path, how, self.step)
            for path, how, before, after in self.changed
            if how != "changed" or not (before and after)
        ]


def read_command_effects(data: dict[str, Json]) -> CommandEffects:
    """That of a command's result; of one that an older version wrote, that nobody looked."""
    try:
        return msgspec.convert(data, CommandEffects)
    except msgspec.ValidationError:
        return CommandEffects()


class ChangeDetector:
    """Looks at a folder before and after a command."""

    def __init__(self, files: SeenFiles) -> None:
        self._files = files
        self._commands = 0
        self._kept: dict[str, tuple[FileStamp, str]] = {}
        """Versions of files that are kept as a command left them."""

    async def look(self, root: str) -> FolderState | None:
        """None where the folder is too large, or cannot be listed."""
        try:
            done = await run_program(find_ripgrep().files(FileWalk()), root, SECONDS)
        except ToolError:
            return None
        return await asyncio.to_thread(self._entries, root, done.output)

    def _entries(self, root: str, listed: bytes) -> FolderState | None:
        paths = {
            *read_paths(listed),
            *(key for key in self._files.sights if not key.startswith(("/", "hex:"))),
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

    def unseen(self) -> CommandEffects:
        """That of a command at whose end nobody looked."""
        return CommandEffects(self._files.step())

    def footprint(
        self, workspace: Workspace, before: FolderState | None, after: FolderState | None
    ) -> CommandEffects:
        """What is another now. Blocks: changed files are read."""
        step = self._files.step()
        self._commands += 1
        if before is None or after is None:
            return CommandEffects(step, number=self._commands)
        paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        changed = [
            self._told(workspace, path, before, after, keeps=len(paths) <= MOST_KEPT) for path in paths
        ]
        # One that was only touched is none, where that is known.
        told = [one for one in changed if one[2] != one[3] or not one[2]]
        return CommandEffects(step, True, told[:MOST_TOLD], max(0, len(told) - MOST_TOLD), self._commands)

    def _told(
        self, workspace: Workspace, path: str, before: FolderState, after: FolderState, *, keeps: bool
    ) -> tuple[str, How, str, str]:
        how: How = (
            "changed" if path in before and path in after else "created" if path in after else "deleted"
        )
        if printable_path(path) != path:
            return printable_path(path), how, "", ""
        was = self._known(path, before[path]) if path in before else ""
        now = self._now(workspace, path, after[path], keeps=keeps) if path in after else ""
        return path, how, was, now

    def _known(self, path: str, entry: FileStamp) -> str:
        """The hash of a version, if its bytes are kept."""
        kept = self._kept.get(path)
        sight = self._files.sights.get(path)
        if kept and kept[0] == entry:
            found = kept[1]
        elif sight and (sight.mtime_ns, sight.size) == entry[:2]:
            found = sight.hash
        else:
            return ""
        return found if self._files.snapshots.get(found) is not None else ""

    def _now(self, workspace: Workspace, path: str, entry: FileStamp, *, keeps: bool) -> str:
        """The hash of a file as it is; empty where it is too large, a link or none that can be read."""
        if entry[1] > LARGEST_KEPT:
            return ""
        try:
            current = load_file(workspace, path)
        except ToolError:
            return ""
        if current.place.path != os.path.join(workspace.roots[0], path):  # noqa: PTH118 - as above
            return ""
        if keeps and len(current.raw) <= LARGEST_KEPT:
            self._kept[path] = (entry, self._files.snapshots.keep(current.raw))
        return current.hash


class TrackedBash:
    """Bash, with a look before and after: its result says which files are others now."""

    def __init__(self, bash: Tool, looking: ChangeDetector, note: Callable[[CommandEffects], None]) -> None:
        self._bash = bash
        self._looking = looking
        self._note = note

    @property
    def name(self) -> str:
        return self._bash.name

    @property
    def definition(self) -> ToolDefinition:
        return self._bash.definition

    @property
    def is_read_only(self) -> bool:
        return self._bash.is_read_only

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:
        root = workspace.roots[0]
        before = await self._looking.look(root)
        try:
            result = await self._bash.run(arguments, workspace)
        except asyncio.CancelledError:
            self._note(self._looking.unseen())
            raise
        if result.is_error:
            return result
        after = await self._looking.look(root)
        found = await asyncio.to_thread(self._looking.footprint, workspace, before, after)
        data = {**result.envelope.data, **msgspec.to_builtins(found)}
        self._note(found)
        shown = ", ".join(filter(None, (result.shown, _named(found))))
        return replace(result, envelope=replace(result.envelope, data=data), shown=shown)


def _named(found: CommandEffects) -> str:
    """The files, as a card says them."""
    if not found.changed:
        return ""
    names = [f"{path}{'' if how == 'changed' else f' ({how})'}" for path, how, *_ in found.changed[:NAMED]]
    left = len(found.changed) + found.more - len(names)
    return f"changed {', '.join(names)}{f' and {left} more' if left else ''}"
