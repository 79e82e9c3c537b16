"""Findings that a comment, the configuration or a baseline hides: counted, listed, and never in secret."""

import json
from pathlib import Path

import pytest

from holdfast.errors import ConfigError, InputError
from holdfast.review.baseline import baseline_text, read_baseline
from holdfast.review.report import to_json, to_markdown
from holdfast.review.review import Review, start_review
from holdfast.review.sarif import to_sarif
from holdfast.review.silence import IgnoredRule, Silence, hide, parse_ignored, silence_notes
from support.review_repos import Repo


def reviewed(folder: Path, path: str, text: str) -> Review:
    repo = Repo(folder)
    repo.commit({"kept.txt": "x\n"})
    repo.write(path, text)
    return start_review(repo.folder, "working")


def hidden(review: Review, silence: Silence = Silence()) -> list[tuple[str, str, str]]:  # noqa: B008
    report = hide(review.report(), review, silence)
    assert len(report.findings.kept) + len(report.hidden) == len(review.findings.kept)
    return [(one.finding.rule, one.by, one.reason) for one in report.hidden]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "def f():\n    breakpoint()  # holdfast: ignore[breakpoint] a tool for debugging\n"),
        ("a.py", "def f():\n    # holdfast: ignore[breakpoint] a tool for debugging\n    breakpoint()\n"),
        ("a.py", "def f():\n    breakpoint()  # holdfast: ignore[note, breakpoint]: a tool for debugging\n"),
        ("a.py", "def f():\n    breakpoint()  # holdfast: ignore[*] a tool for debugging\n"),
        ("a.js", "function f() {\n  debugger // holdfast: ignore[breakpoint] a tool for debugging\n}\n"),
        ("a.js", "function f() {\n  debugger; /* holdfast: ignore[breakpoint] a tool for debugging */\n}\n"),
    ],
)
def test_a_comment_with_a_reason_hides_a_finding_on_its_line(tmp_path, path, text):
    review = reviewed(tmp_path, path, text)
    assert hidden(review) == [("breakpoint", "comment", "a tool for debugging")]
    assert list(silence_notes(review, Silence())) == []
    assert hidden(review, Silence(heeds_comments=False)) == []


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("ignore[breakpoint]", "has no reason, so it hides nothing"),
        ("ignore a reason", "names no rule, so it hides nothing"),
        ("ignore[breakpoin] a reason", "there is no rule `breakpoin`; did you mean `breakpoint`?"),
    ],
)
def test_a_comment_that_is_wrong_hides_nothing_and_is_said(tmp_path, comment, said):
    review = reviewed(tmp_path, "a.py", f"def f():\n    breakpoint()  # holdfast: {comment}\n")
    assert hidden(review) == []
    (sentence,) = silence_notes(review, Silence())
    assert sentence.startswith("`a.py:2`: ")
    assert said in sentence


def test_another_rule_another_line_and_text_about_the_comment_hide_nothing(tmp_path):
    text = "def f():\n    x = 1  # holdfast: ignore[breakpoint] a reason\n    breakpoint()\n"
    assert hidden(reviewed(tmp_path / "line", "a.py", text)) == []
    text = "def f():\n    breakpoint()  # holdfast: ignore[note] a reason\n"
    assert hidden(reviewed(tmp_path / "rule", "a.py", text)) == []
    review = reviewed(tmp_path / "text", "a.md", "Write `# holdfast: ignore[rule] reason`.\n")
    assert list(silence_notes(review, Silence())) == []


def test_the_configuration_turns_rules_and_paths_off(tmp_path):
    review = reviewed(tmp_path, "tools/a.py", "def f():\n    breakpoint()\n")
    for entry, is_hidden in (
        ("breakpoint", True),
        ("breakpoint tools/", True),
        ("breakpoint tools/*.py", True),
        ("* tools/", True),
        ("breakpoint src/", False),
        ("note", False),
    ):
        silence = Silence(parse_ignored({"ignore": [entry]}, "holdfast.toml"), "holdfast.toml")
        assert hidden(review, silence) == [("breakpoint", "configuration", "holdfast.toml")] * is_hidden, (
            entry
        )


def test_a_configuration_that_is_wrong_is_said(tmp_path):
    review = reviewed(tmp_path, "a.py", "x = 1\n")
    silence = Silence((IgnoredRule("secrt"), IgnoredRule("ruff:F401"), IgnoredRule("review/bug")), "h.toml")
    assert list(silence_notes(review, silence)) == [
        "`h.toml`: `[review] ignore`: there is no rule `secrt`; did you mean `secret`?"
    ]
    for table in ({"ignore": "secret"}, {"ignore": [1]}, {"ignore": [" "]}, {"ignored": []}):
        with pytest.raises(ConfigError):
            parse_ignored(table, "h.toml")


def test_a_baseline_hides_what_it_lists_also_when_lines_are_added_above(tmp_path):
    review = reviewed(tmp_path / "repo", "a.py", "def f():\n    breakpoint()\n")
    file = tmp_path / "baseline.json"
    file.write_text(baseline_text((), review.findings.kept), "utf-8")
    (tmp_path / "repo" / "a.py").write_text(
        "import os\n\n\ndef f():\n    breakpoint()\n    pdb.set_trace()\n"
    )
    again = start_review(tmp_path / "repo", "working")
    known = read_baseline(file, again.root, again.diff)
    assert hidden(again, Silence(baseline=frozenset(one.id for one in known), baseline_name="b.json")) == [
        ("breakpoint", "baseline", "b.json")
    ]
    both = baseline_text(known, again.findings.kept)
    assert len(json.loads(both)["findings"]) == 2
    assert both == baseline_text(reversed(known), reversed(again.findings.kept))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"not json", "is not a baseline"),
        (b"\xff\xfe", "is not a baseline"),
        (b"[" * 100_000, "is not a baseline"),
        (b'{"schema": "holdfast.review/1", "findings": []}', "its schema is `holdfast.review/1`"),
        (b'{"schema": "holdfast.review-baseline/1"}', "is not a baseline"),
        (
            b'{"schema": "holdfast.review-baseline/1", "findings": [{"id": "f-1", "path": "b.py"}]}',
            "another project",
        ),
        (
            b'{"schema": "holdfast.review-baseline/1", "findings": [{"id": "f-1", "path": "../kept.txt"}]}',
            "another",
        ),
    ],
)
def test_a_damaged_baseline_and_one_of_another_project_are_refused(tmp_path, raw, said):
    review = reviewed(tmp_path / "repo", "a.py", "x = 1\n")
    file = tmp_path / "b.json"
    file.write_bytes(raw)
    with pytest.raises(InputError, match=said) as error:
        read_baseline(file, review.root, review.diff)
    assert error.value.hint


def test_every_format_counts_and_lists_what_is_hidden(tmp_path):
    review = reviewed(
        tmp_path, "a.py", "def f():\n    breakpoint()  # holdfast: ignore[breakpoint] <b>tool</b>\n"
    )
    report = hide(review.report(), review, Silence())
    assert report.hidden_size == "1 finding is hidden: 1 high (1 by comments)"
    data = json.loads(to_json(report))
    assert (data["hidden_counts"], data["worst"]) == ({"comment": 1}, None)
    assert data["hidden"][0]["finding"]["rule"] == "breakpoint"
    markdown = to_markdown(report)
    assert "## Hidden\n\n1 finding is hidden: 1 high (1 by comments)." in markdown
    assert "<b>" not in markdown
    (result,) = json.loads(to_sarif(report))["runs"][0]["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "<b>tool</b>"}
    ]
