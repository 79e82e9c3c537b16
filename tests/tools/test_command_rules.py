"""A person's rules for commands: what they allow, what they deny, how they are written and offered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ConfigError
from holdfast.tools.permissions.command_rules import find_grant, parse_command_rule
from holdfast.tools.permissions.reading_commands import why_not_reading_one

SHELL_TEXT = st.text(alphabet="ab $`'\"\\|&;<>(){}*?[]~!#=\n-/", max_size=60)


def granted(command, *rules, usual="write"):
    parsed = [parse_command_rule(rule, "x") for rule in rules]
    found = find_grant(parsed, command, usual=usual, reads=lambda one: not why_not_reading_one(one))
    return found.access if found else None


@pytest.mark.parametrize(
    ("rule", "command", "is_allowed"),
    [
        ("Bash(npm run test:*)", "npm run test -- --watch", True),
        ("Bash(npm run test:*)", "npm run testing", False),
        ("Bash(npm run test:*)", "npm run test 2>&1 | tail -20", True),
        ("Bash(npm run test:*)", "npm run test && npm publish", False),
        ("Bash(npm run test:*)", "npm run test $(rm -rf ../y)", False),
        ("Bash(npm run test:*)", "npm run test > ../x", False),
        ("Bash(npm run test:*)", "LD_PRELOAD=x npm run test", False),
        ("Bash(npm run test:*)", "cd sub && npm run test", True),
        ("Bash(npm run test:*)", "'npm' r\\un \"test\"", True),
        ("Bash(npm run test:*)", "npm run *", False),
        ("Bash(npm run test:*)", "npm run test *", True),
        ("Bash(npm run test *)", "npm run test x", True),
        ("Bash(npm run test)", "npm run test x", False),
        ("Bash(npm run test)", "npm run test", True),
        ("Bash(python:*)", "env python x.py", False),
        ("Bash", "python x.py && sudo npm test > ../x", True),
        ("Bash(*)", 'echo "unclosed', True),
        ("Bash(npm test)", "ls", False),
    ],
)
def test_what_a_rule_allows(rule, command, is_allowed):
    assert granted(command, rule) == ("write" if is_allowed else None)


def test_commands_together_get_the_least_that_one_of_them_is_allowed():
    rules = ("Bash(a:*) with full", "Bash(b) with network", "Bash(b)", "Bash(c)")
    assert granted("a x", *rules) == "full"
    assert granted("a x && b", *rules) == "network"
    assert granted("a x && b | c", *rules) == "write"
    assert granted("a x && b | c", *rules, usual="network") == "network"
    assert granted("a x; d", *rules) is None
    assert granted("a x; d $x", "Bash with network", *rules) == "network"


@pytest.mark.parametrize(
    "command",
    [
        "curl x",
        "c\\url x",
        "'curl' x",
        "/usr/bin/curl x",
        "./curl x",
        "env curl x",
        "ls | xargs curl",
        "sh -c 'curl x'",
        "echo $(curl x)",
        "echo `curl x`",
        "find . -exec curl {} +",
        "sudo timeout 5 curl x",
        "for f in a; do curl $f; done",
        "ls\ncurl x",
        "cu\\\nrl x; curl y",
    ],
)
def test_a_rule_finds_its_words_wherever_they_stand(command):
    assert parse_command_rule("Bash(curl:*)", "x").finds(command)


@pytest.mark.parametrize(
    ("rule", "command", "part"),
    [
        ("Bash(git push:*)", "git -C sub --no-pager push origin", "git -C sub --no-pager push origin"),
        ("Bash(git push:*)", "ls && git push origin; ls", "git push origin"),
        ("Bash(git push:*)", "grep -n 'git push' main.py", ""),
        ("Bash(git push:*)", "grep -n 'git push' main.py | xargs git push", "xargs git push"),
        ("Bash(git push:*)", "bash -c 'git push'", "bash -c 'git push'"),
        ("Bash(cat:*)", "find . -exec cat {} +", "find . -exec cat {} +"),
        ("Bash(cat:*)", "cat a", "cat a"),
        ("Bash(git push:*)", "git log --grep push", ""),
        ("Bash(git push:*)", "git pushx", ""),
        ("Bash(git push)", "git push origin", ""),
        ("Bash(git push)", "git push && ls", "git push"),
        ("Bash(make deploy)", "make -j 4 deploy", "make -j 4 deploy"),
        ("Bash", "anything $x", "anything $x"),
    ],
)
def test_the_part_that_a_rule_is_about(rule, command, part):
    assert parse_command_rule(rule, "x").finds(command) == part


@given(SHELL_TEXT)
def test_no_text_makes_a_rule_fail(text):
    rule = parse_command_rule("Bash(a b:*)", "x")
    assert isinstance(rule.finds(text), str)
    assert rule.finds(f"{text}\na b")
    assert granted(text, "Bash(a)") in (None, "write")
    assert granted(f"{text}\n$x", "Bash(a)", "Bash(b:*)") is None


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("git show", "x: `git show` is not a rule"),
        ("Bash()", "x: `Bash()` cannot be read as a command: a command is missing in it"),
        ("Bash(a && b)", "x: `Bash(a && b)` should name one command"),
        ("Bash(a > b)", "x: `Bash(a > b)` cannot be read as a command: `>` reads or writes"),
        ("Bash(a 'b)", "x: `Bash(a 'b)` cannot be read as a command: `'` makes it more"),
        ("Bash(a * b)", "x: `Bash(a * b)` contains a wildcard"),
        ("Bash(a) with write", "x: `Bash(a) with write` can only end in"),
        ("Bash(a) with everything", "x: `Bash(a) with everything` can only end in"),
    ],
)
def test_a_bad_rule_is_refused_with_a_sentence(rule, sentence):
    with pytest.raises(ConfigError) as error:
        parse_command_rule(rule, "x")
    assert error.value.message.startswith(sentence)
    assert error.value.hint
