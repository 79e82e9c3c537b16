"""Blocks: a user message or a step as it is shown at its level, with every cut named.

Rule: call and result change together; user text is never changed except for a paste beyond its cap. A cut's
`after` is what can still be read, in its place and in notes together, and never more than there was.
"""

from msgspec import Struct, field

from holdfast.events import Level
from holdfast.ids import text_id
from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)
from holdfast.packing.layers import Block, Cut
from holdfast.packing.lines.excerpts import NO_QUOTES, Quoted
from holdfast.packing.lines.passages import CALL, RESULT, SAID, USER
from holdfast.packing.rendering.clip import clip_tokens, share_cap
from holdfast.packing.rendering.first_sight import reduce_new_result
from holdfast.packing.rendering.levels import (
    RenderContext,
    clip_new_result,
    image_mark,
    reduce_arguments,
    reduce_result,
    source_id,
)
from holdfast.packing.rendering.marks import mark, marked_as, one_line
from holdfast.tool_use import ToolUse
from holdfast.views.directives import directives, gist
from holdfast.views.files import FileTouches
from holdfast.views.todos import Todos, todos_after
from holdfast.views.transcript import Step, User


def gone_step_cuts(context: RenderContext, step: Step, quoted: Quoted) -> tuple[Cut, ...]:
    """The cuts of a step that left nothing in its place."""
    cuts: list[Cut] = []
    texts = 0
    for part in step.message.parts:
        if isinstance(part, Thinking):
            cuts.append(thinking_cut(context, step, part))
        elif isinstance(part, ToolCall):
            before = context.counter.message(AssistantMessage((part,)))
            after = min(quoted.get((part.id, CALL, 0), 0), before)
            cuts.append(Cut(step.entry, step.uses[part.id].label, "call-gone", before, after, step.entry))
        else:
            before = context.counter.text(part.text)
            after = min(quoted.get(("", SAID, texts), 0), before)
            cuts.append(Cut(step.entry, "assistant text", "text-gone", before, after, text_id(part.text)))
            texts += 1
    for call_id, answer in step.results.items():
        cuts += _result_gone(context, step, answer, call_id, quoted)
    return tuple(cuts)


def _result_gone(
    context: RenderContext, step: Step, answer: ToolMessage, call_id: str, quoted: Quoted
) -> list[Cut]:
    use, entry = step.uses[call_id], step.result_entries[call_id]
    what, rule = use.label, f"{use.kind}-gone"
    if not answer.parts:
        return [Cut(entry, what, rule, 0, 0, entry)]
    cuts: list[Cut] = []
    texts = 0
    for part in answer.parts:
        before, after = context.counter.part(part), 0
        if isinstance(part, Text):
            after = min(quoted.get((call_id, RESULT, texts), 0), before)
        texts += isinstance(part, Text)
        cuts.append(Cut(entry, what, rule, before, after, source_id(use, source_of(part))))
    return cuts


def user_cuts(
    context: RenderContext, user: User, shown: tuple[tuple[UserPart | None, str], ...], quoted: Quoted
) -> tuple[Cut, ...]:
    """The cuts of a user message, given each part as it is shown, None if it is gone, and the rule for that."""
    cuts: list[Cut] = []
    texts = 0
    for part, (left, rule) in zip(user.message.parts, shown, strict=True):
        if left is not part:
            before, after = context.counter.part(part), context.counter.part(left) if left else 0
            if isinstance(part, Text):
                after += min(quoted.get(("", USER, texts), 0), max(before - after, 0))
            cuts.append(Cut(user.entry, "user message", rule, before, after, text_id(source_of(part))))
        texts += isinstance(part, Text)
    return tuple(cuts)


def thinking_cut(context: RenderContext, step: Step, part: Thinking) -> Cut:
    before = context.counter.message(AssistantMessage((part,)))
    return Cut(step.entry, "thinking", "thinking", before, 0, text_id(part.text) if part.text else step.entry)


def text_cut(context: RenderContext, entry: str, what: str, rule: str, before: str, after: str) -> Cut:
    """A text shown as a shorter one in its place."""
    count = context.counter.text
    return Cut(entry, what, rule, count(before), count(after) if after else 0, text_id(before))


def source_of(part: UserPart) -> str:
    """What a part is stored under: its text, or a picture's data or address."""
    return part.text if isinstance(part, Text) else part.data or part.url


BRIDGE = UserMessage((Text("[holdfast: the agent went on without a new message]"),))
"""Stands between two assistant messages in a row, which many servers refuse."""


MOST_CALLS = 128
"""Calls that OpenAI takes in one message."""


def bridge_tokens(context: RenderContext) -> int:
    """Reserved by each block that ends with an assistant message, so that a bridge never breaks a budget."""
    return context.counter.message(BRIDGE)


class UserDisplay(Struct, frozen=True):
    """How a user message is shown. `brief` leaves first line and directives; `cap` bounds its texts in tokens."""

    brief: bool = False
    cap: int = 0


def render_user(
    context: RenderContext,
    user: User,
    pasted: dict[str, str],
    display: UserDisplay,
    quoted: Quoted = NO_QUOTES,
) -> Block:
    """A user message. `pasted` maps large texts seen before to the entry that has them."""
    parts, caps = user.message.parts, [context.profile.paste_tokens] * len(user.message.parts)
    if display.cap:
        sizes = [context.counter.part(part) if isinstance(part, Text) else 0 for part in parts]
        caps = share_cap(sizes, display.cap)
    shown = tuple(
        _user_part(context, user, part, pasted, display, cap) for part, cap in zip(parts, caps, strict=True)
    )
    message = UserMessage(tuple(part for part, _ in shown))
    return Block((message,), context.counter.message(message), user_cuts(context, user, shown, quoted))


def hide_user(context: RenderContext, user: User, quoted: Quoted = NO_QUOTES) -> Block:
    """A user message that only notes speak of."""
    return Block((), 0, user_cuts(context, user, ((None, "user-gone"),) * len(user.message.parts), quoted))


def _user_part(
    context: RenderContext,
    user: User,
    part: UserPart,
    pasted: dict[str, str],
    display: UserDisplay,
    cap: int,
) -> tuple[UserPart, str]:
    if isinstance(part, Image):
        return (Text(image_mark(part)), "old-user") if display.brief or display.cap else (part, "")
    size = context.counter.text(part.text)
    if display.brief:
        brief = _brief(part.text)
        return (Text(brief), "old-user") if context.counter.text(brief) < size else (part, "")
    if pasted.get(part.text, user.entry) != user.entry:
        return Text(mark("the same text as an earlier message", text_id(part.text))), "repeated-paste"
    clipped = _clip_paste(context, part.text, cap)
    return (part, "") if clipped == part.text else (Text(clipped), "paste")


MOST_READ = 200_000
"""Characters of a paste that are searched for demands: that takes half a second."""


def _clip_paste(context: RenderContext, text: str, cap: int) -> str:
    """Head and tail of a paste, and what it demands for good between them, as far as `cap` tokens hold that too."""
    count = context.counter.text
    clipped = clip_tokens(text, cap, context.counter)
    if clipped == text:
        return text
    shown, missing = one_line(clipped), list[str]()
    for start, end in directives(text[:MOST_READ]):
        said = one_line(text[start:end])
        if said in shown:
            continue
        cap -= count(said) + 2
        if cap < 0:
            break
        missing.append(f"- {said}")
    lines = clipped.split("\n")
    gap = next((at for at, line in enumerate(lines, 1) if text_id(text) in line and marked_as(line)), 0)
    whole = (
        "\n".join([*lines[:gap], "It says there:", *missing, *lines[gap:]]) if missing and gap else clipped
    )
    return whole if count(whole) < count(text) else clipped


def _brief(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    kept = gist(text)
    gone = mark(f"{len(lines) - len(kept)} further lines of this message", text_id(text))
    return "\n".join([*kept, gone])


class LaterContext(Struct, frozen=True):
    """What later steps say of a step's results, by call id: why a newer one replaces it, or that its file was
    edited since; and what notes quote of a step that is gone."""

    superseded: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)
    quoted: Quoted = field(default_factory=dict)


NO_LATER_CONTEXT = LaterContext()


def later_context(files: FileTouches, step: Step, level: Level, quoted: Quoted = NO_QUOTES) -> LaterContext:
    """What matters of it at a level."""
    if level in ("skeleton", "gone"):
        return LaterContext(quoted=quoted)
    if level == "digest":
        return LaterContext(files.stale_calls(step), files.edited_since(step))
    return NO_LATER_CONTEXT


def render_step(
    context: RenderContext, step: Step, level: Level, cap: int, later: LaterContext = NO_LATER_CONTEXT
) -> Block:
    """A step at its level, with every cut named."""
    if level == "gone":
        return Block((), 0, gone_step_cuts(context, step, later.quoted))
    if level == "skeleton":
        return _render_skeleton(context, step, later.quoted)
    cuts: list[Cut] = []
    reply = _assistant(context, step, level, cuts)
    results = [_result(context, step, answer, level, cap, later, cuts) for answer in step.answers()]
    messages = _in_groups(reply, results)
    tokens = sum(context.counter.message(m) for m in messages)
    return Block(tuple(messages), tokens, tuple(cuts), 0 if step.calls else bridge_tokens(context))


def _in_groups(reply: AssistantMessage, results: list[ToolMessage]) -> list[Message]:
    """The step as one message with its results; as several where it makes more calls than a provider takes."""
    if len(results) <= MOST_CALLS:
        return [reply, *results]
    said = tuple(p for p in reply.parts if not isinstance(p, ToolCall))
    messages: list[Message] = []
    for start in range(0, len(results), MOST_CALLS):
        calls = reply.calls[start : start + MOST_CALLS]
        messages.append(AssistantMessage((*said, *calls)))
        messages += results[start : start + MOST_CALLS]
        said = ()
    return messages


def _assistant(context: RenderContext, step: Step, level: Level, cuts: list[Cut]) -> AssistantMessage:
    parts: list[AssistantPart] = []
    for part in step.message.parts:
        if isinstance(part, Thinking):
            if level in ("full", "clipped") or context.profile.thinking == "keep":
                parts.append(part)
            else:
                cuts.append(thinking_cut(context, step, part))
        elif isinstance(part, ToolCall):
            parts.append(_call(context, step, part, level, cuts))
        elif level == "stub" and context.counter.text(part.text) > 120:
            brief = clip_tokens(part.text, 100, context.counter)
            cuts.append(text_cut(context, step.entry, "assistant text", "text-stub", part.text, brief))
            parts.append(Text(brief))
        else:
            parts.append(part)
    return AssistantMessage(tuple(parts))


def _call(context: RenderContext, step: Step, call: ToolCall, level: Level, cuts: list[Cut]) -> ToolCall:
    """A call at a level: its long arguments shortened, of a todo list only the recap."""
    use = step.uses[call.id]
    if use.kind == "todo" and level in ("digest", "stub"):
        return _todo_call(context, step, call, cuts)
    arguments, shortened = reduce_arguments(context, use, call.arguments, level)
    if not shortened:
        return call
    for text, shown in shortened:
        what, rule = f"argument of {use.label}", f"{use.kind}-argument"
        cuts.append(text_cut(context, step.entry, what, rule, text, shown))
    return ToolCall(call.id, call.name, arguments)


def _todo_call(context: RenderContext, step: Step, call: ToolCall, cuts: list[Cut]) -> ToolCall:
    """A list that newer ones replaced; the current one is in the tail."""
    key = next((k for k in ("todos", "plan", "items") if isinstance(call.arguments.get(k), list)), "")
    if not key:
        return call
    recap = todos_after(Todos(), call, "").line
    folded = ToolCall(call.id, call.name, {**call.arguments, key: recap})
    before, after = context.counter.part(call), context.counter.part(folded)
    if after >= before:
        return call
    cuts.append(Cut(step.entry, f"argument of {call.name}", "todo-argument", before, after, step.entry))
    return folded


def _result(
    context: RenderContext,
    step: Step,
    answer: ToolMessage,
    level: Level,
    cap: int,
    later: LaterContext,
    cuts: list[Cut],
) -> ToolMessage:
    use = step.uses[answer.call_id]
    entry = step.result_entries.get(answer.call_id, step.entry)
    parts: list[UserPart] = []
    for part in answer.parts:
        if isinstance(part, Image):
            kept = level in ("full", "clipped")
            shown, rule = part if kept else Text(image_mark(part)), "picture"
        else:
            shown, rule = _result_text(context, step, answer, part, level, cap, later)
        if shown is not part:
            before, after = context.counter.part(part), context.counter.part(shown)
            cuts.append(Cut(entry, use.label, rule, before, after, source_id(use, source_of(part))))
        parts.append(shown)
    return ToolMessage(answer.call_id, answer.name, tuple(parts), answer.error)


def _result_text(
    context: RenderContext,
    step: Step,
    answer: ToolMessage,
    part: Text,
    level: Level,
    cap: int,
    later: LaterContext,
) -> tuple[Text, str]:
    """A text of a result, and the rule it was shortened by; the same part where it is shown whole."""
    use = step.uses[answer.call_id]
    superseded = later.superseded.get(answer.call_id, "")
    if level == "full":
        shown, rule = _first_sight(context, use, part.text), "first-sight"
    elif level == "clipped":
        shown, rule = reduce_result(context, use, part.text, level, cap), f"{use.kind}-clipped"
    else:
        state = "failed" if answer.error else later.edited.get(answer.call_id, "")
        stderr = step.stderr.get(answer.call_id)
        shown = reduce_result(context, use, part.text, level, cap, superseded, state=state, stderr=stderr)
        rule = f"{use.kind}-superseded" if superseded else f"{use.kind}-{level}"
    return (part if shown == part.text else Text(shown)), rule


RANGE_SHARE = 0.5
"""The share of what may be sent that lines asked for by number may take: as much is left for all else."""


def _first_sight(context: RenderContext, use: ToolUse, text: str) -> str:
    """A result as it is first shown: whole, unless it is very large or the profile clips at once. Where a profile
    keeps lines, those that the agent asked for by number are whole while they fit."""
    if use.kind == "recall":
        return text
    profile, shown = context.profile, text
    if profile.max_tool_chars:
        shown = clip_new_result(context, text)
    if context.counter.text(shown) <= profile.first_sight_tokens:
        return shown
    if not profile.excerpt_ratio:
        return clip_tokens(text, profile.first_sight_tokens, context.counter)
    if use.names_lines and context.counter.text(shown) <= profile.hard_limit * RANGE_SHARE:
        return shown
    return reduce_new_result(use, text, profile.first_sight_tokens, context.counter, context.weight_vectors)


def _render_skeleton(context: RenderContext, step: Step, quoted: Quoted) -> Block:
    """Of the step only what the agent said; its calls and results are named in the cuts."""
    gone = gone_step_cuts(context, step, quoted)
    if not step.message.text.strip():
        return Block((), 0, gone)
    message = AssistantMessage(tuple(p for p in step.message.parts if isinstance(p, Text)))
    cuts = tuple(c for c in gone if c.rule != "text-gone")
    return Block((message,), context.counter.message(message), cuts, bridge_tokens(context))
