"""`holdfast review`: exit codes, errors, a hook, and Ctrl-C."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import command, holdfast
from review_line import AFTER, CLAIM, large_repo, plain, shop

from holdfast.review.finding import SEVERITIES
from support.review_repos import WHO, Repo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = shop(tmp_path / "repo")
    monkeypatch.chdir(made.folder)
    return made


@pytest.mark.parametrize("threshold", SEVERITIES)
def test_the_exit_code_follows_the_threshold(repo: Repo, threshold: str) -> None:
    repo.write("src/shop.py", AFTER)
    done = holdfast("review", "--no-model", "--fail-on", threshold, "--json")
    assert done.json["worst"] == "high"
    assert done.code == (0 if threshold == "critical" else 1)


def test_findings_alone_are_no_failure(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    assert holdfast("review", "--no-model").code == 0


def test_quiet_says_something_only_if_it_fails(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    assert holdfast("review", "--no-model", "-q", "--fail-on", "critical") == (0, b"", "")
    assert holdfast("review", "-q") == (0, b"", ""), "nor that no model is chosen"
    loud = holdfast("review", "--no-model", "-q", "--fail-on", "high")
    assert loud.code == 1
    assert CLAIM in loud.text


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--diff", "no-such"], 3, "no revision `no-such`"),
        (["--diff", "main...no-such"], 3, "no revision `no-such`"),
        (["--diff", "no-such...main"], 3, "no revision `no-such`"),
        (["--diff", "--output=x"], 2, "begins with `-`"),
        (["--diff", "prose.diff"], 2, "contains no diff"),
        (["--diff", "torn.patch"], 2, "`torn.patch`: line 3"),
        (["--diff", "gone.patch"], 3, "there is no file `gone.patch`"),
        (["--json", "--sarif"], 2, "exclude each other"),
        (["--json", "--format", "github"], 2, "exclude each other"),
        (["--format", "html"], 2, "`html`"),
        (["--about", "gone.md"], 2, "`gone.md` cannot be read"),
        (["--about", "."], 2, "`.` cannot be read"),
        (["--about", "binary.md"], 2, "`binary.md` is not text"),
        (["--about", "large.md"], 2, "`large.md` is larger than 256 KiB"),
        (["--about", "-", "--diff", "-"], 2, "cannot both read stdin"),
        (["--fail-on", "awful"], 2, "`awful`"),
        (["-o", "no/such/folder.md"], 2, "cannot be written"),
    ],
    ids=lambda value: "-".join(value).strip("-") if isinstance(value, list) else "",
)
def test_what_cannot_be_reviewed_is_a_sentence(repo: Repo, args: list[str], code: int, said: str) -> None:
    repo.write("prose.diff", "Dear all,\nplease find attached.\n")
    repo.write("torn.patch", "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n")
    repo.write("binary.md", b"a\0b")
    repo.write("large.md", "x" * (256 * 1024 + 1))
    done = holdfast("review", "--no-model", *args)
    assert (done.code, done.out) == (code, b"")
    lines = done.err.rstrip("\n").split("\n")
    assert lines[0].startswith("error: ")
    assert said in lines[0]
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: "))
    assert code != 3 or len(lines) == 2, "what is not there has a hint"


def test_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    done = holdfast("review")
    assert (done.code, done.out) == (2, b"")
    assert re.fullmatch(r"error: .* is not in a readable git repository: .*\nhint: .*\n", done.err)


@pytest.mark.slow
def test_a_hook_stops_a_commit(repo: Repo) -> None:
    """As docs/review.md writes it, with `git commit -a` too, which has an index of its own."""
    hook = repo.write(
        ".git/hooks/pre-commit",
        f"#!/bin/sh\nexec {sys.executable} -m holdfast review --diff staged --no-model --fail-on high --quiet\n",
    )
    hook.chmod(0o755)
    repo.write("src/shop.py", AFTER)
    stopped = committed(repo, "-a")
    assert stopped.returncode != 0
    assert CLAIM in stopped.stderr.decode()
    repo.write("src/shop.py", AFTER.replace("breakpoint()", "order.check()"))
    assert committed(repo, "-a").returncode == 0
    repo.write("src/shop.py", AFTER)
    repo.git("add", "-A")
    assert committed(repo).returncode != 0


def committed(repo: Repo, *words: str) -> subprocess.CompletedProcess[bytes]:
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, **WHO}
    words = ("git", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "x", *words)
    return subprocess.run(words, cwd=repo.folder, env=env, capture_output=True, check=False)


def interrupted(folder: Path, *args: object, at: bytes) -> tuple[int, bytes, str]:
    """The exit code, stdout, and what a terminal shows, of a review that is interrupted when it says `at`."""
    master, slave = pty.openpty()
    running = subprocess.Popen(
        command("review", "--no-model", *args),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = b""
    while at not in shown:
        shown += os.read(master, 4096)
    os.killpg(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    try:
        while chunk := os.read(master, 4096):
            shown += chunk
    except OSError:
        pass  # Linux reports the other end's close of a terminal as an error.
    os.close(master)
    assert is_gone(running.pid)
    return running.returncode, out, plain(shown)


def is_gone(group: int) -> bool:
    """No process of it is left; git got the signal too, and may take a moment longer than we do."""
    for _ in range(1_200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_ctrl_c_while_a_diff_is_piped_in(repo: Repo) -> None:
    code, out, said = interrupted(repo.folder, "--diff", "-", at=b"reading stdin")
    assert (code, out, said) == (130, b"", "interrupted\n")


@pytest.mark.slow
def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    large = large_repo(tmp_path / "large")
    code, out, said = interrupted(large.folder, "--diff", "staged", at=b"splitting")
    assert (code, out, said) == (130, b"", "interrupted\n")
