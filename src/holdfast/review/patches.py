"""A suggested change as a patch: read it, try it on the text it is for, write it in git's format.

Rule: in memory and on one file. A patch is kept only if it applies, and is kept as `git apply` takes it. Mistakes
that are easy to make (wrong counts, no context, no file names) are accepted when reading, never made when writing.
"""

import re
from difflib import unified_diff
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.review.diff import Hunk, diff_lines
from holdfast.review.diff_parser import NOTHING, read_headers

PatchProblem = Literal["unreadable", "several_files", "other_file", "no_text", "does_not_apply", "no_change"]

_HEADER = re.compile(
    r"@@ -(?P<old>\d+)(?:,(?P<olds>\d+))? \+(?P<new>\d+)(?:,(?P<news>\d+))? @@(?P<heading>.*)", re.DOTALL
)
_FENCE = re.compile(r"\A\s*```[a-z]*\n(?P<body>.*?)\n?```\s*\Z", re.DOTALL)
_END = "\\ No newline at end of file\n"


class AppliedPatch(Struct, frozen=True):
    """The text after the patch, and the patch as it is kept."""

    text: str
    patch: str


class _Edit(Struct, frozen=True):
    """Replace lines by others at about this index; lines include their line breaks. `begins` and `ends` say that
    the patch places it at the beginning or the end of the file, where git tries it."""

    at: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    begins: bool = False
    ends: bool = False


def try_patch(path: str, text: str | None, patch: str) -> AppliedPatch | PatchProblem:
    """Does this patch change this file, and nothing else? `text` is the new side."""
    edits = _read(patch, path)
    if isinstance(edits, str):
        return edits
    if text is None:
        return "no_text"
    after = _apply(text, edits)
    if after is None:
        return "does_not_apply"
    return "no_change" if after == text else AppliedPatch(after, write_patch(path, text, after))


def write_patch(path: str, before: str, after: str) -> str:
    """A unified diff with three lines of context, as git writes it."""
    tab = "\t" if " " in path else ""  # otherwise git takes the name to end at the space
    old, new = (_quoted(side, path) + tab for side in "ab")
    parts: list[str] = []
    for line in unified_diff(diff_lines(before), diff_lines(after), old, new):
        parts += (line,) if line.endswith("\n") else (line + "\n", _END)
    return "".join(parts)


def _quoted(side: str, path: str) -> str:
    """`a/path`, in quotes where git uses them: control characters, quotes, backslashes."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return f"{side}/{path}"
    return f'"{side}/{"".join(map(_escaped, path))}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _read(patch: str, path: str) -> tuple[_Edit, ...] | PatchProblem:
    try:
        files = read_headers(_fix_counts(_add_names(patch, path)))
    except InputError:
        return "unreadable"
    if len(files) != 1:
        return "several_files" if files else "unreadable"
    file = files[0]
    is_whole = file.is_new or file.is_deleted or NOTHING in (file.old, file.new)
    if is_whole or file.is_binary or not file.hunks:
        return "unreadable"
    # With or without git's prefix.
    names = (path, f"a/{path}", f"b/{path}")
    return tuple(map(_to_edit, file.hunks)) if file.old in names and file.new in names else "other_file"


def _add_names(patch: str, path: str) -> str:
    """The patch without a Markdown fence, and with file names if it begins with a hunk."""
    if fenced := _FENCE.match(patch):
        patch = fenced["body"]
    if not patch.endswith("\n"):
        patch += "\n"
    if patch.startswith("@@ "):
        patch = f"--- a/{path}\n+++ b/{path}\n{patch}"
    return patch


def _fix_counts(patch: str) -> str:
    """The patch with the true line counts in each hunk header, and without empty hunks."""
    lines = diff_lines(patch)
    headers = [(at, match) for at, line in enumerate(lines) if (match := _HEADER.match(line))]
    for at, match in headers:
        stated_old, stated_new = int(match["olds"] or 1), int(match["news"] or 1)
        old = new = 0
        for number in range(at + 1, len(lines)):
            line = lines[number]
            if _ends_hunk(lines, number, is_full=old >= stated_old and new >= stated_new):
                break
            if line.startswith("\\"):
                continue
            old += line[0] in " -\r\n"
            new += line[0] in " +\r\n"
        counted = f"@@ -{match['old']},{old} +{match['new']},{new} @@{match['heading']}"
        lines[at] = counted if old or new else ""
    return "".join(lines)


def _ends_hunk(lines: list[str], at: int, *, is_full: bool) -> bool:
    """Is this line no longer part of the hunk? `is_full` says that it has all the lines its header states."""
    line = lines[at]
    if line[0] not in " +-\\\r\n" or line.startswith("-- \n"):
        return True
    if line.startswith("--- "):  # the next file, or a removed line that begins with `-- `
        follows = [line[:4] for line in lines[at + 1 : at + 3]]
        return is_full and follows == ["+++ ", "@@ -"]
    # Empty lines after the last hunk are not context.
    return line in ("\n", "\r\n") and all(rest in ("\n", "\r\n") for rest in lines[at:])


def _to_edit(hunk: Hunk) -> _Edit:
    before = tuple(line.text + line.end for line in hunk.lines if line.kind != "+")
    after = tuple(line.text + line.end for line in hunk.lines if line.kind != "-")
    # Where nothing is left, git names the line before.
    at = hunk.new_start - 1 if after else hunk.new_start
    return _Edit(max(0, at), before, after, hunk.old_start <= 1, hunk.lines[-1].kind != " ")


def _apply(text: str, edits: tuple[_Edit, ...]) -> str | None:
    """Apply one hunk after the other, each at its line or as near to it as it matches."""
    lines = diff_lines(text)
    is_crlf = "\r\n" in text and "\n" not in text.replace("\r\n", "")
    if is_crlf and not any(line.endswith("\r\n") for edit in edits for line in edit.before):
        # The file's lines all end in CRLF, and the patch was written without.
        edits = tuple(
            replace(edit, before=tuple(map(_crlf, edit.before)), after=tuple(map(_crlf, edit.after)))
            for edit in edits
        )
    for edit in edits:
        at, fitted = _fit(lines, edit)
        if at < 0:
            return None
        lines[at : at + len(fitted.before)] = fitted.after
    return "".join(lines)


def _crlf(line: str) -> str:
    return line[:-1] + "\r\n" if line.endswith("\n") and not line.endswith("\r\n") else line


def _fit(lines: list[str], edit: _Edit) -> tuple[int, _Edit]:
    """The index where it matches, or -1; and the edit, without its last line break if the file has none."""
    for one in (edit, _without_last_break(lines, edit)):
        if one is None:
            continue
        if not one.before:
            return (one.at if one.at <= len(lines) else -1), one
        last = len(lines) - len(one.before)
        anchored = [at for at, applies in ((0, one.begins), (last, one.ends)) if applies]
        for at in (*anchored, *_nearest(one.at, last)):
            if at >= 0 and tuple(lines[at : at + len(one.before)]) == one.before:
                return at, one
    return -1, edit


def _without_last_break(lines: list[str], edit: _Edit) -> _Edit | None:
    """The edit for a file that ends without a line break, if the patch does not say so."""
    if not lines or lines[-1].endswith("\n") or not edit.before or not edit.before[-1].endswith("\n"):
        return None
    before, after = (
        (*side[:-1], side[-1].removesuffix("\n").removesuffix("\r")) if side else ()
        for side in (edit.before, edit.after)
    )
    return replace(edit, before=before, after=after)


def _nearest(at: int, last: int) -> list[int]:
    """Indexes from 0 to `last`, the nearest first, below before above, as git tries them."""
    return sorted(range(last + 1), key=lambda index: (abs(index - at), index < at))
