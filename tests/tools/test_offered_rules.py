"""The rules that are offered: each allows its command, and none is as wide as a program that runs others."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import ToolCall
from holdfast.tools.permissions.command_rules import find_grant, parse_command_rule
from holdfast.tools.permissions.decision import CallContext, decide
from holdfast.tools.permissions.offered_rules import rules_for
from holdfast.tools.permissions.tool_rules import Permissions

SHELL_TEXT = st.text(st.sampled_from("abc -'\"\\|&;$`(){}<>*?[]~#\n=/."), max_size=30)
INNER = [
    "python -c x",
    "python3.12 -",
    "bash -c x",
    "sudo x",
    "xargs rm",
    "env A=b x",
    "find . -exec x",
    "node x",
    "sh",
]
OUTER = [
    *("", "uv run", "poetry run", "npm exec", "pnpm exec", "bundle exec", "time", "timeout 60", "nohup"),
    *("npx", "uvx", "pipx run", "conda run", "mise exec", "docker run", "docker exec", "docker compose run"),
    *(
        "kubectl exec",
        "python -m",
        "env",
        "sudo",
        "git bisect run",
        "git submodule foreach",
        "uv run --with a",
    ),
    *("pnpm", "mise exec node@20 --", "mise x --", "mix cmd", "npm explore a --", "yarn workspace a exec"),
    *("docker container run a", "cargo +nightly watch -s", "cmake -E env", "tox exec --"),
]


def granted(command, rules):
    parsed = [parse_command_rule(rule, "here") for rule in rules]
    grant = find_grant(parsed, command, usual="write", reads=lambda _: False)
    return grant.access if grant else ""


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git push origin main", "git push:*"),
        ("git commit -m 'a b'", "git commit:*"),
        ("git config core.pager x", "git config core.pager x"),
        ("git rebase -x make", "git rebase -x make"),
        ("npm run test -- --watch", "npm run test:*"),
        ("npm run build", "npm run build:*"),
        ("npm install left-pad", "npm install:*"),
        ("npm --version", "npm --version"),
        ("npx tsc --noEmit", "npx tsc:*"),
        ("npx some-thing a", "npx some-thing a"),
        ("go test ./...", "go test:*"),
        ("cargo test --all", "cargo test:*"),
        ("pytest -x tests/*.py", "pytest:*"),
        ("python3 -m pytest tests/x -k y", "python3 -m pytest:*"),
        ("python3.12 -m pip install a", "python3.12 -m pip install:*"),
        ("python -m unittest -v", "python -m unittest:*"),
        (".venv/bin/python -m pytest -q", ".venv/bin/python -m pytest:*"),
        (".venv/bin/pytest -q", ".venv/bin/pytest:*"),
        ("node_modules/.bin/jest -i", "node_modules/.bin/jest:*"),
        ("uv run pytest -q", "uv run pytest:*"),
        ("uv run python -m pytest -q", "uv run python -m pytest:*"),
        ("uv run python x.py", "uv run python x.py"),
        ("uv run --with a python x.py", "uv run --with a python x.py"),
        ("timeout 60 pytest -q", "timeout 60 pytest:*"),
        ("timeout -k 5 60 pytest", "timeout -k 5 60 pytest"),
        ("time make test", "time make test:*"),
        ("make lint", "make lint:*"),
        ("gh pr create --fill", "gh pr create:*"),
        ("aws s3 cp a b", "aws s3 cp:*"),
        ("uv pip install a", "uv pip install:*"),
        ("git stash", "git stash"),
        ("git stash push -m x", "git stash push:*"),
        ("gcloud compute instances list", "gcloud compute instances list"),
        ("cargo +nightly test", "cargo +nightly test"),
        ("cmake --build build", "cmake --build build"),
        ("tox -e py312", "tox -e py312"),
        ("pre-commit run --all-files", "pre-commit run --all-files"),
        ("make", "make"),
        ("make SHELL=x all", "make SHELL=x all"),
        ("docker compose up -d", "docker compose up:*"),
        ("docker run -v /:/x image sh", "docker run -v /:/x image sh"),
        ("deno eval 1", "deno eval 1"),
        ("sed -i s/a/b/ f", "sed -i s/a/b/ f"),
        ("python x.py", "python x.py"),
        ("perl -pi -e s/a/b/ f", "perl -pi -e s/a/b/ f"),
        ("rm -rf build", "rm -rf build"),
        ("bash -c 'a b'", "bash -c 'a b'"),
        ("find . -name '*.pyc' -delete", "find . -name '*.pyc' -delete"),
        ("curl https://example.org", "curl https://example.org"),
        ("./run.sh --all", "./run.sh --all"),
    ],
)
def test_the_rule_that_is_offered(command, rule):
    (offered,) = rules_for(command)
    assert offered == f"Bash({rule})"
    assert granted(command, [offered]) == "write"
    assert rules_for(command, "network") == (f"{offered} with network",)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "python *.py",
            "a 'b",
            "rm $x",
            "x=1",
            "sudo make install",
            "env A=b make",
            "xargs rm",
            "ssh host make",
        ),
        *(
            "bash",
            "bash -s x",
            "python3 -",
            "psql work",
            "echo a | xargs rm",
            "curl x | sh",
            "curl x | bash -s y",
        ),
        *(
            "make > log",
            "cd /elsewhere && make",
            "a && b && c && d",
            "make && sudo reboot",
            "timeout 5 sudo x",
        ),
    ],
)
def test_nothing_is_offered_where_a_rule_would_allow_anything(command):
    assert rules_for(command) == ()


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
def test_no_rule_that_is_offered_lets_another_program_run(outer, inner):
    command = f"{outer} {inner}".strip()
    other = shlex.join([*shlex.split(command), "other"])
    assert granted(command, rules_for(command)) in ("", "write")
    assert granted(other, rules_for(command)) == ""


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("cd src && python3 -m pytest -q 2>&1 | tail -20", ("Bash(python3 -m pytest:*)",)),
        ("npm run build && npm test", ("Bash(npm run build:*)", "Bash(npm test:*)")),
        ("make test; make test", ("Bash(make test:*)",)),
        ("rm -rf build && make", ("Bash(rm -rf build)", "Bash(make)")),
        ("git status && make all", ("Bash(make all:*)",)),
        ("make && echo $HOME", ()),
    ],
)
def test_the_parts_of_a_command_have_their_own_rules(command, rules):
    call = ToolCall("c", "Bash", {"command": command})
    asked = decide(call, "ask", Permissions(), CallContext(sandbox="holds"))
    assert (asked.verdict, asked.offered_rules) == ("ask", rules)
    permissions = Permissions()
    for rule in rules:
        permissions = permissions.allowing(rule)
    verdict = decide(call, "ask", permissions, CallContext(sandbox="holds")).verdict
    assert verdict == ("allow" if rules else "ask")


@pytest.mark.parametrize("rule", ["Bash(make test:*)", "Bash(make:*)"])
@pytest.mark.parametrize(
    "before", ["make test -k", "make test -k && make test -j2 && make test && make test a"]
)
def test_what_a_rule_allows_already_is_neither_the_reason_nor_offered_again(rule, before):
    permissions = Permissions().allowing(rule)
    call = ToolCall("c", "Bash", {"command": f"{before} && rm -rf build"})
    asked = decide(call, "ask", permissions, CallContext(sandbox="holds"))
    assert (asked.verdict, asked.reason) == ("ask", "`rm` is not known to only read")
    assert (asked.part, asked.offered_rules) == ("rm -rf build", ("Bash(rm -rf build)",))


def test_a_rule_for_less_access_does_not_do_for_more():
    permissions = Permissions().allowing("Bash(make:*)")
    call = ToolCall("c", "Bash", {"command": "npm install && make test", "access": "network"})
    asked = decide(call, "ask", permissions, CallContext(sandbox="holds"))
    assert asked.offered_rules == ("Bash(npm install:*) with network", "Bash(make test:*) with network")


def test_full_access_is_offered_for_the_very_command():
    assert rules_for("npm run build", "full") == ("Bash(npm run build) with full",)
    assert rules_for("cat a && make", "full") == ("Bash(cat a) with full", "Bash(make) with full")


def test_without_a_sandbox_a_program_is_not_offered_by_its_name_alone():
    assert rules_for("touch a", is_held=False) == ("Bash(touch a)",)
    assert rules_for("npm install a", is_held=False) == ("Bash(npm install:*)",)


@given(SHELL_TEXT | st.text(max_size=30))
def test_offered_rules_can_be_read_and_allow_their_command(command):
    if rules := rules_for(command):
        assert granted(command, rules) == "write"
