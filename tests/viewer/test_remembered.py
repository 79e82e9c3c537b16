"""What the engine knows at a request: from the log up to there, with its entries and where they are now."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.events import ApprovalGiven, Compacted, Folded, FoldedRun, FoldNote, LogStarted, SummaryLine
from holdfast.packing.profile import CODE
from holdfast.viewer.remembered import MOST_ROWS, remembered_at
from support.logs import AgentWork, chained, result, step, user
from viewer.test_history import BASES, SEEDS, history


def todo(call_id, *states):
    names = ("write the parser", "test it")
    rows = [{"content": name, "status": state} for name, state in zip(names, states, strict=True)]
    return step("", (call_id, "TodoWrite", {"todos": rows}))


WORK = [
    LogStarted(origin="live"),
    user("Make the parser faster. Never touch api.py.\nPlease do it today."),
    step("", ("c1", "Read", {"file_path": "src/parser.py"})),
    result("c1", "def parse(): ..."),
    todo("c2", "in_progress", "pending"),
    result("c2", "ok", "TodoWrite"),
    step("", ("c3", "Edit", {"file_path": "src/parser.py", "old_string": "...", "new_string": "pass"})),
    result("c3", "edited", "Edit"),
    step("", ("c4", "Bash", {"command": "pytest tests/test_parser.py"})),
    result("c4", "Exit code 1\nFAILED tests/test_parser.py::test_speed\n1 failed in 0.1s", "Bash"),
    step("", ("c5", "Edit", {"file_path": "src/parser.py", "old_string": "pass", "new_string": "return 1"})),
    result("c5", "edited", "Edit"),
    step("", ("c6", "Bash", {"command": "pytest tests/test_parser.py"})),
    result("c6", "Exit code 0\n1 passed in 0.1s", "Bash"),
    todo("c7", "completed", "in_progress"),
    result("c7", "ok", "TodoWrite"),
    user("Let's go with option two. You can touch api.py now."),
    step("done"),
]
"""Each step is a request; request N sees what was there before step N."""


def known(events, number, basis="list"):
    found = remembered_at(history(chained(events), basis), number)
    return {group["name"]: group for group in found["groups"]}


def texts(group):
    return [row["text"] for row in group["rows"]]


def test_a_directive_is_known_from_the_request_on_that_it_came_with_and_until_it_is_taken_back():
    assert texts(known(WORK, 1)["directives"]) == ["Never touch api.py."]
    [row] = known(WORK, 7)["directives"]["rows"]
    assert (row["about"], row["where"], row["step"]) == ("", "in the window in full", 0)
    [source] = row["sources"]
    assert source["label"] == "user message"
    assert source["entry"] == row["entry"] == chained(WORK)[1].id
    later = known(WORK, 8)["directives"]["rows"]
    assert [(row["text"], row["about"]) for row in later] == [("Never touch api.py.", "taken back")]


def test_an_error_is_open_until_the_same_work_goes_well():
    errors = [known(WORK, number)["errors"] for number in range(1, 9)]
    assert [group["total"] for group in errors] == [0, 0, 0, 0, 1, 1, 0, 0]
    [row] = errors[4]["rows"]
    assert "pytest tests/test_parser.py" in row["text"]
    assert "exit code 1" in row["text"]
    assert (row["step"], row["sources"][0]["label"]) == (4, "step 4, result of Bash")


def test_files_say_what_was_done_and_when_last():
    rows = {number: known(WORK, number)["files"]["rows"] for number in (1, 2, 4, 6)}
    shown = {
        number: [(row["text"], row["about"], row["step"]) for row in found] for number, found in rows.items()
    }
    assert shown[1] == []
    assert shown[2] == [("src/parser.py", "read", 1)]
    assert shown[4] == [("src/parser.py", "modified", 3)]
    assert shown[6] == [("src/parser.py", "modified", 5)]
    assert [source["label"] for source in rows[6][0]["sources"]] == ["step 3", "step 5"]
    assert rows[6][0]["entry"] == rows[6][0]["sources"][1]["entry"], "of equal sources the newest"


def test_commands_have_their_exit_codes_the_newest_first():
    group = known(WORK, 8)["commands"]
    assert [(row["about"], row["step"]) for row in group["rows"]] == [("exit code 0", 6), ("exit code 1", 4)]
    assert group["rows"][1]["detail"] == "1 failed in 0.1s"
    assert group["more"] == "the last test run passed"
    assert known(WORK, 5)["commands"]["more"] == "the last test run failed"
    assert [source["label"] for source in group["rows"][0]["sources"]] == ["step 6", "step 6, result of Bash"]


def test_todos_are_those_of_the_list_as_it_was():
    assert known(WORK, 2)["todos"]["total"] == 0
    before, after = known(WORK, 3)["todos"], known(WORK, 8)["todos"]
    assert [(row["about"], row["text"]) for row in before["rows"]] == [
        ("in progress", "write the parser"),
        ("pending", "test it"),
    ]
    assert [(row["about"], row["text"]) for row in after["rows"]] == [("in progress", "test it")]
    assert (before["more"], after["more"]) == ("0 of 2 done", "1 of 2 done")


def test_decisions_come_from_people():
    assert known(WORK, 7)["decisions"]["total"] == 0
    [row] = known(WORK, 8)["decisions"]["rows"]
    assert (row["text"], row["words"]) == ("user: Let's go with option two.", "Let's go with option two.")
    denied = [*WORK[:3], ApprovalGiven("c1", "deny", reason="not that file"), *WORK[3:]]
    [row] = known(denied, 2)["decisions"]["rows"]
    assert "not that file" in row["text"]
    assert (row["presence"], row["sources"][0]["where"]) == ("gone", "in the log alone")


def folded(note, *, users=False):
    """The work up to its last step, with all that came before the first test run replaced by a note."""
    ids = [entry.id for entry in chained(WORK)]
    first = ids[1] if users else ids[2]
    fold = Folded(
        "pressure", (FoldedRun(ids[2], ids[6], "gone"),), (FoldNote(first, ids[6], note, "", users),)
    )
    return [*WORK[:-1], fold, WORK[-1]]


def test_what_a_note_replaced_says_so_and_whether_the_words_are_there():
    found = known(folded("[note] Never touch\n api.py.", users=True), 8, "pack")
    [row] = found["directives"]["rows"]
    assert (row["presence"], row["where"]) == ("note", "in the note of steps 1 to 3, word for word")
    assert row["sources"][0]["where"] == "in the note of steps 1 to 3"
    [row] = known(folded("[note] all was read", users=True), 8, "pack")["directives"]["rows"]
    assert (row["presence"], row["where"]) == ("note", "in the note of steps 1 to 3")
    [row] = known(folded("[note] all was read"), 8, "pack")["files"]["rows"]
    assert [source["presence"] for source in row["sources"]] == ["note", "full"]
    assert row["presence"] == "full", "the best of its places"


def test_a_todo_that_only_the_recap_shows_is_in_the_tail():
    ids = [entry.id for entry in chained(WORK)]
    fold = Folded(
        "pressure", (FoldedRun(ids[2], ids[14], "gone"),), (FoldNote(ids[2], ids[14], "[note] work", ""),)
    )
    [row] = known([*WORK[:-1], fold, WORK[-1]], 8, "pack")["todos"]["rows"]
    assert (row["presence"], row["where"]) == ("tail", "in the tail, word for word")
    assert row["sources"][0]["presence"] == "note"


def test_the_working_state_is_listed_under_its_fields():
    ids = [entry.id for entry in chained(WORK)]
    line = SummaryLine("Left off: the parser is slow", (ids[12],))
    text = f"# Working State\n\n## Objectives & Status\n- {line.text}\n- It was written in a hurry.\n"
    events = [*WORK[:-1], Compacted("state", text, last=ids[6], lines=(line,)), WORK[-1]]
    rows = known(events, 8, "pack")["state"]["rows"]
    assert [(row["about"], row["text"], row["detail"]) for row in rows] == [
        ("Objectives & Status", line.text, ""),
        ("Objectives & Status", "It was written in a hurry.", "written by a model"),
    ]
    assert [source["label"] for source in rows[0]["sources"]] == ["step 6"]
    assert rows[1]["sources"] == []
    assert {row["where"] for row in rows} == {"in the summary"}
    assert known(events, 7, "pack")["state"]["total"] == 0
    other = [*WORK[:-1], Compacted("state", f"In another form. {line.text}", lines=(line,)), WORK[-1]]
    assert texts(known(other, 8, "pack")["state"]) == [line.text]
    assert known(other, 8)["state"]["rows"][0]["where"] == "not in the window", (
        "a client's list has none of it"
    )


def test_a_long_group_is_bounded_and_says_how_many_there_are():
    events = [LogStarted(origin="import"), user("go")]
    for number in range(MOST_ROWS + 20):
        call = f"c{number}"
        events += [step("", (call, "Bash", {"command": f"make part-{number}"})), result(call, "ok", "Bash")]
    group = known([*events, step("done")], MOST_ROWS + 21)["commands"]
    assert (group["total"], len(group["rows"])) == (MOST_ROWS + 20, MOST_ROWS)
    assert group["rows"][0]["text"] == f"make part-{MOST_ROWS + 19}"


@settings(max_examples=40, deadline=None)
@given(SEEDS, BASES, st.data())
def test_nothing_from_after_the_request_is_known(seed, basis, data):
    entries = chained([*WORK, *AgentWork(seed, steps=10).events[1:]])
    profile = CODE.scaled_to(4_000)
    whole = history(entries, basis, profile)
    number = data.draw(st.integers(1, len(whole.requests)))
    asked = next(at for at, entry in enumerate(entries) if entry.id == whole.requests[number - 1].entry)
    cut = history(entries[: asked + 1], basis, profile)
    answer = remembered_at(whole, number)
    assert answer == remembered_at(cut, number)
    before = {entry.id for entry in entries[:asked]}
    named = {
        source["entry"] for group in answer["groups"] for row in group["rows"] for source in row["sources"]
    }
    assert named <= before


@pytest.mark.parametrize("basis", ["list", "pack", "preview"])
def test_every_row_names_a_block_of_the_window_or_none(basis):
    found = history(chained(WORK), basis)
    for number in range(1, len(found.requests) + 1):
        for group in remembered_at(found, number)["groups"]:
            for row in group["rows"]:
                assert -1 <= row["block"] < len(found.window(number))
                assert (row["block"] < 0) == (row["presence"] == "gone")
