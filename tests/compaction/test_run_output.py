"""What a run of tests prints: failures and totals tell, passed tests do not, and any text can be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compaction.facts.run_output import runner_lines

PYTEST = """
============================= test session starts ==============================
collected 9 items
tests/test_api.py::test_get PASSED                                       [ 11%]
tests/test_api.py::test_put PASSED                                       [ 22%]
tests/test_api.py::test_post PASSED                                      [ 33%]
tests/test_api.py::test_patch PASSED                                     [ 44%]
tests/test_api.py::test_head PASSED                                      [ 55%]
tests/test_load.py::test_load FAILED                                     [ 66%]
=================================== FAILURES ===================================
__________________________________ test_load ___________________________________

>       assert load("a") == {"x": 1}
E       AssertionError: assert {} == {'x': 1}

tests/test_load.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_load.py::test_load - AssertionError: assert {} == {'x': 1}
========================= 1 failed, 8 passed in 0.12s ==========================
"""


def told(text):
    """The lines that tell how a run went, else those that hint at it."""
    run = runner_lines(text.strip("\n").split("\n"))
    return [run.lines[n].strip() for n in run.keys or run.hints] if run else None


def test_of_pytest_failures_and_the_total_tell():
    assert told(PYTEST) == [
        "tests/test_load.py::test_load FAILED                                     [ 66%]",
        "__________________________________ test_load ___________________________________",
        "FAILED tests/test_load.py::test_load - AssertionError: assert {} == {'x': 1}",
        "========================= 1 failed, 8 passed in 0.12s ==========================",
    ]
    dots = "tests/test_a.py ....... [ 50%]\ntests/test_b.py ....... [100%]\n\n===== 14 passed in 0.10s ====="
    assert told(dots) == ["===== 14 passed in 0.10s ====="]


def test_of_go_s_tests_what_failed_tells():
    text = """
=== RUN   TestLoad
    load_test.go:12: got 1, want 2
--- FAIL: TestLoad (0.00s)
=== RUN   TestSave
    save_test.go:30: saved in 3 ms
--- PASS: TestSave (0.00s)
FAIL
FAIL	example.com/app/store	0.391s
ok  	example.com/app/web	(cached)
?   	example.com/app/cmd	[no test files]
"""
    assert told(text) == ["--- FAIL: TestLoad (0.00s)", "FAIL", "FAIL	example.com/app/store	0.391s"]


def test_where_nothing_sums_up_the_last_that_passed_does():
    assert told("\n".join(f"ok  \texample.com/part{n}\t0.{n}s" for n in range(9))) == [
        "ok  \texample.com/part8\t0.8s"
    ]


def test_of_cargo_jest_and_maven_failures_and_totals_tell():
    cargo = (
        "running 2 tests\ntest load::ok ... ok\ntest load::bad ... FAILED\n\ntest result: FAILED. 1 passed"
    )
    assert told(cargo) == ["test load::bad ... FAILED", "test result: FAILED. 1 passed"]
    jest = """
PASS src/a.test.ts
  ✓ adds (2 ms)
FAIL src/b.test.ts
  ✕ loads (5 ms)
  ● loads
    Expected: 1
Tests:       1 failed, 2 passed, 3 total
"""
    assert told(jest) == [
        "FAIL src/b.test.ts",
        "✕ loads (5 ms)",
        "● loads",
        "Tests:       1 failed, 2 passed, 3 total",
    ]
    maven = """
[INFO] Scanning for projects...
[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in com.acme.ATest
[ERROR] com.acme.BTest.loads:17 expected: <1> but was: <2>
[ERROR] Tests run: 8, Failures: 1, Errors: 0, Skipped: 0
[INFO] BUILD FAILURE
"""
    assert [line.split()[1] for line in told(maven)] == ["com.acme.BTest.loads:17", "Tests", "BUILD"]


def test_a_check_mark_alone_makes_no_test():
    assert told("✓ Created the branch\n✓ Pushed it\n✓ Opened a request\n✓ Done") is None


def test_numbers_stamps_and_colours_hide_nothing():
    rows = PYTEST.strip("\n").split("\n")
    assert told("\n".join(f"2026-02-09T07:16:{n:02}.94Z {row}" for n, row in enumerate(rows))) == told(PYTEST)
    assert told("\n".join(f"\x1b[31m{row}\x1b[0m" for row in rows)) == told(PYTEST)
    for mark in "→", "\t", ":", "|", " ":
        assert told("\n".join(f"{n:6}{mark}{row}" for n, row in enumerate(rows, 1))) == told(PYTEST)


PIECES = [
    *PYTEST.split("\n"),
    "=== RUN   TestA",
    "--- PASS: TestA",
    "ok  \ta\t0.1s",
    "  1→def f():",
    "1 failed",
    "OK",
    "FAIL",
]
LINES = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), max_size=40)


@given(LINES.map("\n".join))
def test_any_text_can_be_read(text):
    lines = text.split("\n")
    run = runner_lines(lines)
    if run is not None:
        assert len(run.lines) == len(lines)
        assert {*run.keys, *run.hints} <= {*range(len(lines))}


@pytest.mark.parametrize("part", ["x", " ", "a(", "[", "= ", ": ", "at ", "\x1b["])
def test_one_giant_line_takes_linear_time(part):
    runner_lines(["1 passed", part * (1_000_000 // len(part)), "last"])
