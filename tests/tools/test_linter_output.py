"""What linters print, read: their rules, severities and places; and output that is none of theirs."""

import json

import pytest

from holdfast.tools.checks.checkers import CHECKERS
from holdfast.tools.checks.linter_output import (
    read_bandit,
    read_clippy,
    read_eslint,
    read_go_vet,
    read_mypy,
    read_ruff,
    read_semgrep,
    read_tsc,
)
from holdfast.tools.checks.linters import LINTERS, linter_calls, printed_path
from holdfast.tools.workspace import Workspace

RUFF = [
    {"code": "S602", "filename": "/p/a.py", "location": {"row": 7, "column": 5}}
    | {"end_location": {"row": 9, "column": 20}, "message": "`subprocess` call", "fix": None},
    {"code": None, "filename": "/p/b.py", "location": {"row": 1, "column": 1}}
    | {"end_location": {"row": 1, "column": 2}, "message": "Expected an\n  expression"},
]
BANDIT = {
    "filename": "./a.py",
    "line_number": 9,
    "line_range": [7, 8, 9],
    "test_id": "B602",
    "issue_severity": "HIGH",
    "issue_confidence": "HIGH",
    "issue_text": "subprocess call with shell=True",
}
SEMGREP = {
    "check_id": "rules.no-exec",
    "path": "a.py",
    "start": {"line": 7, "col": 5},
    "end": {"line": 9, "col": 20},
    "extra": {"message": "Do not.", "severity": "WARNING", "metadata": {"category": "security"}},
}
ESLINT = {
    "filePath": "/p/a.mjs",
    "messages": [
        {"ruleId": "no-debugger", "severity": 2, "message": "Unexpected.", "line": 2, "endLine": 2},
        {"ruleId": None, "severity": 2, "fatal": True, "message": "Parsing error", "line": 3},
        {"ruleId": None, "severity": 1, "message": "File ignored."},
        {"ruleId": "no-unused-vars", "severity": 1, "message": "'a' is unused", "line": 1},
    ],
}
CLIPPY = {
    "reason": "compiler-message",
    "message": {
        "message": "unneeded `return` statement",
        "level": "warning",
        "code": {"code": "clippy::needless_return", "explanation": None},
        "spans": [{"file_name": "src/main.rs", "line_start": 2, "line_end": 2, "is_primary": True}],
    },
}


def told(findings):
    return [(f.path, f.line, f.last_line, f.code, f.severity, f.category) for f in findings]


def test_each_linter_is_read_with_its_rules_and_severities():
    assert told(read_ruff("warning: x is deprecated\n" + json.dumps(RUFF, indent=1) + "\n")) == [
        ("/p/a.py", 7, 9, "S602", "low", "security"),
        ("/p/b.py", 1, 1, "invalid-syntax", "medium", "bug"),
    ]
    assert told(read_bandit(json.dumps({"errors": [], "results": [BANDIT]}))) == [
        ("./a.py", 7, 9, "B602", "high", "security")
    ]
    unsure = {**BANDIT, "issue_confidence": "MEDIUM"}
    assert read_bandit(json.dumps({"results": [unsure]}))[0].severity == "medium"
    assert told(read_semgrep(json.dumps({"results": [SEMGREP]}))) == [
        ("a.py", 7, 9, "no-exec", "medium", "security")
    ]
    assert told(read_eslint(json.dumps([ESLINT]))) == [
        ("/p/a.mjs", 2, 2, "no-debugger", "medium", "leftover"),
        ("/p/a.mjs", 3, 3, "syntax", "medium", "bug"),
        ("/p/a.mjs", 1, 1, "no-unused-vars", "low", "style"),
    ]
    cargo = '{"reason":"build-finished","success":true}\n'
    assert told(read_clippy(json.dumps(CLIPPY) + "\nwarning: x\n" + cargo)) == [
        ("src/main.rs", 2, 2, "needless_return", "low", "style")
    ]
    assert told(read_mypy("a.py:7: error: Wrong return  [return-value]\na.py:7: note: see\n")) == [
        ("a.py", 7, 7, "return-value", "medium", "bug")
    ]
    assert told(read_tsc("src/a.ts(12,3): error TS2322: Type 'a'\n")) == [
        ("src/a.ts", 12, 12, "TS2322", "medium", "bug")
    ]
    assert told(read_go_vet("# x\nvet: ./a.go:3:2: undefined: x\n")) == [
        ("a.go", 3, 3, "vet", "medium", "bug")
    ]


def test_words_of_a_message_are_on_one_line():
    assert read_ruff(json.dumps(RUFF))[1].text == "Expected an expression"


@pytest.mark.parametrize("read", [read_ruff, read_bandit, read_semgrep, read_eslint])
@pytest.mark.parametrize(
    "printed",
    ["", "Segmentation fault\n", "[{", "{}]", '[{"filename": 3}]', "[" * 100_000, '{"results": 1}', "null"],
)
def test_an_output_of_another_shape_is_not_read(read, printed):
    assert read(printed) is None


@pytest.mark.parametrize(
    "printed", ["", "{" * 1000, '{"reason": 1}', '{"reason": "x", "message": {"spans": 2}}']
)
def test_lines_of_another_shape_are_passed_over(printed):
    assert read_clippy(printed) == []


@pytest.fixture
def project(tmp_path):
    for name, text in {
        "pyproject.toml": "[tool.ruff]\n[tool.bandit]\n",
        "a b.py": "",
        "-x.py": "",
        "web/.eslintrc.json": "{}",
        "web/src/a.ts": "",
        "notes.md": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("ruff", "bandit"):
        program = tmp_path / ".venv" / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("")
        program.chmod(0o755)
    return Workspace([tmp_path])


def calls(name, paths, workspace):
    linter = next(one for one in LINTERS if one.name == name)
    return [(call.folder, call.command) for call in linter_calls(linter, paths, workspace)]


def test_a_linter_is_called_once_for_its_files_from_the_folder_of_its_configuration(project, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    root = project.roots[0]
    ((folder, command),) = calls("ruff", ["a b.py", "-x.py", "notes.md"], project)
    assert folder == "."
    assert command.startswith(f"{root}/.venv/bin/ruff check")
    assert command.endswith(" './a b.py' ./-x.py")
    ((_, command),) = calls("bandit", ["a b.py"], project)
    assert "-c pyproject.toml" in command
    assert calls("eslint", ["web/src/a.ts", "notes.md"], project) == [("web", "")]
    assert calls("mypy", ["a b.py"], project) == []


def test_many_files_are_several_calls(project):
    names = [f"{'n' * 200}{number}.py" for number in range(1000)]
    found = calls("ruff", names, project)
    assert len(found) > 1
    assert sum(command.count("./n") for _, command in found) == 1000
    assert all(len(command) < 60_000 for _, command in found)


def test_a_printed_path_is_that_of_a_changed_file_or_none():
    known = {"sub/crates/a/src/lib.rs", "b.py"}
    assert printed_path("crates/a/src/lib.rs", "sub/crates/a", "/r", known) == "sub/crates/a/src/lib.rs"
    assert printed_path("/r/b.py", "sub", "/r", known) == "b.py"
    assert printed_path("././b.py", ".", "/r", known) == "b.py"
    assert printed_path("/etc/passwd", ".", "/r", known) == ""
    assert printed_path("../../r/../etc/passwd", "sub", "/r", known) == ""


def test_names_of_linters_are_their_own_and_those_after_edits_are_among_them():
    names = [linter.name for linter in LINTERS]
    assert len(set(names)) == len(names)
    assert {checker.name for checker in CHECKERS} - {"cargo"} <= set(names)
