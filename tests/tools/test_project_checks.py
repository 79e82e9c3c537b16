"""Checks after an edit, by real linters in a real sandbox: new findings only, in time, and nothing else changed."""

import asyncio
import os
import re
import shutil
import subprocess
import time

import pytest

from holdfast.errors import ConfigError
from holdfast.tools.checks.checked_edit import CheckedEdit, ProjectChecks
from holdfast.tools.checks.checkers import (
    CheckFinding,
    CheckSettings,
    checks_of,
    new_findings,
    parse_checks,
    read_findings,
)
from holdfast.tools.files.edit import edit_tool
from holdfast.tools.files.read import read_tool
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.write import write_tool
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.workspace import Workspace
from support.sandboxes import sandbox_or_skip

OLD = '"""A module."""\n\nimport os\n\n\ndef first() -> int:\n    return 1\n'
SLOW = "#!/bin/sh\nsleep 60\n"


class Project:
    """A folder with a configuration, a file that the agent has read, and its editing tools with checks."""

    def __init__(self, root, config, *, settings=None, sandbox=None, may_run=lambda _: True):
        self.root = root
        root.mkdir(exist_ok=True)
        (root / "pyproject.toml").write_text(config)
        self.workspace = Workspace([root])
        limits = ShellLimits(grace=0.2)
        shell = Shell(sandbox=sandbox or sandbox_or_skip("bubblewrap"), access="read", limits=limits)
        self.asked = []
        self.files = SeenFiles()

        def asks(command):
            self.asked.append(command)
            return may_run(command)

        self.checks = ProjectChecks(settings or CheckSettings(seconds=60), shell, asks)

    def edit(self, path, old, new, **more):
        arguments = {"path": path, "old_string": old, "new_string": new, **more}
        asyncio.run(read_tool(self.files).run({"path": path}, self.workspace))
        return self.run(edit_tool(self.files), arguments)

    def write(self, path, content):
        return self.run(write_tool(self.files), {"path": path, "content": content})

    def run(self, tool, arguments):
        return asyncio.run(CheckedEdit(tool, self.checks).run(arguments, self.workspace))


@pytest.fixture
def project(tmp_path):
    made = []

    def make(config="[tool.ruff.lint]\nselect = ['F']\n", **more):
        made.append(Project(tmp_path / "project", config, **more))
        (made[-1].root / "a.py").write_text(OLD)
        return made[-1]

    yield make
    for one in made:
        one.checks.close()


def remark(result):
    assert not result.is_error
    return re.sub(r"(?s).*?(?:\n\((?=\w+: \d+ new)|\Z)", "", result.envelope.text, count=1)


def test_only_what_the_edit_brought_is_reported(project):
    work = project()
    found = work.edit("a.py", "    return 1\n", "    import sys\n    return 1\n")
    assert remark(found).startswith(
        "ruff: 1 new finding after this edit. `ruff check a.py` shows all.)\na.py:7:12: F401"
    )
    assert "`os`" not in remark(found)
    assert found.envelope.status == "success"
    assert found.envelope.data["checks"] == {"ruff": 1}
    assert work.asked == ["ruff check a.py"]


def test_old_findings_in_lines_that_moved_are_not_new(project):
    work = project()
    assert remark(work.edit("a.py", '"""A module."""\n', '"""A module.\n\n\nLonger.\n"""\n')) == ""
    # A second one of the same words is new.
    assert "a.py:11:12: F401 [*] `os`" in remark(
        work.edit("a.py", "    return 1\n", "    import os\n    return 1\n")
    )


def test_a_new_file_is_checked_as_a_whole_and_a_clean_one_says_nothing(project):
    work = project()
    assert "b.py:1:8: F401" in remark(work.write("b.py", "import os\n"))
    assert remark(work.write("c.py", "X = 1\n")) == ""
    assert remark(work.write("notes.txt", "import os\n")) == ""


def test_more_than_ten_are_counted(project):
    text = "".join(f"import module_{number}\n" for number in range(14))
    said = remark(project().write("b.py", text))
    assert said.startswith("ruff: 14 new findings")
    assert said.count("b.py:") == 10
    assert said.endswith("(and 4 more)")


def test_what_a_project_does_not_configure_is_not_run(project):
    work = project("[project]\nname = 'x'\n")
    assert remark(work.write("b.py", "import os\n")) == ""
    assert work.asked == []


def test_a_dry_run_and_a_failed_edit_are_as_without_checks(project):
    work = project()
    assert remark(work.edit("a.py", "return 1", "return x", dry_run=True)) == ""
    assert work.asked == []
    missing = work.edit("a.py", "no such text", "x")
    assert missing.envelope.error.code == "NOT_FOUND"


def test_without_permission_nothing_is_run(project):
    work = project(may_run=lambda _: False)
    assert remark(work.write("b.py", "import os\n")) == ""
    assert work.asked == ["ruff check b.py"]


def test_a_program_of_the_project_is_asked_about_with_its_place(project, monkeypatch):
    work = project(may_run=lambda command: command.startswith("ruff"))
    bin_folder = work.root / ".venv" / "bin"
    program(bin_folder, "ruff", "#!/bin/sh\nexit 1\n")
    work.write("b.py", "import os\n")
    assert work.asked == ["ruff check b.py", ".venv/bin/ruff check b.py"]
    monkeypatch.setenv("PATH", str(bin_folder), prepend=os.pathsep)
    work.asked.clear()
    work.write("c.py", "import os\n")
    assert work.asked == ["ruff check c.py"], "it is the one that the path has"


def test_names_with_braces_are_names(tmp_path):
    folder = tmp_path / "{file}"
    folder.mkdir()
    (tmp_path / "go.mod").write_text("module a\n")
    program(tmp_path / "venv" / "bin", "go", "#!/bin/sh\n")
    (check,) = checks_of("{file}/x'y.go", CheckSettings(), Workspace([tmp_path]))
    assert check.plain == "go vet ./'{file}'"
    assert check.command.endswith(" vet ./'{file}'")


@pytest.mark.slow
def test_a_type_checker_finds_what_the_edit_broke_and_remembers_between_edits(project):
    work = project("[tool.mypy]\nstrict = true\n")
    (work.root / "a.py").write_text(OLD + "\n\nBAD: int = 'old'\n")
    found = remark(work.edit("a.py", "return 1", "return '1'"))
    assert found.startswith("mypy: 1 new finding after this edit. `mypy a.py` shows all.)")
    assert "a.py:7: error: Incompatible return value type" in found
    assert "BAD" not in found
    assert "old" not in found
    assert remark(work.edit("a.py", "return '1'", "return 2")) == ""
    assert not list(work.root.glob(".mypy_cache"))


@pytest.mark.slow
def test_a_configuration_that_runs_code_changes_nothing(project, tmp_path):
    """A plugin of mypy is a program: it is held at `read`."""
    work = project("[tool.mypy]\nplugins = ['plug.py']\n")
    outside = tmp_path / "outside"
    (work.root / "plug.py").write_text(
        "import pathlib\n"
        "from mypy.plugin import Plugin\n"
        f"for path in ({str(outside)!r}, {str(work.root / 'inside')!r}):\n"
        "    try:\n        pathlib.Path(path).write_text('x')\n"
        "    except OSError:\n        pass\n"
        "def plugin(version: str) -> type[Plugin]:\n    return Plugin\n"
    )
    assert "Incompatible return" in remark(work.edit("a.py", "return 1", "return '1'"))
    assert not outside.exists()
    assert not (work.root / "inside").exists()


def program(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def test_the_projects_own_program_comes_first_and_its_output_is_read(project):
    work = project("")
    (work.root / "web").mkdir()
    (work.root / "web" / "tsconfig.json").write_text("{}")
    sed = r"s/^\([^:]*\):\([0-9]*\):.*/\1(\2,5): error TS2322: wrong/"
    report = f"#!/bin/sh\ngrep -nH wrong src/*.ts | sed '{sed}'\n"
    program(work.root / "web" / "node_modules" / ".bin", "tsc", report)
    (work.root / "web" / "src").mkdir()
    (work.root / "web" / "src" / "old.ts").write_text("wrong\n")
    found = remark(work.write("web/src/new.ts", "fine\nwrong\n"))
    assert found == (
        "tsc: 1 new finding after this edit. `tsc --noEmit -p .` in `web` shows all.)\n"
        "src/new.ts(2,5): error TS2322: wrong"
    )


def test_a_check_that_fails_is_told_once_and_is_no_clean_one(project):
    work = project()
    program(
        work.root / ".venv" / "bin",
        "ruff",
        "#!/bin/sh\necho warming up\necho error: no such rule >&2\nexit 2\n",
    )
    assert work.write("b.py", "import os\n").envelope.text.endswith(
        "\n(ruff could not check this: error: no such rule)"
    )
    assert "could not" not in work.write("c.py", "import os\n").envelope.text
    program(work.root / ".venv" / "bin", "ruff", "#!/bin/sh\nexit 1\n")
    assert "could not" not in work.write("d.py", "import os\n").envelope.text


def test_cargo_says_that_it_lacks_its_lock_file(project):
    """At `read` it cannot write one. With one, it finds what the edit broke."""
    if not shutil.which("cargo"):
        pytest.skip("no cargo")
    work = project("")
    (work.root / "Cargo.toml").write_text('[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n')
    (work.root / "src").mkdir()
    (work.root / "src" / "main.rs").write_text("fn main() {\n    let _x = 1;\n}\n")
    found = work.edit("src/main.rs", "= 1", '= "a" + 1').envelope.text
    assert "(cargo could not check this: error: " in found
    assert "Cargo.lock" in found
    subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=work.root, check=True)
    work.edit("src/main.rs", '= "a" + 1', "= 1")
    assert "src/main.rs:2:18: error[E0369]" in remark(work.edit("src/main.rs", "= 1", '= "a" + 1'))


def test_a_slow_check_is_stopped_in_time_and_after_three_times_left_out(project):
    work = project(settings=CheckSettings(seconds=0.3))
    program(work.root / ".venv" / "bin", "ruff", SLOW)
    began = time.monotonic()
    for number in range(4):
        assert (
            remark(
                work.edit("a.py", "return 1" if not number % 2 else "return 2", f"return {2 - number % 2}")
            )
            == ""
        )
    assert time.monotonic() - began < 20
    assert work.checks._late == {next(iter(work.checks._late)): 3}


def test_an_interrupted_check_leaves_the_edit_known(project):
    """Before the edit nothing has happened; after it, the result of the edit is kept."""
    work = project()
    marker = work.root / "second"
    program(work.root / ".venv" / "bin", "ruff", f"#!/bin/sh\nif [ -e '{marker}' ]; then sleep 60; fi\n")
    asyncio.run(read_tool(work.files).run({"path": "a.py"}, work.workspace))
    arguments = {"path": "a.py", "old_string": "return 1", "new_string": "return 2"}

    async def interrupt(when):
        tool = CheckedEdit(edit_tool(work.files), work.checks)
        task = asyncio.create_task(tool.run(arguments, work.workspace))
        while not when():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        return await task

    def is_running():
        return any(not job.is_over for job in work.checks._shell.jobs.values())

    marker.write_text("")
    early = asyncio.run(interrupt(is_running))
    assert early.is_error
    assert "nothing was changed" in early.envelope.text
    assert "return 1" in (work.root / "a.py").read_text()
    marker.unlink()

    def is_edited():
        if "return 2" in (work.root / "a.py").read_text():
            marker.write_text("")
            return is_running()
        return False

    program(work.root / ".venv" / "bin", "ruff", "#!/bin/sh\nif grep -q 'return 2' a.py; then sleep 60; fi\n")
    late = asyncio.run(interrupt(is_edited))
    assert late.envelope.data["applied"] is True


@pytest.mark.parametrize(
    ("row", "path", "line"),
    [
        ("src/a.py:3:5: F841 Local variable", "src/a.py", 3),
        ("a.py:7: error: Incompatible return value type  [return-value]", "a.py", 7),
        ("src/x.ts(12,3): error TS2322: Type 'a'", "src/x.ts", 12),
        ("src/main.rs:2:5: error[E0425]: cannot find value", "src/main.rs", 2),
        ("./pkg/a.go:5:2: unreachable code", "pkg/a.go", 5),
        ("vet: ./a.go:3:2: undefined: x", "a.go", 3),
    ],
)
def test_findings_of_each_tool_are_read(row, path, line):
    (found,) = read_findings(f"# header\n{row}\na.py:1: note: see this\nFound 1 error.\n")
    assert (found.path, found.line, found.spelled) == (path, line, row)


def finding(line, text="x is on line 3"):
    return CheckFinding("a.py", line, text, f"a.py:{line}: {text}")


def test_of_findings_with_the_same_words_those_in_the_edit_are_new():
    before = [finding(3), finding(9, "x is on line 12")]
    after = [finding(3), finding(6), finding(10)]
    assert new_findings(before, after, [(5, 7)]) == [after[1]]
    assert new_findings(before, after[:2], [(5, 7)]) == []
    assert new_findings([], after, []) == after


def test_own_commands_of_a_project_are_run_for_their_files(tmp_path):
    (tmp_path / "a b.c").write_text("")
    settings = parse_checks({"commands": {"*.c": "lint --x {file}"}, "skip": ["ruff"]}, "here")
    (check,) = checks_of("a b.c", settings, Workspace([tmp_path]))
    assert (check.name, check.command, check.folder) == ("lint", "lint --x 'a b.c'", ".")
    assert list(checks_of("a.h", settings, Workspace([tmp_path]))) == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"second": 3}, "unknown key `checks.second`"),
        ({"seconds": -1}, "number of at least 0"),
        ({"seconds": True}, "number of at least 0"),
        ({"skip": "ruff"}, "list of names"),
        ({"skip": ["rufff"]}, "no check `rufff`"),
        ({"commands": ["x"]}, "table of commands"),
        ({"commands": {"a{b": "x"}}, "is wrong"),
    ],
)
def test_a_table_that_cannot_be_read_is_an_error(table, message):
    with pytest.raises(ConfigError, match=message):
        parse_checks(table, "here")


def test_a_check_that_has_nothing_to_look_at_before_the_first_file_is_no_failed_one(project):
    settings = parse_checks({"commands": {"*.txt": "sh check.sh"}}, "here")
    work = project("", settings=settings)
    (work.root / "check.sh").write_text(
        "[ -e new.txt ] || { echo nothing to check; exit 1; }\necho new.txt:1:1: bad\nexit 1\n"
    )
    assert "new.txt:1:1: bad" in remark(work.write("new.txt", "x\n"))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")
def test_go_vet_is_read(project):
    work = project("")
    (work.root / "go.mod").write_text("module x\n\ngo 1.19\n")
    # Go 1.19 says `undeclared name`, later ones `undefined`.
    found = remark(work.write("main.go", "package main\n\nfunc main() { y() }\n"))
    assert re.search(r"main\.go:3:15: unde\w+( name)?: y", found)
