"""`holdfast review` with a model: a real provider on loopback, a real repository, a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.review.review import start_review
from support.agent_runs import CONFIG, call, environment, says
from support.provider_server import ProviderServer, serving
from support.review_repos import Repo

CLAIM = "A request without a user raises instead of being refused."


def repository(folder: Path) -> Repo:
    repo = Repo(folder / "repo")
    repo.commit(
        {
            "holdfast.toml": CONFIG.format(window=60_000),
            "src/auth.py": "def allowed(user):\n    return bool(user)\n",
        }
    )
    repo.write("src/auth.py", "def allowed(user):\n    return user.token == 1\n")
    return repo


def review(
    repo: Repo, server: ProviderServer, *words: str, stdin: str | None = None
) -> subprocess.CompletedProcess:
    model = f"compatible/test@{server.openai_url}"
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "review", "--model", model, *words],
        cwd=repo.folder,
        env=environment(repo.folder),
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def finding(repo: Repo, **more):
    (unit,) = start_review(repo.folder, "working").units
    arguments = {
        "unit": unit.id,
        "line": 2,
        "last_line": 2,
        "severity": "high",
        "category": "bug",
        "claim": CLAIM,
        "evidence": ["    return user.token == 1"],
    }
    return call("report_finding", "c1", **{**arguments, **more})


@pytest.mark.slow
def test_a_model_reviews_and_the_threshold_decides_the_exit_code(tmp_path):
    repo = repository(tmp_path)
    with serving(says(finding(repo)), says("One bug: do not merge.")) as server:
        done = review(repo, server, "--json", "--fail-on", "high")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert [(one["severity"], one["path"], one["claim"]) for one in report["findings"]] == [
        ("high", "src/auth.py", CLAIM)
    ]
    assert report["summary"] == "One bug: do not merge."
    assert "report_finding" in done.stderr
    assert "2 steps" in done.stderr


@pytest.mark.slow
def test_quiet_prints_nothing_of_a_review_that_passes(tmp_path):
    repo = repository(tmp_path)
    with serving(says(finding(repo)), says("One bug.")) as server:
        done = review(repo, server, "--quiet", "--fail-on", "critical")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_follow_up_is_answered_from_the_same_log(tmp_path):
    repo = repository(tmp_path)
    with serving(says(finding(repo)), says("One bug."), says("Because user may be None.")) as server:
        assert review(repo, server, "--markdown").returncode == 0
        done = review(repo, server, "--continue", "Why?")
        bodies = [seen.body for seen in server.requests]
    assert (done.returncode, done.stdout) == (0, "Because user may be None.\n")
    last = bodies[-1].decode()
    assert CLAIM in last
    assert last.count("return user.token == 1") >= 1
    assert "Why?" in last


@pytest.mark.slow
def test_what_was_found_is_reported_where_the_reviewer_is_stopped(tmp_path):
    repo = repository(tmp_path)
    with serving(*[says(finding(repo))] * 3) as server:
        done = review(repo, server, "--json", "--max-steps", "1")
    assert done.returncode == 10, done.stderr
    assert len(json.loads(done.stdout)["findings"]) == 1
    assert "stopped" in done.stderr


@pytest.mark.slow
def test_nobody_is_asked_where_nothing_changed(tmp_path):
    repo = repository(tmp_path)
    repo.git("checkout", "-q", "--", ".")
    with serving(says("never")) as server:
        done = review(repo, server, "--markdown")
        assert server.requests == []
    assert done.returncode == 0
    assert "nothing has changed" in done.stderr


@pytest.mark.slow
def test_a_question_needs_words_and_a_review(tmp_path):
    repo = repository(tmp_path)
    with serving(says("x")) as server:
        empty = review(repo, server, "--continue", stdin="")
        none = review(repo, server, "--continue", "why?")
    assert empty.returncode == 2
    assert "there is no question" in empty.stderr
    assert none.returncode == 3
    assert "there is no review" in none.stderr


@pytest.mark.slow
def test_an_unknown_price_is_said_before_the_run_and_refused_only_with_a_limit_in_dollars(tmp_path):
    repo = repository(tmp_path)
    with serving(says("Nothing to report.")) as server:
        model = f"anthropic/test@{server.url}"
        refused = review(repo, server, "--model", model, "--max-cost", "1")
        assert refused.returncode == 2
        assert "so a limit in dollars cannot be kept" in refused.stderr
        assert server.requests == []
        done = review(repo, server, "--model", model)
        assert done.returncode == 0, done.stderr
        lines = done.stderr.splitlines()
        said = next(
            at for at, line in enumerate(lines) if "the price of `anthropic/test` is not known" in line
        )
        spent = next(at for at, line in enumerate(lines) if "1 step" in line)
        assert said < spent
        assert "$" not in lines[spent]
