"""What a tool call does, whatever its agent calls it: one small vocabulary for views and rendering.

Rule: recognition reads names and arguments only; it never fails, an unknown tool is kind `other`.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import Json, ToolCall
from holdfast.tool_use.shell_commands import script_given_to_shell, script_in_program, simple_commands
from holdfast.tool_use.shell_lookups import FROM_END, shell_lookup

ToolKind = Literal[
    "ls", "glob", "grep", "read", "edit", "multiedit", "write", "bash", "todo", "recall", "other"
]
CHANGING = ("edit", "multiedit", "write")
"""Kinds of calls that change a file."""

KINDS_BY_NAME: dict[str, ToolKind] = {
    # Claude Code, and the names of the design
    "ls": "ls", "glob": "glob", "grep": "grep", "read": "read", "edit": "edit", "multiedit": "multiedit",
    "write": "write", "bash": "bash", "todowrite": "todo", "recall": "recall", "notebookread": "read",
    "notebookedit": "edit", "bashoutput": "bash", "bashstop": "bash", "killshell": "bash", "taskoutput": "bash",
    "taskstop": "bash", "powershell": "bash", "lsp": "grep", "taskcreate": "todo", "taskupdate": "todo",
    "tasklist": "todo", "taskget": "todo",
    # Codex
    "exec_command": "bash", "exec": "bash", "shell": "bash", "local_shell": "bash", "shell_command": "bash",
    "write_stdin": "bash", "wait": "bash", "apply_patch": "multiedit", "update_plan": "todo", "grep_files": "grep",
    "view_image": "read",
    # opencode
    "list": "ls", "patch": "multiedit", "todoread": "todo",
    # SWE-agent, OpenHands
    "execute_bash": "bash", "terminal": "bash", "open": "read", "goto": "read", "create": "write",
    "insert": "edit", "str_replace": "edit", "search_dir": "grep", "search_file": "grep", "find_file": "glob",
    "task_tracker": "todo",
    # Copilot CLI, VS Code
    "view": "read", "rg": "grep", "read_bash": "bash", "write_bash": "bash", "stop_bash": "bash",
    "read_powershell": "bash", "write_powershell": "bash", "stop_powershell": "bash", "update_todo": "todo",
    "run_in_terminal": "bash", "get_terminal_output": "bash", "insert_edit_into_file": "edit",
    "replace_string_in_file": "edit", "multi_replace_string_in_file": "multiedit", "semantic_search": "grep",
    # Gemini CLI, Qwen Code, Cursor, Cline, Kimi
    "read_file": "read", "read_many_files": "read", "write_file": "write", "write_to_file": "write",
    "create_file": "write", "edit_file": "edit", "replace": "edit", "replace_in_file": "edit",
    "search_replace": "edit", "str_replace_file": "edit", "apply_diff": "edit", "insert_content": "edit",
    "search_and_replace": "edit", "list_directory": "ls", "list_dir": "ls", "list_files": "ls",
    "search_file_content": "grep", "grep_search": "grep", "search_files": "grep", "codebase_search": "grep",
    "list_code_definition_names": "grep", "file_search": "glob", "find_path": "glob", "find": "glob",
    "run_shell_command": "bash", "run_terminal_cmd": "bash", "execute_command": "bash", "todo_write": "todo",
    "write_todos": "todo", "set_todo_list": "todo", "update_todo_list": "todo", "manage_todo_list": "todo",
    # tools that look into code by its names
    "get_method_info": "read", "get_class_info": "read", "get_file_info": "ls", "get_symbol_info": "grep",
    "get_function_callers": "grep", "get_call_chain": "grep", "get_inheritance_hierarchy": "grep",
    # the design's review tools
    "list_project_files": "ls", "search_in_project": "grep", "read_file_hunk": "read",
    "previous_version": "read", "callers_of": "grep",
}  # fmt: skip
_KINDS_BY_LETTERS = {name.replace("_", ""): kind for name, kind in KINDS_BY_NAME.items()}
"""The same names as other agents write them: `ReadFile`, `readFile`, `read-file`."""

EDITOR_COMMANDS: dict[str, ToolKind] = {
    "view": "read",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}
EDITORS = {
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "text_editor",
    "file_editor",
    "edit_anthropic",
}

PATH_KEYS = (
    "file_path",
    "path",
    "filePath",
    "filename",
    "file",
    "notebook_path",
    "absolute_path",
    "target_file",
    "paths",
    "file_paths",
    "dir_path",
    "directory",
    "target_directory",
    "relative_workspace_path",
)
COMMAND_KEYS = ("command", "cmd", "script", "code", "input")
START_KEYS = (
    "offset",
    "start_line",
    "first_line",
    "start",
    "startLine",
    "start_line_one_indexed",
    "line_offset",
)
END_KEYS = ("end_line", "last_line", "end", "endLine", "end_line_one_indexed_inclusive")
COUNT_KEYS = ("limit", "n_lines", "max_lines")
PATTERN_KEYS = (
    *("pattern", "query", "regex", "search_term", "glob", "keyword", "glob_pattern", "file_pattern"),
    *("method_name", "class_name", "symbol_name", "function_name"),
)
TITLE_KEYS = (
    "subject",
    "title",
    "description",
    "question",
    "questions",
    "url",
    "skill",
    "intent",
    "plan",
    "prompt",
)
"""Arguments that say what a call is about which has neither path nor pattern: sub-agents, questions, plans."""

_PATCHED = re.compile(
    r"(?:^|\\n|[\"'`])\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.{1,400}?)(?=\\n|\\r|\r|\"|$)",
    re.MULTILINE,
)
_BEGIN_PATCH = "*** Begin Patch"
_RANGE = re.compile(r"\[?\s*(\d{1,9})\s*,\s*(-?\d{1,9})\s*\]?")
_LONGEST_TITLE = 80


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
    patched: tuple[str, ...] = ()
    """Every file that a patch changes, also one in a script."""
    is_mixed: bool = False
    """Whether a read returns more than these lines of its file, or only some of them: several files, a diff."""
    title: str = ""
    """What a call is about that has neither command nor path nor pattern."""

    @property
    def names_lines(self) -> bool:
        """Whether it reads a part of one file by the numbers of its lines. From the first line on is all of it."""
        return self.kind == "read" and not self.is_mixed and (self.first > 1 or self.last > 0)

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that the call changes."""
        if self.patched or self.kind not in CHANGING:
            return self.patched
        return (self.path,) if self.path else ()

    @property
    def label(self) -> str:
        """One short line that says which call it was: what a stub carries, and what can be searched for."""
        return self.label_with(self.path)

    def label_with(self, path: str, longest_command: int = 120) -> str:
        """The same, with another way to write the path, or less of a command. What the command shows is not written
        again."""
        lines = f":{self.first}-{self.last or ''}" if self.first else ""
        if self.first == FROM_END:
            lines = ":end"
        command = _clipped_command(" ".join(self.command.split()), longest_command)
        place = "" if _stands_in(self.path, command) else f"{one_line(path, 200)}{lines}"
        pattern = "" if _stands_in(self.pattern, command) else f'"{one_line(self.pattern, 80)}"'
        told = (self.name, command, pattern, place, self.title, self.recalls[:40])
        return " ".join(x for x in told if x)


def one_line(text: str, longest: int) -> str:
    return " ".join(text[: 2 * longest].split())[:longest]


def _clipped_command(command: str, longest: int) -> str:
    """A long command without its middle: runs of one program often differ at the end."""
    if len(command) <= longest:
        return command
    tail = longest // 4
    return f"{command[: longest - tail - 3]}...{command[-tail:]}"


def _stands_in(word: str, command: str) -> bool:
    """Whether nothing is lost without the word: it is empty, or the command has it as a word of its own."""
    return not word or re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w./-])", command) is not None


def recognize_tool(call: ToolCall) -> ToolUse:
    """The kind of a call with the arguments that identify it."""
    arguments = call.arguments
    kind = kind_of(call.name, arguments)
    command = _command(arguments) if kind in ("bash", "other") else ""
    if kind == "bash":
        return _shell_use(call.name, command)
    if kind == "recall":
        return ToolUse(kind, call.name, recalls=_string(arguments, ("id",)))
    first, last = _line_range(call.name, arguments)
    paths = _strings(arguments, PATH_KEYS)
    patched = _patched_files(_patch_text(call)) if kind == "multiedit" and not paths else ()
    use = ToolUse(
        kind=kind,
        name=call.name,
        path=next(iter((*paths, *patched)), ""),
        command=command,
        pattern=_string(arguments, PATTERN_KEYS),
        first=first,
        last=last,
        patched=patched,
        is_mixed=kind == "read" and len(paths) > 1,
    )
    if use.path or use.command or use.pattern:
        return use
    return replace(use, title=_title(arguments))


def kind_of(name: str, arguments: dict[str, Json] | None = None) -> ToolKind:
    lowered = name.lower()
    if lowered in EDITORS:
        return EDITOR_COMMANDS.get(str((arguments or {}).get("command", "")), "edit")
    known = KINDS_BY_NAME.get(lowered)
    return known or _KINDS_BY_LETTERS.get(lowered.replace("_", "").replace("-", ""), "other")


def _shell_use(name: str, command: str) -> ToolUse:
    """A shell call; one that only reads, searches or lists counts as what it is, and so does a patch."""
    command = script_in_program(command)
    patched = _patched_files(command) if _BEGIN_PATCH in command else ()
    if patched:
        kind: ToolKind = "multiedit" if _is_patch_alone(command) else "bash"
        return ToolUse(kind, name, patched[0], command, patched=patched)
    found = shell_lookup(command.strip())
    if found is None:
        return ToolUse("bash", name, command=command)
    return ToolUse(
        found.kind, name, found.path, command, found.pattern, found.first, found.last, is_mixed=found.is_mixed
    )


def _is_patch_alone(script: str) -> bool:
    """Whether a script applies a patch and does nothing else."""
    if script.lstrip().startswith((_BEGIN_PATCH, "const ", "await ")):
        return "exec_command(" not in script
    return {command.program for command in simple_commands(script)} <= {"apply_patch", "applypatch", "cd"}


def _command(arguments: dict[str, Json]) -> str:
    """A command as a shell gets it; one that is given as a list of words may hold a whole script."""
    for key in COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            script = script_given_to_shell(value)
            return shlex.join(value) if script is None else script
    return ""


def _strings(arguments: dict[str, Json], keys: tuple[str, ...]) -> list[str]:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return [value] if value else []
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            return list(value)
    return []


def _string(arguments: dict[str, Json], keys: tuple[str, ...]) -> str:
    return " ".join(_strings(arguments, keys))


def _title(arguments: dict[str, Json]) -> str:
    for key in TITLE_KEYS:
        value = arguments.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict):
            value = value.get("question") or value.get("content")
        if isinstance(value, str) and value.strip():
            return " ".join(value[:400].split())[:_LONGEST_TITLE]
    return ""


def _line_range(name: str, arguments: dict[str, Json]) -> tuple[int, int]:
    span = arguments.get("view_range")
    if isinstance(span, list):
        span = ",".join(map(str, span))
    if isinstance(span, str) and (found := _RANGE.fullmatch(span.strip())):
        return int(found[1]), max(int(found[2]), 0)
    offset = _integer(arguments.get("offset"))
    if offset is not None and offset < 0:
        return FROM_END, 0
    first = _number(arguments, START_KEYS)
    if offset and _counts_from_zero(name, arguments):
        first += 1
    last = _number(arguments, END_KEYS)
    limit = _number(arguments, COUNT_KEYS)
    if limit and not last:
        first = first or 1
        last = first + limit - 1
    return first, last


def _counts_from_zero(name: str, arguments: dict[str, Json]) -> bool:
    """Gemini CLI and Qwen Code count the lines to leave out, where others name the first line."""
    return name == "read_file" and not arguments.keys().isdisjoint(("absolute_path", "file_path"))


def _number(arguments: dict[str, Json], keys: tuple[str, ...]) -> int:
    for key in keys:
        value = _integer(arguments.get(key))
        if value is not None and 0 < value < FROM_END:
            return value
    return 0


def _integer(value: Json) -> int | None:
    if isinstance(value, str) and len(value) < 10 and value.removeprefix("-").isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _patch_text(call: ToolCall) -> str:
    return call.raw or _string(call.arguments, ("input", "patch", "patchText", "diff", "raw"))


def _patched_files(text: str) -> tuple[str, ...]:
    """The files that a patch names, also one in another language's string; each once, in its order."""
    return tuple(dict.fromkeys(path.strip() for path in _PATCHED.findall(text))) if "*** " in text else ()


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
