"""Forms of a summary: what each looks like, that it reads back what it wrote, and its limits."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summary_samples import DIRECTIVES, ERROR, FACTS, GOAL, PAIR_FACTS, contents, facts, forms, has_kinds

from holdfast.compaction.check import normalize, plain_text_of
from holdfast.compaction.facts.fact import CommandFact, Fact, FileFact, LogFacts
from holdfast.compaction.forms import FORMS
from holdfast.compaction.forms.content import SummaryContent
from holdfast.compaction.forms.nested_json import value_of
from holdfast.events import SummaryLine
from holdfast.packing.profile import BUILT_IN

EVERY = [pytest.param(form, id=name) for name, form in FORMS.items()]
PINNED = Path(__file__).with_name("rendered_forms.txt")
BOTH = [pytest.param(False, id="state"), pytest.param(True, id="archive")]


def test_every_form_renders_and_instructs_as_pinned():
    """Rendered summaries are stored in logs and shown in packs: their bytes may not change by accident."""
    parts = []
    for name, form in FORMS.items():
        for slot, known, archive in (
            ("state", FACTS, False),
            ("archive", FACTS, True),
            ("state of a pair", PAIR_FACTS, False),
        ):
            text = form.render(form.fill(known, archive=archive), archive=archive)
            parts.append(f"=== {name}, {slot}\n{text}\n")
        parts.append(f"=== {name}, instructions\n{form.instructions()}\n")
    assert "".join(parts) == PINNED.read_text("utf-8")


def test_every_form_that_a_profile_names_exists():
    assert {profile.summary_form for profile in BUILT_IN.values()} <= set(FORMS)


def test_six_lines_has_the_names_of_the_design_on_seven_or_eight_lines():
    form = FORMS["six_lines"]
    rows = form.render(form.fill(FACTS, archive=False)).split("\n")
    assert rows[0] == "[Current State]"
    assert [row.split(":")[0] for row in rows[1:] if row.startswith("- ")] == [
        "- Overall Goal",
        "- Current Plan & Progress",
        "- Environment / Files",
        "- Key Knowledge / Insights",
        "- Recent Actions",
        "- Left-off Point",
    ]
    assert rows[3] == (
        "- Environment / Files: src/parser.py (modified), tests/test_parser.py (created), "
        "tools/checker_empty.py (modified), src/lexer.py (read 1-80), "
        "scenarios/parser/execution_outputs/iteration_12, a91f3c7e02b4"
    )
    assert rows[6] == "  Last test run failed: `pytest -q`: “2 failed, 311 passed in 3.27s”"
    assert len(rows) == 8


@pytest.mark.slow
@given(contents(FORMS["six_lines"]))
def test_six_lines_never_has_more_lines_whatever_it_says(content):
    rows = FORMS["six_lines"].render(content).split("\n")
    assert len(rows) <= 8
    assert sum(row.startswith("- ") for row in rows) <= 6


def test_five_sections_has_the_headings_of_the_design_in_their_order():
    form = FORMS["five_sections"]
    text = form.render(form.fill(FACTS, archive=False))
    assert [row for row in text.split("\n") if row.startswith("## ")] == [
        "## Objectives & Status",
        "## Technical Context",
        "## Completed Milestones",
        "## Key Insights & Decisions",
        "## File System State",
    ]
    assert (
        "- First request: “Make the parser accept empty input.\n  > Keep it as fast as it is:\n  >     parse"
        in text
    )


@pytest.mark.parametrize("form", EVERY)
def test_an_archive_holds_completed_work_only(form):
    text = form.render(form.fill(FACTS, archive=True), archive=True)
    assert ERROR not in text
    assert "Shall I change" not in text
    assert "docs/usage.md" not in text
    assert "2 failed" not in text
    assert "src/parser.py (modified)" in text


def test_a_review_with_nothing_to_say_takes_no_message():
    form = FORMS["conclusions"]
    assert form.render(form.fill(LogFacts(), archive=False)) == ""
    assert form.render(form.fill(FACTS, archive=False)).count("\n## ") == 3


INIT_KEYS = {
    "current_design_summary": {
        "unified_scenario_design",
        "business_rules_key_points",
        "format_specifications",
    },
    "execute_feedback_summary": {"execution_output_dir", "total_failure_samples", "layer1_problems_summary"},
    "analysis_conclusions": None,
    "pending_actions": None,
    "key_paths": {"execution_output_dir", "layer1_problems_report", "other"},
}
EXECUTE_KEYS = {
    "generated_components": {"tools", "checkers", "samples"},
    "evaluation_progress": {"current_iteration", "success_rate", "layer_status"},
    "identified_issues": {"layer2_problems", "layer3_problems", "fix_attempts"},
    "pending_work": None,
    "key_paths": {"execution_output_dir", "other"},
}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        pytest.param("init_json", INIT_KEYS, id="init"),
        pytest.param("execute_json", EXECUTE_KEYS, id="execute"),
    ],
)
@pytest.mark.parametrize(
    "given_facts", [pytest.param(FACTS, id="full"), pytest.param(LogFacts(), id="empty")]
)
def test_json_forms_have_every_key_of_the_design_in_their_tags(name, keys, given_facts):
    form = FORMS[name]
    text = form.render(form.fill(given_facts, archive=False))
    assert text.startswith("<compact_summary>\n{")
    assert text.endswith("}\n</compact_summary>")
    value = msgspec.json.decode(text.removeprefix("<compact_summary>").removesuffix("</compact_summary>"))
    assert value.keys() == keys.keys()
    for key, inner in keys.items():
        assert inner is None or value[key].keys() == inner


def test_a_question_to_the_user_stays_among_what_is_pending():
    for name, key in (("init_json", "pending_actions"), ("execute_json", "pending_work")):
        pending = value_of(FORMS[name].fields, FORMS[name].fill(FACTS, archive=False))[key]
        wanted = (
            "Awaits a decision of the user: The parser is done. Shall I change the lexer's public signature?"
        )
        assert wanted in pending


def test_execute_json_reads_iteration_rate_and_components_off_the_facts():
    value = value_of(FORMS["execute_json"].fields, FORMS["execute_json"].fill(FACTS, archive=False))
    assert value["evaluation_progress"]["current_iteration"] == 12
    assert value["evaluation_progress"]["success_rate"] == "311/313 (99%)"
    assert value["generated_components"]["checkers"] == ["tools/checker_empty.py (modified)"]
    assert value["key_paths"]["execution_output_dir"] == "scenarios/parser/execution_outputs/iteration_12"


@pytest.mark.slow
@pytest.mark.parametrize("form", EVERY)
@pytest.mark.parametrize("archive", BOTH)
@given(facts=facts)
@settings(max_examples=10)
def test_the_rule_half_has_the_kinds_of_its_fields_and_keeps_what_may_not_be_cut(form, archive, facts):
    content = form.fill(facts, archive=archive)
    assert list(content.fields) == [field.name for field in form.fields]
    assert has_kinds(form, content)
    said = plain_text_of(content.lines())
    kept = [*facts.directives, *(fact for fact in (facts.goal, facts.latest) if fact)]
    for fact in [*kept, *(() if archive else facts.errors)]:
        assert normalize(fact.text) in said


@pytest.mark.parametrize("form", EVERY)
@pytest.mark.parametrize("archive", BOTH)
def test_instructions_name_every_required_field_and_the_slot(form, archive):
    told = form.instructions(archive=archive)
    assert all(field.name in told for field in form.fields if field.is_required)
    assert ("only what is completed" in told) == archive


@pytest.mark.slow
@given(st.data())
@settings(max_examples=150)
def test_what_a_form_renders_it_reads_back(data):
    form = data.draw(forms)
    text = form.render(data.draw(contents(form)))
    read, _ = form.parse(text)
    assert form.render(read) == text
    assert has_kinds(form, read)


def many(count):
    return LogFacts(
        goal=Fact("Do it. " * 300, ("g",)),
        directives=tuple(Fact(f"Never touch part {n} of it", (f"d{n}",)) for n in range(count)),
        files=(
            *(FileFact(f"src/changed_{n}.py", "modified", (f"m{n}",)) for n in range(count)),
            *(FileFact(f"lib/read_{n}.py", "read", (f"r{n}",)) for n in range(count)),
        ),
        commands=tuple(CommandFact(f"run {n}", 0, False, (f"c{n}",)) for n in range(count)),
        errors=tuple(Fact(f"Error number {n}: " + "x" * 80, (f"e{n}",)) for n in range(count)),
        decisions=tuple(Fact(f"decision {n}", (f"p{n}",)) for n in range(count)),
        keys=tuple(Fact(f"key-{n}", (f"k{n}",)) for n in range(count)),
    )


@pytest.mark.parametrize("form", EVERY)
def test_long_lists_are_cut_to_the_newest_and_counted_but_never_what_must_stay(form):
    long = many(200)
    content = form.fill(long, archive=False)
    text = form.render(content)
    assert normalize("Do it. " * 300) in plain_text_of(content.lines())
    for fact in (*long.directives, *long.errors):
        assert fact.text in text
    for file in long.files[:200]:
        assert file.path in text
    shown = [n for n in range(200) if f"lib/read_{n}.py" in text]
    assert shown == list(range(200))[-len(shown) :] if shown else "200 files read" in text
    assert f"… and {200 - len(shown)} more files read" in text or not shown
    assert len(shown) <= 60


@pytest.mark.parametrize("form", EVERY)
def test_the_lines_that_count_what_was_left_out_lead_to_it(form):
    counts = [line for line in form.fill(many(200), archive=False).lines() if " files read" in line.text]
    assert counts
    assert all(source.startswith("r") for line in counts for source in line.sources)
    assert all(line.sources for line in counts)


def test_every_line_of_the_rule_half_names_its_entries():
    for form in FORMS.values():
        assert all(line.sources and line.by == "rule" for line in form.fill(FACTS, archive=False).lines())


def test_directives_and_goal_stand_verbatim_in_every_form():
    for form in FORMS.values():
        said = plain_text_of(form.fill(FACTS, archive=True).lines())
        assert all(normalize(text) in said for text in (*DIRECTIVES, GOAL))


@pytest.mark.parametrize("form", EVERY)
def test_a_field_that_says_nothing_is_left_out(form):
    if form.layout == "json":
        return
    name = form.fields[1].name
    text = form.render(
        SummaryContent({form.fields[0].name: (SummaryLine("x"),), name: (SummaryLine("N/A"),)})
    )
    assert "none" not in text.lower()
    assert name not in text
    read, problems = form.parse(text)
    assert [line.text for line in read.lines()] == ["x"]
    assert problems == ()


@pytest.mark.parametrize("name", ["six_lines", "five_sections", "conclusions"])
def test_an_archive_and_the_state_of_the_work_have_different_titles(name):
    form = FORMS[name]
    state, archive = (form.render(form.fill(FACTS, archive=one), archive=one) for one in (False, True))
    assert state.split("\n")[0] != archive.split("\n")[0]
    assert form.parse(archive)[0].lines()


def test_milestones_are_ticked_off_and_read_without_the_tick():
    form = FORMS["five_sections"]
    text = form.render(SummaryContent({"Completed Milestones": (SummaryLine("the parser"),)}), archive=True)
    assert text == "# Archived Session Summary\n\n## Completed Milestones\n- [✓] the parser"
    assert [line.text for line in form.parse(text)[0].lines()] == ["the parser"]
