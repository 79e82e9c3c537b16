"""`holdfast review --continue`: the same model, the same prefix byte for byte, the same ids, and what is gone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.review.review import start_review
from support.agent_runs import CONFIG, call, environment, says
from support.provider_server import ProviderServer, serving
from support.review_repos import Repo

TOKEN = "ghp_" + "R7wQ2nV9xK4mB8tL1cY6zJ3pD5sF0gHaUeXo"
CLAIM = f"A request without a user raises; the token {TOKEN} is shown."
OTHER = '\n[models."compatible/other"]\nwindow = 60000\n'

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    config = CONFIG.format(window=60_000) + OTHER
    made.commit(
        {"holdfast.toml": config, "AGENTS.md": "No globals.\n", "page.py": "def page(order):\n    pass\n"}
    )
    made.write("page.py", "def page(order):\n    return order.total == 1\n")
    made.git("commit", "-qam", "Compare the total\n\nOrders must have one.")
    return made


def review(repo: Repo, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "review", *words],
        cwd=repo.folder,
        env={**environment(repo.folder), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def name(server: ProviderServer, model: str = "test") -> str:
    return f"compatible/{model}@{server.openai_url}"


def finding(repo: Repo, spec: str):
    (unit,) = (one for one in start_review(repo.folder, spec).units if one.path == "page.py")
    quoted = {"line": 2, "last_line": 2, "evidence": ["    return order.total == 1"]}
    return call("report_finding", "c1", unit=unit.id, severity="high", category="bug", claim=CLAIM, **quoted)


def messages(server: ProviderServer) -> list[list[bytes]]:
    return [[json.dumps(one).encode() for one in seen.json["messages"]] for seen in server.requests]


@pytest.mark.parametrize("spec", ["HEAD", "HEAD~1..HEAD", "working"])
def test_a_question_pays_for_no_byte_of_the_change_again(repo: Repo, spec: str) -> None:
    repo.write("notes.py" if spec == "working" else "untracked.txt", "x = 1\n")
    if spec == "working":
        repo.write("page.py", "def page(order):\n    return order.total == 1\n\n\nprint(page)\n")
    with serving(says(finding(repo, spec)), says("One bug."), says("Because.")) as server:
        begun = review(
            repo, "--model", name(server), "--diff", spec, "--profile", "code", "--effort", "low", "--json"
        )
        if spec != "working":
            # What is not part of the change: other uses of the name, other rules, another commit.
            repo.write("AGENTS.md", "Globals are fine.\n")
            repo.commit({f"use_{n}.py": "page(1)\n" * 30 for n in range(3)})
        asked = review(repo, "--continue", "Why?", "--json", HOLDFAST_MODEL=name(server, "other"))
        bodies, sent = [seen.json for seen in server.requests], messages(server)
        raw = [seen.body for seen in server.requests]
    first, again = json.loads(begun.stdout), json.loads(asked.stdout)
    assert [one["model"] for one in bodies] == ["test"] * 3
    assert bodies[0]["tools"] == bodies[2]["tools"]
    assert {key: bodies[0][key] for key in bodies[0] if key != "messages"} == {
        key: bodies[2][key] for key in bodies[2] if key != "messages"
    }
    differs = next(at for at, (one, other) in enumerate(zip(*raw[1:], strict=False)) if one != other)
    assert b"Kept as `" in raw[2][:differs]
    # The last message of a request is the volatile tail.
    before = sent[1][:-1]
    assert sent[2][: len(before)] == before
    stable = before[0]
    assert b"return order.total == 1" in stable
    assert b"No globals." in stable
    assert (b"Orders must have one." in stable) == (spec != "working")
    assert b"Globals are fine." not in b"".join(sent[2])
    assert [(f["id"], f["claim"]) for f in first["findings"]] == [
        (f["id"], f["claim"]) for f in again["findings"]
    ]
    assert TOKEN not in begun.stdout + asked.stdout
    assert again["title"] == spec == first["title"]


def test_another_model_can_be_chosen(repo: Repo) -> None:
    with serving(says("Fine."), says("Still.")) as server:
        review(repo, "--model", name(server), "--diff", "HEAD", "--json")
        review(repo, "--continue", "Why?", "--model", name(server, "other"))
        assert [seen.json["model"] for seen in server.requests] == ["test", "other"]


def test_what_is_gone_from_the_change_is_counted_and_listed(repo: Repo) -> None:
    repo.write("page.py", "def page(order):\n    return order.total == 1\n\n\npage(1)\n")
    with serving(says(finding(repo, "working")), says("One bug."), says("Gone."), says("Gone.")) as server:
        begun = json.loads(review(repo, "--model", name(server), "--json").stdout)
        repo.write("page.py", "def page(order):\n    return bool(order)\n")
        asked = json.loads(review(repo, "--continue", "And now?", "--json").stdout)
        text = review(repo, "--continue", "And now?", "--markdown").stdout
    (before,) = begun["findings"]
    assert asked["findings"] == []
    assert [one["id"] for one in asked["gone"]] == [before["id"]]
    assert "1 finding dropped because the change moved on" in text
    assert "no longer in the change: high page.py:2 A request without a user raises;" in text


def test_about_is_in_the_request_and_is_kept(repo: Repo) -> None:
    (repo.folder.parent / "about.md").write_text("Tokens\n\nThe gateway needs them.\n")
    with serving(says("Fine."), says("Still.")) as server:
        review(repo, "--model", name(server), "--diff", "HEAD", "--about", "../about.md")
        review(repo, "--continue", "Why?")
        for sent in messages(server):
            assert b"The gateway needs them." in b"".join(sent)
