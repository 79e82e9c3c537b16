"""First sight: of a very large result what failed is kept wherever it stands, and how it begins and ends; what is
missing has the call that brings it back, and may be kept in a note later."""

import json
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.events import ToolReturned
from holdfast.log import Log
from holdfast.messages import Text, ToolMessage, UserMessage, joined_text
from holdfast.packing.lines.line_index import MOST_ROWS_READ
from holdfast.packing.lines.weights import built_in_vectors
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE, DRAFT16K
from holdfast.packing.rendering.clip import MARK_TOKENS
from holdfast.packing.rendering.first_sight import _failure_rows, reduce_new_result
from holdfast.packing.window import Window
from holdfast.recall import answer_recall
from holdfast.store import MemoryStore
from holdfast.tool_use import ToolUse
from support.logs import chained, prose, result, step, user
from support.packing_runs import counter, pack_each_request

BASH = ToolUse("bash", "Bash", command="make test")
GREP = ToolUse("grep", "Grep", pattern="test_")
OTHER = ToolUse("other", "run_everything")
USES = [pytest.param(use, id=use.kind) for use in (BASH, GREP, OTHER)]
PASSED = {
    "pytest": "tests/unit/area_{0}/test_module_{0}.py::test_case_{0} PASSED",
    "go": "--- PASS: TestHandler{0} (0.01s)",
    "words": "number {0} went well",
    "paths": "passed src/app/mod_{0}/handler_{0}.py in 12 ms",
    "requests": "2026-01-02T03:04:05 INFO request {0} served by worker-7 id=req_{0}",
    "addresses": "GET https://example.org/api/v2/items/{0} 200",
    "matches": "logs/run.log:{0}:test_case_{0} passed",
}
TROUBLE = {
    "a test": "FAILED tests/unit/test_parser.py::test_empty - AssertionError: expected 3",
    "a go test": "--- FAIL: TestStoreAppend (0.01s)",
    "a verdict": "test_total FAILED",
    "a match": "logs/run.log:1017:test_total FAILED",
    "a word": "error: something went wrong",
    "an exception": "ModuleNotFoundError: No module named 'foo'",
    "a panic": "panic: runtime error: index out of range [3] with length 3",
    "a compiler": "error[E0308]: mismatched types",
    "a long one": "error: " + "the thing did not work as it should have " * 8,
}
SOURCES = ["learned", "hand"]
LINES_LEFT_OUT = re.compile(r"\[holdfast: (\d+) of (\d+) lines left out")


def test_first_sight_keeps_the_telling_line_in_the_middle():
    lines = [f"compiling module number {i}" for i in range(400)]
    lines[217] = "src/app/main.py:31: error: undefined name `load_settings`"
    clipped = reduce_new_result(BASH, "\n".join(lines), 400, counter(), built_in_vectors("learned"))
    assert lines[217] in clipped
    assert counter().text(clipped) <= 400
    assert lines[0] in clipped
    assert lines[-1] in clipped


@pytest.mark.slow
def test_of_an_enormous_result_both_ends_and_what_failed_are_looked_at():
    """Not every line of an enormous result is looked at."""
    noise = [f"number {n} went well" for n in range(MOST_ROWS_READ + 2)]
    middle = MOST_ROWS_READ // 2
    seen = {}
    for special in (middle - 1, middle, middle + 1, middle + 2):
        lines = [*noise]
        lines[special] = "def load_settings(path: Path) -> Settings:"
        failed = middle + (special == middle)
        lines[failed] = TROUBLE["a word"]
        shown = reduce_new_result(BASH, "\n".join(lines), 400, counter(), built_in_vectors("learned"))
        assert counter().text(shown) <= 400
        assert {lines[0], lines[failed], lines[-1]} <= {*shown.split("\n")}
        seen[special - middle] = lines[special] in shown
    assert seen == {-1: True, 0: False, 1: False, 2: True}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("trouble", TROUBLE)
def test_what_failed_is_kept_from_the_middle_of_what_did_not(use, source, trouble):
    # Every trouble in its own noise: all pairs would say no more and take a minute.
    passed = [*PASSED.values()][[*TROUBLE].index(trouble) % len(PASSED)]
    lines = [passed.format(n) for n in range(2000)]
    text = "\n".join([*lines[:1016], TROUBLE[trouble], *lines[1016:]])
    shown = reduce_new_result(use, text, 500, counter(), built_in_vectors(source))
    assert TROUBLE[trouble] in shown.split("\n")
    assert counter().text(shown) <= 500


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("passed", PASSED)
def test_every_failure_is_kept_wherever_it_stands(use, source, passed):
    lines = [PASSED[passed].format(n) for n in range(500)]
    for place, trouble in enumerate(TROUBLE.values(), 1):
        lines.insert(50 * place, trouble)
    shown = reduce_new_result(use, "\n".join(lines), 1000, counter(), built_in_vectors(source)).split("\n")
    assert [trouble for trouble in TROUBLE.values() if trouble not in shown] == []


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("use", USES)
def test_failures_do_not_crowd_out_the_one_that_is_another(use, source):
    lines = [f"ERROR request req_{n} in src/app/pool_{n}.py timed out" for n in range(1500)]
    lines[1234] = "ERROR the disk is full"
    shown = reduce_new_result(use, "\n".join(lines), 500, counter(), built_in_vectors(source))
    assert lines[1234] in shown.split("\n")


@pytest.mark.parametrize("source", SOURCES)
def test_many_failures_leave_room_for_what_else_there_is(source):
    letters = "abcdefghijklmnopqrstuvwxyz"
    failures = [f"error: the part {a}{b} of the whole has failed" for a in letters for b in letters]
    text = "\n".join([*failures, "the plan is in docs/plans/store_layout.md as agreed", *failures])
    shown = reduce_new_result(BASH, text, 500, counter(), built_in_vectors(source))
    assert "docs/plans/store_layout.md" in shown


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("passed", PASSED)
@pytest.mark.parametrize("use", [BASH, OTHER], ids=lambda use: use.kind)
def test_first_sight_keeps_how_a_text_begins_and_ends(use, source, passed):
    lines = [PASSED[passed].format(n) for n in range(500)]
    text = "\n".join(["", "this is what was run", *lines, "and so it came to its end", "", ""])
    shown = reduce_new_result(use, text, 500, counter(), built_in_vectors(source)).split("\n")
    assert "this is what was run" in shown
    assert lines[0] in shown
    assert lines[-1] in shown
    assert "and so it came to its end" in shown


def test_nothing_that_went_well_is_taken_for_trouble():
    for line in (
        "0 FAILED, 12 passed",
        "errors: 0",
        "FAILED: 0",
        "no error",
        "an error-free run",
        "failing fast",
    ):
        assert _failure_rows([line] * 9, BASH) == []


def test_in_code_a_word_of_trouble_is_no_trouble():
    code = [f"    if value_{n} is None:\n        raise ValueError('error: value_{n}')" for n in range(60)]
    lines = "\n".join(["def check(values):", *code]).split("\n")
    use = ToolUse("read", "Read", path="src/check.py")
    assert _failure_rows(lines, use) == []


def test_what_a_search_is_full_of_is_no_trouble():
    lines = [f"src/mod_{n}.ts:{n}:  error: ErrorKind{'abcdefghij'[n % 10]} | null;" for n in range(200)]
    assert _failure_rows(lines, GREP) == []


WORDS = st.sampled_from(
    ["error:", "FAILED", "src/app/main.py", "word", "load_settings", "12", "", "\t", "上下文", "{"]
)
LINES = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=20, max_size=80)


@pytest.mark.slow
@settings(max_examples=50)
@given(LINES, st.integers(120, 600), st.sampled_from([BASH, GREP, OTHER]), st.sampled_from(SOURCES))
def test_first_sight_fits_quotes_and_is_always_the_same(lines, cap, use, source):
    text = "\n".join(lines)
    shown = reduce_new_result(use, text, cap, counter(), built_in_vectors(source))
    assert counter().text(shown) <= cap
    assert shown == reduce_new_result(use, text, cap, counter(), built_in_vectors(source))
    if shown != text and LINES_LEFT_OUT.match(shown):
        kept = [line for line in shown.split("\n")[1:] if not line.startswith("[… line")]
        rest = iter(lines)
        assert all(line in rest for line in kept), "in their own order, byte for byte"


CALL = re.compile(r'Recall\(id="(\w+)"(?:, lines="([\d-]+)")?\)')
GAP = re.compile(r"\[… lines? ([\d-]+)\]")
PLACES = ["warehouse", "cellar", "library", "garage", "kitchen", "office", "archive"]
THINGS = ["documents", "pictures", "instruments", "letters", "records"]
KEEP_LINES = ["code", "rich", "lean"]


def recalled(text, **arguments):
    """What Recall answers, without its heading, where a tool returned this text."""
    with MemoryStore() as store:
        Log.create(store, redact=str).append(ToolReturned("c", "Bash", (Text(text),)))
        answer, failed = answer_recall(store, arguments)
    assert not failed, answer
    return answer.split("\n", 1)[1]


def rows_of(text, ranges):
    lines = text.split("\n")
    spans = [[int(n) for n in one.split("-")] for one in ranges]
    return [lines[n - 1] for span in spans for n in range(span[0], span[-1] + 1)]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("passed", PASSED)
def test_the_mark_has_the_call_that_brings_back_exactly_what_is_missing(source, passed):
    lines = [PASSED[passed].format(n) for n in range(300)]
    lines[150] = TROUBLE["a word"]
    text = "\n".join(lines)
    head, *rows = reduce_new_result(BASH, text, 600, counter(), built_in_vectors(source)).split("\n")
    gaps = [found[1] for row in rows if (found := GAP.fullmatch(row))]
    missing = rows_of(text, gaps)
    kept = [row for row in rows if not GAP.fullmatch(row)]
    assert sorted(missing + kept) == sorted(lines), "every line is shown, or in a gap"
    assert head.startswith(f"[holdfast: {len(missing)} of 300 lines left out, the first gap; Recall(")
    assert counter().text(head) <= MARK_TOKENS
    id_, first = CALL.search(head).groups()
    assert first == gaps[0]
    back = [recalled(text, id=id_, lines=gap).removesuffix("\n") for gap in gaps]
    assert "\n".join(back).split("\n") == missing


def test_one_gap_needs_no_other_numbers():
    text = "\n".join(["the beginning of it", "x " * 3000, "the end of it"])
    head, *rows = reduce_new_result(BASH, text, 200, counter(), built_in_vectors("learned")).split("\n")
    assert rows == ["the beginning of it", "[… line 2]", "the end of it"]
    assert head.startswith("[holdfast: 1 of 3 lines left out; Recall(")
    id_, lines = CALL.search(head).groups()
    assert recalled(text, id=id_, lines=lines) == "x " * 3000 + "\n"


@pytest.mark.parametrize("indent", [None, 1])
def test_the_mark_of_a_shortened_document_has_the_call_for_all_of_it(indent):
    text = json.dumps(
        [{"id": n, "name": f"order {n}", "note": "n" * (n % 40)} for n in range(70)], indent=indent
    )
    head, _ = reduce_new_result(OTHER, text, 300, counter(), built_in_vectors("learned")).split("\n", 1)
    assert head.startswith(
        f"[holdfast: a part of a JSON document of {counter().text(text)} tokens, the rest left out"
    )
    id_, lines = CALL.search(head).groups()
    assert lines is None
    assert recalled(text, id=id_) == text


def numbered(count, first=1):
    return "\n".join(f"{n:6}→    value_{n} = compute_value({n})" for n in range(first, first + count))


def first_shown(profile, name, arguments, text):
    events = [user("go"), step("", ("c", name, arguments)), result("c", text, name)]
    packed = pack(Window(profile, counter(), chained(events)).view())
    (answer,) = [m for m in packed.messages if isinstance(m, ToolMessage)]
    return answer.text


RANGES = {
    "Read with a limit": ("Read", {"file_path": "a.py", "offset": 41, "limit": 200}),
    "Read from a line": ("Read", {"path": "a.py", "offset": 41}),
    "Read the last": ("Read", {"path": "a.py", "offset": -200}),
    "view": ("str_replace_based_edit_tool", {"command": "view", "path": "a.py", "view_range": [41, 240]}),
    "read_file": ("read_file", {"path": "a.py", "start_line": 41, "end_line": 240}),
    "readFile": ("read_file", {"filePath": "a.py", "startLine": 41, "endLine": 240}),
    "sed": ("exec_command", {"cmd": "sed -n '41,240p' a.py"}),
    "head": ("Bash", {"command": "head -n 200 a.py"}),
}
WHOLE_FILES = {
    "Read": ("Read", {"file_path": "a.py"}),
    "Read from the first": ("Read", {"file_path": "a.py", "offset": 1}),
    "view": ("str_replace_based_edit_tool", {"command": "view", "path": "a.py", "view_range": [1, -1]}),
    "cat": ("Bash", {"command": "cat a.py"}),
    "search": ("Grep", {"pattern": "value", "path": "a.py", "limit": 200}),
}


@pytest.mark.parametrize("profile", KEEP_LINES)
@pytest.mark.parametrize("call", RANGES)
def test_lines_asked_for_by_number_are_whole_up_to_half_of_what_may_be_sent(profile, call):
    scaled = BUILT_IN[profile].scaled_to(16_000)
    text = numbered(200, 41)
    assert scaled.first_sight_tokens < counter().text(text) <= scaled.hard_limit // 2
    assert first_shown(scaled, *RANGES[call], text) == text
    long = numbered(2_000, 41)
    assert counter().text(first_shown(scaled, *RANGES[call], long)) <= scaled.first_sight_tokens


@pytest.mark.parametrize("call", WHOLE_FILES)
def test_what_was_not_asked_for_by_number_is_reduced(call):
    scaled = CODE.scaled_to(16_000)
    shown = first_shown(scaled, *WHOLE_FILES[call], numbered(200))
    assert LINES_LEFT_OUT.match(shown)
    assert counter().text(shown) <= scaled.first_sight_tokens


def test_a_profile_without_lines_cuts_a_range_like_any_other_result():
    scaled = replace(DRAFT16K.scaled_to(4_000), first_sight_ratio=0.25)
    text = numbered(100)
    assert scaled.first_sight_tokens < counter().text(text) <= scaled.hard_limit // 2
    assert first_shown(scaled, "Read", {"path": "a.py", "offset": 1, "limit": 100}, text) != text


@pytest.mark.parametrize("most", [2_000, 5_000, 8_000])
def test_a_range_is_clipped_where_a_profile_clips_by_characters(most):
    scaled = replace(CODE.scaled_to(16_000), max_tool_chars=most)
    text = numbered(400)
    assert (
        len(first_shown(scaled, "Read", {"path": "a.py", "offset": 41, "limit": 400}, text))
        < most + 300
        < len(text)
    )


def test_ranges_that_do_not_fit_together_still_leave_a_request_within_its_limit():
    scaled = CODE.scaled_to(8_000)
    calls = [(f"c{n}", "Read", {"path": f"f{n}.py", "offset": 41, "limit": 100}) for n in range(6)]
    results = [result(f"c{n}", numbered(150, 41 + n)) for n in range(6)]
    for request in pack_each_request(chained([user("go"), step("", *calls), *results]), scaled):
        assert request.pack.tokens <= scaled.hard_limit


@pytest.mark.parametrize("profile", KEEP_LINES)
def test_notes_keep_lines_that_first_sight_left_out(profile):
    """All lines of a result compete for a place in notes once it is folded, not only those that were shown."""
    scaled = BUILT_IN[profile].scaled_to(8_000)
    lines = [f"{PLACES[n % 7]}_{n} holds the {THINGS[n % 5]} of branch_{n}_{n * n}" for n in range(100)]
    call = ("Bash", {"command": "make inventory"})
    shown = set(first_shown(scaled, *call, "\n".join(lines)).split("\n"))
    events = [user("go"), step("", ("c", *call)), result("c", "\n".join(lines), "Bash")]
    for n in range(40):
        look = (f"r{n}", "Read", {"file_path": f"src/f{n}.py"})
        events += [step(f"look {n}", look), result(f"r{n}", prose(Random(n), 120))]
    *_, last = pack_each_request(chained(events), scaled)
    notes = [joined_text(m.parts) for m in last.pack.messages if isinstance(m, UserMessage)]
    noted = {line for note in notes for line in note.split("\n")}
    assert len((noted & {*lines}) - shown) > 5
