"""Recorded compactions, and the identifiers that were used behind them.

Rule: an identifier is a name as the evidence has it (docs/evidence.md): in the value of an argument of an action
behind the boundary and before the next, introduced before the boundary by something that is not out of date.

Left out are names of the system prompt and the tools and common ones, what a user message or a result since the
boundary showed before it was used, and values that a tool prescribes (`status`, `timeout`): recordings hold no
definitions of tools. What the agent itself said first it had from its summary, or from nowhere: that counts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from holdfast.events import AssistantReplied, BoundarySeen, Entry, Event, Recording, ToolReturned, UserSaid
from holdfast.lab.case import make_case
from holdfast.lab.evidence.common_names import shipped_names
from holdfast.lab.evidence.indexed_message import IndexedMessage, argument_values, names_in
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, EvidenceHistory, KnownText, known_from
from holdfast.lab.scored_message import ScoredCall, ScoredMessage
from holdfast.messages import Thinking, ToolCall, joined_text
from holdfast.packing.counting.tokens import compact_json
from holdfast.tokenizers import load_tokenizer

KINDS = ("path", "file", "edited code", "other code", "id", "word")
EDITS = ("edit", "multiedit", "write")

KEPT = {"compaction": 20_000}
"""Tokens of newest messages that an agent keeps beside its summary, by the kind of its boundaries: pi's setting,
with which the usage that it reported agrees."""
PRESCRIBED = ("output_mode", "status", "subagent_type", "timeout")
"""Arguments whose values are a tool's own."""

_TAIL = re.compile(r"[^/]+/[^/]+$")
_ID = re.compile(r"[0-9a-f]{7,64}|[\d.:-]+|[A-Z]{2,}-\d+|[0-9a-f]{8}-[0-9a-f-]{20,}")
_FILE = re.compile(r"[\w.-]+\.(?:css|go|html|js|json|jsonl|lock|md|mod|py|sh|toml|ts|tsx|txt|ya?ml)")
_CODE = re.compile(r"[_.@~+]|(?<=[a-z0-9])[A-Z]")


class Boundary(Struct, frozen=True):
    """A recorded compaction: what was said before it, what of that stayed in view, and what came behind."""

    project: str
    recording: str
    number: int
    summary: str
    before: tuple[Event, ...]
    kept: tuple[Event, ...]
    after: tuple[Event, ...]
    known: KnownText

    @property
    def tokens(self) -> int:
        return count(self.summary)

    def entries(self, *more: Event) -> list[Entry]:
        """What was before as a log, with more behind it."""
        events = (*self.before, *more)
        return [Entry(f"e{n}", self.recording, n, f"e{n - 1}", event) for n, event in enumerate(events, 1)]


@cache
def count(text: str) -> int:
    return load_tokenizer().count(text)


def boundaries_in(recording: Recording, project: str) -> Iterator[Boundary]:
    """The compactions of a recording whose summaries are known."""
    events = [recorded.event for recorded in recording.events if not recorded.chain]
    seen = [
        (at, event) for at, event in enumerate(events) if isinstance(event, BoundarySeen) and event.summary
    ]
    if not seen:
        return
    summaries = {boundary.summary for _, boundary in seen}
    known = known_from(make_case(recording, project).stable, shipped_names().above(DEFAULT_MEASURE, project))
    ends = [*(at for at, _ in seen[1:]), len(events)]
    for number, ((at, boundary), end) in enumerate(zip(seen, ends, strict=True), 1):
        start = at + 1
        while start < end and isinstance(events[start], ToolReturned):
            start += 1  # Results of calls before it, which a recorder wrote down behind it.
        before, after = conversation(events[:start], summaries), conversation(events[start:end], summaries)
        cut = newest(before, KEPT.get(boundary.kind, 0))
        parts = before[:cut], before[cut:], after
        yield Boundary(project, recording.id, number, boundary.summary, *parts, known)


def conversation(events: Iterable[Event], summaries: set[str]) -> tuple[Event, ...]:
    """What was said, without thinking, which no later request shows, without usage, which is of other requests than
    ours, and without the recorded summaries: ours are made without them."""
    said: list[Event] = []
    for event in events:
        if isinstance(event, AssistantReplied):
            parts = tuple(part for part in event.parts if not isinstance(part, Thinking))
            said.append(replace(event, parts=parts, usage=None))
        elif isinstance(event, ToolReturned) or (
            isinstance(event, UserSaid) and joined_text(event.parts) not in summaries
        ):
            said.append(event)
    return tuple(said)


def newest(events: Sequence[Event], tokens: int) -> int:
    """Where the newest events begin that fit, calls with their results."""
    start = len(events)
    for at in range(len(events) - 1, 0, -1):
        said = said_in(events[at])
        tokens -= sum(map(count, said.texts)) if said else 0
        if tokens < 0:
            break
        if not isinstance(events[at], ToolReturned):
            start = at
    return start


def said_in(event: Event) -> ScoredMessage | None:
    if isinstance(event, UserSaid):
        return ScoredMessage("user", joined_text(event.parts))
    if isinstance(event, ToolReturned):
        return ScoredMessage("tool", joined_text(event.parts), answers=event.call_id)
    if not isinstance(event, AssistantReplied):
        return None
    calls = [part for part in event.parts if isinstance(part, ToolCall)]
    made = tuple(ScoredCall(call.name, call.raw or compact_json(call.arguments), call.id) for call in calls)
    return ScoredMessage("assistant", joined_text(event.parts), made)


def used_later(boundary: Boundary) -> dict[str, str]:
    """The identifiers that actions behind the boundary used and nothing since had shown, with their kinds."""
    history = EvidenceHistory()
    shown: set[str] = set()
    edited: set[str] = set()
    found: dict[str, str] = {}
    for said in filter(None, map(said_in, boundary.before)):
        history.add(IndexedMessage(said), 0)
        for call in said.calls:
            if history.files.uses[call.id].kind in EDITS:
                edited.update(
                    name for _, value in argument_values(call.arguments) for name in names_in(value)
                )
    for said in filter(None, map(said_in, boundary.kept)):
        shown |= IndexedMessage(said).names.keys()
    for said in filter(None, map(said_in, boundary.after)):
        if said.role == "assistant":
            used = used_by(said, history, boundary.known)
            found.update((name, kind_of(name, name in edited)) for name in used if name not in shown)
        else:
            shown |= IndexedMessage(said).names.keys()
    return found


def used_by(action: ScoredMessage, history: EvidenceHistory, known: KnownText) -> Iterator[str]:
    """The names in an action's arguments; of a name and a part of it in the same line, the longer."""
    for call in action.calls:
        for key, value in argument_values(call.arguments):
            for line in dict.fromkeys(value.split("\n")) if key not in PRESCRIBED else ():
                taken: list[str] = []
                for name in sorted(names_in(line), key=lambda name: (-len(name), name)):
                    if is_need(name, history, known) and not any(name in longer for longer in taken):
                        taken.append(name)
                yield from taken


def is_need(name: str, history: EvidenceHistory, known: KnownText) -> bool:
    if len(name) < DEFAULT_MEASURE.name_length or name in known.names or known.is_common(name):
        return False
    return any(not history.is_stale(place) for place in history.names.get(name, ()))


def kind_of(name: str, is_edited: bool = False) -> str:
    """What an identifier looks like; a `word` is one with a hyphen, or in capitals. Of code it matters whether the
    agent itself had written it, or replaced it."""
    if "/" in name:
        return "path"
    if _ID.fullmatch(name):
        return "id"
    if _FILE.fullmatch(name):
        return "file"
    if not _CODE.search(name):
        return "word"
    return "edited code" if is_edited else "other code"


def names_kept(names: Iterable[str], text: str, *, is_whole: bool = False) -> frozenset[str]:
    """Those that stand in a text. A path may begin at its second to last part, unless it has to be whole."""
    tails = {name: tail[0] if (tail := _TAIL.search(name)) and not is_whole else name for name in names}
    return frozenset(name for name, tail in tails.items() if stands_in(tail, text))


def stands_in(name: str, text: str) -> bool:
    """Whether a text has it as a whole name, be it as a part of a path or of a dotted name."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
