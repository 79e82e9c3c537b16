"""Which reads are out of date: superseded by a newer result, or only edited since."""

import pytest

from holdfast.views import Transcript
from holdfast.views.files import FileTouches, changes_in
from support.logs import chained, result, step, user


def touched(*calls):
    """A step for each call, given as (name, arguments), with its result; and what they say of the files."""
    events = [user("go")]
    for number, (name, arguments, *answer) in enumerate(calls):
        text = answer[0] if answer else "text"
        events += [step("", (f"c{number}", name, arguments)), result(f"c{number}", text, name)]
    steps = Transcript(chained(events)).steps
    files = FileTouches()
    for each in steps:
        files.note(each)
    return files, steps


def stale(*calls):
    """Why the first read is superseded, and whether its file was edited."""
    files, steps = touched(*calls)
    return files.stale_calls(steps[0]).get("c0", ""), files.edited_since(steps[0]).get("c0", "")


READ = ("Read", {"file_path": "a.py"})
PART = ("Read", {"file_path": "a.py", "offset": 10, "limit": 20})
EDIT = ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
PATCH = ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n"})
WRITE = ("Write", {"file_path": "a.py", "content": "x"})
TAIL = ("Read", {"file_path": "a.py", "offset": -20})
AGAIN = (*READ, "(unchanged since step 1: lines 1-9 of `a.py` are on view there)")
TRIED = ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y", "dry_run": True})
OTHER = ("Edit", {"file_path": "b.py", "old_string": "x", "new_string": "y"})


@pytest.mark.parametrize(
    ("calls", "superseded", "edited"),
    [
        ((READ, EDIT), "", "edited in step 2"),
        ((READ, EDIT, OTHER, EDIT), "", "edited in step 4"),
        ((READ, PATCH), "", "edited in step 2"),
        ((READ, OTHER), "", ""),
        ((READ, READ), "read again in step 2", ""),
        ((READ, EDIT, READ), "read again in step 3", ""),
        ((READ, READ, EDIT), "read again in step 2", ""),
        ((READ, WRITE), "rewritten in step 2", ""),
        ((READ, WRITE, EDIT), "rewritten in step 2", ""),
        ((READ, EDIT, PART), "", "edited in step 2"),
        ((PART, READ), "read again in step 2", ""),
        ((PART, EDIT, PART), "read again in step 3", ""),
        ((READ, TAIL), "", ""),
        ((PART, TAIL), "", ""),
        ((TAIL, READ), "read again in step 2", ""),
        ((READ, AGAIN), "", ""),
        ((READ, TRIED), "", ""),
    ],
)
def test_a_read_is_superseded_or_edited_since_or_neither(calls, superseded, edited):
    assert stale(*calls) == (superseded, edited)


TWO = "*** Begin Patch\n*** Update File: b.py\n@@\n-x\n+y\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
BEFORE = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\npatch does not apply"


@pytest.mark.parametrize(
    "call",
    [
        ("apply_patch", {"input": TWO}),
        ("apply_patch", {"patchText": TWO}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{TWO}EOF"}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{TWO}EOF\nmake test"]}),
    ],
)
def test_a_patch_edits_every_file_that_it_names(call):
    assert stale(READ, call) == ("", "edited in step 2")
    _, steps = touched(READ, call)
    assert {(change.path, change.kind) for change in changes_in(steps[1])} == {
        ("a.py", "multiedit"),
        ("b.py", "multiedit"),
    }


def test_a_patch_whose_result_says_that_it_failed_edits_nothing():
    assert stale(READ, ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{TWO}EOF"}, BEFORE)) == ("", "")


def test_a_command_that_shows_several_files_replaces_no_read_and_is_replaced_by_none():
    both = ("Bash", {"command": "sed -n '1,90p' a.py && cat b.py"})
    diff = ("Bash", {"command": "git diff -- a.py"})
    end = ("Bash", {"command": "tail -n 5 a.py"})
    assert stale(READ, both) == stale(both, READ) == stale(READ, diff) == stale(diff, READ) == ("", "")
    assert stale(end, end) == stale(TAIL, end) == ("", "")
    assert stale(both, EDIT) == ("", "edited in step 2")


def test_an_edit_before_the_read_says_nothing_of_it():
    files, steps = touched(EDIT, READ)
    assert files.edited_since(steps[1]) == {}


def test_an_edit_that_failed_edited_nothing():
    events = [user("go"), step("", ("r", *READ)), result("r", "text"), step("", ("e", *EDIT))]
    steps = Transcript(chained([*events, result("e", "no such text", "Edit", error=True)])).steps
    files = FileTouches()
    for each in steps:
        files.note(each)
    assert files.edited_since(steps[0]) == {}


@pytest.mark.parametrize(
    "command", ["head -5 a.py", "head -n 5 a.py", "tail a.py", "tail -n 3 a.py", "head a.py"]
)
def test_the_ends_of_a_file_do_not_stand_for_all_of_it(command):
    assert stale(READ, ("exec_command", {"cmd": command})) == ("", "")


def test_a_command_that_failed_or_showed_nothing_replaces_no_read():
    for command, *answer in (
        ("cat a.py", "cat: a.py: No such file or directory\n[exit code: 1]"),
        ("cat a.py > /dev/null", ""),
        ("cd other && cat a.py",),
    ):
        assert stale(READ, ("Bash", {"command": command}, *answer)) == ("", "")


def test_the_head_of_a_file_stands_for_a_shorter_one():
    few, more = ("exec_command", {"cmd": "head -20 a.py"}), ("exec_command", {"cmd": "head -n 50 a.py"})
    assert stale(few, more) == ("read again in step 2", "")
    assert stale(more, few) == ("", "")
    assert stale(few, READ) == ("read again in step 2", "")
