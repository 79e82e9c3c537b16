"""Tool calls as an editor shows them: title, kind, places, diffs and results.

Rule: a diff is what a person is asked about and what was done; it is made from the call and the file, and where the
file cannot be read it has only the texts of the call. Nothing here changes a file.
"""

import re
from collections.abc import Sequence

import msgspec
from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import ContentToolCallContent, FileEditToolCallContent, ToolCallLocation, ToolKind

from holdfast.agents.commands.markdown import fenced
from holdfast.agents.tool_results import is_stopped_task, is_uncertain
from holdfast.messages import Json, ToolCall
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.file_text import load_file
from holdfast.tools.files.replacements import AppliedReplacements, TextReplacement, apply_replacements
from holdfast.tools.workspace import Workspace

EDITS = frozenset({"Edit", "MultiEdit", "Write"})
HIDDEN = frozenset({"TodoWrite"})
"""Tools whose calls are shown in another way."""
KINDS: dict[str, ToolKind] = {
    "Read": "read",
    "LS": "read",
    "Recall": "read",
    "Skill": "read",
    "BashOutput": "read",
    "Grep": "search",
    "Glob": "search",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Write": "edit",
    "Bash": "execute",
    "BashStop": "execute",
    "Task": "think",
    "WebFetch": "fetch",
}
LARGEST_DIFF = 400_000
"""Bytes of a file that is sent whole; of a larger one only what is replaced."""
LONGEST_OUTPUT = 20_000
LONGEST_TITLE = 200
_MAIN = ("command", "path", "pattern", "url", "query", "description", "id", "name", "job")
_FAILED_EXIT = re.compile(r"Exit code: [1-9]")

CallContent = ContentToolCallContent | FileEditToolCallContent


def call_kind(name: str) -> ToolKind:
    return KINDS.get(name, "other")


def call_title(name: str, arguments: dict[str, Json]) -> str:
    main = next((text for key in _MAIN if isinstance(text := arguments.get(key), str) and text), "")
    words = " ".join(main[: 8 * LONGEST_TITLE].split())
    title = f"{name} {words}".strip()
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def call_locations(arguments: dict[str, Json], workspace: Workspace) -> list[ToolCallLocation]:
    """The file that a call is about, so that the editor can follow the agent."""
    path, line = arguments.get("path"), arguments.get("offset")
    if not isinstance(path, str) or not path:
        return []
    try:
        place = workspace.locate(path).path
    except ToolError:
        return []
    is_line = isinstance(line, int) and not isinstance(line, bool) and line > 0
    return [ToolCallLocation(path=place, line=line if is_line else None)]


def edit_diff(call: ToolCall, workspace: Workspace, *, is_past: bool = False) -> list[CallContent]:
    """What an edit would do to its file; of one of an earlier run only its own texts, since the file may be another
    by now."""
    edit = _read_edit(call)
    if edit is None:
        return []
    path, replacements, written = edit
    try:
        place = workspace.locate(path).path
    except ToolError:
        return []
    old = None if is_past else _current_text(workspace, path)
    if written is not None:
        return [tool_diff_content(place, written, old)]
    if old is not None and isinstance(done := apply_replacements(old, replacements), AppliedReplacements):
        return [tool_diff_content(place, done.text, old)]
    return [tool_diff_content(place, one.new_string, one.old_string) for one in replacements]


def _read_edit(call: ToolCall) -> tuple[str, list[TextReplacement], str | None] | None:
    """The path, the replacements, and the whole text if there is one; None if the arguments are wrong."""
    given = call.arguments
    path = given.get("path")
    if call.name not in EDITS or not isinstance(path, str):
        return None
    if call.name == "Write":
        content = given.get("content")
        return (path, [], content) if isinstance(content, str) else None
    names = ("old_string", "new_string", "replace_all")
    one = {name: given[name] for name in names if name in given}
    try:
        return path, msgspec.convert(given.get("edits", [one]), list[TextReplacement]), None
    except msgspec.ValidationError:
        return None


def _current_text(workspace: Workspace, path: str) -> str | None:
    try:
        if workspace.status(path).st_size > LARGEST_DIFF:
            return None
        file = load_file(workspace, path)
        return file.text if file.encoding else None
    except ToolError:
        return None


def has_failed(name: str, text: str, *, is_error: bool) -> bool:
    """A command that ended with another code than 0 has failed, although its tool worked; so has a sub-agent that
    was stopped."""
    failed_exit = name == "Bash" and bool(_FAILED_EXIT.match(text))
    return is_error or failed_exit or is_uncertain(text) or is_stopped_task(name, text)


def output_content(name: str, full: str, shown: str) -> Sequence[CallContent]:
    """The result of a call, as the editor shows it: of a file that was read only a line, of the rest the text."""
    text = (shown if name in ("Read", "Skill") else full).strip("\n")
    if not text.strip():
        return []
    if len(text) > LONGEST_OUTPUT:
        left = len(text) - LONGEST_OUTPUT
        text = f"[{left} characters before this are in the log]\n{text[-LONGEST_OUTPUT:]}"
    return [tool_content(text_block(text if name == "Task" else fenced(text)))]
