"""Files that an agent read, created, modified and deleted, by whatever tool."""

import pytest

from holdfast.compaction.facts.extract import extract_facts
from holdfast.views.transcript import Transcript
from support.fact_work import Work, facts
from support.logs import chained, user


@pytest.fixture
def work():
    return Work()


def actions(found):
    return {file.path: file.action for file in found.files}


def test_the_strongest_of_what_was_done_with_a_file_stands(work):
    found = facts(
        work.read("read.py"),
        work.read("changed.py"),
        work.edit("changed.py"),
        work.read("changed.py"),
        work.write("new.py"),
        work.edit("new.py"),
        work.write("old.py", "The file old.py has been updated successfully."),
        work.write("gone.py"),
        work.bash("rm gone.py"),
    )
    assert actions(found) == {
        "read.py": "read",
        "changed.py": "modified",
        "new.py": "created",
        "old.py": "modified",
        "gone.py": "deleted",
    }


def test_files_stand_in_the_order_they_were_last_touched_and_name_what_changed_them(work):
    events = [*work.edit("b.py"), *work.edit("a.py"), *work.read("c.py"), *work.edit("b.py")]
    entries = chained([user("Go on."), *events])
    found = extract_facts(Transcript(entries)).files
    assert [file.path for file in found] == ["a.py", "c.py", "b.py"]
    assert found[2].sources == (entries[1].id, entries[7].id)
    assert found[1].sources == (entries[6].id,)
    assert [file.step for file in found] == [1, 2, 3]


def test_ranges_are_of_lines_read_and_empty_for_the_whole(work):
    lines = [f"{n}→line {n}" for n in range(1, 200)]
    found = facts(
        work.read("a.py", "\n".join(lines[:40]), offset=1, limit=40),
        work.read("a.py", "\n".join(lines[30:60]), offset=31, limit=30),
        work.read("a.py", "\n".join(lines[99:120]), offset=100, limit=21),
        work.read("b.py", "one\ntwo\nthree\nfour\nfive"),
    )
    assert [(file.path, file.ranges) for file in found.files] == [("a.py", "1-60,100-120"), ("b.py", "")]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>",
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "Could not find the exact text in a.py. The old text must match exactly.",
        "[no result recorded]",
        "Error: a.py is not there",
    ],
    ids=lambda text: text[:16],
)
def test_an_edit_that_failed_changed_nothing(work, text):
    assert facts(work.edit("a.py", text)).files == ()
    assert facts(work.edit("a.py", "not found", error=True)).files == ()


def test_patches_change_every_file_they_name(work):
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** Delete File: c.py\n"
    )
    expected = {"a.py": "modified", "b.py": "created", "c.py": "deleted"}
    assert actions(facts(work.call("apply_patch", {"input": patch}, "Success."))) == expected
    assert actions(facts(work.bash(f"apply_patch <<'EOF'\n{patch}\nEOF", "Done!"))) == expected


def test_shell_commands_change_files_and_a_relative_path_is_the_known_one(work):
    found = facts(
        work.read("/repo/src/a.py"),
        work.bash("cd /repo && sed -i s/a/b/ src/a.py && cat > notes.md <<EOF\nhi\nEOF"),
        work.bash("git mv src/a.py src/b.py"),
    )
    assert actions(found) == {"/repo/src/a.py": "deleted", "/repo/notes.md": "created", "src/b.py": "created"}


def test_a_folder_takes_its_files_along(work):
    found = facts(
        work.write("lib/a.py"), work.write("lib/b/c.py"), work.write("library.py"), work.bash("rm -rf lib")
    )
    assert actions(found) == {
        "lib/a.py": "deleted",
        "lib/b/c.py": "deleted",
        "lib": "deleted",
        "library.py": "created",
    }


def test_of_a_failed_script_what_ran_before_the_failure_counts(work):
    found = facts(work.bash("sed -i s/a/b/ a.py && pytest", "Exit code 1\n1 failed in 0.1s"))
    assert actions(found) == {"a.py": "modified"}


def test_an_editor_with_an_open_file_says_in_its_result_which(work):
    shown = "[File: /repo/a.py (9 lines total)]\n1:x\n"
    found = facts(work.bash("edit 1:1\nx = 1\nend_of_edit", shown))
    assert actions(found) == {"/repo/a.py": "modified"}
    edit = work.call("edit", {"search": "a", "replace": "b"}, f"Text replaced. Please review.\n{shown}")
    assert actions(facts(work.read("a.py"), edit)) == {"/repo/a.py": "modified"}
    refused = "Your proposed edit has introduced new syntax error(s).\n" + shown
    assert facts(work.bash("edit 1:1\nx = 1\nend_of_edit", refused)).files == ()
