"""`holdfast review`: what comments, the configuration and a baseline hide, and what is said about it."""

import json
from pathlib import Path

import pytest
from command_line import holdfast, process
from review_line import shop

from support.review_repos import Repo

CODE = "def f():\n    breakpoint()\n"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = shop(tmp_path / "repo")
    monkeypatch.chdir(made.folder)
    made.write("src/f.py", CODE)
    return made


def review(*args: object) -> tuple[int, str, str]:
    done = holdfast("review", "--no-model", "--markdown", "--fail-on", "high", *args)
    return done.code, done.text, done.err


def test_the_configuration_hides_and_the_report_says_so(repo: Repo) -> None:
    assert review()[0] == 1
    repo.write("holdfast.toml", '[review]\nignore = ["breakpoint src/"]\n')
    code, out, _ = review()
    assert code == 0
    assert "1 finding is hidden: 1 high (1 by the configuration)" in out
    code, out, _ = review("--no-ignore")
    assert code == 1
    assert "hidden" not in out


def test_an_unknown_rule_and_a_comment_without_a_reason_are_said(repo: Repo) -> None:
    repo.write("holdfast.toml", '[review]\nignore = ["brakpoint"]\n')
    repo.write("src/f.py", "def f():\n    breakpoint()  # holdfast: ignore[breakpoint]\n")
    code, _, err = review()
    assert code == 1
    assert "there is no rule `brakpoint`; did you mean `breakpoint`?" in err
    assert "`src/f.py:2`: `holdfast: ignore[…]` has no reason, so it hides nothing" in err


@pytest.mark.parametrize(
    "text", ["[review]\nignore = 3\n", "[review]\nrun = ['x']\n", "review = 1\n", "[review\n"]
)
def test_a_hostile_configuration_is_one_sentence(repo: Repo, text: str) -> None:
    repo.write("holdfast.toml", text)
    code, out, err = review()
    assert (code, out) == (2, "")
    assert err.count("error:") == 1
    assert "Traceback" not in err


def test_a_baseline_lets_only_new_findings_through(repo: Repo, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    code, _, err = review("--baseline", baseline)
    assert code == 2
    assert "there is no baseline" in err
    code, out, err = review("--baseline", baseline, "--update-baseline")
    assert code == 0
    assert "1 added to the baseline" in err
    assert "1 finding is hidden: 1 high (1 by the baseline)" in out
    before = baseline.read_bytes()
    assert review("--baseline", baseline, "--update-baseline")[0] == 0
    assert baseline.read_bytes() == before
    repo.write("src/g.py", "def g():\n    breakpoint()\n")
    done = holdfast("review", "--no-model", "--json", "--fail-on", "high", "--baseline", baseline)
    assert done.code == 1
    assert [one["path"] for one in done.json["findings"]] == ["src/g.py"]
    assert done.json["hidden_counts"] == {"baseline": 1}


def test_a_file_that_is_no_baseline_of_this_project_is_never_written_over(repo: Repo, tmp_path: Path) -> None:
    entry = {"id": "f-0123456789ab", "path": "elsewhere.py"}
    other = json.dumps({"schema": "holdfast.review-baseline/1", "findings": [entry]})
    for text, said in (("# a text\n", "is not a baseline"), (other, "is of another project")):
        file = tmp_path / "file"
        file.write_text(text, "utf-8")
        code, out, err = review("--baseline", file, "--update-baseline")
        assert (code, out) == (2, "")
        assert said in err
        assert file.read_text("utf-8") == text


def test_update_baseline_needs_a_file(repo: Repo) -> None:
    code, _, err = review("--update-baseline")
    assert code == 2
    assert "`--update-baseline` needs a file" in err


@pytest.mark.slow
def test_a_hook_says_nothing_where_everything_is_hidden(repo: Repo) -> None:
    repo.write("holdfast.toml", '[review]\nignore = ["breakpoint"]\n')
    done = process("review", "--no-model", "--fail-on", "high", "--quiet")
    assert (done.code, done.text, done.err) == (0, "", "")
