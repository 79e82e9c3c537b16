"""`/permissions`: what holds and where it is from, and changes that count at once, and after a restart."""

import tomllib

import pytest

from holdfast.agents.kept_rules import KeptRules
from holdfast.agents.resolved_config import load_permissions
from holdfast.errors import ConfigError, InputError
from holdfast.messages import ToolCall
from holdfast.tools.permissions.decision import CallContext
from holdfast.tools.permissions.gate import ApprovalAnswer
from support.coding_sessions import CodingSetup, call, run, say

MAKE = "Bash(make:*)"


@pytest.fixture
def setup(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found = CodingSetup(tmp_path)
    found.env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    found.own = tmp_path / "config" / "holdfast" / "holdfast.toml"
    yield found
    found.close()


class Person:
    """Says the same to everything, and counts what was asked."""

    def __init__(self, decision="deny"):
        self.decision = decision
        self.asked = []

    async def approve(self, question):
        self.asked.append(question.call.arguments["command"])
        return ApprovalAnswer(self.decision)


def opened(setup, person, *replies, **more):
    _, permissions, _ = load_permissions(setup.root, setup.env)
    keeper = KeptRules(setup.root, setup.env)
    return setup.open(
        *replies, permissions=permissions, rule_keeper=keeper, approver=person, mode="ask", **more
    )


def verdict(coding, command):
    shell_call = ToolCall(command, "Bash", {"command": command})
    checked = coding.runner.run(coding.gate.check(shell_call, CallContext()))
    return "deny" if checked.refusal else "allow"


def test_the_list_says_where_each_rule_is_from(setup, monkeypatch):
    monkeypatch.setenv("HOME", str(setup.root.parent.resolve()))
    setup.own.parent.mkdir(parents=True)
    setup.own.write_text('[permissions]\ndeny = ["Bash(git push:*)"]\n')
    (setup.root / "holdfast.toml").write_text(
        '[permissions]\nask = ["Edit(db/**)"]\nallow = ["Bash(sh:*)"]\n'
    )
    coding = opened(setup, Person())
    run(coding, f"/permissions allow {MAKE}")
    coding.session_gate.add_rule("allow", "Bash(given)")
    text = run(coding, "/permissions").text
    assert "`ask` mode, which asks before each change" in text
    for row in (
        "| allow | `Bash(make:\\*)` | you approved it |",
        f"| ask | `Edit(db/**)` | ~/{setup.root.name}/holdfast.toml |",
        "| deny | `Bash(git push:*)` | ~/config/holdfast/holdfast.toml |",
        "| allow | `Bash(given)` | this session |",
    ):
        assert row.replace("\\*", "*") in text
    assert "Bash(sh:*)" not in text, "it is not trusted, so it does not hold"
    assert "sets `permissions.allow`, which a project may not do by itself" in text


def test_a_rule_counts_at_once_and_after_a_restart(setup):
    person = Person()
    coding = opened(setup, person)
    assert verdict(coding, "make") == "deny"
    answer = run(coding, f'/permissions allow "{MAKE}" --everywhere').text
    assert answer.startswith(f"`{MAKE}` is in `allow` from now on, for you everywhere")
    assert tomllib.loads(setup.own.read_text()) == {"permissions": {"allow": [MAKE]}}
    assert verdict(coding, "make x") == "allow"
    run(coding, "/permissions deny Bash(make clean:*)")
    assert verdict(coding, "make clean") == "deny"
    coding.reread()
    assert verdict(coding, "make y") == "allow"
    assert verdict(opened(setup, person), "make x") == "allow"
    assert person.asked == ["make"]


def test_a_rule_that_was_taken_back_does_not_come_back_from_the_log(setup):
    person = Person("pattern")
    coding = opened(setup, person, [call("Bash", "1", command="make one")], "Done.")
    say(coding, "Make one")
    rule = "Bash(make one:*)"
    person.decision = "deny"
    assert verdict(coding, "make one -k") == "allow"
    assert run(coding, f"/permissions forget {rule}").text == (
        f"`{rule}` no longer holds here (`you approved it`)."
    )
    coding.reread()
    assert verdict(coding, "make one -k") == "deny"
    assert verdict(opened(setup, person), "make one -s") == "deny"
    run(coding, f"/permissions allow {rule}")
    assert verdict(opened(setup, person), "make one -s") == "allow"


@pytest.mark.parametrize(
    ("line", "error", "said"),
    [
        ("/permissions alow Bash(a)", InputError, "is not understood"),
        ("/permissions allow", InputError, "is not understood"),
        ("/permissions forget Bash(a)", InputError, "there is no rule `Bash(a)` here"),
        ("/permissions allow Bash(a", ConfigError, "is not a rule"),
        ("/permissions deny Nonesuch", ConfigError, "names no tool"),
    ],
)
def test_a_mistake_changes_nothing(setup, line, error, said):
    coding = opened(setup, Person())
    with pytest.raises(error, match=said.replace("(", r"\(").replace(")", r"\)")):
        run(coding, line)
    assert not setup.own.parent.exists()
