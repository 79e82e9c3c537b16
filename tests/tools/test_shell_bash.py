"""Bash with real commands: what it says, where it stands afterwards, and what never hangs it."""

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest

from holdfast.compaction.facts.call_results import exit_code, outcome_of
from holdfast.messages import Text, ToolCall, ToolMessage
from holdfast.packing.profile import CODE
from holdfast.packing.rendering.digests import choose_lines
from holdfast.tool_use import recognize_tool
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.shell import LONGEST_COMMAND, Shell, ShellLimits
from holdfast.tools.workspace import Workspace


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    return tmp_path / "root"


@pytest.fixture
def workspace(root):
    return Workspace([root])


@pytest.fixture
def shell():
    with Shell() as shell:
        yield shell


def run(shell, workspace, command, **arguments):
    result = asyncio.run(bash_tool(shell).run({"command": command, **arguments}, workspace))
    msgspec.json.encode(result.envelope)
    return result.envelope


def printed(envelope):
    return envelope.text.split("\n", 1)[1]


def test_the_order_of_both_streams_is_that_of_the_writing(shell, workspace):
    envelope = run(shell, workspace, "for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    assert envelope.text == "Exit code: 0\nout 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3"
    assert envelope.status == "success"


def test_a_failing_command_is_no_failure_of_the_tool(shell, workspace):
    envelope = run(shell, workspace, "echo no >&2; exit 3")
    assert envelope.status == "success"
    assert envelope.error is None
    assert envelope.text == "Exit code: 3\nno"
    assert envelope.data["exit_code"] == 3


@pytest.mark.parametrize("command", ["true", "exit 3", "kill -9 $$", "sleep 9"], ids=str)
def test_views_and_digests_read_the_exit_code(shell, workspace, command):
    envelope = run(shell, workspace, f"seq 100; {command}", timeout=0.5)
    call = ToolCall("c1", "Bash", {"command": f"seq 100; {command}"})
    use = recognize_tool(call)
    assert exit_code(envelope.text) == envelope.data["exit_code"]
    outcome = outcome_of(use, ToolMessage("c1", "Bash", (Text(envelope.text),)), envelope.text)
    assert outcome.exit_code == envelope.data["exit_code"]
    assert outcome.is_failed == (command != "true")
    chosen = [envelope.text.split("\n")[n] for n in choose_lines(use, envelope.text.split("\n"), CODE)]
    assert any(line.startswith("Exit code: ") for line in chosen)
    assert "100" in chosen


def test_the_folder_stays_from_one_command_to_the_next(shell, workspace, root):
    moved = run(shell, workspace, "cd sub/deep")
    assert moved.text == "Exit code: 0\nWorking directory: sub/deep\n(no output)"
    assert moved.data["cwd"] == "sub/deep"
    here = run(shell, workspace, "pwd; echo $PWD; cd ..")
    assert printed(here).split("\n")[1:] == [str(root / "sub" / "deep")] * 2
    assert run(shell, workspace, "cd ..; exit 4").data["cwd"] == "."
    assert run(shell, workspace, "set -e; cd sub; false; cd deep").data["cwd"] == "sub"
    assert run(shell, workspace, "(cd deep)").data["cwd"] == "sub"


def test_variables_functions_and_options_do_not_stay(shell, workspace):
    run(
        shell,
        workspace,
        "export A=1; f() { echo f; }; set -e; alias ls=false; shopt -s extglob; trap 'echo t' EXIT",
    )
    after = run(shell, workspace, "echo [$A]; false; f; shopt extglob; echo on")
    assert "[]" in after.text
    assert "f: command not found" in after.text
    assert after.text.endswith("extglob        \toff\non")


def test_a_cd_that_leads_out_is_undone_and_said(shell, workspace, root):
    run(shell, workspace, "cd sub")
    envelope = run(shell, workspace, "cd ../../outside && pwd")
    assert envelope.text.startswith("Exit code: 0\nThe working directory is still `sub`: `")
    assert "lies outside the workspace" in envelope.text
    assert printed(run(shell, workspace, "pwd")) == str(root / "sub")
    (root / "out").symlink_to(root.parent / "outside")
    assert run(shell, workspace, "cd ../out; pwd -P").data["cwd"] == "sub"


def test_a_folder_that_went_away_leads_back_to_the_root(shell, workspace, root):
    run(shell, workspace, "cd sub/deep")
    (root / "sub" / "deep").rmdir()
    assert printed(run(shell, workspace, "pwd")) == str(root)
    assert run(shell, workspace, "mkdir x; cd x; rmdir ../x").data["cwd"] == "."
    assert printed(run(shell, workspace, "pwd")) == str(root)


def test_a_second_root_can_be_worked_in(root, tmp_path):
    workspace = Workspace([root, tmp_path / "outside"])
    with Shell() as shell:
        assert run(shell, workspace, "cd ../outside").data["cwd"] == str(tmp_path / "outside")
        assert printed(run(shell, workspace, "pwd")) == str(tmp_path / "outside")


def test_a_resumed_shell_stands_where_the_old_one_stood(shell, workspace, root):
    run(shell, workspace, "cd sub")
    kept = run(shell, workspace, "cd deep").data
    with Shell() as resumed:
        resumed.restore(kept)
        assert printed(run(resumed, workspace, "pwd")) == str(root / "sub" / "deep")
        assert run(resumed, workspace, "true").data["output"] == "b4"
    with Shell() as elsewhere:
        elsewhere.restore({"cwd": "../outside", "output": 7})
        assert printed(run(elsewhere, workspace, "pwd")) == str(root)


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("exec bash -c 'echo in; exit 5'", 5, "in"),
        ("exec true", 0, "(no output)"),
        ("if then", 2, "syntax error near unexpected token `then'"),
        ("echo 'open", 2, "unexpected EOF while looking for matching"),
        ("cat <<'EOF'\na $x `b`\n\tc\nEOF\n", 0, "a $x `b`\n\tc"),
        ("echo one\n\necho two", 0, "one\ntwo"),
        ('echo $0 $# "$@"', 0, "bash 0"),
        ("yes | head -2", 0, "y\ny"),
        ("exec 1>&-; echo lost; echo kept >&2", 0, "kept"),
        ("exec >&- 2>&-; sleep 0.1; exit 6", 6, "(no output)"),
        ("set -x; echo hi", 0, "++ echo hi\nhi"),
        ("echo a > /dev/stdout; echo b > /dev/stderr", 0, "a\nb"),
        ("cat; echo read", 0, "read"),
        ("read x; echo $?", 0, "1"),
        ("printf 'no end'", 0, "no end"),
        ("nonesuch-program", 127, "command not found"),
        ("echo 'true; exit 9' > s.sh; bash s.sh", 9, "(no output)"),
        ("bash -c 'kill -TERM $$'", 143, "(as after SIGTERM)"),
        ("kill -9 $$", 137, "(killed by SIGKILL)"),
        ("[ -t 0 ] || [ -t 1 ] || echo none; ps -o tty= -p $$", 0, "none\n?"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_commands_of_all_kinds(shell, workspace, command, code, text):
    envelope = run(shell, workspace, command)
    assert envelope.data["exit_code"] == code
    assert text in envelope.text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"command": "echo \0"}, "`command` contains a NUL character"),
        ({"command": "  \n"}, "`command` of Bash is empty"),
        ({"command": "echo \ud800"}, "`command` contains half a character"),
        ({"command": "x" * (LONGEST_COMMAND + 1)}, "at most 100,000 are allowed"),
        ({"command": "true", "timeout": 601}, "`timeout` of Bash is wrong"),
        ({"command": "true", "timeout": 0}, "`timeout` of Bash is wrong"),
        ({"script": "true"}, "`command`"),
    ],
    ids=["nul", "empty", "surrogate", "long", "too much time", "no time", "name"],
)
def test_what_no_shell_can_run_is_said(shell, workspace, arguments, sentence):
    result = asyncio.run(bash_tool(shell).run(arguments, workspace)).envelope
    assert result.error is not None
    assert result.error.code == "INVALID_PARAM"
    assert sentence in result.text


def test_the_longest_command_runs(shell, workspace):
    command = "echo '" + "x" * (LONGEST_COMMAND - 7) + "'"
    assert run(shell, workspace, command).data["bytes"] == LONGEST_COMMAND - 6


def test_a_hostile_environment_changes_nothing(workspace, root):
    (root / "evil.sh").write_text("echo evil\n")
    hostile = {
        "PATH": os.environ["PATH"],
        "BASH_ENV": str(root / "evil.sh"),
        "ENV": str(root / "evil.sh"),
        "CDPATH": str(root / "sub"),
        "SHELLOPTS": "xtrace:noglob",
        "BASHOPTS": "extglob",
        "PS4": "$(echo evil)",
        "PROMPT_COMMAND": "echo evil",
        "BASH_FUNC_echo%%": "() { printf evil; }",
        "IFS": "o",
        "GLOBIGNORE": "*",
    }
    with Shell(environment=hostile) as shell:
        envelope = run(shell, workspace, "cd deep; set -x; echo foo *.sh; shopt extglob")
    assert "evil\n" not in envelope.text
    assert "++ echo foo evil.sh\nfoo evil.sh" in envelope.text
    assert "deep: No such file or directory" in envelope.text
    assert envelope.text.endswith("extglob        \toff")


def test_secrets_are_not_handed_to_commands_unless_named(workspace):
    given = {
        "PATH": os.environ["PATH"],
        "OPENAI_API_KEY": "s1",
        "AWS_SECRET_ACCESS_KEY": "s2",
        "GITHUB_TOKEN": "s3",
        "DB_PASSWORD": "s4",
        "KEYBOARD": "us",
        "SSH_AUTH_SOCK": "/nowhere",
    }
    with Shell(environment=given, passes=["GITHUB_TOKEN"]) as shell:
        names = set(printed(run(shell, workspace, "compgen -e")).split("\n"))
    assert {"GITHUB_TOKEN", "KEYBOARD", "SSH_AUTH_SOCK", "PATH"} <= names
    assert not {"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD"} & names


def test_nothing_waits_for_a_person(shell, workspace):
    envelope = run(
        shell,
        workspace,
        "git init -q . && git config user.email a@b && git config user.name n && touch f && git add f && "
        "git commit; git log 2>&1 | head -1; echo $PAGER $TERM $GIT_TERMINAL_PROMPT",
        timeout=20,
    )
    assert "Aborting commit due to empty commit message" in envelope.text
    assert envelope.text.endswith("cat dumb 0")


def test_one_command_at_a_time_in_one_shell_and_many_in_many(workspace, root):
    async def both(*shells):
        started = time.monotonic()
        tools = [bash_tool(shell) for shell in shells]
        calls = [
            tool.run({"command": f"echo {n} start; sleep 0.3; echo {n} end"}, workspace)
            for n, tool in enumerate(tools)
        ]
        texts = [result.envelope.text for result in await asyncio.gather(*calls)]
        assert texts == [f"Exit code: 0\n{n} start\n{n} end" for n in range(len(shells))]
        return time.monotonic() - started

    with Shell() as one, Shell() as two:
        assert asyncio.run(both(one, one)) >= 0.6
        asyncio.run(both(one, two, one, two))
        run(one, workspace, "cd sub")
        assert printed(run(two, workspace, "pwd")) == str(root)


def test_what_a_terminal_would_hide_is_not_shown(shell, workspace):
    script = r"printf 'a\e[31mred\e[0m\0\001\xff\n10%%\r50%%\r100%%\r\nmade\r\nb\bbo\bold\a\n'"
    envelope = run(shell, workspace, script)
    assert envelope.text.split("\n")[1:5] == ["ared␀␁\ufffd", "100%", "made", "bold␇"]
    assert "2 pieces of lines were written over" in envelope.text


def test_binary_output_is_no_trouble(shell, workspace):
    envelope = run(shell, workspace, "head -c 100000 /dev/urandom")
    assert envelope.data["bytes"] == 100_000
    assert all(char in "\n\t" or ord(char) >= 32 for char in envelope.text)


def test_an_output_that_is_too_large_for_the_disk_limit_stops_the_command(workspace):
    with Shell(limits=ShellLimits(text_bytes=1000, output_bytes=3_000_000)) as shell:
        envelope = run(shell, workspace, "yes; echo never", timeout=20)
        job = shell.jobs["b1"]
        assert job.output.size == 3_000_000
        assert Path(job.output.path).stat().st_size == 3_000_000
    assert envelope.status == "partial"
    assert "stopped because it printed too much" in envelope.text
    assert "(Not all of the output was kept: the limit of 3.0 MB was reached.)" in envelope.text
    assert envelope.data["stopped"] == "full"


def test_closing_leaves_nothing_on_the_disk(workspace):
    with Shell() as shell:
        run(shell, workspace, "echo x")
        asyncio.run(bash_tool(shell).run({"command": "sleep 60", "run_in_background": True}, workspace))
        folder = shell.jobs["b2"].output.path.parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert shell.jobs["b2"].output.path.stat().st_mode & 0o777 == 0o600
    assert not folder.exists()


def test_the_prompt_says_whether_there_is_a_sandbox(shell):
    assert "No sandbox" in bash_tool(shell).definition.description


def test_arguments_of_other_agents_are_ignored_and_named(shell, workspace):
    result = run(shell, workspace, "echo hello; false", description="Say hello", timeout=5)
    assert "hello\n(Bash has no argument `description`, which was ignored.)" in result.text
    assert result.data["exit_code"] == 1
    wrong = asyncio.run(bash_tool(shell).run({"description": "no command"}, workspace))
    assert "Bash needs the argument `command`" in wrong.envelope.text
