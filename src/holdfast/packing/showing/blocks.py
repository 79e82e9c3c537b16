"""A user message or a step as it is shown at its level, with every cut named.

Rule: call and result change together; user text is never changed except for a paste beyond its cap.
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
from holdfast.packing.renditions.clip import MARK_TOKENS, clip_tokens
from holdfast.packing.renditions.first_sight import reduce_at_once
from holdfast.packing.renditions.levels import Scene, image_mark, reduce_arguments, reduce_result, source_id
from holdfast.packing.renditions.marks import mark
from holdfast.packing.showing.cuts import source_of, step_gone, text_cut, thinking_cut, user_cuts
from holdfast.packing.showing.quotes import NOTHING, Quoted
from holdfast.tool_use import ToolUse
from holdfast.views.directives import gist
from holdfast.views.todos import Todos, after_call
from holdfast.views.transcript import Step, User

BRIDGE = UserMessage((Text("[holdfast: the agent went on without a new message]"),))
"""Stands between two assistant messages in a row, which many servers refuse."""


MOST_CALLS = 128
"""Calls that OpenAI takes in one message."""


def bridge_tokens(scene: Scene) -> int:
    """Reserved by each block that ends with an assistant message, so that a bridge never breaks a budget."""
    return scene.counter.message(BRIDGE)


class UserLook(Struct, frozen=True):
    """How a user message is shown. `brief` leaves first line and directives; `cap` bounds its texts in tokens."""

    brief: bool = False
    cap: int = 0


def render_user(
    scene: Scene, user: User, pasted: dict[str, str], look: UserLook, quoted: Quoted = NOTHING
) -> Block:
    """A user message. `pasted` maps large texts seen before to the entry that has them."""
    shown = tuple(_user_part(scene, user, part, pasted, look) for part in user.message.parts)
    message = UserMessage(tuple(part for part, _ in shown))
    return Block((message,), scene.counter.message(message), user_cuts(scene, user, shown, quoted))


def hide_user(scene: Scene, user: User, quoted: Quoted = NOTHING) -> Block:
    """A user message that only notes speak of."""
    return Block((), 0, user_cuts(scene, user, ((None, "user-gone"),) * len(user.message.parts), quoted))


def _user_part(
    scene: Scene, user: User, part: UserPart, pasted: dict[str, str], look: UserLook
) -> tuple[UserPart, str]:
    if isinstance(part, Image):
        return (Text(image_mark(part)), "old-user") if look.brief or look.cap else (part, "")
    size = scene.counter.text(part.text)
    texts = sum(isinstance(p, Text) for p in user.message.parts)
    if look.brief:
        brief = _brief(part.text, max(12 // texts, 1))
        return (Text(brief), "old-user") if scene.counter.text(brief) < size else (part, "")
    if pasted.get(part.text, user.entry) != user.entry:
        return Text(mark("the same text as an earlier message", text_id(part.text))), "repeated-paste"
    cap = max(look.cap // texts, MARK_TOKENS + 20) if look.cap else scene.profile.paste_tokens
    clipped = clip_tokens(part.text, cap, scene.counter)
    return (part, "") if clipped == part.text else (Text(clipped), "paste")


def _brief(text: str, most: int) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    kept = gist(text, most)
    gone = mark(f"{len(lines) - len(kept)} further lines of this message", text_id(text))
    return "\n".join([*kept, gone])


class Hindsight(Struct, frozen=True):
    """What later steps say of a step's results, by call id: why a newer one stands for it, or that its file was
    edited since; and what notes quote of a step that is gone."""

    superseded: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)
    quoted: Quoted = field(default_factory=dict)


NO_HINDSIGHT = Hindsight()


def render_step(scene: Scene, step: Step, level: Level, cap: int, later: Hindsight = NO_HINDSIGHT) -> Block:
    """A step at its level, with every cut named."""
    if level == "gone":
        return Block((), 0, step_gone(scene, step, later.quoted))
    if level == "skeleton":
        return _render_skeleton(scene, step, later.quoted)
    cuts: list[Cut] = []
    reply = _assistant(scene, step, level, cuts)
    results = [_result(scene, step, answer, level, cap, later, cuts) for answer in step.answers()]
    messages = _in_groups(reply, results)
    tokens = sum(scene.counter.message(m) for m in messages)
    return Block(tuple(messages), tokens, tuple(cuts), 0 if step.calls else bridge_tokens(scene))


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


def _assistant(scene: Scene, step: Step, level: Level, cuts: list[Cut]) -> AssistantMessage:
    parts: list[AssistantPart] = []
    for part in step.message.parts:
        if isinstance(part, Thinking):
            if level in ("full", "clipped") or scene.profile.thinking == "keep":
                parts.append(part)
            else:
                cuts.append(thinking_cut(scene, step, part))
        elif isinstance(part, ToolCall):
            parts.append(_call(scene, step, part, level, cuts))
        elif level == "stub" and scene.counter.text(part.text) > 120:
            brief = clip_tokens(part.text, 100, scene.counter)
            cuts.append(text_cut(scene, step.entry, "assistant text", "text-stub", part.text, brief))
            parts.append(Text(brief))
        else:
            parts.append(part)
    return AssistantMessage(tuple(parts))


def _call(scene: Scene, step: Step, call: ToolCall, level: Level, cuts: list[Cut]) -> ToolCall:
    """A call at a level: its long arguments shortened, of a todo list only the recap."""
    use = step.uses[call.id]
    if use.kind == "todo" and level in ("digest", "stub"):
        return _todo_call(scene, step, call, cuts)
    arguments, shortened = reduce_arguments(scene, use, call.arguments, level)
    if not shortened:
        return call
    for text, shown in shortened:
        what, rule = f"argument of {use.label}", f"{use.kind}-argument"
        cuts.append(text_cut(scene, step.entry, what, rule, text, shown))
    return ToolCall(call.id, call.name, arguments)


def _todo_call(scene: Scene, step: Step, call: ToolCall, cuts: list[Cut]) -> ToolCall:
    """A list that newer ones replaced; what stands now is in the tail."""
    key = next((k for k in ("todos", "plan", "items") if isinstance(call.arguments.get(k), list)), "")
    if not key:
        return call
    recap = after_call(Todos(), call, "").line
    folded = ToolCall(call.id, call.name, {**call.arguments, key: recap})
    before, after = scene.counter.part(call), scene.counter.part(folded)
    if after >= before:
        return call
    cuts.append(Cut(step.entry, f"argument of {call.name}", "todo-argument", before, after, step.entry))
    return folded


def _result(
    scene: Scene,
    step: Step,
    answer: ToolMessage,
    level: Level,
    cap: int,
    later: Hindsight,
    cuts: list[Cut],
) -> ToolMessage:
    use = step.uses[answer.call_id]
    entry = step.result_entries.get(answer.call_id, step.entry)
    parts: list[UserPart] = []
    for part in answer.parts:
        if isinstance(part, Image):
            shown, rule = _picture(part, level), "picture"
        else:
            shown, rule = _result_text(scene, step, answer, part, level, cap, later)
        if shown is not part:
            before, after = scene.counter.part(part), scene.counter.part(shown)
            cuts.append(Cut(entry, use.label, rule, before, after, source_id(use, source_of(part))))
        parts.append(shown)
    return ToolMessage(answer.call_id, answer.name, tuple(parts), answer.error)


def _picture(image: Image, level: Level) -> UserPart:
    return image if level in ("full", "clipped") else Text(image_mark(image))


def _result_text(
    scene: Scene, step: Step, answer: ToolMessage, part: Text, level: Level, cap: int, later: Hindsight
) -> tuple[Text, str]:
    """A text of a result, and the rule it was shortened by; the same part where it is shown whole."""
    use = step.uses[answer.call_id]
    superseded = later.superseded.get(answer.call_id, "")
    if level == "full":
        shown, rule = _first_sight(scene, use, part.text), "first-sight"
    elif level == "clipped":
        shown, rule = reduce_result(scene, use, part.text, level, cap), f"{use.kind}-clipped"
    else:
        state = "failed" if answer.error else later.edited.get(answer.call_id, "")
        shown = reduce_result(scene, use, part.text, level, cap, superseded, state=state)
        rule = f"{use.kind}-superseded" if superseded else f"{use.kind}-{level}"
    return (part if shown == part.text else Text(shown)), rule


def _first_sight(scene: Scene, use: ToolUse, text: str) -> str:
    """A result as it is first shown: whole, unless it is very large or the profile clips at once."""
    if use.kind == "recall":
        return text
    profile, shown = scene.profile, text
    if profile.result_now == "clipped":
        shown = reduce_result(scene, use, text, "clipped", 0)
    if scene.counter.text(shown) <= profile.first_sight_tokens:
        return shown
    if not profile.excerpt_ratio:
        return clip_tokens(text, profile.first_sight_tokens, scene.counter)
    return reduce_at_once(use, text, profile.first_sight_tokens, scene.counter, scene.worth)


def _render_skeleton(scene: Scene, step: Step, quoted: Quoted) -> Block:
    """Of the step only what the agent said; its calls and results are named in the cuts."""
    gone = step_gone(scene, step, quoted)
    if not step.message.text.strip():
        return Block((), 0, gone)
    message = AssistantMessage(tuple(p for p in step.message.parts if isinstance(p, Text)))
    cuts = tuple(c for c in gone if c.rule != "text-gone")
    return Block((message,), scene.counter.message(message), cuts, bridge_tokens(scene))
