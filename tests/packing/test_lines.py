"""Which lines a fold keeps: the best of the whole log, each name once, byte for byte."""

from math import log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.packing.lines.features import (
    FIXED_LINE,
    FIXED_NAME,
    LINE_FEATURES,
    MOVING_LINE,
    NAME_FEATURES,
    VERSION,
    LineRater,
    facts_of_lines,
    fixed_line_features,
    fixed_name_features,
    line_facts,
    line_key,
    names_in,
    rate_name,
)
from holdfast.packing.lines.line_index import LogLineIndex
from holdfast.packing.lines.scoring import (
    LEAST_ROOM,
    LineChooser,
    LineScores,
    candidate_lines,
    shown_in,
)
from holdfast.packing.lines.weights import (
    HAND_WEIGHTS,
    Weights,
    built_in_weights,
    dot,
    read_weights,
    weight_vectors,
)
from holdfast.packing.profile import CODE
from holdfast.views.transcript import Transcript
from support.logs import chained, result, step, user
from support.packing_runs import pack_each_request


class PlainPrices:
    def line(self, _source, text):
        return len(text) // 4 + 1

    def heading(self, _source):
        return 4


def everything(_source):
    return True


def line_index_of(events, weights=HAND_WEIGHTS):
    found = LogLineIndex(weight_vectors(weights))
    for item in Transcript(chained(events)).items:
        found.note(item)
    return found


def taken(events, room, view=()):
    chooser = LineChooser(line_index_of(events), everything, shown_in(view), PlainPrices())
    chooser.take(room)
    return [line.text for line in chooser.taken]


def reads(*texts, path="src/app.py"):
    return [
        event
        for at, text in enumerate(texts)
        for event in (step("", (f"c{at}", "Read", {"file_path": path})), result(f"c{at}", text))
    ]


def test_names_have_a_shape_that_prose_has_not():
    found = names_in("see src/app/main.py, load_settings and HTTPServer in version 1.24.0 but not words")
    assert set(found) == {"src/app/main.py", "main.py", "load_settings", "HTTPServer", "1.24.0"}


def test_a_name_alone_in_its_line_is_lone():
    assert line_facts("src/app/main.py").is_lone
    assert not line_facts("edited src/app/main.py").is_lone


def test_each_name_pays_once():
    same = [f"the path src/app/settings.py is named in row number {i}" for i in range(40)]
    other = "another one is src/app/handlers.py in this row"
    kept = taken(reads("\n".join([*same, other])), 40)
    assert other in kept, "lines with a name that is covered do not crowd out the rest"


def test_what_stands_on_view_is_not_kept_again():
    line = "def load_settings(path: Path) -> Settings:"
    assert line in taken(reads(line), 60)
    assert line not in taken(reads(line), 60, view=[line])


def test_a_line_is_kept_where_it_stands_newest():
    line = "raise SettingsError(path_of_settings, section)"
    found = line_index_of(reads(f"1→{line}", f"7→{line}"))
    chooser = LineChooser(found, everything, shown_in(()), PlainPrices())
    chooser.take(200)
    kept = [one.text for one in chooser.taken]
    assert [text for text in kept if line in text] == [f"7→{line}"]


def test_the_lines_of_a_wrapper_are_never_kept():
    wrapper = ["Chunk ID: 7e55c6", "Wall time: 0.0520 seconds", "Process exited with code 1", "Output:"]
    text = "\n".join([*wrapper, "error in load_settings of src/app/main.py", "and in settings_loader too"])
    events = [step("", ("c", "exec_command", {"cmd": "make check_settings"})), result("c", text)]
    kept = taken(events, 500)
    assert "error in load_settings of src/app/main.py" in kept
    assert not set(wrapper) & set(kept)
    (line,) = [line for line in line_index_of(events).lines if line.text.startswith("error")]
    assert line.number == len(wrapper), "lines keep their numbers, so that Recall finds them"


def test_more_room_never_loses_a_line():
    texts = reads("\n".join(f"value_{i} = compute_{i}(source_{i % 7})" for i in range(60)))
    small = LineChooser(line_index_of(texts), everything, shown_in(()), PlainPrices())
    small.take(120)
    before = [(one.source.place, one.number) for one in small.taken]
    small.take(200)
    assert set(before) < {(one.source.place, one.number) for one in small.taken}


ROWS = st.lists(
    st.lists(st.sampled_from([f"name_{i}" for i in range(6)] + ["a word", "{", "x" * 20]), max_size=14).map(
        " ".join
    ),
    max_size=25,
)


@given(ROWS, st.lists(ROWS, min_size=1, max_size=3), st.integers(0, 300))
def test_each_line_taken_is_the_best_of_those_left(view, texts, room):
    """Of lines that are worth the same, the newest."""
    found = line_index_of(reads(*map("\n".join, texts)))
    shown = shown_in(view)
    chooser = LineChooser(found, everything, shown, PlainPrices())
    chooser.take(room)
    left = candidate_lines(found, everything, shown)
    scores, prices, best, headed = LineScores(found, left, shown.names), PlainPrices(), [], set()
    waiting = [*range(len(left))]
    while waiting and room > LEAST_ROOM:
        at = max(waiting, key=lambda at: (scores.of(at), -at))
        waiting.remove(at)
        cost = prices.line(None, left[at].text) + (0 if left[at].source in headed else prices.heading(None))
        if cost <= room:
            room -= cost
            headed.add(left[at].source)
            scores.cover(left[at])
            best.append(at)
    assert chooser.taken == [left[at] for at in sorted(best, reverse=True)]


@given(ROWS, st.lists(ROWS, max_size=3))
def test_what_is_shown_is_the_same_whether_its_lines_are_indexed_or_not(view, texts):
    text = "\n".join(view)
    assert shown_in([text], line_index_of(reads(*map("\n".join, texts), text)).lines) == shown_in([text])
    assert shown_in([text], line_index_of(reads(*map("\n".join, texts))).lines) == shown_in([text])


@pytest.mark.slow
def test_file_lines_in_a_note_are_exact_so_that_an_edit_made_from_them_applies():
    source = [f"\tresult_{i} = handle_{i}(request.part_{i})   # {'x' * (i % 5)}" for i in range(60)]
    listing = "\n".join(f"{n:6d}→{line}" for n, line in enumerate(source, 1))
    events = [user("Fix handle_3.")]
    for i in range(40):
        events += [
            step("", (f"c{i}", "Read", {"file_path": f"src/m{i}.py"})),
            result(f"c{i}", listing.replace("handle_", f"handle_{i}_")),
        ]
    quoted = 0
    for request in pack_each_request(chained(events), CODE.scaled_to(16_000)):
        for note, _ in request.window.view().notes.values():
            for line in request.window.view().excerpt(note).split("\n"):
                if "→" in line:
                    number, _, content = line.partition("→")
                    i = int(content.split("handle_")[1].split("_")[0])
                    assert content == source[int(number) - 1].replace("handle_", f"handle_{i}_")
                    quoted += 1
    assert quoted > 50


def test_the_learned_weights_name_every_feature_and_no_other():
    learned = built_in_weights("learned")
    assert set(learned.lines) == set(LINE_FEATURES)
    assert set(learned.names) == set(NAME_FEATURES)
    assert learned.about["projects"]


def test_a_name_is_known_by_the_text_that_brought_it_up_and_what_of_that_was_used():
    events = [
        *(step("", ("c1", "Grep", {"pattern": "load_all"})), result("c1", "load_settings\nload_defaults")),
        step("", ("c2", "Bash", {"command": "run load_settings load_settings"})),
    ]
    index = line_index_of(events)

    def facts(name):
        values = index.name_features(name, index.names[name])
        known = dict(zip(NAME_FEATURES[len(FIXED_NAME) :], values, strict=True))
        return {key: known[key] for key in ("last_in_search", "last_in_call", "source_used")}, known

    used, other = facts("load_settings"), facts("load_defaults")
    assert used[0] == {"last_in_search": False, "last_in_call": True, "source_used": 0.5}
    assert other[0] == {"last_in_search": True, "last_in_call": False, "source_used": 0.5}
    assert used[1]["log_brought_up"] == other[1]["log_brought_up"] == pytest.approx(log1p(2))
    assert used[1]["log_source_used"] == pytest.approx(log1p(1)), "twice in one call is one use"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{}", "holds no weights"),
        (b'{"version": 99, "lines": {}, "names": {}}', "version 99"),
        (b'{"version": %d, "lines": {"luck": 1}, "names": {}}' % VERSION, "luck"),
    ],
)
def test_a_file_that_holds_no_weights_is_refused_in_a_sentence(data, said):
    with pytest.raises(ConfigError, match=said):
        read_weights(data, "mine.json")


def test_weights_that_add_up_to_no_number_still_rank():
    heavy = Weights(
        VERSION, lines=dict.fromkeys(LINE_FEATURES, 50.0), names=dict.fromkeys(NAME_FEATURES, 50.0)
    )
    index = line_index_of(reads("def load_settings(path):\n    return read_file(path)"), heavy)
    assert LineScores(index, index.lines).of_all()


def test_features_that_older_files_weigh_are_ignored():
    old = b'{"version": 1, "lines": {"call": 1, "short": 2, "structure": 3}, "names": {}}'
    new = b'{"version": 1, "lines": {"call": 1}, "names": {}}'
    assert weight_vectors(read_weights(old, "a.json")) == weight_vectors(read_weights(new, "b.json"))


def test_other_weights_keep_other_lines():
    events = [user("go")]
    for i in range(50):
        body = "\n".join(f"plain row {i} {j} of a long listing" for j in range(30))
        events += [
            step("", (f"c{i}", "Bash", {"command": f"./run {i}"})),
            result(f"c{i}", f"{body}\ndef function_{i}(value):\n{body}"),
        ]
    profile = replace(CODE, worth="hand").scaled_to(16_000)
    by_hand = [r.pack for r in pack_each_request(chained(events), profile)][-1]
    learned = [r.pack for r in pack_each_request(chained(events), CODE.scaled_to(16_000))][-1]
    assert by_hand.messages != learned.messages
    assert isinstance(built_in_weights("hand"), Weights)


def test_a_long_line_without_a_space_is_read_in_linear_time():
    """Quadratic, this line would take minutes."""
    line = "x" * 1_000_000
    assert line_key(line) == line
    assert line_key("src/app.py:12: return nil") == "return nil"


def test_a_line_with_a_name_of_the_users_is_known_by_it():
    events = [user("Fix load_settings."), *reads("def load_settings(path):\ndef save_settings(path):\n")]
    index = line_index_of(events)
    at = MOVING_LINE.index("in_goal")
    in_goal = {line.text: bool(index.line_features(line)[at]) for line in index.lines}
    assert in_goal["def load_settings(path):"]
    assert not in_goal["def save_settings(path):"]


LINES = (
    *("", "  12→\tdef load_settings(path):", "+import os", "-#include <x.h>", "// failed: src/app/main.py"),
    *("Warning: 3 errors", "src/app/main.py", "日本語 İ faİl", "    return value_1, value_2 # TODO " * 6),
)


@given(
    st.sampled_from(LINES) | st.text(max_size=60),
    st.sampled_from(["user", "said", "call", "argument", "result"]),
    st.sampled_from([None, "read", "grep", "bash", "ls", "edit", "other"]),
    st.integers(0, 12),
    st.integers(0, 12),
    st.lists(st.floats(-3, 3), min_size=len(FIXED_LINE), max_size=len(FIXED_LINE)),
)
def test_a_rated_line_has_the_weighted_sum_of_its_features(line, origin, kind, row, more, weights):
    """To the last bit: a fold ranks by it, and a pack must not depend on how it was added up."""
    facts, rows = line_facts(line), row + more
    features = fixed_line_features(facts, line, origin, kind, row, rows)
    assert LineRater(weights, origin, kind, rows).rate(facts, line, row) == dot(weights, features)


NAMES = ("src/app/a/main.py", "load_settings", "HTTPServer", "1.24.0", "https://a.b/c", "deadbeef", "a.b.run")


@given(
    st.sampled_from(NAMES) | st.text(min_size=1, max_size=30),
    st.booleans(),
    st.lists(st.floats(-3, 3), min_size=len(FIXED_NAME), max_size=len(FIXED_NAME)),
)
def test_a_rated_name_has_the_weighted_sum_of_its_features(name, own, weights):
    assert rate_name(weights, name, own) == dot(weights, fixed_name_features(name, own))


@given(st.lists(st.sampled_from(LINES) | st.text("failıİE \n", max_size=8)))
def test_lines_read_together_are_what_each_is_alone(lines):
    assert facts_of_lines(lines) == [line_facts(line) for line in lines]


@pytest.mark.parametrize(
    ("line", "is_trouble"),
    [("12 FAILED", True), ("unfailing", False), ("file Not Found", True), ("faİl", True), ("日本 ok", False)],
)
def test_trouble_is_found_in_any_case_and_as_a_word(line, is_trouble):
    assert line_facts(line).is_trouble is is_trouble
