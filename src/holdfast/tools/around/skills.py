"""Skills: folders with a `SKILL.md`, found in the places that the caller names.

Rule: what one file has wrong is a warning with its place, and the others work. A project's skill is opened through
the workspace's guard, so that a link in somebody's repository never shows what lies outside of it.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.errors import HoldfastError
from holdfast.tools.around.frontmatter import Document, FrontmatterError, parse_document
from holdfast.tools.envelope import ToolError
from holdfast.tools.places import name_for_people
from holdfast.tools.workspace import Workspace

FILE = "SKILL.md"
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LARGEST_FILE = 256 * 1024
MOST_SKILLS = 1000
MOST_ARGUMENTS = 50

_Mark = tuple[int, int, int]


class SkillFolder(Struct, frozen=True):
    """A place to look for skills. `within` is the root that its files may not lead out of; without one, links are
    followed anywhere, as befits a folder of the user's own."""

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
    """What the skill asks for. It is shown and never widens what is allowed: the file may be a stranger's."""
    is_for_people_only: bool = False
    within: Path | None = None
    """The root that its folder may not lead out of, as that of its place."""


def project_folders(root: Path) -> list[SkillFolder]:
    """Where a project keeps its skills; of two with one name the first counts."""
    return [SkillFolder(root / name / "skills", root) for name in (".holdfast", ".agents", ".claude")]


class Skills:
    """The skills of some folders. `refresh` looks again and reads only what changed."""

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
                        f"{name_for_people(str(path))}: the skill `{skill.name}` is already given by "
                        f"{name_for_people(str(first))}"
                    )
                else:
                    by_name[skill.name] = skill
        self._read = read
        self.by_name = dict(sorted(by_name.items()))
        self.warnings = tuple(warnings)


def _files(folder: Path) -> Iterator[tuple[Path, _Mark]]:
    """Every `SKILL.md` one level below, in the order of names, with what changes when the file does."""
    try:
        names = sorted(os.listdir(folder))[:MOST_SKILLS]  # noqa: PTH208 - names only, no entries
    except OSError:
        return
    for name in names:
        path = folder / name / FILE
        try:
            status = path.stat()
        except OSError:
            continue
        yield path, (status.st_mtime_ns, status.st_size, status.st_ino)


def _read(path: Path, within: Path | None) -> Skill | str:
    """A skill, or the warning that it cannot be read."""
    where = name_for_people(str(path))
    try:
        return _skill(path, parse_document(_text(path, within)), within)
    except FrontmatterError as error:
        return f"{where}, line {error.line}: {error.message}; the skill is left out"
    except UnicodeDecodeError as error:
        return f"{where}: byte {error.start} is no UTF-8; the skill is left out"
    except (HoldfastError, OSError) as error:
        return f"{where}: {error}; the skill is left out"


def _text(path: Path, within: Path | None) -> str:
    # The folder itself as the root: without one to stay within, links have been followed before we look.
    real = path if within else path.resolve(strict=True)
    with Workspace([within or real.parent]).open_file(str(real)) as opened:
        if opened.status.st_size > LARGEST_FILE:
            raise ToolError("INVALID_PARAM", f"the file is larger than {LARGEST_FILE} bytes")
        return opened.file.read(LARGEST_FILE + 1).decode("utf-8-sig")


def _skill(path: Path, document: Document, within: Path | None) -> Skill:
    folder = path.parent.name
    name = document.text("name") or folder
    if not is_name(name):
        line = document.fields["name"].line if "name" in document.fields else 1
        rule = f"1 to {LONGEST_NAME} small letters, digits and single hyphens"
        raise FrontmatterError(line, f"the name `{name[:80]}` does not fit: {rule}")
    description = " ".join(document.text("description").split()) or _first_paragraph(document.body)
    if not description:
        raise FrontmatterError(1, "there is no `description`")
    return Skill(
        name=name,
        description=_in_one_line(description)[:LONGEST_DESCRIPTION],
        path=path,
        body=document.body,
        argument_names=tuple(document.texts("arguments")[:MOST_ARGUMENTS]),
        argument_hint=_hint(document),
        allowed_tools=tuple(document.texts("allowed-tools")),
        is_for_people_only=document.text("disable-model-invocation").lower() in ("true", "yes", "on"),
        within=within,
    )


def _hint(document: Document) -> str:
    """`argument-hint: [file] [lines]` looks like a list and is meant as it stands."""
    field = document.fields.get("argument-hint")
    return _in_one_line(field.first)[:200] if field else ""


def _in_one_line(text: str) -> str:
    """Characters that are not shown could forge lines, or say to a model what no person reads."""
    return "".join(character for character in text if character.isprintable())


def is_name(name: str) -> bool:
    parts = name.split("-")
    letters = all(part.isalnum() for part in parts)
    return letters and name == name.lower() and len(name) <= LONGEST_NAME


def _first_paragraph(body: str) -> str:
    """What stands first below the head and is no heading, in one line."""
    for block in body.split("\n\n"):
        rows = [row.strip() for row in block.splitlines() if row.strip() and not row.lstrip().startswith("#")]
        if rows:
            return " ".join(rows)
    return ""
