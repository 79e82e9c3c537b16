"""Folders with recordings: those in which other agents keep their sessions, or any other.

Rule: only what is below the folder is opened. Links are not followed, so a walk ends; of hidden folders only those
that agents use are entered.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

ENDINGS = (".json", ".jsonl", ".ndjson", ".traj", ".gz", ".db")
"""What a file of a folder ends with to be taken for a recording."""
AGENT_FOLDERS = {
    "claude": "~/.claude/projects",
    "codex": "~/.codex/sessions",
    "copilot": "~/.copilot/session-state",
    "gemini": "~/.gemini/tmp",
    "opencode": "~/.local/share/opencode",
    "pi": "~/.pi/agent/sessions",
}
"""Where agents keep their sessions."""
ENTERED = frozenset({".claude", ".codex", ".copilot", ".gemini", ".local", ".pi"})
SKIPPED = frozenset({"node_modules", "__pycache__"})
NO_RECORDINGS = frozenset({"auth.json", "logs.json"})
"""opencode's keys, and Gemini CLI's list of all that was typed."""


class FolderFile(Struct, frozen=True):
    path: Path
    size: int
    changed: float
    """When it was last written, in seconds."""


def folder_files(place: Path, refuse: Callable[[Path, OSError], None]) -> Iterator[FolderFile]:
    """The files below a folder that may be recordings; a file itself if it is none. `refuse` is called with what
    cannot be read."""
    waiting = [place]
    while waiting:
        folder = waiting.pop()
        try:
            if not folder.is_dir():
                found = folder.stat()
                yield FolderFile(folder, found.st_size, found.st_mtime)
                continue
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            refuse(folder, error)
            continue
        for entry in listed:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                if _is_entered(entry.name):
                    waiting.append(path)
            elif _is_taken(entry):
                try:
                    found = entry.stat(follow_symlinks=False)
                except OSError as error:
                    refuse(path, error)
                    continue
                yield FolderFile(path, found.st_size, found.st_mtime)


def _is_entered(name: str) -> bool:
    return name in ENTERED or not (name.startswith(".") or name in SKIPPED)


def _is_taken(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    is_named = name.endswith(ENDINGS) and not name.startswith(".") and name not in NO_RECORDINGS
    return is_named and entry.is_file(follow_symlinks=False)
