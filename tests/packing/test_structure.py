"""Structure: what kind of text a result is, which lines tell or are noise, and what each hangs on."""

import pytest

from holdfast.packing.rendering.outliers import outlier_rows
from holdfast.packing.structure import structure_of
from holdfast.tool_use import ToolUse

BASH = ToolUse("bash", "Bash", command="run")
READ = ToolUse("read", "Read", path="src/app/main.py")
GREP = ToolUse("grep", "Grep", pattern="load")


class Seen:
    """A text with its structure, asked by what stands in a line."""

    def __init__(self, text, use=BASH):
        self.lines = text.strip("\n").split("\n")
        self.structure = structure_of(self.lines, use)
        self.kind = self.structure.kind

    def at(self, part):
        (line,) = [n for n, line in enumerate(self.lines) if part in line]
        return line

    def bonus(self, part):
        return self.structure.bonus[self.at(part)]

    def hangs_on(self, part):
        """What stands in the line that a line hangs on."""
        anchor = self.structure.anchors.get(self.at(part))
        return None if anchor is None else self.lines[anchor]


GIT_DIFF = """
diff --git a/src/app/main.py b/src/app/main.py
index 0d25c4d..27e0dfa 100644
--- a/src/app/main.py
+++ b/src/app/main.py
@@ -10,4 +10,5 @@ def main():
 settings = load_settings()
-run(settings)
+check(settings)
+run(settings, strict=True)
 print("done")

@@ -40,2 +41,2 @@ def check(settings):
     if not settings:
-        return None
+        raise SystemExit(2)
diff --git a/package-lock.json b/package-lock.json
index 1111111..2222222 100644
--- a/package-lock.json
+++ b/package-lock.json
@@ -1,2 +1,2 @@
-  "version": "1.0.0",
+  "version": "1.0.1",
   "lockfileVersion": 3,
"""


def test_a_diff_line_hangs_on_its_hunk_and_the_hunk_on_its_file():
    seen = Seen(GIT_DIFF)
    assert seen.kind == "diff"
    assert seen.hangs_on("+check(settings)") == "@@ -10,4 +10,5 @@ def main():"
    assert seen.hangs_on("raise SystemExit") == "@@ -40,2 +41,2 @@ def check(settings):"
    assert seen.hangs_on("@@ -10,4") == seen.hangs_on("@@ -40,2") == seen.lines[0]
    assert seen.hangs_on('"version": "1.0.1"') == "@@ -1,2 +1,2 @@"
    assert seen.bonus("+check(settings)") > seen.bonus("-run(settings)")
    assert seen.bonus("index 0d25c4d") < 0
    assert seen.bonus('"version": "1.0.1"') < 0, "a lock file is generated"


def test_a_numbered_diff_is_a_diff():
    text = "\n".join(f"{n:6}→{line}" for n, line in enumerate(GIT_DIFF.strip("\n").split("\n"), 1))
    seen = Seen(text, ToolUse("read", "Read", path="changes.patch"))
    assert seen.kind == "diff"
    assert "@@ -10,4" in seen.hangs_on("+check(settings)")


def test_files_of_a_plain_diff_are_told_apart():
    seen = Seen("""
--- old/a.txt
+++ new/a.txt
@@ -1 +1 @@
-one
+two
--- old/b.txt
+++ /dev/null
@@ -1 +0,0 @@
-three
""")
    assert seen.hangs_on("@@ -1 +1 @@") == "+++ new/a.txt"
    assert seen.hangs_on("@@ -1 +0,0 @@") == "--- old/b.txt", "a file that is gone has only its old name"


def test_a_hunk_ends_where_its_header_says():
    seen = Seen("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n- a point in a list below the diff\nand a word")
    assert seen.hangs_on("+two") == "@@ -1 +1 @@"
    assert seen.hangs_on("a point in a list") is None


def test_a_patch_without_line_numbers_is_a_diff():
    seen = Seen("""
*** Begin Patch
*** Update File: src/app/main.py
@@ def main():
-    run(settings)
+    run(settings, strict=True)
*** End Patch
""")
    assert seen.kind == "diff"
    assert seen.hangs_on("strict=True") == "@@ def main():"
    assert seen.hangs_on("@@ def main():") == "*** Update File: src/app/main.py"


def test_a_python_trace_hangs_on_its_error():
    seen = Seen("""
starting up
Traceback (most recent call last):
  File "/home/u/app/src/main.py", line 12, in main
    settings = load_settings(path)
  File "/home/u/app/src/settings.py", line 31, in load_settings
    return yaml.safe_load(text)
  File "/home/u/venv/lib/python3.11/site-packages/yaml/__init__.py", line 125, in safe_load
    return load(stream, SafeLoader)
           ^^^^^^^^^^^^^^^^^^^^^^^^
yaml.scanner.ScannerError: mapping values are not allowed here
""")
    assert seen.kind == "trace"
    error = seen.lines[-1]
    assert seen.hangs_on("settings.py") == seen.hangs_on("main.py") == seen.hangs_on("Traceback") == error
    assert "settings.py" in seen.hangs_on("yaml.safe_load(text)")
    assert seen.bonus("settings.py") > seen.bonus("main.py") > 0 > seen.bonus("site-packages")
    assert seen.bonus("ScannerError") > 0
    assert seen.hangs_on("ScannerError") is None


def test_a_trace_that_was_cut_off_hangs_on_its_beginning():
    seen = Seen('x\nTraceback (most recent call last):\n  File "/app/a.py", line 1, in f\n    g()')
    assert seen.hangs_on("a.py") == "Traceback (most recent call last):"


def test_a_node_trace_hangs_on_its_error():
    seen = Seen("""
TypeError: Cannot read properties of undefined (reading 'id')
    at getUser (/srv/app/src/users.ts:14:22)
    at Layer.handle (/srv/app/node_modules/express/lib/router/layer.js:95:5)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at async main (/srv/app/src/index.ts:3:1)
""")
    assert seen.kind == "trace"
    assert all(
        seen.hangs_on(f"at {name}") == seen.lines[0] for name in ("getUser", "Layer", "process", "async")
    )
    assert seen.bonus("getUser") > seen.bonus("async main") > 0 > seen.bonus("node_modules")
    assert seen.bonus("node:internal") < 0


def test_a_java_trace_keeps_what_it_was_caused_by():
    seen = Seen("""
Exception in thread "main" java.lang.IllegalStateException: cannot start
	at com.acme.shop.Main.start(Main.java:42)
	at java.base/java.lang.Thread.run(Thread.java:833)
Caused by: java.io.FileNotFoundException: shop.yaml
	at com.acme.shop.Config.load(Config.java:17)
	at org.springframework.boot.SpringApplication.run(SpringApplication.java:303)
	... 12 more
""")
    assert seen.kind == "trace"
    assert seen.hangs_on("Main.start") == seen.lines[0]
    assert seen.hangs_on("Config.load") == "Caused by: java.io.FileNotFoundException: shop.yaml"
    assert seen.bonus("Caused by") > 0
    assert seen.bonus("Config.load") > 0 > seen.bonus("springframework")
    assert seen.bonus("Thread.run") < 0
    assert seen.bonus("12 more") < 0


def test_a_go_panic_keeps_the_project_s_calls():
    seen = Seen("""
panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.pick(...)
	/home/u/app/cmd/pick.go:18 +0x1d
testing.tRunner(0xc000007860)
	/usr/local/go/src/testing/testing.go:1595 +0xff
exit status 2
""")
    assert seen.kind == "trace"
    assert seen.hangs_on("pick.go:18") == "main.pick(...)"
    assert seen.hangs_on("main.pick") == "goroutine 1 [running]:"
    assert seen.hangs_on("goroutine 1") == seen.lines[0]
    assert seen.bonus("pick.go:18") > 0 > seen.bonus("testing.go")


def test_a_rust_panic_keeps_message_and_own_frames():
    seen = Seen("""
thread 'main' panicked at src/main.rs:7:10:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: rust_begin_unwind
             at /rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library/std/src/panicking.rs:597:5
   1: app::load
             at ./src/main.rs:7:10
note: run with `RUST_BACKTRACE=full` for a verbose backtrace
""")
    assert seen.kind == "trace"
    assert seen.hangs_on("called `Option") == seen.lines[0]
    assert seen.hangs_on("at ./src/main.rs") == "   1: app::load"
    assert seen.hangs_on("app::load") == seen.lines[0]
    assert seen.bonus("app::load") > 0 > seen.bonus("rust_begin_unwind")
    assert seen.bonus("RUST_BACKTRACE") < 0


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


def test_of_pytest_the_passed_go_first_and_failures_stay():
    seen = Seen(PYTEST)
    assert seen.kind == "tests"
    assert seen.bonus("test_get PASSED") == min(seen.structure.bonus)
    assert seen.bonus("test_load FAILED") > 0
    assert seen.bonus("1 failed, 8 passed") > 0
    assert "test_load ____" in seen.hangs_on("E       AssertionError")
    assert "test_load ____" in seen.hangs_on('assert load("a")')


def test_of_pytest_s_dots_only_the_total_counts():
    seen = Seen(
        "tests/test_a.py ....... [ 50%]\ntests/test_b.py ....... [100%]\n\n===== 14 passed in 0.10s ====="
    )
    assert seen.bonus("test_a.py") < 0 < seen.bonus("14 passed")


def test_of_go_s_tests_what_failed_is_told_by_its_test():
    seen = Seen("""
=== RUN   TestLoad
    load_test.go:12: got 1, want 2
--- FAIL: TestLoad (0.00s)
=== RUN   TestSave
    save_test.go:30: saved in 3 ms
--- PASS: TestSave (0.00s)
=== RUN   TestPut
--- PASS: TestPut (0.00s)
FAIL
FAIL	example.com/app/store	0.391s
ok  	example.com/app/web	(cached)
?   	example.com/app/cmd	[no test files]
""")
    assert seen.kind == "tests"
    assert seen.hangs_on("got 1, want 2") == "=== RUN   TestLoad"
    assert seen.bonus("got 1, want 2") > 0 > seen.bonus("saved in 3 ms")
    assert seen.bonus("--- FAIL") > 0 > seen.bonus("--- PASS: TestSave")
    assert seen.bonus("app/store") > 0 > seen.bonus("app/web")
    assert seen.bonus("no test files") < 0


def test_where_nothing_sums_up_the_last_that_passed_does():
    seen = Seen("\n".join(f"ok  \texample.com/app/part{n}\t0.{n}s" for n in range(9)))
    assert [n for n, bonus in enumerate(seen.structure.bonus) if bonus > 0] == [8]


def test_of_cargo_and_jest_the_passed_go_first():
    cargo = Seen(
        "running 2 tests\ntest load::ok ... ok\ntest load::bad ... FAILED\n\ntest result: FAILED. 1 passed"
    )
    assert cargo.kind == "tests"
    assert cargo.bonus("load::bad") > 0 > cargo.bonus("load::ok")
    assert cargo.bonus("test result") > 0
    jest = Seen("""
PASS src/a.test.ts
  ✓ adds (2 ms)
  ✓ removes (1 ms)
FAIL src/b.test.ts
  ✕ loads (5 ms)
  ● loads
    Expected: 1
    Received: 2
Tests:       1 failed, 2 passed, 3 total
""")
    assert jest.kind == "tests"
    assert jest.bonus("✕ loads") > 0 > jest.bonus("✓ adds")
    assert jest.hangs_on("Expected: 1") == "  ● loads"
    assert jest.bonus("1 failed, 2 passed") > 0


def test_of_maven_failures_and_the_verdict_stay():
    seen = Seen("""
[INFO] Scanning for projects...
[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in com.acme.ATest
[ERROR] com.acme.BTest.loads:17 expected: <1> but was: <2>
[ERROR] Tests run: 8, Failures: 1, Errors: 0, Skipped: 0
[INFO] BUILD FAILURE
""")
    assert seen.kind == "tests"
    assert seen.bonus("BTest.loads") > 0 > seen.bonus("ATest")
    assert seen.bonus("Tests run: 8") > 0
    assert seen.bonus("BUILD FAILURE") > 0 > seen.bonus("Scanning")


def test_a_trace_in_a_run_that_passed_is_no_failure():
    trace = "Error: expected\n    at run (/srv/app/src/a.ts:1:2)\n    at go (/srv/app/src/b.ts:3:4)"
    passed = Seen(f"{trace}\n 12 pass\n 0 fail\nRan 12 tests")
    failed = Seen(f"{trace}\n 11 pass\n 1 fail\nRan 12 tests")
    assert passed.bonus("a.ts") < 0 < failed.bonus("a.ts")
    assert passed.kind == "tests"


def test_a_check_mark_alone_makes_no_test():
    assert Seen("✓ Created the branch\n✓ Pushed it\n✓ Opened a request\n✓ Done").kind == "plain"


DOCKER = """
CONTAINER ID   IMAGE          COMMAND       STATUS          NAMES
a1b2c3d4e5f6   web:1.2        "run web"     Up 3 hours      web-1
b1b2c3d4e5f6   web:1.2        "run web"     Up 3 hours      web-2
c1b2c3d4e5f6   web:1.2        "run web"     Up 3 hours      web-3
d1b2c3d4e5f6   web:1.2        "run web"     Exited (1)      web-4
e1b2c3d4e5f6   web:1.2        "run web"     Up 3 hours      web-5
f1b2c3d4e5f6   web:1.2        "run web"     Up 3 hours      web-6
"""


def test_a_number_far_from_the_others_stands_out():
    rows = [[f"part-{n}", f"{100 + n}K"] for n in range(20)]
    rows[13][1] = "7.5G"
    assert outlier_rows(rows) == {13}
    assert outlier_rows([[str(n * n)] for n in range(4)]) == set()
    assert outlier_rows([["ok" if n % 2 else "bad"] for n in range(20)]) == set(), "nothing is usual here"


CODE = """
import os
import re
import sys

@dataclass
class Settings:
    path: str

    @property
    def name(self):
        return os.path.basename(
            self.path
        )

def load(path):
    return Settings(path)
"""


@pytest.mark.parametrize("mark", ["→", "\t", ":", "|", " "], ids=["arrow", "tab", "colon", "bar", "blank"])
def test_numbered_code_keeps_its_signatures(mark):
    rows = CODE.strip("\n").split("\n")
    seen = Seen("\n".join(f"{n:6}{mark}{row}" for n, row in enumerate(rows, 1)), READ)
    assert seen.kind == "code"
    assert seen.hangs_on("def name(self)").endswith("class Settings:")
    assert seen.hangs_on("def load(path)") is None
    assert seen.bonus("def load(path)") > 0
    assert seen.bonus("@property") > 0
    assert seen.bonus("import re") < 0
    (closing,) = [n for n, row in enumerate(rows) if row.strip() == ")"]
    assert seen.structure.bonus[closing] < 0


def test_methods_without_a_keyword_are_signatures_and_calls_are_not():
    seen = Seen(
        """
export class Store {
  async load(path: string): Promise<Rows> {
    if (path.startsWith("/")) {
      items.forEach((item) => {
        keep(item);
      });
    }
  }
}
""",
        ToolUse("read", "Read", path="src/store.ts"),
    )
    assert seen.kind == "code"
    assert seen.hangs_on("async load") == "export class Store {"
    assert seen.bonus("async load") > 0
    assert seen.bonus("if (path") == seen.bonus("items.forEach") == 0


def test_long_rows_of_data_count_less_than_what_is_around_them():
    rows = "\n".join(f'    "entry number {n}",' for n in range(40))
    seen = Seen(f"NAMES = [\n{rows}\n]\n\ndef first():\n    return NAMES[0]", READ)
    assert seen.bonus("number 20") < seen.bonus("number 0") == seen.bonus("number 39")


def test_code_that_a_command_printed_is_code_and_a_report_on_code_is_not():
    code = 'package main\n\nimport (\n\t"os"\n)\n\nfunc main() {\n\tos.Exit(1)\n}'
    assert Seen(code).kind == "code"
    assert Seen(f"## Findings\n\nThe entry is short:\n\n```go\n{code}\n```\n").kind == "plain"


def test_a_file_that_quotes_a_test_run_is_still_code():
    text = f'SAMPLE = """{PYTEST}"""\n\n{CODE}'
    assert Seen(text, READ).kind == "code"


def test_what_is_said_again_with_other_numbers_is_noise():
    rows = [f"2026-01-0{n % 9 + 1} worker {n} is waiting for a job" for n in range(40)]
    seen = Seen("\n".join(["Started.", *rows, "worker 7 gave up: connection refused"]))
    assert seen.kind == "plain"
    assert not any(seen.structure.bonus[:4])
    assert all(bonus < 0 for bonus in seen.structure.bonus[5:40])
    assert seen.bonus("gave up") == 0


def test_places_are_not_repeated_however_alike_their_lines_are():
    seen = Seen("\n".join(f"src/main.go:{n}:5: unused variable in this block" for n in range(40)))
    assert not any(seen.structure.bonus)


def test_downloads_and_bars_are_noise():
    rows = [f"Collecting package_{chr(97 + n % 26)}" for n in range(40)]
    seen = Seen("\n".join([*rows, " 45%|████▌     | 9/20", "ERROR: no matching distribution"]))
    assert seen.bonus("45%") < 0
    assert seen.structure.bonus[0] == 0 > seen.structure.bonus[20]
    assert seen.bonus("no matching") == 0


def test_stamps_and_colours_hide_nothing():
    rows = [f"2026-02-09T07:16:{n:02}.94Z {row}" for n, row in enumerate(PYTEST.strip("\n").split("\n"))]
    assert Seen("\n".join(rows)).structure == Seen(PYTEST).structure
    red = "\n".join(f"\x1b[31m{row}\x1b[0m" for row in PYTEST.strip("\n").split("\n"))
    assert Seen(red).structure == Seen(PYTEST).structure


def test_json_is_json_only_if_it_is():
    text = '{\n  "id": 7,\n  "status": "ok",\n  "rest": [\n    1\n  ]\n}'
    assert Seen(text).kind == "json"
    assert Seen('{"level": "info", "n": 1}\n{"level": "error", "n": 2}\n').kind == "json"
    assert Seen(text[:-1]).kind != "json"
    assert Seen("{not json at all}\n[x]\n{y}").kind == "plain"


def test_a_text_may_mix():
    seen = Seen(f"{PYTEST}\nRemaining containers:\n\n{DOCKER}\n{GIT_DIFF}")
    assert seen.hangs_on("+check(settings)").startswith("@@ -10,4")
    assert seen.bonus("test_get PASSED") < 0 < seen.bonus("1 failed, 8 passed")
