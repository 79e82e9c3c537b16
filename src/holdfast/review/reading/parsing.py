"""A diff's text as files and hunks: git's, of a merge as well, and that of `diff -u`.

Rule: no file is skipped, whatever it has no lines for. Hunks are read by unidiff; heads are read here, because it
takes names apart at spaces, does not unquote them and knows no moves. A merge is read as the change to its first
parent.
"""

import re
from collections.abc import Iterator

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as ReadHunk
from unidiff.patch import PatchSet

from holdfast.errors import InputError
from holdfast.review.diff import DiffLine, FileChange, Hunk, LineEnd, LineKind
from holdfast.review.reading.heads import Head, binary_head, git_head, merge_head, name_of

_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_MERGED = re.compile(r"(@{3,})((?: -[0-9]{1,9}(?:,[0-9]{1,9})?)+) \+([0-9]{1,9})(?:,([0-9]{1,9}))? @{3,}(.*)")
_UNMERGED = "* Unmerged path "
_NO_NEWLINE = "\\ No newline at end of file\n"
_HINT = "expected is what `git diff` or `diff -u` writes, whole"


def parse_diff(text: str) -> tuple[FileChange, ...]:
    """**Contract:** raises `InputError` with the number of the line where the text is not a diff."""
    if not text.strip():
        return ()
    feed = _Feed(_lines(text))
    try:
        read = PatchSet(iter(feed))
    except UnidiffParseError as error:
        raise feed.trouble(str(error)) from None
    if not feed.heads:
        raise InputError("There is no diff in this text.", hint=_HINT)
    files = [_file(head, tuple(map(_hunk, hunks))) for head, hunks in zip(feed.heads, read, strict=True)]
    with_lines = {file.path for file in files if file.hunks}
    return tuple(file for file in files if not (file.note == "not merged" and file.path in with_lines))


def _lines(text: str) -> list[str]:
    """Without line breaks. A diff that went through a mailer has two characters at the end of each line, its
    heads included; git never writes a head like that."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    first = next((line for line in lines if line.startswith(("diff --git ", "--- ", "+++ "))), "")
    return [line.removesuffix("\r") for line in lines] if first.endswith("\r") else lines


class _Feed:
    """The lines that unidiff is given: one head it understands for each file, then the hunks as they are.

    It counts along in hunks, because a removed line that begins with `-- ` looks like a head."""

    def __init__(self, lines: list[str]) -> None:
        self.heads: list[Head] = []
        self._lines = lines
        self._at = 0
        self._hunk_at = 0
        self._is_open = False
        """Whether the last head may still get lines; its hunks close it."""
        self._is_after_hunk = False

    def trouble(self, reason: str) -> InputError:
        at = self._hunk_at if "shorter" in reason else self._at
        shown = self._lines[at - 1][:80] if 0 < at <= len(self._lines) else ""
        said = reason.partition(":")[0].lower()
        return InputError(f"Line {at} of the diff cannot be read ({said}): `{shown}`", hint=_HINT)

    def __iter__(self) -> Iterator[str]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            is_after_hunk, self._is_after_hunk = self._is_after_hunk, False
            if line.startswith("@@"):
                yield from self._hunk(line)
            elif line.startswith("\\ ") and is_after_hunk:
                # Other languages have other words for it.
                yield _NO_NEWLINE
            elif (head := self._head(line)) is not None:
                self.heads.append(head)
                self._is_open = True
                yield f"diff --git a/{len(self.heads)} b/{len(self.heads)}\n"
            elif self._is_open:
                self.heads[-1].read(line)

    def _head(self, line: str) -> Head | None:
        """The head that begins with this line."""
        if line.startswith("diff --git "):
            return git_head(line)
        if line.startswith(("diff --cc ", "diff --combined ")):
            return merge_head(line)
        if line.startswith(_UNMERGED):
            name = name_of(line.removeprefix(_UNMERGED))
            return Head(is_git=True, old=name, new=name, note="not merged")
        if self._is_open and self.heads[-1].is_git and not self.heads[-1].note:
            return None
        if line.startswith("--- ") and self._next().startswith("+++ "):
            head = Head(is_git=False)
            head.read(line)
            return head
        return binary_head(line)

    def _next(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _hunk(self, line: str) -> Iterator[str]:
        self._hunk_at = self._at
        if not self.heads:
            raise self.trouble("a hunk without a file")
        self._is_open = False
        if found := _HUNK.match(line):
            old, new = int(found[2] or 1), int(found[4] or 1)
            if not old and not new:
                raise self.trouble("a hunk without lines")
            yield line + "\n"
            yield from self._body(old, new)
        elif found := _MERGED.match(line):
            yield from self._merged(found)
        else:
            raise self.trouble("not the head of a hunk")

    def _body(self, old: int, new: int) -> Iterator[str]:
        """As many lines as the hunk's head promises; unidiff says where that is wrong."""
        while (old > 0 or new > 0) and self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            sign = line[:1]
            old -= sign != "+" and sign != "\\"
            new -= sign != "-" and sign != "\\"
            yield _NO_NEWLINE if sign == "\\" else line + "\n"
        self._is_after_hunk = True

    def _merged(self, found: re.Match[str]) -> Iterator[str]:
        """A hunk with a column for each parent, as a hunk against the first one; nothing where that one already
        had these lines."""
        parents = len(found[1]) - 1
        counts = [int(part.partition(",")[2] or 1) for part in found[2].split()]
        if parents != len(counts):
            raise self.trouble("not the head of a hunk")
        counts.append(int(found[4] or 1))
        kept: list[str] = []
        while any(count > 0 for count in counts) and self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith("\\"):
                kept.append(_NO_NEWLINE)
                continue
            signs = line[:parents].ljust(parents)
            is_gone = "-" in signs
            for i, sign in enumerate(signs):
                counts[i] -= sign == "-" or (sign == " " and not is_gone)
            counts[-1] -= not is_gone
            if not is_gone or signs[0] == "-":
                kept.append(signs[0] + line[parents:] + "\n")
        if any(counts):
            raise self.trouble("a merged hunk shorter than expected")
        if any(line[0] in "+-" for line in kept):
            yield f"@@ {found[2].split()[0]} +{found[3]},{found[4] or 1} @@{found[5]}\n"
            yield from kept
            self._is_after_hunk = True


def line_of(kind: LineKind, old: int, new: int, text: str, *, is_last: bool = False) -> DiffLine:
    """From a line without its line feed; `is_last` where there is none in the file either."""
    if is_last:
        return DiffLine(kind, old, new, text, "")
    end: LineEnd = "\r\n" if text.endswith("\r") else "\n"
    return DiffLine(kind, old, new, text.removesuffix("\r"), end)


def _hunk(read: ReadHunk) -> Hunk:
    lines: list[DiffLine] = []
    for line in read:
        text = line.value.removesuffix("\n")
        match line.line_type:
            case "\\" if lines:
                last = lines[-1]
                lines[-1] = line_of(last.kind, last.old, last.new, _unended(last), is_last=True)
            case " " | "+" | "-" as kind:
                lines.append(line_of(kind, line.source_line_no or 0, line.target_line_no or 0, text))
    return Hunk(
        read.source_start,
        read.source_length,
        read.target_start,
        read.target_length,
        read.section_header.strip(),
        tuple(lines),
    )


def _unended(line: DiffLine) -> str:
    return (line.text + line.end).removesuffix("\n")


def _file(head: Head, hunks: tuple[Hunk, ...]) -> FileChange:
    old_path, path = head.paths
    change = head.change(
        empty_before=len(hunks) == 1 and not hunks[0].old_count,
        empty_after=len(hunks) == 1 and not hunks[0].new_count,
    )
    return FileChange(
        path=path,
        old_path=old_path if change in ("renamed", "copied", "modified") else path,
        change=change,
        old_mode=head.old_mode,
        new_mode=head.new_mode,
        is_binary=head.is_binary,
        is_submodule=head.is_submodule,
        hunks=hunks,
        note=head.note,
    )
