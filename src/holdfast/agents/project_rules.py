"""Project rules: `code_law.md`, else `AGENTS.md`, else `CLAUDE.md`, as they are on the disk now.

Rule: they are never written here and never cached: a file is read whenever a run begins, and an event records when
its text has changed. The rules of a folder are told when a file in it is touched.
"""

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.events import RulesSet
from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace import Workspace

LAW = "code_law.md"
AGENTS = "AGENTS.md"
CLAUDE = "CLAUDE.md"
LARGEST = 256_000
"""Bytes. Rules are never trimmed, so a file that is too large is refused rather than cut."""
DEEPEST = 5
"""Imports in imports of `CLAUDE.md` that are followed."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_IMPORT = re.compile(r"(?<![\w@.])@([\w./-]*[\w-])")


def read_rules(workspace: Workspace, folder: str = ".") -> RulesSet | None:
    """The rules of one folder, from the first of the files that is there; the case of its name does not matter."""
    try:
        with workspace.open_directory(folder) as directory:
            names = [entry.name for entry in directory.entries() if entry.kind in ("file", "link")]
    except ToolError:
        return None
    for wanted in (LAW, AGENTS, CLAUDE):
        # The exact name first: a case-sensitive file system may have both.
        found = sorted(
            (name for name in names if name.lower() == wanted.lower()), key=lambda n: (n != wanted, n)
        )
        if found:
            rules = _read(workspace, found[0] if folder == "." else f"{folder}/{found[0]}")
            if rules is None or wanted != CLAUDE:
                return rules
            rules = with_imports(rules, partial(_read, workspace))
            if len(rules.text.encode()) > LARGEST:
                raise InputError(
                    f"`{rules.path}` has {len(rules.text.encode())} bytes with what it imports; project rules are "
                    f"never trimmed, and more than {LARGEST} leave no room for work",
                    hint="import less of it",
                )
            return rules
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


def with_imports(rules: RulesSet, read: Callable[[str], RulesSet | None]) -> RulesSet:
    """Rules with the files that they import, each once below them: `@docs/style.md`."""
    texts, seen = [rules.text], {rules.path}
    waiting = [(rules, 0)]
    while waiting:
        importing, depth = waiting.pop(0)
        for path in _imports(importing):
            if path in seen or depth == DEEPEST:
                continue
            seen.add(path)
            if imported := read(path):
                texts.append(f"`{path}`, which `{importing.path}` imports:\n\n{imported.text}")
                waiting.append((imported, depth + 1))
    return replace(rules, text="\n\n".join(texts))


def _imports(rules: RulesSet) -> Iterator[str]:
    """The paths that a file imports, outside code."""
    folder = posixpath.dirname(rules.path)
    for found in _IMPORT.finditer(_CODE.sub(" ", rules.text)):
        yield posixpath.normpath(posixpath.join(folder, found[1]))
