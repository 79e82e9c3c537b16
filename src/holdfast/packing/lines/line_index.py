"""The line index: every line and every name of a log up to now, read once, with what later steps did about them.

Rule: it grows item by item and in order; what it knows at an item is the same however the log was read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, repeat
from math import log1p
from operator import attrgetter

from msgspec import Struct

from holdfast.packing.lines.features import (
    NEW,
    RECENT_STEPS,
    LineFacts,
    LineRater,
    facts_of_lines,
    is_crowd,
    names_in,
    rate_name,
)
from holdfast.packing.lines.passages import (
    Passage,
    PassageSource,
    step_passages,
    user_passages,
)
from holdfast.packing.lines.weights import WeightVectors, dot, worths_of
from holdfast.views.transcript import Item, Step

MOST_ROWS_READ = 20_000
"""Rows of one text that are looked at, half of them from its end: a longer text would take seconds."""
LONGEST_LINE = 1500
"""Characters of a line worth quoting; of a longer one nothing is."""
SHORTEST_LINE = 4
SHORTEST_SCORED_NAME = 6
"""Characters of a name that is worth anything by itself."""


class IndexedLine(Struct, gc=False):
    """A line and its place. `fixed` is the part of its worth that never changes."""

    source: PassageSource
    number: int
    text: str
    key: str
    names: tuple[str, ...]
    size: int
    is_weak: bool
    """Whether nothing says what its names are: one alone, or a crowd of them."""
    fixed: float


class NameSource(Struct, gc=False):
    """The text that brought some names up: how many, and how many of them a later call used."""

    names: int = 0
    used: int = 0
    score: float | None = None
    """What the share that was used adds to the worth of each; None where nobody asked since it changed."""


class IndexedName(Struct, gc=False):
    """What is known of a name by now. `text` is the one string that all lines with it share."""

    text: str
    first: int
    last: int
    is_own: bool
    source: NameSource
    is_reused: bool = False
    """Whether a later call than the one that brought it up, if any did, used it."""
    last_seen_in: str = ""
    """The kind of the result it was last seen in, `own` where that was a call of the agent's."""
    count: int = 0
    messages: int = 0
    used: int = 0
    used_last: int = -1
    said: int = 0
    by_user: bool = False
    in_trouble: bool = False
    in_definition: bool = False
    item: int = -1
    seen_score: float | None = None
    """Its worth but for what changes with every step; None where nobody asked since it was seen."""


def outer_rows(rows: range) -> Sequence[int]:
    """The rows that are looked at."""
    half = MOST_ROWS_READ // 2
    return rows if len(rows) <= MOST_ROWS_READ else [*rows[:half], *rows[-half:]]


class LogLineIndex:
    def __init__(self, weights: WeightVectors) -> None:
        self.weights = weights
        self.lines: list[IndexedLine] = []
        self.names: dict[str, IndexedName] = {}
        self.repeats: dict[str, int] = {}
        """How often each line was seen, by its key."""
        self.goal: set[str] = set()
        """Names that the user brought up."""
        self.step = 0
        """Steps so far."""
        self.version = 0
        """Counts the changes, so that a view can tell that what it refers to has changed."""
        self._item = -1
        self._name_values: dict[str, float] = {}
        """What names are worth now, as far as somebody asked since the last item."""
        self._changes: dict[str, list[int]] = {}
        """Steps that changed a file, by its path."""
        self._touched: dict[str, int] = {}
        self._ends: dict[str, list[str]] = {}
        """Paths that were touched, by their last part."""

    def note(self, item: Item) -> None:
        """Read an item, once, when it is complete."""
        if item.position <= self._item:
            return
        self._item = item.position
        self.version += 1
        self._name_values = {}
        if isinstance(item, Step):
            self.step = item.number + 1
        for passage in step_passages(item) if isinstance(item, Step) else user_passages(item, self.step):
            self._read(passage)
        if isinstance(item, Step):
            self._note_files(item)

    def remember(self, lines: list[IndexedLine]) -> None:
        """These lines, with their names, and no others; a name that comes again is a new one."""
        self.version += 1
        self.lines = lines
        self.repeats = {line.key: self.repeats[line.key] for line in lines}
        self.names = {text: self.names[text] for line in lines for text in line.names}

    def _read(self, passage: Passage) -> None:
        source, end = passage.source, passage.source.first_row + passage.source.rows
        rows = outer_rows(range(source.first_row, end))
        numbers = [at for at in rows if len(passage.lines[at]) <= LONGEST_LINE]
        lines = [passage.lines[number] for number in numbers]
        seen = facts_of_lines(lines)
        self._note_names(seen, source)
        rate = LineRater(self.weights.fixed_line, source.origin, source.kind, source.rows).rate
        repeats, known = self.repeats, self.names
        for number, line, facts in zip(numbers, lines, seen, strict=True):
            key = facts.key
            if len(key) >= SHORTEST_LINE:
                names = tuple([known[name].text for name in facts.names])
                is_weak = facts.is_lone or is_crowd(line, names)
                worth = rate(facts, line, number - source.first_row)
                self.lines.append(IndexedLine(source, number, line, key, names, facts.size, is_weak, worth))
                repeats[key] = repeats.get(key, 0) + 1
        if source.origin == "user":
            self.goal.update(names_in("\n".join(passage.lines)))

    def _note_names(self, lines: Sequence[LineFacts], passage: PassageSource) -> None:
        step, origin = self.step, passage.origin
        is_call = origin in ("call", "argument")
        own = is_call or origin == "said"
        seen_in = "own" if is_call else passage.kind or "" if origin == "result" else ""
        source = NameSource()
        for text, count in Counter(chain.from_iterable(facts.names for facts in lines)).items():
            name = self.names.get(text)
            if name is None:
                name = self.names[text] = IndexedName(text, step, step, own, source)
                source.names += 1
            elif is_call and not name.is_reused:
                name.is_reused = True
                name.source.used += 1
                name.source.score = None
            name.last_seen_in = seen_in
            name.last = step
            name.seen_score = None
            name.count += count
            if name.item != self._item:
                name.item = self._item
                name.messages += 1
            if is_call:
                name.used += count
                name.used_last = step
            elif origin == "said":
                name.said += count
            elif origin == "user":
                name.by_user = True
        for facts in lines:
            if facts.is_trouble or facts.is_definition:
                for text in facts.names:
                    self.names[text].in_trouble |= facts.is_trouble
                    self.names[text].in_definition |= facts.is_definition

    def _note_files(self, step: Step) -> None:
        for call_id, use in step.uses.items():
            result = step.results.get(call_id)
            if result is None or result.error:
                continue
            for path in use.changed or ((use.path,) if use.path else ()):
                if path not in self._touched:
                    self._ends.setdefault(path.rsplit("/", 1)[-1], []).append(path)
                self._touched[path] = self.step
                if use.changed:
                    self._changes.setdefault(path, []).append(self.step)

    def line_features(self, line: IndexedLine) -> tuple[float, ...]:
        """The features of a line that change as the log grows."""
        age, *of_file = self._source_features(line.source)
        repeats, in_goal = self.repeats[line.key], not self.goal.isdisjoint(line.names)
        return (age, log1p(repeats - 1), in_goal, *of_file)

    def _source_features(self, source: PassageSource) -> tuple[float, ...]:
        """What all lines of a passage share: its age, and what became of its file."""
        changes = self._changes.get(source.path, []) if source.path else []
        touched = self._touched.get(source.path, -1) if source.path else -1
        return (
            log1p(self.step - source.number),
            bool(changes),
            log1p(self.step - touched) if touched >= 0 else 0.0,
            bool(changes) and changes[-1] > source.number,
        )

    def name_features(self, text: str, name: IndexedName) -> tuple[float, ...]:
        """What of a name changes as the log grows."""
        return (*_seen_features(name), *self._moving_features(text, name))

    def _moving_features(self, text: str, name: IndexedName) -> tuple[float, ...]:
        step = self.step
        paths = self._paths(text)
        return (
            log1p(step - name.last),
            name.used > 0 and step - name.used_last <= RECENT_STEPS,
            bool(paths),
            any(path in self._changes for path in paths) if paths else False,
            log1p(step),
            step - name.first <= NEW,
            *_reuse_features(name.source),
        )

    def _paths(self, text: str) -> Sequence[str]:
        """Files touched so far that a name is the path, or the end of the path, of."""
        if "." not in text and "/" not in text:
            return ()
        return [path for path in self._ends.get(text.rsplit("/", 1)[-1], ()) if path.endswith(text)]

    def line_scores(self, lines: Iterable[IndexedLine]) -> Iterator[float]:
        """The logarithm of what each line is worth; what lines of one passage share is computed once."""
        of_age, of_repeats, of_goal, *of_file = self.weights.moving_line
        of_source = (of_age, *of_file)
        repeats, outside = self.repeats, self.goal.isdisjoint
        for source, group in by_source(lines):
            shared = dot(of_source, self._source_features(source))
            for line in group:
                score = line.fixed + shared
                if (count := repeats[line.key]) > 1:
                    score += of_repeats * log1p(count - 1)
                yield score if outside(line.names) else score + of_goal

    def name_values(self, lines: Iterable[IndexedLine]) -> dict[str, float]:
        """What names are worth where they are not shown yet, those of these lines among them."""
        values = self._name_values
        unknown = {text for line in lines for text in line.names if text not in values}
        values.update(zip(unknown, repeat(0.0)))
        long = [text for text in unknown if len(text) >= SHORTEST_SCORED_NAME]
        values.update(zip(long, worths_of(self.name_scores(long)), strict=True))
        return values

    def name_scores(self, texts: Iterable[str]) -> Iterator[float]:
        """The weighted sum of `name_features` of each, written out here because a fold computes it for every name
        of the log."""
        of_age, if_lately, if_touched, if_changed, of_steps, if_new, *of_reuse = self.weights.moving_name
        step, names = self.step, self.names
        ages = [of_age * log1p(age) for age in range(step + 1)]
        steps = of_steps * log1p(step)
        for text in texts:
            name = names[text]
            if name.seen_score is None:
                fixed = rate_name(self.weights.fixed_name, text, name.is_own)
                name.seen_score = fixed + _rate_seen(self.weights.seen_name, name)
            source = name.source
            if source.score is None:
                source.score = dot(of_reuse, _reuse_features(source))
            score = name.seen_score + source.score + ages[step - name.last] + steps
            if name.used and step - name.used_last <= RECENT_STEPS:
                score += if_lately
            if step - name.first <= NEW:
                score += if_new
            if ("." in text or "/" in text) and (paths := self._paths(text)):
                score += if_touched
                if any(path in self._changes for path in paths):
                    score += if_changed
            yield score


def by_source(lines: Iterable[IndexedLine]) -> Iterator[tuple[PassageSource, Iterator[IndexedLine]]]:
    """Lines that follow each other in one passage, together."""
    return groupby(lines, attrgetter("source"))


def _seen_features(name: IndexedName) -> tuple[float, ...]:
    return (
        log1p(name.count),
        log1p(name.messages),
        name.used > 0,
        log1p(name.used),
        name.by_user,
        log1p(name.said),
        name.in_trouble,
        name.in_definition,
        name.last_seen_in == "read",
        name.last_seen_in == "grep",
        name.last_seen_in == "bash",
        name.last_seen_in == "own",
        log1p(name.source.names),
    )


def _reuse_features(source: NameSource) -> tuple[float, float]:
    """How much of what a text brought up was used since."""
    return source.used / source.names, log1p(source.used)


def _rate_seen(weights: Sequence[float], name: IndexedName) -> float:
    """What `_seen_features` come to, weighted, written out like the rest of `name_scores`."""
    (
        of_count, of_messages, if_used, of_used, if_user, of_said, if_trouble, if_definition,
        in_read, in_search, in_shell, in_call, of_brought_up,
    ) = weights  # fmt: skip
    worth = of_count * log1p(name.count) + of_messages * log1p(name.messages)
    if name.used:
        worth += if_used
        worth += of_used * log1p(name.used)
    if name.by_user:
        worth += if_user
    if name.said:
        worth += of_said * log1p(name.said)
    if name.in_trouble:
        worth += if_trouble
    if name.in_definition:
        worth += if_definition
    match name.last_seen_in:
        case "read":
            worth += in_read
        case "grep":
            worth += in_search
        case "bash":
            worth += in_shell
        case "own":
            worth += in_call
    return worth + of_brought_up * log1p(name.source.names)
