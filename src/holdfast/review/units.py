"""How often names stand in a project: one search for all of them.

Rule: one process, however many names. ripgrep looks for all at once; where there is none, nothing is counted.
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
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.review.diff import Diff, FileChange, Hunk, Versions
from holdfast.review.file_types import detect_language
from holdfast.review.hunk_groups import HunkGroup, OutlinePair, group_hunks
from holdfast.review.outliner import Outliner
from holdfast.review.tag_patterns import path_tags
from holdfast.review.tags import OutlinedFile, tag_unit
from holdfast.review.unit import Metrics, Span, Symbol, Unit, UnitFacts, assess_risk, suggest_level

MOST = 999
"""A name that stands in more places says nothing of the one that changed."""
MOST_OUTPUT = 32 * 1024 * 1024
SECONDS = 20.0

_COUNTED = re.compile(r"[^\W\d]\w{2,}")
_COMMON = {
    "get",
    "set",
    "run",
    "main",
    "init",
    "new",
    "test",
    "setup",
    "close",
    "open",
    "read",
    "write",
    "name",
}


def uses_below(top: Path) -> Callable[[Sequence[str]], Mapping[str, int]]:
    """Counts names in the files below a folder that are not ignored."""
    return lambda names: count_uses(top, names)


def count_uses(top: Path, names: Sequence[str]) -> dict[str, int]:
    """The first place of each name is taken for its definition. Names that are short, common or no words (an
    operator) are not counted."""
    counted = [name for name in names if _COUNTED.fullmatch(name) and name not in _COMMON]
    program = _ripgrep()
    if not counted or not program:
        return {}
    found = Counter(_search(program, top, counted).split("\n"))
    return {name: min(max(found[name] - 1, 0), MOST) for name in counted}


def _ripgrep() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("rg") or ""
    return found if Path(found).is_absolute() else ""


def _search(program: str, top: Path, names: Sequence[str]) -> str:
    command = [program, "--no-config", "--no-messages", "--no-heading", "--no-filename", "--no-line-number"]
    command += [
        "--color=never",
        "--hidden",
        "--glob=!.git",
        "--max-filesize=2M",
        "--word-regexp",
        "--fixed-strings",
    ]
    command += ["--only-matching", "--case-sensitive", "--file=-", "--", "."]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write("\n".join(names).encode("utf-8"))
        given.seek(0)
        try:
            subprocess.run(  # noqa: S603 -- names go in as data
                command,
                cwd=top,
                stdin=given,
                stdout=out,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        out.seek(0)
        return out.read(MOST_OUTPUT).decode("utf-8", "replace")


# From a diff to units of review.
#
# Rule: the same change gives the same units in the same order, with the same ids. An id is made of the path, the kind
# of change and the lines that changed; where a file has the same change twice, the second one is counted.

CountUses = Callable[[Sequence[str]], Mapping[str, int]]
"""How often names stand in the project, where they are defined aside; a name that was not counted is missing."""

AHEAD = 8
"""Files that are read before the first of them is cut."""
HEAD = 2000
"""Characters of a file's beginning that are looked at."""


def build_units(
    diff: Diff, versions: Versions, *, uses: CountUses | None = None, outliner: Outliner | None = None
) -> tuple[Unit, ...]:
    """In the order of the diff. `uses` counts how often names stand in the project, all at once; an `outliner` that
    was started before is ready sooner."""
    seen: Counter[str] = Counter()
    with nullcontext(outliner) if outliner else Outliner() as reader:
        read = _read_ahead(diff.files, versions, reader)
        units = [unit for one in read for unit in _units_of_file(*one, seen)]
    return tuple(_with_uses(units, uses) if uses else units)


def _read_ahead(
    files: Sequence[FileChange], versions: Versions, outliner: Outliner
) -> Iterator[tuple["_Read", OutlinePair]]:
    """Files with their outlines. Those to come are being read meanwhile."""
    ahead: deque[_Read] = deque()
    for file in files:
        ahead.append(_asked(file, versions, outliner))
        if len(ahead) > AHEAD:
            yield ahead.popleft(), OutlinePair(outliner.take(), outliner.take())
    while ahead:
        yield ahead.popleft(), OutlinePair(outliner.take(), outliner.take())


class _Read(Struct, frozen=True):
    file: FileChange
    language: str
    head: str


def _asked(file: FileChange, versions: Versions, outliner: Outliner) -> _Read:
    old_text, new_text = _texts(file, versions)
    text = new_text if new_text is not None else old_text
    language = detect_language(file.path, text)
    is_generated = "generated" in path_tags(file.path)
    outliner.ask(None if is_generated else old_text, detect_language(file.old_path, old_text))
    outliner.ask(None if is_generated else new_text, language)
    return _Read(file, language, (text or "")[:HEAD])


def _units_of_file(read: _Read, outlines: OutlinePair, seen: Counter[str]) -> Iterator[Unit]:
    for cut in group_hunks(read.file, outlines) or [HunkGroup(None, ())]:
        yield _unit(OutlinedFile(read.file, cut, outlines, read.language, read.head), seen)


def _texts(file: FileChange, versions: Versions) -> tuple[str | None, str | None]:
    """Both versions, where lines changed at all."""
    if not file.hunks or file.is_submodule:
        return None, None
    old = None if file.change == "added" else versions.old(file.old_path)
    return old, None if file.change == "deleted" else versions.new(file.path)


def _unit(told: OutlinedFile, seen: Counter[str]) -> Unit:
    file, cut = told.file, told.cut
    tags = tag_unit(told)
    metrics = Metrics(
        sum(hunk.added for hunk in cut.hunks),
        sum(hunk.removed for hunk in cut.hunks),
        len(cut.hunks),
        _complexity(cut.hunks, told.outlines),
    )
    facts = UnitFacts(file.change, frozenset(tags), metrics, _is_in_function(cut.symbol))
    risk = assess_risk(facts)
    return Unit(
        id=_id(file, cut.hunks, seen),
        path=file.path,
        old_path=file.old_path,
        language=told.language,
        change=file.change,
        old=_span([(hunk.old_start, hunk.old_count) for hunk in cut.hunks]),
        new=_span([(hunk.new_start, hunk.new_count) for hunk in cut.hunks]),
        symbol=cut.symbol,
        hunks=cut.hunks,
        tags=tags,
        metrics=metrics,
        suggestion=suggest_level(facts, risk),
        risk=risk,
        note=_note(file),
    )


def _complexity(hunks: Sequence[Hunk], outlines: OutlinePair) -> int:
    """Branches on lines that came, less those on lines that went."""
    lines = [line for hunk in hunks for line in hunk.lines]
    came = [line.new for line in lines if line.kind == "+"]
    went = [line.old for line in lines if line.kind == "-"]
    more = sum(outlines.new.branches_in(Span(n, n)) for n in came) if outlines.new else 0
    less = sum(outlines.old.branches_in(Span(n, n)) for n in went) if outlines.old else 0
    return more - less


def _span(ranges: Sequence[tuple[int, int]]) -> Span:
    held = [(start, start + count - 1) for start, count in ranges if count]
    return Span(held[0][0], held[-1][1]) if held else Span(0, 0)


def _id(file: FileChange, hunks: Sequence[Hunk], seen: Counter[str]) -> str:
    changed = [
        f"{line.kind}{line.text}{line.end}" for hunk in hunks for line in hunk.lines if line.kind != " "
    ]
    parts = [file.path, file.old_path, file.change, *changed]
    if not changed:
        parts += [file.old_mode, file.new_mode, str(file.is_binary)]
    key = _digest(parts)
    seen[key] += 1
    return f"u-{key if seen[key] == 1 else _digest([key, str(seen[key])])}"


def _digest(parts: Sequence[str]) -> str:
    """Lengths are hashed too, so that no two lists of parts are the same text."""
    hashed = blake2b(digest_size=6)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(raw) + raw)
    return hashed.hexdigest()


def _note(file: FileChange) -> str:
    said = []
    if file.change in ("renamed", "copied"):
        said.append(f"{'moved' if file.change == 'renamed' else 'copied'} from {file.old_path}")
    if file.old_mode and file.new_mode and file.old_mode != file.new_mode:
        said.append(f"mode {file.old_mode} became {file.new_mode}")
    if file.is_binary:
        said.append("binary file")
    if file.is_submodule:
        said.append("submodule")
    if file.note:
        said.append(file.note)
    if not said and not file.hunks:
        said.append("an empty file" if file.change in ("added", "deleted") else "no lines changed")
    return "; ".join(said)


def _with_uses(units: Sequence[Unit], uses: CountUses) -> list[Unit]:
    names = [_name(unit) for unit in units]
    counts = uses(sorted({name for name in names if name}))
    return [_with_fan_in(unit, counts.get(name, -1)) for unit, name in zip(units, names, strict=True)]


def _name(unit: Unit) -> str:
    """What callers write; empty where the unit is in nothing that could be called."""
    symbol = unit.symbol
    return "" if symbol is None or symbol.kind == "section" else symbol.name.rpartition(".")[2]


def _with_fan_in(unit: Unit, fan_in: int) -> Unit:
    if fan_in < 0:
        return unit
    metrics = replace(unit.metrics, fan_in=fan_in)
    facts = UnitFacts(unit.change, frozenset(unit.tags), metrics, _is_in_function(unit.symbol))
    risk = assess_risk(facts)
    return replace(unit, metrics=metrics, risk=risk, suggestion=suggest_level(facts, risk))


def _is_in_function(symbol: Symbol | None) -> bool:
    return symbol is not None and symbol.kind in ("function", "method", "section")
