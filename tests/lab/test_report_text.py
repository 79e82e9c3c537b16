"""The report as words and tables: number formats, Markdown that keeps its shape, tables that fit a terminal."""

import re
from math import inf, nan

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from msgspec.structs import replace

from holdfast.cli.tables import Column, print_table
from holdfast.lab.report import figures, rankings, terminal_tables, write_html, write_markdown
from holdfast.lab.report.rankings import BIAS
from holdfast.lab.results import DollarsAtRecall, Interval, ProjectFigures, Sensitivity
from support.report_sample import BUDGETS, CURVES, HOSTILE, REFERENCE, sample_report
from support.report_strategies import reports

SAMPLE = sample_report(20)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (figures.decimal(0.734), "0.73"),
        (figures.decimal(None), "–"),
        (figures.decimal(nan), "–"),
        (figures.decimal(1.772), "1.77"),
        (figures.milliseconds(0.04), "0.0"),
        (figures.milliseconds(9.94), "9.9"),
        (figures.milliseconds(9.96), "10"),
        (figures.milliseconds(1234.5), "1,234"),
        (figures.milliseconds(inf), "–"),
        (figures.signed(0.051), "+0.05"),
        (figures.signed(-0.051), "−0.05"),
        (figures.signed(-0.001), "0.00"),
        (figures.signed(0.001), "0.00"),
        (figures.budget(16_000), "16k"),
        (figures.budget(1_000_000), "1M"),
        (figures.budget(12_345), "12345"),
        (figures.bounds(Interval(0.5, 0.4, 0.6)), "0.40–0.60"),
        (figures.plain("a\nb\x1b[1m\u202ec"), "a b\ufffd[1m\ufffdc"),
        (figures.plain("abcdef", 4), "abc…"),
    ],
)
def test_numbers_and_names_are_written_one_way(written, expected):
    assert written == expected


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def markdown_tables(text: str) -> list[list[list[str]]]:
    blocks = [block.splitlines() for block in text.split("\n\n")]
    return [[cells(line) for line in block] for block in blocks if block and block[0].startswith("|")]


def test_markdown_has_a_table_for_each_budget_with_every_policy():
    tables = [t for t in markdown_tables(write_markdown(SAMPLE)) if "Δ hard vs reference" in t[0]]
    assert len(tables) == len(BUDGETS)
    for table in tables:
        assert {len(line) for line in table} == {13}
        assert len(table) == 2 + len(CURVES)
        hard = [float(line[1]) for line in table[2:]]
        assert hard == sorted(hard, reverse=True)


def test_markdown_says_the_figures_of_a_row():
    table = markdown_tables(write_markdown(SAMPLE))[0]
    row = next(line for line in table if line[0] == "trim-from-the-first-one")
    assert row[1:] == [
        "0.47",
        "0.43–0.51",
        "0.79",
        "0.47",
        "–",
        "1.30",
        "+0.02 ≈",
        "420",
        "3",
        "0",
        "4.6",
        "269",
    ]


def test_markdown_says_settings_bias_and_faults():
    text = write_markdown(SAMPLE)
    assert "41 recordings from 3 projects" in text
    assert "2,000 bootstrap draws" in text
    assert all(sentence in text for sentence in BIAS)
    assert "Partial" not in text
    assert r"failed: ValueError: \<no room\> 3" in text
    assert "suffix scramble: pack 12 differs" in text


def test_the_result_leaves_out_the_baseline_and_what_has_faults():
    rows = [
        row for row in SAMPLE.rows if row.policy in ("everything", "trim-from-the-first-one", "shorten-long")
    ]
    said = rankings.result_sentence(replace(SAMPLE, rows=rows))
    assert said == (
        "At 32k, `shorten-long` keeps 0.56 (95%: 0.52–0.60) of the hard needs, "
        "for 0.28 of the dollars that sending everything costs."
    )
    assert rankings.result_sentence(replace(SAMPLE, rows=rows[:1])) == ""
    assert write_markdown(SAMPLE).startswith("At 32k, **coding** keeps the most: 0.73")


def test_markdown_of_a_partial_run_opens_with_it():
    text = write_markdown(replace(SAMPLE, partial="interrupted after 3 of 170 recordings."))
    assert text.startswith("> **Partial result: interrupted after 3 of 170 recordings. ")


def test_names_stay_text_in_markdown():
    evil = "a|b\n# c <img src=x> [d](javascript:e) `f` **g**"
    rows = [replace(row, policy=evil) if row.policy == HOSTILE else row for row in SAMPLE.rows]
    tokens = MarkdownIt("commonmark").enable("table").parse(write_markdown(replace(SAMPLE, rows=rows)))
    inner = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inner} <= {
        "text",
        "text_special",
        "softbreak",
        "strong_open",
        "strong_close",
    }
    assert {t.type for t in tokens} & {"html_block", "code_block", "fence"} == set()


@pytest.mark.slow
@settings(max_examples=30)
@given(reports)
def test_any_report_has_markdown_whose_tables_are_rectangles(report):
    text = write_markdown(report)
    text.encode()
    for table in markdown_tables(text):
        assert len({len(line) for line in table}) == 1


def test_terminal_tables_fit_eighty_columns(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    tables = terminal_tables(SAMPLE)
    for table in tables:
        print_table([Column(name, kind) for name, kind in table.columns], table.rows)
    shown = capfd.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    assert any(line.startswith("summary-of-older-rounds  0.50") for line in shown), "a name in one piece"
    assert len(tables) == 3 * len(BUDGETS) + 2


def test_terminal_tables_say_the_figures_of_a_row():
    scores, sizes, *_, ranking, checks = terminal_tables(SAMPLE)
    assert scores.title == "evidence and cost at 16k (6,120 hard needs), p50 in ms"
    row = next(r for r in scores.rows if r[0] == "collapse-groups")
    assert row == ["collapse-groups", "0.27", "0.23–0.31", "0.71", "0.40", "0", "0", "153", "3.0"]
    row = next(r for r in sizes.rows if r[0] == "coding")
    assert row == ["coding", "0.69", "5.4", "70", "–", "66", "7,680", "0"]
    assert ranking.rows[0] == ["coding", "0.30", "0.30", "0.37", "0.53"]
    assert ["everything", "ok", "ok"] in checks.rows


def test_sensitivity_is_a_table_by_variation_and_budget():
    found = [Sensitivity("overlap 0.3", b, tau, ["x"]) for b, tau in ((16_000, 0.9), (32_000, None))]
    report = replace(SAMPLE, sensitivity=found)
    table = terminal_tables(report)[-2]
    assert [name for name, _ in table.columns] == ["the measure varied", "at 16k", "at 32k"]
    assert table.rows == [["overlap 0.3", "0.90", "–"]]
    assert "| overlap 0.3 | 0.90 | – |" in write_markdown(report)
    assert "tau 0.90 at 16k" in write_html(report)


@pytest.mark.slow
@settings(max_examples=30)
@given(reports)
def test_any_report_has_terminal_tables_with_full_rows(report):
    for table in terminal_tables(report):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_the_ranking_is_at_the_highest_recall_that_half_reach():
    costs = {"a": (0.2, None), "b": (0.1, 0.5), "c": (None, None), "d": (0.3, 0.4)}
    found = [
        DollarsAtRecall(p, r, c) for p, pair in costs.items() for r, c in zip((0.5, 0.7), pair, strict=True)
    ]
    ranking = rankings.ranking_of(replace(SAMPLE, at_recall=found))
    assert ranking.levels[ranking.level] == 0.7
    assert list(ranking.dollars) == ["d", "b", "a", "c"]


def test_without_rows_there_is_still_a_report():
    empty = replace(SAMPLE, rows=[], comparisons=[], at_recall=[], pictures=[])
    assert terminal_tables(empty) == []
    assert "41 recordings" in write_markdown(empty)


def test_the_reference_is_named_and_not_compared_with_itself():
    table = markdown_tables(write_markdown(SAMPLE))[0]
    assert next(line for line in table if line[0] == REFERENCE)[7] == "–"
    assert f"The reference is {REFERENCE}." in write_markdown(SAMPLE)


def test_a_table_by_project_stands_where_there_are_several():
    there = {
        "a|b": ProjectFigures(2, 7, 0.5, 0.9, {SAMPLE.prices: 0.25}),
        "c": ProjectFigures(1, 0, None, 1.0, {}),
    }
    rows = [replace(row, by_project=there) for row in SAMPLE.rows]
    several = write_markdown(replace(SAMPLE, rows=rows))
    found = [t for t in markdown_tables(several) if t[0][1] == "a\\|b (7)"]
    assert len(found) == len(BUDGETS)
    assert found[0][2][1:] == ["0.50 @ 0.25", "– @ –"]
    assert "By project: hard recall and dollars" in write_html(replace(SAMPLE, rows=rows))
    single = replace(SAMPLE, rows=[replace(row, by_project={"c": there["c"]}) for row in SAMPLE.rows])
    assert "By project" not in write_markdown(single)
