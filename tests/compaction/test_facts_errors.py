"""Errors that are still open, what resolves them, and what was tried in vain."""

import pytest

from holdfast.compaction.facts.call_results import most_telling_line, outcome_of
from holdfast.messages import Text, ToolCall, ToolMessage
from holdfast.tool_use import recognize_tool
from support.fact_work import Work, facts, texts


@pytest.fixture
def work():
    return Work()


def test_an_error_is_open_until_the_same_command_goes_well(work):
    broken = work.bash("cd /x && make all 2>&1 | tail -5", "make: *** [all] Error 1")
    expected = ["`cd /x && make all 2>&1 | tail -5`: make: *** [all] Error 1"]
    assert texts(facts(broken).errors) == expected
    assert texts(facts(broken, work.bash("make docs", "ok")).errors) == expected
    mended = facts(broken, work.bash("make all", "ok"))
    assert mended.errors == ()
    assert texts(mended.attempts) == expected


def test_a_command_that_fails_again_is_one_error_and_says_how_often(work):
    found = facts(
        work.bash("go build ./...", "Exit code 1\na.go:1:2: undefined: x"),
        work.bash("go build ./... | head", "a.go:2:3: undefined: y"),
    )
    assert texts(found.errors) == ["`go build ./... | head`: a.go:2:3: undefined: y (2 times)"]
    assert found.attempts == ()


def test_failing_tests_are_named_and_resolved_by_a_run_that_has_them(work):
    failed = work.bash("pytest -k parser", "FAILED tests/a.py::test_parser - E\n1 failed, 3 passed in 1s")
    expected = ["`pytest -k parser`: tests/a.py::test_parser failed"]
    assert texts(facts(failed).errors) == expected
    assert texts(facts(failed, work.bash("pytest -k lexer", "3 passed in 1s")).errors) == expected
    for command in ("pytest -k parser", "pytest tests/a.py::test_parser", "pytest"):
        resolved = facts(failed, work.bash(command, "1 passed in 1s"))
        assert resolved.errors == ()
        assert texts(resolved.attempts) == expected


def test_a_run_elsewhere_does_not_resolve_a_failure_and_a_run_of_all_does(work):
    failed = work.bash("go test ./a/", "--- FAIL: TestA (0.0s)\nFAIL\nFAIL\texample/a\t1s")
    assert texts(facts(failed).errors) == ["`go test ./a/`: TestA failed"]
    assert len(facts(failed, work.bash("go test ./b/", "ok  \texample/b\t1s")).errors) == 1
    assert facts(failed, work.bash("go test ./...", "ok  \texample/a\t1s\nok  \texample/b\t1s")).errors == ()
    assert facts(failed, work.bash("go test ./a/ -count=1", "ok  \texample/a\t1s")).errors == ()


def test_a_run_of_other_tests_does_not_resolve_integration_tests(work):
    failed = work.bash("make test-integration test", "FAILED t.py::test_net - E\n1 failed in 1s")
    assert len(facts(failed, work.bash("make test", "9 passed in 1s")).errors) == 1
    assert facts(failed, work.bash("make ci test", "9 passed in 1s")).errors == ()


def test_a_failed_edit_is_open_until_the_file_is_edited(work):
    missed = work.edit("a.py", "<tool_use_error>String to replace not found in file.</tool_use_error>")
    assert texts(facts(missed).errors) == ["`Edit a.py`: String to replace not found in file."]
    assert len(facts(missed, work.edit("b.py")).errors) == 1
    assert facts(missed, work.edit("a.py")).errors == ()
    assert facts(missed, work.write("a.py")).errors == ()


def test_what_fails_while_looking_or_for_its_spelling_is_no_open_error(work):
    found = facts(
        work.bash("grep -c x a.py", "Exit code 1\n0"),
        work.bash("ls nowhere", "Exit code 2\nls: nowhere: No such file or directory"),
        work.call("Read", {"file_path": "x"}, "<tool_use_error>File does not exist.</tool_use_error>"),
        work.bash("golangci-lint run --out x", "Exit code 3\nError: unknown flag: --out"),
        work.bash("make x", "<tool_use_error>Sibling tool call errored</tool_use_error>"),
    )
    assert found.errors == ()


def test_other_tools_fail_and_recover_on_the_same_thing(work):
    failed = work.call(
        "update_booking", {"id": "B1", "pay": "gift"}, "Error: gift card balance is not enough"
    )
    assert texts(facts(failed).errors) == ["`update_booking`: Error: gift card balance is not enough"]
    assert len(facts(failed, work.call("update_booking", {"id": "B2"}, "done")).errors) == 1
    assert facts(failed, work.call("update_booking", {"id": "B1", "pay": "card"}, "done")).errors == ()


def test_a_merge_conflict_ends_with_the_commit(work):
    failed = work.bash(
        "git merge main", "Exit code 1\nAutomatic merge failed; fix conflicts and then commit the result."
    )
    assert len(facts(failed).errors) == 1
    assert facts(failed, work.bash("git add -A && git commit --no-edit", "ok")).errors == ()


def test_changes_that_were_thrown_away_are_an_attempt(work):
    found = facts(work.edit("a.py"), work.bash("git checkout -- a.py", ""))
    assert texts(found.attempts) == ["changes were thrown away: git checkout -- a.py"]


def test_the_error_of_a_trace_is_its_last_line(work):
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\nValueError: no value'
    assert texts(facts(work.bash("python a.py | cat", trace)).errors) == [
        "`python a.py | cat`: ValueError: no value"
    ]


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"ERROR retrying\n{TRACEBACK}ValueError: bad block 7\n", "ValueError: bad block 7"),
        (
            f"{TRACEBACK}KeyError: 'a'\n\nDuring handling:\n\n{TRACEBACK}app.Broken: gone\n",
            "app.Broken: gone",
        ),
        (
            'Exception in thread "main" a.Outer: no\n\tat a.B(B.java:1)\nCaused by: b.IOException: full\n\tat x.Y',
            "Caused by: b.IOException: full",
        ),
        (
            "error in config, continuing\nthread 'main' panicked at src/main.rs:3:5:\nNotFound\nnote: run",
            "NotFound",
        ),
    ],
)
def test_the_exception_that_was_raised_last_says_most(text, line):
    assert most_telling_line(f"Exit code 1\n{text}") == line


def test_a_long_text_that_begins_with_an_error_was_read_all_the_same():
    text = "Error: codes\n" + "\n".join(f"code {n} means {n}" for n in range(60))
    for name, is_failed in (("Read", False), ("Bash", True)):
        call = ToolCall("1", name, {"file_path": "errors.md", "command": "make"})
        outcome = outcome_of(recognize_tool(call), ToolMessage("1", name, (Text(text),)), text)
        assert outcome.is_failed == is_failed
