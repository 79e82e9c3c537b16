"""The agent's tools, really at work in a workspace.

Rule: a tool returns a text and whether it failed; it never raises for what an agent can get wrong.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from recorder.script import HOME, Call
from recorder.workspace import Workspace

HIDDEN = {".git", "__pycache__"}
CONTEXT_LINES = 3


@dataclass(frozen=True)
class Result:
    text: str
    error: bool = False


class Refused(Exception):
    """What an agent can get wrong; becomes the text of its result."""


def execute(call: Call, workspace: Workspace, at: datetime) -> Result:
    """Run one call. A command that exits with an error is a failed call too."""
    try:
        if call.name == "Bash":
            return _bash(call.arguments, workspace, at)
        return Result(workspace.clean(TOOLS[call.name](call.arguments, workspace)))
    except Refused as refused:
        return Result(str(refused), error=True)


def _bash(arguments: dict[str, Any], workspace: Workspace, at: datetime) -> Result:
    ran = workspace.run(arguments["command"], at)
    if ran.code:
        return Result(f"Exit code {ran.code}\n{ran.output}".rstrip(), error=True)
    return Result(ran.output or "(no output)")


def _read(arguments: dict[str, Any], workspace: Workspace) -> str:
    path = _file(arguments["file_path"], workspace)
    lines = path.read_text(encoding="utf-8").splitlines()
    first = arguments.get("offset", 1)
    last = first + arguments["limit"] - 1 if "limit" in arguments else len(lines)
    return _numbered(lines, first, last)


def _ls(arguments: dict[str, Any], workspace: Workspace) -> str:
    root = workspace.path(arguments["path"])
    if not root.is_dir():
        raise Refused(f"There is no folder {arguments['path']}.")
    return "\n".join([f"- {arguments['path']}/", *_tree(root, 1)])


def _tree(folder: Path, depth: int) -> list[str]:
    lines = []
    for path in sorted(folder.iterdir()):
        if path.name not in HIDDEN:
            lines.append(f"{'  ' * depth}- {path.name}{'/' if path.is_dir() else ''}")
            lines += _tree(path, depth + 1) if path.is_dir() else []
    return lines


def _glob(arguments: dict[str, Any], workspace: Workspace) -> str:
    root = workspace.path(arguments["path"])
    found = [path for path in sorted(root.glob(arguments["pattern"])) if not HIDDEN & set(path.parts)]
    return "\n".join(_shown(path, workspace) for path in found) or "No files found"


def _grep(arguments: dict[str, Any], workspace: Workspace) -> str:
    """Matching lines as `path:line:text`, or only the files with `output_mode: files_with_matches`."""
    root, pattern = workspace.path(arguments["path"]), re.compile(arguments["pattern"])
    files = [root] if root.is_file() else sorted(root.rglob(arguments.get("glob", "*")))
    hits = []
    for path in files:
        if path.is_dir() or HIDDEN & set(path.parts):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [(number, line) for number, line in enumerate(lines, 1) if pattern.search(line)]
        if arguments.get("output_mode") == "files_with_matches":
            hits += [_shown(path, workspace)] if found else []
        else:
            name = path.relative_to(workspace.root)
            hits += [f"{name}:{number}:{line}" for number, line in found]
    return "\n".join(hits) or "No matches found"


def _edit(arguments: dict[str, Any], workspace: Workspace) -> str:
    return _change(arguments["file_path"], [arguments], workspace)


def _multiedit(arguments: dict[str, Any], workspace: Workspace) -> str:
    return _change(arguments["file_path"], arguments["edits"], workspace)


def _change(name: str, edits: list[dict[str, Any]], workspace: Workspace) -> str:
    """All edits or none; the answer shows each changed place with the lines around it."""
    path = _file(name, workspace)
    text = path.read_text(encoding="utf-8")
    touched: list[range] = []
    for number, each in enumerate(edits, 1):
        old, new = each["old_string"], each["new_string"]
        if text.count(old) != 1:
            which = f"edit {number}: " if len(edits) > 1 else ""
            raise Refused(f"{which}old_string occurs {text.count(old)} times in {name}; nothing was changed.")
        first = text[: text.index(old)].count("\n") + 1
        added = new.count("\n") - old.count("\n")
        touched = [_moved(lines, added) if lines.start > first else lines for lines in touched]
        touched.append(range(first, first + new.rstrip("\n").count("\n") + 1))
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    head = f"Updated {name}: {len(edits)} replacement{'s' if len(edits) > 1 else ''}."
    return "\n".join([head, *_surroundings(text.splitlines(), touched)])


def _moved(lines: range, by: int) -> range:
    return range(lines.start + by, lines.stop + by)


def _surroundings(lines: list[str], touched: list[range]) -> list[str]:
    """The touched lines with some around them, each line once, and a gap where lines are left out."""
    near = {n for each in touched for n in range(each.start - CONTEXT_LINES, each.stop + CONTEXT_LINES)}
    shown: list[str] = []
    for number in sorted(near & set(range(1, len(lines) + 1))):
        if shown and number - 1 not in near:
            shown.append("   ...")
        shown.append(_numbered(lines, number, number))
    return shown


def _write(arguments: dict[str, Any], workspace: Workspace) -> str:
    path = workspace.path(arguments["file_path"])
    did = "Updated" if path.exists() else "Created"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(arguments["content"], encoding="utf-8")
    return f"{did} {arguments['file_path']} ({len(arguments['content'].splitlines())} lines)."


def _todos(arguments: dict[str, Any], _: Workspace) -> str:
    done = sum(todo["status"] == "completed" for todo in arguments["todos"])
    return f"Todo list saved: {done} of {len(arguments['todos'])} done."


def _file(name: str, workspace: Workspace) -> Path:
    path = workspace.path(name)
    if not path.is_file():
        raise Refused(f"There is no file {name}.")
    return path


def _numbered(lines: list[str], first: int, last: int) -> str:
    """As `cat -n` prints them."""
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1) if first <= number <= last)


def _shown(path: Path, workspace: Workspace) -> str:
    return f"{HOME}/{path.relative_to(workspace.root)}"


TOOLS: dict[str, Callable[[dict[str, Any], Workspace], str]] = {
    "Read": _read,
    "LS": _ls,
    "Glob": _glob,
    "Grep": _grep,
    "Edit": _edit,
    "MultiEdit": _multiedit,
    "Write": _write,
    "TodoWrite": _todos,
}
