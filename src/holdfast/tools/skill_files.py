"""Skills on disk: folders with a `SKILL.md`, found in the places that the caller names, and the head of that file.

Rule: a fault in one file is a warning that names it, and the others still work. A project's skill is opened through
the workspace guard, so that a link in a repository never shows what lies outside it.

The head (between two lines of `---`) is a subset of YAML: plain, quoted and block texts, lists in brackets or with
dashes. A field is parsed only when it is asked for, so a strange one does not spoil the others. A complete YAML
reader would be too strict and too clever: it rejects `description: Use when: …`, which many files have, turns `no`
and `1.0` into values that are not text, and knows references that no head needs.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from holdfast.errors import HoldfastError
from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace import Workspace
from holdfast.tools.workspace_files import printable_path

T = TypeVar("T")
FENCE = "---"

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|$)")
_BLOCK = re.compile(r"([|>])([+-]?[1-9]?|[1-9][+-])(?:[ \t]+#.*)?")
_COMMENT = re.compile(r"(?<![^ \t])#.*$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\']|\'\')*)\'', re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "\n": ""}
_FOREIGN = {"&": "an anchor", "*": "a reference", "!": "a tag", "{": "a table in braces"}


class FrontmatterError(ValueError):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class FrontmatterField(Struct, frozen=True):
    """A field as written: what follows the colon, and the lines below that belong to it."""

    line: int = 1
    first: str = ""
    below: Sequence[str] = ()


class SkillDocument(Struct, frozen=True):
    fields: Mapping[str, FrontmatterField]
    body: str

    def field(self, key: str) -> FrontmatterField:
        """A field as it is written; an empty one if it is missing."""
        return self.fields.get(key, FrontmatterField())


def parse_document(text: str) -> SkillDocument:
    """A text with its head. Lines are counted from 1."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise FrontmatterError(1, f"the file does not begin with `{FENCE}`")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() == FENCE), 0)
    if not end:
        raise FrontmatterError(1, f"the head is not closed by a second `{FENCE}`")
    return SkillDocument(_fields(lines[1:end]), "\n".join(lines[end + 1 :]).strip("\n"))


def _fields(lines: list[str]) -> dict[str, FrontmatterField]:
    fields: dict[str, FrontmatterField] = {}
    below: list[str] = []
    for number, row in enumerate(lines, start=2):
        # A list need not be indented: `- a` below `key:` belongs to the key.
        if not row.strip() or row[0] in " \t" or row.startswith("- ") or row.rstrip() == "-":
            below.append(row)
            continue
        if row.startswith("#"):
            continue
        found = _KEY.fullmatch(row.rstrip())
        if not found:
            raise FrontmatterError(number, f"`{row.strip()[:60]}` is not a `key: value`")
        if earlier := fields.get(found[1]):
            raise FrontmatterError(number, f"`{found[1]}` occurs twice, first in line {earlier.line}")
        if not fields and any(row.strip() for row in below):
            raise FrontmatterError(2, "the head begins with an indented line")
        # The lines that follow are added to this list.
        below = []
        fields[found[1]] = FrontmatterField(number, (found[2] or "").strip(), below)
    return fields


def read_text(field: FrontmatterField) -> str:
    if block := _BLOCK.fullmatch(field.first):
        return _block(field, is_folded=block[1] == ">", keeps_ends="+" in block[2])
    if field.first[:1] in ('"', "'"):
        return _quoted(field)
    if field.first[:1] in _FOREIGN:
        raise FrontmatterError(
            field.line, f"{_FOREIGN[field.first[0]]} is not understood here; quote the text"
        )
    below = [] if field.first.startswith("#") else [_uncommented(row) for row in field.below]
    return " ".join(part for part in [_uncommented(field.first), *below] if part)


def _uncommented(row: str) -> str:
    # The blanks before a comment are not part of the pattern: a long run of them would be scanned from each one.
    return _COMMENT.sub("", row).strip()


def _block(field: FrontmatterField, *, is_folded: bool, keeps_ends: bool) -> str:
    rows = [row.rstrip() for row in field.below]
    filled = [row for row in rows if row.strip()]
    if any("\t" in row[: len(row) - len(row.lstrip())] for row in filled):
        raise FrontmatterError(field.line, "the text below is indented by tabs; use spaces")
    indent = min((len(row) - len(row.lstrip(" ")) for row in filled), default=0)
    text = "\n".join(row[indent:] for row in rows)
    if is_folded:
        text = re.sub(r"(?<!\n)\n(?![\n ])", " ", text)
    return text if keeps_ends else text.strip("\n")


def _quoted(field: FrontmatterField) -> str:
    whole = " ".join([field.first, *(row.strip() for row in field.below if row.strip())])
    found = _QUOTED.match(whole)
    if not found:
        raise FrontmatterError(field.line, "a quoted text has no closing quote")
    if _uncommented(whole[found.end() :]):
        raise FrontmatterError(field.line, "there is more text after the closing quote")
    if found[2] is not None:
        return found[2].replace("''", "'")
    return _ESCAPE.sub(_character, found[1])


def _character(escape: re.Match[str]) -> str:
    written = escape[1]
    if len(written) == 1:
        return _PLAIN_ESCAPES.get(written, written)
    number = int(written[1:], 16)
    is_valid = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if is_valid else "\N{REPLACEMENT CHARACTER}"


def read_texts(field: FrontmatterField) -> list[str]:
    """A list: in brackets, with dashes, or in one line, separated by commas or spaces."""
    rows = [row.strip() for row in field.below if row.strip() and not row.strip().startswith("#")]
    if not field.first and rows:
        if not all(row.startswith("-") for row in rows):
            raise FrontmatterError(field.line, "a list was expected: lines that begin with `- `")
        return [read_text(FrontmatterField(field.line, row[1:].strip())) for row in rows]
    text = " ".join([_uncommented(field.first), *rows]).strip()
    if text.startswith("["):
        if not text.endswith("]"):
            raise FrontmatterError(field.line, "a list in brackets is not closed")
        return [read_text(FrontmatterField(field.line, item)) for item in _parted(text[1:-1])]
    return _parted(read_text(field)) if "," in text else read_text(field).split()


def _parted(text: str) -> list[str]:
    """Parts of a text between commas outside quotes and parentheses."""
    ends, depth, quote, is_blank = list[int](), 0, "", True
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and is_blank:
            quote = character
        depth += (character == "(") - (character == ")")
        is_blank = is_blank and character.isspace()
        if character == "," and not quote and depth <= 0:
            ends.append(at)
            is_blank = True
    starts = [0, *(end + 1 for end in ends)]
    parts = [text[start:end].strip() for start, end in zip(starts, [*ends, len(text)], strict=True)]
    return [part for part in parts if part]


SKILL_FILE = "SKILL.md"
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LARGEST_FILE = 256 * 1024
MOST_SKILLS = 1000
MOST_ARGUMENTS = 50

_Mark = tuple[int, int, int]


class SkillFolder(Struct, frozen=True):
    """A place to look for skills. `within` is the root that its files must stay inside; without one, links are
    followed anywhere, since the folder is the user's own."""

    path: Path
    within: Path | None = None


class Skill(Struct, frozen=True):
    name: str
    description: str
    path: Path
    """Its `SKILL.md`."""
    body: str
    argument_names: tuple[str, ...] = ()
    argument_hint: str = ""
    allowed_tools: tuple[str, ...] = ()
    """What the skill asks for. It is shown and never extends what is allowed: a stranger may have written the
    file."""
    is_for_people_only: bool = False
    within: Path | None = None
    """The root that its folder must stay inside."""


def project_folders(root: Path) -> list[SkillFolder]:
    """Where a project keeps its skills; of two with the same name the first counts."""
    return [SkillFolder(root / name / "skills", root) for name in (".holdfast", ".agents", ".claude")]


class Skills:
    """The skills of some folders. `refresh` reads again what has changed."""

    def __init__(self, folders: Sequence[SkillFolder]) -> None:
        self._folders = tuple(folders)
        self._read: dict[Path, tuple[_Mark, Skill | str]] = {}
        self.by_name: dict[str, Skill] = {}
        self.warnings: tuple[str, ...] = ()
        self.refresh()

    def refresh(self) -> None:
        by_name: dict[str, Skill] = {}
        warnings: list[str] = []
        read: dict[Path, tuple[_Mark, Skill | str]] = {}
        for folder in self._folders:
            for path, mark in _files(folder.path):
                known = self._read.get(path)
                read[path] = known if known and known[0] == mark else (mark, _read(path, folder.within))
                skill = read[path][1]
                if isinstance(skill, str):
                    warnings.append(skill)
                elif skill.name in by_name:
                    first = by_name[skill.name].path
                    warnings.append(
                        f"{printable_path(str(path))}: the skill `{skill.name}` is already given by "
                        f"{printable_path(str(first))}"
                    )
                else:
                    by_name[skill.name] = skill
        self._read = read
        self.by_name = dict(sorted(by_name.items()))
        self.warnings = tuple(warnings)


def _files(folder: Path) -> Iterator[tuple[Path, _Mark]]:
    """Every `SKILL.md` one level below, sorted by name, each with a stamp that changes when the file does."""
    try:
        names = sorted(os.listdir(folder))[:MOST_SKILLS]  # noqa: PTH208 - names only, no entries
    except OSError:
        return
    for name in names:
        path = folder / name / SKILL_FILE
        try:
            status = path.stat()
        except OSError:
            continue
        yield path, (status.st_mtime_ns, status.st_size, status.st_ino)


def _read(path: Path, within: Path | None) -> Skill | str:
    """A skill, or a warning why it cannot be read."""
    found = read_checked(path, lambda: _skill(path, parse_document(open_text(path, within)), within))
    return f"{found}; the skill is left out" if isinstance(found, str) else found


def read_checked(path: Path, read: Callable[[], T]) -> T | str:
    """What is read, or a sentence that says what is wrong with the file."""
    try:
        return read()
    except FrontmatterError as error:
        trouble = f", line {error.line}: {error}"
    except UnicodeDecodeError as error:
        trouble = f": byte {error.start} is not UTF-8"
    except HoldfastError as error:
        trouble = f": {error.message}"
    except OSError as error:
        trouble = f": {error}"
    return f"{printable_path(str(path))}{trouble}"


def open_text(path: Path, within: Path | None) -> str:
    """The text of a file that must stay inside a root, if one is given."""
    # Without a root to stay inside, links are resolved first and the folder itself is the root.
    real = path if within else path.resolve(strict=True)
    with Workspace([within or real.parent]).open_file(str(real)) as opened:
        if opened.status.st_size > LARGEST_FILE:
            raise ToolError("INVALID_PARAM", f"the file is larger than {LARGEST_FILE} bytes")
        return opened.file.read(LARGEST_FILE + 1).decode("utf-8-sig")


def _skill(path: Path, document: SkillDocument, within: Path | None) -> Skill:
    name = read_text(document.field("name")) or path.parent.name
    if not is_name(name):
        rule = f"1 to {LONGEST_NAME} lowercase letters, digits and single hyphens"
        raise FrontmatterError(document.field("name").line, f"the name `{name[:80]}` does not fit: {rule}")
    description = " ".join(read_text(document.field("description")).split()) or first_paragraph(document.body)
    if not description:
        raise FrontmatterError(1, "there is no `description`")
    for_people = read_text(document.field("disable-model-invocation"))
    return Skill(
        name=name,
        description=in_one_line(description)[:LONGEST_DESCRIPTION],
        path=path,
        body=document.body,
        argument_names=tuple(read_texts(document.field("arguments"))[:MOST_ARGUMENTS]),
        # `argument-hint: [file] [lines]` looks like a list but is meant literally.
        argument_hint=in_one_line(document.field("argument-hint").first)[:200],
        allowed_tools=tuple(read_texts(document.field("allowed-tools"))),
        is_for_people_only=for_people.lower() in ("true", "yes", "on"),
        within=within,
    )


def in_one_line(text: str) -> str:
    """Invisible characters could forge lines, or tell a model what no person reads."""
    return "".join(character for character in text if character.isprintable())


def is_name(name: str) -> bool:
    has_letters = all(part.isalnum() for part in name.split("-"))
    return has_letters and name == name.lower() and len(name) <= LONGEST_NAME


def first_paragraph(body: str) -> str:
    """The first text below the head that is not a heading, in one line."""
    for block in body.split("\n\n"):
        rows = [row.strip() for row in block.splitlines() if row.strip() and not row.lstrip().startswith("#")]
        if rows:
            return " ".join(rows)
    return ""
