"""What the design documents say of a new result, for the profiles that keep lines: it is complete, but for a very
large one, which names the call that brings back what is missing.

Each test names the rows of docs/seeds.md that it stands for.
"""

import re

import pytest

from holdfast.log import Log
from holdfast.messages import ToolMessage
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.window import Window
from holdfast.recall import answer_recall
from holdfast.store import MemoryStore
from support.logs import result, step, user
from support.packing_runs import counter

BUDGETS = [16_000, 32_000]
CALL = re.compile(r'Recall\(id="(\w+)", lines="([\d-]+)"\)')
GAP = re.compile(r"\[… lines? ([\d-]+)\]")


@pytest.fixture(params=["code", "rich", "lean"])
def profile(request):
    return BUILT_IN[request.param]


@pytest.fixture
def log():
    with MemoryStore() as store:
        yield Log.create(store, redact=str)


def newest_result(log, profile, name, arguments, text):
    """A result as it is first sent."""
    log.append_all([user("Look at it."), step("", ("c", name, arguments)), result("c", text, name)])
    messages = pack(Window(profile, counter(), log.entries()).view()).messages
    return next(m.text for m in messages if isinstance(m, ToolMessage))


def numbered(lines):
    return "\n".join(f"{n:6}→    total_{n} = add_up(values_{n})" for n in lines)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_new_result_is_complete(log, profile, budget):
    """000-05, 001-09."""
    text = numbered(range(1, 16))
    assert newest_result(log, profile.scaled_to(budget), "Read", {"path": "sums.py"}, text) == text


@pytest.mark.parametrize("budget", BUDGETS)
def test_lines_asked_for_by_number_are_complete_however_many_fit(log, profile, budget):
    """000-05, 001-09: what the agent asked for by number is not cut when it is new."""
    scaled = profile.scaled_to(budget)
    text = numbered(range(41, 241))
    assert counter().text(text) > scaled.first_sight_tokens
    assert newest_result(log, scaled, "Read", {"path": "sums.py", "offset": 41, "limit": 200}, text) == text


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_very_large_result_has_the_call_that_brings_back_what_is_missing(log, profile, budget):
    """000-05, 001-09: nothing of it is out of reach."""
    lines = [f"compiled module_{n} with {n % 9} notes in {n % 13} seconds" for n in range(250)]
    head, *rows = newest_result(
        log, profile.scaled_to(budget), "Bash", {"command": "make"}, "\n".join(lines)
    ).split("\n")
    gaps = [found[1] for row in rows if (found := GAP.fullmatch(row))]
    id_, first = CALL.search(head).groups()
    assert first == gaps[0]
    brought = [answer_recall(log.store, {"id": id_, "lines": gap})[0] for gap in gaps]
    missing = [line for answer in brought for line in answer.removesuffix("\n").split("\n")[1:]]
    assert missing == [line for line in lines if line not in rows]
