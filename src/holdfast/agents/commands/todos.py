"""`/todos`: the list of what is to be done, as the agent last wrote it.

Rule: it shows and changes nothing.
"""

from collections.abc import Sequence

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown
from holdfast.agents.commands.writing import bullets, cell, counted, joined
from holdfast.tools.around.todo_write import Todo

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


async def _run(desk: Desk, _argument: str) -> Shown:
    todos = desk.bench.todos
    finished = [done for done in todos.archive if done != todos.written]
    earlier = counted(len(finished), "list was", "lists were")
    return Shown(
        joined(
            _listed(todos.written) if todos.written else "There are no todos.",
            f"{earlier} finished before." if finished else "",
        )
    )


def _listed(todos: Sequence[Todo]) -> str:
    done = sum(todo.is_closed for todo in todos)
    head = f"**Todos**, {done} of {len(todos)} done"
    return joined(head, bullets(f"{_MARKS[todo.status]} {cell(todo.content)}" for todo in todos))


TODOS = Command("todos", "/todos", "the todo list", _run)
