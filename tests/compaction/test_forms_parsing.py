"""Reading what models write: fences, prose, other headings and bullets, broken JSON; and never a failure."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summary_samples import forms, has_kinds, model_texts, texts

from holdfast.compaction.forms import FORMS
from holdfast.compaction.forms.nested_json import JsonReader

EVERY = [pytest.param(form, id=name) for name, form in FORMS.items()]


def said(name, text):
    """Fields that say something, as plain texts."""
    content, _ = FORMS[name].parse(text)
    assert all(line.by == "model" and line.sources == () for line in content.lines())
    return {field: [line.text for line in lines] for field, lines in content.fields.items() if lines}


def problems(name, text):
    return [problem.what for problem in FORMS[name].parse(text)[1]]


@pytest.mark.slow
@given(st.data())
@settings(max_examples=150)
def test_any_text_can_be_read_and_what_is_read_can_be_rendered(data):
    form = data.draw(forms)
    content, found = form.parse(data.draw(model_texts(form) | texts | st.text()))
    assert set(content.fields) <= {field.name for field in form.fields}
    assert all(problem.what for problem in found)
    assert has_kinds(form, content)
    text = form.render(content)
    assert form.render(form.parse(text)[0]) == text


@pytest.mark.parametrize("form", EVERY)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        "{" * 5_000,
        "[" * 5_000,
        '{"a":' * 5_000,
        "- " * 5_000,
        "\ud800",
        '"' * 5_000,
    ],
    ids=["empty", "refusal", "braces", "brackets", "deep", "bullets", "surrogate", "quotes"],
)
def test_a_text_without_the_form_is_a_problem_and_no_content(form, text):
    content, found = form.parse(text)
    assert not content.lines()
    assert found


@pytest.mark.parametrize(
    "layout",
    [
        "## Technical Context\n- Python\n- uses uv\n",
        "## technical context\n* Python\n* uses uv\n",
        "### 2. Technical  Context:\n1. Python\n2. uses uv\n",
        "**Technical Context**\n• Python\n• uses uv\n",
        "Technical Context:\nPython\nuses uv\n",
        "## ⚙️ TECHNICAL CONTEXT\n\n– Python\n\n– uses uv\n",
        "```markdown\n## Technical Context\n- Python\n- uses uv\n```\n",
        "Here is the summary.\n\n## Technical Context\n+ Python\n+ uses\n  uv\n",
        "<summary>\n## Technical Context\n  - Python\n  - uses uv\n</summary>",
        "- **Technical Context**: Python\n- uses uv",
        "<think>\n## Technical Context\n- wrong\n</think>\n## Technical Context\n① Python\n② uses uv",
        "    ## Technical Context\n    - Python\n    - uses uv",
        "## 技术背景\n（1）Python\n（2）uses uv",
    ],
)
def test_sections_are_found_however_they_are_laid_out(layout):
    assert said("five_sections", layout) == {"Technical Context": ["Python", "uses uv"]}


def test_sections_may_stand_in_any_order_and_too_many_are_reported():
    text = "## File System State\n- a.py\n## Next Steps\n- rest\n## Objectives and Status\n- goal\n### Part\n- more"
    assert said("five_sections", text) == {
        "Objectives & Status": ["goal", "more"],
        "File System State": ["a.py"],
    }
    assert problems("five_sections", text) == ["the form has no section “Next Steps”"]
    assert list(FORMS["five_sections"].parse(text)[0].fields) == ["Objectives & Status", "File System State"]
    assert problems("five_sections", "## Technical Context\n- a\n## Technical Context\n- b") == [
        "the section occurs twice"
    ]


def test_what_is_quoted_below_a_bullet_belongs_to_it():
    assert said("five_sections", "## Technical Context\n- a\n  > b\n  >\n  >   c\n- d") == {
        "Technical Context": ["a\nb\n\n  c", "d"]
    }


@pytest.mark.parametrize(
    "text",
    [
        "[History Summary]\n- Overall Goal: fix it; now ship it\n- Environment / Files: a.py, b.py\n",
        "Sure!\n```\n[History Summary]\n* **Overall Goal**: fix it; now ship it\n* **Files**: a.py, b.py\n```",
        "1. Overall Goal：fix it; now ship it\n2. Environment / Files：\n   - a.py\n   - b.py",
        "environment/files: a.py, b.py\noverall goal: fix it;\n  now ship it",
        "  [history summary]\n  - OVERALL GOAL: fix it; now ship it\n  - Files: a.py\n    b.py\n\nHope this helps!",
        "- 总体目标：fix it; now ship it\n- 文件：a.py, b.py",
    ],
)
def test_six_lines_are_found_however_they_are_laid_out(text):
    found = said("six_lines", text)
    assert found["Environment / Files"] == ["a.py", "b.py"]
    assert " ".join(found["Overall Goal"]).replace(";;", ";") == "fix it; now ship it"


def test_a_seventh_field_is_reported_and_not_taken_for_part_of_another():
    text = "- Recent Actions: ran tests\n- Next Steps: rest\n- Left-off Point: here\n- Left-off Point: there"
    assert said("six_lines", text) == {"Recent Actions": ["ran tests"], "Left-off Point": ["here; there"]}
    assert problems("six_lines", text) == ["the form has no field “Next Steps”", "the field occurs twice"]


def test_recent_actions_may_have_two_lines():
    found = said("six_lines", "- Recent Actions: ran tests; edited a.py\n  2 failed\n- Left-off Point: none")
    assert found == {"Recent Actions": ["ran tests; edited a.py", "2 failed"]}


def pending(text):
    return said("execute_json", text).get("pending_work")


@pytest.mark.parametrize(
    "text",
    [
        '{"pending_work": ["a", "b"]}',
        'Sure.\n<compact_summary>{"pending_work": ["a", "b"]}</compact_summary> {"pending_work": ["no"]}',
        '```json\n{"pending_work": ["a", "b"],}\n```',
        '{"pending_work": ["a", "b"',
        '{"pending_work": ["a", "b',
        "{“pending_work”：[“a”，“b”]}",
        '{"summary": {"pending_work": ["a", "b"]}}',
        '{"pending_work": "a", "pending_work": "b"}',
        '{"Pending Work": ["a", ["b"], null, ""]}',
        '{"x": {"y": {}}} and {pendingWork: ["a", "b"]}',
        '{\'x\': 1} {"pending_work": [\n // first\n "a",\n "b"\n]}',
        '<compact_summary>\n{"pending_work": ["a", "b"]\n</compact_summary>',
    ],
)
def test_json_is_found_and_read_however_broken_it_is(text):
    assert pending(text) == ["a", "b"]


def test_json_values_of_other_types_become_what_the_form_has():
    found = said(
        "execute_json",
        """{"generated_components": {"tools": {"a.py": "parses", "b.py": ["x", "y"]}, "samples": ["15", "3 kinds"]},
        "evaluation_progress": {"current_iteration": "iteration 5", "success_rate": 0.8, "layer_status": true},
        "pending_work": {"first": "rest"}, "key_paths": {"trace": "out/t.json", "execution_output_dir": null}}""",
    )
    assert found == {
        "generated_components.tools": ["a.py: parses", "b.py: x", "b.py: y"],
        "generated_components.samples": ["15; 3 kinds"],
        "evaluation_progress.current_iteration": ["5"],
        "evaluation_progress.success_rate": ["0.8"],
        "evaluation_progress.layer_status": ["true"],
        "pending_work": ["first: rest"],
        "key_paths.other": ["trace: out/t.json"],
    }


def test_json_problems_are_reported():
    text = '{"pending_work": ["a"], "pending_work": ["b"], "mood": 1, "tools": ["t"], "current_iteration": "five"'
    assert problems("execute_json", text) == [
        "the key `pending_work` occurs twice",
        "it is cut off",
        "the form has no key `mood`",
        "it is at `tools`",
        "it is at `current_iteration`",
        "`five` is not a number",
    ]


def test_a_quote_inside_a_sentence_does_not_end_a_string():
    assert pending('{"pending_work": ["say "no" to it", "b"]}') == ['say "no" to it', "b"]


json_values = st.recursive(
    st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), json_values))
@settings(max_examples=60)
def test_sound_json_is_read_as_it_is_meant(value):
    encoded = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    reading = JsonReader(encoded)
    read = reading.object(0)
    assert reading.notes == []
    assert read == _without_nulls(value)


def _without_nulls(value):
    """Nothing is kept of a null in a list."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items()}
    return value
