"""The tail: volatile lines, rebuilt for every request and always last, where they re-bill nothing.

Rule: lines that others wrote cannot end the frame that they stand in.
"""

import re
from collections.abc import Iterable

from holdfast.events import RecapSet
from holdfast.messages import Message, Text, UserMessage
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.views.todos import Todo, Todos

_FRAME = re.compile(r"<(?=\s*/?\s*system-reminder)", re.IGNORECASE)
_MARKS = {"done": "[x]", "active": "[>]", "pending": "[ ]"}


def tail_messages(
    todos: Todos, recaps: Iterable[RecapSet], lines: int, cap: int, counter: TokenCounter
) -> tuple[Message, ...]:
    """The todo recap, only when something is left to do, and what else was set to stand here; each in so many
    lines, and in fewer where they are more than `cap` tokens, if there is a cap."""
    standing = [recap for recap in recaps if recap.lines]
    if not todos.open and not standing:
        return ()
    messages = (_recap(todos, standing, lines),)
    while cap and lines > 1 and counter.messages(messages) > cap:
        lines //= 2
        messages = (_recap(todos, standing, lines),)
    return messages


def _recap(todos: Todos, standing: Iterable[RecapSet], lines: int) -> UserMessage:
    told = [_standing(recap, lines) for recap in standing]
    if todos.open:
        told.append(_todos(todos, lines))
    body = "\n".join(["<system-reminder>", *told, "</system-reminder>"])
    return UserMessage((Text(body),))


def _standing(recap: RecapSet, lines: int) -> str:
    most = len(recap.lines) if recap.whole else max(lines, 1)
    shown = [_framed(line) for line in recap.lines[:most]]
    left = len(recap.lines) - len(shown)
    head = f"{recap.title}: {len(recap.lines)}." + (f" {left} not listed." if left else "")
    return "\n".join([head, *(f"- {line}" for line in shown)])


def _todos(todos: Todos, lines: int) -> str:
    """So many lines of the list, what is active and what is next before what is done."""
    ranked = sorted(range(len(todos.items)), key=lambda i: (_order(todos.items[i]), i))
    shown = [todos.items[i] for i in sorted(ranked[: max(lines, 1)])]
    rows = [f"{_MARKS[t.status]} {_short(t.text)}" for t in shown]
    left = len(todos.items) - len(shown)
    head = f"Todo recap: {todos.done} of {len(todos.items)} done." + (f" {left} not listed." if left else "")
    return "\n".join([head, *rows])


def _order(todo: Todo) -> int:
    return {"active": 0, "pending": 1, "done": 2}[todo.status]


def _short(text: str) -> str:
    line = _framed(text)
    return line if len(line) <= 160 else line[:157] + "..."


def _framed(text: str) -> str:
    """On one line, with no tag of the frame in it."""
    return _FRAME.sub("‹", " ".join(text.split()))
