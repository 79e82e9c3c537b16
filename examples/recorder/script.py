"""What the scripted agent says and does, as values.

Rule: a script holds words and calls only. Results are never written down here: they come from running the
calls. `expect` and `fails` are claims about a result; playing stops where one turns out to be untrue.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HOME = "/home/dev/inventory"
"""Where the project lies in the recording; the folder it is really played in has another name each time."""

WRITTEN = Path(__file__).parent / "written"
MARKS = {"x": "completed", ">": "in_progress", " ": "pending"}


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]
    expect: str = ""
    fails: bool = False

    def showing(self, expect: str) -> "Call":
        """The same call, and what its result must contain."""
        return replace(self, expect=expect)

    def failing(self, expect: str) -> "Call":
        return replace(self, expect=expect, fails=True)


@dataclass(frozen=True)
class Step:
    """One assistant message with its calls; without calls it ends the round."""

    text: str
    calls: tuple[Call, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True)
class Round:
    """What the user says, and the steps it leads to. `{paste}` in `said` becomes the output of `paste`."""

    said: str
    steps: Sequence[Step] = field(default=())
    paste: str = ""


def step(text: str, *calls: Call, reasoning: str = "") -> Step:
    return Step(text, calls, reasoning)


def read(path: str, offset: int = 0, limit: int = 0) -> Call:
    span = {"offset": offset} if offset else {}
    return Call("Read", {"file_path": f"{HOME}/{path}", **span, **({"limit": limit} if limit else {})})


def ls(path: str = "") -> Call:
    return Call("LS", {"path": f"{HOME}/{path}".rstrip("/")})


def glob(pattern: str) -> Call:
    return Call("Glob", {"pattern": pattern, "path": HOME})


def grep(pattern: str, path: str = "", **options: Any) -> Call:
    return Call("Grep", {"pattern": pattern, "path": f"{HOME}/{path}".rstrip("/"), **options})


def edit(path: str, old: str, new: str) -> Call:
    return Call("Edit", {"file_path": f"{HOME}/{path}", "old_string": old, "new_string": new})


def multiedit(path: str, *changes: tuple[str, str]) -> Call:
    edits = [{"old_string": old, "new_string": new} for old, new in changes]
    return Call("MultiEdit", {"file_path": f"{HOME}/{path}", "edits": edits})


def write(path: str, content: str) -> Call:
    return Call("Write", {"file_path": f"{HOME}/{path}", "content": content})


def bash(command: str, description: str = "") -> Call:
    return Call("Bash", {"command": command, **({"description": description} if description else {})})


def progress(plan: Sequence[str], marks: str) -> Call:
    """A todo list; `marks` has one character for each line: `x` done, `>` at it, blank to do."""
    rows = [{"content": line, "status": MARKS[mark]} for line, mark in zip(plan, marks, strict=True)]
    return Call("TodoWrite", {"todos": rows})


def written(name: str) -> str:
    """A whole file that the agent writes; kept as a file, so that it can be read as code."""
    return (WRITTEN / name).read_text(encoding="utf-8")
