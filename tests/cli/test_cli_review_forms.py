"""`holdfast review`: each form of its report, and what a hostile diff cannot do in it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import holdfast, on_terminal
from markdown_it import MarkdownIt
from review_line import AFTER, BEFORE, CLAIM, headings, paths, plain, reviewed, shop

from holdfast.review.checks import RULES
from support.review_example import example
from support.review_repos import Repo
from support.sandboxes import sandbox_or_skip

TOKEN = "ghp_" + "R7wQ2nV9xK4mB8tL1cY6zJ3pD5sF0gHaUeXo"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[1;1H\u202e\u2066 ``` </code> # [x](https://evil.example) <img src=x>"
NAME = "src/\x1b[31m![x](https:evil)\u202e`|.py"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = shop(tmp_path / "repo")
    monkeypatch.chdir(made.folder)
    return made


def test_json_and_sarif_have_the_same_findings(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER + f'KEY = "{TOKEN}"\n')
    plain = reviewed()
    assert plain["schema"] == "holdfast.review/1"
    sarif = holdfast("review", "--no-model", "--sarif").json
    assert (sarif["version"], len(sarif["runs"])) == ("2.1.0", 1)
    (run,) = sarif["runs"]
    assert run["tool"]["driver"]["name"] == "holdfast"
    found = {f["id"]: (f["rule"], f["path"], f["line"]) for f in plain["findings"]}
    results = {
        result["partialFingerprints"]["holdfastFindingId/v1"]: (
            result["ruleId"],
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in run["results"]
    }
    assert results == found
    assert len(found) == 2


def test_format_names_every_form_and_the_short_options_are_the_same(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    for name in ("json", "markdown", "sarif"):
        short, long = (
            holdfast("review", "--no-model", *words) for words in ([f"--{name}"], ["--format", name])
        )
        assert short.out == long.out != b""
    assert json.loads(holdfast("review", "--no-model", "--format", "gitlab").out)[0]["description"]
    assert json.loads(holdfast("review", "--no-model", "--format", "rdjson").out)["diagnostics"]


def test_one_run_gives_annotations_and_a_review_to_post(repo: Repo, tmp_path: Path) -> None:
    repo.write("src/shop.py", AFTER)
    done = holdfast("review", "--no-model", "--format", "github", "-o", tmp_path / "review.json")
    assert done.text.startswith("::error file=src/shop.py,line=2,endLine=2,title=high breakpoint (f-")
    posted = json.loads((tmp_path / "review.json").read_text())
    assert [(one["path"], one["line"]) for one in posted["comments"]] == [("src/shop.py", 2)]


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_the_command_of_each_workflow_runs_as_it_is_written(repo: Repo, tmp_path: Path, name: str) -> None:
    before = repo.git("rev-parse", "HEAD")
    repo.git("update-ref", "refs/remotes/origin/main", before)
    repo.commit({"src/shop.py": AFTER})
    (tmp_path / "about.md").write_text("Title")
    text = (Path(__file__).parents[2] / "examples" / "review" / name).read_text()
    (line,) = re.findall(r"^ +(?:- )?holdfast (review .+)$", text, re.MULTILINE)
    given = {
        "GITHUB_BASE_REF": "main",
        "RUNNER_TEMP": str(tmp_path),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": before,
    }
    done = holdfast(*shlex.split(re.sub(r"\$(\w+)", lambda found: given[found[1]], line)))
    assert done.code == 0, done.err
    written = (
        repo.folder / "gl-code-quality-report.json" if name == "gitlab.yml" else tmp_path / "review.json"
    )
    assert "A breakpoint" in written.read_text()


@pytest.mark.slow
def test_no_form_shows_a_secret(repo: Repo) -> None:
    """Neither as evidence nor as what git says a hunk lies in."""
    config = f'password: "{TOKEN}"\n' + "".join(f"  key{n}: {n}\n" for n in range(12))
    repo.commit({"deploy.conf": config})
    repo.write("deploy.conf", config.replace("key9: 9", "key9: 8"))
    repo.write("src/shop.py", BEFORE + f'KEY = "{TOKEN}"\n')
    raw = subprocess.run(["git", "diff"], cwd=repo.folder, capture_output=True, check=True).stdout
    assert f'@@ password: "{TOKEN}"'.encode() in raw
    for form in ("json", "markdown", "sarif", "github", "gitlab", "rdjson"):
        done = holdfast("review", "--no-model", "--format", form)
        assert TOKEN not in done.text
        assert "secret" in done.text
    shown = on_terminal("review", "--no-model").out.decode()
    assert TOKEN not in shown
    assert "<REDACTED>" in shown


def test_markdown_is_what_a_pipe_gets(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    piped = holdfast("review", "--no-model")
    assert piped.out == holdfast("review", "--no-model", "--markdown").out
    assert headings(piped.text) == ["Review of working", "High", CLAIM, "Units by risk"]


def test_a_file_instead_of_stdout(repo: Repo, tmp_path: Path) -> None:
    repo.write("src/shop.py", AFTER)
    place = tmp_path / "review.sarif"
    done = holdfast("review", "--no-model", "--sarif", "-o", place, "--fail-on", "high")
    assert (done.code, done.out) == (1, b"")
    assert done.err == f"1 file, 1 unit, +1 −0 lines; findings: 1 high; written to `{place}`\n"
    assert json.loads(place.read_text("utf-8"))["version"] == "2.1.0"


@pytest.mark.slow
def test_what_a_person_sees(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    shown = on_terminal("review", "--no-model")
    assert shown.code == 0
    text = plain(shown.out)
    assert "working: 1 file, 1 unit, +1 −0 lines; reviewed by rules only, no model" in text
    assert re.search(r"^low +function +\+1 −0 +src/shop\.py:1  price$", text, re.MULTILINE)
    assert "\nhigh  src/shop.py:2\n    " + CLAIM + "\n    │     breakpoint()\n    → Remove it.\n" in text
    assert "leftover · breakpoint · f-" in text
    assert max(map(len, text.split("\n"))) <= 80
    assert b"\x1b[31mhigh" in shown.out
    uncoloured = on_terminal("review", "--no-model", "--no-color").out
    assert set(re.findall(rb"\x1b\[[0-9;]*[a-zA-Z]", uncoloured)) == {b"\x1b[K"}, "only the line of progress"
    assert "\nhigh  src/shop.py:2\n" in plain(uncoloured)


@pytest.mark.slow
def test_the_example_of_the_docs_is_what_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example(tmp_path / "shop").folder)
    page = (Path(__file__).parents[2] / "docs" / "review.md").read_text("utf-8")
    told = page.split("```text\n$ holdfast review --no-model\n")[1].split("```")[0]
    assert plain(on_terminal("review", "--no-model", "--no-color").out) == told


def test_the_docs_name_every_rule_with_its_severity() -> None:
    page = (Path(__file__).parents[2] / "docs" / "review.md").read_text("utf-8")
    named = dict(re.findall(r"^\| `([\w-]+)` \| (\w+) \| [a-z]", page, re.MULTILINE))
    assert named == {rule.name: rule.severity for rule in RULES.values()}


@pytest.fixture
def hostile(repo: Repo) -> Repo:
    repo.write(NAME, f"def f():\n    breakpoint()  # {HOSTILE}\n")
    repo.write("notes.conf", f"a = 1\n# {HOSTILE}\n")
    return repo


@pytest.mark.slow
def test_a_terminal_obeys_nothing_of_a_diff(hostile: Repo) -> None:
    shown = on_terminal("review", "--no-model").out
    left = re.sub(rb"\x1b\[[0-9;]*m|\r\x1b\[K", b"", shown)
    assert b"\x1b" not in left
    assert b"\x07" not in left
    text = left.decode()
    assert "\u202e" not in text
    assert "\u2066" not in text
    assert "⟨U+001B⟩]0;owned⟨U+0007⟩⟨U+001B⟩[2J" in text.replace("\r\n    ", "")
    # Colours are ours alone: what the name asks for is shown and not done.
    assert b"\x1b[31m!" not in shown


def test_a_reader_of_markdown_obeys_nothing_of_a_diff(hostile: Repo) -> None:
    done = holdfast("review", "--no-model")
    assert "\x1b" not in done.text
    assert "\u202e" not in done.text
    kinds = set()
    for token in MarkdownIt("gfm-like").parse(done.text):
        kinds.add(token.type)
        kinds.update(child.type for child in token.children or ())
    assert not {kind for kind in kinds if kind.startswith(("link", "image", "html"))}
    assert all(
        heading.partition(" ")[0] in ("Review", "High", "A", "The", "Units")
        for heading in headings(done.text)
    )


def test_a_program_gets_a_hostile_diff_as_it_is(hostile: Repo) -> None:
    report = reviewed()
    assert NAME in paths(report)
    rules = [finding["rule"] for finding in report["findings"]]
    assert sorted(rules) == ["breakpoint", "hidden-direction"]
    assert holdfast("review", "--no-model", "--sarif").json["runs"][0]["results"]


def test_linters_are_in_every_form_with_their_counts(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when one of them fails: that is a warning, and the exit code is that of what was found."""
    sandbox_or_skip("bubblewrap")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    repo.commit({"ruff.toml": "[lint]\nselect = ['F', 'T10']\n", "mypy.ini": "[mypy]\n"})
    program = repo.write(".venv/bin/mypy", "#!/bin/sh\necho broken >&2\nexit 3\n")
    program.chmod(0o755)
    repo.write("src/shop.py", "import sys\n" + AFTER)
    asked = ("review", "--no-model", "--linters", "ruff,mypy")
    done = holdfast(*asked, "--json", "--fail-on", "critical")
    said = "mypy ended with code 3: broken"
    assert (done.code, done.err) == (0, f"note: {said}\n")
    assert done.json["linters"] == [
        {"name": "ruff", "findings": 2, "trouble": ""},
        {"name": "mypy", "findings": 0, "trouble": said},
    ]
    both = next(one for one in done.json["findings"] if one["rule"] == "breakpoint")
    assert both["also"] == ["ruff:T100"]
    (run,) = holdfast(*asked, "--sarif").json["runs"]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} >= {"breakpoint", "ruff:F401"}
    (warning,) = run["invocations"][0]["toolExecutionNotifications"]
    assert warning == {"level": "warning", "message": {"text": said}}
    assert f"linters: ruff 2, mypy 0; {said}." in holdfast(*asked, "--markdown").text
    shown = plain(on_terminal(*asked).out)
    assert f"linters: ruff 2, mypy 0; {said}" in shown
    assert "leftover · breakpoint · ruff:T100 ·" in shown


def test_linters_of_a_review_that_is_stored_or_unknown_ones_are_refused(repo: Repo) -> None:
    repo.write("src/shop.py", AFTER)
    done = holdfast("review", "--no-model", "--linters", "ruf")
    assert (done.code, done.out) == (2, b"")
    assert done.err == "error: there is no linter `ruf`\nhint: did you mean `ruff`?\n"
    assert holdfast("review", "--continue", "--linters", "ruff").code == 2
