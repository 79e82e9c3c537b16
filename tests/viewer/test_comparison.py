"""Two requests compared: nothing is lost or made up between them, and why their shared beginning ends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.events import (
    BoundarySeen,
    Compacted,
    ContextSet,
    Folded,
    FoldedRun,
    FoldNote,
    LogStarted,
    RulesSet,
    SystemSet,
    ToolsSet,
)
from holdfast.messages import ToolDefinition
from holdfast.packing.profile import CODE
from holdfast.viewer.answers import message_text
from holdfast.viewer.block_changes import compare_blocks
from holdfast.viewer.comparison import MOST_ROWS, comparison_of
from support.logs import AgentWork, chained, result, step, user
from viewer.test_history import BASES, SEEDS, history

READ = ToolDefinition("Read", "Read a file.", {})
BASH = ToolDefinition("Bash", "Run a command.", {})


def blocks(found, number):
    return [placed.block for placed in found.window(number)]


def applied(before, after, changes):
    """The earlier request with the changes made: only what they name is taken from the later one."""
    rest = iter(sorted(set(range(len(before))) - {change.before for change in changes}))
    placed = {change.after: after[change.after] for change in changes if change.after >= 0}
    size = len(before) + sum(c.what == "entered" for c in changes) - sum(c.what == "left" for c in changes)
    return [placed[at] if at in placed else before[next(rest)] for at in range(size)]


def shape(block):
    return block.kind, block.message, block.level, block.tokens, block.step, block.call_id, block.name


@settings(max_examples=60, deadline=None)
@given(SEEDS, BASES, st.data())
def test_the_changes_make_the_later_request_of_the_earlier(seed, basis, data):
    work = AgentWork(seed, steps=16).events
    # Rules, contexts and tools that come and change in the middle.
    for event in (RulesSet("b.md", "one"), ContextSet("plan", "x"), ToolsSet((READ,)), SystemSet("other")):
        if data.draw(st.booleans()):
            work.insert(data.draw(st.integers(1, len(work))), event)
    found = history(chained(work), basis, CODE.scaled_to(4_000))
    numbers = st.integers(1, len(found.requests))
    first, second = sorted((data.draw(numbers), data.draw(numbers)))
    before, after = blocks(found, first), blocks(found, second)
    changes = compare_blocks(before, after)
    assert [shape(b) for b in applied(before, after, changes)] == [shape(b) for b in after]
    assert len({c.before for c in changes if c.before >= 0}) == sum(c.before >= 0 for c in changes)
    answer = comparison_of(found, second, first)
    totals = answer["totals"]
    assert totals["same"]["before"] == totals["same"]["after"]
    tokens = answer["tokens"]
    assert sum(one["before"] for one in totals.values()) + answer["tool_tokens"][0] == tokens[0]
    assert sum(one["after"] for one in totals.values()) + answer["tool_tokens"][1] == tokens[1]
    assert sum(one["blocks"] for kind, one in totals.items() if kind != "left") == len(after)
    assert sum(one["blocks"] for kind, one in totals.items() if kind != "entered") == len(before)
    prefix = answer["prefix"]
    same = prefix["blocks"]
    assert [b.message for b in before[:same]] == [b.message for b in after[:same]]
    if second == first + 1:
        assert same >= found.requests[second - 1].same_blocks
    assert 0 <= prefix["tokens"] <= tokens[1]


@settings(max_examples=30, deadline=None)
@given(SEEDS, BASES)
def test_a_request_and_itself_have_no_changes(seed, basis):
    found = history(chained(AgentWork(seed, steps=8).events), basis, CODE.scaled_to(4_000))
    last = len(found.requests)
    answer = comparison_of(found, last, last)
    assert (answer["total"], answer["rows"]) == (0, [])
    assert "Nothing differs." in answer["prefix"]["words"]


def compared(events, first, second, basis="list"):
    return comparison_of(history(chained(events), basis), second, first)


def work(*between, system="Be careful."):
    return [
        LogStarted(origin="live"),
        SystemSet(system),
        ToolsSet((READ,)),
        RulesSet("AGENTS.md", "Test first."),
        user("look"),
        step("looking", ("c1", "Read", {"file_path": "a.py"})),
        result("c1", "\n".join(f"line {number} of a.py" for number in range(400))),
        step("more", ("c2", "Read", {"file_path": "b.py"})),
        result("c2", "\n".join(f"line {number} of b.py" for number in range(400))),
        step("read both"),
        *between,
        user("second"),
        step("done"),
    ]


@pytest.mark.parametrize(
    ("between", "words"),
    [
        ((), "Nothing differs: the later one only grew at its end, by 2 blocks."),
        (
            (SystemSet("Be careless."),),
            "Then: the system prompt changed at character 8: “Be careful.” became “Be careless.”.",
        ),
        ((ToolsSet((READ, BASH)),), "The tools changed: `Bash` added. Tools come before all messages"),
        ((ToolsSet(()),), "The tools changed: `Read` taken away."),
        ((ToolsSet((ToolDefinition("Read", "Other.", {}),)),), "`Read` defined differently."),
        ((ToolsSet((READ,)), SystemSet("Be careful.")), "Nothing differs: the later one only grew"),
        ((RulesSet("AGENTS.md", "Test last."),), "the rules AGENTS.md changed at character 6"),
        ((RulesSet("b.md", "More."),), "the rules b.md came before the user's message “look”."),
    ],
)
@pytest.mark.parametrize("basis", ["list", "pack"])
def test_why_the_shared_beginning_ends(between, words, basis):
    assert words in compared(work(*between), 3, 4, basis)["prefix"]["words"]


def test_a_fold_is_named_as_the_reason():
    events = work()
    ids = [entry.id for entry in chained(events)]
    fold = Folded(
        "pressure", (FoldedRun(ids[5], ids[5], "digest", 200),), tokens_before=31_000, tokens_after=12_000
    )
    answer = compared(work(fold), 3, 4, "pack")
    words = answer["prefix"]["words"]
    assert "Then: step 1's result of Read was folded from full to digest." in words
    assert "This came with request 4: fold (pressure, 31,000 to 12,000 tokens)." in words
    [row] = [row for row in answer["rows"] if row["what"] == "changed"]
    assert (row["kind"], row["tool"], row["step"], row["levels"]) == ("result", "Read", 1, ["full", "digest"])
    assert row["tokens"][1] < row["tokens"][0]
    assert answer["totals"]["changed"]["blocks"] == 1
    assert answer["totals"]["level"]["blocks"] == 1, "the reply of the same step has the same text"
    later = compared(work(fold), 1, 4, "pack")
    assert "grew at its end" in later["prefix"]["words"], "request 1 had none of it yet"


def test_steps_that_a_note_replaced_say_so():
    ids = [entry.id for entry in chained(work())]
    run = FoldedRun(ids[5], ids[7], "gone")
    fold = Folded("pressure", (run,), (FoldNote(ids[5], ids[7], "[note] two files were read", ""),))
    answer = compared(work(fold), 3, 4, "pack")
    assert (
        "what begins with step 1's reply was replaced by the note of steps 1 to 2"
        in answer["prefix"]["words"]
    )
    left = [row for row in answer["rows"] if row["what"] == "left"]
    assert {row["step"] for row in left} == {1, 2}
    assert {row["where"] for row in left} == {"in the note of steps 1 to 2"}
    found = history(chained(work(fold)), "pack")
    assert {message_text(blocks(found, 4)[row["into"]].message) for row in left} == {
        "[note] two files were read"
    }
    note = next(row for row in answer["rows"] if row["kind"] == "note")
    assert (note["what"], note["where"]) == ("entered", "it is the note of steps 1 to 2")


def test_what_a_client_compacted_left_for_its_summary():
    answer = compared(work(BoundarySeen("compacted", summary="both were read")), 3, 4)
    assert "Both begin with the same 2 blocks" in answer["prefix"]["words"]
    assert "This came with request 4: compaction" in answer["prefix"]["words"]
    left = [row for row in answer["rows"] if row["what"] == "left"]
    assert len(left) == 5
    assert {row["where"] for row in left} == {"before the client's compaction; its summary is in the window"}
    entered = [row["kind"] for row in answer["rows"] if row["what"] == "entered"]
    assert entered == ["summary", "user"]


def test_a_new_archive_entry_leaves_the_one_before_as_it_is():
    first, second = Compacted("archive", "part one"), Compacted("archive", "part two")
    events = work(first, user("on"), step("ok"), second)
    answer = compared(events, 4, 5, "pack")
    rows = [(row["what"], row["words"]) for row in answer["rows"] if row["kind"] == "summary"]
    assert rows == [("entered", "part two")]


def test_a_recap_is_always_new():
    todos = {"todos": [{"content": "write it", "status": "pending"}]}
    events = [
        LogStarted(origin="live"),
        user("go"),
        step("", ("t1", "TodoWrite", todos)),
        result("t1", "ok", "TodoWrite"),
        step("", ("c1", "Read", {"file_path": "a.py"})),
        result("c1", "text"),
        step("done"),
    ]
    words = compared(events, 2, 3, "pack")["prefix"]["words"]
    assert "the todo recap: it is rebuilt for each request" in words
    assert "Before it, nothing differs." in words


@pytest.mark.parametrize("order", [(1, 320), (320, 1)])
def test_rows_come_in_parts(order):
    events = [LogStarted(origin="import")]
    for number in range(320):
        events += [user(f"do {number}"), step(f"did {number}")]
    found = history(chained(events))
    answer = comparison_of(found, *order)
    assert (answer["earlier"], answer["later"]) == (1, 320)
    assert answer["total"] == 638
    assert len(answer["rows"]) == MOST_ROWS
    rest = [comparison_of(found, *order, first)["rows"] for first in (0, 200, 400, 600)]
    assert [row["after"] for part in rest for row in part] == list(range(1, 639))
    assert comparison_of(found, *order, what="left")["total"] == 0
