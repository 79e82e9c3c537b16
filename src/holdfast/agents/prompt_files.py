"""Markdown files of a project and of a person that say what to tell a model: own commands and own sub-agents.

Rule: a fault in one file is a warning that names it, and the others still work. A project's file is opened through
the workspace guard. The formats are those of Claude Code, so the same files are read in its folders.
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.tools.skill_files import SkillDocument, open_text, parse_document, read_checked
from holdfast.tools.workspace_files import printable_path

PROJECT_FOLDERS = (".holdfast", ".claude")
MOST_FILES = 500
DEEPEST = 4
"""Folders below each other that are looked into."""
_NAME = re.compile(r"[a-z][\w.-]*")


class PromptFolder(Struct, frozen=True):
    """A place to look for files. `within` is the root that they must stay inside, for those of a project."""

    path: Path
    within: Path | None = None


class PromptFile(Struct, frozen=True):
    """`name` has the folders that it is in, with a colon after each. `shown` is its path as a person knows it."""

    name: str
    path: Path
    shown: str
    document: SkillDocument


def prompt_folders(
    root: Path, own: Sequence[Path], kind: Literal["commands", "agents"]
) -> list[PromptFolder]:
    """The project's folders, then the person's own; of two files with the same name the first counts."""
    ours = [PromptFolder(root / name / kind, root) for name in PROJECT_FOLDERS]
    known = {one.path for one in ours}
    return [*ours, *(PromptFolder(folder / kind) for folder in own if folder / kind not in known)]


def read_prompt_files(folders: Sequence[PromptFolder]) -> tuple[list[PromptFile], list[str]]:
    """The files in the order of their folders, and warnings about those that cannot be read."""
    found: dict[str, PromptFile] = {}
    warnings: list[str] = []
    for folder in folders:
        if folder.within and not _is_within(folder.path, folder.within):
            # Not looked into: a link may lead to the whole disk.
            warnings.append(
                f"{printable_path(str(folder.path))}: the folder lies outside the workspace; it is left out"
            )
            continue
        for path in _paths(folder.path):
            inner = path.relative_to(folder.path).with_suffix("").parts
            name = ":".join(inner).lower()
            if name in found:
                continue
            if not all(_NAME.fullmatch(part.lower()) for part in inner):
                warnings.append(f"{printable_path(str(path))}: its name has characters that no command has")
                continue
            read = read_checked(path, partial(_document, path, folder.within))
            if isinstance(read, str):
                warnings.append(f"{read}; the file is left out")
            else:
                found[name] = PromptFile(name, path, _shown(path, folder.within), read)
    return list(found.values()), warnings


def _is_within(folder: Path, root: Path) -> bool:
    # Not `Path.resolve`, which fails on links in a circle.
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root))


def _document(path: Path, within: Path | None) -> SkillDocument:
    text = open_text(path, within)
    # A head may be missing; one that is begun must be right.
    has_head = text.startswith("---")
    return parse_document(text) if has_head else SkillDocument({}, text.strip("\n"))


def _paths(folder: Path) -> Iterator[Path]:
    """The Markdown files below a folder, sorted by name."""
    count = 0
    for here, folders, names in os.walk(folder):
        depth = len(Path(here).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith("."))[
            : MOST_FILES * (depth < DEEPEST)
        ]
        for name in sorted(names):
            if name.endswith(".md") and not name.startswith(".") and count < MOST_FILES:
                count += 1
                yield Path(here) / name


def _shown(path: Path, within: Path | None) -> str:
    if within is not None:
        return printable_path(str(path.relative_to(within)))
    home = Path.home()
    return printable_path(f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path))
