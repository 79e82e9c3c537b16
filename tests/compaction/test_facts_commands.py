"""Commands with how they ended, in the words of many agents, and the last state of the tests."""

import pytest

from holdfast.compaction.facts.call_results import exit_code
from support.fact_work import Work, facts

RULE = "=" * 29


@pytest.fixture
def work():
    return Work()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exit code 127\nzsh: command not found: x", 127),
        ("Exit code: 0\nfine", 0),
        ("Chunk ID: 7\nWall time: 0 seconds\nProcess exited with code 2\nOutput:\nx", 2),
        ("<returncode>1</returncode>\n<output>\nx</output>", 1),
        ('{"output": "x", "metadata": {"exit_code": 3, "duration_seconds": 0.1}}', 3),
        ("a\nb\n\nCommand exited with code 4", 4),
        ("x\n[The command completed with exit code 5.]", 5),
        ("<task_id>b1</task_id>\n\n<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<output>x", 0),
        ("fine", None),
        ("the docs say exit code 1 means failure\n" + "more\n" * 300, None),
    ],
    ids=lambda value: str(value)[:18],
)
def test_exit_codes_as_the_various_agents_give_them(text, code):
    assert exit_code(text) == code


def test_commands_are_shown_with_how_they_ended_and_what_only_looks_is_left_out(work):
    found = facts(
        work.bash("make", "Exit code 2\nmain.c:3:1: error: expected ';'\nmake: *** [all] Error 1"),
        work.bash("git log --oneline | head -3", "abc"),
        work.bash("cat > a.txt <<EOF\nlong text\nEOF\nmake install", "ok"),
        work.bash("npm run build 2>&1 | tail -3", "src/a.ts(3,1): error TS2304: Cannot find name 'x'."),
    )
    assert [(c.command, c.exit_code, c.is_failed, c.outcome) for c in found.commands] == [
        ("make", 2, True, "main.c:3:1: error: expected ';'"),
        ("cat > a.txt <<EOF\nmake install", None, False, ""),
        (
            "npm run build 2>&1 | tail -3",
            None,
            True,
            "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
        ),
    ]


def test_output_of_a_background_command_is_that_commands(work):
    found = facts(
        work.bash(
            "make test", "Command running in background with ID: b77. Output is being written to: /t/b77.out"
        ),
        work.call("TaskOutput", {"task_id": "b77"}, "<status>running</status>\n<output>\n1 failed in 2s"),
        work.call(
            "TaskOutput", {"task_id": "b77"}, "<status>completed</status>\n<exit_code>0</exit_code>\n9 passed"
        ),
    )
    assert [(c.command, c.exit_code, c.is_failed) for c in found.commands] == [("make test", 0, False)]
    assert (found.tests.command, found.tests.is_passed, found.tests.outcome) == (
        "make test",
        True,
        "9 passed",
    )


def test_a_command_in_a_program_is_read_out_of_it(work):
    script = (
        'const r = await tools.exec_command({cmd:"npx vitest run \\"a b\\"","workdir":"/x"}); text(r.output)'
    )
    output = 'Script completed\nOutput:\n\n{"exit_code":1,"output":"\\n Tests  2 failed | 3 passed (5)\\n"}'
    found = facts(work.call("exec", {"input": script}, output))
    assert [(c.command, c.exit_code) for c in found.commands] == [('npx vitest run "a b"', 1)]
    assert (found.tests.is_passed, found.tests.outcome) == (False, "Tests 2 failed | 3 passed (5)")


@pytest.mark.parametrize(
    ("command", "text", "is_passed", "outcome"),
    [
        ("pytest -q", "FAILED a.py::test_x - E\n1 failed, 2 passed in 1s", False, "1 failed, 2 passed in 1s"),
        (
            "uv run pytest -v",
            f"{RULE} test session starts {RULE}\na.py::t PASSED\n{RULE} 16 passed, 1 warning in 0.2s {RULE}",
            True,
            "16 passed, 1 warning in 0.2s",
        ),
        ("go test ./...", "ok  \texample.com/a\t0.1s\nok  \texample.com/b\t0.2s", True, "ok example.com/b 0.2s"),
        ("go test ./... | tail", "--- FAIL: TestX (0s)\nFAIL\nFAIL\texample/a\t1s", False, "FAIL example/a 1s"),
        ("bun test", " 12 pass\n 0 fail\n 30 expect() calls\nRan 12 tests across 2 files. [8ms]", True, None),
        ("npx jest", "Tests:    1 failed, 2 passed, 3 total", False, "Tests: 1 failed, 2 passed, 3 total"),
        ("cargo test", "test result: ok. 5 passed; 0 failed; 0 ignored", True, None),
        ("mvn test", "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE", False, None),
        ("python -m unittest", "Ran 3 tests in 0.1s\n\nOK", True, "OK"),
        ("git commit -m x", " 9 pass\n 0 fail\nRan 9 tests across 1 files. [1ms]", True, None),
        ("npm test", "Exit code 1\nError: Cannot find module 'x'", False, "Error: Cannot find module 'x'"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)  # fmt: skip
def test_the_state_of_the_tests_in_their_own_words(work, command, text, is_passed, outcome):
    found = facts(work.bash(command, text)).tests
    assert (found.command, found.is_passed) == (command, is_passed)
    assert outcome is None or found.outcome == outcome


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("cat test.log", "1 failed, 2 passed in 0.1s"),
        ("git show HEAD", "9 passed in 1s"),
        ("which python; uv --version", "OK\n"),
        ("make lint && make test", "Exit code 1\nlint: error: unused"),
        ("go build -o /tmp/app-test ./cmd && /tmp/app-test x", "Exit code 1\nError: Invalid usage"),
    ],
    ids=str,
)
def test_what_is_no_run_of_tests_leaves_their_state_alone(work, command, text):
    found = facts(work.bash("pytest", "3 passed in 0.1s"), work.bash(command, text)).tests
    assert (found.command, found.outcome) == ("pytest", "3 passed in 0.1s")


def test_the_last_run_is_what_counts(work):
    found = facts(work.bash("pytest", "1 failed in 0.1s"), work.bash("pytest", "1 passed in 0.1s"))
    assert (found.tests.is_passed, found.tests.step) == (True, 1)
    assert facts().tests is None
