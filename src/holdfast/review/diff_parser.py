"""Parse the text of a diff: git's, also of a merge, and that of `diff -u`.

Rule: no file is skipped, even without lines. A merge is read as the change to its first parent.

A name is taken from where it is certain: `rename from` and `copy from` are alone on their lines, `---` and `+++`
come next, and `diff --git`, which cannot tell a space in a name from the one between two names, comes last.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.review.diff import ChangeKind, DiffLine, FileChange, Hunk, LineEnd, LineKind

NOTHING = "/dev/null"
SUBMODULE = "160000"

_PREFIX = re.compile(r"[abciow12]/")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_FIELD = re.compile(
    r"(---|\+\+\+|(?:rename|copy) (?:from|to)|(?:old|new|(?:new|deleted) file) mode|index|GIT|Binary) (.*)"
)
_INDEX = re.compile(r"[0-9a-f,]+\.\.[0-9a-f]+ ([0-7]{5,6})$")
_BINARY = re.compile(r"Binary files? (.+) and (.+) differ$")
_RANGE = r"([0-9]{1,9})(?:,([0-9]{1,9}))?"
_HUNK = re.compile(rf"@@ -{_RANGE} \+{_RANGE} @@(.*)")
_MERGED = re.compile(rf"(@{{3,}})((?: -[0-9]{{1,9}}(?:,[0-9]{{1,9}})?)+) \+{_RANGE} @{{3,}}(.*)")
_UNMERGED = "* Unmerged path "
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
    hunks: list[Hunk] = []

    def read(self, line: str) -> None:
        """Read one more line of the header; lines that say none of this are ignored."""
        field, rest = found.groups() if (found := _FIELD.match(line)) else ("", "")
        mode = rest.split(",")[0]  # that of the first parent
        match field:
            case "---":
                self.old = read_name(rest)
            case "+++":
                self.new = read_name(rest)
            case "rename from" | "copy from":
                self.moved_from, self.is_copy = read_name(rest), field == "copy from"
            case "rename to" | "copy to":
                self.moved_to = read_name(rest)
            case "old mode":
                self.old_mode = mode
            case "new mode":
                self.new_mode = mode
            case "new file mode":
                self.new_mode, self.is_new = mode, True
            case "deleted file mode":
                self.old_mode, self.is_deleted = mode, True
            case "index" if same := _INDEX.match(rest):
                self.old_mode, self.new_mode = self.old_mode or same[1], self.new_mode or same[1]
            case "Binary" | "GIT":
                self.is_binary |= rest == "binary patch" or _BINARY.match(line) is not None

    def change(self) -> FileChange:
        old_path, path = self._paths()
        change = self._kind()
        return FileChange(
            path=path,
            old_path=old_path if change in ("renamed", "copied", "modified") else path,
            change=change,
            old_mode=self.old_mode,
            new_mode=self.new_mode,
            is_binary=self.is_binary,
            is_submodule=SUBMODULE in (self.old_mode, self.new_mode),
            hunks=tuple(self.hunks),
            note=self.note,
        )

    def _paths(self) -> tuple[str, str]:
        """The old and the new path, without prefixes; the same one twice if there is only one."""
        if self.moved_to:
            return self.moved_from, self.moved_to
        old, new = self.old, self.new
        if not self.is_git:
            old, new = _plain_names(old, new)
        elif self.has_prefixes:
            old, new = (name[2:] if _PREFIX.match(name) else name for name in (old, new))
        return (new if old == NOTHING else old), (old if new == NOTHING else new)

    def _kind(self) -> ChangeKind:
        """Without git's headers, a new file shows only by its name or by having no lines before."""
        only = self.hunks[0] if len(self.hunks) == 1 and not self.is_git else None
        if self.moved_to:
            return "copied" if self.is_copy else "renamed"
        if self.is_new or self.old == NOTHING or (only and not only.old_count):
            return "added"
        if self.is_deleted or self.new == NOTHING or (only and not only.new_count):
            return "deleted"
        return "modified"


def read_name(written: str) -> str:
    """A name without quotes, escapes, and what follows after a tab (a time)."""
    if found := _QUOTED.match(written):
        return _unescape(found[1])
    return written.split("\t", 1)[0]


def _unescape(text: str) -> str:
    """Octal numbers are bytes; several may make one character."""

    def byte(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(byte, text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")


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
    headers = read_headers(text)
    if not headers:
        raise InputError("this text contains no diff", hint=_HINT)
    files = [header.change() for header in headers]
    with_lines = {file.path for file in files if file.hunks}
    return tuple(file for file in files if not (file.note == "not merged" and file.path in with_lines))


def read_headers(text: str) -> list[FileHeader]:
    """The files of a diff with their names as written, and their hunks."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    # A diff that went through a mail client ends every line with CRLF, headers included; git never writes a
    # header like that.
    first = next((line for line in lines if line.startswith(("diff --git ", "--- ", "+++ "))), "")
    return _Reader([line.removesuffix("\r") for line in lines] if first.endswith("\r") else lines).read()


class _Reader:
    """Lines of hunks are counted, because a removed line that begins with `-- ` looks like a header."""

    def __init__(self, lines: list[str]) -> None:
        self._headers: list[FileHeader] = []
        self._lines = lines
        self._at = 0
        self._is_open = False
        """May the last header still get lines? Its first hunk closes it."""

    def read(self) -> list[FileHeader]:
        for line in self._rest():
            if line.startswith("@@"):
                self._read_hunk(line)
            elif (header := self._header(line)) is not None:
                self._headers.append(header)
                self._is_open = True
            elif self._is_open:
                self._headers[-1].read(line)
        return self._headers

    def _rest(self) -> Iterator[str]:
        while self._at < len(self._lines):
            self._at += 1
            yield self._lines[self._at - 1]

    def _next(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _error(self, reason: str, at: int = 0) -> InputError:
        at = at or self._at
        shown = self._lines[at - 1][:80]
        return InputError(f"line {at} of the diff cannot be read ({reason}): `{shown}`", hint=_HINT)

    def _header(self, line: str) -> FileHeader | None:
        """The header that begins with this line."""
        if line.startswith("diff --git "):
            old, new = _two_names(line.removeprefix("diff --git "))
            # The prefixes of the two sides differ, so equal names have none.
            return FileHeader(is_git=True, old=old, new=new, has_prefixes=old != new)
        if line.startswith(("diff --cc ", "diff --combined ")):
            # Of a commit with several parents; `---` and `+++` follow, with prefixes, if there are lines.
            name = read_name(line.split(" ", 2)[2])
            return FileHeader(is_git=True, old=f"a/{name}", new=f"b/{name}", has_prefixes=True)
        if line.startswith(_UNMERGED):
            name = read_name(line.removeprefix(_UNMERGED))
            return FileHeader(is_git=True, old=name, new=name, note="not merged")
        if self._is_open and self._headers[-1].is_git and not self._headers[-1].note:
            return None
        if line.startswith("--- ") and self._next().startswith("+++ "):
            return FileHeader(is_git=False, old=read_name(line.removeprefix("--- ")))
        if found := _BINARY.match(line):  # as `diff -r` writes it
            return FileHeader(is_git=False, old=read_name(found[1]), new=read_name(found[2]), is_binary=True)
        return None

    def _read_hunk(self, line: str) -> None:
        at = self._at
        if not self._headers:
            raise self._error("a hunk without a file")
        self._is_open = False
        if found := _HUNK.match(line):
            old, new = int(found[2] or 1), int(found[4] or 1)
            if not old and not new:
                raise self._error("a hunk without lines")
            hunk = Hunk(int(found[1]), old, int(found[3]), new, found[5].strip(), ())
            body: Iterable[str] = self._body(old, new)
        elif found := _MERGED.match(line):
            start, _, count = found[2].split()[0].removeprefix("-").partition(",")
            old, new = int(count or 1), int(found[4] or 1)
            hunk = Hunk(int(start), old, int(found[3]), new, found[5].strip(), ())
            body = self._merged(found)
            if not any(line[0] in "+-" for line in body):
                return  # the first parent already had these lines
        else:
            raise self._error("not a hunk header")
        self._headers[-1].hunks.append(replace(hunk, lines=tuple(self._numbered(hunk, body, at))))

    def _numbered(self, hunk: Hunk, body: Iterable[str], at: int) -> list[DiffLine]:
        """The lines of a hunk, which begins at line `at` of the diff."""
        lines: list[DiffLine] = []
        old, new = hunk.old_start, hunk.new_start
        for line in body:
            match line[:1]:
                case "\\":
                    _end_text(lines)
                    continue
                case " " | "+" | "-" as kind:
                    text = line[1:]
                case "" | "\r":  # an empty line that lost its space
                    kind, text = " ", line
                case _:
                    raise self._error("hunk diff line expected")
            lines.append(diff_line(kind, 0 if kind == "+" else old, 0 if kind == "-" else new, text))
            old, new = old + (kind != "+"), new + (kind != "-")
            if old > hunk.old_start + hunk.old_count or new > hunk.new_start + hunk.new_count:
                raise self._error("hunk is longer than expected")
        if old < hunk.old_start + hunk.old_count or new < hunk.new_start + hunk.new_count:
            raise self._error("hunk is shorter than expected", at)
        # git translates what follows.
        if self._next().startswith("\\ "):
            self._at += 1
            _end_text(lines)
        return lines

    def _body(self, old: int, new: int) -> Iterator[str]:
        """As many lines as the hunk header states."""
        for line in self._rest():
            old -= line[:1] not in ("+", "\\")
            new -= line[:1] not in ("-", "\\")
            yield line
            if old <= 0 and new <= 0:
                return

    def _merged(self, found: re.Match[str]) -> list[str]:
        """The lines of a hunk with a column for each parent, as those of a hunk against the first one."""
        at = self._at
        parents = len(found[1]) - 1
        counts = [int(part.partition(",")[2] or 1) for part in found[2].split()]
        if parents != len(counts):
            raise self._error("not a hunk header")
        counts.append(int(found[4] or 1))
        kept: list[str] = []
        while any(count > 0 for count in counts) and (line := next(self._rest(), None)) is not None:
            if line.startswith("\\"):
                kept.append(line)
                continue
            signs = line[:parents].ljust(parents)
            is_removed = "-" in signs
            for i, sign in enumerate(signs):
                counts[i] -= sign == "-" or (sign == " " and not is_removed)
            counts[-1] -= not is_removed
            if not is_removed or signs[0] == "-":
                kept.append(signs[0] + line[parents:])
        if any(counts):
            raise self._error("a merged hunk shorter than expected", at)
        return kept


def _end_text(lines: list[DiffLine]) -> None:
    """The last line has no line feed in the file."""
    if lines:
        last = lines[-1]
        whole = (last.text + last.end).removesuffix("\n")
        lines[-1] = DiffLine(last.kind, last.old, last.new, whole, "")


def diff_line(kind: LineKind, old: int, new: int, text: str) -> DiffLine:
    """From a line without its line feed."""
    end: LineEnd = "\r\n" if text.endswith("\r") else "\n"
    return DiffLine(kind, old, new, text.removesuffix("\r"), end)
