"""The tail: volatile lines, rebuilt for every request and always last, where they re-bill nothing."""

from holdfast.messages import Message, Text, UserMessage
from holdfast.packing.tokens import TokenCounter
from holdfast.views.todos import Todo, Todos

_MARKS = {"done": "[x]", "active": "[>]", "pending": "[ ]"}


def tail_messages(todos: Todos, lines: int, cap: int, counter: TokenCounter) -> tuple[Message, ...]:
    """The todo recap, only when something is left to do; shortened to `cap` tokens, if there is a cap."""
    if not todos.open:
        return ()
    messages = (_recap(todos, lines),)
    while cap and lines > 1 and counter.messages(messages) > cap:
        lines //= 2
        messages = (_recap(todos, lines),)
    return messages


def _recap(todos: Todos, lines: int) -> UserMessage:
    """So many lines of the list, what is active and what is next before what is done."""
    ranked = sorted(range(len(todos.items)), key=lambda i: (_order(todos.items[i]), i))
    shown = [todos.items[i] for i in sorted(ranked[: max(lines, 1)])]
    rows = [f"{_MARKS[t.status]} {_short(t.text)}" for t in shown]
    left = len(todos.items) - len(shown)
    head = f"Todo recap: {todos.done} of {len(todos.items)} done." + (f" {left} not listed." if left else "")
    body = "\n".join(["<system-reminder>", head, *rows, "</system-reminder>"])
    return UserMessage((Text(body),))


def _order(todo: Todo) -> int:
    return {"active": 0, "pending": 1, "done": 2}[todo.status]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:157] + "..."
