"""Notes: the line in the place of a folded run, and the index that leads back to every text in it.

Rule: written by rule from the log alone; an index names each text by id, and nothing that differs between logs.
"""

import re
from collections.abc import Iterable, Sequence

from holdfast.events import FoldNote
from holdfast.ids import text_id
from holdfast.messages import Text, ToolMessage, UserMessage, joined_text
from holdfast.packing.rendering.levels import RenderContext, long_strings, source_id
from holdfast.packing.rendering.marks import mark, one_line
from holdfast.packing.view import WindowView
from holdfast.views.directives import gist
from holdfast.views.transcript import Item, Step, User

MOST_TOOLS = 4
LONGEST_NAME = 16

_LINKED = re.compile(r"^(?:earlier|steps) .* -> a\w{12}$")
_LISTED = re.compile(r"^step (\d+):", re.MULTILINE)


def step_note(view: WindowView, steps: Sequence[Step]) -> FoldNote:
    """The note for steps that follow each other within one round."""
    index = "\n".join(_index(view, steps))
    first, last = steps[0].number + 1, steps[-1].number + 1
    span = f"step {first}" if first == last else f"steps {first}-{last}"
    text = mark(f"{span} folded ({_tools_used(steps)})", text_id(index))
    return FoldNote(steps[0].entry, steps[-1].entry, text, index)


def note_bound(context: RenderContext) -> int:
    """Tokens that no note of steps exceeds: one with the longest numbers and the oddest names."""
    tools = ", ".join(f"99999 {'Xq7-zK_9' * 2}" for _ in range(MOST_TOOLS))
    text = mark(f"steps 99999-99999 folded ({tools}, 99999 failed)", "a0z9y8x7w6v5t")
    return context.counter.message(UserMessage((Text(text),))) + 8


def round_note_tokens(view: WindowView) -> int:
    """Tokens the note for whole rounds may take."""
    room = view.profile.hard_limit // 32
    if view.profile.window_cap:
        room = min(room, view.profile.window_cap // 4)
    return max(room, 120)


def round_note(view: WindowView, items: Sequence[Item]) -> FoldNote:
    """The note for whole rounds: what their users asked and forbade, as far as its room goes, newest first."""
    steps = [i for i in items if isinstance(i, Step)]
    users = [i for i in items if isinstance(i, User)]
    index = "\n".join(_index(view, items))
    what = f"{len(users)} earlier user messages and {len(steps)} steps folded ({_tools_used(steps)})"
    head = mark(what, text_id(index))
    said = [line for user in users if user.origin != "reminder" for line in _asked(user)]
    count, room = view.counter.message, round_note_tokens(view)
    kept = _newest_that_fit(view.context, said, room - view.counter.text(head) - 16)
    text = _round_text(head, kept)
    while kept and count(UserMessage((Text(text),))) > room:
        kept = kept[1:]
        text = _round_text(head, kept)
    return FoldNote(items[0].entry, items[-1].entry, text, index, users=True)


def _round_text(head: str, said: Sequence[str]) -> str:
    if not said:
        return head
    return "\n".join([head, "The user said there, oldest first:", *(f"- {line}" for line in said)])


def _newest_that_fit(context: RenderContext, lines: list[str], room: int) -> list[str]:
    start = len(lines)
    while start > 0 and room > 0:
        room -= context.counter.text(lines[start - 1]) + 3
        start -= room > 0
    return lines[start:]


def _asked(user: User) -> list[str]:
    return gist(joined_text(user.message.parts))


def _tools_used(steps: Iterable[Step]) -> str:
    counts: dict[str, int] = {}
    failed = 0
    for step in steps:
        for call_id, use in step.uses.items():
            counts[use.name] = counts.get(use.name, 0) + 1
            result = step.results.get(call_id)
            failed += result is None or result.error
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_TOOLS]
    used = [f"{count} {name[:LONGEST_NAME]}" for name, count in ranked]
    return ", ".join([*used, *([f"{failed} failed"] if failed else [])]) or "no calls"


def _index(view: WindowView, items: Sequence[Item]) -> list[str]:
    """Lines for the items. What an earlier note replaced is linked and not listed again: a fold costs what is
    new in it, and every step stays at most one link away."""
    lines: list[str] = []
    end = -1
    for item in items:
        if item.position in view.notes:
            note = view.notes[item.position][0]
            lines += [line for line in note.index.split("\n") if _LINKED.match(line)]
            lines.append(f"{_listed(note)} -> {text_id(note.index)}")
            end = view.position(note.last)
        if item.position > end:
            lines += _step_lines(item) if isinstance(item, Step) else _user_lines(item)
        elif isinstance(item, User) and item.entry not in view.hidden:
            lines += _user_lines(item)
    return list(dict.fromkeys(lines))


def _listed(note: FoldNote) -> str:
    """Which steps an index lists itself."""
    numbers = _LISTED.findall(note.index)
    return f"steps {numbers[0]}-{numbers[-1]}" if numbers else "earlier user messages"


def _user_lines(user: User) -> list[str]:
    texts = [p.text for p in user.message.parts if isinstance(p, Text)]
    return [f"user: {one_line(' '.join(texts))[:160]} -> {_ids(texts)}"]


def _step_lines(step: Step) -> list[str]:
    """What a folded step did: a line for itself and one for each call, with the ids of all its long texts."""
    said = [p.text for p in step.message.parts if isinstance(p, Text)]
    lines = [f"step {step.number + 1}: {one_line(' '.join(said))[:160]} -> {_ids(said)}".rstrip(" ->")]
    for answer in step.answers():
        call, use = step.calls[answer.call_id], step.uses[answer.call_id]
        outcome = "error" if answer.error else "result"
        ids = " ".join(source_id(use, p.text) for p in _texts(answer) if p.text)
        lines.append(f"  {use.label} -> {outcome} {ids}")
        written = long_strings(call.arguments)
        if written:
            lines.append(f"    arguments {_ids(written)}")
    return lines


def _texts(answer: ToolMessage) -> list[Text]:
    return [p for p in answer.parts if isinstance(p, Text)]


def _ids(texts: Iterable[str]) -> str:
    """Ids that depend on the texts alone: an index reads the same in every log."""
    return " ".join(text_id(text) for text in texts if text)
