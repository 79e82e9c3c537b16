"""Parse the text of a diff: git's, also of a merge, and that of `diff -u`.

Rule: no file is skipped, even without lines. unidiff reads the hunks; file headers are read here, because unidiff
splits names at spaces, does not unquote them and knows no moves. A merge is read as the change to its first
parent.

A name is taken from where it is certain: `rename from` and `copy from` are alone on their lines, `---` and `+++`
come next, and `diff --git`, which cannot tell a space in a name from the one between two names, comes last.
"""

import re
from collections.abc import Iterator

from msgspec import Struct
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as ReadHunk
from unidiff.patch import PatchSet

from holdfast.errors import InputError
from holdfast.review.diff import ChangeKind, DiffLine, FileChange, Hunk, LineEnd, LineKind

NOTHING = "/dev/null"
SUBMODULE = "160000"

_PREFIX = re.compile(r"[abciow12]/")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_INDEX = re.compile(r"index [0-9a-f,]+\.\.[0-9a-f]+(?: ([0-7]{5,6}))?$")
_BINARY = re.compile(r"Binary files? (.+) and (.+) differ$")
_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_MERGED = re.compile(r"(@{3,})((?: -[0-9]{1,9}(?:,[0-9]{1,9})?)+) \+([0-9]{1,9})(?:,([0-9]{1,9}))? @{3,}(.*)")
_UNMERGED = "* Unmerged path "
_NO_NEWLINE = "\\ No newline at end of file\n"
_HINT = "give the complete output of `git diff` or `diff -u`"


class FileHeader(Struct, kw_only=True):
    """What was read so far about one file. `old` and `new` are names as written, unquoted, with their prefixes."""

    is_git: bool
    old: str = ""
    new: str = ""
    has_prefixes: bool = False
    moved_from: str = ""
    moved_to: str = ""
    is_copy: bool = False
    is_new: bool = False
    is_deleted: bool = False
    is_binary: bool = False
    old_mode: str = ""
    new_mode: str = ""
    note: str = ""

    @property
    def is_submodule(self) -> bool:
        return SUBMODULE in (self.old_mode, self.new_mode)

    @property
    def paths(self) -> tuple[str, str]:
        """The old and the new path, without prefixes; the same one twice if there is only one."""
        if self.moved_to:
            return self.moved_from, self.moved_to
        old, new = (
            (self._bare(self.old), self._bare(self.new)) if self.is_git else _plain_names(self.old, self.new)
        )
        return (new if old == NOTHING else old), (old if new == NOTHING else new)

    def _bare(self, name: str) -> str:
        return name[2:] if self.has_prefixes and _PREFIX.match(name) else name

    def change(self, *, empty_before: bool, empty_after: bool) -> ChangeKind:
        """Without git's headers, a new file shows only by its name or by having no lines before."""
        if self.moved_to:
            return "copied" if self.is_copy else "renamed"
        if self.is_new or self.old == NOTHING or (empty_before and not self.is_git):
            return "added"
        if self.is_deleted or self.new == NOTHING or (empty_after and not self.is_git):
            return "deleted"
        return "modified"

    def read(self, line: str) -> None:
        """Read one more line of the header; lines that say none of this are ignored."""
        word, _, rest = line.partition(" ")
        match word:
            case "---":
                self.old = read_name(rest)
            case "+++":
                self.new = read_name(rest)
            case "rename" | "copy":
                self._read_move(word, rest)
            case "old" | "new" | "deleted":
                self._read_mode(line)
            case "index":
                self._read_index(line)
            case "Binary":
                self.is_binary = self.is_binary or _BINARY.match(line) is not None
            case "GIT" if rest == "binary patch":
                self.is_binary = True

    def _read_move(self, word: str, rest: str) -> None:
        side, _, name = rest.partition(" ")
        if side == "from":
            self.moved_from, self.is_copy = read_name(name), word == "copy"
        elif side == "to":
            self.moved_to = read_name(name)

    def _read_mode(self, line: str) -> None:
        words = line.split(" ")
        mode = words[-1].split(",")[0]
        match words[:-1]:
            case ["old", "mode"]:
                self.old_mode = mode
            case ["new", "mode"]:
                self.new_mode = mode
            case ["new", "file", "mode"]:
                self.new_mode, self.is_new = mode, True
            case ["deleted", "file", "mode"]:
                self.old_mode, self.is_deleted = mode, True

    def _read_index(self, line: str) -> None:
        if (found := _INDEX.match(line)) and (mode := found[1]):
            self.old_mode = self.old_mode or mode
            self.new_mode = self.new_mode or mode


def read_git_header(line: str) -> FileHeader:
    """From `diff --git a/… b/…`."""
    old, new = _two_names(line.removeprefix("diff --git "))
    # The prefixes of the two sides differ, so equal names have none.
    return FileHeader(is_git=True, old=old, new=new, has_prefixes=old != new)


def read_merge_header(line: str) -> FileHeader:
    """From `diff --cc …` or `diff --combined …`, of a commit with several parents; `---` and `+++` follow, with
    prefixes, if there are lines."""
    name = read_name(line.split(" ", 2)[2])
    return FileHeader(is_git=True, old=f"a/{name}", new=f"b/{name}", has_prefixes=True)


def read_binary_header(line: str) -> FileHeader | None:
    """From `Binary files … and … differ` without a header before it, as `diff -r` writes it."""
    if not (found := _BINARY.match(line)):
        return None
    return FileHeader(is_git=False, old=read_name(found[1]), new=read_name(found[2]), is_binary=True)


def read_name(written: str) -> str:
    """A name without quotes, escapes, and what follows after a tab (a time)."""
    if found := _QUOTED.match(written):
        return _unescape(found[1])
    return written.split("\t", 1)[0]


def _unescape(text: str) -> str:
    """Octal numbers are bytes; several may make one character."""
    if "\\" not in text:
        return text
    raw = bytearray()
    at = 0
    for found in _ESCAPE.finditer(text):
        raw += text[at : found.start()].encode("utf-8", "surrogatepass")
        code = found[1]
        raw += bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code).encode("utf-8")
        at = found.end()
    raw += text[at:].encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace")


def _two_names(rest: str) -> tuple[str, str]:
    """Without quotes, two names can be separated only if they have the same length, prefixes included. If they do
    not, the file was moved, and its names follow on lines of their own."""
    if rest.startswith('"') and (found := _QUOTED.match(rest)):
        return _unescape(found[1]), read_name(rest[found.end() :].lstrip())
    if rest.endswith('"') and (at := rest.find(' "')) > 0:
        return rest[:at], read_name(rest[at + 1 :])
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " ":
        return rest[:middle], rest[middle + 1 :]
    old, _, new = rest.partition(" ")
    return old, new or old


def _plain_names(old: str, new: str) -> tuple[str, str]:
    """Names from `diff -u`: without the two compared folders, and without the ending of a backup copy."""
    if NOTHING in (old, new):
        name = new if old == NOTHING else old
        bare = name[2:] if name[:2] in ("a/", "b/") else name
        return (NOTHING, bare) if old == NOTHING else (bare, NOTHING)
    if old in (f"{new}.orig", f"{new}~"):
        return new, new
    old_top, _, old_rest = old.partition("/")
    new_top, _, new_rest = new.partition("/")
    if old_rest and old_rest == new_rest and old_top != new_top:
        return old_rest, new_rest
    return old, new


def parse_diff(text: str) -> tuple[FileChange, ...]:
    """**Contract:** raises `InputError` with the number of the line that is not part of a diff."""
    if not text.strip():
        return ()
    feed = _UnidiffInput(_lines(text))
    try:
        read = PatchSet(iter(feed))
    except UnidiffParseError as error:
        raise feed.error(str(error)) from None
    if not feed.headers:
        raise InputError("This text contains no diff.", hint=_HINT)
    files = [
        _file(header, tuple(map(_hunk, hunks))) for header, hunks in zip(feed.headers, read, strict=True)
    ]
    with_lines = {file.path for file in files if file.hunks}
    return tuple(file for file in files if not (file.note == "not merged" and file.path in with_lines))


def _lines(text: str) -> list[str]:
    """Without line breaks. A diff that went through a mail client ends every line with CRLF, headers included;
    git never writes a header like that."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    first = next((line for line in lines if line.startswith(("diff --git ", "--- ", "+++ "))), "")
    return [line.removesuffix("\r") for line in lines] if first.endswith("\r") else lines


class _UnidiffInput:
    """The lines for unidiff: a header that it understands for each file, then the hunks as they are.

    Lines of hunks are counted, because a removed line that begins with `-- ` looks like a header."""

    def __init__(self, lines: list[str]) -> None:
        self.headers: list[FileHeader] = []
        self._lines = lines
        self._at = 0
        self._hunk_at = 0
        self._is_open = False
        """May the last header still get lines? Its first hunk closes it."""
        self._is_after_hunk = False

    def error(self, reason: str) -> InputError:
        at = self._hunk_at if "shorter" in reason else self._at
        shown = self._lines[at - 1][:80] if 0 < at <= len(self._lines) else ""
        short = reason.partition(":")[0].lower()
        return InputError(f"Line {at} of the diff cannot be read ({short}): `{shown}`", hint=_HINT)

    def __iter__(self) -> Iterator[str]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            is_after_hunk, self._is_after_hunk = self._is_after_hunk, False
            if line.startswith("@@"):
                yield from self._hunk(line)
            elif line.startswith("\\ ") and is_after_hunk:
                # git translates this line.
                yield _NO_NEWLINE
            elif (header := self._header(line)) is not None:
                self.headers.append(header)
                self._is_open = True
                yield f"diff --git a/{len(self.headers)} b/{len(self.headers)}\n"
            elif self._is_open:
                self.headers[-1].read(line)

    def _header(self, line: str) -> FileHeader | None:
        """The header that begins with this line."""
        if line.startswith("diff --git "):
            return read_git_header(line)
        if line.startswith(("diff --cc ", "diff --combined ")):
            return read_merge_header(line)
        if line.startswith(_UNMERGED):
            name = read_name(line.removeprefix(_UNMERGED))
            return FileHeader(is_git=True, old=name, new=name, note="not merged")
        if self._is_open and self.headers[-1].is_git and not self.headers[-1].note:
            return None
        if line.startswith("--- ") and self._next().startswith("+++ "):
            header = FileHeader(is_git=False)
            header.read(line)
            return header
        return read_binary_header(line)

    def _next(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _hunk(self, line: str) -> Iterator[str]:
        self._hunk_at = self._at
        if not self.headers:
            raise self.error("a hunk without a file")
        self._is_open = False
        if found := _HUNK.match(line):
            old, new = int(found[2] or 1), int(found[4] or 1)
            if not old and not new:
                raise self.error("a hunk without lines")
            yield line + "\n"
            yield from self._body(old, new)
        elif found := _MERGED.match(line):
            yield from self._merged(found)
        else:
            raise self.error("not a hunk header")

    def _body(self, old: int, new: int) -> Iterator[str]:
        """As many lines as the hunk header states; unidiff reports if that is wrong."""
        while (old > 0 or new > 0) and self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            sign = line[:1]
            old -= sign != "+" and sign != "\\"
            new -= sign != "-" and sign != "\\"
            yield _NO_NEWLINE if sign == "\\" else line + "\n"
        self._is_after_hunk = True

    def _merged(self, found: re.Match[str]) -> Iterator[str]:
        """A hunk with a column for each parent, as a hunk against the first one; nothing if that one already had
        these lines."""
        parents = len(found[1]) - 1
        counts = [int(part.partition(",")[2] or 1) for part in found[2].split()]
        if parents != len(counts):
            raise self.error("not a hunk header")
        counts.append(int(found[4] or 1))
        kept: list[str] = []
        while any(count > 0 for count in counts) and self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith("\\"):
                kept.append(_NO_NEWLINE)
                continue
            signs = line[:parents].ljust(parents)
            is_removed = "-" in signs
            for i, sign in enumerate(signs):
                counts[i] -= sign == "-" or (sign == " " and not is_removed)
            counts[-1] -= not is_removed
            if not is_removed or signs[0] == "-":
                kept.append(signs[0] + line[parents:] + "\n")
        if any(counts):
            raise self.error("a merged hunk shorter than expected")
        if any(line[0] in "+-" for line in kept):
            yield f"@@ {found[2].split()[0]} +{found[3]},{found[4] or 1} @@{found[5]}\n"
            yield from kept
            self._is_after_hunk = True


def diff_line(kind: LineKind, old: int, new: int, text: str, *, is_last: bool = False) -> DiffLine:
    """From a line without its line feed; `is_last` if the file has none either."""
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
                whole = (last.text + last.end).removesuffix("\n")
                lines[-1] = diff_line(last.kind, last.old, last.new, whole, is_last=True)
            case " " | "+" | "-" as kind:
                lines.append(diff_line(kind, line.source_line_no or 0, line.target_line_no or 0, text))
    return Hunk(
        read.source_start,
        read.source_length,
        read.target_start,
        read.target_length,
        read.section_header.strip(),
        tuple(lines),
    )


def _file(header: FileHeader, hunks: tuple[Hunk, ...]) -> FileChange:
    old_path, path = header.paths
    change = header.change(
        empty_before=len(hunks) == 1 and not hunks[0].old_count,
        empty_after=len(hunks) == 1 and not hunks[0].new_count,
    )
    return FileChange(
        path=path,
        old_path=old_path if change in ("renamed", "copied", "modified") else path,
        change=change,
        old_mode=header.old_mode,
        new_mode=header.new_mode,
        is_binary=header.is_binary,
        is_submodule=header.is_submodule,
        hunks=hunks,
        note=header.note,
    )
