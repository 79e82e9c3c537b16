"""set_level, report_finding and list_findings; and the same state from their results alone."""

import asyncio

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.agents.reviewer.tools import RECORDED_DATA, restore_result, review_tools
from holdfast.review.finding import SEVERITIES
from holdfast.review.findings import ReviewFindings
from holdfast.review.review import Review, start_review
from holdfast.review.unit import LEVELS
from holdfast.tools.workspace import Workspace
from support.review_repos import Repo

LINE = "    return [words.clean(part) for part in parts]"
PATCH = (
    "--- a/pkg/parser.py\n+++ b/pkg/parser.py\n@@ -6,2 +6,2 @@\n     parts = text.split(sep)\n"
    "-    return [words.clean(part) for part in parts]\n+    return [words.clean(part) for part in parts if part]\n"
)


def reported(runner, **more):
    given = {
        "unit": runner.unit("pkg/parser.py"),
        "line": 7,
        "last_line": 7,
        "severity": "high",
        "category": "bug",
        "claim": "Empty parts are no longer left out.",
        "evidence": [LINE],
    }
    return runner.run("report_finding", **given | more)


def test_a_finding_that_stands_is_kept_and_named(runner):
    found = reported(runner, patch=PATCH)
    (kept,) = [one for one in runner.review.findings.kept if not one.rule]
    assert found.status == "success"
    assert found.text == f"Kept as `{kept.id}`: high bug, `pkg/parser.py`:7. The patch applies."
    assert (kept.line, kept.evidence, kept.unit) == (7, (LINE,), runner.unit("pkg/parser.py"))
    assert found.data["outcome"] == "kept"
    assert found.data["finding"]["claim"] == "Empty parts are no longer left out."


def test_a_finding_that_does_not_stand_is_dropped_counted_and_corrected(runner):
    found = reported(runner, evidence=["    return [words.clean(p) for p in parts]"])
    assert found.error.code == "INVALID_PARAM"
    assert "the evidence is not in the new version of `pkg/parser.py`" in found.text
    assert found.text.split("\n")[-1] == f"     7\t{LINE}"
    assert runner.review.findings.dropped == {"evidence": 1}
    assert not [one for one in runner.review.findings.kept if not one.rule]
    right = reported(runner, evidence=[found.text.split("\n")[-1].partition("\t")[2]])
    assert right.status == "success"


def test_a_quote_that_stands_on_the_other_side_is_said(runner):
    quoted = {"evidence": ["    return [part for part in parts if part]"], "line": 7}
    found = reported(runner, **quoted)
    assert 'line 7 of the old version: set `side` to "old"' in found.text
    assert reported(runner, side="old", **quoted).status == "success"


def test_a_quote_like_nothing_is_answered_with_what_stands_there(runner):
    found = reported(runner, evidence=["@@@@ %% ----"], line=6)
    assert "No line is like it" in found.text
    assert "     6\t    parts = text.split(sep)" in found.text


@pytest.mark.parametrize(
    "quote",
    [f"     7\t{LINE}", f"+     7\t{LINE}", f"+{LINE}", f"7: {LINE}"],
    ids=["row", "signed row", "sign", "number"],
)
def test_lines_may_be_quoted_as_they_are_shown(runner, quote):
    assert reported(runner, evidence=[quote]).data["finding"]["evidence"] == [LINE]


def test_the_place_is_that_of_the_evidence(runner):
    found = reported(runner, line=2, last_line=2)
    assert "The evidence is at line 7, not 2." in found.text


@pytest.mark.parametrize(
    ("more", "said", "reason"),
    [
        ({"unit": "u-000000000000"}, "there is no unit `u-000000000000`", "unit"),
        ({"evidence": []}, "there is no evidence", "no_evidence"),
        ({"claim": "  "}, "its `claim` is empty", "claim"),
        ({"path": "pkg/nowhere.py"}, "the new version of `pkg/nowhere.py` is not known", "file"),
    ],
    ids=["unit", "no evidence", "claim", "file"],
)
def test_what_a_report_lacks_is_said_and_counted(runner, more, said, reason):
    found = reported(runner, **more)
    assert found.status == "error"
    assert said in found.text
    assert runner.review.findings.dropped == {reason: 1}
    assert found.data["reason"] == reason


@pytest.mark.parametrize(
    "more",
    [{"severity": "fatal"}, {"category": "vibes"}, {"line": -1}, {"evidence": "x"}, {"side": "left"}],
    ids=str,
)
def test_arguments_that_are_no_such_thing_are_refused(runner, more):
    found = reported(runner, **more)
    assert found.error.code == "INVALID_PARAM"
    assert found.data == {}


def test_half_a_character_does_no_harm(runner):
    found = reported(runner, claim="Half \ud83d of one.", suggestion="\udc80", patch="\ud800")
    assert found.data["finding"]["claim"] == "Half ? of one."
    assert reported(runner, evidence=["\ud800"], unit="\ud800", path="\ud800").status == "error"


def test_a_caller_that_was_not_changed_can_be_quoted(runner):
    found = reported(runner, path="pkg/main.py", line=11, last_line=11, evidence=["    return parse(text)"])
    assert found.status == "success"
    assert found.data["finding"]["path"] == "pkg/main.py"
    assert found.data["finding"]["line"] == 11


def test_of_a_diff_out_of_a_file_too_a_caller_can_be_quoted(changed, runner_of):
    repo = changed()
    other = runner_of(repo.folder, "a.patch", repo.git("diff", "HEAD") + "\n")
    quote = {"path": "pkg/main.py", "line": 11, "last_line": 11, "evidence": ["    return parse(text)"]}
    found = reported(other, **quote)
    assert (found.status, found.data["finding"]["line"]) == ("success", 11)
    inner = other.review.sides.versions
    assert (inner.new(".git/config"), inner.new("../repo/pkg/main.py"), inner.new("old_name.py")) == (
        None,
    ) * 3


def test_a_deleted_file_is_quoted_by_its_old_lines_whatever_side_is_said(runner):
    found = reported(runner, unit=runner.unit("gone.py"), line=1, last_line=1, evidence=["def gone():"])
    assert found.data["finding"]["side"] == "old"


def test_the_same_again_is_merged_and_said(runner):
    first = reported(runner, severity="low").data["finding"]["id"]
    again = reported(runner, severity="critical", claim="The empty part is no longer left out!")
    assert again.data["outcome"] == "merged"
    stays = again.data["finding"]["id"]
    assert f"merged into `{stays}`" in again.text
    assert runner.review.findings.find(first).severity == "critical"
    assert len([one for one in runner.review.findings.kept if not one.rule]) == 1
    weaker = reported(runner, severity="info")
    assert "That one says: The empty part is no longer left out!" in weaker.text


def test_a_patch_that_does_not_apply_is_dropped_and_the_finding_kept(runner):
    found = reported(runner, patch=PATCH.replace("text.split(sep)", "text.cut(sep)"))
    assert found.status == "success"
    assert "The patch was dropped: its lines are not in the new version of the file." in found.text
    assert found.data["finding"]["patch"] == ""
    assert runner.review.findings.patches == {"does_not_apply": 1}


def test_findings_are_listed_with_their_exact_words(runner):
    claim = "Empty parts are no longer left out;\nsee `run`: it indexes `[0]`."
    name = reported(runner, claim=claim, suggestion="Keep the condition.", patch=PATCH).data["finding"]["id"]
    reported(
        runner,
        severity="low",
        category="tests",
        claim="No test covers `sep`.",
        evidence=["    parts = text.split(sep)"],
    )
    found = runner.run("list_findings")
    assert (
        f"`{name}` high bug, `pkg/parser.py`:7, unit `{runner.unit('pkg/parser.py')}`: {claim}" in found.text
    )
    assert f"    | {LINE}" in found.text
    assert "suggestion: Keep the condition." in found.text
    assert "No test covers" in found.text
    few = runner.run("list_findings", severity="high")
    assert few.data["total"] == 1
    assert "No test covers" not in few.text
    reported(runner, evidence=["nothing of the kind"])
    assert "(reports that were dropped: evidence 1)" in runner.run("list_findings").text


@pytest.mark.slow
def test_many_findings_are_listed_up_to_a_cap(changed, runner_of):
    text = "".join(f"value_{n} = compute({n})\n" for n in range(150))
    runner = runner_of(changed({"a.py": "x = 1\n"}, {"a.py": text}, ()).folder)
    for n in range(150):
        given = {
            "unit": runner.unit("a.py"),
            "line": n + 1,
            "last_line": n + 1,
            "severity": "low",
            "category": "bug",
        }
        runner.run(
            "report_finding", claim=f"Number {n} is wrong.", evidence=[f"value_{n} = compute({n})"], **given
        )
    found = runner.run("list_findings")
    assert (found.status, found.data["total"], len(found.data["findings"])) == ("partial", 150, 100)
    assert "100 of 150 are shown" in found.text


def test_levels_are_fused_with_the_word_of_the_rules(runner):
    risky = replace(runner.review.units[0], risk="high")
    runner.review.units = (risky, *runner.review.units[1:])
    found = runner.run("set_level", unit=risky.id, level="skip", reason="looks dull")
    assert runner.review.level(risky) != "skip"
    assert f"`{risky.id}` is looked at as `{runner.review.level(risky)}`, not `skip`" in found.text
    raised = runner.run("set_level", unit=risky.id, level="full_file", reason="look closer")
    assert runner.review.level(risky) == "full_file"
    assert raised.data["decision"]["level"] == "full_file"
    assert runner.run("set_level", unit="u-none", level="diff", reason="x").error.code == "NOT_FOUND"
    assert runner.run("set_level", unit=risky.id, level="deep", reason="x").error.code == "INVALID_PARAM"


def plain(data):
    return msgspec.json.decode(msgspec.json.encode(data))


def fresh(review):
    """The review as it was begun."""
    return Review(
        root=review.root,
        diff=review.diff,
        versions=review.versions,
        units=review.units,
        sides=review.sides,
        findings=ReviewFindings(),
        decisions={},
    )


@pytest.mark.slow
def test_results_in_a_log_rebuild_the_state_of_a_review_that_is_resumed(runner):
    results = [
        ("report_finding", reported(runner)),
        ("report_finding", reported(runner, evidence=["not there"])),
        (
            "report_finding",
            reported(runner, severity="critical", patch=PATCH, claim="Empty parts are not left out."),
        ),
        (
            "report_finding",
            reported(runner, path="pkg/main.py", line=11, evidence=["    return parse(text)"]),
        ),
        ("report_finding", reported(runner, severity="fatal")),
        ("set_level", runner.run("set_level", unit=runner.unit("gone.py"), level="full_file", reason="x")),
        ("list_findings", runner.run("list_findings")),
        ("report_finding", reported(runner, patch="no patch", category="style")),
    ]
    again = start_review(runner.review.root, "working")
    for _ in range(2):
        for name, result in results:
            restore_result(again, name, plain(result.data) if name in RECORDED_DATA else {})
        assert again.findings == runner.review.findings
        assert again.decisions == runner.review.decisions
    assert again.findings.dropped == {"evidence": 1}
    assert again.findings.patches == {"unreadable": 1}


@pytest.mark.slow
def test_what_no_longer_stands_is_not_restored(runner):
    kept = reported(runner)
    other = reported(
        runner, path="pkg/main.py", line=11, evidence=["    return parse(text)"], claim="It breaks."
    )
    level = runner.run("set_level", unit=runner.unit("pkg/parser.py"), level="full_file", reason="x")
    (runner.review.root / "pkg/parser.py").write_text("def parse():\n    return 1\n")
    again = start_review(runner.review.root, "working")
    for name, result in (("report_finding", kept), ("report_finding", other), ("set_level", level)):
        restore_result(again, name, plain(result.data))
    assert not [one for one in again.findings.kept if one.claim.startswith("Empty parts")]
    assert again.decisions == {}


@pytest.mark.slow
@pytest.mark.parametrize("severity", ["low", "critical"])
def test_a_rule_with_new_words_does_not_double_the_findings_of_an_older_log(changed, runner_of, severity):
    """Ids follow from the words. A report that was merged with a rule's finding names the id it had then."""
    repo = changed(after={"pkg/words.py": "WORDS = ()\n\n\ndef clean(word):\n    breakpoint()\n"}, gone=())
    runner = runner_of(repo.folder)
    (found,) = runner.review.findings.kept
    runner.review.findings = replace(
        runner.review.findings,
        kept=(replace(found, id="f-0123456789ab", claim="A breakpoint was forgotten."),),
    )
    merged = runner.run(
        "report_finding",
        unit=found.unit,
        line=found.line,
        last_line=found.line,
        severity=severity,
        category="leftover",
        claim="A breakpoint was forgotten here.",
        evidence=list(found.evidence),
    )
    assert merged.data["outcome"] == "merged"
    again = start_review(runner.review.root, "working")
    for _ in range(2):
        restore_result(again, "report_finding", plain(merged.data))
        assert [one.claim for one in again.findings.kept] == [
            one.claim for one in runner.review.findings.kept
        ]


TEXT = "def f(a):\n    first = a\n    second = a\n    third = a\n    return first\n"
LINES = TEXT.split("\n")[1:5]
WORDS = [
    "overflow of counters",
    "counter overflow happens",
    "race between threads",
    "lock missing",
    "counters race",
]

reports = st.fixed_dictionaries(
    {
        "line": st.integers(0, 9),
        "span": st.integers(0, 3),
        "severity": st.sampled_from(SEVERITIES),
        "category": st.sampled_from(["bug", "style"]),
        "claim": st.sampled_from(WORDS),
        "evidence": st.lists(st.sampled_from([*LINES, "nowhere"]), max_size=2),
        "patch": st.sampled_from(["", "junk", "@@ -2,1 +2,1 @@\n-    first = a\n+    first = b\n"]),
    }
)
levels = st.tuples(st.sampled_from(LEVELS))


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    repo = Repo(tmp_path_factory.mktemp("begun") / "repo")
    repo.commit({"a.py": "x = 1\n", "b.py": "y = 1\n"})
    repo.write("a.py", TEXT)
    repo.write("b.py", "y = 2\n")
    return start_review(repo.folder, "working")


def said(claim, severity):
    return {"line": 2, "span": 0, "severity": severity, "category": "bug", "claim": claim} | {
        "evidence": LINES[:1],
        "patch": "",
    }


@pytest.mark.slow
@settings(max_examples=150)
@example([said(WORDS[0], "low"), said(WORDS[1], "high"), said(WORDS[0], "critical")])
@example(
    [
        said(WORDS[3], "info") | {"line": 0, "evidence": [LINES[3]]},
        said(WORDS[3], "info") | {"line": 0, "evidence": [LINES[2]]},
        said(WORDS[3], "info") | {"line": 4, "span": 1, "evidence": [LINES[2]]},
    ]
)
@given(st.lists(st.one_of(reports, levels), max_size=8))
def test_replayed_once_or_twice_the_results_give_the_same_state(begun, calls):
    live, again = fresh(begun), fresh(begun)
    results = run_all(live, calls)
    assert len(results) == len(calls)
    for _ in range(2):
        for name, data in results:
            restore_result(again, name, data)
            restore_result(again, name, data)
        assert again.findings == live.findings
        assert again.decisions == live.decisions


def run_all(review, calls):
    """The `data` of each call's result, as a log keeps it."""
    workspace = Workspace([review.root])
    tools = {tool.name: tool for tool in review_tools(review, workspace)}

    async def run():
        results = []
        for call in calls:
            if isinstance(call, tuple):
                name, arguments = "set_level", {"unit": review.units[0].id, "level": call[0], "reason": "x"}
            else:
                given = {key: value for key, value in call.items() if key != "span"}
                name = "report_finding"
                arguments = given | {"unit": review.units[0].id, "last_line": call["line"] + call["span"]}
            result = await tools[name].run(arguments, workspace)
            results.append((name, plain(result.envelope.data)))
        return results

    return asyncio.run(run())
