"""The todo list as the agent last left it, from whichever todo tool it uses.

Rule: only a todo tool changes the list, and no argument of one can make the log unreadable.
"""

import re

from msgspec import Struct

from holdfast.messages import Json, ToolCall
from holdfast.tool_use import kind_of

_LISTS = ("todos", "plan", "items", "todoList", "task_list")
_TEXTS = ("content", "step", "text", "subject", "title", "description")
_DONE = {"completed", "done", "complete", "x"}
_ACTIVE = {"in_progress", "in-progress", "active", "doing"}
_DROPPED = {"cancelled", "canceled", "deleted"}
_TASK_NUMBER = re.compile(r"#(\d+)")
_CHECKBOX = re.compile(r"^[ \t]*[-*][ \t]*\[([ xX~>-])\][ \t]*(.+)$", re.MULTILINE)


class Todo(Struct, frozen=True):
    text: str
    status: str
    """`pending`, `active` or `done`."""


class Todos(Struct, frozen=True):
    """The list; `numbers` are the ids that task tools give, parallel to `items` and empty where none was given."""

    items: tuple[Todo, ...] = ()
    numbers: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        return any(t.status != "done" for t in self.items)

    @property
    def done(self) -> int:
        return sum(t.status == "done" for t in self.items)

    @property
    def line(self) -> str:
        """The list in one line: how far it is, what is being done, what is next."""
        active = next((t.text for t in self.items if t.status == "active"), "")
        following = next((t.text for t in self.items if t.status == "pending"), "")
        named = [
            f"{what}: {' '.join(text.split())[:80]}"
            for what, text in (("active", active), ("next", following))
            if text
        ]
        return "; ".join([f"Todo recap: {self.done} of {len(self.items)} done", *named])


def todos_after(todos: Todos, call: ToolCall, result: str) -> Todos:
    """The list after a call and its result; unchanged if the call is about something else."""
    name = call.name.lower()
    if name == "taskcreate":
        return _created(todos, call.arguments, result)
    if name == "taskupdate":
        return _updated(todos, call.arguments)
    if kind_of(call.name, call.arguments) != "todo":
        return todos
    rows = next((call.arguments[k] for k in _LISTS if k in call.arguments), None)
    if isinstance(rows, str):
        marks = {"x": "done", "X": "done", "~": "active", ">": "active"}
        boxes = tuple(Todo(m[2].strip(), marks.get(m[1], "pending")) for m in _CHECKBOX.finditer(rows))
        return Todos(boxes) if boxes else todos
    if not isinstance(rows, list):
        return todos
    return Todos(tuple(t for t in map(_todo, rows) if t))


def _todo(row: Json) -> Todo | None:
    if isinstance(row, str):
        return Todo(row, "pending") if row.strip() else None
    if not isinstance(row, dict):
        return None
    text = next((row[k] for k in _TEXTS if isinstance(row.get(k), str)), "")
    status = _status(row.get("status"))
    return Todo(text, status) if text.strip() and status else None


def _status(value: Json) -> str:
    """Our word for a tool's status; empty for an item that was dropped."""
    word = value.lower() if isinstance(value, str) else "pending"
    if word in _DROPPED:
        return ""
    return "done" if word in _DONE else "active" if word in _ACTIVE else "pending"


def _created(todos: Todos, arguments: dict[str, Json], result: str) -> Todos:
    subject = arguments.get("subject") or arguments.get("title")
    if not isinstance(subject, str) or not subject.strip():
        return todos
    found = _TASK_NUMBER.search(result)
    number = found[1] if found else str(len(todos.items) + 1)
    return Todos((*todos.items, Todo(subject, "pending")), (*_numbers(todos), number))


def _updated(todos: Todos, arguments: dict[str, Json]) -> Todos:
    number, numbers = _number(arguments.get("taskId", arguments.get("id"))), _numbers(todos)
    if not number or number not in numbers or "status" not in arguments:
        return todos
    at = numbers.index(number)
    status = _status(arguments["status"])
    changed = (Todo(todos.items[at].text, status),) if status else ()
    return Todos(
        (*todos.items[:at], *changed, *todos.items[at + 1 :]),
        (*numbers[:at], *(number for _ in changed), *numbers[at + 1 :]),
    )


def _numbers(todos: Todos) -> tuple[str, ...]:
    """A number for every item: those of a list that was written whole have none."""
    return (*todos.numbers, *("" for _ in todos.items[len(todos.numbers) :]))


def _number(value: Json) -> str:
    if isinstance(value, int) and 0 < value < 1_000_000_000:
        return str(value)
    return value.lstrip("#") if isinstance(value, str) else ""
