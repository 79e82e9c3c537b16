"""Policies by name: built in, from a configuration, and users' own files."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.lab.policies.registry import (
    BUILT_IN_POLICIES,
    DEFAULT_NAMES,
    DESCRIPTIONS,
    find_policies,
)
from holdfast.packing.profile import CODE
from support.policy_histories import broken_rules, count, history, requests

EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for modules of the test, forgotten afterwards."""
    known = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def refusal(names, **given) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        find_policies(names, **given)
    assert "\n" not in caught.value.message
    return caught.value.message, caught.value.hint


def test_every_built_in_name_is_found_and_described():
    assert [plan.name for plan in find_policies(list(BUILT_IN_POLICIES))] == list(BUILT_IN_POLICIES)
    assert set(DEFAULT_NAMES) <= set(BUILT_IN_POLICIES) == set(DESCRIPTIONS)
    assert all(text and "\n" not in text for text in DESCRIPTIONS.values())
    assert [plan.name for plan in find_policies(list(BUILT_IN_POLICIES)) if not plan.budgeted] == [
        "everything"
    ]


def test_an_unknown_name_is_answered_with_the_nearest():
    assert refusal(["newset"]) == (
        "there is no policy `newset`",
        "did you mean `newest`? your own is named `module:attribute`",
    )
    assert "there are: everything, newest" in refusal(["qqq"])[1]


def test_profiles_of_the_configuration():
    own = replace(CODE, name="mine", keep=3)
    changed = replace(CODE, keep=4)
    mine, code = find_policies(["mine", "code"], {"mine": own, "code": changed})
    assert "keeps 3 rounds" in mine.about
    assert "keeps 4 rounds" in code.about
    assert refusal(["mask"], profiles={"mask": replace(CODE, name="mask")})[0] == (
        "the profile `mask` has the name of a built-in policy"
    )


def test_two_of_one_name_are_refused():
    assert refusal(["newest", "mask", "newest"])[0] == "two policies are named `newest`"


def test_the_example_policy_runs(folder):
    (plan,) = find_policies(["first_and_last:FirstAndLast"], folder=EXAMPLES)
    assert plan.name == "first_and_last:FirstAndLast"
    assert plan.about == "The message that opened it all, and the newest whole steps that fit behind it."
    messages = [{"role": "user", "content": "Begin here."}, *history(3, steps=30)]
    for past, packed in requests(plan, messages, 3_000):
        assert packed[:1] == past[:1] == messages[:1]
        assert count(packed) <= 3_000
        assert set(broken_rules(packed)) <= set(broken_rules(past))


MODULE = '''
from holdfast.lab.policy import NamedPolicy


class Mine:
    """All of it."""

    def __init__(self, task): ...

    def pack(self, messages, at):
        return messages


class Outer:
    class inner:
        make = staticmethod(lambda task: Mine(task))


PLAN = NamedPolicy("mine-plan", Mine, "as planned")
PLANS = (PLAN, NamedPolicy("other", Mine))
MADE = Mine(None)
NUMBER = 7
EMPTY = ()
'''


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("PLAN", ["mine-plan"]),
        ("PLANS", ["mine-plan", "other"]),
        ("Mine", ["own_policies:Mine"]),
        ("Outer.inner.make", ["own_policies:Outer.inner.make"]),
    ],
)
def test_what_a_module_may_hold(folder, attribute, names):
    (folder / "own_policies.py").write_text(MODULE)
    plans = find_policies([f"own_policies:{attribute}"], folder=folder)
    assert [plan.name for plan in plans] == names
    assert all(plan.start(None).pack([1], None) == [1] for plan in plans)


@pytest.mark.parametrize(
    ("attribute", "message", "hint"),
    [
        ("MADE", "is a policy that has already been created", "every recording needs a new one"),
        ("NUMBER", "is not a policy but a value of type `int`", "a policy is a `NamedPolicy`"),
        ("EMPTY", "is not a policy but a value of type `tuple`", "a policy is a `NamedPolicy`"),
        ("Mien", "`own_policies` has no `Mien`", "did you mean `Mine`?"),
        ("Outer.nothing_of_it", "has no `Outer.nothing_of_it`", "a policy is a `NamedPolicy`"),
        ("", "`own_policies:` does not name a policy", "`module:attribute`"),
    ],
)
def test_what_is_no_policy(folder, attribute, message, hint):
    (folder / "own_policies.py").write_text(MODULE)
    said, advice = refusal([f"own_policies:{attribute}"], folder=folder)
    assert message in said
    assert hint in advice


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise ValueError('no luck')", "cannot be imported: ValueError: no luck"),
        ("import not_there_at_all", "cannot be imported: ModuleNotFoundError: No module named"),
        ("def (", "cannot be imported: SyntaxError"),
        ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
        ("assert False", "cannot be imported: AssertionError"),
    ],
)
def test_a_module_that_fails_is_named(folder, text, message):
    (folder / "failing_policies.py").write_text(text)
    said, _ = refusal(["failing_policies:Mine"], folder=folder)
    assert said.startswith(f"the module `failing_policies` {message}")


@pytest.mark.parametrize("name", ["no_such_module_here:x", "no_such_module_here.sub:x"])
def test_a_module_that_is_not_there(folder, name):
    said, hint = refusal([name], folder=folder)
    assert said == f"there is no module `{name.partition(':')[0]}`"
    assert str(folder) in hint


def test_the_current_folder_is_the_default(folder, monkeypatch):
    (folder / "own_policies.py").write_text(MODULE)
    monkeypatch.chdir(folder)
    assert find_policies(["own_policies:PLAN"])[0].about == "as planned"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (":x", ("`:x` does not name a policy", "write it as `module:attribute`")),
        ("./mine.py:X", ("`./mine.py` is not a module", "name the module and not its file")),
        ("mine.py:X", ("`mine.py` is not a module", "name the module and not its file")),
        ("..up:x", ("`..up` is not a module", "name the module and not its file")),
        ("a b:x", ("there is no module `a b`", "modules are looked for in")),
    ],
    ids=["no module", "a path", "a file", "relative", "a blank"],
)
def test_odd_module_names_are_refused_in_a_sentence(folder, name, expected):
    said, hint = refusal([name], folder=folder)
    assert said.startswith(expected[0])
    assert hint.startswith(expected[1])
