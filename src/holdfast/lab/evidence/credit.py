"""Credit: does a pack hold what an action needed? And the sums over a run, by measure and budget.

Rule: span is earned by text that says what the source said, never by a bare token; a reference is counted
apart. Means are over the needs of an action, then over actions; a request that failed or exceeded its budget
holds nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.evidence.indexed_message import IndexedMessage, LineContext, words_in
from holdfast.lab.evidence.needs import FileCopies, LinePlace, Measure, Need
from holdfast.lab.results import AGES, KINDS, Score, Share
from holdfast.lab.scored_message import ScoredMessage

MAX_NAMES = 12
"""A line with more names than this says nothing about any one of them by holding its neighbours too."""
BAG = 24
"""A line with more words than this, and far more than its source, is a bag of words."""
LONGEST_KEY = 60
"""Characters of a command that a stub must carry."""
SOURCES_TO_FOLLOW = 4

Fetch = Callable[[str], str | None]


class SourceLine(Struct, frozen=True, gc=False):
    """What must be with a name: the other names and the words of its line, or, alone, its neighbours."""

    names: frozenset[str]
    words: frozenset[str]
    neighbours: frozenset[str] = frozenset()
    call: str = ""
    """The call whose result a lone name was in."""
    headings: tuple[frozenset[str], ...] = ()
    """Words that a lone name was below, and those of the call."""

    @property
    def is_lone(self) -> bool:
        return not self.names and not self.words


class NeedScorer:
    """Judges needs of one recording against packs.

    `messages` are all its messages; `files` knows which copies are stale by now, and its owner keeps it current.
    """

    def __init__(self, messages: Sequence[IndexedMessage], files: FileCopies, measure: Measure) -> None:
        self._messages = messages
        self._files = files
        self._measure = measure
        self._sources: dict[tuple[LinePlace, str], SourceLine] = {}

    def span(self, need: Need, pack: Sequence[IndexedMessage]) -> bool:
        """Whether the line is verbatim in the pack, or a line of the pack holds the name in its company."""
        if need.is_line:
            return any(
                not self._files.is_stale(message, line)
                for message in pack
                if (line := message.keys.get(need.text)) is not None
            )
        sources = [self._source(place, need.text) for place in need.sources]
        return any(
            self._supports(message, line, sources)
            for message in pack
            for line in message.names.get(need.text, ())
            if not self._files.is_stale(message, line)
        )

    def presence(self, need: Need, pack: Sequence[IndexedMessage]) -> bool:
        """Whether the text is anywhere at all: a diagnosis, no credit."""
        if need.is_line:
            return any(need.text in line for message in pack for line in message.lines)
        return any(need.text in message.names for message in pack)

    def reference(self, need: Need, pack: Sequence[IndexedMessage], fetch: Fetch) -> tuple[str, str] | None:
        """The id and the text that a stub of the pack leads to, if it names what the need came from."""
        for key in self._keys(need):
            for message in pack:
                for line in message.lines:
                    if key not in line:
                        continue
                    for id_, text in _followed(line, fetch):
                        if self.span(need, [IndexedMessage(ScoredMessage("user", text))]):
                            return id_, text
        return None

    def _supports(self, message: IndexedMessage, line: int, sources: Iterable[SourceLine]) -> bool:
        here = message.context(line)
        return any(
            _has_same_neighbours(source, message, line, self._measure.overlap)
            if source.is_lone
            else _says_the_same(here, source, self._measure.overlap)
            for source in sources
        )

    def _source(self, place: LinePlace, name: str) -> SourceLine:
        found = self._sources.get((place, name))
        if found is None:
            message, line = self._messages[place[0]], place[1]
            here = message.context(line)
            others = frozenset(other for other in here.names if other not in name and name not in other)
            found = SourceLine(others, here.words)
            if found.is_lone:
                call = message.scored.answers
                use = self._files.uses.get(call)
                headings = (message.heading(line), frozenset(words_in(use.label)) if use else frozenset())
                found = SourceLine(
                    others, here.words, message.neighbours(line), call, tuple(filter(None, headings))
                )
            self._sources[place, name] = found
        return found

    def _keys(self, need: Need) -> Iterator[str]:
        """Path, command or query of the calls whose results a need is in."""
        for message, _ in need.sources[:SOURCES_TO_FOLLOW]:
            scored = self._messages[message].scored
            use = self._files.uses.get(scored.answers) if scored.role == "tool" else None
            if use and (key := use.path or " ".join(use.command.split())[:LONGEST_KEY] or use.pattern):
                yield key


def _says_the_same(here: LineContext, source: SourceLine, overlap: float) -> bool:
    """Whether a line holds enough of the other names and of the words of a source line, and not many more.

    Without that bound a list of all names, or a bag of all words, would say the same as everything.
    """
    if len(here.names) > max(MAX_NAMES, 2 * (len(source.names) + 1)):
        return False
    if len(here.words) > max(BAG, 3 * len(source.words)):
        return False
    names = here.names & source.names
    if len(names) < overlap * len(source.names):
        return False
    if source.words:
        return len(here.words & source.words) >= overlap * len(source.words)
    return len(names) + 1 >= overlap * len(here.names)


def _has_same_neighbours(source: SourceLine, message: IndexedMessage, line: int, overlap: float) -> bool:
    """Whether a name that was alone on its line has the same neighbours again, or is alone again: in the result of
    the same call, or below a heading with the same words.

    On a line with a former neighbour it counts if words say what they are.
    """
    around = message.neighbours(line)
    here = message.context(line)
    if here.words and len(here.names) <= MAX_NAMES:
        around |= here.names
    if source.neighbours.isdisjoint(around) if source.neighbours else around:
        return False
    if source.call and source.call == message.scored.answers:
        return True
    above = message.heading(line)
    return not source.headings or any(
        len(above & heading) >= overlap * len(heading) for heading in source.headings
    )


def _followed(line: str, fetch: Fetch) -> Iterator[tuple[str, str]]:
    """Every id in a line that leads to a text."""
    for token in dict.fromkeys("".join(c if c.isalnum() or c in "-_" else " " for c in line).split()):
        if 2 <= len(token) <= 64 and (text := fetch(token)) is not None:
            yield token, text


_AGES_SINCE = dict(zip(AGES, (1, 2, 6, 11, 21, 51), strict=True))
"""Where each of `AGES` begins."""


def age_group(need: Need) -> str:
    return next(name for name, since in reversed(_AGES_SINCE.items()) if need.age >= since)


class HeldNeeds(Struct, frozen=True):
    """Needs of one action, and which of them a pack holds: by span, by span or reference, by presence."""

    needs: list[Need]
    span: list[bool]
    ref: list[bool]
    present: list[bool]
    fetched: dict[str, str]
    """Texts that references lead to, by id."""


def score_needs(
    needs: list[Need], pack: Sequence[IndexedMessage] | None, credit: NeedScorer, fetch: Fetch | None
) -> HeldNeeds:
    """Without a pack, because there was none or it exceeded the budget, nothing is held."""
    if pack is None:
        nothing = [False] * len(needs)
        return HeldNeeds(needs, nothing, nothing, nothing, {})
    span = [credit.span(need, pack) for need in needs]
    ref, present, fetched = list(span), list(span), {}
    for at, need in enumerate(needs):
        if span[at]:
            continue
        present[at] = credit.presence(need, pack)
        if fetch is not None and (found := credit.reference(need, pack, fetch)):
            ref[at] = True
            fetched[found[0]] = found[1]
    return HeldNeeds(needs, span, ref, present, fetched)


class NeedTally:
    """For one budget. `curve_budget` is the smallest of the run: its hard needs are the same for all budgets."""

    def __init__(self, measure: Measure, budget: int, curve_budget: int) -> None:
        self._measure = measure
        self.budget = budget
        self._curve_budget = curve_budget
        self._means: dict[str, tuple[float, int]] = {}
        """Sum and number of the shares that actions had, by the field of a score."""
        self._kinds = dict.fromkeys(KINDS, Share())
        self._ages = dict.fromkeys(AGES, Share())
        self._needs = self._hard_needs = 0

    def hard(self, held: HeldNeeds) -> list[int]:
        return [i for i, need in enumerate(held.needs) if need.is_hard(self._measure, self.budget)]

    def add(self, held: HeldNeeds) -> None:
        hard = self.hard(held)
        curve = [i for i, need in enumerate(held.needs) if need.is_hard(self._measure, self._curve_budget)]
        older = [i for i, need in enumerate(held.needs) if need.age > self._measure.hard_steps]
        self._needs += len(held.needs)
        self._hard_needs += len(hard)
        self._average("all_span", held.span, range(len(held.span)))
        self._average("hard_span", held.span, hard)
        self._average("hard_ref", held.ref, hard)
        self._average("hard_presence", held.present, hard)
        self._average("curve_span", held.span, curve)
        self._average("older_span", held.span, older)
        for need, span in zip(held.needs, held.span, strict=True):
            age = age_group(need)
            self._ages[age] = self._ages[age].plus(span)
        for i in hard:
            kind = held.needs[i].kind
            self._kinds[kind] = self._kinds[kind].plus(held.span[i])

    def _average(self, name: str, held: list[bool], which: Sequence[int]) -> None:
        if which:
            total, count = self._means.get(name, (0.0, 0))
            self._means[name] = (total + sum(held[i] for i in which) / len(which), count + 1)

    def scored(self, score: Score) -> Score:
        """The score of a run with what it has of the needs at this budget."""
        note = "" if self._hard_needs else "no hard needs" if self._needs else "no action used earlier text"
        return replace(
            score,
            budget=self.budget,
            needs=self._needs,
            hard_needs=self._hard_needs,
            kinds={kind: share for kind, share in self._kinds.items() if share.of},
            ages={age: share for age, share in self._ages.items() if share.of},
            older_actions=self._means.get("older_span", (0.0, 0))[1],
            note=note if score.requests else "no reply in it, so no request",
            **{name: total / count for name, (total, count) in self._means.items()},
        )
