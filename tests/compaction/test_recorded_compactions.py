"""The comparison with recorded compactions: which identifiers it looks for, and that texts are of one size."""

import json
import sys
from itertools import chain, islice
from pathlib import Path

import pytest

from holdfast.recordings.recording_files import read_recordings
from support.recording_folder import recording_files

# Benchmarks are programs beside the package.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from later_use import boundaries_in, count, kind_of, names_kept, said_in, used_later
from recorded_compactions import BOTH, FOLDED, NEAR, RECORDED, RULE, compare, report

SUMMARY = "Go on with parseHeader in src/parser/header.go."


def call(number, name, arguments, result="done"):
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": f"c{number}", "name": name, "arguments": arguments}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "name": name, "content": result},
    ]


BEFORE = [
    {"role": "user", "content": "Make readHeader_v2 and parseHeader agree, see ENT-4711."},
    *call(
        1, "Read", {"file_path": "/home/me/app/src/parser/header.go"}, "func parseHeader() { skipBlank_1() }"
    ),
    *call(2, "Bash", {"command": "ls"}, "frame_counter.go\nframe_reader.go"),
    *call(3, "Edit", {"file_path": "/home/me/app/src/parser/header.go", "new_string": "func writeTail()"}),
]
AFTER = [
    {"role": "user", "content": SUMMARY},
    {"role": "assistant", "content": "Next is writeTail, then readHeader_v2."},
    {"role": "user", "content": "And look at frame_reader.go, too."},
    *call(4, "Read", {"file_path": "/home/me/app/src/parser/header.go", "status": "readHeader_v2"}),
    *call(5, "Grep", {"pattern": "writeTail|brandNew_name"}, "it calls frame_counter.go"),
    *call(6, "Bash", {"command": "cat frame_counter.go frame_reader.go README.md package.json"}),
]


def boundaries_of(folder, messages, events):
    recording = {"id": "one", "source": "x", "messages": messages, "meta": {"events": events}}
    file = folder / "own.jsonl"
    file.write_text(json.dumps(recording), "utf-8")
    return [boundary for read in read_recordings(file) for boundary in boundaries_in(read, "own")]


def compaction(at, summary=SUMMARY):
    return {"type": "compact_boundary", "at": at, "trigger": "auto", "summary": summary}


def test_identifiers_are_those_used_later_that_nothing_since_has_shown(tmp_path):
    (boundary,) = boundaries_of(tmp_path, [*BEFORE, *AFTER], [compaction(len(BEFORE))])
    # `skipBlank_1` is never used, `brandNew_name` is new, both frames were shown again, a status is a tool's own.
    assert used_later(boundary) == {"home/me/app/src/parser/header.go": "path", "writeTail": "edited code"}
    assert names_kept(used_later(boundary), boundary.summary) == {"home/me/app/src/parser/header.go"}


def test_recorded_summaries_are_no_part_of_what_ours_are_made_of(tmp_path):
    later = [{"role": "user", "content": "Second summary."}, *call(7, "Grep", {"pattern": "writeTail"})]
    messages = [*BEFORE, *AFTER, *later]
    events = [compaction(len(BEFORE)), compaction(len(BEFORE) + len(AFTER), "Second summary.")]
    first, second = boundaries_of(tmp_path, messages, events)
    assert (first.number, second.number) == (1, 2)
    assert "writeTail" in used_later(second)
    assert second.before == (*first.before, *first.after)
    assert not any(text in written(second.before + second.after) for text in (SUMMARY, "Second summary."))


@pytest.mark.parametrize(
    ("name", "text", "is_kept", "is_whole"),
    [
        ("parseHeader", "parser.parseHeader()", True, True),
        ("parseHeader", "parseHeaders", False, False),
        ("parseHeader", "re-parseHeader", False, False),
        ("home/me/src/a.go", "in /home/me/src/a.go", True, True),
        ("home/me/src/a.go", "in src/a.go:12", True, False),
        ("home/me/src/a.go", "in a.go", False, False),
        ("home/me/src/a.go", "in lib_src/a.go", False, False),
    ],
)
def test_kept_is_what_stands_as_a_whole_name(name, text, is_kept, is_whole):
    assert names_kept([name], text) == ({name} if is_kept else set())
    assert names_kept([name], text, is_whole=True) == ({name} if is_whole else set())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("src/a.go", "path"),
        ("6d61daaa", "id"),
        ("ENT-241", "id"),
        ("state.go", "file"),
        ("state.Phase", "other code"),
        ("agent_lines", "other code"),
        ("best-effort", "word"),
    ],
)
def test_kinds(name, kind):
    assert kind_of(name) == kind


@pytest.mark.slow
@pytest.mark.parametrize("file", recording_files("cc__entireio-cli.jsonl.gz"))
def test_recorded_boundaries_are_compared_at_one_size(file):
    found = chain.from_iterable(boundaries_in(recording, "entireio") for recording in read_recordings(file))
    compared = [compare(boundary) for boundary in islice(found, 2)]
    assert len(compared) == 2
    for one in compared:
        boundary = one.boundary
        assert one.kinds
        before, after = (written(events) for events in (boundary.before, boundary.after))
        assert all(name in before and name in after for name in one.kinds)
        assert one.sizes[RECORDED] == count(boundary.summary) == boundary.tokens
        assert 0 < one.sizes[RULE] <= boundary.tokens
        for by in (FOLDED, BOTH):
            assert abs(one.sizes[by] - boundary.tokens) <= NEAR * boundary.tokens
        assert all(one.whole[by] <= one.kept[by] <= one.kinds.keys() for by in one.kept)
    assert compare(compared[1].boundary) == compared[1]
    assert "| `entireio` | 2 |" in "\n".join(report(compared))


def written(events):
    said = [one for one in map(said_in, events) if one]
    return "\n".join(json.dumps(part, ensure_ascii=False) for one in said for part in one.texts) + "\n".join(
        text for one in said for text in one.texts
    )
