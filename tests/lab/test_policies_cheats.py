"""The cheats cheat as well as they can: a measure that exposes them is not praised for beating a weak one."""

import pytest

from holdfast.lab.policies.cheats import CHEATS, HEADING, UNIVERSAL, NameDump, UniversalReference
from holdfast.lab.policy import Task
from support.name_dumps import DUMPS, LaidOutDump
from support.policy_histories import count, history, requests

TALK = [
    {"role": "user", "content": "Look into src/app/main.py, please."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "Bash", "arguments": {"cmd": "run_tests --fast"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "src/app/main.py failed\nsee error_4711 in 1.22.3333"},
    {"role": "assistant", "content": "I will open error_4711 again."},
    {"role": "user", "content": "Go on."},
]


def dumped(messages, budget=10_000):
    return NameDump(Task(budget, count)).pack(messages, None)


def test_a_dump_lists_names_rarest_first_and_nothing_else():
    rarest = "1.22.3333 run_tests error_4711 src/app/main.py"
    assert dumped(TALK) == [{"role": "user", "content": f"{HEADING}\n{rarest}"}]


@pytest.mark.parametrize(
    ("layout", "order", "expected"),
    [
        ("lines", "rarest", "1.22.3333\nrun_tests\nerror_4711\nsrc/app/main.py"),
        ("line", "appearance", "src/app/main.py run_tests error_4711 1.22.3333"),
        ("rows", "appearance", "src/app/main.py run_tests error_4711 1.22.3333"),
    ],
)
def test_layouts(layout, order, expected):
    (packed,) = LaidOutDump(Task(10_000, count), layout, order).pack(TALK, None)
    assert packed["content"] == f"{HEADING}\n{expected}"


@pytest.mark.parametrize("plan", DUMPS, ids=lambda plan: plan.name)
def test_a_dump_fills_its_budget(plan):
    names = " ".join(f"name_{i}/part{i * i}" for i in range(2_000))
    messages = [{"role": "user", "content": names}, {"role": "user", "content": "Go on."}]
    packed = plan.start(Task(4_000, count)).pack(messages, None)
    assert 0.93 * 4_000 < count(packed) <= 4_000


def test_a_giant_question_does_not_take_the_room():
    messages = [{"role": "user", "content": "why not " * 4_000 + "error_4711"}]
    assert dumped(messages, 1_000) == [{"role": "user", "content": f"{HEADING}\nerror_4711"}]


def test_one_line_is_the_densest():
    *_, (past, _) = requests(DUMPS[0], history(7, steps=60), 10**6)
    sizes = {p.name: count(p.start(Task(10**6, count)).pack(past, None)) for p in DUMPS}
    assert min(sizes.values()) == sizes["cheat-dump-line-rarest"]


def test_one_id_stands_for_everything():
    policy = UniversalReference(Task(400, count))
    messages = history(9, steps=30)
    packed = policy.pack(messages, None)
    assert UNIVERSAL in packed[0]["content"]
    assert count(packed) <= 200
    whole = policy.fetch(UNIVERSAL)
    assert all(m["content"] in whole for m in messages if isinstance(m["content"], str))
    assert policy.fetch("u1") is None


def test_they_say_that_they_cheat():
    assert all(policy.about.startswith("cheat:") for policy in CHEATS)
