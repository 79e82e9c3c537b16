"""`holdfast permissions check`: what would be done with commands, and why; nothing is executed."""

import io
import json
import sys

import pytest
from command_line import holdfast

from holdfast.agents.approved_rules import approve_rule


@pytest.fixture
def folder(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return root


def checked(commands, *options):
    return [json.loads(line) for line in answered(commands.encode(), *options).splitlines()]


def answered(given, *options):
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))
    try:
        done = holdfast("permissions", "check", *options)
    finally:
        sys.stdin = before
    assert done.code == 0, done.err
    return done.text


def test_each_command_gets_one_line(folder):
    found = checked("git status\n\ntouch made\n", "--json")
    assert found == [
        {
            "command": "git status",
            "verdict": "allow",
            "access": "read",
            "reason": "it only reads",
            "rule": "ask mode",
        },
        {
            "command": "touch made",
            "verdict": "ask",
            "access": "write",
            "reason": "`touch` is not known to only read",
            "rule": "",
        },
    ]
    assert not (folder / "made").exists()


def test_commands_of_several_lines_end_with_nul(folder):
    commands = [one["command"] for one in checked("echo a\necho b\0touch made\0", "-0")]
    assert commands == ["echo a\necho b", "touch made"]


@pytest.mark.parametrize(
    ("options", "verdict", "access"),
    [
        (("--mode", "plan"), "allow", "read"),
        (("--mode", "edit"), "allow", "write"),
        (("--mode", "edit", "--access", "network"), "ask", "network"),
        (("--mode", "plan", "--sandbox", "off"), "deny", "full"),
        (("--allow", "Bash(npm test:*)"), "allow", "write"),
    ],
    ids=["plan", "edit", "network", "off", "rule"],
)
def test_mode_access_sandbox_and_rules_decide(folder, options, verdict, access):
    (found,) = checked("npm test", *options)
    assert (found["verdict"], found["access"]) == (verdict, access)


def test_rules_of_the_project_are_read_and_those_that_widen_need_trust(folder):
    (folder / "holdfast.toml").write_text(
        '[permissions]\nmode = "ask"\ndeny = ["Bash(git push:*)"]\nallow = ["Bash(npm test)"]\n'
    )
    assert [one["verdict"] for one in checked("git push\nnpm test\n")] == ["deny", "ask"]
    assert [one["verdict"] for one in checked("git push\nnpm test\n", "--trust")] == ["deny", "allow"]


def test_rules_that_were_approved_are_listed_hold_and_can_be_taken_back(folder):
    (folder / "holdfast.toml").write_text('[permissions]\ndeny = ["Bash(git push:*)"]\n')
    rule = "Bash(npm install:*) with network"
    approve_rule(folder.parent / "config" / "holdfast", folder, rule)
    approve_rule(folder.parent / "config" / "holdfast", folder / "elsewhere", "Bash(make)")
    (found,) = checked("npm install x")
    assert (found["verdict"], found["access"]) == ("allow", "network")
    listed = holdfast("permissions", "list")
    assert listed.text.splitlines() == [
        f"allow  {rule}  (you approved it)",
        f"deny   Bash(git push:*)  ({folder / 'holdfast.toml'})",
    ]
    assert json.loads(holdfast("permissions", "list", "--json").text.splitlines()[0])["rule"] == rule
    assert holdfast("permissions", "forget", rule).code == 0
    assert checked("npm install x")[0]["verdict"] == "ask"
    again = holdfast("permissions", "forget", rule)
    assert again.code == 2
    assert "there is no rule `Bash(npm install:*) with network` here" in again.err


def test_rules_are_added_where_they_are_wanted_and_taken_back_from_there(folder):
    own = folder.parent / "config" / "holdfast" / "holdfast.toml"
    for words in (
        ("allow", "Bash(make:*)"),
        ("allow", "Bash(make lint)", "--everywhere"),
        ("deny", "Bash(git push:*)"),
        ("ask", "Edit(db/**)", "--project"),
    ):
        assert holdfast("permissions", "add", *words).code == 0
    assert holdfast("permissions", "list").text.splitlines() == [
        "allow  Bash(make:*)  (you approved it)",
        f"allow  Bash(make lint)  ({own})",
        f"ask    Edit(db/**)  ({folder / 'holdfast.toml'})",
        f"deny   Bash(git push:*)  ({own})",
    ]
    assert [one["verdict"] for one in checked("make all\ngit push\n")] == ["allow", "deny"]
    for rule in ("Bash(make:*)", "Bash(git push:*)", "Edit(db/**)"):
        assert holdfast("permissions", "forget", rule).code == 0
    assert holdfast("permissions", "list").text.splitlines() == [f"allow  Bash(make lint)  ({own})"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("allow", "Bash(a"), "is not a rule"),
        (("deny", "Nonesuch"), "names no tool"),
        (("deny", "Bash(a) with full"), "names an access level"),
    ],
)
def test_what_is_no_rule_is_not_added(folder, words, said):
    done = holdfast("permissions", "add", *words)
    assert done.code == 2
    assert said in done.err
    assert not (folder.parent / "config").exists()


def test_what_is_no_text_is_answered_too(folder):
    assert json.loads(answered(b"\xff\xfe rm\n"))["verdict"] == "ask"
