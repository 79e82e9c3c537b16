"""Edit: replace an exact piece of text in a file. MultiEdit: several, all or none.

Rule: the text to replace occurs in the file exactly once, or every occurrence is replaced. Each replacement is
applied to the result of the ones before it; the file is written once. The help after a failed edit names a place
and a reason; where it knows neither it says nothing.
"""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.tools.envelope import ToolError, ToolResult
from holdfast.tools.files.changes import (
    REDACTED,
    OutsideChange,
    PlannedChange,
    carry_out,
    change_file,
    conflict_error,
    load_seen_file,
)
from holdfast.tools.files.replacements import (
    AppliedReplacements,
    FailedReplacement,
    TextReplacement,
    apply_replacements,
    share_lines,
)
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.text_encoding import encode, escape_bytes, expect_no_surrogates, unify_line_endings
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

MOST_LINES = 200_000
"""Lines of a file in which similar texts are searched for."""

WIDEST = 120

_NUMBERED = re.compile(r"^[ ]*\d+\t", re.MULTILINE)
_LOOKALIKES = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " ", "…": "..."}
)


class EditArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="File to change; you must have read it.")]
    old_string: Annotated[str, Meta(description="Text to replace, exactly as it is in the file.")]
    new_string: Annotated[str, Meta(description="Text to put in its place.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False


class MultiEditArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="File to change; you must have read it.")]
    edits: Annotated[list[TextReplacement], Meta(description="Replacements, made one after the other.")]
    dry_run: Annotated[bool, Meta(description="Only show what would change.")] = False


def edit_tool(files: SeenFiles) -> Tool:
    async def work(arguments: EditArguments, workspace: Workspace) -> ToolResult:
        wanted = TextReplacement(arguments.old_string, arguments.new_string, arguments.replace_all)
        given = arguments.path, [wanted], arguments.dry_run
        return await asyncio.to_thread(_edit_file, "Edit", workspace, files, *given)

    return TypedTool("Edit", EditArguments, prompt_beside(__file__), work)


def multi_edit_tool(files: SeenFiles) -> Tool:
    async def work(arguments: MultiEditArguments, workspace: Workspace) -> ToolResult:
        if not arguments.edits:
            raise ToolError("INVALID_PARAM", "`edits` is empty", hint="Give at least one replacement")
        given = arguments.path, arguments.edits, arguments.dry_run
        return await asyncio.to_thread(_edit_file, "MultiEdit", workspace, files, *given)

    prompt = prompt_beside(str(Path(__file__).with_name("multi_edit.py")))
    return TypedTool("MultiEdit", MultiEditArguments, prompt, work)


def _edit_file(
    tool: str,
    workspace: Workspace,
    files: SeenFiles,
    path: str,
    replacements: Sequence[TextReplacement],
    dry_run: bool,
) -> ToolResult:
    for number, wanted in enumerate(replacements):
        _expect_replaceable(wanted, _which(number, len(replacements)))

    def work() -> ToolResult:
        file, _, outside = load_seen_file(workspace, files, path)
        shown = file.place.shown
        if file.encoding is None:
            raise ToolError("BINARY_FILE", f"`{shown}` is a binary file, which no edit can match")
        if outside and outside.before is None:
            raise conflict_error(shown, outside, "and what it was is no longer kept")
        done = apply_replacements(file.text, replacements)
        if isinstance(done, FailedReplacement):
            raise _explain_failure(shown, done, replacements, outside)
        if outside and share_lines(done.touched, [(c.new_first, c.new_last) for c in outside.changes]):
            raise conflict_error(shown, outside, "in the lines that you want to change")
        raw = encode(done.text, file.encoding, shown)
        if raw == file.raw:
            raise ToolError("INVALID_PARAM", f"together these edits leave `{shown}` as it is")
        change = PlannedChange(
            place=file.place,
            file=file,
            text=done.text,
            raw=raw,
            encoding=file.encoding,
            changes=done.changes,
            dry_run=dry_run,
            replacements=done.count,
            outside=outside,
        )
        return carry_out(workspace, files, path, change)

    return change_file(workspace, files, tool, path, work)


def _which(number: int, total: int) -> str:
    return f"edit {number + 1} of {total}: " if total > 1 else ""


def _expect_replaceable(wanted: TextReplacement, which: str) -> None:
    expect_no_surrogates(wanted.old_string, "old_string")
    expect_no_surrogates(wanted.new_string, "new_string")
    if not wanted.old_string:
        raise ToolError(
            "INVALID_PARAM", f"{which}`old_string` is empty", hint="Use Write to make or fill a file"
        )
    if wanted.old_string == wanted.new_string:
        raise ToolError("INVALID_PARAM", f"{which}`old_string` and `new_string` are the same")
    if unify_line_endings(wanted.old_string) == unify_line_endings(wanted.new_string):
        raise ToolError(
            "INVALID_PARAM",
            f"{which}`old_string` and `new_string` differ in line endings only, which an edit keeps",
            hint="Convert the file with Bash",
        )


def _explain_failure(
    shown: str,
    failure: FailedReplacement,
    replacements: Sequence[TextReplacement],
    outside: OutsideChange | None,
) -> ToolError:
    """Why replacements do not fit the file as it is."""
    if outside and isinstance(apply_replacements(outside.before or "", replacements), AppliedReplacements):
        return conflict_error(shown, outside, "so that the text you want to replace no longer fits")
    wanted = replacements[failure.edit]
    which = _which(failure.edit, len(replacements))
    if failure.places:
        more = ", …" if failure.places > len(failure.lines) else ""
        lines = ", ".join(map(str, failure.lines)) + more
        return ToolError(
            "INVALID_PARAM",
            f"{which}`old_string` occurs {failure.places} times in `{shown}`, in lines {lines}",
            hint="Add lines around it so that it is unique, or set `replace_all`",
        )
    if REDACTED in wanted.old_string:
        return ToolError(
            "INVALID_PARAM",
            f"{which}`old_string` contains `{REDACTED}`, which stands for a secret that was kept out of the log; "
            f"`{shown}` holds the real value",
            hint="Choose text beside the secret, which is never shown",
        )
    after = " after the edits before it" if failure.edit else ""
    found = explain_missing_text(
        failure.text, unify_line_endings(wanted.old_string), unify_line_endings(wanted.new_string)
    )
    return ToolError(
        "NOT_FOUND",
        f"{which}`old_string` is not in `{shown}`{after}",
        hint=found or "Read the lines you want to change and copy them exactly",
    )


def explain_missing_text(text: str, old: str, new: str) -> str:
    """Why a text is not in a file, in one or two sentences. All texts have `\\n` as their only line ending."""
    # Texts that may have been meant, each with what is wrong with the given one.
    variants = [
        ("`old_string` has the line numbers of Read in it", _NUMBERED.sub("", old)),
        (
            "`old_string` spells line breaks or quotes with backslashes",
            old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'"),
        ),
        ("`old_string` ends with a line break and the file does not", old.removesuffix("\n")),
        ("`old_string` has white space at its ends that the file does not have", old.strip()),
    ]
    for reason, variant in variants:
        if variant and variant != old and (place := text.find(variant)) >= 0:
            return f"{reason}: without that it is in line {_line(text, place)}"
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return ""
    for reason, same in _SAME:
        if first := _find_lines(lines, old, same):
            end = first + old.strip("\n").count("\n")
            where = f"line {first}" if first == end else f"lines {first}-{end}"
            return f"Only {reason} differ from {where}: copy these exactly as Read shows them"
    if new.strip() and (place := text.find(new)) >= 0:
        return f"`new_string` is already in line {_line(text, place)}: was it edited before?"
    return _first_difference(lines, old)


def _collapsed(line: str) -> str:
    return " ".join(line.split())


def _plain(line: str) -> str:
    return _collapsed(unicodedata.normalize("NFKC", line.translate(_LOOKALIKES)))


_SAME: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("spaces at line ends", str.rstrip),
    ("tabs, spaces or indentation", _collapsed),
    ("quotes, dashes or other look-alike characters", _plain),
    ("capitals", lambda line: _collapsed(line).casefold()),
)


def _find_lines(lines: list[str], old: str, same: Callable[[str], str]) -> int:
    """The first line from which whole lines are loosely the same; 0 if there is none."""
    wanted = [same(line) for line in old.strip("\n").split("\n")]
    if not any(wanted):
        return 0
    given = [same(line) for line in lines]
    for start in range(len(given) - len(wanted) + 1):
        if given[start] == wanted[0] and given[start : start + len(wanted)] == wanted:
            return start + 1
    return 0


def _first_difference(lines: list[str], old: str) -> str:
    """Where the first lines match, and the first line that does not."""
    wanted = old.strip("\n").split("\n")
    if len(wanted) < 2 or not wanted[0].strip():
        return ""
    best, run = 0, 0
    for start in (i for i, line in enumerate(lines) if line == wanted[0]):
        length = 0
        while length < len(wanted) and lines[start + length : start + length + 1] == [wanted[length]]:
            length += 1
        if length > run:
            best, run = start + 1, length
    if not run or run == len(wanted):
        return ""
    there = best + run
    found = f"`{_brief(lines[there - 1])}`" if there <= len(lines) else "the end of the file"
    return f"It begins as line {best}, but then line {there} is {found} and not `{_brief(wanted[run])}`"


def _brief(line: str) -> str:
    shown = escape_bytes(line)[0]
    return shown if len(shown) <= WIDEST else f"{shown[:WIDEST]}…"


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
