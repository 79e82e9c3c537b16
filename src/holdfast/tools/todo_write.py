"""TodoWrite: the list of tasks, written as a whole each time.

Rule: at most one todo is in progress, and the answer says what really changed since the last list. A list with
nothing left to do is archived. The recap at the end of a request is made from the log, not here.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]

MOST_NAMED = 10
"""Todos that one line of the answer names."""

_MARKS: dict[TodoStatus, str] = {
    "pending": "[ ]",
    "in_progress": "[>]",
    "completed": "[x]",
    "cancelled": "[-]",
}


class TodoItem(Struct, frozen=True):
    """Other fields are ignored: the lists of several agents have an id, a priority or another form of the text."""

    content: Annotated[
        str, Meta(min_length=1, max_length=500, description="What is to be done, in one line.")
    ]
    status: TodoStatus = "pending"

    @property
    def is_closed(self) -> bool:
        return self.status in ("completed", "cancelled")


class TodoWriteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    todos: Annotated[
        list[TodoItem], Meta(max_length=100, description="The whole list, in the order of the work.")
    ]


class TodoList:
    """The list as it was last written, and the lists that were finished before."""

    def __init__(self) -> None:
        self.written: tuple[TodoItem, ...] = ()
        self.archive: list[tuple[TodoItem, ...]] = []

    @property
    def is_finished(self) -> bool:
        return bool(self.written) and all(todo.is_closed for todo in self.written)

    def write(self, todos: Sequence[TodoItem]) -> None:
        was, self.written = self.written if self.is_finished else (), tuple(todos)
        if self.is_finished and self.written != was:
            self.archive.append(self.written)

    def restore(self, data: Mapping[str, Json]) -> None:
        """Take over the `data` of an earlier result. In order, they give the same list and archive."""
        if "todos" in data:
            self.write(msgspec.convert(data.get("archived") or data["todos"], list[TodoItem]))


def todo_write_tool(todos: TodoList) -> Tool:
    return TypedTool("TodoWrite", TodoWriteArguments, prompt_beside(__file__), partial(write, todos=todos))


async def write(arguments: TodoWriteArguments, _workspace: Workspace, *, todos: TodoList) -> ToolResult:
    written = [TodoItem(" ".join(todo.content.split()), todo.status) for todo in arguments.todos]
    _expect_order(written)
    changes = _changes(todos.written, written, was_finished=todos.is_finished)
    todos.write(written)
    finished = written if todos.is_finished else []
    lines = [_recap(written), *changes]
    if finished:
        lines.append("Nothing is left to do: the list is archived, and the next TodoWrite begins a new one.")
    data: dict[str, Json] = {
        "todos": [] if finished else msgspec.to_builtins(written),
        "archived": msgspec.to_builtins(finished),
        "counts": {status: sum(todo.status == status for todo in written) for status in _MARKS},
    }
    shown = "\n".join(f"{_MARKS[todo.status]} {todo.content}" for todo in written) or "no todos"
    return tool_result("\n".join(lines), shown, data=data)


def _expect_order(todos: Sequence[TodoItem]) -> None:
    blank = next((number for number, todo in enumerate(todos, start=1) if not todo.content), 0)
    if blank:
        raise ToolError("INVALID_PARAM", f"todo {blank} has no text")
    active = [todo.content for todo in todos if todo.status == "in_progress"]
    if len(active) > 1:
        named = ", ".join(f"`{content[:60]}`" for content in active)
        raise ToolError(
            "INVALID_PARAM",
            f"{len(active)} todos are in progress: {named}",
            hint="At most one may be: set the others to `pending`, or to `completed` if they are done",
        )
    contents = [todo.content for todo in todos]
    twice = next((content for content in contents if contents.count(content) > 1), "")
    if twice:
        raise ToolError("INVALID_PARAM", f"two todos say `{twice[:60]}`", hint="Word each todo differently")


def _recap(todos: Sequence[TodoItem]) -> str:
    """How much is done, what is in progress and what comes next."""
    if not todos:
        return "The list is empty."
    kept = [todo for todo in todos if todo.status != "cancelled"]
    done = sum(todo.status == "completed" for todo in kept)
    active = next((todo.content for todo in kept if todo.status == "in_progress"), "")
    following = next((todo.content for todo in kept if todo.status == "pending"), "")
    named = [f"{what}: {_named([text])}" for what, text in (("active", active), ("next", following)) if text]
    return "; ".join([f"{done} of {len(kept)} done", *named]) + "."


def _changes(before: Sequence[TodoItem], after: Sequence[TodoItem], *, was_finished: bool) -> list[str]:
    """What changed, as lines. Todos of an archived list that are gone were not removed."""
    old = {todo.content: todo.status for todo in before}
    new = {todo.content: todo.status for todo in after}
    changed = [(content, status) for content, status in new.items() if old.get(content, status) != status]
    gone = [todo for todo in before if todo.content not in new]
    groups = {
        "Added": [content for content in new if content not in old],
        "Completed": [content for content, status in changed if status == "completed"],
        "Begun": [content for content, status in changed if status == "in_progress"],
        "Set back to pending": [content for content, status in changed if status == "pending"],
        "Cancelled": [content for content, status in changed if status == "cancelled"],
        "Taken off the list unfinished": [todo.content for todo in gone if not todo.is_closed],
        "Taken off the list": [todo.content for todo in gone if todo.is_closed and not was_finished],
    }
    lines = [f"{what}: {_named(contents)}." for what, contents in groups.items() if contents]
    return lines or ["Nothing changed."]


def _named(contents: list[str]) -> str:
    """Todos by their text. The call right above has them in full, so long ones are cut and only the first are
    listed."""
    named = [content if len(content) <= 80 else content[:77] + "..." for content in contents[:MOST_NAMED]]
    more = len(contents) - len(named)
    return "; ".join([*named, f"and {more} more"] if more else named)
