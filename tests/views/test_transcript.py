import pytest

from holdfast.events import AssistantReplied, Rewound, SystemSet, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import Image, Text, Thinking, ToolCall
from holdfast.views import Step, Transcript, User, path
from support.logs import chained, result, step, user


def build(*events):
    return Transcript(chained(events))


def rules(transcript):
    return [r.rule for r in transcript.repairs]


def test_a_round_is_a_user_message_up_to_the_next():
    t = build(user("a"), step("1"), step("2"), user("b"), step("3"))
    assert [i.round for i in t.items] == [0, 0, 0, 1, 1]
    assert t.rounds == [0, 3]


def test_two_user_messages_in_a_row_share_a_round():
    t = build(user("a"), user("b"), step("1"))
    assert t.rounds == [0]
    assert len(t.items) == 3


def test_fault_13_a_reminder_is_no_user_round():
    t = build(user("a"), step("1"), user("<system-reminder>x</system-reminder>", "reminder"), step("2"))
    assert t.rounds == [0]
    assert [type(i) for i in t.items] == [User, Step, User, Step]


def test_a_step_holds_its_results_in_the_order_of_its_calls():
    t = build(user("a"), step("", ("x", "Read", {}), ("y", "Grep", {})), result("y", "2"), result("x", "1"))
    assert [m.text for m in t.steps[0].answers()] == ["1", "2"]
    assert t.has_all_results


@pytest.mark.parametrize(
    ("data", "known"),
    [
        ({"stderr": [[2, 3], [7, 7]]}, {"x": ((2, 3), (7, 7))}),
        ({"stderr": []}, {"x": ()}),
        ({}, {}),
        ({"stderr": "boom"}, {}),
        ({"stderr": [[1]]}, {}),
    ],
)
def test_a_step_has_the_stderr_lines_of_its_results_where_they_are_known(data, known):
    returned = ToolReturned("x", "Bash", (Text("1"),), data=data)
    assert build(user("a"), step("", ("x", "Bash", {})), returned).steps[0].stderr == known


def test_an_unanswered_call_gets_a_marked_answer_once_the_agent_goes_on():
    t = build(user("a"), step("", ("x", "Read", {})), step("next"))
    (answer,) = t.steps[0].answers()
    assert answer.error
    assert "no result was recorded" in answer.text
    assert rules(t) == ["unanswered-call"]


def test_a_call_still_running_leaves_the_transcript_unsettled():
    t = build(user("a"), step("", ("x", "Read", {})))
    assert not t.has_all_results
    assert rules(t) == []


def test_an_orphan_result_is_named_and_not_shown():
    t = build(user("a"), result("ghost", "boo"), step("1"))
    assert [type(i) for i in t.items] == [User, Step]
    assert [r.rule for r in t.unplaced.values()] == ["orphan-result"]


def test_the_id_of_an_orphan_is_of_its_text_or_else_its_entry_serves():
    picture, empty = Image("image/png", "abc"), ToolReturned("g", "Read", ())
    events = [
        result("g", "boo"),
        ToolReturned("g", "Read", (Text("a"), Text("b"))),
        empty,
        ToolReturned("g", "Read", (Text(""),)),
        ToolReturned("g", "Read", (picture,)),
        ToolReturned("g", "Read", (Text("beside a picture"), picture)),
    ]
    ids = [r.id for r in build(user("a"), *events).unplaced.values()]
    assert ids == [text_id("boo"), text_id("a\nb"), "", "", "", ""]


def test_a_result_before_its_call_waits_for_it():
    t = build(user("a"), result("x", "early"), step("", ("x", "Read", {})))
    assert t.steps[0].answers()[0].text == "early"
    assert not t.unplaced
    assert rules(t) == ["early-result"]


def test_a_second_result_for_one_call_is_an_orphan_even_if_the_id_comes_again():
    t = build(
        user("a"),
        step("", ("x", "Read", {})),
        result("x", "1"),
        result("x", "again"),
        step("", ("x", "Read", {})),
    )
    assert len(t.unplaced) == 1
    assert not t.has_all_results


def test_duplicate_ids_become_unique_and_each_keeps_its_result():
    t = build(
        user("a"),
        step("", ("x", "Read", {}), ("x", "Read", {})),
        result("x", "1"),
        result("x", "2"),
        step("", ("x", "Read", {})),
        result("x", "3"),
    )
    ids = [c for s in t.steps for c in s.calls]
    assert len(set(ids)) == 3
    assert [m.text for s in t.steps for m in s.answers()] == ["1", "2", "3"]


def test_a_user_message_between_call_and_result_stands_behind_the_result():
    t = build(user("a"), step("", ("x", "Read", {})), user("hurry"), result("x", "1"), step("2"))
    assert [type(i) for i in t.items] == [User, Step, User, Step]
    assert t.steps[0].answers()[0].text == "1"
    assert t.rounds == [0, 2]


def test_empty_messages_are_left_out_and_said():
    t = build(user("  "), AssistantReplied((Thinking("hm"),)), user("a"), step("1"))
    assert len(t.items) == 2
    assert rules(t) == ["empty-user", "empty-assistant"]


def test_an_empty_assistant_message_is_brought_back_by_its_entry():
    entries = chained([user("a"), AssistantReplied((Thinking("one"), Thinking("two")))])
    (repair,) = Transcript(entries).repairs
    assert (repair.rule, repair.entry, repair.id) == ("empty-assistant", entries[1].id, "")


def test_a_user_message_says_who_said_it():
    t = build(user("a"), user("b", "agent"), user("c", "reminder"))
    assert [i.origin for i in t.items] == ["person", "agent", "reminder"]


def test_what_is_said_while_tools_run_can_be_seen_before_they_answer():
    picture = UserSaid((Text(" "), Text("look"), Image("image/png", "abc")))
    said = [user("note", "reminder"), user("STOP"), user("  "), picture]
    entries = chained([user("a"), step("", ("x", "Read", {})), *said, result("x", "1"), step("2")])
    t = Transcript()
    assert t.waiting_users == ()
    for entry in entries[:6]:
        t.add(entry)
    waiting = t.waiting_users
    assert [(r.rule, r.entry) for r in t.repairs] == [("empty-user", entries[4].id)]
    assert [type(i) for i in t.items] == [User, Step]
    assert [(u.position, u.entry) for u in waiting] == [(-1, entries[i].id) for i in (2, 3, 5)]
    assert [u.origin for u in waiting] == ["reminder", "person", "person"]
    t.add(entries[6])
    assert t.waiting_users == ()
    placed = t.items[2:5]
    assert [(u.round, u.entry, u.message, u.opens_round, u.origin) for u in waiting] == [
        (u.round, u.entry, u.message, u.opens_round, u.origin) for u in placed
    ]


def test_names_and_arguments_become_legal_for_every_provider():
    reply = AssistantReplied((ToolCall("a b", "mcp:x.y", {}, raw="{oops"),))
    t = build(user("a"), reply)
    (call,) = t.steps[0].calls.values()
    assert (call.id, call.name, call.arguments) == ("a_b", "mcp_x_y", {"raw": "{oops"})
    assert rules(t) == ["call-name", "invalid-arguments"]


@pytest.mark.slow
def test_ten_thousand_parallel_calls_are_paired():
    calls = [("same", "Read", {"n": i}) for i in range(10_000)]
    results = [result("same", str(i)) for i in range(10_000)]
    t = build(user("a"), step("", *calls), *results)
    assert t.has_all_results
    assert [m.text for m in t.steps[0].answers()][::2500] == ["0", "2500", "5000", "7500"]


def test_todos_follow_every_agents_todo_tool():
    todos = [{"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"}]
    t = build(user("a"), step("", ("1", "TodoWrite", {"todos": todos})), result("1", "ok"))
    assert [x.status for x in t.todos.items] == ["done", "active"]
    plan = [{"step": "p", "status": "pending"}]
    t = build(user("a"), step("", ("1", "update_plan", {"plan": plan})), result("1", "ok"))
    assert [x.text for x in t.todos.items] == ["p"]
    t = build(
        user("a"),
        step("", ("1", "TaskCreate", {"subject": "s"})),
        result("1", "Task #7 created"),
        step("", ("2", "TaskUpdate", {"taskId": "7", "status": "completed"})),
        result("2", "ok"),
    )
    assert [(x.text, x.status) for x in t.todos.items] == [("s", "done")]


def test_a_failed_todo_call_changes_no_todo():
    t = build(
        user("a"),
        step("", ("1", "TodoWrite", {"todos": ["one"]})),
        result("1", "error", error=True),
    )
    assert not t.todos.items


def test_the_newest_system_prompt_stands():
    assert build(SystemSet("a"), SystemSet("b")).system == "b"


def test_a_rewind_leaves_what_came_after_off_the_path():
    entries = chained([user("a"), step("1"), user("b"), step("2")])
    back = chained([Rewound("undo")], "other")[0]
    rewound = type(back)(back.id, "test", 5, entries[1].id, back.event)
    followed = type(back)("efollow", "test", 6, rewound.id, user("c"))
    t = Transcript(path([*entries, rewound, followed]))
    assert [i.message.parts[0].text for i in t.items] == ["a", "1", "c"]


def test_side_chains_do_not_leak_into_the_main_path():
    entries = chained([user("a"), step("1")])
    side = type(entries[0])("eside", "test", 3, entries[1].id, user("sub"), chain="agent")
    assert path([*entries, side]) == entries
    assert path([*entries, side], chain="agent") == [side]


def test_images_and_thinking_survive():
    reply = AssistantReplied((Thinking("t", "sig"), Text("x")))
    t = build(UserSaid((Text("a"),)), reply, ToolReturned("q", "Read", ()))
    assert t.steps[0].message.parts == reply.parts
