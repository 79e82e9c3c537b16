"""Reports for people and programs: complete, and safe whatever the diff or the model wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from holdfast.review.escaping import (
    code_block,
    code_span,
    escape_inline,
    show_invisible,
    table_cell,
)
from holdfast.review.findings import ReviewFindings
from holdfast.review.report import ReviewReport, SkippedUnit, to_json, to_markdown
from holdfast.review.unit import Metrics, Span, Symbol
from support.review_values import check, finding, unit

PARSER = MarkdownIt("gfm-like")
HOSTILE = [
    "# Heading",
    "Setext\n======",
    "```\n# out\n```",
    "````` deep",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](https://evil.example)",
    "![pixel](https://evil.example/x.png)",
    "https://evil.example/a?b=c",
    "www.evil.example",
    "<https://evil.example>",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "- item\n- item",
    "1. item",
    "> quote",
    "**bold** _it_ ~~gone~~",
    "&lt;b&gt; &#35; x",
    "a\\",
    "\x1b[31mred\x07",
    "\u202egnp.exe",
    "`tick` ``two``",
    "---",
    "$x$ @user #12",
]


def kinds(markdown):
    """Which elements a reader gets, apart from text."""
    found = set()
    for token in PARSER.parse(markdown):
        found.add(token.type)
        found.update(child.type for child in token.children or ())
    return found


def headings(markdown):
    tokens = PARSER.parse(markdown)
    return [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]


@given(st.text())
def test_json_holds_every_character_and_shows_none_that_a_terminal_obeys(text):
    claim = text + "\x7f\x9b2J\u202e\U000e0041é"
    written = to_json(
        ReviewReport(title="t", units=(), findings=ReviewFindings(kept=(finding(claim=claim),)))
    )
    assert json.loads(written)["findings"][0]["claim"] == claim
    assert show_invisible(written) == written
    assert "é" in written


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_text_of_strangers_stays_text(text):
    assert kinds(escape_inline(text)) <= {"paragraph_open", "inline", "paragraph_close", "text"}
    assert kinds(code_span(text)) <= {"paragraph_open", "inline", "paragraph_close", "code_inline", "text"}
    assert kinds(code_block(text)) == {"fence"}


@given(
    st.lists(
        st.sampled_from([*HOSTILE, "`", "``", "\n", "~~~", "    ", "\r", "text", "<", "\u2028"]), max_size=6
    ).map("".join)
)
def test_no_mixture_breaks_out(text):
    assert kinds(escape_inline(text)) <= {"paragraph_open", "inline", "paragraph_close", "text"}
    assert kinds(code_block(text)) == {"fence"}
    assert kinds("| a |\n| --- |\n| " + table_cell(text) + " |") <= {
        *(
            "table_open",
            "thead_open",
            "tr_open",
            "th_open",
            "inline",
            "text",
            "th_close",
            "tr_close",
            "thead_close",
        ),
        *("tbody_open", "td_open", "code_inline", "td_close", "tbody_close", "table_close"),
    }


def test_what_cannot_be_seen_is_shown():
    assert show_invisible("a\u202eb\x1b[0m\tc\n") == "a⟨U+202E⟩b⟨U+001B⟩[0m\tc\n"


def report(text="ordinary", path="src/a.py"):
    one = unit(
        "u-0123456789ab",
        path,
        risk="high",
        tags=("security", "whole_function"),
        new=Span(3, 9),
        metrics=Metrics(5, 2, 1),
        symbol=Symbol(text, "function", Span(1, 20)),
    )
    found = ReviewFindings(
        kept=(
            finding(
                id="f-1",
                path=path,
                line=4,
                last_line=6,
                claim=text,
                evidence=(text,),
                suggestion=text,
                severity="low",
            ),
            finding(
                id="f-2",
                path=path,
                line=0,
                last_line=0,
                claim="Second",
                patch="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            ),
        ),
        dropped={"evidence": 2},
        patches={"does_not_apply": 1},
        merged={"f-9": "f-1"},
    )
    return ReviewReport(
        title=text,
        units=(one,),
        findings=found,
        unseen=(SkippedUnit(path, text),),
        model="some/model",
        summary=text,
    )


def test_a_report_for_people_has_all_of_it():
    text = to_markdown(report())
    assert headings(text) == [
        "Review of ordinary",
        *("Medium", "Second", "Low", "ordinary"),
        *("Units by risk", "Not reviewed"),
    ]
    assert (
        "**Findings: 1 medium, 1 low.** 1 file, 1 unit, +5 −2 lines; reviewed by rules and some/model."
        in text
    )
    assert "`src/a.py:4-6`" in text
    assert (
        "| high | `u-0123456789ab` | `src/a.py:3` | `ordinary` | +5 −2 | security, whole function | diff |"
        in text
    )
    assert (
        "2 findings dropped (2 for evidence); 1 of the patches did not apply; 1 finding merged into others."
        in text
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_change_shapes_no_report(text):
    plain, hostile = to_markdown(report()), to_markdown(report(text, path=f"src/{text}.py"))
    assert len(headings(hostile)) == len(headings(plain))
    assert kinds(hostile) <= kinds(plain)


def test_no_secret_is_shown(tmp_path):
    token = "ghp_" + "R7wQ2nV9xK4mB8tL1cY6zJ3pD5sF0gHaUeXo"
    found = check(tmp_path, {"a.py": "x\n"}, {"a.py": f'x\ntoken = "{token}"  # TODO: {token}\n'})
    for text in (
        to_markdown(ReviewReport(title="t", findings=found)),
        to_json(ReviewReport(title="t", findings=found)),
    ):
        assert token not in text
        assert "<REDACTED>" in text or "\\<REDACTED" in text


def test_a_review_without_findings_says_so():
    text = to_markdown(ReviewReport(title="working"))
    assert "**Findings: none.**" in text
    assert "rules only, no model" in text


def test_every_format_lists_what_was_merged_or_is_gone():
    lost, same = finding(id="f-9", claim="It was <lost>."), finding(id="f-8", claim="It is the same.")
    findings = ReviewFindings(
        kept=(finding(id="f-1"),), merged={"f-8": "f-1"}, duplicates=(same,), gone=(lost,)
    )
    written = ReviewReport(title="t", findings=findings)
    markdown, data = to_markdown(written), json.loads(to_json(written))
    assert "merged into f\\-1: medium a.py:1 It is the same." in markdown
    assert "no longer in the change: medium a.py:1 It was \\<lost\\>." in markdown
    assert "1 finding dropped because the change moved on" in markdown
    assert [one["claim"] for one in data["duplicates"]] == ["It is the same."]
    assert [one["claim"] for one in data["gone"]] == ["It was <lost>."]


def test_json_has_the_documented_shape():
    data = json.loads(to_json(report()))
    assert data["schema"] == "holdfast.review/1"
    assert data["counts"] == {"info": 0, "low": 1, "medium": 1, "high": 0, "critical": 0}
    assert data["worst"] == "medium"
    assert [one["id"] for one in data["findings"]] == ["f-2", "f-1"]
    assert data["units"][0]["symbol"] == "ordinary"
    assert data["units"][0]["new"] == [3, 9]
    assert set(data) == {
        *("schema", "tool", "title", "model", "summary", "counts", "worst", "findings", "dropped"),
        *(
            "linters",
            "dropped_patches",
            "merged",
            "duplicates",
            "gone",
            "units",
            "unseen",
            "hidden_counts",
            "hidden",
        ),
    }


def test_json_takes_names_that_are_no_text():
    found = ReviewFindings(kept=(finding(id="f-1", path="a\udcff.py"),))
    assert json.loads(to_json(ReviewReport(title="t", findings=found)))["findings"][0]["path"] == "a?.py"


def test_reports_are_the_same_every_time():
    assert to_markdown(report()) == to_markdown(report())
    assert to_json(report()) == to_json(report())


def test_what_was_not_looked_at_is_counted_where_there_is_much_of_it():
    markdown = to_markdown(
        ReviewReport(title="t", unseen=tuple(SkippedUnit(f"gen/{n}.js", "generated") for n in range(99)))
    )
    assert markdown.count("generated") == 30
    assert "69 more units, of 69 files." in markdown
