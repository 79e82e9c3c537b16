"""A user message or a step as it is shown at its level, with every cut named.

Rule: call and result change together; user text is never changed except for a paste beyond its cap.
"""

import re

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
from holdfast.packing.clip import MARK_TOKENS, clip_tokens
from holdfast.packing.first_sight import reduce_at_once
from holdfast.packing.layers import Block, Cut
from holdfast.packing.marks import mark
from holdfast.packing.renditions import Scene, image_mark, reduce_arguments, reduce_result, source_id
from holdfast.tool_use import ToolUse
from holdfast.views.todos import Todos, after_call
from holdfast.views.transcript import Step, User

BRIDGE = UserMessage((Text("[holdfast: the agent went on without a new message]"),))
"""Stands between two assistant messages in a row, which many servers refuse."""


LONGEST_DIRECTIVE = 300
"""Characters of a line that stay when only first line and directives of a message do."""

MOST_CALLS = 128
"""Calls that OpenAI takes in one message."""

_DIRECTIVE = re.compile(
    r"(?i)\b(?:never|always|don't|do not|must|only|make sure|avoid|keep)\b|不要|必须|禁止|务必|不得|总是|切勿|只能"
)


def bridge_tokens(scene: Scene) -> int:
    """Reserved by each block that ends with an assistant message, so that a bridge never breaks a budget."""
    return scene.counter.message(BRIDGE)


class UserLook(Struct, frozen=True):
    """How a user message is shown. `brief` leaves first line and directives; `cap` bounds its texts in tokens."""

    brief: bool = False
    cap: int = 0


def render_user(scene: Scene, user: User, pasted: dict[str, str], look: UserLook) -> Block:
    """A user message. `pasted` maps large texts seen before to the entry that has them."""
    parts: list[UserPart] = []
    cuts: list[Cut] = []
    for part in user.message.parts:
        shown, rule = _user_part(scene, user, part, pasted, look)
        if shown is not part:
            before, after = _size(scene, part), _size(scene, shown)
            cuts.append(Cut(user.entry, "user message", rule, before, after, text_id(_source(part))))
        parts.append(shown)
    message = UserMessage(tuple(parts))
    return Block((message,), scene.counter.message(message), tuple(cuts))


def hide_user(scene: Scene, user: User) -> Block:
    """A user message that only the note of its round speaks of."""
    cuts = tuple(
        Cut(user.entry, "user message", "user-gone", _size(scene, p), 0, text_id(_source(p)))
        for p in user.message.parts
    )
    return Block((), 0, cuts)


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


def directives(text: str, most: int = 12) -> list[str]:
    """First line and directives of a user message: what it asked, and what it forbade."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    kept = [line for i, line in enumerate(lines) if i == 0 or _DIRECTIVE.search(line)][:most]
    return [line if len(line) <= LONGEST_DIRECTIVE else f"{line[:LONGEST_DIRECTIVE]}…" for line in kept]


def _brief(text: str, most: int) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    kept = directives(text, most)
    gone = mark(f"{len(lines) - len(kept)} further lines of this message", text_id(text))
    return "\n".join([*kept, gone])


class Hindsight(Struct, frozen=True):
    """What later steps say of a step's results, by call id: why a newer one stands for it, or that its file was
    edited since."""

    superseded: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)


NO_HINDSIGHT = Hindsight()


def render_step(scene: Scene, step: Step, level: Level, cap: int, later: Hindsight = NO_HINDSIGHT) -> Block:
    """A step at its level, with every cut named."""
    if level == "gone":
        return Block((), 0, _gone_cuts(scene, step))
    if level == "skeleton":
        return _render_skeleton(scene, step)
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
                cuts.append(_thinking_cut(scene, step, part))
        elif isinstance(part, ToolCall):
            parts.append(_call(scene, step, part, level, cuts))
        elif level == "stub" and scene.counter.text(part.text) > 120:
            brief = clip_tokens(part.text, 100, scene.counter)
            cuts.append(_cut(scene, step.entry, "assistant text", "text-stub", part.text, brief))
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
        cuts.append(_cut(scene, step.entry, what, rule, text, shown))
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
            id_ = source_id(use, _source(part))
            cuts.append(Cut(entry, use.label, rule, _size(scene, part), _size(scene, shown), id_))
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
    return reduce_at_once(use, text, profile.first_sight_tokens, scene.counter)


def _render_skeleton(scene: Scene, step: Step) -> Block:
    """Of the step only what the agent said; its calls and results are named in the cuts."""
    if not step.message.text.strip():
        return Block((), 0, _gone_cuts(scene, step))
    message = AssistantMessage(tuple(p for p in step.message.parts if isinstance(p, Text)))
    cuts = tuple(c for c in _gone_cuts(scene, step) if c.rule != "text-gone")
    return Block((message,), scene.counter.message(message), cuts, bridge_tokens(scene))


def _gone_cuts(scene: Scene, step: Step) -> tuple[Cut, ...]:
    cuts: list[Cut] = []
    for part in step.message.parts:
        if isinstance(part, Thinking):
            cuts.append(_thinking_cut(scene, step, part))
        elif isinstance(part, ToolCall):
            before = scene.counter.message(AssistantMessage((part,)))
            cuts.append(Cut(step.entry, step.uses[part.id].label, "call-gone", before, 0, step.entry))
        else:
            cuts.append(_cut(scene, step.entry, "assistant text", "text-gone", part.text, ""))
    for call_id, answer in step.results.items():
        use, entry = step.uses[call_id], step.result_entries[call_id]
        found = [(_size(scene, p), source_id(use, _source(p))) for p in answer.parts]
        for size, id_ in found or [(0, entry)]:
            cuts.append(Cut(entry, use.label, f"{use.kind}-gone", size, 0, id_))
    return tuple(cuts)


def _thinking_cut(scene: Scene, step: Step, part: Thinking) -> Cut:
    before = scene.counter.message(AssistantMessage((part,)))
    return Cut(step.entry, "thinking", "thinking", before, 0, text_id(part.text) if part.text else step.entry)


def _cut(scene: Scene, entry: str, what: str, rule: str, before: str, after: str) -> Cut:
    count = scene.counter.text
    return Cut(entry, what, rule, count(before), count(after) if after else 0, text_id(before))


def _size(scene: Scene, part: UserPart) -> int:
    return scene.counter.part(part)


def _source(part: UserPart) -> str:
    """What a part is stored under: its text, or a picture's data or address."""
    return part.text if isinstance(part, Text) else part.data or part.url
