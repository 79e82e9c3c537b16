"""Why a need was not kept: where, on its way from the log into a pack, the text was lost.

Rule: every need that a pack does not hold has exactly one reason. For our own packing it is read off the window,
for any other policy off the pack alone. Nothing here changes a pack or a score.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.evidence.credit import HeldNeeds, NeedScorer, age_group
from holdfast.lab.evidence.indexed_message import IndexedMessage
from holdfast.lab.evidence.needs import LinePlace, Measure, Need, Study
from holdfast.lab.policies.profile_policy import WindowFeed
from holdfast.lab.results import NeedGroup
from holdfast.lab.scored_message import ScoredMessage
from holdfast.packing.folding.draft import FoldDraft
from holdfast.packing.lines.features import is_crowd, line_facts, line_key
from holdfast.packing.lines.line_index import LONGEST_LINE, SHORTEST_LINE
from holdfast.packing.lines.passages import RESULT, SAID, USER, Passage, PassageKey, passages_of
from holdfast.packing.lines.scoring import candidate_lines
from holdfast.packing.view import WindowView
from holdfast.views.transcript import Item, Step, User

FAILED, OVER = "the request failed", "over budget"
ABSENT = "not in the pack"
PRESENT = "present in another form"
FIRST_SIGHT = "cut on first sight"
LOWERED = "lowered by a fold"
SHORTENED = "user message shortened"
GONE = "gone with its step"
OUTRANKED = "outranked"
LEFT_BEHIND = "left behind by a fold that only added"
FORGOTTEN = "forgotten"
NEVER = "never a candidate"

LONG, SHORT = "too long a line", "too short a line"
RECORDS = "one-line document whose records do not hold it"
WEAK = "a weak name"
OWN = "the agent's own argument"
SUPERSEDED = "superseded by a newer read"
REPEATED = "a line like it stands elsewhere"
UNPLACED = "not in the transcript"

PassageLine = tuple[PassageKey, int]


class Loss(Struct, frozen=True):
    """Why a need was missed, and what says more about it."""

    reason: str
    detail: str = ""

    @property
    def is_unavoidable(self) -> bool:
        return self.reason == NEVER


class SourceText(Struct, frozen=True):
    """A line that a need can have come from, where the window has it. `call` is empty for what was said."""

    item: Item
    part: str
    call: str
    text: str


class LossFinder:
    """Follows the window of a policy of ours through its requests."""

    def __init__(self, messages: Sequence[IndexedMessage], credit: NeedScorer, feed: WindowFeed) -> None:
        self._messages = messages
        self._credit = credit
        self._feed = feed
        self._notes: Mapping[int, object] = {}
        self._at_rewrite: dict[str, str] = {}
        """Candidates of the last fold that chose all lines again, by their keys: of equal lines the newest."""
        self._since: dict[str, str] = {}
        """Candidates of folds after it, which only added."""
        self._indexed: tuple[int, set[PassageLine]] = (-1, set())

    def observe(self) -> None:
        """Call it after every request. A fold is known by its new notes."""
        view = self._feed.window.view()
        if view.notes is self._notes or view.live_lines is None:
            return
        # Where there was no note before, all lines were chosen from, however the window counts that fold.
        rewrote = not self._notes or not view.economics.appended
        self._notes = view.notes
        draft = FoldDraft(view, appends=not rewrote)
        lines = candidate_lines(view.line_index, draft.folded(), draft.shown_lines())
        found = {line.key: line.text for line in lines}
        self._at_rewrite, self._since = (found, {}) if rewrote else (self._at_rewrite, self._since | found)

    def loss(self, need: Need) -> Loss:
        """Of the newest line it can have come from that could have been kept; else of the newest."""
        view = self._feed.window.view()
        newest: Loss | None = None
        for place in need.sources:
            found = self._source_loss(need, place, view)
            if not found.is_unavoidable:
                return found
            newest = newest or found
        return newest or Loss(NEVER, UNPLACED)

    def _source_loss(self, need: Need, place: LinePlace, view: WindowView) -> Loss:
        source = self._source(place, view)
        if source is None:
            return Loss(NEVER, UNPLACED)
        item = source.item
        if isinstance(item, Step):
            level = view.levels[item.number][0]
            if level != "gone":
                return Loss(FIRST_SIGHT) if level == "full" else Loss(LOWERED, level)
            if view.live_lines is None:
                return Loss(GONE)
            if source.part == RESULT and source.call in view.files.stale_calls(item):
                return Loss(NEVER, SUPERSEDED)
        elif view.live_lines is None or item.entry not in {*view.hidden, *view.displays}:
            return Loss(SHORTENED)
        return self._line_loss(need, source, view)

    def _line_loss(self, need: Need, source: SourceText, view: WindowView) -> Loss:
        """Of a line whose item is gone, so that only a note can show it."""
        found = list(self._rows(need, source))
        if not found:
            return Loss(NEVER, self._why_no_row(source))
        details = [self._why_unfit(need, passage, passage.lines[number]) for passage, number in found]
        if all(details):
            return Loss(NEVER, details[0])
        fit = [row for row, detail in zip(found, details, strict=True) if not detail]
        keys = {line_key(passage.lines[number]) for passage, number in fit}
        for reason, candidates in ((OUTRANKED, self._at_rewrite), (LEFT_BEHIND, self._since)):
            if any(self._satisfies(need, candidates[key]) for key in keys if key in candidates):
                return Loss(reason)
        indexed = self._indexed_lines(view)
        is_indexed = any((passage.source.place, number) in indexed for passage, number in fit)
        return Loss(NEVER, REPEATED) if is_indexed else Loss(FORGOTTEN)

    def _source(self, place: LinePlace, view: WindowView) -> SourceText | None:
        at, line = place
        message = self._messages[at]
        text, role = message.lines[line], message.scored.role
        if role != "tool":
            item = self._item(at, view)
            if item is None or isinstance(item, User):
                return None if item is None else SourceText(item, USER, "", text)
            if line < message.arguments_from:
                return SourceText(item, SAID, "", text)
            recorded = [call.id for call in message.scored.calls].index(message.call_of(line))
            return SourceText(item, "", list(item.calls)[recorded], message.keys_of(line, text)[0])
        entry = self._feed.entries[at]
        for before in range(at - 1, -1, -1):
            item = self._item(before, view)
            if isinstance(item, Step):
                calls = [call for call, found in item.result_entries.items() if found == entry]
                return SourceText(item, RESULT, calls[0], text) if calls else None
        return None

    def _item(self, at: int, view: WindowView) -> Item | None:
        position = view.positions.get(self._feed.entries[at])
        return None if position is None else view.transcript.items[position]

    def _rows(self, need: Need, source: SourceText) -> Iterator[tuple[Passage, int]]:
        """Lines of passages that are the source line, or else that hold the text."""
        passages = [
            passage
            for (_, call, part), passage in passages_of(source.item).items()
            if call == source.call and (part == source.part if source.part else part != RESULT)
        ]
        rows = [(passage, at, row) for passage in passages for at, row in enumerate(passage.lines)]
        same = [(passage, at) for passage, at, row in rows if row.strip() == source.text.strip()]
        yield from same or ((passage, at) for passage, at, row in rows if need.text in row)

    def _why_no_row(self, source: SourceText) -> str:
        result = passages_of(source.item).get((source.item.entry, source.call, source.part))
        if result is not None and result.source.has_records:
            return RECORDS
        return OWN if source.part in ("", SAID) else LONG

    def _why_unfit(self, need: Need, passage: Passage, row: str) -> str:
        """Why a line would not satisfy the need even in a note; empty where it would."""
        facts = line_facts(row)
        if len(row) > LONGEST_LINE:
            return LONG
        if len(facts.key) < SHORTEST_LINE:
            return SHORT
        satisfies = self._satisfies(need, row)
        if passage.source.has_records:
            return "" if satisfies else RECORDS
        is_weak = facts.is_lone or is_crowd(row, facts.names)
        return WEAK if not need.is_line and (is_weak or not satisfies) else ""

    def _satisfies(self, need: Need, row: str) -> bool:
        return self._credit.span(need, [IndexedMessage(ScoredMessage("user", row))])

    def _indexed_lines(self, view: WindowView) -> set[PassageLine]:
        if self._indexed[0] != view.lines_version:
            lines = view.line_index.lines
            self._indexed = view.lines_version, {(line.source.place, line.number) for line in lines}
        return self._indexed[1]


class NeedCensus:
    """Counts the needs of a run by where they came from, and those missed by why."""

    def __init__(
        self, study: Study, credit: NeedScorer, measure: Measure, budgets: Sequence[int], feed: object
    ) -> None:
        self._study = study
        self._credit = credit
        self._measure = measure
        self._finder = LossFinder(study.messages, credit, feed) if isinstance(feed, WindowFeed) else None
        self._counts: dict[int, Counter[tuple[NeedGroup, bool]]] = {budget: Counter() for budget in budgets}
        self._tools = {call.id: call.name for m in study.messages for call in m.scored.calls}

    def add(self, held: HeldNeeds, fault: str) -> None:
        """The needs of one request. `fault` says why there was no pack to hold any."""
        if self._finder is not None and not fault:
            self._finder.observe()
        for need, span, present in zip(held.needs, held.span, held.present, strict=True):
            loss = None if span else self._loss(need, present, fault)
            group = NeedGroup(
                agent=self._study.case.agent,
                tool=self._tool(need),
                kind=need.kind,
                age=age_group(need),
                reason=loss.reason if loss else "",
                detail=loss.detail if loss else "",
            )
            for budget, counts in self._counts.items():
                counts[group, need.is_hard(self._measure, budget)] += 1

    def _loss(self, need: Need, present: bool, fault: str) -> Loss:
        if fault:
            return Loss(fault)
        own = self._finder.loss(need) if self._finder is not None else None
        if present:
            # And why the line itself is not there.
            return Loss(PRESENT, "" if own is None else own.detail if own.is_unavoidable else own.reason)
        return own or Loss(ABSENT)

    def _tool(self, need: Need) -> str:
        """The tool whose result the newest source is, or who said it."""
        scored = self._study.messages[need.sources[0][0]].scored
        return self._tools.get(scored.answers, "tool") if scored.role == "tool" else _SPEAKERS[scored.role]

    def groups(self, budget: int) -> list[NeedGroup]:
        found: dict[NeedGroup, tuple[int, int]] = {}
        for (group, is_hard), count in self._counts[budget].items():
            needs, hard = found.get(group, (0, 0))
            found[group] = needs + count, hard + count * is_hard
        return [replace(group, needs=needs, hard=hard) for group, (needs, hard) in found.items()]


_SPEAKERS = {"user": "(user)", "assistant": "(agent)", "system": "(system)", "developer": "(system)"}
