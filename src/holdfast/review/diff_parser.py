"""The head of one file in a diff: what it is called on both sides, its modes, and whether it was moved.

Rule: a name is taken from where it is certain. `rename from` and `copy from` stand alone on their lines, `---` and
`+++` come next, and the line `diff --git`, which cannot tell a space in a name from the one between two names,
comes last.
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


class FileHeader(Struct, kw_only=True):
    """What was read so far of one file. `old` and `new` are names as written, unquoted, with their prefixes."""

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
        """The older and the newer path, without prefixes; the same one twice where there is only one."""
        if self.moved_to:
            return self.moved_from, self.moved_to
        old, new = (self._bare(self.old), self._bare(self.new)) if self.is_git else _plain(self.old, self.new)
        return (new if old == NOTHING else old), (old if new == NOTHING else new)

    def _bare(self, name: str) -> str:
        return name[2:] if self.has_prefixes and _PREFIX.match(name) else name

    def change(self, *, empty_before: bool, empty_after: bool) -> ChangeKind:
        """A diff without git's heads marks a new file by a name or, at best, by there being no lines before."""
        if self.moved_to:
            return "copied" if self.is_copy else "renamed"
        if self.is_new or self.old == NOTHING or (empty_before and not self.is_git):
            return "added"
        if self.is_deleted or self.new == NOTHING or (empty_after and not self.is_git):
            return "deleted"
        return "modified"

    def read(self, line: str) -> None:
        """One more line of this head. Lines that say nothing of these are passed over."""
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
    # Prefixes always differ between the sides, so equal names have none.
    return FileHeader(is_git=True, old=old, new=new, has_prefixes=old != new)


def read_merge_header(line: str) -> FileHeader:
    """From `diff --cc …` or `diff --combined …`, of a commit with several parents; `---` and `+++` follow with
    prefixes where there are lines."""
    name = read_name(line.split(" ", 2)[2])
    return FileHeader(is_git=True, old=f"a/{name}", new=f"b/{name}", has_prefixes=True)


def read_binary_header(line: str) -> FileHeader | None:
    """From `Binary files … and … differ` with no head before it, as `diff -r` writes it."""
    if not (found := _BINARY.match(line)):
        return None
    return FileHeader(is_git=False, old=read_name(found[1]), new=read_name(found[2]), is_binary=True)


def read_name(written: str) -> str:
    """A name without quotes, escapes, and what follows it after a tab (a time)."""
    if found := _QUOTED.match(written):
        return _unescaped(found[1])
    return written.split("\t", 1)[0]


def _unescaped(text: str) -> str:
    """Octal numbers are bytes, of which several may be one character."""
    if "\\" not in text:
        return text
    raw = bytearray()
    at = 0
    for found in _ESCAPE.finditer(text):
        raw += text[at : found.start()].encode("utf-8", "surrogatepass")
        said = found[1]
        raw += bytes([int(said, 8) & 0xFF]) if len(said) == 3 else _ESCAPED.get(said, said).encode("utf-8")
        at = found.end()
    raw += text[at:].encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace")


def _two_names(rest: str) -> tuple[str, str]:
    """Without quotes, names are told apart only where they are equally long, prefixes included. Where they are
    not, the file was moved, and its names follow on lines of their own."""
    if rest.startswith('"') and (found := _QUOTED.match(rest)):
        return _unescaped(found[1]), read_name(rest[found.end() :].lstrip())
    if rest.endswith('"') and (at := rest.find(' "')) > 0:
        return rest[:at], read_name(rest[at + 1 :])
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " ":
        return rest[:middle], rest[middle + 1 :]
    old, _, new = rest.partition(" ")
    return old, new or old


def _plain(old: str, new: str) -> tuple[str, str]:
    """Names out of `diff -u`: two folders that were compared go, and so do the ends of copies kept aside."""
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


# A diff's text as files and hunks: git's, of a merge as well, and that of `diff -u`.
#
# Rule: no file is skipped, whatever it has no lines for. Hunks are read by unidiff; heads are read here, because it
# takes names apart at spaces, does not unquote them and knows no moves. A merge is read as the change to its first
# parent.

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
        self.heads: list[FileHeader] = []
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

    def _head(self, line: str) -> FileHeader | None:
        """The head that begins with this line."""
        if line.startswith("diff --git "):
            return read_git_header(line)
        if line.startswith(("diff --cc ", "diff --combined ")):
            return read_merge_header(line)
        if line.startswith(_UNMERGED):
            name = read_name(line.removeprefix(_UNMERGED))
            return FileHeader(is_git=True, old=name, new=name, note="not merged")
        if self._is_open and self.heads[-1].is_git and not self.heads[-1].note:
            return None
        if line.startswith("--- ") and self._next().startswith("+++ "):
            head = FileHeader(is_git=False)
            head.read(line)
            return head
        return read_binary_header(line)

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


def diff_line(kind: LineKind, old: int, new: int, text: str, *, is_last: bool = False) -> DiffLine:
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
                lines[-1] = diff_line(last.kind, last.old, last.new, _unended(last), is_last=True)
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


def _unended(line: DiffLine) -> str:
    return (line.text + line.end).removesuffix("\n")


def _file(head: FileHeader, hunks: tuple[Hunk, ...]) -> FileChange:
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
