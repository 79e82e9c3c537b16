"""SARIF: valid by its schema, with places that services find again and fixes that do what the patch does."""

import json
import os
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, FormatChecker

from holdfast.review.finding import SEVERITIES
from holdfast.review.findings import ReviewFindings, Sides
from holdfast.review.patches import write_patch
from holdfast.review.report import ReviewReport, SkippedUnit
from holdfast.review.sarif import to_sarif
from support.review_values import Texts, check, finding, unit

SCHEMA = os.environ.get("HOLDFAST_SARIF_SCHEMA", "")
TOKEN = "ghp_" + "R7wQ2nV9xK4mB8tL1cY6zJ3pD5sF0gHaUeXo"


def faults(data):
    """What the schema finds, where it is at hand."""
    if not SCHEMA:
        return []
    schema = json.loads(Path(SCHEMA).read_text("utf-8-sig"))
    return [
        error.message for error in Draft4Validator(schema, format_checker=FormatChecker()).iter_errors(data)
    ]


def sarif(report):
    data = json.loads(to_sarif(report))
    assert faults(data) == []
    return data["runs"][0]


def fixed(text, fix):
    """What a tool makes of a fix: the replacements of one file, from its end."""
    lines = text.split("\n")
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    for one in reversed(fix["artifactChanges"][0]["replacements"]):
        region = one["deletedRegion"]
        assert region["startColumn"] == region["endColumn"] == 1
        at, end = (
            (starts[n - 1] if n <= len(starts) else len(text))
            for n in (region["startLine"], region["endLine"])
        )
        text = text[:at] + one.get("insertedContent", {"text": ""})["text"] + text[end:]
    return text


@pytest.mark.skipif(
    not SCHEMA, reason="HOLDFAST_SARIF_SCHEMA names no schema: CONTRIBUTING.md says where it is"
)
def test_the_schema_refuses_what_is_wrong():
    data = json.loads(to_sarif(ReviewReport(title="x", findings=ReviewFindings(kept=(finding(id="f-1"),)))))
    data["runs"][0]["results"][0]["level"] = "fatal"
    assert faults(data)


def test_an_empty_review_is_valid():
    assert sarif(ReviewReport(title="working"))["results"] == []


def test_what_the_rules_find_is_valid_and_names_its_rules(tmp_path):
    after = {"a b/ü#1.py": f'TOKEN = "{TOKEN}"\n# TODO: more\n', ".env": "A=1\n"}
    run = sarif(ReviewReport(title="x", findings=check(tmp_path, {"x": ""}, {"x": ""} | after)))
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/%C3%BC%231.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 1, "endLine": 1, "snippet": {"text": 'TOKEN = "<REDACTED>"'}}
    assert TOKEN not in json.dumps(run)


def test_a_name_that_looks_like_an_address_stays_a_path():
    run = sarif(
        ReviewReport(
            title="x", findings=ReviewFindings(kept=(finding(id="f-1", path="javascript:x/\udcff?.py"),))
        )
    )
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "javascript%3Ax/%FF%3F.py"
    assert unquote(uri, errors="surrogateescape") == "javascript:x/\udcff?.py"


def test_the_fingerprint_is_the_findings_id_and_deleted_lines_have_no_region():
    kept = (finding(id="f-0123456789ab", side="old", line=3, last_line=3, evidence=("gone",)),)
    result = sarif(ReviewReport(title="x", findings=ReviewFindings(kept=kept)))["results"][0]
    assert result["partialFingerprints"] == {"holdfastFindingId/v1": "f-0123456789ab"}
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_what_was_not_looked_at_is_a_notification():
    run = sarif(ReviewReport(title="x", unseen=(SkippedUnit("a.bin", "binary"),)))
    assert "binary" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


@pytest.mark.parametrize("severity", SEVERITIES)
def test_every_severity_has_a_level(severity):
    assert sarif(
        ReviewReport(title="x", findings=ReviewFindings(kept=(finding(id="f-1", severity=severity),)))
    )["results"]


LINES = st.lists(st.sampled_from(["a", "b", "", "c d"]), min_size=1, max_size=14)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_fix_does_what_the_patch_does(old, new, old_ends, new_ends):
    before = "\n".join(old) + ("\n" if old_ends else "")
    after = "\n".join(new) + ("\n" if new_ends else "")
    if not before or not after or before == after:
        return
    patch = write_patch("a.py", before, after)
    run = sarif(ReviewReport(title="x", findings=ReviewFindings(kept=(finding(id="f-1", patch=patch),))))
    assert fixed(before, run["results"][0]["fixes"][0]) == after


def test_a_verified_patch_becomes_a_fix():
    text = "one\ntwo\nthree\n"
    sides = Sides([unit("u-1", "a.py")], Texts({}, {"a.py": text}))
    found = ReviewFindings().report(finding(evidence=("two",), patch="@@ -2 +2 @@\n-two\n+2\n"), sides)
    run = sarif(ReviewReport(title="x", findings=found))
    assert fixed(text, run["results"][0]["fixes"][0]) == "one\n2\nthree\n"
