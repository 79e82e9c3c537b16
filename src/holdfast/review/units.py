"""From a diff to units of review.

Rule: the same change gives the same units in the same order, with the same ids. An id is made of the path, the
kind of change and the changed lines; if a file has the same change twice, the second one is numbered. Uses of
names are counted by one run of ripgrep, however many names there are.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from holdfast.review.diff import Diff, FileChange, Versions
from holdfast.review.file_types import detect_language
from holdfast.review.hunk_groups import HunkGroup, OutlinedFile, group_hunks
from holdfast.review.outline import Outline, Outliner
from holdfast.review.tags import is_generated, path_tags, tag_unit
from holdfast.review.unit import Metrics, Span, Unit, rate_unit

CountUses = Callable[[Sequence[str]], Mapping[str, int]]
"""How often each name is used in the project, its definition aside; names that were not counted are missing."""

AHEAD = 8
"""Files that are submitted for parsing before the first of them is split."""
HEAD = 2000
"""Characters at the beginning of a file that are searched for a header."""

MAX_USES = 999
"""A name with more uses says nothing about the symbol that changed."""
MAX_OUTPUT = 32 * 1024 * 1024
SECONDS = 20.0
_COUNTED = re.compile(r"[^\W\d]\w{2,}")
_COMMON = frozenset("get set run main init new test setup close open read write name".split())


def build_units(
    diff: Diff, versions: Versions, *, count_uses: CountUses | None = None, outliner: Outliner | None = None
) -> tuple[Unit, ...]:
    """In the order of the diff. An `outliner` that was started before is ready sooner."""
    seen: Counter[str] = Counter()
    with nullcontext(outliner) if outliner else Outliner() as reader:
        units = [
            _unit(file, group, seen)
            for file in _outlined_files(diff.files, versions, reader)
            for group in _groups(file)
        ]
    # What callers write; empty if the unit is in nothing that can be called.
    symbols = [unit.symbol for unit in units]
    names = [one.name.rpartition(".")[2] if one and one.kind != "section" else "" for one in symbols]
    uses = count_uses(sorted({name for name in names if name})) if count_uses else {}
    return tuple(
        rate_unit(replace(unit, metrics=replace(unit.metrics, fan_in=uses.get(name, -1))))
        for unit, name in zip(units, names, strict=True)
    )


def count_uses(top: Path, names: Sequence[str]) -> dict[str, int]:
    """Count names in the files below a folder that are not ignored. One occurrence is taken for the definition.
    Names that are short, common or not words (an operator) are not counted."""
    counted = [name for name in names if _COUNTED.fullmatch(name) and name not in _COMMON]
    program = _ripgrep()
    if not counted or not program:
        return {}
    found = Counter(_search(program, top, counted).split("\n"))
    return {name: min(max(found[name] - 1, 0), MAX_USES) for name in counted}


def _outlined_files(
    files: Sequence[FileChange], versions: Versions, outliner: Outliner
) -> Iterator[OutlinedFile]:
    """Files with their outlines. The next files are parsed meanwhile."""
    ahead: deque[tuple[FileChange, str, str]] = deque()
    rest = iter(files)
    while True:
        ahead.extend(_submit(file, versions, outliner) for file in islice(rest, AHEAD + 1 - len(ahead)))
        if not ahead:
            return
        yield OutlinedFile(*ahead.popleft(), outliner.take(), outliner.take())


def _submit(file: FileChange, versions: Versions, outliner: Outliner) -> tuple[FileChange, str, str]:
    """Have both versions parsed; gives the file, its language and its head."""
    old = new = None
    if file.hunks and not file.is_submodule:
        old = None if file.change == "added" else versions.old(file.old_path)
        new = None if file.change == "deleted" else versions.new(file.path)
    text = new if new is not None else old
    language = detect_language(file.path, text)
    is_generated = "generated" in path_tags(file.path)
    outliner.submit(None if is_generated else old, detect_language(file.old_path, old))
    outliner.submit(None if is_generated else new, language)
    return file, language, (text or "")[:HEAD]


def _groups(file: OutlinedFile) -> list[HunkGroup]:
    """One for a file that nobody wrote: nobody reads it function by function."""
    if is_generated(file):
        return [HunkGroup(None, file.change.hunks)]
    return group_hunks(file) or [HunkGroup(None, ())]


def _unit(file: OutlinedFile, group: HunkGroup, seen: Counter[str]) -> Unit:
    change, hunks = file.change, group.hunks
    old, new = file.old or Outline(), file.new or Outline()
    more = sum(new.branches_on(line.new) for line in group.lines if line.kind == "+")
    less = sum(old.branches_on(line.old) for line in group.lines if line.kind == "-")
    return Unit(
        id=_id(change, group, seen),
        path=change.path,
        old_path=change.old_path,
        language=file.language,
        change=change.change,
        old=_span([(hunk.old_start, hunk.old_count) for hunk in hunks]),
        new=_span([(hunk.new_start, hunk.new_count) for hunk in hunks]),
        symbol=group.symbol,
        hunks=hunks,
        tags=tag_unit(file, group),
        metrics=Metrics(
            sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks), len(hunks), more - less
        ),
        note=_note(change),
    )


def _span(ranges: Sequence[tuple[int, int]]) -> Span:
    filled = [(start, start + count - 1) for start, count in ranges if count]
    return Span(filled[0][0], filled[-1][1]) if filled else Span(0, 0)


def _id(change: FileChange, group: HunkGroup, seen: Counter[str]) -> str:
    changed = [f"{line.kind}{line.text}{line.end}" for line in group.lines if line.kind != " "]
    parts = [change.path, change.old_path, change.change, *changed]
    if not changed:
        parts += [change.old_mode, change.new_mode, str(change.is_binary)]
    key = _digest(parts)
    seen[key] += 1
    return f"u-{key if seen[key] == 1 else _digest([key, str(seen[key])])}"


def _digest(parts: Sequence[str]) -> str:
    """Lengths are hashed too, so that no two lists of parts are the same text."""
    digest = blake2b(digest_size=6)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(raw) + raw)
    return digest.hexdigest()


def _note(change: FileChange) -> str:
    notes = []
    if change.change in ("renamed", "copied"):
        notes.append(f"{'moved' if change.change == 'renamed' else 'copied'} from {change.old_path}")
    if modes := change.mode_change:
        notes.append(f"mode {modes[0]} became {modes[1]}")
    if change.is_binary:
        notes.append("binary file")
    if change.is_submodule:
        notes.append("submodule")
    if change.note:
        notes.append(change.note)
    if not notes and not change.hunks:
        notes.append("an empty file" if change.change in ("added", "deleted") else "no lines changed")
    return "; ".join(notes)


def _ripgrep() -> str:
    installed = Path(sysconfig.get_path("scripts")) / "rg"
    found = str(installed) if os.access(installed, os.X_OK) else shutil.which("rg") or ""
    return found if Path(found).is_absolute() else ""


def _search(program: str, top: Path, names: Sequence[str]) -> str:
    """Every occurrence of a name, one a line."""
    options = """--no-config --no-messages --no-heading --no-filename --no-line-number --color=never --hidden
        --glob=!.git --max-filesize=2M --word-regexp --fixed-strings --only-matching --case-sensitive --file=-"""
    with tempfile.TemporaryFile() as out:
        try:
            subprocess.run(  # noqa: S603 -- names go in as data
                [program, *options.split(), "--", "."],
                cwd=top,
                input="\n".join(names).encode("utf-8"),
                stdout=out,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        out.seek(0)
        return out.read(MAX_OUTPUT).decode("utf-8", "replace")
