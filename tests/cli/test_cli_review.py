"""`holdfast review`: each kind of diff, where there is nothing, who looks, and what a shell offers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import holdfast, on_terminal, process
from review_line import AFTER, BEFORE, MANY, large_repo, paths, reviewed, shop

from holdfast.review.git_changes import MOST_DIFF
from support.review_repos import Repo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = shop(tmp_path / "repo")
    monkeypatch.chdir(made.folder)
    return made


def test_the_working_tree_is_what_is_not_committed(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    repo.write("new.txt", "a line\n")
    report = reviewed()
    assert report["title"] == "working"
    assert paths(report) == ["new.txt", "src/shop.py"]
    (finding,) = report["findings"]
    assert (finding["path"], finding["line"], finding["rule"]) == ("src/shop.py", 2, "breakpoint")
    assert finding["evidence"] == ["    breakpoint()"]


def test_what_is_staged_is_what_would_be_committed(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    repo.git("add", "-A")
    repo.write("src/shop.py", BEFORE)
    repo.write("new.txt", "a line\n")
    report = reviewed("--diff", "staged")
    assert paths(report) == ["src/shop.py"]
    assert report["worst"] == "high"


@pytest.mark.parametrize("spec", ["HEAD", "main...HEAD", "main..HEAD", "main..work", "v1"])
def test_commits_and_what_lies_between_them(repo: Repo, spec: str) -> None:
    repo.git("checkout", "-q", "-b", "work")
    repo.commit({"src/shop.py": AFTER})
    repo.git("tag", "v1")
    report = reviewed("--diff", spec)
    assert (report["title"], paths(report), report["worst"]) == (spec, ["src/shop.py"], "high")


@pytest.mark.slow
def test_a_diff_in_a_file_and_one_that_is_piped_in(repo: Repo, tmp_path: Path) -> None:
    repo.write("src/shop.py", AFTER)
    raw = subprocess.run(["git", "diff"], cwd=repo.folder, capture_output=True, check=True).stdout
    own = reviewed()
    (tmp_path / "change.diff").write_bytes(raw)
    from_file = reviewed("--diff", tmp_path / "change.diff")
    piped = process("review", "--no-model", "--json", "--diff", "-", input=raw)
    assert piped.err == ""
    assert piped.json["title"] == "stdin"
    assert own["units"] == from_file["units"] == piped.json["units"]
    assert own["findings"] == from_file["findings"] == piped.json["findings"]


def test_a_diff_needs_no_repository(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("src/shop.py", AFTER)
    raw = subprocess.run(["git", "diff"], cwd=repo.folder, capture_output=True, check=True).stdout
    monkeypatch.chdir(tmp_path)
    done = process("review", "--no-model", "--json", "--diff", "-", input=raw)
    assert done.code == 0
    assert [finding["rule"] for finding in done.json["findings"]] == ["breakpoint"]


@pytest.mark.slow
def test_from_a_folder_below_it_is_the_same(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("src/shop.py", AFTER)
    repo.write("new.txt", "a line\n")
    raw = subprocess.run(["git", "diff"], cwd=repo.folder, capture_output=True, check=True).stdout
    repo.write("src/own.patch", raw)
    from_top = reviewed()
    monkeypatch.chdir(repo.folder / "src")
    assert reviewed() == from_top
    piped = process("review", "--no-model", "--json", "--diff", "-", input=raw).json
    assert piped["units"] == reviewed("--diff", "own.patch")["units"]
    (unit,) = piped["units"]
    assert (unit["symbol"], unit["path"]) == ("price", "src/shop.py"), (
        "the file was found, to read its functions"
    )


@pytest.mark.slow
def test_all_that_can_happen_to_a_file_in_one_diff(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.commit({"a": "1\n"})
    text = "".join(f"line {n}\n" for n in range(30))
    repo.commit({"gone.py": BEFORE, "old/name.txt": text, "run.sh": "#!/bin/sh\n", "dos.txt": "a\r\nb\r\n"})
    repo.git("rm", "-q", "gone.py")
    (repo.folder / "new").mkdir()
    repo.git("mv", "old/name.txt", "new/name.txt")
    repo.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\xff")
    (repo.folder / "run.sh").chmod(0o755)
    repo.write("dos.txt", "a\r\nc\r\n")
    repo.git("submodule", "add", "-q", str(other.folder), "sub")
    repo.git("add", "-A")
    report = reviewed("--diff", "staged")
    units = {unit["path"]: unit for unit in report["units"]}
    assert {path: unit["change"] for path, unit in units.items()} == {
        ".gitmodules": "added",
        "dos.txt": "modified",
        "gone.py": "deleted",
        "new/name.txt": "renamed",
        "picture.png": "added",
        "run.sh": "modified",
        "sub": "added",
    }
    assert units["new/name.txt"]["old_path"] == "old/name.txt"
    assert [
        tag for path in ("new/name.txt", "picture.png", "run.sh", "sub") for tag in units[path]["tags"]
    ] == [*("moved", "binary", "mode", "submodule")]
    for form in ("--markdown", "--sarif"):
        done = holdfast("review", "--diff", "staged", form, "--no-model")
        assert (done.code, done.err) == (0, "")
        assert all(path in done.text for path in ("gone.py", "sub")) or form == "--sarif"


@pytest.mark.slow
def test_two_thousand_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(large_repo(tmp_path / "large").folder)
    report = reviewed("--diff", "staged")
    assert len(paths(report)) == MANY
    shown = holdfast("review", "--diff", "staged", "--no-model")
    assert f"{MANY:,} files, {MANY:,} units, +{2 * MANY:,} −0 lines" in shown.text
    assert len(shown.text.split("\n")) < 60, "the rest is counted, not listed"


@pytest.mark.parametrize(
    ("spec", "sentence", "hint"),
    [
        ("working", "nothing has changed in the working tree", "`--diff HEAD`"),
        ("staged", "nothing is staged", "`--diff working`"),
        ("HEAD..HEAD", "this diff is empty", ""),
    ],
    ids=["working", "staged", "commits"],
)
def test_nothing_has_changed(repo: Repo, spec: str, sentence: str, hint: str) -> None:
    done = holdfast("review", "--no-model", "--diff", spec, "--json", "--fail-on", "info")
    assert (done.code, done.json["units"], done.json["worst"]) == (0, [], None)
    assert f"note: {sentence}\n" in done.err
    assert ("hint: " in done.err) == bool(hint)
    assert hint in done.err


@pytest.mark.slow
def test_nothing_is_piped_in(repo: Repo) -> None:
    done = process("review", "--no-model", "--diff", "-", input=b"")
    assert (done.code, done.err) == (0, "note: this diff is empty\n")
    asked = on_terminal("review", "--diff", "-")
    assert asked.code == 2
    assert b"nothing is piped in" in asked.out


@pytest.mark.slow
def test_more_is_piped_in_than_can_be_read(repo: Repo) -> None:
    done = process("review", "--no-model", "--diff", "-", input=b" " * (MOST_DIFF + 1))
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: what is piped in is larger than 64 MiB\nhint: ")


def test_a_repository_without_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Repo(tmp_path / "fresh")
    made.write("a.py", AFTER)
    monkeypatch.chdir(made.folder)
    assert reviewed()["worst"] == "high"


def test_without_a_model_the_rules_look_and_say_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("src/shop.py", AFTER)
    done = holdfast("review", "--json")
    assert (done.code, done.json["worst"]) == (0, "high")
    assert done.err.startswith(
        "note: only the rules reviewed, because no model is chosen; choose one with `--model`"
    )
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_the_rule_half_loads_nothing_that_it_does_not_need(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    code = "import sys; from holdfast.cli.app import run; run(['review', '--no-model']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split("\n")[-2].split())
    assert "holdfast.review.review" in loaded
    heavy = {"rich", "splintr", "sqlite3", "asyncio", "kingfisher_sdk", "tree_sitter", "semble_grammars"}
    assert loaded & (heavy | {"holdfast.models", "holdfast.agents", "httpx2"}) == set()


@pytest.mark.slow
def test_what_a_shell_offers(repo: Repo) -> None:
    repo.git("branch", "stable")
    assert offered("st") == ["staged", "stable"]
    assert offered("w") == ["working"]
    assert offered("main...st") == ["main...stable"]
    assert "HEAD" in offered("")
    assert offered("READ") == []


def offered(incomplete: str) -> list[str]:
    words = f"holdfast review --diff {incomplete}"
    env = {**os.environ, "_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"}
    done = process(env=env)
    assert (done.code, done.err) == (0, "")
    return [line.split(",", 1)[1] for line in done.text.split("\n") if line.startswith("plain,")]
