"""Cuts of what is gone from its place: each text, call and thought of it, with what of it stands in a note.

Rule: `after` is what can still be read, in its place and in notes together, and never more than there was.
"""

from holdfast.ids import text_id
from holdfast.messages import AssistantMessage, Text, Thinking, ToolCall, ToolMessage, UserPart
from holdfast.packing.layers import Cut
from holdfast.packing.renditions.levels import Scene, source_id
from holdfast.packing.showing.quotes import CALL, RESULT, SAID, USER, Quoted
from holdfast.views.transcript import Step, User


def step_gone(scene: Scene, step: Step, quoted: Quoted) -> tuple[Cut, ...]:
    """The cuts of a step of which nothing stands in its place."""
    cuts: list[Cut] = []
    texts = 0
    for part in step.message.parts:
        if isinstance(part, Thinking):
            cuts.append(thinking_cut(scene, step, part))
        elif isinstance(part, ToolCall):
            before = scene.counter.message(AssistantMessage((part,)))
            after = min(quoted.get((part.id, CALL, 0), 0), before)
            cuts.append(Cut(step.entry, step.uses[part.id].label, "call-gone", before, after, step.entry))
        else:
            before = scene.counter.text(part.text)
            after = min(quoted.get(("", SAID, texts), 0), before)
            cuts.append(Cut(step.entry, "assistant text", "text-gone", before, after, text_id(part.text)))
            texts += 1
    for call_id, answer in step.results.items():
        cuts += _result_gone(scene, step, answer, call_id, quoted)
    return tuple(cuts)


def _result_gone(scene: Scene, step: Step, answer: ToolMessage, call_id: str, quoted: Quoted) -> list[Cut]:
    use, entry = step.uses[call_id], step.result_entries[call_id]
    what, rule = use.label, f"{use.kind}-gone"
    if not answer.parts:
        return [Cut(entry, what, rule, 0, 0, entry)]
    cuts: list[Cut] = []
    texts = 0
    for part in answer.parts:
        before, after = scene.counter.part(part), 0
        if isinstance(part, Text):
            after = min(quoted.get((call_id, RESULT, texts), 0), before)
        texts += isinstance(part, Text)
        cuts.append(Cut(entry, what, rule, before, after, source_id(use, source_of(part))))
    return cuts


def user_cuts(
    scene: Scene, user: User, shown: tuple[tuple[UserPart | None, str], ...], quoted: Quoted
) -> tuple[Cut, ...]:
    """The cuts of a user message, given each part as it is shown, None if it is gone, and the rule for that."""
    cuts: list[Cut] = []
    texts = 0
    for part, (left, rule) in zip(user.message.parts, shown, strict=True):
        if left is not part:
            before, after = scene.counter.part(part), scene.counter.part(left) if left else 0
            if isinstance(part, Text):
                after += min(quoted.get(("", USER, texts), 0), max(before - after, 0))
            cuts.append(Cut(user.entry, "user message", rule, before, after, text_id(source_of(part))))
        texts += isinstance(part, Text)
    return tuple(cuts)


def thinking_cut(scene: Scene, step: Step, part: Thinking) -> Cut:
    before = scene.counter.message(AssistantMessage((part,)))
    return Cut(step.entry, "thinking", "thinking", before, 0, text_id(part.text) if part.text else step.entry)


def text_cut(scene: Scene, entry: str, what: str, rule: str, before: str, after: str) -> Cut:
    """A text shown as a shorter one in its place."""
    count = scene.counter.text
    return Cut(entry, what, rule, count(before), count(after) if after else 0, text_id(before))


def source_of(part: UserPart) -> str:
    """What a part is stored under: its text, or a picture's data or address."""
    return part.text if isinstance(part, Text) else part.data or part.url
