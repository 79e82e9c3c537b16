"""The summary layer: in as many messages as a profile allows, and under overflow a sentence a line."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.compaction.forms import FORMS
from holdfast.compaction.forms.content import SummaryContent
from holdfast.events import Compacted, SummaryLine
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.rendering.fixed_layers import summary_messages
from holdfast.packing.rendering.levels import RenderContext
from holdfast.views import Transcript
from support.logs import chained
from support.packing_runs import counter


def shortened(text, sentences=1):
    transcript = Transcript(chained([Compacted("archive", text)]))
    (message,) = summary_messages(
        RenderContext(BUILT_IN["code"], counter()), transcript.compactions, sentences
    )
    return message.text


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("Fixed src/app/main.py in v1.2", "Fixed src/app/main.py in v1.2"),
        ("Fixed src/app/main.py in v1.2. Then rested.", "Fixed src/app/main.py in v1.2."),
        ("Is it done?  Yes!", "Is it done?"),
        ("Done! Really", "Done!"),
        ("修复了 a.py。然后测试！", "修复了 a.py。"),
        ("真的？ 是", "真的？"),
        ("1. Fixed the parser. It was slow.", "1. Fixed the parser."),
        ("  - 2) Read a.py. And b.py.", "  - 2) Read a.py."),
        ("- no stop", "- no stop"),
        ("See e.g.the docs", "See e.g.the docs"),
        ("", ""),
        ("Ends. ", "Ends."),
    ],
)
def test_a_line_is_cut_to_its_first_sentence(line, kept):
    assert shortened(f"head\n{line}\nfoot") == f"head\n{kept}\nfoot"


def test_two_sentences_keep_the_space_between_them():
    assert shortened("One. Two.  Three.", 2) == "One. Two."
    assert shortened("一。二。三。", 2) == "一。二。"


def test_without_pressure_a_summary_stays_as_it_was_written():
    assert shortened("One. Two. Three.", 0) == "One. Two. Three."


def layer(profile, *events, sentences=0):
    return summary_messages(
        RenderContext(profile, counter()), Transcript(chained(events)).compactions, sentences
    )


@given(st.lists(st.text('ab."\\ \n<>/{}。', max_size=30), min_size=1, max_size=4))
@pytest.mark.parametrize("name", ["init_json", "execute_json"])
def test_json_stays_json_with_a_sentence_a_line_of_each_string(name, texts):
    form = FORMS[name]
    field = next(field for field in form.fields if field.kind == "list")
    lines = (
        SummaryLine("First here. Then there."),
        SummaryLine("</compact_summary> is a tag."),
        *map(SummaryLine, texts),
    )
    text = form.render(SummaryContent({field.name: lines}))
    profile = BUILT_IN[name.removesuffix("_json")]
    _, answer = layer(profile, Compacted("state", text), sentences=1)
    opening, body, closing = answer.text.partition("\n")[0], answer.text[18:-19], answer.text[-18:]
    assert (opening, closing) == ("<compact_summary>", "</compact_summary>")
    assert "compact_summary>" not in body.replace("\\u003c/compact_summary>", "")
    value = msgspec.json.decode(body)
    for key in field.name.split("."):
        value = value[key]
    assert value[:2] == ["First here.", "</compact_summary> is a tag."]


def test_what_only_looks_like_json_is_cut_by_lines():
    (message,) = layer(BUILT_IN["code"], Compacted("archive", "<a>\n{One. Two.}\n</a>"), sentences=1)
    assert message.text == "<a>\n{One.\n</a>"


@pytest.mark.parametrize("most", [0, 1, 2, 3])
@pytest.mark.parametrize("with_state", [False, True])
def test_archive_and_state_keep_to_the_number_of_messages(most, with_state):
    profile = replace(BUILT_IN["review"], summary_messages=most)
    archive = [f"archived {n}" for n in range(4)]
    events = [Compacted("archive", text) for text in archive]
    if with_state:
        events.append(Compacted("state", "the state"))
    messages = layer(profile, *events)
    assert len(messages) <= (most or len(events))
    joined = "\n".join(message.text for message in messages)
    assert [joined.index(text) for text in archive] == sorted(joined.index(text) for text in archive)
    if with_state:
        assert messages[-1].text.endswith("the state")
        assert most == 1 or messages[-1].text == "the state"


def test_a_summary_that_says_nothing_is_no_message():
    """Providers refuse an empty one; the form of `review` may have nothing to say."""
    assert layer(BUILT_IN["review"], Compacted("archive", " \n"), Compacted("state", "")) == ()
    (message,) = layer(BUILT_IN["review"], Compacted("archive", "done"), Compacted("state", ""))
    assert message.text == "done"
