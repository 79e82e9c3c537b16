"""What a tool call does, whatever its agent calls it: one small vocabulary for views and rendering.

Rule: recognition reads names and arguments only; it never fails, an unknown tool is kind `other`.
"""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from holdfast.messages import Json, ToolCall

ToolKind = Literal[
    "ls", "glob", "grep", "read", "edit", "multiedit", "write", "bash", "todo", "recall", "other"
]

KINDS_BY_NAME: dict[str, ToolKind] = {
    # Claude Code, and the names of the design
    "ls": "ls", "glob": "glob", "grep": "grep", "read": "read", "edit": "edit", "multiedit": "multiedit",
    "write": "write", "bash": "bash", "todowrite": "todo", "recall": "recall", "notebookread": "read",
    "notebookedit": "edit", "bashoutput": "bash", "bashstop": "bash", "taskoutput": "bash",
    # Codex
    "exec_command": "bash", "exec": "bash", "shell": "bash", "local_shell": "bash", "write_stdin": "bash",
    "apply_patch": "multiedit", "update_plan": "todo",
    # opencode
    "list": "ls", "patch": "multiedit", "todoread": "todo",
    # SWE-agent, OpenHands
    "execute_bash": "bash", "open": "read", "goto": "read", "create": "write", "insert": "edit",
    "str_replace": "edit", "search_dir": "grep", "search_file": "grep", "find_file": "glob",
    # Copilot CLI, VS Code
    "view": "read", "rg": "grep", "read_bash": "bash", "write_bash": "bash", "update_todo": "todo",
    "run_in_terminal": "bash", "insert_edit_into_file": "edit", "replace_string_in_file": "edit",
    # Gemini CLI, Qwen Code, Cursor, Cline
    "read_file": "read", "read_many_files": "read", "write_file": "write", "write_to_file": "write",
    "create_file": "write", "edit_file": "edit", "replace": "edit", "replace_in_file": "edit",
    "search_replace": "edit", "list_directory": "ls", "list_dir": "ls", "list_files": "ls",
    "search_file_content": "grep", "grep_search": "grep", "search_files": "grep", "file_search": "glob",
    "run_shell_command": "bash", "run_terminal_cmd": "bash", "execute_command": "bash", "todo_write": "todo",
    "manage_todo_list": "todo",
    # the design's review tools
    "list_project_files": "ls", "search_in_project": "grep", "read_file_hunk": "read",
    "previous_version": "read", "callers_of": "grep",
}  # fmt: skip

EDITOR_COMMANDS: dict[str, ToolKind] = {
    "view": "read",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}
EDITORS = {"str_replace_editor", "str_replace_based_edit_tool", "text_editor", "edit_anthropic"}

PATH_KEYS = (
    "file_path",
    "path",
    "filePath",
    "filename",
    "file",
    "notebook_path",
    "absolute_path",
    "target_file",
)
COMMAND_KEYS = ("command", "cmd", "script", "code", "input")
START_KEYS = ("offset", "start_line", "first_line", "start", "startLine", "start_line_one_indexed")
END_KEYS = ("end_line", "last_line", "end", "endLine", "end_line_one_indexed_inclusive")
PATTERN_KEYS = ("pattern", "query", "regex", "search_term", "glob", "keyword")

LONG_COMMAND = 2_000
"""A longer command is a script, whatever its first word is."""

# Possessive throughout: white space matches two of its pieces, and trying every split would take quadratic time.
_SIMPLE_SHELL = re.compile(r"(?:cd\s++[^\s&]++\s*+&&\s*+)?+([\w./-]++)[ \t]*+([^|;&<>`$\n]*+)")
_SHELL_KINDS: dict[str, ToolKind] = {
    "cat": "read", "nl": "read", "head": "read", "tail": "read", "sed": "read", "ls": "ls", "tree": "ls",
    "find": "glob", "fd": "glob", "rg": "grep", "grep": "grep",
}  # fmt: skip
_SED_RANGE = re.compile(r"^-n\s+['\"]?(\d{1,9}),(\d{1,9})p['\"]?\s+(\S+)$")
_LINE_COUNT = re.compile(r"(?:(?:-n|--lines)[ =]?|-)(\+?)(\d{1,9}) +")
_DEFAULT_LINES = 10
"""What `head` and `tail` show where no number is given."""


FROM_END = 1_000_000_000
"""The first line of a range that is counted from the end of a file."""


class ToolUse(Struct, frozen=True, gc=False):
    """A call as the packer sees it. `first` and `last` are a line range, 0 where the call names none."""

    kind: ToolKind
    name: str
    path: str = ""
    command: str = ""
    pattern: str = ""
    first: int = 0
    last: int = 0
    recalls: str = ""
    """The id that a call of Recall reads."""

    @property
    def names_lines(self) -> bool:
        """Whether it reads a part of a file by the numbers of its lines. From the first line on is all of it."""
        return self.kind == "read" and (self.first > 1 or self.last > 0)

    @property
    def label(self) -> str:
        """One short line that says which call it was: what a stub carries, and what can be searched for."""
        lines = f":{self.first}-{self.last or ''}" if self.first else ""
        if self.first == FROM_END:
            lines = ":end"
        command = " ".join(self.command.split())
        if len(command) > 120:
            command = command[:117] + "..."
        pattern = f'"{self.pattern[:80]}"' if self.pattern else ""
        place = f"{self.path[:200]}{lines}" if self.path else ""
        return " ".join(x for x in (self.name, command, pattern, place, self.recalls[:40]) if x)


def recognize_tool(call: ToolCall) -> ToolUse:
    """The kind of a call with the arguments that identify it."""
    arguments = call.arguments
    kind = kind_of(call.name, arguments)
    command = _string(arguments, COMMAND_KEYS) if kind in ("bash", "other") else ""
    if kind == "bash":
        return _shell_use(call.name, command)
    if kind == "recall":
        return ToolUse(kind, call.name, recalls=_string(arguments, ("id",)))
    first, last = _line_range(arguments)
    return ToolUse(
        kind=kind,
        name=call.name,
        path=_string(arguments, PATH_KEYS) or (_patched_path(call) if kind == "multiedit" else ""),
        command=command,
        pattern=_string(arguments, PATTERN_KEYS),
        first=first,
        last=last,
    )


def kind_of(name: str, arguments: dict[str, Json] | None = None) -> ToolKind:
    lowered = name.lower()
    if lowered in EDITORS:
        return EDITOR_COMMANDS.get(str((arguments or {}).get("command", "")), "edit")
    return KINDS_BY_NAME.get(lowered, "other")


def _shell_use(name: str, command: str) -> ToolUse:
    """A shell call; a plain `cat`, `sed -n`, `rg`, `ls` or `find` counts as the read, search or listing it is."""
    spelled = command.strip()
    match = _SIMPLE_SHELL.fullmatch(spelled) if len(spelled) <= LONG_COMMAND else None
    program = match[1].rsplit("/", 1)[-1] if match else ""
    kind = _SHELL_KINDS.get(program, "bash")
    if not match or kind == "bash":
        return ToolUse("bash", name, command=command)
    rest = match[2].strip()
    if program in ("head", "tail"):
        path, first, last = _end_of_file(program, rest)
        return ToolUse("read", name, path=path, command=command, first=first, last=last)
    if program == "sed":
        ranged = _SED_RANGE.match(rest)
        if not ranged:
            return ToolUse("bash", name, command=command)
        return ToolUse(
            "read", name, path=ranged[3], command=command, first=int(ranged[1]), last=int(ranged[2])
        )
    words = [w for w in rest.split() if not w.startswith("-")]
    return ToolUse(kind, name, path=words[-1] if words and kind == "read" else "", command=command)


def _end_of_file(program: str, rest: str) -> tuple[str, int, int]:
    """File and lines that `head` or `tail` show; no file where the lines are not known, or there are several."""
    counted = _LINE_COUNT.match(rest)
    path = rest[counted.end() :].strip() if counted else rest
    if not path or path.startswith("-") or len(path.split()) > 1:
        return "", 0, 0
    plus, lines = (counted[1], int(counted[2])) if counted else ("", _DEFAULT_LINES)
    if program == "tail":
        return (path, max(lines, 1), 0) if plus else ("", 0, 0)
    return (path, 1, lines) if lines and not plus else ("", 0, 0)


def _string(arguments: dict[str, Json], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            return " ".join(value)
    return ""


def _line_range(arguments: dict[str, Json]) -> tuple[int, int]:
    span = arguments.get("view_range")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(v, int) for v in span):
        return max(span[0], 0), max(span[1], 0)
    offset = arguments.get("offset")
    if isinstance(offset, int) and offset < 0:
        return FROM_END, 0
    first = _number(arguments, START_KEYS)
    last = _number(arguments, END_KEYS)
    limit = _number(arguments, ("limit",))
    if limit and not last:
        first = first or 1
        last = first + limit - 1
    return first, last


def _number(arguments: dict[str, Json], keys: tuple[str, ...]) -> int:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1_000_000_000:
            return value
    return 0


def _patched_path(call: ToolCall) -> str:
    text = call.raw or _string(call.arguments, ("input", "patch", "patchText", "diff"))
    found = re.search(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def values_in(value: Json, key: str = "") -> Iterator[tuple[str, str]]:
    """Key and value of every string and number in a call's arguments, however deep."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from values_in(item, inner)
    elif isinstance(value, list):
        for item in value:
            yield from values_in(item, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, str(value)
