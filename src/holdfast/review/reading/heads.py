"""The head of one file in a diff: what it is called on both sides, its modes, and whether it was moved.

Rule: a name is taken from where it is certain. `rename from` and `copy from` stand alone on their lines, `---` and
`+++` come next, and the line `diff --git`, which cannot tell a space in a name from the one between two names,
comes last.
"""

import re

from msgspec import Struct

from holdfast.review.diff import Change

NOTHING = "/dev/null"
SUBMODULE = "160000"

_PREFIX = re.compile(r"[abciow12]/")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_INDEX = re.compile(r"index [0-9a-f,]+\.\.[0-9a-f]+(?: ([0-7]{5,6}))?$")
_BINARY = re.compile(r"Binary files? (.+) and (.+) differ$")


class Head(Struct, kw_only=True):
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

    def change(self, *, empty_before: bool, empty_after: bool) -> Change:
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
                self.old = name_of(rest)
            case "+++":
                self.new = name_of(rest)
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
            self.moved_from, self.is_copy = name_of(name), word == "copy"
        elif side == "to":
            self.moved_to = name_of(name)

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


def git_head(line: str) -> Head:
    """From `diff --git a/… b/…`."""
    old, new = _two_names(line.removeprefix("diff --git "))
    # Prefixes always differ between the sides, so equal names have none.
    return Head(is_git=True, old=old, new=new, has_prefixes=old != new)


def merge_head(line: str) -> Head:
    """From `diff --cc …` or `diff --combined …`, of a commit with several parents; `---` and `+++` follow with
    prefixes where there are lines."""
    name = name_of(line.split(" ", 2)[2])
    return Head(is_git=True, old=f"a/{name}", new=f"b/{name}", has_prefixes=True)


def binary_head(line: str) -> Head | None:
    """From `Binary files … and … differ` with no head before it, as `diff -r` writes it."""
    if not (found := _BINARY.match(line)):
        return None
    return Head(is_git=False, old=name_of(found[1]), new=name_of(found[2]), is_binary=True)


def name_of(written: str) -> str:
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
        return _unescaped(found[1]), name_of(rest[found.end() :].lstrip())
    if rest.endswith('"') and (at := rest.find(' "')) > 0:
        return rest[:at], name_of(rest[at + 1 :])
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
