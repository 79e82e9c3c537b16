"""One rule per tool: what its digest keeps, what its stub says, and that nothing is cut without an id."""

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.events import AssistantReplied, ToolReturned
from holdfast.ids import text_id
from holdfast.messages import Image, Text, Thinking, ToolCall, ToolMessage
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.rendering.blocks import render_step
from holdfast.packing.rendering.clip import clip_chars, clip_tokens
from holdfast.packing.rendering.digests import reports_failure, unwrap
from holdfast.packing.rendering.levels import RenderContext, reduce_arguments, reduce_result
from holdfast.tokenizers import counter_for_model
from holdfast.tool_use import recognize_tool
from holdfast.views.transcript import Transcript
from support.logs import chained, result, step, user
from support.packing_runs import counter


def scene(profile=CODE):
    return RenderContext(profile, counter())


def reduced(name, arguments, text, level="digest", cap=0, profile=CODE):
    return reduce_result(scene(profile), recognize_tool(ToolCall("c", name, arguments)), text, level, cap)


def numbered(count, word="row"):
    return "\n".join(f"{word} {i} with some words on it" for i in range(1, count + 1))


def body(text):
    """Lines of a digest without its mark and its gap lines."""
    return [line for line in text.split("\n") if not line.startswith(("[holdfast:", "[… "))]


@pytest.mark.parametrize(
    ("name", "arguments", "kept"),
    [
        ("LS", {"path": "src"}, 10),
        ("Glob", {"pattern": "**/*.py"}, 10),
        ("Grep", {"pattern": "foo"}, 5),
        ("Edit", {"file_path": "a.py"}, 10),
        ("MultiEdit", {"file_path": "a.py"}, 10),
        ("Write", {"file_path": "a.py"}, 10),
    ],
)
def test_a_digest_keeps_the_first_lines_and_the_true_total(name, arguments, kept):
    text = numbered(143)
    shown = reduced(name, arguments, text)
    assert body(shown) == text.split("\n")[:kept]
    assert f"{kept} of 143 lines" in shown
    assert text_id(text) in shown


def test_the_16k_profile_keeps_more_of_a_diff():
    shown = reduced("Edit", {"file_path": "a.py"}, numbered(143), profile=BUILT_IN["draft16k"])
    assert len(body(shown)) == 50


def test_a_read_keeps_up_to_500_lines_byte_for_byte():
    text = "\n".join(f"{i:6}\t    value = {i}  " for i in range(1, 901))
    shown = reduced("Read", {"file_path": "a.py"}, text)
    assert body(shown) == text.split("\n")[:500]
    assert "[… 400 lines left out, Recall lines 501-900]" in shown


def test_a_read_keeps_within_its_share():
    text = numbered(900)
    shown = reduced("Read", {"file_path": "a.py"}, text, cap=300)
    assert 250 < counter().text(shown) <= 300
    assert set(body(shown)) < set(text.split("\n"))


def test_bash_keeps_failures_wherever_they_stand_and_the_last_lines():
    lines = numbered(400, "passed").split("\n")
    lines[200] = "E   AssertionError: 3 != 4"
    lines[201] = "FAILED tests/test_a.py::test_b"
    text = "\n".join(lines)
    shown = reduced("Bash", {"command": "pytest"}, text, cap=900)
    assert "E   AssertionError: 3 != 4" in shown
    assert "FAILED tests/test_a.py::test_b" in shown
    assert lines[-20:] == body(shown)[-20:]
    assert "pytest" in shown.split("\n")[0]


@pytest.mark.parametrize(
    "line",
    [
        "NameError: x",
        "KeyError: 'a'",
        "ModuleNotFoundError: No module named 'a'",
        "TypeError: unsupported operand",
        "java.lang.IllegalStateException: closed",
        "npm ERR! code ELIFECYCLE",
        "panic: runtime error",
        "2 failed, 0 errors",
        "Tests run: 5, Failures: 2, Errors: 0",
        "10 errors",
    ],
)
def test_a_failure_is_recognised(line):
    assert reports_failure(line)


@pytest.mark.parametrize(
    "line",
    [
        "0 errors, 0 failed",
        "no failures",
        "Tests run: 5, Failures: 0, Errors: 0",
        "onError(handler)",
        "terrors",
    ],
)
def test_what_only_names_failures_is_none(line):
    assert not reports_failure(line)


def test_no_failures_is_no_failure():
    lines = numbered(100).split("\n")
    lines[50] = "0 errors, 0 failed"
    assert "0 errors, 0 failed" not in reduced("Bash", {"command": "make"}, "\n".join(lines))


def test_an_unknown_tool_is_never_reduced_to_nothing():
    shown = reduced("mcp__x", {"q": 1}, numbered(200))
    assert "row 1 with" in shown
    assert "row 200 with" in shown


def test_json_keeps_its_shape_scalars_and_first_rows():
    rows = [{"id": i, "name": f"n{i}", "text": "x" * 500} for i in range(40)]
    text = json.dumps({"count": 40, "rows": rows, "next": None})
    mark_line, shaped = reduced("mcp__x", {"q": 1}, text).split("\n", 1)
    value = json.loads(shaped)
    assert value["count"] == 40
    assert value["rows"][0]["id"] == 0
    assert value["rows"][-1] == "… 35 more of 40"
    assert text_id(text) in mark_line


def test_of_an_envelope_text_stats_and_context_go():
    envelope = {
        "status": "partial",
        "data": {"entries": [f"f{i}" for i in range(50)], "total_entries": 120, "truncated": True},
        "text": "long prose " * 40,
        "stats": {"time_ms": 3},
        "context": {"cwd": "/x"},
        "error": None,
    }
    for name, kept in (("LS", 10), ("Grep", 5), ("mcp__thing", 15)):
        lines = reduced(name, {"path": "src"}, json.dumps(envelope)).split("\n")
        assert lines[1:4] == ["status: partial", "total_entries: 120", "truncated: true"]
        assert sum(line.startswith("f") for line in lines) == kept
        assert not any("long prose" in line or "time_ms" in line or "cwd" in line for line in lines)


def test_of_an_envelope_the_file_content_is_kept_line_by_line():
    content = numbered(700)
    envelope = {
        "status": "success",
        "data": {"path": "a.py", "content": content, "mtime": 5},
        "text": content,
    }
    lines = reduced("Read", {"path": "a.py"}, json.dumps(envelope)).split("\n")
    assert lines[1:4] == ["status: success", "path: a.py", "mtime: 5"]
    assert lines[4:504] == content.split("\n")[:500]
    assert lines[-1] == "[… 200 more]"


def test_an_envelope_of_an_error_keeps_the_error():
    envelope = {"status": "error", "data": {}, "error": {"code": "NOT_FOUND", "message": "no " + "x" * 300}}
    assert "NOT_FOUND" in reduced("Read", {"path": "a"}, json.dumps(envelope))


@pytest.mark.parametrize("text", ["{not json" * 80, "[" * 3000, '{"a": ' * 500])
def test_what_only_looks_like_json_is_digested_as_lines(text):
    assert text_id(text) in reduced("mcp__x", {}, text, cap=60)


def test_a_stub_says_what_it_was_and_how_to_get_it_back():
    text = numbered(100)
    shown = reduced("Read", {"file_path": "src/a.py", "offset": 10, "limit": 91}, text, "stub")
    assert shown.startswith("[holdfast: Read src/a.py:10-100:")
    assert f'Recall(id="{text_id(text)}")' in shown
    assert "\n" not in shown


def test_short_results_stay_whole_at_every_level():
    for level in ("clipped", "digest", "stub"):
        assert reduced("Bash", {"command": "true"}, "ok", level) == "ok"


def test_reducing_a_digest_again_changes_nothing():
    once = reduced("Grep", {"pattern": "x"}, numbered(90))
    assert reduced("Grep", {"pattern": "x"}, once) == once


def test_what_recall_read_is_folded_to_the_id_it_was_read_from():
    source = text_id("the original")
    use = recognize_tool(ToolCall("c", "Recall", {"id": source}))
    shown = reduce_result(scene(), use, numbered(80), "digest", 0)
    assert f'Recall(id="{source}")' in shown


def test_a_digest_of_bash_keeps_the_last_lines_of_stderr_in_their_order():
    lines = ["Exit code: 1", *numbered(300).split("\n")]
    lines[7] = "an error at the beginning"
    use = recognize_tool(ToolCall("c", "Bash", {"command": "make"}))
    shown = reduce_result(scene(), use, "\n".join(lines), "digest", 0, stderr=((31, 60), (81, 81)))
    assert body(shown) == [*lines[:5], lines[7], *lines[41:60], lines[80], *lines[-20:]]
    fewer = RenderContext(replace(CODE, bash_stderr_lines=3, bash_stdout_lines=2), counter())
    shown = reduce_result(fewer, use, "\n".join(lines), "digest", 0, stderr=((31, 60), (81, 81)))
    assert body(shown) == [*lines[:2], lines[7], *lines[58:60], lines[80], *lines[-2:]]


def test_an_envelope_that_has_stderr_apart_keeps_its_last_lines():
    data = {"stderr": numbered(30, "warning"), "stdout": numbered(100), "exit_code": 0}
    shown = body(reduced("Bash", {"command": "make"}, json.dumps({"status": "success", "data": data})))
    warnings = numbered(30, "warning").split("\n")
    assert [line for line in shown if line.startswith("warning")] == [*warnings[:5], *warnings[10:]]
    assert [line for line in shown if line.startswith("row")] == numbered(100).split("\n")[80:]


@pytest.mark.parametrize("setting", ["bash_stdout_lines", "bash_stderr_lines"])
def test_a_count_of_0_is_none_and_not_all(setting):
    lines = [f"error: number {i} of many things" for i in range(300)]
    shown = body(
        reduced("Bash", {"command": "make"}, "\n".join(lines), profile=replace(CODE, **{setting: 0}))
    )
    assert len(shown) <= 25
    none = replace(CODE, bash_stdout_lines=0, bash_stderr_lines=0)
    assert body(reduced("Bash", {"command": "make"}, "\n".join(lines), profile=none)) == []


def test_kept_lines_and_their_total_are_counted_alike():
    text = "\n".join(line for i in range(61) for line in (f"row {i} with some words on it", "")) + "\n\n\n"
    shown = reduced("Read", {"file_path": "a.py"}, text, profile=replace(CODE, read_lines=100))
    assert "100 of 121 lines" in shown


def test_a_listing_stops_at_the_first_line_without_room():
    lines = [*numbered(5).split("\n"), "x y " * 600, *(f"s{i}" for i in range(400))]
    for name in ("Read", "LS", "Glob", "Grep"):
        shown = body(reduced(name, {"path": "a"}, "\n".join(lines), cap=200))
        assert shown == lines[:5]


@pytest.mark.parametrize("cap", [80, 160, 400, 2000])
@pytest.mark.parametrize("name", ["Bash", "mcp__x", "Read", "Grep"])
def test_a_digest_keeps_within_its_cap_gaps_and_all(name, cap):
    lines = numbered(2000).split("\n")
    for i in range(0, 2000, 7):
        lines[i] = f"error: number {i}"
    shown = reduced(name, {"command": "make"}, "\n".join(lines), cap=cap)
    assert counter().text(shown) <= cap
    assert body(shown)


@pytest.mark.parametrize("name", ["Bash", "mcp__x"])
def test_a_long_line_that_tells_of_a_failure_is_cut_inside(name):
    long = f"E   AssertionError: {'left and right differ ' * 400}"
    lines = numbered(300).split("\n")
    lines[150] = long
    shown = reduced(name, {"command": "pytest"}, "\n".join(lines), cap=400)
    line = next(line for line in shown.split("\n") if line.startswith("E   AssertionError: left"))
    head, first, last, tail = re.fullmatch(
        r"(.*)\[… \d+ characters left out, Recall lines 151 chars (\d+)-(\d+)\](.*)", line
    ).groups()
    assert head + long[int(first) - 1 : int(last)] + tail == long
    assert "row 300 with" in shown
    assert counter().text(shown) <= 400


def test_a_gap_is_not_named_where_its_lines_are_shorter():
    lines = [f"src/module_{i}.py:{i}: match" for i in range(1, 6)]
    text = "\n\n".join(lines) + "\n" + numbered(60)
    assert reduced("LS", {"path": "."}, text).split("\n")[1:10] == "\n\n".join(lines).split("\n")


MATCHES = [f"src/a.py:{i}:the matching line number {i}" for i in range(1, 40)]


BARE_MATCHES = [f"{i}:text of the match number {i}" for i in range(40)]
FILES = [f"src/some/file_{i}.py" for i in range(40)]


@pytest.mark.parametrize(
    ("header", "matches"),
    [
        (["Found 39 matches"], MATCHES),
        ([], BARE_MATCHES),
        (["src/a.py"], BARE_MATCHES),
        (["Found 40 matches", "src/a.py:"], BARE_MATCHES),
        (["Found 40 files"], FILES),
    ],
)
def test_a_header_uses_up_no_matches(header, matches):
    shown = reduced("Grep", {"pattern": "x"}, "\n".join([*header, *matches]))
    assert body(shown) == [*header, *matches[:5]]


def test_context_lines_use_up_no_matches():
    context = [f"src/a.py-{i}-context, of which there is more than it takes to name a gap" for i in range(3)]
    lines = [line for match in MATCHES for line in (*context, match, *context, "--")]
    assert body(reduced("Grep", {"pattern": "x"}, "\n".join(lines))) == MATCHES[:5]


def test_facts_of_an_envelope_stay_small():
    rows = [{"name": f"n{i}", "text": "word " * 40} for i in range(90)]
    data = {"nested": {f"k{i}": "v " * 90 for i in range(40)}, "rows": rows} | {f"f{i}": i for i in range(60)}
    error = {"code": "TIMEOUT", "message": f"it took too long {'and longer ' * 900}"}
    text = json.dumps({"status": "error", "error": error, "data": data})
    for name in ("Bash", "Read", "mcp__x"):
        shown = reduced(name, {"command": "x"}, text, cap=160)
        assert counter().text(shown) <= 160
        assert "TIMEOUT" in shown
        assert "it took too long" in shown
    envelope = unwrap(text)
    assert len(envelope.head) <= 12
    assert all(len(line) <= 400 for line in envelope.head)
    assert all(len(line) <= 200 for line in envelope.head[2:])
    assert envelope.head[2] == "f0: 0"
    assert any(line.startswith("nested.k39: v v") for line in envelope.payload)


def test_the_rest_of_a_json_digest_is_not_named_by_numbers_of_another_text():
    text = json.dumps({f"key {i}": "words " * 30 for i in range(40)})
    shown = reduced("mcp__x", {"q": 1}, text, cap=200)
    assert shown.endswith("\n[… the rest of this digest left out]")
    assert shown.count("Recall(") == 1
    assert f'Recall(id="{text_id(text)}")' in shown
    assert 150 < counter().text(shown) <= 200


def test_what_failed_says_so_when_it_is_folded():
    use = recognize_tool(ToolCall("c", "Bash", {"command": "make"}))
    for level in ("digest", "stub"):
        assert (
            ", failed" in reduce_result(scene(), use, numbered(90), level, 0, state="failed").split("\n")[0]
        )
        assert "failed" not in reduce_result(scene(), use, numbered(90), level, 0)
    stale = reduce_result(scene(), use, numbered(90), "digest", 0, "run again", state="failed")
    assert ", failed, run again;" in stale


def written(value, level="digest", profile=CODE):
    use = recognize_tool(ToolCall("c", "Write", {"file_path": "a.py"}))
    return reduce_arguments(scene(profile), use, {"content": value}, level)[0]["content"]


def test_an_argument_that_contains_a_mark_of_its_own_is_shortened():
    mark_line = f'[holdfast: the first 1 of 9 lines, 900 characters; Recall(id="{text_id("x")}")]'
    for value in (
        f"{numbered(80)}\n[holdfast: x]\n{numbered(80)}",
        f"[holdfast: x]\n{numbered(80)}",
        f"{numbered(80)}\n{mark_line}",
    ):
        assert text_id(value) in written(value)  # fmt: skip


@pytest.mark.parametrize("level", ["digest", "stub"])
def test_shortening_an_argument_again_changes_nothing(level):
    for value in (numbered(200), "x" * 9000, "\n" * 5000, f"{numbered(9)}\n" + "y " * 4000):
        for profile in (CODE, BUILT_IN["draft16k"], replace(CODE, write_diff_lines=0)):
            once = written(value, level, profile)
            assert once != value
            assert written(once, level, profile) == once


def test_a_shortened_argument_says_how_much_of_it_is_shown():
    value = numbered(84)
    assert f"[holdfast: the first 10 of 84 lines, {len(value)} characters; " in written(value)
    assert f"[holdfast: the first 1 of 84 lines, {len(value)} characters; " in written(value, "stub")
    assert "the first 800 characters of 1 lines, 9000 characters" in written("x " * 4500)
    nothing = written(value, profile=replace(CODE, write_diff_lines=0))
    assert nothing.startswith(f"[holdfast: the first 0 of 84 lines, {len(value)} characters; ")
    assert "\n" not in nothing


def test_a_result_that_contains_a_mark_of_its_own_is_digested():
    for text in (f"{numbered(90)}\n[holdfast: x]\n", f"[holdfast: x]\n{numbered(90)}"):
        assert text_id(text) in reduced("LS", {"path": "."}, text)


def test_a_clip_is_never_larger_than_its_text():
    for text in ("a b c d e f g", numbered(3), "x" * 50, "word " * 45):
        for cap in (0, 1, 4, 6, 40):
            assert counter().text(clip_tokens(text, cap, counter())) <= counter().text(text)
        assert len(clip_chars(text, 2, 2)) <= len(text)
    text = "a" * 320
    assert clip_chars(text, 100, 100, counter=counter()) == text


def test_a_clip_by_characters_keeps_its_tail_byte_for_byte():
    text = "a" * 900 + "\n\n"
    assert clip_chars(text, 0, 5).endswith("\naaa\n\n")
    assert clip_chars(text, 0, 5).startswith("[holdfast:")


def test_a_clip_names_the_lines_between_head_and_tail():
    text = numbered(500)
    shown = clip_tokens(text, 200, counter())
    lines = shown.split("\n")
    gap = next(line for line in lines if line.startswith("[holdfast:"))
    head, tail = lines[: lines.index(gap)], lines[lines.index(gap) + 1 :]
    assert text.split("\n")[: len(head)] == head
    assert text.split("\n")[-len(tail) :] == tail
    assert f'lines="{len(head) + 1}-{500 - len(tail)}"' in gap
    assert counter().text(shown) <= 200


def test_a_clip_gives_three_fifths_of_its_room_to_the_head():
    lines = [f"line {number:04}" for number in range(1_000)]
    shown = clip_tokens("\n".join(lines), 1_000, counter()).split("\n")
    gap = next(at for at, line in enumerate(shown) if line.startswith("[holdfast:"))
    assert shown[:gap] == lines[:gap]
    assert gap / (len(shown) - 1) == pytest.approx(0.6, abs=0.02)
    head, tail = clip_tokens("0123456789" * 2_000, 600, counter()).split("[holdfast:")
    tail = tail.split("\n", 1)[1]
    assert (len(head) - 1) / (len(head) - 1 + len(tail)) == pytest.approx(0.6, abs=0.01)


def test_one_giant_line_is_clipped_inside():
    text = "x9 " * 80_000
    shown = clip_tokens(text, 300, counter())
    assert counter().text(shown) <= 300
    assert "characters" in shown
    assert text.startswith(shown.split("\n")[0])


def test_seed_003_clips_to_the_first_and_last_thousand_characters():
    text = "a" * 3000 + "b" * 3000
    shown = reduced("Read", {}, text, "clipped", profile=BUILT_IN["init"])
    assert shown.startswith("a" * 1000 + "\n")
    assert shown.endswith("\n" + "b" * 1000)
    assert clip_chars("short", 1000, 1000) == "short"


def one_step(call, text):
    transcript = Transcript(
        chained([user("go"), step("Thinking aloud.", call), result(call[0], text, call[1])])
    )
    return transcript.steps[0]


def test_large_arguments_have_levels_too():
    content = numbered(200)
    block = render_step(
        scene(), one_step(("c", "Write", {"file_path": "a.py", "content": content}), "ok"), "digest", 0
    )
    arguments = block.messages[0].calls[0].arguments
    assert arguments["file_path"] == "a.py"
    assert arguments["content"].startswith("row 1 with")
    assert text_id(content) in arguments["content"]
    assert len(arguments["content"]) < len(content) / 5
    (cut,) = block.cuts
    assert (cut.rule, cut.before) == ("write-argument", counter().text(content))
    assert cut.after == counter().text(arguments["content"])


def test_a_digested_step_loses_its_thoughts_and_says_so():
    reply = AssistantReplied((Thinking("secret plan", "sig"), Text("hi"), ToolCall("c", "LS", {})))
    transcript = Transcript(chained([user("go"), reply, result("c", "ok")]))
    block = render_step(scene(), transcript.steps[0], "digest", 0)
    assert [type(p) for p in block.messages[0].parts] == [Text, ToolCall]
    assert [(c.rule, c.id) for c in block.cuts] == [("thinking", text_id("secret plan"))]


def test_a_picture_is_kept_until_its_step_is_digested():
    picture = Image("image/png", "QUJD" * 100)
    events = [user("go"), step("", ("c", "Read", {})), ToolReturned("c", "Read", (picture,))]
    full = render_step(scene(), Transcript(chained(events)).steps[0], "full", 0)
    assert full.messages[1].parts == (picture,)
    digest = render_step(scene(), Transcript(chained(events)).steps[0], "digest", 0)
    assert isinstance(digest.messages[1], ToolMessage)
    assert text_id(picture.data) in digest.messages[1].text


def test_more_calls_than_a_provider_takes_are_sent_in_groups():
    calls = [(f"c{i}", "Read", {"path": f"{i}"}) for i in range(300)]
    events = [user("go"), step("many", *calls), *(result(f"c{i}", "ok") for i in range(300))]
    block = render_step(scene(), Transcript(chained(events)).steps[0], "full", 0)
    assert [len(m.calls) for m in block.messages if hasattr(m, "calls")] == [128, 128, 44]


CALLS = {
    "ls": ToolCall("c", "LS", {"path": "src"}),
    "glob": ToolCall("c", "Glob", {"pattern": "**/*.py"}),
    "grep": ToolCall("c", "Grep", {"pattern": "a.*b"}),
    "read": ToolCall("c", "Read", {"file_path": "a.py", "offset": 690, "limit": 100}),
    "edit": ToolCall("c", "Edit", {"file_path": "a.py"}),
    "multiedit": ToolCall("c", "MultiEdit", {"file_path": "a.py"}),
    "write": ToolCall("c", "Write", {"file_path": "a.py"}),
    "bash": ToolCall("c", "Bash", {"command": "make -j 4 test 2>&1 | tail"}),
    "todo": ToolCall("c", "TodoWrite", {}),
    "recall": ToolCall("c", "Recall", {"id": text_id("elsewhere")}),
    "other": ToolCall("c", "mcp__x\n\u2028", {"q": "]"}),
}
COUNTS = (
    "ls_entries",
    "glob_entries",
    "grep_matches",
    "read_lines",
    "edit_diff_lines",
    "write_diff_lines",
    "bash_stdout_lines",
    "bash_stderr_lines",
    "generic_rows",
)
NOTHING = replace(CODE, name="nothing", **dict.fromkeys(COUNTS, 0))
SCENES = [
    RenderContext(profile, counter_for_model(model))
    for profile in (CODE, NOTHING, BUILT_IN["init"], BUILT_IN["review"])
    for model in ("gpt-5", "claude-sonnet-4-5")
]

WORDS = st.sampled_from(
    ["row", "error:", "0 errors", "\r", "\u2028", "\x00", "\x1c", "汉字在此", "é", "\t", " ", "", "a/b.py:12:x",
     "a/b.py-13-y", "--", "Found 3 files", "{", '"', "]", "x9" * 40, "🎉", "NameError: x", "\ud800"]
)  # fmt: skip
LINES = st.lists(WORDS, max_size=9).map(" ".join)
PLAIN = st.lists(st.tuples(LINES, st.integers(1, 60)), max_size=14).map(
    lambda runs: "\n".join(line for line, times in runs for _ in range(times))
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400) | WORDS.map(lambda word: word * 50),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=60), inner, max_size=12),
    max_leaves=40,
)
ROWS = st.builds(lambda row, times: [row] * times, JSON, st.integers(1, 60))
DOCUMENTS = st.dictionaries(st.text(max_size=20), JSON | ROWS, min_size=1, max_size=30) | ROWS
ENVELOPES = st.fixed_dictionaries({"status": JSON, "data": DOCUMENTS}, optional={"error": JSON})
TEXTS = st.one_of(
    PLAIN,
    PLAIN.map(lambda text: text.replace("\n", "\r\n")),
    st.text(max_size=600),
    DOCUMENTS.map(json.dumps),
    ENVELOPES.map(json.dumps),
    st.tuples(LINES, st.integers(1, 900)).map(lambda pair: pair[0] * pair[1]),
)
GAP_LINE = re.compile(r"\[… (\d+) lines? left out, Recall lines (\d+)(?:-(\d+))?\]")
CUT_INSIDE = re.compile(
    r"(.*)\[… (\d+) characters left out, Recall lines (\d+) chars (\d+)-(\d+)\](.*)", re.DOTALL
)
CLIP_MARK = re.compile(
    r'\[holdfast: \d+ of \d+ (?:lines|characters) left out; Recall\(id="(\w+)", (lines|chars)="(\d+)-(\d+)"\)\]'
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(SCENES),
    st.sampled_from(sorted(CALLS)),
    st.sampled_from(["digest", "digest", "digest", "clipped", "stub", "full"]),
    st.sampled_from([0, 1, 40, 80, 160, 400, 2000]),
    st.sampled_from(["", "", "", "read again"]),
    st.booleans(),
    TEXTS,
)
@example(SCENES[0], "other", "digest", 40, "", True, "[" * 900 + "]" * 900)
@example(SCENES[1], "bash", "digest", 80, "", False, "error " * 40_000)
@example(SCENES[2], "read", "clipped", 1, "", False, "\n" * 20_000)
def test_every_rendition_of_every_text(place, kind, level, cap, stale, failed, text):
    use = recognize_tool(CALLS[kind])
    assert use.kind == kind
    count = place.counter.text

    def reduce(value):
        return reduce_result(place, use, value, level, cap, stale, state=failed)

    shown = reduce(text)
    if shown == text:
        return
    assert level != "full"
    assert count(shown) < count(text)
    source = use.recalls or text_id(text)
    assert (text_id(text) if level == "clipped" else source) in shown
    if level != "clipped":
        assert reduce(shown) == shown
    if level == "digest" and cap:
        assert count(shown) <= max(cap, count(shown.split("\n", 1)[0]) + 40)
    assert_ranges_lead_back(text, shown)


def assert_ranges_lead_back(text, shown):
    """What the marks name, put in their place, gives the text again."""
    clip = CLIP_MARK.search(shown)
    if clip:
        first, last = int(clip[3]), int(clip[4])
        unit = text.split("\n") if clip[2] == "lines" else text
        middle = "\n".join(unit[first - 1 : last]) if clip[2] == "lines" else unit[first - 1 : last]
        joint = "\n" if clip[2] == "lines" else ""
        before = shown[: clip.start()].removesuffix("\n")
        after = shown[clip.end() :].removeprefix("\n")
        whole = joint.join(
            [*([before] if clip.start() else []), middle, *([after] if clip.end() < len(shown) else [])]
        )
        assert whole == text
        return
    rows = shown.split("\n")[1:]
    if " lines; Recall(" not in shown.split("\n")[0] or not any(", Recall lines " in row for row in rows):
        return
    lines = text.split("\n")
    restored = []
    for row in rows:
        if gap := GAP_LINE.fullmatch(row):
            first, last = int(gap[2]), int(gap[3] or gap[2])
            assert int(gap[1]) == last - first + 1
            restored += lines[first - 1 : last]
        elif inside := CUT_INSIDE.fullmatch(row):
            middle = lines[int(inside[3]) - 1][int(inside[4]) - 1 : int(inside[5])]
            assert len(middle) == int(inside[2])
            restored.append(inside[1] + middle + inside[6])
        else:
            restored.append(row)
    assert restored == lines


def test_of_a_folded_todo_list_the_recap_stays():
    todos = [
        {"content": f"item {i} of the plan", "status": s}
        for i, s in enumerate(("completed", "in_progress", "pending"))
    ]
    step_ = one_step(("c", "TodoWrite", {"todos": todos}), "ok")
    block = render_step(scene(), step_, "digest", 0)
    (call,) = block.messages[0].calls
    assert call.arguments == {
        "todos": "Todo recap: 1 of 3 done; active: item 1 of the plan; next: item 2 of the plan"
    }
    assert [(c.rule, c.id) for c in block.cuts] == [("todo-argument", step_.entry)]
