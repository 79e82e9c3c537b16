"""Credit: text that says what the source said earns it, bare tokens do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.lab.evidence.credit import NeedScorer
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, find_needs
from holdfast.lab.scored_message import read_message
from support.evidence import NOTHING_KNOWN, called, history_of, needs_of, read, result, spans, user

LINE = "the loader calls parse_settings before open_database and close_files"
ASKED = user(f"first\n{LINE}\nlast")
GREP = called("c9", "Grep", pattern="parse_settings")


def supported(pack_text: str) -> bool:
    (held,) = spans(GREP, [ASKED], [user(pack_text)]).values()
    return held


@pytest.mark.parametrize(
    "text",
    [LINE, f"12: {LINE}", "the loader calls parse_settings before open_database", f"noted: {LINE} (c1)"],
    ids=["verbatim", "listed", "half of the others", "quoted"],
)
def test_a_line_that_holds_the_name_in_its_company_supports_it(text):
    assert supported(text)


@pytest.mark.parametrize(
    "text",
    [
        "parse_settings",
        "something else about parse_settings",
        "parse_settings open_database close_files",
        "parse_settings\nopen_database\nclose_files",
        "the loader calls before and",
        "",
    ],
    ids=["bare", "other words", "names without words", "one a line", "words without the name", "nothing"],
)
def test_a_line_without_its_company_does_not(text):
    assert not supported(text)


def test_overlap_is_a_number_of_the_measure():
    text = [user("the loader calls parse_settings before open_database")]
    assert spans(GREP, [ASKED], text, replace(DEFAULT_MEASURE, overlap=0.5))["parse_settings"]
    assert not spans(GREP, [ASKED], text, replace(DEFAULT_MEASURE, overlap=1.0))["parse_settings"]


def test_a_line_need_wants_its_line_verbatim():
    action = called("c9", "Edit", old_string=LINE)
    assert spans(action, [ASKED], [user(f"x\n  {LINE}  \ny")]) == {LINE: True}
    assert spans(action, [ASKED], [user(LINE.replace("before", "after"))]) == {LINE: False}


def test_arguments_of_calls_in_a_pack_are_read_by_value():
    action = called("c9", "Edit", old_string=LINE)
    assert spans(action, [ASKED], [called("c1", "Write", content=f"a\n{LINE}\nb")]) == {LINE: True}


LISTING = "\n".join(f"src/app/module_{i}.py" for i in range(6))
OPEN = called("c9", "Read", file_path="src/app/module_3.py")


@pytest.mark.parametrize(
    ("pack", "held"),
    [
        (LISTING, True),
        ("src/app/module_2.py\nsrc/app/module_3.py", True),
        ("Glob src/**: src/app/module_3.py, src/app/module_4.py", True),
        ("src/app/module_3.py", False),
        ("error_17\nsrc/app/module_3.py\nother_name", False),
        (LISTING.replace("\n", " "), False),
        (f"names seen: {LISTING} {' '.join(f'other_{i}' for i in range(40))}".replace("\n", " "), False),
    ],
    ids=["whole", "with a neighbour", "in words", "bare", "among others", "bare row", "crowd"],
)
def test_a_lone_name_needs_a_neighbour_of_then(pack, held):
    assert spans(OPEN, [result("c1", LISTING)], [user(pack)]) == {"src/app/module_3.py": held}


def test_a_name_that_was_all_of_a_result_may_stand_alone_again():
    action = called("c9", "Bash", command="git show 1a2b3c4d5e")
    before = [called("c1", "Bash", command="git rev-parse HEAD"), result("c1", "1a2b3c4d5e")]
    assert spans(action, before, [result("c1", "1a2b3c4d5e")])["1a2b3c4d5e"]
    assert not spans(action, before, [user("names:\n1a2b3c4d5e\nother_name")])["1a2b3c4d5e"]


def test_a_source_of_names_alone_is_not_supported_by_a_long_list():
    before = [result("c1", "first_name(second_name)")]
    action = called("c9", "Grep", pattern="first_name")
    assert spans(action, before, [user("- first_name(second_name)")])["first_name"]
    many = " ".join(["first_name", "second_name", *(f"other_{i}" for i in range(20))])
    assert not spans(action, before, [user(many)])["first_name"]


def test_a_stale_copy_in_the_pack_supports_nothing():
    read_it = [called("c1", "Read", file_path="a_file.py"), result("c1", LINE)]
    edited = [
        called("c2", "Edit", file_path="a_file.py", old_string="x", new_string="y"),
        result("c2", "done"),
    ]
    again = [called("c3", "Read", file_path="a_file.py"), result("c3", LINE)]
    action = called("c9", "Edit", file_path="b_file.py", old_string=LINE)
    before = [*read_it, *edited, *again]
    assert spans(action, before, [*read_it, *edited]) == {LINE: False}
    assert spans(action, before, again) == {LINE: True}


def test_the_content_of_a_write_is_a_copy_too():
    wrote = [called("c1", "Write", file_path="a_file.py", content=LINE), result("c1", "created")]
    edited = [
        called("c2", "Edit", file_path="a_file.py", old_string="x", new_string="y"),
        result("c2", "done"),
    ]
    action = called("c9", "Edit", file_path="b_file.py", old_string=LINE)
    assert spans(action, wrote, wrote) == {LINE: True}
    assert LINE not in [need.text for need in needs_of(action, *wrote, *edited)]


def followed(pack: str, texts: dict[str, str]):
    before = [called("c1", "Read", file_path="src/settings.py"), result("c1", f"one\n{LINE}\ntwo")]
    history = history_of(*before)
    credit = NeedScorer(history.messages, history.files, DEFAULT_MEASURE)
    (need,) = needs_of(GREP, *before)
    return credit.reference(need, read(user(pack)), texts.get)


def test_a_stub_with_the_key_and_an_id_that_leads_to_the_span_is_a_reference():
    stub = "[Read src/settings.py: 3 lines, a0123; Recall(a0123)]"
    assert followed(stub, {"a0123": f"one\n{LINE}\ntwo"}) == ("a0123", f"one\n{LINE}\ntwo")
    assert followed(stub, {"a0123": "something else"}) is None
    assert followed(stub, {}) is None


def test_one_id_for_everything_is_no_reference():
    assert followed("[everything else: u0]", {"u0": LINE}) is None


def test_presence_is_only_a_diagnosis():
    history = history_of(ASKED)
    credit = NeedScorer(history.messages, history.files, DEFAULT_MEASURE)
    (need,) = needs_of(GREP, ASKED)
    assert credit.presence(need, read(user("parse_settings")))
    assert not credit.span(need, read(user("parse_settings")))


words = st.sampled_from(
    ["alpha_one", "src/beta/two.py", "GammaThree", "plain", "words", "here", "1234567", "x = y(z)", ""]
)
texts = st.lists(st.lists(words, max_size=5).map(" ".join), max_size=6).map("\n".join)


@st.composite
def histories(draw):
    messages = []
    for i in range(draw(st.integers(1, 8))):
        tool = draw(st.sampled_from(["Read", "Write", "Edit", "Bash"]))
        path = draw(st.sampled_from(["src/beta/two.py", "other_file.txt"]))
        messages += [
            user(draw(texts)),
            called(f"c{i}", tool, file_path=path, content=draw(texts), command=draw(texts)),
            result(f"c{i}", draw(texts)),
        ]
    return messages


@pytest.mark.slow
@given(histories(), texts)
def test_everything_supports_every_need(messages, value):
    """By construction: a need exists only if sending everything supports it."""
    history = history_of(*messages)
    credit = NeedScorer(history.messages, history.files, DEFAULT_MEASURE)
    action = read_message(called("action", "Edit", file_path="src/beta/two.py", old_string=value))
    everything = read(*messages)
    for need in find_needs(action, history, NOTHING_KNOWN, DEFAULT_MEASURE):
        assert credit.span(need, everything), need
        assert credit.presence(need, everything), need
