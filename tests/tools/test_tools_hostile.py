"""What somebody would try who wants more than he was allowed, across permissions, shell and sandbox."""

import asyncio
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from holdfast.events import ApprovalGiven
from holdfast.messages import ToolCall
from holdfast.tools.permissions.decision import CallContext, decide
from holdfast.tools.permissions.gate import ApprovalAnswer, PermissionGate, call_context
from holdfast.tools.permissions.tool_rules import Permissions, parse_permissions
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.processes import is_secret_name
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace
from support.sandboxes import sandbox_or_skip

ROOT = "/srv/project"


class Person:
    def __init__(self, *answers):
        self.answers = list(answers)

    async def approve(self, question):  # noqa: ARG002 - the protocol's
        return self.answers.pop(0)


def bash(command, call="c1"):
    return ToolCall(call, "Bash", {"command": command})


def check(gate, call):
    return asyncio.run(gate.check(call, CallContext()))


def run(root, command, **options):
    with Shell(**options) as shell:
        return asyncio.run(bash_tool(shell).run({"command": command}, Workspace([root]))).envelope


# --- Permissions


def test_an_allowance_does_not_pass_to_another_call_with_its_id():
    """Some providers number the calls of each reply from one."""
    gate = PermissionGate(Permissions(), Person(ApprovalAnswer("once"), ApprovalAnswer("deny")))
    assert check(gate, bash("npm test")).refusal is None
    assert check(gate, bash("npm publish")).refusal
    resumed = PermissionGate(Permissions(), Person(ApprovalAnswer("deny")))
    resumed.restore(ApprovalGiven("c1", "once"), bash("npm test"))
    assert check(resumed, bash("npm publish")).refusal


def test_an_allowance_of_an_unknown_call_is_asked_about_again():
    gate = PermissionGate(Permissions(), Person(ApprovalAnswer("deny")))
    gate.restore(ApprovalGiven("c1", "once"))
    assert check(gate, bash("npm publish")).refusal


@pytest.mark.parametrize(
    "command",
    ["echo x > src/a.py", "sed -i s/a/b/ src/a.py", "truncate -s 0 src/a.py", "cp a b && ls", "mkdir new"],
    ids=str,
)
def test_a_command_that_writes_is_a_change_that_ask_mode_asks_about(command):
    scene = CallContext(sandbox="holds")
    assert decide(bash(command), "ask", Permissions(), scene).verdict == "ask"
    assert decide(bash(command), "edit", Permissions(), scene).verdict == "allow"


def test_what_writes_to_no_file_is_not_asked_about_in_ask_mode():
    for command in ("ls 2>/dev/null", "git log | head", "echo x > /dev/null", "sed -n 1p a"):
        assert decide(bash(command), "ask", Permissions(), CallContext()).verdict == "allow", command


@pytest.fixture
def linked(tmp_path):
    """A project with links of all sorts in it, as anybody may commit them."""
    root, other = tmp_path / "root", tmp_path / "other"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("x\n")
    (root / "many").mkdir()
    (other / "deep").mkdir(parents=True)
    (other / "secret").write_text("s\n")
    (root / "notes").symlink_to(other / "secret")
    (root / "out").symlink_to(other)
    (root / "deep").symlink_to(other / "deep")
    (root / "many" / "one.txt").symlink_to(other / "secret")
    (root / "near").symlink_to("src/a.py")
    (root / "settings").symlink_to(".git")
    return root


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("cat notes", "ask"),
        ("cat out/secret", "ask"),
        ("cat deep/../secret", "ask"),
        ("cd out && cat secret", "ask"),
        ("cat many/*", "ask"),
        ("cat */one.txt", "ask"),
        ("cat < notes", "ask"),
        ("x=notes; cat $x", "ask"),
        ("grep x -f notes", "ask"),
        ("grep x -fnotes", "ask"),
        ("grep x --file=notes", "ask"),
        ("grep -R x .", "ask"),
        ("grep -r x .", "allow"),
        ("cat [a-z]otes", "ask"),
        ("cat .*/secret", "ask"),
        ("cat */../../other/secret", "ask"),
        ("ls /", "ask"),
        ("ls ~", "ask"),
        ("diff -r many src", "ask"),
        ("sort --files0-from=src/a.py", "ask"),
        ("mypy src", "ask"),
        ("cargo --version", "ask"),
        ("ps e", "ask"),
        ("printenv", "ask"),
        ("echo x > near", "ask"),
        ("cd src && cat ../near", "ask"),
        ("cat near", "allow"),
        ("cat src/*.py", "allow"),
        ("cat missing/x", "allow"),
        ("cat missing/*", "allow"),
        ("sed -n '/x/p' src/a.py", "allow"),
        ("python --version", "allow"),
        ("ls", "allow"),
    ],
    ids=str,
)
def test_without_a_sandbox_a_path_in_a_command_counts_as_the_place_it_leads_to(linked, command, verdict):
    workspace = Workspace([linked])
    scene = call_context(bash(command), workspace, ".", is_read_only=False)
    assert decide(bash(command), "edit", Permissions(), scene).verdict == verdict


def test_a_folder_that_a_person_named_may_be_a_link(linked):
    permissions = parse_permissions({"folders": [str(linked / "out")]}, "x")
    scene = call_context(bash("x"), Workspace([linked]), ".", is_read_only=False, folders=permissions.folders)
    assert decide(bash("cat out/secret"), "edit", permissions, scene).verdict == "allow"


# --- Shell and sandbox


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("PGPASSWORD", True),
        ("SSHPASS", True),
        ("GITHUB_PAT", True),
        ("NPM_AUTH", True),
        ("APP_JWT", True),
        ("OPENAI_API_KEY", True),
        ("PATH", False),
        ("COMPASS", False),
        ("KEYBOARD", False),
        ("SSH_AUTH_SOCK", False),
        ("PATTERN", False),
    ],
    ids=str,
)
def test_names_that_say_secret(name, is_secret):
    assert is_secret_name(name) == is_secret


@pytest.fixture
def root():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name).resolve()


def git(folder, *words):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.mark.parametrize("command", ["cd data && git status", "git -C data status"], ids=str)
def test_a_repository_hidden_among_files_runs_nothing(root, command):
    """A bare repository can be committed into another one, settings and all; Git would find it by its files."""
    git(root, "init", "-q")
    git(root, "init", "-q", "--bare", "data")
    monitor = root / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    monitor.chmod(0o755)
    git(root / "data", "config", "core.bare", "false")
    git(root / "data", "config", "core.worktree", ".")
    git(root / "data", "config", "core.fsmonitor", str(monitor))
    run(root, command)
    assert not (root / "ran").exists()


@pytest.mark.parametrize("passes", [True, False], ids=["named", "not named"])
def test_settings_for_git_that_were_there_are_passed_on_whole_or_not_at_all(root, passes):
    git(root, "init", "-q")
    given = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Ann",
    }
    named = [name for name in given if passes]
    command = "git config user.name || echo nobody; git config safe.bareRepository"
    said = run(root, command, environment=given, passes=named)
    assert said.text == f"Exit code: 0\n{'Ann' if passes else 'nobody'}\nexplicit"


@pytest.mark.parametrize(
    "attempt",
    [
        "mv .git g && cp -r g .git && echo '[x]' >> .git/config",
        "mv .git/hooks .git/h; mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "rm -rf .git; mkdir -p .git && echo '[x]' > .git/config",
    ],
    ids=["moved", "hooks", "removed"],
)
def test_settings_of_git_cannot_be_put_aside_in_bubblewrap(root, attempt):
    sandbox = sandbox_or_skip("bubblewrap")
    git(root, "init", "-q")
    settings = (root / ".git" / "config").read_text()
    run(root, attempt, sandbox=sandbox)
    assert (root / ".git" / "config").read_text() == settings
    assert not (root / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_parts_of_a_repository_that_name_programs_cannot_be_planted(root, kind):
    sandbox = sandbox_or_skip(kind)
    git(root, "init", "-q")
    shutil.rmtree(root / ".git" / "hooks")
    attempt = (
        "git --version; mkdir -p evil/hooks .git/hooks; echo '#!/bin/sh' > .git/hooks/pre-commit; "
        "echo ../evil > .git/commondir; touch made"
    )
    said = run(root, attempt, sandbox=sandbox)
    assert (root / "made").exists()
    assert not (root / ".git" / "hooks").exists()
    assert not (root / ".git" / "commondir").exists()
    assert "commondir` was removed: it names programs that Git runs" in said.text


@pytest.mark.parametrize(
    ("attempt", "path"),
    [
        ("git --version; echo ../evil > .git/commondir; chmod 555 .git", ".git/commondir"),
        ("git --version; mkdir .git/modules/sub/hooks", ".git/modules/sub/hooks"),
        ("git --version; echo x > .git/modules/sub/commondir", ".git/modules/sub/commondir"),
    ],
    ids=["mode", "hooks", "commondir"],
)
def test_what_is_planted_is_removed_wherever_it_is_and_whatever_the_mode(root, attempt, path):
    sandbox = sandbox_or_skip("bubblewrap")
    git(root, "init", "-q")
    (root / ".git" / "modules" / "sub").mkdir(parents=True)
    (root / ".git" / "modules" / "sub" / "HEAD").write_text("ref: refs/heads/main\n")
    run(root, attempt, sandbox=sandbox)
    assert not (root / path).exists()


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_a_link_to_hooks_or_to_the_repository_is_put_back(root, kind):
    sandbox = sandbox_or_skip(kind)
    git(root, "init", "-q", "--separate-git-dir", str(root / "store"))
    (root / ".git").unlink()
    (root / ".git").symlink_to("store")
    shutil.rmtree(root / "store" / "hooks")
    (root / "shared-hooks").mkdir()
    (root / "store" / "hooks").symlink_to("../shared-hooks")
    run(root, "git --version; rm .git/hooks && mkdir .git/hooks; rm .git; mkdir .git", sandbox=sandbox)
    assert (root / ".git").is_symlink()
    assert (root / ".git" / "hooks").is_symlink()


def test_the_file_of_a_submodule_cannot_point_elsewhere_in_bubblewrap(root):
    sandbox = sandbox_or_skip("bubblewrap")
    git(root, "init", "-q")
    (root / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./x\n')
    (root / "sub").mkdir()
    (root / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    run(root, "rm -f sub/.git; mkdir sub/.git; echo x > sub/.git; mv sub/.git y; touch made", sandbox=sandbox)
    assert (root / "made").exists()
    assert (root / "sub" / ".git").read_text() == "gitdir: ../.git/modules/sub\n"


@pytest.mark.parametrize("inner", ["modules/sub", "modules/deep/sub", "worktrees/tree"])
def test_repositories_in_a_repository_are_guarded_in_bubblewrap(root, inner):
    sandbox = sandbox_or_skip("bubblewrap")
    git(root, "init", "-q")
    folder = root / ".git" / inner
    folder.mkdir(parents=True)
    for name in ("HEAD", "config", "commondir"):
        (folder / name).write_text("as it was\n")
    top = inner.split("/")[0]
    attempt = (
        f"git --version; for f in config commondir; do echo evil > .git/{inner}/$f; done; "
        f"mv .git/{inner} .git/x; mv .git/{top} .git/y; mkdir -p .git/{inner}; echo evil > .git/{inner}/config; "
        "touch .git/made"
    )
    run(root, attempt, sandbox=sandbox)
    assert (root / ".git" / "made").exists()
    assert (folder / "config").read_text() == "as it was\n"
    assert (folder / "commondir").read_text() == "as it was\n"


def test_a_command_in_the_background_does_not_write_to_a_repository_in_bubblewrap(root):
    sandbox = sandbox_or_skip("bubblewrap")
    git(root, "init", "-q")
    with Shell(sandbox=sandbox) as shell:
        job = shell.start("git --version; echo x > .git/commondir; touch made", Workspace([root]))
        job.join(60)
    assert (root / "made").exists()
    assert not (root / ".git" / "commondir").exists()


def test_the_file_of_a_worktree_cannot_point_elsewhere_in_bubblewrap(root):
    sandbox = sandbox_or_skip("bubblewrap")
    (root / ".git").write_text("gitdir: /nowhere\n")
    assert run(root, "cat .git", sandbox=sandbox).text == "Exit code: 0\ngitdir: /nowhere"
    run(
        root, "echo 'gitdir: evil' > .git; mv .git x; rm -f .git; echo 'gitdir: evil' > .git", sandbox=sandbox
    )
    assert (root / ".git").read_text() == "gitdir: /nowhere\n"
