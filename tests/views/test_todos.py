"""The todo list: what changes it, and what must not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.messages import ToolCall
from holdfast.views.todos import Todo, Todos, todos_after

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
STATUS = st.sampled_from(["pending", "completed", "in_progress", "cancelled", "x"]) | JSON
ROWS = st.lists(st.fixed_dictionaries({"content": st.text(max_size=8) | JSON, "status": STATUS}), max_size=4)
ARGUMENTS = st.one_of(
    st.fixed_dictionaries({"todos": ROWS | st.text(alphabet="-*[ ]x\n~a", max_size=40) | JSON}),
    st.fixed_dictionaries({"subject": st.text(max_size=8) | JSON}),
    st.fixed_dictionaries(
        {"taskId": st.integers(0, 5) | st.sampled_from(["", "1", "#2"]) | JSON, "status": STATUS}
    ),
    st.dictionaries(st.sampled_from(["plan", "items", "id", "title", "status"]), JSON, max_size=4),
)
NAMES = st.sampled_from(
    ["TodoWrite", "update_plan", "todoread", "TaskCreate", "TaskUpdate", "Read", "create_order"]
)


def after(*calls, todos=None):
    """The list after calls, given as (name, arguments) or (name, arguments, result)."""
    todos = todos or Todos()
    for name, arguments, *result in calls:
        todos = todos_after(todos, ToolCall("c", name, arguments), result[0] if result else "ok")
    return todos


def shown(todos):
    return [(t.text, t.status) for t in todos.items]


def test_a_task_list_may_go_on_where_a_written_list_stopped():
    """The log of such an agent could never be opened again."""
    todos = after(
        ("TodoWrite", {"todos": [{"content": "old", "status": "pending"}]}),
        ("TaskCreate", {"subject": "new"}, "Task #1 created"),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}),
    )
    assert shown(todos) == [("old", "pending"), ("new", "done")]


def test_items_without_a_number_are_not_updated_by_an_empty_one():
    before = after(("TodoWrite", {"todos": ["a"]}), ("TaskCreate", {"subject": "b"}, "#4"))
    for number in ("", "#", None, 0, True, 10**5000):
        assert after(("TaskUpdate", {"taskId": number, "status": "done"}), todos=before) == before


def test_a_task_is_updated_by_a_number_in_any_spelling_and_deleted():
    before = after(("TaskCreate", {"subject": "a"}, "#7"), ("TaskCreate", {"subject": "b"}, "#8"))
    for number in ("7", "#7", 7):
        assert shown(after(("TaskUpdate", {"taskId": number, "status": "in_progress"}), todos=before)) == [
            ("a", "active"),
            ("b", "pending"),
        ]
    left = after(("TaskUpdate", {"id": "7", "status": "deleted"}), todos=before)
    assert left == Todos((Todo("b", "pending"),), ("8",))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("create_order", {"items": ["two chairs", "a table"]}),
        ("ExitPlanMode", {"plan": "# The plan\nFirst this, then that."}),
        ("mcp__shop__update", {"todos": [{"content": "x"}]}),
        ("todoread", {}),
    ],
)
def test_what_is_no_todo_tool_changes_no_todo(name, arguments):
    before = after(("TodoWrite", {"todos": ["a"]}))
    assert after((name, arguments), todos=before) == before
    assert after((name, arguments)) == Todos()


def test_a_list_with_check_boxes_is_read():
    text = "# Plan\n- [x] one\n  * [ ] two\n- [~] three\nno item"
    assert shown(after(("update_todo", {"todos": text}))) == [
        ("one", "done"),
        ("two", "pending"),
        ("three", "active"),
    ]


def test_a_hundred_thousand_blank_lines_take_no_quadratic_time():
    text = "\n" * 100_000 + "no item\n- [ ] end"
    assert shown(after(("update_todo", {"todos": text}))) == [("end", "pending")]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(NAMES, ARGUMENTS, st.sampled_from(["ok", "Task #2 created", "#٣"])), max_size=6))
def test_no_arguments_of_any_tool_raise(calls):
    todos = after(*calls)
    assert len(todos.numbers) in (0, len(todos.items))
    assert {t.status for t in todos.items} <= {"pending", "active", "done"}
    assert all(t.text.strip() for t in todos.items)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_todos", {"todos": [{"description": "Fix it", "status": "in_progress"}]}),
        ("todowrite", {"todos": [{"content": "Fix it", "status": "in_progress", "id": "1"}]}),
        (
            "manage_todo_list",
            {"operation": "write", "todoList": [{"title": "Fix it", "status": "in-progress"}]},
        ),
        ("task_tracker", {"command": "plan", "task_list": [{"title": "Fix it", "status": "in_progress"}]}),
    ],
)
def test_todo_lists_of_other_agents(name, arguments):
    assert after((name, arguments)).items == (Todo("Fix it", "active"),)
