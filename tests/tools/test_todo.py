"""TodoWrite: one thing in progress, a true difference, and lists that are archived when done."""

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import ToolCall
from holdfast.tools.todo_write import TodoList, todo_write_tool
from holdfast.tools.workspace import Workspace
from holdfast.views.todos import Todos, todos_after

STATUSES = ["pending", "in_progress", "completed", "cancelled"]


@pytest.fixture
def todos():
    return TodoList()


@pytest.fixture
def write(todos, tmp_path):
    def write(*rows):
        rows = [{"content": content, "status": status} for content, status in rows]
        return asyncio.run(todo_write_tool(todos).run({"todos": rows}, Workspace([tmp_path])))

    return write


def test_the_first_list_is_added(write):
    result = write(("read the code", "in_progress"), ("fix it", "pending"), ("test it", "pending"))
    assert result.envelope.text == (
        "0 of 3 done; active: read the code; next: fix it.\nAdded: read the code; fix it; test it."
    )
    assert result.shown == "[>] read the code\n[ ] fix it\n[ ] test it"
    assert result.envelope.data["counts"] == {"pending": 2, "in_progress": 1, "completed": 0, "cancelled": 0}


def test_the_answer_says_what_changed(write):
    write(("a", "in_progress"), ("b", "pending"), ("c", "pending"), ("d", "pending"))
    result = write(("a", "completed"), ("b", "in_progress"), ("d", "cancelled"), ("e", "pending"))
    assert result.envelope.text.split("\n") == [
        "1 of 3 done; active: b; next: e.",
        "Added: e.",
        "Completed: a.",
        "Begun: b.",
        "Cancelled: d.",
        "Taken off the list unfinished: c.",
    ]
    assert write(
        *[("a", "completed"), ("b", "pending"), ("d", "cancelled"), ("e", "pending")]
    ).envelope.text == ("1 of 3 done; next: b.\nSet back to pending: b.")


def test_the_same_list_again_changed_nothing(write):
    write(("a", "pending"))
    assert write(("  a ", "pending")).envelope.text == "0 of 1 done; next: a.\nNothing changed."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", "in_progress"), ("b", "in_progress")], "2 todos are in progress: `a`, `b`"),
        ([("a", "pending"), ("a ", "completed")], "two todos say `a`"),
        ([("a", "pending"), ("  ", "pending")], "todo 2 has no text"),
        ([("a", "started")], "started"),
        ([("", "pending")], "content"),
    ],
    ids=["two in progress", "twice", "blank", "status", "empty"],
)
def test_a_wrong_list_is_refused_and_the_old_one_stays(write, todos, rows, said):
    write(("old", "in_progress"))
    result = write(*rows)
    assert result.envelope.error.code == "INVALID_PARAM"
    assert said in result.envelope.text
    assert [todo.content for todo in todos.written] == ["old"]


def test_a_finished_list_is_archived_and_the_next_one_starts_empty(write, todos):
    write(("a", "in_progress"), ("b", "pending"))
    result = write(("a", "completed"), ("b", "cancelled"))
    assert "1 of 1 done." in result.envelope.text
    assert "the list is archived" in result.envelope.text
    assert result.envelope.data["todos"] == []
    assert [todo["content"] for todo in result.envelope.data["archived"]] == ["a", "b"]
    fresh = write(("c", "pending"))
    assert fresh.envelope.text == "0 of 1 done; next: c.\nAdded: c."
    assert len(todos.archive) == 1


def test_fields_that_other_agents_give_are_passed_over(todos, tmp_path):
    rows = [{"id": "1", "content": "a", "status": "pending", "activeForm": "doing a", "priority": "high"}]
    result = asyncio.run(todo_write_tool(todos).run({"todos": rows}, Workspace([tmp_path])))
    assert not result.is_error


def test_long_and_many_todos_are_named_shortly(write):
    result = write(*[(f"{n} " + "long " * 80, "pending") for n in range(30)])
    assert len(result.envelope.text) < 1200
    assert "and 20 more" in result.envelope.text


rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(STATUSES)),
    max_size=4,
    unique_by=lambda r: r[0],
).filter(lambda rows: sum(status == "in_progress" for _, status in rows) <= 1)


@pytest.mark.slow
@given(st.lists(rows, max_size=6))
def test_restored_from_its_results_it_is_the_same_and_the_view_sees_the_same_list(tmp_path_factory, lists):
    todos, again, view = TodoList(), TodoList(), Todos()
    workspace = Workspace([tmp_path_factory.getbasetemp()])
    for written in lists:
        arguments = {"todos": [{"content": content, "status": status} for content, status in written]}
        result = asyncio.run(todo_write_tool(todos).run(arguments, workspace))
        again.restore(msgspec.json.decode(msgspec.json.encode(result.envelope.data)))
        view = todos_after(view, ToolCall("t", "TodoWrite", arguments), result.envelope.text)
        kept = [todo for todo in todos.written if todo.status != "cancelled"]
        assert [todo.text for todo in view.items] == [todo.content for todo in kept]
        assert f"{view.done} of {len(kept)} done" in result.envelope.text or not written
    assert again.written == todos.written
    assert again.archive == todos.archive
    again.restore({})
    assert again.written == todos.written
