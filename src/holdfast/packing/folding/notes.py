"""Notes: the line in the place of a folded run, and the index that leads back to every text in it.

Rule: written by rule from the log alone; an index names each text by id, and nothing that differs between logs.
"""

import re
from collections.abc import Iterable, Sequence

from holdfast.events import FoldNote
from holdfast.ids import text_id
from holdfast.messages import Text, ToolMessage, UserMessage
from holdfast.packing.rendering.levels import RenderContext, long_strings, source_id
from holdfast.packing.rendering.marks import mark, one_line
from holdfast.packing.view import WindowView
from holdfast.views.directives import directives, gist
from holdfast.views.transcript import Item, Step, User

MOST_TOOLS = 4
LONGEST_NAME = 16
ROUND_NOTE = 40
"""Tokens that the note for whole rounds takes more than one for steps, besides what users said."""

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


def round_note_bound(view: WindowView, wanted: int) -> int:
    """Tokens that the note for whole rounds may take: what it wants, up to what old user messages may take."""
    profile = view.profile
    room = min(profile.user_cap_tokens, profile.hard_limit // 4)
    if profile.window_cap:
        room = min(room, profile.window_cap // 4)
    return min(wanted + ROUND_NOTE, max(room, profile.hard_limit // 32, 120))


def said_tokens(context: RenderContext, user: User) -> int:
    """Tokens that a note for whole rounds takes for one user message; counted line by line, so rather too many."""
    return sum(context.counter.text(line) * 9 // 8 + 4 for line, _ in _asked(user))


def round_note(view: WindowView, items: Sequence[Item], room: int) -> FoldNote:
    """The note for whole rounds: what their users asked and forbade, as far as its room goes. The goal and what
    they demanded for good stay longest, and of the rest the newest."""
    steps = [i for i in items if isinstance(i, Step)]
    users = [i for i in items if isinstance(i, User)]
    index = "\n".join(_index(view, items))
    what = f"{len(users)} earlier user messages and {len(steps)} steps folded ({_tools_used(steps)})"
    head = mark(what, text_id(index))
    said = [asked for user in users for asked in _asked(user)]
    ranked = sorted(range(len(said)), key=lambda at: (at > 0, not said[at][1], -at))
    count, left = view.counter, room - view.counter.text(head) - 16
    kept: list[int] = []
    for at in ranked:
        left -= count.text(said[at][0]) + 3
        if left <= 0:
            break
        kept.append(at)
    text = _round_text(head, said, kept)
    while kept and count.message(UserMessage((Text(text),))) > room:
        kept.pop()
        text = _round_text(head, said, kept)
    return FoldNote(items[0].entry, items[-1].entry, text, index, users=True)


def _round_text(head: str, said: Sequence[tuple[str, bool]], kept: Sequence[int]) -> str:
    if not kept:
        return head
    return "\n".join(
        [head, "The user said there, oldest first:", *(f"- {said[at][0]}" for at in sorted(kept))]
    )


def _asked(user: User) -> list[tuple[str, bool]]:
    """First lines and directives of a user message, and of each line whether it is a directive. What a program
    put beside a person's words is a text of its own."""
    if user.origin == "reminder":
        return []
    texts = (part.text for part in user.message.parts if isinstance(part, Text))
    lines = dict.fromkeys(line for text in texts for line in gist(text))
    return [(line, any(True for _ in directives(line))) for line in lines]


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
