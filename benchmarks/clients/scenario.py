"""What the model does in a run: a list of steps, each some calls of the client's own tools, and at the end a text.

Rule: like a model, it knows only what it was shown. A step may notice values in results when they come, and later
steps use them; what was not shown is `NOT-SHOWN`, and the run's result differs.
"""

import re
from typing import Any

from msgspec import Struct

from clients.wires.values import Body, ModelCall

NOT_SHOWN = "NOT-SHOWN"
SHELLS = ("Bash", "bash", "shell_command", "exec_command", "shell", "run_shell_command", "execute_command")
READERS = ("Read", "read", "read_file")


class Command(Struct, frozen=True):
    """A command for the shell. `notices` is a pattern whose named groups are remembered from the output."""

    command: str
    notices: str = ""


class ReadLines(Struct, frozen=True):
    """Lines of a file, by the client's own tool where it has one."""

    path: str
    first: int
    count: int
    notices: str = ""


Step = tuple[Command | ReadLines, ...]


class Scenario(Struct, frozen=True):
    """`task` is what the client is asked to do. Values that were noticed stand for `@name@` in commands and in the
    `final` text. Without steps the answer is the final text at once."""

    task: str
    steps: tuple[Step, ...]
    final: str

    def text(self, noticed: dict[str, str], template: str) -> str:
        return re.sub(r"@(\w+)@", lambda found: noticed.get(found[1], NOT_SHOWN), template)

    def calls(
        self, number: int, ids: list[str], tools: dict[str, Body], noticed: dict[str, str], folder: str
    ) -> tuple[ModelCall, ...]:
        """The calls of a step, for a client with these tools."""
        return tuple(
            _call(action, call_id, tools, folder, self.text(noticed, _shell_text(action)))
            for action, call_id in zip(self.steps[number], ids, strict=True)
        )


def find_shell(tools: dict[str, Body]) -> str:
    """The name of the client's shell; nothing where it has none."""
    return next((name for name in SHELLS if name in tools), "")


def notice(action: Command | ReadLines, result: str) -> dict[str, str]:
    """What a result shows of what a step looks for."""
    found = re.search(action.notices, result) if action.notices else None
    return found.groupdict() if found else {}


def _shell_text(action: Command | ReadLines) -> str:
    if isinstance(action, Command):
        return action.command
    return f"sed -n '{action.first},{action.first + action.count - 1}p' {action.path}"


def _call(
    action: Command | ReadLines, call_id: str, tools: dict[str, Body], folder: str, command: str
) -> ModelCall:
    reader = next((name for name in READERS if name in tools), "")
    if isinstance(action, ReadLines) and reader:
        return ModelCall(call_id, reader, _read_arguments(action, tools[reader], folder))
    shell = find_shell(tools)
    return ModelCall(call_id, shell, _shell_arguments(command, tools[shell]))


def _properties(schema: Body) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _shell_arguments(command: str, schema: Body) -> Body:
    known = _properties(schema)
    name = "cmd" if "cmd" in known else "command"
    is_list = isinstance(known.get(name), dict) and str(known[name].get("type")).lower() == "array"
    return {**_required(schema), name: ["bash", "-lc", command] if is_list else command}


def _read_arguments(action: ReadLines, schema: Body, folder: str) -> Body:
    known = _properties(schema)
    path = next(name for name in ("file_path", "filePath", "absolute_path", "path") if name in known)
    given = {**_required(schema), path: f"{folder}/{action.path}"}
    if "start_line" in known:
        return {**given, "start_line": action.first, "end_line": action.first + action.count - 1}
    return {**given, "offset": action.first, "limit": action.count}


def _required(schema: Body) -> Body:
    """Something for each field that the tool's schema asks for."""
    out: Body = {}
    for name in schema.get("required") or ():
        held = _properties(schema).get(name)
        kind = str(held.get("type") if isinstance(held, dict) else "string").lower()
        out[name] = {"boolean": False, "number": 60_000, "integer": 60_000}.get(kind, "Look at the project")
    return out
