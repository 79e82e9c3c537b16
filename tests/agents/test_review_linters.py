"""Linters in a review: real ones and hostile ones in a real sandbox, on changed lines only, and nothing unasked."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from holdfast.agents.reviewer.linters import LinterLimits, parse_linters, run_linters
from holdfast.errors import InputError
from holdfast.review.review import start_review
from support.review_repos import Repo
from support.sandboxes import sandbox_or_skip

BEFORE = "import os\n\n\ndef run(task):\n    return task\n"
AFTER = "import os\nimport sys\n\n\ndef run(task):\n    breakpoint()\n    return task\n"
CONFIG = "[tool.ruff.lint]\nselect = ['F', 'T10']\n"


@pytest.fixture
def repo(tmp_path):
    sandbox_or_skip("bubblewrap")
    made = Repo(tmp_path / "repo")
    made.commit({"a.py": BEFORE, "pyproject.toml": CONFIG, ".gitignore": ".venv\nnode_modules\n"})
    made.write("a.py", AFTER)
    return made


def linted(repo, names, spec="working", *, sandbox="bubblewrap", **more):
    review = start_review(repo.folder, spec)
    asyncio.run(run_linters(review, parse_linters(names), is_named=names != "all", sandbox=sandbox, **more))
    return review


def rules(review):
    return [(one.path, one.line, one.rule, one.also) for one in review.findings.ranked()]


def program(repo, name, text, place=".venv/bin"):
    path = repo.folder / place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


OURS = [("a.py", 6, "breakpoint", ())]


def test_changed_lines_only_and_what_both_found_once(repo):
    """The unused import that was there before is not reported."""
    review = linted(repo, "ruff")
    assert rules(review) == [("a.py", 6, "breakpoint", ("ruff:T100",)), ("a.py", 2, "ruff:F401", ())]
    assert [(run.name, run.findings, run.trouble) for run in review.linters] == [("ruff", 2, "")]
    assert review.notes == start_review(repo.folder, "working").notes
    again = linted(repo, "ruff")
    assert [one.id for one in again.findings.kept] == [one.id for one in review.findings.kept]
    assert not list(repo.folder.rglob(".ruff_cache"))


def test_nothing_is_run_without_being_asked_or_outside_a_sandbox(repo, tmp_path):
    program(repo, "ruff", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    assert linted(repo, "").linters == ()
    review = linted(repo, "all", sandbox="off")
    assert rules(review) == OURS
    assert any("no linter was run" in note for note in review.notes)
    assert not (tmp_path / "ran").exists()


def test_a_linter_that_is_not_configured_or_not_installed_is_named(repo, monkeypatch):
    review = linted(repo, "eslint")
    assert [run.trouble for run in review.linters] == [
        "eslint was not run: it is not configured for any changed file"
    ]
    assert linted(repo, "all").linters[0].name == "ruff"
    repo.write("web/eslint.config.js", "export default [];\n")
    repo.write("web/a.js", "let a = 1;\n")
    monkeypatch.setenv("PATH", os.pathsep.join(("/usr/bin", "/bin")))
    review = linted(repo, "eslint")
    if not shutil.which("eslint"):
        said = "eslint was not run in `web`: it is configured there, but not installed"
        assert [run.trouble for run in review.linters] == [said]
        assert said in review.notes


def test_files_that_on_disk_are_not_as_reviewed_are_passed_over_with_a_note(repo):
    repo.git("add", "-A")
    assert ("a.py", 2, "ruff:F401", ()) in rules(linted(repo, "ruff", "staged"))
    repo.write("a.py", "import sys\n")
    review = linted(repo, "ruff", "staged")
    assert rules(review) == OURS
    assert "linters did not see 1 file, which on disk is not as reviewed" in review.notes


def test_a_configuration_that_runs_code_is_held_in_the_sandbox(repo, tmp_path):
    """The program of a stranger's repository writes nowhere and reaches nothing."""
    inside = repo.folder / "inside"
    program(
        repo,
        "ruff",
        f"#!/bin/bash\nfor place in {tmp_path}/outside {inside} {repo.folder}/a.py; do echo x >> $place; done\n"
        "(: > /dev/tcp/127.0.0.1/9) 2>/dev/null && echo open\necho '[]'\n",
    )
    review = linted(repo, "ruff")
    assert rules(review) == OURS
    assert not (tmp_path / "outside").exists()
    assert not inside.exists()
    assert (repo.folder / "a.py").read_text() == AFTER


ROW = (
    '[{"code": "F401", "filename": "a.py", "location": {"row": 2}, "end_location": {"row": 2}, '
    '"message": "unused"}]'
)


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("kill -SEGV $$", "ruff ended with code 139"),
        ("echo 'cannot read ruff.toml' >&2; exit 2", "ruff ended with code 2: cannot read ruff.toml"),
        ("exit 1", "ruff ended with code 1"),
        ("echo Hello", "ruff printed what cannot be read: Hello"),
        ("sleep 600", "ruff did not end within 0.5 seconds and was stopped"),
        ("(sleep 600 &) ; (sleep 600 &) ; sleep 600", "ruff did not end within 0.5 seconds and was stopped"),
        ("yes", "ruff printed more than 20 MB and was stopped"),
    ],
)
def test_a_linter_that_fails_costs_a_sentence_and_nothing_else(repo, script, trouble):
    program(repo, "ruff", f"#!/bin/bash\n{script}\n")
    began = time.monotonic()
    # What prints without end is stopped by its size; a slow machine gets the time for that.
    each = 0.5 if "sleep" in script else 60.0
    review = linted(repo, "ruff", limits=LinterLimits(each=each))
    assert time.monotonic() - began < 60
    assert rules(review) == OURS
    assert [run.trouble.partition(": bash")[0] for run in review.linters] == [trouble]
    assert review.linters[0].trouble in review.notes


def test_processes_that_a_linter_leaves_behind_are_ended(repo, tmp_path):
    """It forks without waiting, and its children hold its output open."""
    mark = f"{os.getpid()}.{time.time_ns()}"
    forks = f"for n in $(seq 40); do (exec -a holdfast-{mark} sleep 600) & done"
    program(repo, "ruff", f"#!/bin/bash\n{forks}\necho '{ROW}'\nexit 1\n")
    review = linted(repo, "ruff", limits=LinterLimits(each=30))
    assert ("a.py", 2, "ruff:F401", ()) in rules(review)
    commands = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(place.read_bytes())
        except OSError:
            continue
    assert not [command for command in commands if mark.encode() in command]


def test_what_a_linter_found_before_it_crashed_is_kept(repo):
    program(repo, "ruff", f"#!/bin/bash\necho '{ROW}'\nexit 70\n")
    review = linted(repo, "ruff")
    assert ("a.py", 2, "ruff:F401", ()) in rules(review)
    assert review.linters[0].trouble.startswith("ruff ended with code 70")
    assert review.linters[0].findings == 1


def test_one_linter_that_hangs_leaves_time_for_no_more_than_all_have(repo):
    repo.write("pyproject.toml", CONFIG + "[tool.bandit]\n")
    for name in ("ruff", "bandit"):
        program(repo, name, "#!/bin/bash\nsleep 600\n")
    review = linted(repo, "ruff,bandit", limits=LinterLimits(each=0.5, all=0.5))
    assert [run.trouble.partition(" ")[2] for run in review.linters] == [
        "did not end within 0.5 seconds and was stopped",
        "was not run to its end: the time for linters was over",
    ]


def test_an_interruption_ends_the_linter_and_the_review(repo):
    program(repo, "ruff", "#!/bin/bash\nsleep 600\n")
    told = []

    async def interrupted():
        review = start_review(repo.folder, "working")
        running = asyncio.create_task(run_linters(review, parse_linters("ruff"), tell=told.append))
        while not told:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert told == ["running ruff"]


def test_findings_elsewhere_and_hostile_words_are_only_text(repo):
    row = ROW.replace('"a.py"', '"/etc/passwd"')
    hostile = ROW.replace("unused", r"\u001b[2J <img src=x> ghp_R7wQ2nV9xK4mB8tL1cY6zJ3pD5sF0gHaUeXo")
    program(repo, "ruff", f"#!/bin/bash\ncat <<'END'\n{row[:-1]}, {hostile[1:]}\nEND\nexit 1\n")
    found = [one for one in linted(repo, "ruff").findings.kept if one.rule == "ruff:F401"]
    assert [one.path for one in found] == ["a.py"]
    assert "ghp_" not in found[0].claim


def test_names_of_linters_are_checked():
    assert [linter.name for linter in parse_linters("eslint, ruff,eslint")] == ["eslint", "ruff"]
    assert len(parse_linters("all,ruff")) > 5
    with pytest.raises(InputError, match="no linter `rufff`") as error:
        parse_linters("rufff")
    assert "ruff" in error.value.hint


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bandit"), reason="Bandit is not installed")
def test_bandit_and_ruff_name_the_same_finding(repo):
    repo.write("pyproject.toml", "[tool.ruff.lint]\nselect = ['S']\n[tool.bandit]\n")
    repo.write(
        "a.py", "import subprocess\n\n\ndef run(task):\n    return subprocess.call(task, shell=True)\n"
    )
    found = {(line, rule, also) for _, line, rule, also in rules(linted(repo, "bandit,ruff"))}
    assert (5, "text-as-code", ("bandit:B602", "ruff:S602")) in found
    assert any(rule == "bandit:B404" for _, rule, _ in found)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("eslint"), reason="ESLint is not installed")
def test_eslint_is_read(repo):
    repo.write("eslint.config.mjs", 'export default [{rules: {"no-debugger": "error", "no-var": "warn"}}];\n')
    repo.write("a.mjs", "var a = 1;\ndebugger;\n")
    found = rules(linted(repo, "eslint"))
    assert ("a.mjs", 2, "breakpoint", ("eslint:no-debugger",)) in found
    assert ("a.mjs", 1, "eslint:no-var", ()) in found


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cargo-clippy"), reason="Clippy is not installed")
def test_clippy_is_read_in_a_workspace(repo):
    repo.write("rust/Cargo.toml", '[workspace]\nmembers = ["one"]\nresolver = "2"\n')
    # Without its head, cargo would write it again.
    head = "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\n"
    repo.write("rust/Cargo.lock", head + 'version = 4\n\n[[package]]\nname = "one"\nversion = "0.1.0"\n')
    repo.write("rust/one/Cargo.toml", '[package]\nname = "one"\nversion = "0.1.0"\nedition = "2021"\n')
    repo.write("rust/one/src/lib.rs", "pub fn one() -> i32 {\n    return 1;\n}\n")
    review = linted(repo, "clippy")
    if "not installed" in review.linters[0].trouble:
        pytest.skip(review.linters[0].trouble)  # a proxy of rustup without the component
    assert ("rust/one/src/lib.rs", 2, "clippy:needless_return", ()) in rules(review)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("semgrep"), reason="Semgrep is not installed")
def test_semgrep_is_read_with_rules_of_the_project(repo):
    rule = "rules:\n  - id: no-run\n    languages: [python]\n    severity: ERROR\n    message: No.\n"
    repo.write(".semgrep.yml", rule + "    pattern: run(...)\n")
    repo.write("b.py", "run(1)\n")
    assert ("b.py", 1, "semgrep:no-run", ()) in rules(linted(repo, "semgrep"))
