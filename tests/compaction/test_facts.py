"""The rule half: requests, directives, decisions, todos, keys, and the range they are drawn from."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compaction.facts.calls import KnownCalls
from holdfast.compaction.facts.extract import extract_facts
from holdfast.events import ApprovalGiven, UserSaid
from holdfast.ids import text_id
from holdfast.messages import Image, Text
from holdfast.views.transcript import Transcript
from support.logs import PIXEL, AgentWork, chained, result, step, user

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def facts(*events, first=0, end=None):
    return extract_facts(Transcript(chained(events)), first, end)


def texts(found):
    return [fact.text for fact in found]


def ran(id_, command, text, **how):
    return [step("", (id_, "Bash", {"command": command})), result(id_, text, "Bash", **how)]


@given(st.integers(0, 10**6), st.lists(st.integers(0, 60), min_size=1, max_size=6))
def test_facts_with_known_calls_are_those_without(seed, lengths):
    """Whichever beginning of a log is asked for first, also where a step still waits for results."""
    entries = chained(AgentWork(seed, steps=14).events)
    transcript, views = Transcript(), [Transcript().view()]
    for entry in entries:
        transcript.add(entry)
        views.append(transcript.view())
    known = KnownCalls()
    for length in lengths:
        view = views[min(length, len(views) - 1)]
        assert extract_facts(view, known=known) == extract_facts(view)


def test_a_background_command_is_known_from_a_step_that_was_read_before():
    started = "Command running in background with ID: b1. Output is being written to: /tmp/out"
    work = [*ran("r1", "make test", started), step("", ("r2", "BashOutput", {"bash_id": "b1"}))]
    entries = chained([user("go"), *work, result("r2", "Exit code 2\nmake: *** Error 2", "BashOutput")])
    transcript, known = Transcript(entries[:3]), KnownCalls()
    extract_facts(transcript.view(), known=known)
    for entry in entries[3:]:
        transcript.add(entry)
    found = extract_facts(transcript.view(), known=known)
    assert "make test" in found.errors[0].text


def test_goal_and_latest_request_are_quoted_with_their_entries():
    entries = chained(
        [user("Build a parser."), step("ok"), user("Now tests."), step("ok"), user("And docs.")]
    )
    found = extract_facts(Transcript(entries))
    assert (found.goal.text, found.goal.sources) == ("Build a parser.", (entries[0].id,))
    assert (found.latest.text, found.latest.sources) == ("And docs.", (entries[4].id,))


def test_one_request_is_the_goal_and_there_is_no_latest():
    found = facts(user("Build a parser."), step("done"))
    assert found.goal.text == "Build a parser."
    assert found.latest is None


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user for tool use]",
        "This session is being continued from a previous conversation that ran out of context.",
        "Operation stopped by hook: Another session is active",
        "Base directory for this skill: /x/skills/review\n\n# Review\nNever skip it.",
        "<task-notification>done</task-notification>\nRead the output file to retrieve the result: /tmp/x.output",
        "<local-command-stdout>ok</local-command-stdout>",
        "/model",
    ],
    ids=lambda text: text[:20],
)
def test_a_programs_words_are_no_request(text):
    assert facts(user("Build it."), step("ok"), user(text)).latest is None


def test_a_reminder_is_no_request_and_demands_nothing():
    found = facts(user("Build it."), step("ok"), user("Never forget the todo list.", "reminder"))
    assert found.latest is None
    assert found.directives == ()


def test_another_agents_request_counts():
    assert facts(user("Build it."), step("ok"), user("Review it.", "agent")).latest.text == "Review it."


def test_a_command_is_its_name_and_what_was_said_behind_it():
    text = (
        "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n"
        "<command-args>the parser first</command-args>"
    )
    assert facts(user(text)).goal.text == "/plan the parser first"


def test_of_a_long_paste_the_first_lines_stay_and_the_id_of_the_whole():
    text = "Please fix this:\n" + "\n".join(f"line {i} of a long paste" for i in range(300))
    goal = facts(user(text)).goal.text
    assert goal.startswith("Please fix this:\nline 0 of a long paste")
    assert text_id(text) in goal
    assert len(goal) < 900


def test_a_picture_is_no_text_and_breaks_nothing():
    found = facts(UserSaid((Text("Look."), Image("image/png", PIXEL))), step("ok"))
    assert found.goal.text == "Look."


def test_directives_are_verbatim_once_and_name_all_their_entries():
    entries = chained(
        [
            user("Fix it. Never touch api.py."),
            step("ok"),
            user("Again: fix it.\nNever touch api.py.\n不要改 CHANGELOG。"),
        ]
    )
    found = extract_facts(Transcript(entries)).directives
    assert texts(found) == ["Never touch api.py.", "不要改 CHANGELOG。"]
    assert found[0].sources == (entries[0].id, entries[2].id)


def test_what_a_user_says_when_refusing_a_call_is_said_by_the_user():
    said = f"{REFUSED} To tell you how to proceed, the user said:\nnever push to main"
    found = facts(user("Ship it."), *ran("c1", "git push", said))
    assert found.latest.text == "never push to main"
    assert texts(found.directives) == ["never push to main"]
    assert texts(found.decisions) == ["user refused `Bash git push`: never push to main"]
    assert found.commands == found.errors == ()


def test_a_refusal_that_asks_back_decides_nothing():
    said = f"{REFUSED} To tell you how to proceed, the user said:\nwhat does lint say?"
    assert facts(user("Ship it."), *ran("c1", "git push", said)).decisions == ()


def test_decisions_are_the_users_sentences_that_decide():
    found = facts(
        user("Which store?"),
        step("I could use files. I'll go with SQLite. Shall I use WAL?"),
        user("yes, let's go with WAL. It is fine. should we decide later?"),
        step("I'll use the Read tool to look. I'll keep rows instead of documents."),
    )
    assert texts(found.decisions) == ["user: yes, let's go with WAL."]


def test_answers_plans_and_approvals_are_decisions():
    ask = ("c1", "AskUserQuestion", {"questions": [{"question": "Which?"}]})
    plan = ("c2", "ExitPlanMode", {"plan": "# Plan"})
    found = facts(
        user("Go."),
        step("", ask),
        result(
            "c1", 'User has answered your questions: "Which?"="B". You can now continue', "AskUserQuestion"
        ),
        step("", plan),
        result(
            "c2", "User has approved your plan.\nYour plan has been saved to: /p/plans/x.md\n", "ExitPlanMode"
        ),
        step("", ("c3", "Bash", {"command": "rm -rf x"})),
        ApprovalGiven("c3", "deny", reason="not there"),
        result("c3", "denied", "Bash", error=True),
        step("", ("c4", "Bash", {"command": "make"})),
        ApprovalGiven("c4", "pattern", rule="make *"),
        result("c4", "ok", "Bash"),
        step("", ("c5", "Bash", {"command": "ls"})),
        ApprovalGiven("c5", "once"),
        result("c5", "ok", "Bash"),
    )
    assert texts(found.decisions) == [
        'user answered: "Which?"="B"',
        "user approved the plan in /p/plans/x.md",
        "denied `Bash rm -rf x`: not there",
        "allowed from now on `Bash make` (make *)",
    ]
    assert "/p/plans/x.md (output of ExitPlanMode # Plan)" in texts(found.keys)


def test_open_todos_say_how_far_they_are():
    todos = [
        {"content": "read", "status": "completed"},
        {"content": "write", "status": "in_progress"},
        {"content": "test", "status": "pending"},
    ]
    entries = chained(
        [user("Go."), step("", ("c1", "TodoWrite", {"todos": todos})), result("c1", "ok", "TodoWrite")]
    )
    found = extract_facts(Transcript(entries)).todos
    assert texts(found) == ["in progress: write", "pending: test"]
    assert {fact.sources for fact in found} == {(entries[1].id,)}


def test_keys_lead_to_plans_reports_and_saved_output():
    report = "a finding\n" * 500
    found = facts(
        user("Go on.\nRead the full transcript at: /home/me/.sessions/1.jsonl"),
        step("", ("c1", "Task", {"description": "Explore the parser"})),
        result("c1", report, "Task"),
        *ran(
            "c2", "make check", "Output too large (86KB). Full output saved to: /tmp/out/check.txt\n\nPreview"
        ),
        step("", ("c3", "Write", {"file_path": "docs/plans/next.md", "content": "x"})),
        result("c3", "File created successfully at: docs/plans/next.md", "Write"),
    )
    assert texts(found.keys) == [
        "/home/me/.sessions/1.jsonl (named by the user)",
        f"{text_id(report)} (5k characters: Task Explore the parser)",
        "/tmp/out/check.txt (output of Bash make check)",
        "docs/plans/next.md (written by the agent)",
    ]


def test_the_last_thing_said_is_where_the_agent_left_off():
    found = facts(
        user("Go."), step("First."), step("", ("c1", "Bash", {"command": "ls"})), result("c1", "x", "Bash")
    )
    assert found.last_said.text == "First."
    assert facts(user("Go.")).last_said is None


def test_a_range_has_its_own_requests_and_commands_but_the_files_of_all_before():
    events = [
        user("One. Never use eval."),
        step("", ("c1", "Write", {"file_path": "a.py", "content": "x"})),
        result("c1", "File created successfully at: a.py", "Write"),
        *ran("c2", "make a", "Exit code 2\nerror: a is broken"),
        user("Two. Always log."),
        *ran("c3", "make b", "fine"),
        user("Three."),
        step("bye"),
    ]
    found = facts(*events, first=3, end=5)
    assert found.goal.text == "Two. Always log."
    assert texts(found.directives) == ["Always log."]
    assert [command.command for command in found.commands] == ["make b"]
    assert [(file.path, file.action) for file in found.files] == [("a.py", "created")]
    assert texts(found.errors) == ["`make a` (exit code 2): error: a is broken"]
    assert found.last_said is None


def test_an_empty_transcript_has_no_facts():
    found = facts()
    assert found == type(found)()


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_every_fact_comes_from_the_log_and_from_no_later_entry(seed):
    entries = chained(AgentWork(seed).events)
    whole = Transcript(entries)
    ids = {entry.id for entry in entries}
    found = extract_facts(whole)
    lists = (found.directives, found.files, found.commands, found.errors, found.attempts, found.decisions)
    for fact in (*(f for facts in lists for f in facts), *found.todos, *found.keys):
        assert fact.sources
        assert set(fact.sources) <= ids
    said = " ".join(
        "\n".join(part.text for part in item.message.parts if isinstance(part, Text)) for item in whole.items
    )
    for fact in found.directives:
        assert fact.text in " ".join(said.split())
    prefix = Transcript(entries[: random.Random(seed).randrange(len(entries))])
    if prefix.has_all_results:
        assert extract_facts(whole, 0, len(prefix.items)) == extract_facts(prefix)
