"""`holdfast.pack` on a list that grows: what is kept between calls saves time and changes nothing."""

import copy
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import list_packing
from holdfast.list_packing import KeptLists, copy_json, same_json
from holdfast.wire.message_lists import MessageListReader
from holdfast.wire.recording_builder import content_id

ARGUMENTS = (
    {"budget": "6k"},
    {"budget": "6k", "to": "anthropic"},
    {"budget": "9k", "profile": "lean"},
    {"budget": "6k", "system": "Be brief.", "model": "claude-opus-5-5"},
    {"budget": "7k", "tools": [{"name": "Read", "input_schema": {"type": "object"}}]},
)


@pytest.fixture(autouse=True)
def nothing_kept():
    list_packing.KEPT.clear()


def steps(first, last, size=30):
    """Messages of some steps, each with a call and its result."""
    messages = []
    for i in range(first, last):
        function = {"name": "Read", "arguments": f'{{"file_path":"src/f{i % 5}.py"}}'}
        call = {"id": f"call_{i}", "type": "function", "function": function}
        text = "\n".join(f"line {j} of file {i}: value_{i}_{j} error" for j in range(size))
        messages.append({"role": "assistant", "content": f"Look {i}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": text})
    return messages


def conversation(count, size=30):
    return [{"role": "user", "content": "Fix it. Never force-push."}, *steps(0, count, size)]


def account(messages, **arguments):
    """Everything that can be seen of a pack, or the error."""
    try:
        packed = holdfast.pack(messages, **arguments)
    except holdfast.HoldfastError as error:
        return str(error)
    seen = packed.provider, packed.messages, packed.system, packed.tools, packed.tokens, packed.pack
    return *seen, packed.log, packed.recall({"query": "value error"})


def fresh(messages, **arguments):
    """The account of a first call: nothing that was packed before is known."""
    kept, list_packing.KEPT = list_packing.KEPT, KeptLists()
    try:
        return account(messages, **arguments)
    finally:
        list_packing.KEPT = kept


def kept_lists():
    return vars(list_packing.KEPT)["_lists"]


MESSAGES = st.sampled_from([
    *({"role": "user", "content": text} for text in ("Go on.", "x" * 900, "lone \ud800", "")),
    {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image", "source": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "late\nresult_1"}]},
    {"role": "user", "content": ("no", "list")},
    {"role": "system", "content": "A reminder."},
    {"role": "assistant", "content": "Done."},
    {"role": "assistant", "content": ""},
    {"role": "robot", "content": "beep"},
    {"content": "no role"},
])  # fmt: skip
CHANGES = st.one_of(
    st.tuples(st.just("steps"), st.integers(1, 4)),
    st.tuples(st.just("result"), st.integers(10, 90)),
    st.tuples(st.just("append"), MESSAGES),
    st.tuples(st.just("edit"), st.integers(0, 40)),
    st.tuples(st.just("number"), st.sampled_from([1, 1.0, True, 0.0, -0.0])),
    st.tuples(st.just("delete"), st.integers(0, 40)),
    st.tuples(st.just("arguments"), st.sampled_from(ARGUMENTS)),
    st.tuples(st.just("again"), st.none()),
)


def change(messages, kind, value, number):
    """Change the caller's own list, in place, as callers do."""
    at = value % len(messages) if kind in ("edit", "delete") else 0
    if kind == "steps":
        messages += steps(number * 10, number * 10 + value)
    elif kind == "result":
        messages += steps(number * 10, number * 10 + 1, value)[:1]
    elif kind == "append":
        messages.append(copy.deepcopy(value))
    elif kind == "edit":
        messages[at]["content"] = f"{messages[at].get('content')} edited"
    elif kind == "number":
        calls = next((m["tool_calls"] for m in messages if m.get("tool_calls")), [{}])
        calls[0]["function"] = {"name": "Read", "arguments": {"offset": value}}
    elif kind == "delete" and len(messages) > 1:
        del messages[at]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(CHANGES, min_size=4, max_size=12))
def test_a_pack_is_the_same_whatever_was_packed_before(changes):
    messages, arguments = conversation(6), ARGUMENTS[0]
    list_packing.KEPT.clear()
    for number, (kind, value) in enumerate(changes, 1):
        if kind == "arguments":
            arguments = value
        change(messages, kind, value, number)
        assert account(messages, **arguments) == fresh(messages, **arguments)


def test_a_longer_list_is_packed_from_where_the_shorter_ended():
    messages = conversation(30)
    openings, packers = set(), set()
    for end in range(1, len(messages) + 1, 2):
        packed = account(messages[:end], budget="6k")
        assert packed == fresh(messages[:end], budget="6k")
        [packer] = kept_lists()
        packers.add(packer)
        openings.add(json.dumps(packed[1][:2]))
    assert len(packers) == 1
    assert len(openings) > 3


def test_a_fold_for_a_request_that_nobody_made_is_not_made_in_a_longer_list():
    """A result that came alone makes a fold due; with the user's next words after it, a longer list folds later."""
    messages = conversation(16)
    restarts = 0
    for end in range(3, len(messages), 2):
        list_packing.KEPT.clear()
        holdfast.pack(messages[:end], budget="6k")
        [before] = kept_lists()
        longer = [*messages[:end], {"role": "user", "content": "And be quick."}]
        assert account(longer, budget="6k") == fresh(longer, budget="6k")
        restarts += kept_lists() != [before]
    assert restarts


def test_a_new_process_gives_the_same_pack():
    messages = conversation(14)
    for end in (9, 17, 29):
        packed = holdfast.pack(messages[:end], budget="6k")
    code = (
        "import sys, json, holdfast; p = holdfast.pack(json.load(sys.stdin), budget='6k');"
        "print(json.dumps([p.messages, p.tools, p.log, [[c.entry, c.id, c.after] for c in p.cuts]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(messages), capture_output=True, text=True, check=True
    )
    cuts = [[cut.entry, cut.id, cut.after] for cut in packed.cuts]
    assert json.loads(done.stdout) == [packed.messages, packed.tools, packed.log, cuts]


def test_what_a_pack_can_recall_does_not_grow_with_the_list():
    messages = conversation(16)
    early = holdfast.pack(messages[:25], budget="6k")
    late = holdfast.pack([*messages, {"role": "user", "content": "zebra_crossing"}], budget="6k")
    assert "zebra_crossing" in late.recall({"query": "zebra_crossing"})
    assert early.recall({"query": "zebra_crossing"}).endswith(": 0 texts]")
    assert [early.recall({"id": cut.id}) for cut in early.cuts]


def test_kept_lists_share_no_value_with_the_caller():
    messages = conversation(8)
    tools = [{"name": "Read", "description": "read", "input_schema": {"type": "object"}}]
    given_away = holdfast.pack(messages, tools=tools, budget="6k")
    for message in given_away.messages:
        message["content"] = "spoiled"
    for call in messages[1]["tool_calls"]:
        call["function"]["name"] = "Write"
    tools[0]["description"] = "changed"
    messages += steps(8, 9)
    packed = account(messages, tools=tools, budget="6k")
    assert packed == fresh(messages, tools=tools, budget="6k")
    assert "spoiled" not in json.dumps(packed[1])


def test_threads_share_what_is_kept_and_get_the_same_packs():
    messages = conversation(14)
    ends = [end for end in range(3, len(messages) + 1, 2) for _ in range(3)]
    expected = {end: fresh(messages[:end], budget="6k") for end in ends}
    with ThreadPoolExecutor(6) as threads:
        found = threads.map(lambda end: account(messages[:end], budget="6k"), ends)
        assert [*found] == [expected[end] for end in ends]


def test_only_the_newest_lists_are_kept(monkeypatch):
    for number in range(list_packing.MOST_LISTS + 3):
        holdfast.pack([{"role": "user", "content": f"Task {number}."}])
    assert len(kept_lists()) == list_packing.MOST_LISTS
    newest = kept_lists()[-1]
    monkeypatch.setattr(list_packing, "MOST_BYTES", newest.size * 3 // 2)
    holdfast.pack([{"role": "user", "content": "A task."}])
    assert [packer.messages[0]["content"] for packer in kept_lists()] == ["A task."]
    holdfast.pack([{"role": "user", "content": "A list that is too long by itself. " * 9}])
    assert kept_lists() == []


def test_what_is_not_plain_json_is_packed_and_not_kept():
    class Words(str):
        """A text that is more than one, and may change."""

    messages = [{"role": "user", "content": "Go."}, {"role": "user", "content": Words("a and b")}]
    holdfast.pack(messages[:1])
    assert len(kept_lists()) == 1
    assert account(messages) == fresh(messages)
    assert kept_lists() == []


@pytest.mark.parametrize(
    ("kept", "given"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1], [True]),
        ([1], [1.0]),
        ([0.0], [-0.0]),
        ([None], [0]),
        ([1, 2], [1]),
        ({"a": [{"b": "c"}]}, {"a": [{"b": "d"}]}),
        (["a"], ("a",)),
    ],
)
def test_json_is_the_same_only_to_the_last_bit(kept, given):
    assert same_json(copy_json(kept), kept)
    assert not same_json(kept, given)


def test_the_id_of_a_growing_list_is_made_from_all_messages():
    messages = [
        {"role": "user", "content": "é\ud800"},
        *steps(0, 3),
        {"role": "tool", "b": 1, "a": [1.5, None]},
    ]
    reader = MessageListReader(messages[:2], system="Be brief.", tools=[])
    reader.append(messages[2:5])
    reader.append(messages[5:])
    clean = [{"role": "user", "content": "é\ufffd"}, *messages[1:]]
    request = {"messages": clean, "system": "Be brief.", "tools": []}
    assert reader.recording().id == content_id("openai", request)
