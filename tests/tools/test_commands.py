"""The command classifier against its table, and rules that a person adds."""

from collections import Counter
from pathlib import Path

import pytest

from holdfast.errors import ConfigError
from holdfast.tools.commands import (
    CommandRules,
    Judgement,
    built_in,
    judge,
    parse_rules,
    pattern_for,
)

ROOT = "/srv/project"
TABLE = Path(__file__).with_name("commands.tsv")


def rows() -> list[tuple[str, str]]:
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("# ")]
    return [
        (verdict, command.replace("⏎", "\n")) for verdict, command, _ in (line.split("\t") for line in lines)
    ]


def judged(command: str, rules: CommandRules | None = None, cwd: str = ROOT) -> Judgement:
    return judge(command, root=ROOT, cwd=cwd, rules=rules or built_in())


def allowing(*patterns: str, **others: list[str]) -> CommandRules:
    return parse_rules({"allow": list(patterns), **others}, "holdfast.toml")


def test_the_table_is_large_and_balanced():
    counts = Counter(verdict for verdict, _ in rows())
    assert len({command for _, command in rows()}) == len(rows()) >= 300
    assert min(counts["allow"], counts["ask"], counts["deny"]) >= 100


@pytest.mark.parametrize(("wanted", "command"), rows(), ids=[f"{n}" for n in range(len(rows()))])
def test_the_table(wanted, command):
    found = judged(command)
    assert found.verdict == wanted, (command, found)


def test_fault_11_git_show_passes_and_a_delete_outside_the_root_does_not():
    assert judged("git show HEAD").verdict == "allow"
    assert judged("rm -rf ../y").verdict == "deny"


def test_the_reason_and_the_part_are_those_of_the_worst_command():
    found = judged("ls && git push && rm -rf ../y; cat a")
    assert found == Judgement("deny", "it deletes everything below `../y`, outside the root", "rm -rf ../y")


def test_a_relative_path_counts_from_the_folder_that_the_command_runs_in():
    assert judged("cat ../a.txt", cwd=f"{ROOT}/src").verdict == "allow"
    assert judged("cat ../../a.txt", cwd=f"{ROOT}/src").verdict == "ask"
    assert judged("cat a.txt", cwd="/elsewhere").verdict == "ask"
    assert judged("cat a.txt", cwd=ROOT + "2").verdict == "ask"


def test_folders_beside_the_root_belong_to_it():
    rules = parse_rules({"folders": ["/srv/other"]}, "holdfast.toml")
    assert judged("cat ../other/a.txt", rules).verdict == "allow"
    assert judged("cat ../third/a.txt", rules).verdict == "ask"


@pytest.mark.parametrize(
    ("pattern", "command", "wanted"),
    [
        ("Bash(npm run test:*)", "npm run test -- --watch", "allow"),
        ("Bash(npm run test:*)", "npm run testing", "ask"),
        ("Bash(npm run test:*)", "npm run test && npm publish", "ask"),
        ("Bash(npm run test:*)", "npm run test $(rm -rf ../y)", "deny"),
        ("Bash(npm run test:*)", "npm run test > ../x", "ask"),
        ("Bash(npm run test:*)", "LD_PRELOAD=x npm run test", "ask"),
        ("Bash(npm run test:*)", "cd sub && npm run test", "allow"),
        ("Bash(npm run test:*)", "'npm' r\\un \"test\"", "allow"),
        ("Bash(npm run test *)", "npm run test x", "allow"),
        ("Bash(npm run test)", "npm run test x", "ask"),
        ("Bash(git push)", "git push --force", "ask"),
        ("Bash(cat:*)", "cat /etc/hosts", "ask"),
        ("Bash(cat /etc/hosts:*)", "cat /etc/hosts", "allow"),
        ("Bash(cat /etc/hosts:*)", "cat /etc/hosts /etc/passwd", "ask"),
        ("Bash(git grep:*)", "git grep -Osh x", "ask"),
        ("Bash(rm:*)", "rm -rf ../y", "deny"),
        ("Bash(rm -rf ../y)", "rm -rf ../y", "allow"),
        ("Bash(rm -rf ../y)", "rm -rf ../y ../z", "deny"),
        ("Bash(rm -rf ../y)", "rm -rf ../y; rm -rf ../z", "deny"),
        ("Bash(sudo:*)", "sudo apt install x", "ask"),
        ("Bash(sudo apt install:*)", "sudo apt install x", "allow"),
        ("Bash(env:*)", "env python x.py", "ask"),
        ("Bash(python:*)", "env python x.py", "allow"),
        ("Bash(bash -c:*)", "bash -c 'python x.py'", "ask"),
        ("Bash", "python x.py && sudo npm test > ../x", "allow"),
        ("Bash", "python x.py | sh", "ask"),
        ("Bash", "$x", "ask"),
        ("Bash(*)", 'echo "unclosed', "ask"),
        ("Bash(*)", "rm -rf ../y", "deny"),
    ],
)
def test_what_a_persons_allow_covers(pattern, command, wanted):
    assert judged(command, allowing(pattern)).verdict == wanted


def test_deny_beats_ask_beats_allow():
    rules = allowing("Bash(git push:*)", "Bash(git log)", ask=["Bash(git log:*)"], deny=["Bash(git push:*)"])
    assert judged("git push", rules).verdict == "deny"
    assert judged("git log", rules) == Judgement("ask", "the rule `Bash(git log:*)` asks about it", "git log")
    assert judged("git status", rules).verdict == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "curl x",
        "c\\url x",
        "/usr/bin/curl x",
        "./curl x",
        "env curl x",
        "ls | xargs curl",
        "sh -c 'curl x'",
        "echo $(curl x)",
        "find . -exec curl {} +",
        "sudo timeout 5 curl x",
    ],
)
def test_a_persons_deny_sees_through_everything(command):
    assert judged(command, parse_rules({"deny": ["Bash(curl:*)"]}, "x")).verdict == "deny"


def test_a_persons_deny_of_a_sub_command_sees_past_the_options_before_it():
    rules = parse_rules({"deny": ["Bash(git push:*)"]}, "x")
    assert judged("git -C sub --no-pager push origin", rules).verdict == "deny"


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"alow": []}, "holdfast.toml: unknown key `permissions.alow`"),
        (
            {"allow": "Bash(x)"},
            "holdfast.toml: `permissions.allow` should be a list of texts, found the text `Bash(x)`",
        ),
        ({"deny": [3]}, "holdfast.toml: `permissions.deny` should hold only texts, found the number 3"),
        ({"allow": ["git show"]}, "holdfast.toml: `permissions.allow`: `git show` is not a pattern"),
        ({"allow": ["Bash()"]}, "holdfast.toml: `permissions.allow`: `Bash()` should name one command"),
        (
            {"allow": ["Bash(a && b)"]},
            "holdfast.toml: `permissions.allow`: `Bash(a && b)` should name one command",
        ),
        (
            {"allow": ["Bash(a > b)"]},
            "holdfast.toml: `permissions.allow`: `Bash(a > b)` should name one command",
        ),
        (
            {"allow": ["Bash(a 'b)"]},
            "holdfast.toml: `permissions.allow`: `Bash(a 'b)` cannot be read as a command: `'` is missing",
        ),
        (
            {"ask": ["Bash(a * b)"]},
            (
                "holdfast.toml: `permissions.ask`: `Bash(a * b)` holds a variable, a substitution"
                " or a `*` in the middle"
            ),
        ),
        ({"folders": ["x"]}, "holdfast.toml: the folder `x` in `permissions.folders` is not absolute"),
    ],
    ids=range(10),
)
def test_bad_rules_are_refused_with_a_sentence(table, sentence):
    with pytest.raises(ConfigError) as error:
        parse_rules(table, "holdfast.toml")
    assert error.value.message == sentence


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git push origin main", "Bash(git push:*)"),
        ("npm run test -- --watch", "Bash(npm run test:*)"),
        ("npm install left-pad", "Bash(npm install:*)"),
        ("go test ./...", "Bash(go test:*)"),
        ("pytest -x tests", "Bash(pytest:*)"),
        ("make lint", "Bash(make lint:*)"),
        ("gh pr view 3", "Bash(gh pr:*)"),
        ("python x.py", "Bash(python x.py)"),
        ("rm -rf build", "Bash(rm -rf build)"),
        ("bash -c 'a b'", "Bash(bash -c 'a b')"),
        ("find . -name '*.pyc' -delete", "Bash(find . -name '*.pyc' -delete)"),
        ("./run.sh --all", "Bash(./run.sh --all)"),
        ("A=b pytest > x", "Bash(pytest:*)"),
        ("a | b", ""),
        ("a 'b", ""),
        ("$x", ""),
        ("rm $x", ""),
        ("x=1", ""),
    ],
)
def test_the_pattern_that_is_proposed(command, pattern):
    assert pattern_for(command) == pattern


def test_a_proposed_pattern_allows_its_command():
    for wanted, command in rows():
        # A prefix lifts the command's own question, not that of a place or an option that it names.
        if wanted == "ask" and (pattern := pattern_for(command)) and not pattern.endswith(":*)"):
            found = judged(command, allowing(pattern))
            beside = any(mark in command for mark in ("=", "<", ">"))  # its variables and redirections
            assert found.verdict == "allow" or beside, (command, found)
