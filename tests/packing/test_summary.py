"""The summary layer under overflow: a sentence a line."""

import pytest

from holdfast.events import Compacted
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.renditions import Scene
from holdfast.packing.summary import summary_messages
from holdfast.views import Transcript
from support.driving import counter
from support.logs import chained


def shortened(text, sentences=1):
    transcript = Transcript(chained([Compacted("archive", text)]))
    (message,) = summary_messages(Scene(BUILT_IN["code"], counter()), transcript, sentences)
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
