"""A suggested change as a patch: read, tried on the text it is for, and written anew.

Rule: in memory and on one file. A patch is kept only where it applies, and is kept as `git apply` takes it: what
is made up in a hurry (wrong counts, no context, no file names) is forgiven when reading, never when writing.
"""

import re
from difflib import unified_diff
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as PatchHunk
from unidiff.patch import PatchedFile, PatchSet

PatchProblem = Literal["unreadable", "several_files", "other_file", "no_text", "does_not_apply", "no_change"]

_HEADER = re.compile(
    r"@@ -(?P<old>\d+)(?:,(?P<olds>\d+))? \+(?P<new>\d+)(?:,(?P<news>\d+))? @@(?P<heading>.*)", re.DOTALL
)
_FENCE = re.compile(r"\A\s*```[a-z]*\n(?P<body>.*?)\n?```\s*\Z", re.DOTALL)
_NULL = "/dev/null"
_END = "\\ No newline at end of file\n"


class AppliedPatch(Struct, frozen=True):
    """The text after the patch, the patch as it is kept, and by how many lines its furthest hunk had to move."""

    text: str
    patch: str
    moved: int


class _Edit(Struct, frozen=True):
    """Lines with their breaks: these become those, at about this line (from 0). `begins` and `ends` say that it is
    written as of the file's beginning or its end, where git tries it."""

    at: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    begins: bool = False
    ends: bool = False


def apply_patch(text: str, patch: str) -> str | None:
    """The text with the patch applied; None where it is no patch of one file or does not fit."""
    edits = _read(patch)
    done = _apply(text, edits) if isinstance(edits, tuple) else None
    return None if done is None else done[0]


def try_patch(path: str, text: str | None, patch: str) -> AppliedPatch | PatchProblem:
    """Does this patch change this file, and nothing else? `text` is the newer side."""
    edits = _read(patch, path)
    if isinstance(edits, str):
        return edits
    if text is None:
        return "no_text"
    done = _apply(text, edits)
    if done is None:
        return "does_not_apply"
    after, moved = done
    return "no_change" if after == text else AppliedPatch(after, write_patch(path, text, after), moved)


def write_patch(path: str, before: str, after: str) -> str:
    """A unified diff with three lines of context, as git writes it."""
    name = _quoted(path) + ("\t" if " " in path else "")  # else git takes the name to end at the space
    parts: list[str] = []
    for line in unified_diff(_lines(before), _lines(after), name.format("a"), name.format("b")):
        parts += (line,) if line.endswith("\n") else (line + "\n", _END)
    return "".join(parts)


def _quoted(path: str) -> str:
    """`{}/path`, in quotes where git would: control characters, quotes, backslashes."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return "{}/" + path.replace("{", "{{").replace("}", "}}")
    escaped = "".join(
        f"\\{c}"
        if c in '"\\'
        else c
        if c.isprintable()
        else "".join(f"\\{b:03o}" for b in c.encode("utf-8", "surrogateescape"))
        for c in path
    )
    return '"{}/' + escaped.replace("{", "{{").replace("}", "}}") + '"'


def _lines(text: str) -> list[str]:
    """Lines with their break, as git counts them: only `\\n` ends one."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _read(patch: str, path: str | None = None) -> tuple[_Edit, ...] | PatchProblem:
    try:
        files = PatchSet(_recounted(_named(patch, path or "file")))
    except UnidiffParseError:
        return "unreadable"
    if len(files) != 1:
        return "several_files" if files else "unreadable"
    one: PatchedFile = files[0]
    if _NULL in (one.source_file, one.target_file) or one.is_binary_file or not one:
        return "unreadable"
    if path is not None and not all(_is_path(name, path) for name in (one.source_file, one.target_file)):
        return "other_file"
    return tuple(map(_edit, one))


def _is_path(name: str, path: str) -> bool:
    """Is this the file, with or without git's prefix? Nothing absolute, nothing that climbs."""
    if name.startswith('"'):
        return name in (_quoted(path).format("a"), _quoted(path).format("b"))
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts:
        return False
    return path in (name, name[2:] if name[:2] in ("a/", "b/") else name)


def _named(patch: str, path: str) -> str:
    """The patch without a fence around it, and with file names if it begins with a hunk."""
    if fenced := _FENCE.match(patch):
        patch = fenced["body"]
    if not patch.endswith("\n"):
        patch += "\n"
    if patch.startswith("@@ "):
        patch = f"--- a/{path}\n+++ b/{path}\n{patch}"
    return patch


def _recounted(patch: str) -> str:
    """The patch with each hunk's counts as they are, not as its header says."""
    lines = _lines(patch)
    heads = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    for at in heads:
        match = _HEADER.match(lines[at])
        assert match is not None, "a header was found here"
        said_old, said_new = int(match["olds"] or 1), int(match["news"] or 1)
        old = new = 0
        for number in range(at + 1, len(lines)):
            line = lines[number]
            if _ends_hunk(lines, number, is_full=old >= said_old and new >= said_new):
                break
            if line.startswith("\\"):
                continue
            old += line[0] in " -\r\n"
            new += line[0] in " +\r\n"
        lines[at] = f"@@ -{match['old']},{old} +{match['new']},{new} @@{match['heading']}"
    return "".join(lines)


def _ends_hunk(lines: list[str], at: int, *, is_full: bool) -> bool:
    """Whether a line is no longer of the hunk, which has as many lines as its header said or more if `is_full`."""
    line = lines[at]
    if line[0] not in " +-\\\r\n" or line.startswith("-- \n"):
        return True
    if line.startswith("--- "):  # the next file, or a removed line that begins with `-- `
        follows = [line[:4] for line in lines[at + 1 : at + 3]]
        return is_full and follows == ["+++ ", "@@ -"]
    # Empty lines behind the last hunk are its end, not its context.
    return line in ("\n", "\r\n") and all(rest in ("\n", "\r\n") for rest in lines[at:])


def _edit(hunk: PatchHunk) -> _Edit:
    before: list[str] = []
    after: list[str] = []
    kind = ""
    for line in hunk:
        if line.line_type == "\\":  # about the line before it
            for side in _sides(kind, before, after):
                side[-1] = side[-1].removesuffix("\n")
            continue
        kind = line.line_type
        for side in _sides(kind, before, after):
            side.append(line.value)
    at = (
        hunk.target_start - 1 if after else hunk.target_start
    )  # git names the line before where nothing is left
    return _Edit(max(0, at), tuple(before), tuple(after), hunk.source_start <= 1, kind != " ")


def _sides(kind: str, before: list[str], after: list[str]) -> tuple[list[str], ...]:
    return {"-": (before,), "+": (after,), " ": (before, after)}.get(kind, ())


def _apply(text: str, edits: tuple[_Edit, ...]) -> tuple[str, int] | None:
    """Hunk after hunk on the lines as they are by then, each where it says or as near to it as it fits."""
    lines = _lines(text)
    if "\r\n" in text and "\n" not in text.replace("\r\n", "") and not any(map(_has_crlf, edits)):
        edits = tuple(_with_crlf(edit) for edit in edits)
    moved = 0
    for edit in edits:
        at, edit = _place(lines, edit)  # noqa: PLW2901 - the edit as it fits here
        if at < 0:
            return None
        lines[at : at + len(edit.before)] = edit.after
        moved = max(moved, abs(at - edit.at))
    return "".join(lines), moved


def _with_crlf(edit: _Edit) -> _Edit:
    """For a file all of whose lines end in CRLF, a patch that was written without."""
    before, after = (tuple(map(_crlf, side)) for side in (edit.before, edit.after))
    return replace(edit, before=before, after=after)


def _has_crlf(edit: _Edit) -> bool:
    return any(line.endswith("\r\n") for line in edit.before)


def _crlf(line: str) -> str:
    return line[:-1] + "\r\n" if line.endswith("\n") and not line.endswith("\r\n") else line


def _place(lines: list[str], edit: _Edit) -> tuple[int, _Edit]:
    """The line where it fits, or -1; and the edit, without the last line break where the file has none."""
    for one in (edit, _without_last_break(lines, edit)):
        if one is None:
            continue
        if not one.before:
            return (one.at if one.at <= len(lines) else -1), one
        last = len(lines) - len(one.before)
        anchored = [at for at, is_there in ((0, one.begins), (last, one.ends)) if is_there]
        for at in (*anchored, *_nearest(one.at, last)):
            if at >= 0 and tuple(lines[at : at + len(one.before)]) == one.before:
                return at, one
    return -1, edit


def _without_last_break(lines: list[str], edit: _Edit) -> _Edit | None:
    """A patch that does not say that the file ends without a line break, made to say so."""
    if not lines or lines[-1].endswith("\n") or not edit.before or not edit.before[-1].endswith("\n"):
        return None
    before, after = list(edit.before), list(edit.after)
    before[-1] = before[-1].removesuffix("\n").removesuffix("\r")
    if after:
        after[-1] = after[-1].removesuffix("\n").removesuffix("\r")
    return replace(edit, before=tuple(before), after=tuple(after))


def _nearest(at: int, last: int) -> list[int]:
    """Places from 0 to `last`, the nearest first, below before above, as git tries them."""
    return sorted(range(last + 1), key=lambda place: (abs(place - at), place < at))
