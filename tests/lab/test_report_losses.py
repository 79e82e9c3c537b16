"""The tables of `--why` in every form, and that they say what was counted."""

import re

from msgspec.structs import replace

from holdfast.cli.tables import Column, print_table
from holdfast.lab import loss_reasons
from holdfast.lab.report import terminal_tables, write_html, write_markdown
from holdfast.lab.report.losses import MOST, loss_tables
from holdfast.lab.results import NeedGroup
from support.report_sample import BUDGETS, sample_report

BUDGET = BUDGETS[0]


def needs(count: int, hard: int, reason: str = "", detail: str = "", **more: str) -> NeedGroup:
    told = {"agent": "some agent", "tool": "Read", "kind": "line", "age": "6-10", **more}
    return NeedGroup(
        **told, reason=reason, detail=detail, needs=count, hard=hard, policy="coding", budget=BUDGET
    )


GROUPS = [
    needs(60, 30),
    needs(20, 10, loss_reasons.OUTRANKED),
    needs(15, 8, loss_reasons.NEVER, loss_reasons.WEAK, tool="<b>Glob</b>", kind="name", age="51+"),
    needs(5, 2, loss_reasons.NEVER, loss_reasons.LONG),
    needs(400, 0, age="1"),
    needs(100, 0, loss_reasons.FIRST_SIGHT, age="2-5"),
]
REPORT = replace(sample_report(20), groups=GROUPS)


def rows_of(title: str) -> dict[str, list]:
    [table] = [table for table in loss_tables(REPORT, BUDGET) if table.title.startswith(title)]
    return {str(row[1]): row[2:] for row in table.rows}


def test_reasons_have_their_shares():
    found = rows_of("why needs were missed at 16k")
    assert found == {
        "outranked": ["10", "50%", "20%", "20", "50%", "20%"],
        "never a candidate: a weak name": ["8", "40%", "16%", "15", "38%", "15%"],
        "never a candidate: too long a line": ["2", "10%", "4%", "5", "12%", "5%"],
        "all reasons": ["20", "100%", "40%", "40", "100%", "40%"],
    }


def test_needs_are_grouped_by_source_age_and_kind():
    by_tool = rows_of("missed needs by source")
    assert by_tool["Read"] == ["42", "12", "29%", "85", "25", "29%", "outranked"]
    assert by_tool["<b>Glob</b>"] == ["8", "8", "100%", "15", "15", "100%", "never a candidate"]
    by_age = rows_of("missed needs by age in")
    assert list(by_age) == ["1", "2-5", "6-10", "51+"]
    assert by_age["2-5"] == ["0", "0", "–", "100", "100", "100%", "cut on first sight"]
    assert list(rows_of("missed needs by kind")) == ["line", "name"]


def test_a_policy_without_misses_and_a_report_without_counts_have_no_rows():
    kept = [replace(group, reason="", detail="") for group in GROUPS]
    assert loss_tables(replace(REPORT, groups=kept), BUDGET) == []
    assert loss_tables(sample_report(20), BUDGET) == []
    assert loss_tables(REPORT, BUDGETS[1]) == []


def test_rarer_tools_share_one_row():
    many = [needs(1, 0, loss_reasons.OUTRANKED, tool=f"tool {n}") for n in range(MOST + 5)]
    [table] = [t for t in loss_tables(replace(REPORT, groups=many), BUDGET) if "by source" in t.title]
    assert len(table.rows) == MOST + 1
    assert table.rows[-1][1:] == ["others", "0", "0", "–", "5", "5", "100%", "outranked"]


def test_terminal_markdown_and_html_have_the_tables(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for table in terminal_tables(REPORT):
        print_table([Column(name, kind) for name, kind in table.columns], table.rows)
    assert max(map(len, capfd.readouterr().out.splitlines())) <= 80
    text = write_markdown(REPORT)
    assert "### Why needs were missed at 16k" in text
    assert "| coding | outranked | 10 | 50% | 20% | 20 | 50% | 20% |" in text
    assert "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |" in text
    page = write_html(REPORT)
    assert page.count("<caption>Why needs were missed at 16k</caption>") == 1
    assert "&lt;b&gt;Glob&lt;/b&gt;" in page
    assert not re.search("<b>Glob", page)
    for plain in (write_markdown(sample_report(20)), write_html(sample_report(20))):
        assert "were missed" not in plain
