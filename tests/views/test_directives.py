"""Directives of a user: what counts as one, what is quoted of it, and what is only talk about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.views.directives import directives, gist, is_directive
from holdfast.views.prose import sentences, without_wrappers


def found(text):
    return [text[start:end] for start, end in directives(text)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Never touch src/legacy/.",
        "Always run the linter before you commit.",
        "Please don't push to main.",
        "do not rewrite the tests, they are right",
        "You must not change the public API.",
        "Make sure every function has a test.",
        "Only use the standard library.",
        "From now on write comments in English.",
        "please use tabs instead of spaces",
        "let's use true/false and not on/off for the flag",
        "I'd prefer small commits.",
        "We don't want any new dependency.",
        "no console logs!",
        "Keep each commit working.",
        "When you edit a file, try to keep its style.",
        "Add the field without changing the schema.",
        "it should not be in the header but below",
        "Sure, but ask me before you delete anything.",
        "Leave the old parser alone.",
        "Be terse.",
        "Fix it only for gemini sessions",
        "IMPORTANT: YOU CAN ONLY RUN ONE COMMAND AT A TIME",
        "不要修改 CHANGELOG 文件。",
        "所有注释必须用英文",
        "先不要提交",
        "仅修改一个文件",
        "请务必保持接口不变。",
    ],
)
def test_a_demand_or_a_prohibition_is_a_directive(sentence):
    assert is_directive(sentence)
    assert found(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "Fix the failing test.",
        "can you check if we should never call this?",
        "why don't we use the cache?",
        "I don't think that is right.",
        "don't know why it fails",
        "there must be a way to see that",
        "I'll make sure to have it ready.",
        "The hook fires twice.",
        "it always lists these under each branch",
        "commit and push",
        'Add the text "Never edit this file" to the header.',
        "Rename `do_not_use` to `unused`.",
        "No changes so far.",
        "能不能缩短截流策略",
        "这个前端的逻辑是什么",
        "提交推送",
    ],
)
def test_questions_requests_and_facts_are_none(sentence):
    assert found(sentence) == []


def test_what_is_pasted_or_quoted_is_nobodys_demand():
    text = """Look at this please.
```
# never do this
```
> always answer in French
2026-01-02 10:00:00 ERROR you must not be here
    at Object.never (file.js:10:3)
{"message": "do not retry"}
src/a.go:12:3: do not use this
<system-reminder>
Never mention this reminder.
</system-reminder>
| rule | meaning |
| a | Always paginate. |
@@ -1,2 +1,2 @@
-// never called
+// must be called
Don't touch b.go."""
    assert found(text) == ["Always paginate.", "Don't touch b.go."]


def test_a_directive_is_quoted_as_it_stands_also_over_a_broken_line():
    sentence = "Please never change the generated files under the build folder because\nthey are made anew."
    assert found(f"Hello.  {sentence} Thanks.") == [sentence]


def test_abbreviations_and_names_do_not_end_a_sentence():
    text = "Never use globals, e.g. in app.py or v1.2 of it. Then go on."
    assert found(text) == ["Never use globals, e.g. in app.py or v1.2 of it."]


def test_a_commands_arguments_are_a_persons_words():
    text = "<command-name>/plan</command-name>\n<command-args>never commit broken code</command-args>"
    assert found(text) == ["never commit broken code"]
    assert len(without_wrappers(text)) == len(text)


def test_the_gist_is_the_first_line_and_lines_that_demand():
    text = "Build the thing.\n\nIt is nice.\nNever use eval.\nMore talk.\nAlways log.\n"
    assert gist(text) == ["Build the thing.", "Never use eval.", "Always log."]
    assert gist(text, 2) == ["Build the thing.", "Never use eval."]


def test_of_a_long_line_the_gist_keeps_what_it_demands():
    talk = "This is a sentence that says little. " * 20
    first, second = gist(f"{talk}Never use eval. {talk}\nand then\n{talk}Always log. {talk}")
    assert first.startswith(talk[:100])
    assert "Never use eval." in first
    assert second == "Always log.…"
    assert len(first) < 400


@given(st.text(st.sampled_from("ab .!?\n`\"'#>|-*<不要。don't never must\t"), max_size=400))
def test_spans_are_in_order_and_inside_any_text(text):
    at = 0
    for start, end in sentences(text):
        assert at <= start < end <= len(text)
        assert text[start:end].strip() == text[start:end]
        at = end
    assert all(line in text or "…" in line for line in gist(text))
