"""The panel of what is to be done, when there is something.

Rule: it takes a few lines at most; what is being done is always among them.
"""

from collections.abc import Sequence

from textual.content import Content

from holdfast.terminal.laid import Laid
from holdfast.terminal.plain import fitted, one_line
from holdfast.terminal.values import Todo

MOST = 6

SIGNS = {
    "pending": ("[ ]", ""),
    "in_progress": ("[>]", "bold"),
    "completed": ("[x]", "dim"),
    "cancelled": ("[-]", "dim"),
}


class Todos(Laid):
    def __init__(self) -> None:
        super().__init__(id="todos")
        self.add_class("-empty")
        self._todos: Sequence[Todo] = ()

    def show(self, todos: Sequence[Todo]) -> None:
        if todos == self._todos:
            return
        self._todos = todos
        self.set_class(all(todo.status in ("completed", "cancelled") for todo in todos), "-empty")
        self.changed()

    def content_at(self, width: int) -> Content:
        return todos_content(self._todos, width)


def todos_content(todos: Sequence[Todo], width: int) -> Content:
    kept = [todo for todo in todos if todo.status != "cancelled"]
    done = sum(todo.status == "completed" for todo in kept)
    shown = _around(todos)
    left = len(todos) - len(shown)
    head = f"todos {done}/{len(kept)}" + (f", {left} not shown" if left else "")
    lines = [Content.styled(head, "dim")]
    for todo in shown:
        sign, style = SIGNS[todo.status]
        lines.append(Content.styled(f"{sign} {fitted(one_line(todo.content), width - 4)}", style))
    return Content("\n").join(lines)


def _around(todos: Sequence[Todo]) -> Sequence[Todo]:
    """The one that is being done or comes next, with what stands round it."""
    if len(todos) <= MOST:
        return todos
    at = next((n for n, todo in enumerate(todos) if todo.status in ("in_progress", "pending")), 0)
    first = max(0, min(at - 1, len(todos) - MOST))
    return todos[first : first + MOST]
