"""The conversation as rounds and steps, repaired so that a provider accepts it; built entry by entry.

Rule: items are values. Adding an entry never changes an earlier item, but a result replaces the newest step by one
that has it. What was wrong with the input is not hidden: each repair is named, with the entry it touched.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.events import (
    ApprovalGiven,
    AssistantReplied,
    BoundarySeen,
    Compacted,
    CompactionFailed,
    ContextSet,
    Entry,
    Origin,
    RecapSet,
    RulesSet,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UserSaid,
)
from holdfast.ids import text_id
from holdfast.line_ranges import LineRange
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Json,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    UserMessage,
    UserPart,
    joined_text,
)
from holdfast.tool_use import ToolUse, recognize_tool
from holdfast.views.compactions import Compactions
from holdfast.views.frozen_list import FrozenList
from holdfast.views.todos import Todos, todos_after

NO_RESULT = "[holdfast: no result was recorded for this call]"

LONGEST_ID = 34
"""OpenAI takes 40 characters; the rest is for the number that tells equal ids apart."""
MOST_WAITING = 3
"""How many calls without a result are named beside a result without a call."""

_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")


class Repair(Struct, frozen=True, gc=False):
    """A departure from the log that a provider's rules forced.

    `id` is of the one text that is not shown; where it is empty, the entry's own id brings back what it held.
    """

    rule: str
    entry: str
    detail: str
    id: str = ""


class User(Struct, frozen=True, gc=False):
    """A user message. `position` is its place among the items; `opens_round` is never true of a reminder."""

    position: int
    round: int
    entry: str
    message: UserMessage
    opens_round: bool
    origin: Origin = "person"


class Step(Struct, frozen=True, gc=False):
    """One assistant message with all its results: the unit of cutting, so call and result never part."""

    position: int
    number: int
    round: int
    entry: str
    message: AssistantMessage
    calls: dict[str, ToolCall]
    uses: dict[str, ToolUse]
    results: dict[str, ToolMessage]
    result_entries: dict[str, str]
    waiting: dict[str, tuple[str, ...]]
    """Recorded call id to the ids, in this transcript, of its calls that have no result yet."""
    stderr: dict[str, tuple[LineRange, ...]] = field(default_factory=dict)
    """Lines of results, counted from 1, that a command wrote to stderr; only of calls where that is known."""

    def answers(self) -> tuple[ToolMessage, ...]:
        """A result for every call, in the order of the calls."""
        return tuple(
            self.results.get(c.id) or ToolMessage(c.id, c.name, (Text(NO_RESULT),), error=True)
            for c in self.calls.values()
        )


Item = User | Step


class FrozenTranscript(Struct, frozen=True):
    """A transcript as it was at one moment. The fields are those of `Transcript`."""

    items: Sequence[Item]
    steps: Sequence[Step]
    rounds: Sequence[int]
    system: str
    tools: tuple[ToolDefinition, ...]
    rules: Mapping[str, str]
    contexts: Mapping[str, str]
    path_priority: Mapping[str, Mapping[str, float]]
    recaps: Mapping[str, RecapSet]
    recap_entries: Sequence[tuple[int, Entry]]
    compactions: Compactions
    boundaries: Sequence[tuple[int, BoundarySeen]]
    approvals: Sequence[tuple[int, Entry]]
    todos: Todos
    repairs: Sequence[Repair]
    unplaced: Mapping[str, Repair]
    waiting_users: tuple[User, ...]

    def priority_of(self, step: Step) -> float:
        """The priority of a step by the files it is about; 0 where nothing says."""
        paths = [use.path for use in step.uses.values() if use.path]
        return max(
            (known.get(path, 0.0) for known in self.path_priority.values() for path in paths), default=0.0
        )


class Transcript:
    """A fold of one path of a log. `add` returns the items that are new or changed, `view` a frozen view.

    Lists grow at the end, and only the newest step is ever replaced; dicts are replaced and never changed.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.items: list[Item] = []
        self.steps: list[Step] = []
        self.rounds: list[int] = []
        """Position of the item that opens each round."""
        self.system = ""
        self.tools: tuple[ToolDefinition, ...] = ()
        self.rules: dict[str, str] = {}
        self.contexts: dict[str, str] = {}
        self.path_priority: dict[str, dict[str, float]] = {}
        """What paths are worth to the task, by the context that says so."""
        self.recaps: dict[str, RecapSet] = {}
        self.recap_entries: list[tuple[int, Entry]] = []
        """Every recap that was set, with the position of the item before it."""
        self.compactions = Compactions()
        self.boundaries: list[tuple[int, BoundarySeen]] = []
        self.approvals: list[tuple[int, Entry]] = []
        self.todos = Todos()
        self.repairs: list[Repair] = []
        self.unplaced: dict[str, Repair] = {}
        """Results that belong to no call (yet), by entry."""
        self._early: dict[str, list[tuple[Entry, ToolReturned]]] = {}
        self._deferred: list[tuple[Entry, UserSaid]] = []
        self._call_ids: set[str] = set()
        self._seen: dict[str, int] = {}
        """How often each call id, made legal, was used."""
        for entry in entries:
            self.add(entry)

    @property
    def has_all_results(self) -> bool:
        """Every call has its result, so that a request can be made."""
        return not (self.steps and self.steps[-1].waiting)

    @property
    def waiting_users(self) -> tuple[User, ...]:
        """What was said while tools run, in order. Not among the items yet, so each has position -1."""
        users: list[User] = []
        opened = 0
        for entry, event in self._deferred:
            opens = event.origin != "reminder" and not opened
            opened += opens
            round_ = len(self.rounds) - 1 + opened
            users.append(User(-1, round_, entry.id, UserMessage(_spoken(event)), opens, event.origin))
        return tuple(users)

    def view(self) -> FrozenTranscript:
        now: dict[str, Any] = {}
        for name in FrozenTranscript.__struct_fields__:
            value = getattr(self, name)
            now[name] = FrozenList(value) if isinstance(value, list) else value
        return FrozenTranscript(**now)

    def add(self, entry: Entry) -> list[Item]:
        event = entry.event
        match event:
            case UserSaid():
                return self._add_user(entry, event)
            case AssistantReplied():
                return self._add_step(entry, event)
            case ToolReturned():
                return self._add_result(entry, event)
            case SystemSet():
                self.system = event.text
            case ToolsSet():
                self.tools = event.tools
            case RulesSet():
                self.rules = {**self.rules, event.path: event.text}
            case ContextSet():
                self.contexts = {**self.contexts, event.key: event.text}
                self.path_priority = {**self.path_priority, event.key: event.worth}
            case RecapSet():
                self.recaps = {**self.recaps, event.key: event}
                self.recap_entries.append((len(self.items) - 1, entry))
            case Compacted() | CompactionFailed():
                self.compactions = self.compactions.with_entry(entry)
            case BoundarySeen():
                self.boundaries.append((len(self.items), event))
            case ApprovalGiven():
                self.approvals.append((len(self.items) - 1, entry))
            case _:
                pass
        return []

    def _add_user(self, entry: Entry, event: UserSaid) -> list[Item]:
        parts = _spoken(event)
        if not parts:
            self._repair("empty-user", entry.id, "a user message without content is not sent")
            return []
        if not self.has_all_results:
            # A message typed while tools run goes after their results, where providers want it.
            self._deferred.append((entry, event))
            return []
        fresh = not self.rounds or any(s.round == len(self.rounds) - 1 for s in self.steps[-1:])
        opens = event.origin != "reminder" and fresh
        if opens:
            self.rounds.append(len(self.items))
        round_ = max(len(self.rounds) - 1, 0)
        user = User(len(self.items), round_, entry.id, UserMessage(parts), opens, event.origin)
        self.items.append(user)
        return [user]

    def _add_step(self, entry: Entry, event: AssistantReplied) -> list[Item]:
        touched = self._close_step()
        parts: list[AssistantPart] = []
        calls: dict[str, ToolCall] = {}
        waiting: dict[str, tuple[str, ...]] = {}
        for part in event.parts:
            if isinstance(part, ToolCall):
                call = self._legal_call(part, entry.id)
                calls[call.id] = call
                waiting[part.id] = (*waiting.get(part.id, ()), call.id)
                parts.append(call)
            elif isinstance(part, Thinking) or part.text.strip():
                parts.append(part)
        if not any(isinstance(p, Text | ToolCall) for p in parts):
            self._repair("empty-assistant", entry.id, "an assistant message without text or call")
            return touched
        if not self.rounds:
            self.rounds.append(len(self.items))
        message = AssistantMessage(self._ordered(parts, entry.id))
        position, number, round_ = len(self.items), len(self.steps), len(self.rounds) - 1
        uses = {c.id: recognize_tool(c) for c in calls.values()}
        step = Step(position, number, round_, entry.id, message, calls, uses, {}, {}, waiting)
        self.items.append(step)
        self.steps.append(step)
        for raw in [raw for raw in waiting if raw in self._early]:
            for early_entry, early in self._early.pop(raw):
                self.unplaced = {id_: one for id_, one in self.unplaced.items() if id_ != early_entry.id}
                self._repair("early-result", early_entry.id, f"the result of `{raw}` came before its call")
                self._add_result(early_entry, early)
        return [*touched, self.steps[-1]]

    def _add_result(self, entry: Entry, event: ToolReturned) -> list[Item]:
        step = self.steps[-1] if self.steps else None
        if step is None or event.call_id not in step.waiting:
            if _legal(event.call_id) not in self._seen:
                self._early.setdefault(event.call_id, []).append((entry, event))
            detail, text = _why_unplaced(event, step), _only_text(event)
            repair = Repair("orphan-result", entry.id, detail, text_id(text) if text else "")
            self.unplaced = {**self.unplaced, entry.id: repair}
            return []
        call_id, *others = step.waiting[event.call_id]
        waiting = {**step.waiting, event.call_id: tuple(others)}
        call = step.calls[call_id]
        result = ToolMessage(call_id, call.name, event.parts, event.error)
        stderr = _stderr_lines(event.data)
        step = replace(
            step,
            results={**step.results, call_id: result},
            result_entries={**step.result_entries, call_id: entry.id},
            waiting={recorded: ids for recorded, ids in waiting.items() if ids},
            stderr=step.stderr if stderr is None else {**step.stderr, call_id: stderr},
        )
        self._replace_newest(step)
        if not event.error:
            self.todos = todos_after(self.todos, call, joined_text(event.parts))
        return [step, *self._release()] if self.has_all_results else [step]

    def _close_step(self) -> list[Item]:
        """The agent spoke again: calls that still wait will get a marked stand-in, never silence."""
        touched: list[Item] = []
        if not self.has_all_results:
            step = self.steps[-1]
            for raw in step.waiting:
                self._repair("unanswered-call", step.entry, f"`{raw}` was never answered")
            step = replace(step, waiting={})
            self._replace_newest(step)
            touched.append(step)
        return touched + self._release()

    def _replace_newest(self, step: Step) -> None:
        """The newest step in another state. While it waits for results it is the newest item too."""
        assert self.items[-1] is self.steps[-1]
        self.items[-1] = self.steps[-1] = step

    def _release(self) -> list[Item]:
        deferred, self._deferred = self._deferred, []
        return [item for entry, event in deferred for item in self._add_user(entry, event)]

    def _ordered(self, parts: list[AssistantPart], entry: str) -> tuple[AssistantPart, ...]:
        """Calls last and thinking never last, as Anthropic demands; else as the model wrote it."""
        said = [p for p in parts if not isinstance(p, ToolCall)]
        calls = [p for p in parts if isinstance(p, ToolCall)]
        if not calls and isinstance(said[-1], Thinking):
            said = [p for p in said if isinstance(p, Thinking)] + [p for p in said if isinstance(p, Text)]
        ordered = (*said, *calls)
        if ordered != tuple(parts):
            self._repair("part-order", entry, "texts and thinking stand before the calls")
        return ordered

    def _legal_call(self, call: ToolCall, entry: str) -> ToolCall:
        """The call with an id, name and arguments that every provider accepts."""
        wanted = unique = _legal(call.id)
        while unique in self._call_ids:
            self._seen[wanted] = self._seen.get(wanted, 1) + 1
            unique = f"{wanted}_{self._seen[wanted]}"
        self._seen.setdefault(wanted, 1)
        self._call_ids.add(unique)
        name = _BAD_ID.sub("_", call.name)[:64] or "unknown"
        if (unique, name) != (call.id, call.name):
            self._repair(
                "call-name", entry, f"call `{call.id}` of `{call.name}` is sent as `{unique}` of `{name}`"
            )
        arguments = call.arguments
        if call.raw:
            arguments = {"raw": call.raw}
            self._repair("invalid-arguments", entry, f"the arguments of `{call.id}` are not a JSON object")
        return ToolCall(unique, name, arguments)

    def _repair(self, rule: str, entry: str, detail: str) -> None:
        self.repairs.append(Repair(rule, entry, detail))


def _spoken(event: UserSaid) -> tuple[UserPart, ...]:
    """The parts without blank texts, which providers refuse."""
    return tuple(p for p in event.parts if not isinstance(p, Text) or p.text.strip())


def _why_unplaced(event: ToolReturned, step: Step | None) -> str:
    """What is wrong with a result that belongs to no call, and which calls it could have been of."""
    called = event.call_id or event.name
    result = f"the result of `{called}`" if called else "the result of a call that it does not name"
    waiting = ", ".join(f"`{id_}`" for id_ in [*(step.waiting if step else ())][:MOST_WAITING])
    others = f" (calls without a result: {waiting})" if waiting else ""
    return f"{result} has no call that waits for it{others}"


def _only_text(event: ToolReturned) -> str:
    """The text if nothing but text was returned: the id of one beside a picture would lose the picture."""
    return joined_text(event.parts) if all(isinstance(p, Text) for p in event.parts) else ""


def _stderr_lines(data: dict[str, Json]) -> tuple[LineRange, ...] | None:
    """The lines that the data of a result says are stderr; None where it does not say."""
    try:
        return msgspec.convert(data["stderr"], tuple[LineRange, ...]) if "stderr" in data else None
    except msgspec.ValidationError:
        return None


def _legal(call_id: str) -> str:
    return _BAD_ID.sub("_", call_id)[:LONGEST_ID] or "call"
