"""What happens in a session, as updates for the editor: from the log, and from the notices of a running agent.

Rule: it only watches; what it misses is in the log. Every call has an id of its own, since providers use some
twice. What a sub-agent does is shown on the call of its task.
"""

from collections.abc import Iterable, Iterator, Sequence

from acp.helpers import (
    image_block,
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message,
    update_user_message_text,
)
from acp.schema import AgentPlanUpdate, Cost, ToolCallProgress, ToolCallUpdate, Usage, UsageUpdate
from msgspec import Struct, field

from holdfast.agents.acp.outbox import SessionUpdate
from holdfast.agents.acp.tool_calls import (
    EDITS,
    HIDDEN,
    CallContent,
    call_kind,
    call_locations,
    call_title,
    edit_diff,
    has_failed,
    output_content,
)
from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.cost import lookup_for
from holdfast.agents.notices import (
    FoldMade,
    HookReported,
    Notice,
    PicturesMentioned,
    Replied,
    StepBegan,
    SubAgentNotice,
    SummaryBegan,
    SummaryMade,
    Warned,
    innermost,
)
from holdfast.agents.spending import measure_spending, spent_by
from holdfast.events import AssistantReplied, Compacted, Entry, Folded, ToolReturned, UserSaid
from holdfast.messages import Text, Thinking, ToolCall, joined_text
from holdfast.models.model import CallAnnounced, RetryScheduled, TextDelta, ThinkingDelta
from holdfast.packing.folding.trigger import estimate_request
from holdfast.tools.call import CallFinished, CallReported, CallStarted, LiveOutput
from holdfast.tools.todo_write import TodoItem

SUMMARIZED = "earlier work was summarized"


class ShownCall(Struct, eq=False):
    """A call that the editor shows; `call` is None while the model writes its arguments."""

    id: str
    name: str
    call: ToolCall | None = None
    title: str = ""
    diff: list[CallContent] | None = None
    is_over: bool = False
    steps: int = 0
    """Steps of its sub-agent."""


class CallIds(Struct):
    """Ids for calls. A provider's own id is kept if it is the first with it."""

    used: dict[str, int] = field(default_factory=dict)

    def new(self, id_: str) -> str:
        number = self.used[id_] = self.used.get(id_, 0) + 1
        return id_ if id_ and number == 1 else f"{id_ or 'call'}#{number}"


class EventUpdates:
    """Updates of a running session."""

    def __init__(self, coding: CodingSession, ids: CallIds) -> None:
        self._coding = coding
        self._ids = ids
        self._announced: list[ShownCall] = []
        """The calls of the reply that is streaming."""
        self._calls: list[ShownCall] = []
        self._has_text = False

    def of(self, notice: Notice) -> Iterator[SessionUpdate]:
        match notice:
            case StepBegan():
                self._announced, self._has_text = [], False
            case TextDelta(text=text):
                self._has_text = True
                yield update_agent_message_text(text)
            case ThinkingDelta(text=text):
                yield update_agent_thought_text(text)
            case CallAnnounced(id=id_, name=name) if name not in HIDDEN:
                yield self._announce(id_, name)
            case RetryScheduled(sentence=sentence):
                yield from self._give_up(self._announced, sentence)
                self._announced = []
                says = update_agent_message_text if self._has_text else update_agent_thought_text
                yield says(f"\n\n[{sentence}; what came before is written again]\n\n")
            case Replied(reply=reply):
                yield from self._replied(reply.calls)
                yield context_usage(self._coding)
            case CallStarted(call=call):
                yield from self._started(call)
            case CallReported(call=call, news=LiveOutput(text=text)):
                yield from self._printed(call, text)
            case CallFinished():
                yield from self._finished(notice)
            case HookReported(text=text) | Warned(text=text):
                yield update_agent_thought_text(f"\n[{text}]\n")
            case PicturesMentioned(notes=notes):
                yield update_agent_thought_text(f"\n[{'; '.join(notes)}]\n")
            case FoldMade() | SummaryBegan(waits=True) | SummaryMade():
                yield update_agent_thought_text(f"\n[{_describe(notice)}]\n")
            case SubAgentNotice():
                yield from self._task(notice)

    def shown(self, call: ToolCall) -> tuple[ShownCall, list[SessionUpdate]]:
        """A call by identity, because ids may be used twice; with the update that shows it, if it is new."""
        for one in self._calls:
            if one.call is call:
                return one, []
        one = ShownCall(self._ids.new(call.id), call.name, call, call_title(call.name, call.arguments))
        self._calls.append(one)
        return one, [self._start(one)]

    def running(self, id_: str) -> ShownCall | None:
        """The call that runs, by the id that the provider gave it."""
        running = (one for one in self._calls if one.call and one.call.id == id_ and not one.is_over)
        return next(running, None)

    def ended(self) -> list[SessionUpdate]:
        """The run is over: no call is left open."""
        left = [*self._announced, *self._calls]
        self._announced, self._calls = [], []
        return list(self._give_up(left, "it was not carried out"))

    def diff(self, one: ShownCall) -> list[CallContent]:
        if one.diff is None:
            one.diff = edit_diff(one.call, self._coding.workspace) if one.call else []
        return one.diff

    def _announce(self, id_: str, name: str) -> SessionUpdate:
        one = ShownCall(self._ids.new(id_), name, title=name)
        self._announced.append(one)
        return start_tool_call(one.id, name, kind=call_kind(name), status="pending")

    def _start(self, one: ShownCall) -> SessionUpdate:
        assert one.call is not None, "its arguments are known"
        return start_tool_call(
            one.id,
            one.title,
            kind=call_kind(one.name),
            status="pending",
            locations=call_locations(one.call.arguments, self._coding.workspace),
            raw_input=None if one.name in EDITS else one.call.arguments,
        )

    def _replied(self, calls: Sequence[ToolCall]) -> Iterator[SessionUpdate]:
        """The reply is complete: its calls get their arguments."""
        shown = [call for call in calls if call.name not in HIDDEN]
        announced, self._announced = self._announced, []
        self._calls = [one for one in self._calls if not one.is_over]
        for one, call in zip(announced, shown, strict=False):
            one.call, one.name, one.title = call, call.name, call_title(call.name, call.arguments)
            self._calls.append(one)
            yield update_tool_call(
                one.id,
                title=one.title,
                kind=call_kind(one.name),
                locations=call_locations(call.arguments, self._coding.workspace),
                raw_input=None if one.name in EDITS else call.arguments,
            )
        yield from self._give_up(announced[len(shown) :], "it was not made")
        for call in shown[len(announced) :]:
            yield from self.shown(call)[1]

    def _started(self, call: ToolCall) -> Iterator[SessionUpdate]:
        if call.name in HIDDEN:
            return
        one, updates = self.shown(call)
        yield from updates
        # Before the tool changes the file.
        yield update_tool_call(one.id, status="in_progress", content=self.diff(one) or None)

    def _printed(self, call: ToolCall, text: str) -> Iterator[SessionUpdate]:
        """What a command has printed so far, in place of what was shown before."""
        one, updates = self.shown(call)
        yield from updates
        if not one.is_over and (content := output_content(one.name, text, text)):
            yield update_tool_call(one.id, content=content)

    def _finished(self, notice: CallFinished) -> Iterator[SessionUpdate]:
        call, result = notice.call, notice.result
        if call.name in HIDDEN:
            if not result.is_error:
                yield plan_update(self._coding.tool_state.todos.written)
            return
        one, updates = self.shown(call)
        yield from updates
        one.is_over = True
        yield finished_call(one, joined_text(result.parts), result.shown, is_error=result.is_error)

    def _give_up(self, calls: Iterable[ShownCall], why: str) -> Iterator[SessionUpdate]:
        for one in calls:
            if not one.is_over:
                one.is_over = True
                yield update_tool_call(one.id, status="failed", content=[tool_content(text_block(why))])

    def _task(self, notice: SubAgentNotice) -> Iterator[SessionUpdate]:
        one = self.running(notice.call)
        if one is None:
            return
        match innermost(notice):
            case StepBegan():
                one.steps += 1
            case CallStarted(call=call):
                doing = f"step {one.steps}: {call_title(call.name, call.arguments)}"
                yield update_tool_call(one.id, content=[tool_content(text_block(doing))])


def finished_call(one: ShownCall, full: str, shown: str, *, is_error: bool) -> ToolCallProgress:
    """The result of a call: of an edit that was made its diff, else its text."""
    content = [] if is_error else one.diff
    return update_tool_call(
        one.id,
        status="failed" if has_failed(one.name, full, is_error=is_error) else "completed",
        content=content or output_content(one.name, full, full if is_error else shown),
    )


def asked_call(one: ShownCall, content: list[CallContent], title: str) -> ToolCallUpdate:
    """A call that waits for a person."""
    return ToolCallUpdate(
        tool_call_id=one.id, title=title, kind=call_kind(one.name), status="pending", content=list(content)
    )


def context_usage(coding: CodingSession) -> UsageUpdate:
    """How full the window is."""
    session = coding.session
    used = max(0, estimate_request(session.window.view()) - session.profile.reply_room)
    return UsageUpdate(session_update="usage_update", used=used, size=session.profile.window)


def session_usage(coding: CodingSession) -> UsageUpdate:
    """The same, and what the session has cost; what has no price is not guessed."""
    usage = context_usage(coding)
    spent = measure_spending(coding.session.log.entries(), lookup_for(coding)).total
    usage.cost = Cost(amount=spent.dollars, currency="USD") if spent.is_priced else None
    return usage


def turn_usage(coding: CodingSession, since: int) -> Usage:
    """What was spent since this entry of the log."""
    spent = spent_by(coding.session.log.entries(since), coding.agent.model_entry).usage
    return Usage(
        total_tokens=spent.total,
        input_tokens=spent.prompt - spent.cache_read - spent.cache_write,
        output_tokens=spent.completion,
        cached_read_tokens=spent.cache_read,
        cached_write_tokens=spent.cache_write,
    )


def plan_update(todos: Iterable[TodoItem]) -> AgentPlanUpdate:
    """The list of todos. The protocol has no word for what was cancelled."""
    return update_plan(
        plan_entry(todo.content, status=todo.status) for todo in todos if todo.status != "cancelled"
    )


def earlier_updates(entries: Iterable[Entry], coding: CodingSession, ids: CallIds) -> Iterator[SessionUpdate]:
    """What was said and done in a session, from the entries on its path."""
    open_calls: dict[str, list[ShownCall]] = {}
    for entry in entries:
        match entry.event:
            case UserSaid(parts=parts, origin="person" | "agent"):
                for said in parts:
                    if isinstance(said, Text):
                        yield update_user_message_text(said.text)
                    elif said.data:
                        yield update_user_message(image_block(said.data, said.media_type))
            case AssistantReplied(parts=parts):
                for part in parts:
                    yield from _earlier_part(part, coding, ids, open_calls)
            case ToolReturned(call_id=id_, parts=parts, shown=shown, error=error) if open_calls.get(id_):
                one = open_calls[id_].pop(0)
                yield finished_call(one, joined_text(parts), shown, is_error=error)
            case Folded() | Compacted(slot="state"):
                yield update_agent_thought_text(f"\n[{_describe(entry.event)}]\n")
    for calls in open_calls.values():
        for one in calls:
            # No result was written: the process ended before.
            yield update_tool_call(one.id, status="failed")
    if coding.tool_state.todos.written:
        yield plan_update(coding.tool_state.todos.written)


def _earlier_part(
    part: Text | Thinking | ToolCall,
    coding: CodingSession,
    ids: CallIds,
    open_calls: dict[str, list[ShownCall]],
) -> Iterator[SessionUpdate]:
    match part:
        case Text(text=text) if text.strip():
            yield update_agent_message_text(text)
        case Thinking(text=text) if text.strip():
            yield update_agent_thought_text(text)
        case ToolCall(name=name) if name not in HIDDEN:
            title = call_title(name, part.arguments)
            one = ShownCall(ids.new(part.id), name, part, title)
            one.diff = edit_diff(part, coding.workspace, is_past=True)
            open_calls.setdefault(part.id, []).append(one)
            locations = call_locations(part.arguments, coding.workspace)
            yield start_tool_call(one.id, title, kind=call_kind(name), status="pending", locations=locations)


def _describe(what: object) -> str:
    match what:
        case FoldMade(fold=fold):
            return _describe(fold)
        case Folded(tokens_before=before, tokens_after=after):
            return f"folded {before:,} to {after:,} tokens; all of it stays in the log"
        case SummaryBegan():
            return "a summary is being written; the next step waits for it"
        case SummaryMade(compaction=made):
            return " ".join([f"{SUMMARIZED}.", *made.notes])
    return SUMMARIZED
