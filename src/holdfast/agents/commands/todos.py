"""`/todos`: the agent's todo list.

Rule: it shows and changes nothing.
"""

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import bullets, cell, joined
from holdfast.agents.outcomes import CommandAnswer
from holdfast.numbers import counted

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


async def _run(coding: CodingSession, _argument: str) -> CommandAnswer:
    todos = coding.tool_state.todos
    finished = [done for done in todos.archive if done != todos.written]
    done = sum(todo.is_closed for todo in todos.written)
    head = f"**Todos**, {done} of {len(todos.written)} done"
    earlier = counted(len(finished), "list was", "lists were")
    return CommandAnswer(
        joined(
            head if todos.written else "There are no todos.",
            bullets(f"{_MARKS[todo.status]} {cell(todo.content)}" for todo in todos.written),
            f"{earlier} finished before." if finished else "",
        )
    )


TODOS = SlashCommand("todos", "/todos", "the todo list", _run)
