"""Reviews for GitHub, GitLab and reviewdog: the shape that each documents, lines of the change, suggestions that
apply, and nothing that text of a stranger could do there."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.review.diagnostics import to_gitlab, to_rdjson
from holdfast.review.finding import SEVERITIES
from holdfast.review.findings import ReviewFindings
from holdfast.review.github import MOST_COMMENTS, to_annotations, to_review
from holdfast.review.patches import write_patch
from holdfast.review.report import ReviewReport
from holdfast.review.suggestions import replacements, whole_replacement
from support.review_values import change, finding

BEFORE = "".join(f"line {n}\n" for n in range(1, 31))
AFTER = BEFORE.replace("line 10\n", "line ten\nline ten and a half\n").replace("line 20\n", "")


@pytest.fixture
def changed(tmp_path):
    _, units, _ = change(tmp_path, {"a.py": BEFORE}, {"a.py": AFTER})
    return units


def report(units, *findings, **more):
    kept = tuple(findings)
    return ReviewReport(title="main...HEAD", units=tuple(units), findings=ReviewFindings(kept=kept), **more)


def about(line, last=0, **more):
    return finding(**{"id": f"f-{line:012x}", "line": line, "last_line": last or line, **more})


def review_of(*arguments, **more):
    """A review, with the fields and types that GitHub's documentation requires."""
    data = json.loads(to_review(report(*arguments, **more)))
    assert set(data) == {"body", "event", "comments"}
    assert data["event"] == "COMMENT"
    assert data["body"]
    for one in data["comments"]:
        assert set(one) - {"start_line", "start_side"} == {"path", "body", "line", "side"}
        assert one["side"] in ("LEFT", "RIGHT")
        assert one.get("start_line", 0) < one["line"]
        assert one.get("start_side", one["side"]) == one["side"]
        assert 0 < len(one["body"]) < 65_536
    return data


def test_a_finding_on_a_line_of_the_change_is_a_comment_and_another_is_in_the_body(changed):
    data = review_of(
        changed, about(10, 11), about(28, claim="Far away."), about(20, side="old"), about(0, claim="Whole.")
    )
    places = [(c["path"], c.get("start_line"), c["line"], c["side"]) for c in data["comments"]]
    assert sorted(places, key=str) == [("a.py", 10, 11, "RIGHT"), ("a.py", None, 20, "LEFT")]
    assert "Far away." in data["body"]
    assert "`a.py:28`" in data["body"]
    assert "Whole." in data["body"]


def test_a_range_is_cut_to_one_hunk(changed):
    (comment,) = review_of(changed, about(11, 29))["comments"]
    assert (comment["start_line"], comment["line"]) == (11, 14)


def test_a_patch_is_a_suggestion_for_exactly_the_lines_it_replaces(changed):
    patch = write_patch("a.py", AFTER, AFTER.replace("line ten and a half\n", "line 10.5\nline 10.6\n"))
    (comment,) = review_of(changed, about(10, patch=patch))["comments"]
    assert (comment.get("start_line"), comment["line"], comment["side"]) == (None, 11, "RIGHT")
    assert "```suggestion\nline 10.5\nline 10.6\n```" in comment["body"]


@pytest.mark.parametrize(
    "after",
    [
        AFTER.replace("line 2\n", "line two\n"),
        AFTER.replace("line ten\n", "line \u202eten\n"),
        AFTER.replace("line ten\n", "line 10\n").replace("line 25\n", "line\n"),
    ],
    ids=["not in the change", "hidden character", "two hunks"],
)
def test_a_patch_that_cannot_be_one_suggestion_is_shown_as_a_diff(changed, after):
    (comment,) = review_of(changed, about(10, patch=write_patch("a.py", AFTER, after)))["comments"]
    assert "```diff\n" in comment["body"]
    assert "suggestion" not in comment["body"]
    assert "\u202e" not in comment["body"]


def test_a_fence_in_a_suggestion_does_not_end_it(changed):
    patch = write_patch("a.py", AFTER, AFTER.replace("line ten\n", "```\nline\n```\n"))
    (comment,) = review_of(changed, about(10, patch=patch))["comments"]
    assert "````suggestion\n```\nline\n```\n````" in comment["body"]


def test_a_moved_file_is_commented_under_its_new_name(tmp_path):
    _, units, _ = change(tmp_path, {"old.py": BEFORE}, {"new.py": AFTER})
    (comment,) = review_of(units, about(20, side="old", path="old.py"))["comments"]
    assert (comment["path"], comment["line"], comment["side"]) == ("new.py", 20, "LEFT")


def test_nobody_is_notified_and_nothing_is_markup(changed):
    claim = "@everyone <img src=x> [x](https://evil.example)"
    data = review_of(changed, about(10, claim=claim), about(29, claim=claim), summary=f"{claim}!")
    for text in (data["body"], data["comments"][0]["body"]):
        assert not re.search(r"@\w", text)
        assert not re.search(r"(?<!\\)<(?!!-- -->)", text)
        assert not re.search(r"(?<!\\)[\[\]]", text)


def test_more_findings_than_fit_are_counted(changed):
    many = [about(10, id=f"f-{n:012x}", claim=f"Number {n}.") for n in range(MOST_COMMENTS)]
    far = [about(29, id=f"f-{n:012x}", claim=f"Far {n}. " + "x" * 2_000) for n in range(100, 160)]
    data = review_of(changed, *many, *far)
    assert len(data["comments"]) == MOST_COMMENTS
    assert len(data["body"]) < 65_536
    left = re.search(r"(\d+) more findings, which did not fit here", data["body"])
    assert left
    assert int(left[1]) + data["body"].count("Far ") == len(far)


TEXTS = st.lists(st.sampled_from(["a", "b", "", "c d", "```"]), min_size=1, max_size=14)


@given(TEXTS, TEXTS)
def test_lines_replaced_are_what_the_patch_does(old, new):
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    if before == after:
        return
    patch = write_patch("a.py", before, after)
    whole = whole_replacement(patch)
    for found in (replacements(patch), [whole] if whole else []):
        lines = before.splitlines(keepends=True)
        for one in reversed(found):
            lines[one.first - 1 : one.end - 1] = [one.text]
        assert not found or "".join(lines) == after
    assert whole is None or whole.end > whole.first


def test_annotations_name_place_and_severity(changed):
    found = [about(10, 11, severity="high", suggestion="Mend it."), about(20, side="old", severity="info")]
    error, notice = to_annotations(report(changed, *found)).splitlines()
    place = "file=a.py,line=10,endLine=11,title=high bug (f-00000000000a)"
    assert error == f"::error {place}::The loop runs one time too many.%0AMend it."
    said = "a.py:20 (before the change): The loop runs one time too many."
    assert notice == f"::notice file=a.py,title=info bug (f-000000000014)::{said}"


@given(st.text(), st.text(min_size=1))
def test_no_text_ends_an_annotation_or_begins_a_command(claim, path):
    hostile = f"{claim}\n::set-output name=x::y\r::stop-commands::z"
    one = finding(id="f-1", claim=hostile, path=f"{path},line=9::")
    (line,) = to_annotations(report([], one)).removesuffix("\n").split("\n")
    assert len(line.splitlines()) == 1
    assert line.startswith("::warning file=")
    properties = line.split("::")[1].removeprefix("warning ").split(",")
    assert [one.partition("=")[0] for one in properties] == ["file", "line", "endLine", "title"]


def test_gitlab_takes_what_it_documents(changed):
    found = [about(10 + n, severity=name, rule="note") for n, name in enumerate(SEVERITIES)]
    data = json.loads(to_gitlab(report(changed, *found, about(20, side="old", severity="low"), about(0))))
    for one in data:
        assert set(one) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert all(one[name] for name in one)
        assert one["location"]["lines"]["begin"] >= 1
        assert not one["location"]["path"].startswith(("/", "./"))
    levels = [one["severity"] for one in data if one["check_name"] == "note"]
    assert levels == ["blocker", "critical", "major", "minor", "info"]
    assert len({one["fingerprint"] for one in data}) == len(data)


def test_rdjson_has_the_fields_of_a_diagnostic_result(changed):
    patch = write_patch("a.py", AFTER, AFTER.replace("line ten and a half\n", "line 10.5\n"))
    found = [
        about(10, 11, patch=patch, suggestion="Count."),
        about(20, side="old"),
        about(0, severity="high"),
    ]
    data = json.loads(to_rdjson(report(changed, *found)))
    assert data["source"] == {"name": "holdfast"}
    whole, first, deleted = data["diagnostics"]
    assert (whole["severity"], whole["location"]) == ("ERROR", {"path": "a.py"})
    assert deleted["location"] == {"path": "a.py"}
    assert deleted["message"].startswith("a.py:20 before the change: ")
    assert first == {
        "message": "The loop runs one time too many.\nCount.",
        "location": {"path": "a.py", "range": {"start": {"line": 10}, "end": {"line": 11}}},
        "severity": "WARNING",
        "code": {"value": "review/bug"},
        "suggestions": [
            {
                "range": {"start": {"line": 11, "column": 1}, "end": {"line": 12, "column": 1}},
                "text": "line 10.5\n",
            }
        ],
    }
