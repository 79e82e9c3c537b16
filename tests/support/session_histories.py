"""Talks for tests of what goes back or elsewhere: a fixed one, random ones, and what a coding knows afterwards."""

import re

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from holdfast.packing.pack import pack
from support.coding_sessions import call, say

ENTRY_ID = re.compile(r"\be[0-9a-z]{12}\b")


def edit(old, new, id_):
    return call("Edit", id_, path="main.py", old_string=old, new_string=new)


THREE_ROUNDS = (
    [call("Read", "1", path="main.py")],
    "Read it.",
    [edit("old", "new", "2")],
    [call("Bash", "3", command="mkdir -p out && cd out")],
    "Edited.",
    [edit("new", "newer", "4"), call("Write", "5", path="more.py", content="x = 1\n")],
    [call("TodoWrite", "6", todos=[{"content": "check", "status": "pending"}])],
    "Edited again.",
)


def hold_conversation(setup, *more):
    coding = setup.open(*THREE_ROUNDS, *more)
    say(coding, "Look at main.", "Make it new.", "Make it newer, and write more.")
    return coding


def main_text(setup):
    return (setup.root / "main.py").read_text()


def state(coding):
    """What a coding remembers beside its log. When a file was written is no part of it."""
    files, todos, gate = coding.tool_state.files, coding.tool_state.todos, coding.gate
    seen = {key: msgspec.structs.replace(sight, mtime_ns=0) for key, sight in files.by_key.items()}
    answers = (set(gate._approved_calls), dict(gate._denied_calls), dict(gate._answers), gate.permissions)
    return seen, [*files.edits], coding.tool_state.shell.cwd, todos.written, [*todos.archive], answers


def packed(coding):
    window = pack(coding.session.window.view())
    return msgspec.json.encode((window.messages, window.tools))


def unnamed(data):
    """Bytes with every id of an entry replaced by the number of its first appearance."""
    numbers = {}
    return ENTRY_ID.sub(lambda m: f"entry-{numbers.setdefault(m[0], len(numbers))}", data.decode())


KINDS = st.sampled_from(["read", "edit", "write", "todo", "cd", "grep"])
ROUNDS = st.lists(st.lists(st.lists(KINDS, min_size=1, max_size=2), max_size=3), min_size=1, max_size=3)
FEW = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def script(rounds):
    """Replies for rounds of steps, every call with an id of its own."""
    replies, number = [], 0
    for at, steps in enumerate(rounds):
        for kinds in steps:
            replies.append([made(kind, number + n) for n, kind in enumerate(kinds)])
            number += len(kinds)
        replies.append(f"Round {at} is done.")
    return replies


def made(kind, number):
    id_ = f"c{number}"
    match kind:
        case "read":
            return call("Read", id_, path="main.py")
        case "edit":
            return call("Edit", id_, path="main.py", old_string="def", new_string=f"# {number}\ndef")
        case "write":
            return call("Write", id_, path=f"new{number % 2}.txt", content=f"text {number}\n" * 40)
        case "todo":
            todos = [{"content": f"todo {n}", "status": "completed"} for n in range(number % 3 + 1)]
            return call("TodoWrite", id_, todos=todos)
        case "cd":
            return call("Bash", id_, command=f"mkdir -p d{number} && cd d{number} && seq 900")
    return call("Grep", id_, pattern="main")


def played(setup, rounds):
    """A coding on which the rounds were played, with its pack and its state before each and at the end."""
    coding = setup.open(*script(rounds), window=16_000)
    seen = [(packed(coding), state(coding))]
    for number in range(len(rounds)):
        say(coding, f"Round {number}, please.")
        seen.append((packed(coding), state(coding)))
    return coding, seen
