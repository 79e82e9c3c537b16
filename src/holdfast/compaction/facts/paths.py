"""Files by what was done with them, and keys: paths and ids that lead back to large content.

Rule: a call that failed or was refused changed nothing. A relative path means the only absolute one that ends in
it. A file that can be read again is a key only if it was written to be kept: a plan, a report, output too large
to show.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

from holdfast.compaction.facts.calls import CallRecord
from holdfast.compaction.facts.fact import Fact, FileAction, FileFact, clip_line
from holdfast.compaction.facts.requests import Utterance
from holdfast.ids import text_id
from holdfast.line_ranges import LineRange, merge_ranges
from holdfast.messages import Text
from holdfast.packing.presence import read_range
from holdfast.tool_use import CHANGING
from holdfast.views.shell import FileEffect, ShellEffect, file_effects, patched_files

MOST_SOURCES = 8
"""Entries that are named of one file, the newest."""

_CREATED = re.compile(r"(?i)\bcreated\b|\bnew file\b")
_UPDATED = re.compile(r"(?i)\b(?:updated|overwr\w+|modified)\b")
_EDITED = re.compile(r"\s*edit\b[^\n]{0,40}\n.*\bend_of_edit\b", re.DOTALL)
_OPEN_FILE = re.compile(r"\[File: (\S{1,300}) \(\d+ lines total\)\]")


def file_facts(calls: Sequence[CallRecord]) -> tuple[FileFact, ...]:
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
    """What relative paths mean."""

    def __init__(self, calls: Sequence[CallRecord]) -> None:
        self._by_name: dict[str, set[str]] = {}
        self._known: dict[str, str] = {}
        for call in calls:
            path = call.use.path or _opened(call)
            if path.startswith("/"):
                self._by_name.setdefault(posixpath.basename(path), set()).add(path)

    def known(self, path: str) -> str:
        if path not in self._known:
            self._known[path] = self._whole(path)
        return self._known[path]

    def _whole(self, path: str) -> str:
        path = path.removeprefix("./")
        if path.startswith(("/", "~")):
            return path
        longer = [p for p in self._by_name.get(posixpath.basename(path), ()) if p.endswith(f"/{path}")]
        return longer[0] if len(longer) == 1 else path


class _File:
    def __init__(self) -> None:
        self.action: FileAction | None = None
        self.step = -1
        self.is_whole = False
        self.spans: list[LineRange] = []
        self.sources: dict[str, None] = {}

    def change(self, effect: ShellEffect, call: CallRecord) -> None:
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

    def read(self, call: CallRecord) -> None:
        self.action = self.action or "read"
        if not self.is_whole:
            first, last = read_range(call.use, call.text)
            self.is_whole = not (last or call.use.is_mixed)
            if last:
                self.spans.append((first, last))
        if self.action == "read":
            self._touch(call.step.number, call.entry)
        else:
            self.step = call.step.number

    def _touch(self, step: int, entry: str) -> None:
        self.step = step
        self.sources.setdefault(entry)

    def fact(self, path: str) -> FileFact:
        assert self.action is not None
        spans = () if self.is_whole else merge_ranges(self.spans)
        ranges = ",".join(f"{first}-{last}" for first, last in spans)
        return FileFact(path, self.action, tuple(self.sources)[-MOST_SOURCES:], ranges, self.step)


def _is_new(before: FileAction | None, call: CallRecord) -> bool:
    """Whether a file that is written whole was not there before: by what the tool says, else by what was seen."""
    if before in ("created", "deleted"):
        return True
    if call.use.kind == "write":
        head = call.text[:400].replace(call.use.path, "")
        if _CREATED.search(head) or _UPDATED.search(head):
            return bool(_CREATED.search(head))
    return before is None


def _effects(call: CallRecord) -> Iterator[FileEffect]:
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


def _opened(call: CallRecord) -> str:
    """The file that an editor has open, as its result says; some edit whatever that is."""
    found = _OPEN_FILE.search(call.text, 0, 600) if call.use.kind in CHANGING or call.use.command else None
    return found[1] if found else ""


LARGE = 3_000
"""Characters from which a result that cannot be fetched again is worth a key."""
MOST_KEYS = 16
"""Keys that are kept, the newest."""
MOST_RESULTS = 8
"""Of them, ids of results."""

_SAVED = re.compile(
    r"(?:saved to|written to|Full output(?: saved to)?|plan file|transcript at|output-file>):?\s*"
    r"[`\"]?([~/.\w][^\s`\"<>]{2,300})"
)
_PLAN = re.compile(
    r"(?i)(?:^|/)(?:plans?|reports?|reviews?|specs?)/[^/]+\.(?:md|txt|json)$|(?:plan|handoff|report)\w*\.md$"
)


def key_facts(said: Sequence[Utterance], calls: Sequence[CallRecord]) -> tuple[Fact, ...]:
    """Paths and ids of the range in the order of the log, each once, where it was named last."""
    results = list(_results(calls))[-MOST_RESULTS:]
    found: dict[str, Fact] = {}
    for fact in [*_in_messages(said), *sorted([*_in_calls(calls), *results], key=lambda fact: fact.step)]:
        name = fact.text.split(" ", 1)[0]
        found.pop(name, None)
        found[name] = fact
    return tuple(list(found.values())[-MOST_KEYS:])


def _in_messages(said: Sequence[Utterance]) -> Iterator[Fact]:
    for one in said:
        for match in _SAVED.finditer(one.text):
            yield Fact(f"{match[1].rstrip('.,')} (named by the user)", (one.entry,), one.step)


def _in_calls(calls: Sequence[CallRecord]) -> Iterator[Fact]:
    """Plans that were written, and where a tool says that it put its output."""
    for call in calls:
        if not call.outcome.is_run or call.outcome.is_failed:
            continue
        if call.use.kind == "write" and _PLAN.search(call.use.path):
            yield Fact(f"{call.use.path} (written by the agent)", (call.step.entry,), call.step.number)
        elif call.use.kind in ("bash", "other"):
            for match in _SAVED.finditer(call.text, 0, 1_000):
                text = f"{match[1].rstrip('.,')} (output of {_about(call)})"
                yield Fact(text, (call.entry,), call.step.number)


def _results(calls: Sequence[CallRecord]) -> Iterator[Fact]:
    """Large results that no other call brings back: reports of agents, pages of the web."""
    for call in calls:
        if call.use.kind != "other" or len(call.text) < LARGE or call.outcome.is_failed:
            continue
        texts = [part.text for part in call.step.results[call.call.id].parts if isinstance(part, Text)]
        text = f"{text_id(max(texts, key=len))} ({len(call.text) // 1000}k characters: {_about(call)})"
        yield Fact(text, (call.entry,), call.step.number)


def _about(call: CallRecord) -> str:
    """Which call it was; of a tool that is known by its name alone, what it was first told."""
    label = call.use.label
    if label == call.use.name:
        label += " " + next((v for v in call.call.arguments.values() if isinstance(v, str)), "")
    return clip_line(label, 120)
