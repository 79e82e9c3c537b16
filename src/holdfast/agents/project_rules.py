"""Project rules: `code_law.md`, else `AGENTS.md`, as they are on the disk now.

Rule: they are never written here and never cached: a file is read whenever a run begins, and an event records when
its text has changed. The rules of a folder are told when a file in it is touched.
"""

import hashlib
from collections.abc import Iterator

from holdfast.errors import InputError
from holdfast.events import RulesSet
from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace import Workspace

LAW = "code_law.md"
AGENTS = "AGENTS.md"
LARGEST = 256_000
"""Bytes. Rules are never trimmed, so a file that is too large is refused rather than cut."""


def read_rules(workspace: Workspace, folder: str = ".") -> RulesSet | None:
    """The rules of one folder: `code_law.md`, else `AGENTS.md`; the case of the file's name does not matter."""
    try:
        with workspace.open_directory(folder) as directory:
            names = [entry.name for entry in directory.entries() if entry.kind in ("file", "link")]
    except ToolError:
        return None
    for wanted in (LAW, AGENTS):
        # The exact name first: a case-sensitive file system may have both.
        found = sorted(
            (name for name in names if name.lower() == wanted.lower()), key=lambda n: (n != wanted, n)
        )
        if found:
            return _read(workspace, found[0] if folder == "." else f"{folder}/{found[0]}")
    return None


def rule_changes(before: dict[str, str], now: RulesSet | None) -> list[RulesSet]:
    """The events to record if the rules at the root differ from those in the log. An empty text removes old rules
    from the prompt."""
    gone = [
        path for path, text in before.items() if "/" not in path and text and not (now and path == now.path)
    ]
    events = [RulesSet(path, "") for path in gone]
    if now and before.get(now.path) != now.text:
        events.append(now)
    return events


def parent_folders(path: str) -> Iterator[str]:
    """The folders between the root and a file, from the top, without the root."""
    parts = path.split("/")[:-1]
    return ("/".join(parts[: n + 1]) for n in range(len(parts)))


def _read(workspace: Workspace, path: str) -> RulesSet | None:
    try:
        with workspace.open_file(path) as opened:
            if opened.status.st_size > LARGEST:
                raise InputError(
                    f"`{path}` has {opened.status.st_size} bytes; project rules are never trimmed, and more than "
                    f"{LARGEST} leave no room for work",
                    hint="shorten it, or move parts of it into files that it names",
                )
            data = opened.file.read()
            mtime = opened.status.st_mtime
    except ToolError:
        return None
    return RulesSet(path, data.decode("utf-8", "replace"), mtime, hashlib.sha256(data).hexdigest())
