"""One rule per tool: what its digest keeps, what its stub says, and that nothing is cut without an id."""

import json

import pytest

from holdfast.events import AssistantReplied, ToolReturned
from holdfast.ids import text_id
from holdfast.messages import Image, Text, Thinking, ToolCall, ToolMessage
from holdfast.packing.blocks import render_step
from holdfast.packing.clip import clip_chars, clip_tokens
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.renditions import Scene, reduce_result
from holdfast.tool_use import recognise
from holdfast.views.transcript import Transcript
from support.driving import counter
from support.logs import chained, result, step, user


def scene(profile=CODE):
    return Scene(profile, counter())


def reduced(name, arguments, text, level="digest", cap=0, profile=CODE):
    return reduce_result(scene(profile), recognise(ToolCall("c", name, arguments)), text, level, cap)


def numbered(count, word="row"):
    return "\n".join(f"{word} {i} with some words on it" for i in range(1, count + 1))


def body(text):
    """Lines of a digest without its mark and its gap lines."""
    return [line for line in text.split("\n") if not line.startswith(("[holdfast:", "[… line"))]


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
    assert "[… lines 501-900]" in shown


def test_a_read_keeps_within_its_share():
    text = numbered(900)
    shown = reduced("Read", {"file_path": "a.py"}, text, cap=300)
    assert counter().text(shown) <= 340
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
    use = recognise(ToolCall("c", "Recall", {"id": source}))
    shown = reduce_result(scene(), use, numbered(80), "digest", 0)
    assert f'Recall(id="{source}")' in shown


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
        scene(), one_step(("c", "Write", {"file_path": "a.py", "content": content}), "ok"), "digest", 0, {}
    )
    arguments = block.messages[0].calls[0].arguments
    assert arguments["file_path"] == "a.py"
    assert arguments["content"].startswith("row 1 with")
    assert text_id(content) in arguments["content"]
    assert len(arguments["content"]) < len(content) / 5
    assert [c.rule for c in block.cuts] == ["write-argument"]


def test_a_digested_step_loses_its_thoughts_and_says_so():
    reply = AssistantReplied((Thinking("secret plan", "sig"), Text("hi"), ToolCall("c", "LS", {})))
    transcript = Transcript(chained([user("go"), reply, result("c", "ok")]))
    block = render_step(scene(), transcript.steps[0], "digest", 0, {})
    assert [type(p) for p in block.messages[0].parts] == [Text, ToolCall]
    assert [(c.rule, c.id) for c in block.cuts] == [("thinking", text_id("secret plan"))]


def test_a_picture_is_kept_until_its_step_is_digested():
    picture = Image("image/png", "QUJD" * 100)
    events = [user("go"), step("", ("c", "Read", {})), ToolReturned("c", "Read", (picture,))]
    full = render_step(scene(), Transcript(chained(events)).steps[0], "full", 0, {})
    assert full.messages[1].parts == (picture,)
    digest = render_step(scene(), Transcript(chained(events)).steps[0], "digest", 0, {})
    assert isinstance(digest.messages[1], ToolMessage)
    assert text_id(picture.data) in digest.messages[1].text


def test_more_calls_than_a_provider_takes_are_sent_in_groups():
    calls = [(f"c{i}", "Read", {"path": f"{i}"}) for i in range(300)]
    events = [user("go"), step("many", *calls), *(result(f"c{i}", "ok") for i in range(300))]
    block = render_step(scene(), Transcript(chained(events)).steps[0], "full", 0, {})
    assert [len(m.calls) for m in block.messages if hasattr(m, "calls")] == [128, 128, 44]
