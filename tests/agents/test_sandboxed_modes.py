"""What commands of an agent can do in each mode, in a real sandbox: the system holds them, and not a parser."""

import tempfile
from pathlib import Path

import pytest

from holdfast.events import ToolReturned
from holdfast.messages import joined_text
from holdfast.tools.permissions.gate import ApprovalAnswer
from support.coding_sessions import CodingSetup, call, say
from support.sandboxes import sandbox_or_skip

DISGUISED = [
    "prlimit() { :; }; unset prlimit; prlimit touch m",
    "{ prlimit() { :; }; } < nofile; prlimit touch m",
    "x=touch; { x=cat; } >&9; $x m",
    "readonly x=touch; x=cat; $x m",
    "{awk,} 'BEGIN{system(\"touch m\")}'",
    "RANDOM='a[$(touch m)]'",
    "declare -l p; p=DOCS/DIR/LINK; cat $p; touch m",
    "echo changed > docs/link",
    "rm -rf .git main.py",
    "python3 -c \"open('m', 'w')\"",
]
"""Commands that a reader of bash took for harmless, and some that nobody would."""


class Asked:
    """Answers every question alike, and remembers what it was asked."""

    def __init__(self, decision="deny"):
        self.decision = decision
        self.questions = []

    async def approve(self, question):
        self.questions.append(question)
        return ApprovalAnswer(self.decision)


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request):
    return sandbox_or_skip(request.param)


@pytest.fixture
def setup():
    """Not below `/tmp`, which a sandbox replaces."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name).resolve()
        made = CodingSetup(folder)
        (folder / "outside").mkdir()
        (folder / "outside" / "file").write_text("as it was\n")
        (made.root / "docs").mkdir()
        (made.root / "docs" / "link").symlink_to(folder / "outside" / "file")
        yield made
        made.close()


def files_of(setup):
    found = {}
    for top in (setup.root, setup.folder / "outside"):
        for path in sorted(top.rglob("*")):
            status = path.lstat()
            found[str(path)] = (
                status.st_mode,
                status.st_mtime_ns,
                path.read_bytes() if path.is_file() else b"",
            )
    return found


def answers(coding):
    events = [entry.event for entry in coding.session.log.entries()]
    return [joined_text(event.parts) for event in events if isinstance(event, ToolReturned)]


def run(setup, sandbox, mode, *commands, approver=None, **arguments):
    calls = [call("Bash", f"c{n}", command=command, **arguments) for n, command in enumerate(commands)]
    coding = setup.open(calls, "Done.", sandbox=sandbox, mode=mode, approver=approver or Asked())
    say(coding, "Go.")
    return answers(coding)


def test_in_plan_mode_every_command_runs_and_none_changes_anything(setup, sandbox):
    before, asked = files_of(setup), Asked()
    told = run(setup, sandbox, "plan", *DISGUISED, "cat main.py", approver=asked)
    assert files_of(setup) == before
    assert asked.questions == []
    assert len(told) == len(DISGUISED) + 1
    assert "print('old')" in told[-1]
    assert not any("was not run" in text for text in told)


def test_in_plan_mode_no_access_can_be_asked_for(setup, sandbox):
    before = files_of(setup)
    told = run(setup, sandbox, "plan", "touch m", access="full", reason="I want to")
    assert files_of(setup) == before
    assert "the command ran with access `read`" in told[0]
    assert "This is plan mode, in which commands only read" in told[0]


def test_in_edit_mode_commands_write_in_the_workspace_unasked_and_nowhere_else(setup, sandbox):
    asked = Asked()
    told = run(setup, sandbox, "edit", "touch m && mkdir -p a/b", "echo x > docs/link", approver=asked)
    assert asked.questions == []
    assert (setup.root / "a" / "b").is_dir()
    assert (setup.folder / "outside" / "file").read_text() == "as it was\n"
    assert '`access`: "full"' in told[1]


def test_what_a_person_allows_really_runs_with_the_access_that_was_asked_for(setup, sandbox):
    asked = Asked("once")
    command = "echo by request > docs/link"
    run(setup, sandbox, "edit", command, approver=asked, access="full", reason="the file is elsewhere")
    assert (setup.folder / "outside" / "file").read_text() == "by request\n"
    (question,) = asked.questions
    assert question.reason == (
        "it runs outside the sandbox with all rights of the user; the agent says: the file is elsewhere"
    )
    assert question.session_scope == f"Bash({command}) with full"


def test_what_a_person_denies_does_not_run(setup, sandbox):
    told = run(setup, sandbox, "edit", "echo x > docs/link", access="full")
    assert "The user denied this call of Bash" in told[0]
    assert (setup.folder / "outside" / "file").read_text() == "as it was\n"


def test_in_ask_mode_what_only_reads_runs_unasked_and_anything_else_is_asked_about(setup, sandbox):
    asked = Asked("once")
    told = run(setup, sandbox, "ask", "cat main.py", "touch m", approver=asked)
    assert [question.call.arguments["command"] for question in asked.questions] == ["touch m"]
    assert (setup.root / "m").exists()
    assert "print('old')" in told[0]
