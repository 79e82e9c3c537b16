"""Notes: the line that stands for a folded run, and the index that leads back to every text in it.

Rule: written by rule from the log alone; an index names each text by id, and nothing that differs between logs.
"""

from collections.abc import Iterable, Sequence

from holdfast.events import FoldNote
from holdfast.ids import text_id
from holdfast.messages import Text, ToolMessage, joined_text
from holdfast.packing.blocks import directives
from holdfast.packing.marks import mark, one_line
from holdfast.packing.renditions import long_strings
from holdfast.packing.window import Window
from holdfast.views.transcript import Item, Step, User


def step_note(steps: Sequence[Step]) -> FoldNote:
    """The note for steps that follow each other within one round."""
    index = "\n".join(line for step in steps for line in _step_lines(step))
    first, last = steps[0].number + 1, steps[-1].number + 1
    span = f"step {first} is" if first == last else f"steps {first}-{last} are"
    text = mark(f"{span} done and folded ({_tools_used(steps)})", text_id(index))
    return FoldNote(steps[0].entry, steps[-1].entry, text, index)


def round_note_room(window: Window) -> int:
    """Tokens the note for whole rounds may take."""
    return max(window.profile.hard_limit // 16, 120)


def round_note(window: Window, items: Sequence[Item]) -> FoldNote:
    """The note for whole rounds: what their users asked and forbade, as far as its room goes, newest first."""
    steps = [i for i in items if isinstance(i, Step)]
    users = [i for i in items if isinstance(i, User)]
    index = "\n".join(line for item in items for line in _lines(item))
    what = f"{len(users)} earlier user messages and {len(steps)} steps are done and folded"
    head = mark(f"{what} ({_tools_used(steps)})", text_id(index))
    room = round_note_room(window) - window.scene.counter.text(head) - 24
    kept: list[str] = []
    for line in (line for user in reversed(users) for line in reversed(_asked(user))):
        size = window.scene.counter.text(line) + 2
        if size > room:
            break
        room -= size
        kept.append(f"- {line}")
    said = ["The user said there, oldest first:", *reversed(kept)] if kept else []
    return FoldNote(items[0].entry, items[-1].entry, "\n".join([head, *said]), index, users=True)


def _asked(user: User) -> list[str]:
    return directives(joined_text(user.message.parts))


def _tools_used(steps: Iterable[Step]) -> str:
    counts: dict[str, int] = {}
    for step in steps:
        for use in step.uses.values():
            counts[use.name] = counts.get(use.name, 0) + 1
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:4]
    return ", ".join(f"{count} {name[:16]}" for name, count in ranked) or "no calls"


def _lines(item: Item) -> list[str]:
    if isinstance(item, Step):
        return _step_lines(item)
    texts = [p.text for p in item.message.parts if isinstance(p, Text)]
    return [f"user: {one_line(' '.join(texts))[:160]} -> {_ids(texts)}"]


def _step_lines(step: Step) -> list[str]:
    """What a folded step did: a line for itself and one for each call, with the ids of all its long texts."""
    said = [p.text for p in step.message.parts if isinstance(p, Text)]
    lines = [f"step {step.number + 1}: {one_line(' '.join(said))[:160]} -> {_ids(said)}".rstrip(" ->")]
    for answer in step.answers():
        call = step.calls[answer.call_id]
        outcome = "error" if answer.error else "result"
        lines.append(f"  {step.uses[call.id].label} -> {outcome} {_ids(p.text for p in _texts(answer))}")
        written = long_strings(call.arguments)
        if written:
            lines.append(f"    arguments {_ids(written)}")
    return lines


def _texts(answer: ToolMessage) -> list[Text]:
    return [p for p in answer.parts if isinstance(p, Text)]


def _ids(texts: Iterable[str]) -> str:
    """Ids that depend on the texts alone: an index reads the same in every log."""
    return " ".join(text_id(text) for text in texts if text)
