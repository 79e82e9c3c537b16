"""Everything that can happen: one small frozen class each, one union.

Rule: an event says what happened and is never changed. Adding an optional field or a class keeps `SCHEMA`;
anything a reader of an older version would misread raises it.
"""

from typing import Literal

from msgspec import Struct, field

from holdfast.messages import AssistantPart, Json, ToolDefinition, Usage, UserPart

SCHEMA = 1

Level = Literal["full", "clipped", "digest", "stub", "skeleton", "gone"]
LEVELS: tuple[Level, ...] = ("full", "clipped", "digest", "stub", "skeleton", "gone")
Origin = Literal["person", "agent", "reminder"]
"""Who wrote a user message."""
ApprovalScope = Literal["once", "log", "pattern", "deny"]
FoldReason = Literal["pressure", "profit", "round_end", "boundary", "messages", "overflow", "manual"]
SummarySlot = Literal["archive", "state"]


class LogStarted(Struct, frozen=True, gc=False, tag="log_started"):
    """The first entry of every log. `forked_from` names the entry, in any log, that this one continues."""

    schema: int = SCHEMA
    title: str = ""
    origin: Literal["live", "import"] = "live"
    source: str = ""
    forked_from: str = ""
    meta: dict[str, Json] = field(default_factory=dict)


class ChainStarted(Struct, frozen=True, gc=False, tag="chain_started"):
    """A side chain begins: a sub-agent, started by a call of its parent entry."""

    agent: str = ""
    call_id: str = ""
    title: str = ""


class SystemSet(Struct, frozen=True, gc=False, tag="system_set"):
    text: str


class ToolsSet(Struct, frozen=True, gc=False, tag="tools_set"):
    tools: tuple[ToolDefinition, ...]


class RulesSet(Struct, frozen=True, gc=False, tag="rules_set"):
    """Project rules as read: replaced when the file's mtime or hash changes."""

    path: str
    text: str
    mtime: float = 0.0
    hash: str = ""


class ContextSet(Struct, frozen=True, gc=False, tag="context_set"):
    """Static task context, such as the view of a diff. The newest per `key` counts.

    `worth` says what paths are worth to the task, from 0 to 1: of two steps the one about what is worth less gives
    way first.
    """

    key: str
    text: str
    worth: dict[str, float] = field(default_factory=dict)


class RecapSet(Struct, frozen=True, gc=False, tag="recap_set"):
    """Lines at the end of every pack, the most important first: findings of a review, decisions that wait for a
    person. The newest per `key` counts; one without lines removes it. If it is `whole`, every line is shown,
    however many there are."""

    key: str
    title: str
    lines: tuple[str, ...] = ()
    whole: bool = False


class UserSaid(Struct, frozen=True, gc=False, tag="user_said"):
    """A user message. Only a `person` or another `agent` opens a round; a `reminder` never does."""

    parts: tuple[UserPart, ...]
    origin: Origin = "person"


class AssistantReplied(Struct, frozen=True, gc=False, tag="assistant_replied"):
    parts: tuple[AssistantPart, ...]
    model: str = ""
    usage: Usage | None = None
    stop: str = ""


class ToolReturned(Struct, frozen=True, gc=False, tag="tool_returned"):
    """`parts` are what the model reads. `data` are facts from which a tool's state is rebuilt on resume, and of a
    command which lines are stderr; `shown` is what a person saw where that differs. No model reads either."""

    call_id: str
    name: str
    parts: tuple[UserPart, ...]
    error: bool = False
    data: dict[str, Json] = field(default_factory=dict)
    shown: str = ""


class UsageReported(Struct, frozen=True, gc=False, tag="usage_reported"):
    """Usage that arrived apart from its reply, or of a call that is not a step (a summary)."""

    usage: Usage
    model: str = ""
    purpose: str = ""


class OverflowReported(Struct, frozen=True, gc=False, tag="overflow_reported"):
    """A provider refused a request as too long; allows one reactive fold."""

    limit: int = 0
    message: str = ""


class ApprovalGiven(Struct, frozen=True, gc=False, tag="approval_given"):
    """A person, or a rule, allowed or denied a call. The model reads the reason of a denial. A command of several
    parts may need `more_rules` for good."""

    call_id: str
    decision: ApprovalScope
    rule: str = ""
    reason: str = ""
    more_rules: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.rule, *self.more_rules) if self.rule else ()


class FoldedRun(Struct, frozen=True, gc=False):
    """Steps from `first` to `last` (entry ids of their assistant messages) are at `level` from now on.

    `cap` bounds each result, and each long argument, in tokens; 0 means the level's own default.
    """

    first: str
    last: str
    level: Level
    cap: int = 0


class KeptLines(Struct, frozen=True, gc=False):
    """Lines of a folded step that its note still shows. `step` is the step's entry, `part` where they are: in
    the `call` itself, its `result`, what was `said`, or, by its number, a long `argument`.

    `lines` are numbers from 0 in ranges, such as `0-4,9`.
    """

    step: str
    call: str
    part: str
    lines: str


class FoldNote(Struct, frozen=True, gc=False):
    """A run of items, from entry `first` to entry `last`, is replaced by `text`; `index` lists entries and ids.

    Its steps are at level *gone*, but for the lines in `kept`, which are shown below the text. User messages inside
    the run stay unless `users` is set: then the note replaces whole rounds, and keeps their directives.
    """

    first: str
    last: str
    text: str
    index: str
    users: bool = False
    kept: tuple[KeptLines, ...] = ()


class Folded(Struct, frozen=True, gc=False, tag="folded"):
    """The levels of runs of steps were lowered, in one batch. Later folds win where they overlap.

    `users` are user entries shown as first line, directives and id; `pastes` are shown as head, tail and id in at
    most `paste_cap` tokens each. `recap_lines` shortens the todo recap and `summary_sentences` the summary from
    now on (0: as before).
    """

    reason: FoldReason
    runs: tuple[FoldedRun, ...] = ()
    notes: tuple[FoldNote, ...] = ()
    users: tuple[str, ...] = ()
    pastes: tuple[str, ...] = ()
    paste_cap: int = 0
    recap_lines: int = 0
    summary_sentences: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    why: str = ""


class SummaryLine(Struct, frozen=True, gc=False):
    """Where a line of a summary came from: `by` is the rule half or a model, `sources` are entries of the log."""

    text: str
    sources: tuple[str, ...] = ()
    by: Literal["rule", "model"] = "rule"


class Compacted(Struct, frozen=True, gc=False, tag="compacted"):
    """A summary was written. `archive` entries only add up; a new `state` replaces the one before.

    `first` and `last` are the entries it covers, `sources` the entries its lines came from. An archive entry of the
    second level replaces those in `above`, which stay in the log.
    """

    slot: SummarySlot
    text: str
    first: str = ""
    last: str = ""
    sources: tuple[str, ...] = ()
    by: str = "rule"
    focus: str = ""
    lines: tuple[SummaryLine, ...] = ()
    above: tuple[str, ...] = ()


class CompactionFailed(Struct, frozen=True, gc=False, tag="compaction_failed"):
    """A model wrote no summary that could be used, so it was written by rule. Three in a row end its tries."""

    why: str
    first: str = ""
    last: str = ""
    model: str = ""


class Undone(Struct, frozen=True, gc=False, tag="undone"):
    """These entries count as if they had never been: a compaction, with its folds. They stay in the log."""

    entries: tuple[str, ...]
    reason: str = ""


UNREAD = "import"
"""The kind of a remark that says what of messages or of a recording could not be read."""


class Noted(Struct, frozen=True, gc=False, tag="noted"):
    """A remark for people and views: a repair, a loss at import, a bookmark. A model never reads it."""

    kind: str
    text: str
    data: dict[str, Json] = field(default_factory=dict)


class BoundarySeen(Struct, frozen=True, gc=False, tag="boundary_seen"):
    """A recorded agent compacted, aborted or changed stage here. Kept as a fact; nothing acts on it."""

    kind: str
    trigger: str = ""
    tokens_before: int = 0
    summary: str = ""
    data: dict[str, Json] = field(default_factory=dict)


class Rewound(Struct, frozen=True, gc=False, tag="rewound"):
    """The session goes on from this entry's parent; what came after it stays in the log, off the path."""

    reason: str = ""
    files: bool = False


Event = (
    LogStarted
    | ChainStarted
    | SystemSet
    | ToolsSet
    | RulesSet
    | ContextSet
    | RecapSet
    | UserSaid
    | AssistantReplied
    | ToolReturned
    | UsageReported
    | OverflowReported
    | ApprovalGiven
    | Folded
    | Compacted
    | CompactionFailed
    | Undone
    | Noted
    | BoundarySeen
    | Rewound
)


class Entry(Struct, frozen=True, gc=False):
    """An event in its place. `parent` is the entry it follows; `chain` is empty on the main chain.

    `at` is Unix time in seconds, or None where a recording has no clock.
    """

    id: str
    log: str
    seq: int
    parent: str | None
    event: Event
    chain: str = ""
    at: float | None = None


class Recorded(Struct, frozen=True, gc=False):
    """An event as an importer found it: not yet in any log.

    `after` is the index, among the recording's events, of the one it follows; None means the newest
    before it on the same chain.
    """

    event: Event
    chain: str = ""
    at: float | None = None
    after: int | None = None


class Recording(Struct, frozen=True, gc=False):
    """One recorded piece of agent work. `events` opens with `LogStarted`; `notes` say what was lost.

    Where it was read from a list of messages, `places` has the place in that list of each event's message (-1 for
    an event of none), and `silent` the replies that said nothing: before which event each was, and its place.
    """

    id: str
    source: str
    events: tuple[Recorded, ...]
    notes: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    silent: tuple[tuple[int, int], ...] = ()
