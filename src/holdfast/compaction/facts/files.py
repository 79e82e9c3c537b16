"""Files by what was done with them, from the agent's own calls: tools, patches and shell commands.

Rule: a call that failed or was refused changed nothing. Paths are kept as they were written; a relative one is
taken for the only absolute one that ends in it.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

from holdfast.compaction.facts.calls import Call
from holdfast.compaction.facts.values import Action, FileFact
from holdfast.packing.renditions.file_lines import Span, merged, range_of
from holdfast.views.files import CHANGING
from holdfast.views.shell import Effect, FileEffect, file_effects, patched_files

MOST_SOURCES = 8
"""Entries that are named of one file, the newest."""

_CREATED = re.compile(r"(?i)\bcreated\b|\bnew file\b")
_UPDATED = re.compile(r"(?i)\b(?:updated|overwr\w+|modified)\b")
_EDITED = re.compile(r"\s*edit\b[^\n]{0,40}\n.*\bend_of_edit\b", re.DOTALL)
_OPEN_FILE = re.compile(r"\[File: (\S{1,300}) \(\d+ lines total\)\]")


def file_facts(calls: Sequence[Call]) -> tuple[FileFact, ...]:
    """Every file that was read or changed, the one touched last at the end."""
    paths = _Paths(calls)
    files: dict[str, _File] = {}
    for call in calls:
        if not call.outcome.is_run:
            continue
        for effect in _effects(call):
            path = paths.known(effect.path)
            if effect.effect == "deleted":
                for inner in [p for p in files if p.startswith(f"{path}/")]:
                    files[inner].change("deleted", call)
            files.setdefault(path, _File()).change(effect.effect, call)
        if call.use.kind == "read" and call.use.path and not call.outcome.is_failed:
            path = paths.known(call.use.path)
            files.setdefault(path, _File()).read(call)
    ranked = sorted(files.items(), key=lambda pair: pair[1].step)
    return tuple(file.fact(path) for path, file in ranked if file.action)


class _Paths:
    """What relative paths stand for."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._by_name: dict[str, set[str]] = {}
        for call in calls:
            path = call.use.path or _opened(call)
            if path.startswith("/"):
                self._by_name.setdefault(posixpath.basename(path), set()).add(path)

    def known(self, path: str) -> str:
        path = path.removeprefix("./")
        if path.startswith(("/", "~")):
            return path
        longer = [p for p in self._by_name.get(posixpath.basename(path), ()) if p.endswith(f"/{path}")]
        return longer[0] if len(longer) == 1 else path


class _File:
    def __init__(self) -> None:
        self.action: Action | None = None
        self.step = -1
        self.is_whole = False
        self.spans: list[Span] = []
        self.sources: list[str] = []

    def change(self, effect: Effect, call: Call) -> None:
        before = self.action
        if effect == "deleted":
            self.action = "deleted"
        elif effect == "written":
            self.action = "created" if _is_new(before, call) else "modified"
        else:
            self.action = "created" if before in ("created", "deleted") else "modified"
        if self.action != before and before in (None, "read"):
            self.sources.clear()
        self._touch(call.step.number, call.step.entry)

    def read(self, call: Call) -> None:
        self.action = self.action or "read"
        first, last = range_of(call.use, call.text)
        self.is_whole = self.is_whole or not last
        if last:
            self.spans.append((first, last))
        if self.action == "read":
            self._touch(call.step.number, call.entry)
        else:
            self.step = call.step.number

    def _touch(self, step: int, entry: str) -> None:
        self.step = step
        if entry not in self.sources:
            self.sources.append(entry)

    def fact(self, path: str) -> FileFact:
        assert self.action is not None
        spans = () if self.is_whole else merged(self.spans)
        ranges = ",".join(f"{first}-{last}" for first, last in spans)
        return FileFact(path, self.action, tuple(self.sources[-MOST_SOURCES:]), ranges, self.step)


def _is_new(before: Action | None, call: Call) -> bool:
    """Whether a file that is written whole was not there before: by what the tool says, else by what was seen."""
    if before in ("created", "deleted"):
        return True
    if call.use.kind == "write":
        head = call.text[:400].replace(call.use.path, "")
        if _CREATED.search(head) or _UPDATED.search(head):
            return bool(_CREATED.search(head))
    return before is None


def _effects(call: Call) -> Iterator[FileEffect]:
    use, failed = call.use, call.outcome.is_failed
    if use.kind in CHANGING:
        if failed:
            return
        if path := use.path or _opened(call):
            yield FileEffect(path, "written" if use.kind == "write" else "changed")
        if use.kind == "multiedit":
            texts = [value for value in call.call.arguments.values() if isinstance(value, str)]
            for text in texts:
                yield from patched_files(text)
    elif _EDITED.match(use.command):
        if not failed and (path := _opened(call)):
            yield FileEffect(path, "changed")
    elif call.command:
        yield from file_effects(call.command, is_failed=failed)


def _opened(call: Call) -> str:
    """The file that an editor has open, as its result says; some edit whatever that is."""
    found = _OPEN_FILE.search(call.text, 0, 600) if call.use.kind in CHANGING or call.use.command else None
    return found[1] if found else ""
