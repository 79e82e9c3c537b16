"""What people get wrong: each is one sentence that names file and line, with a hint, or forgiven with a note."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recording_samples import CLAUDE_CODE, FILES, NEUTRAL, OPENAI, events_of, messages_of, write_lines

from holdfast.errors import InputError, NotFound
from holdfast.events import UserSaid
from holdfast.messages import Text
from holdfast.recordings import FORMATS, detect_format, find_recording, read_recordings
from holdfast.recordings.json_lines import RecordingFile, check_complete
from holdfast.recordings.recording_files import scan_recordings


def refused(path: Path, format: str | None = None) -> InputError:  # noqa: A002
    with pytest.raises(InputError) as caught:
        list(read_recordings(path, format))
    assert path.name in caught.value.message
    assert caught.value.hint
    assert caught.value.message.count(". ") == 0
    return caught.value


def lines_of(path: Path, values: list[Any]) -> list[bytes]:
    return write_lines(path, values).read_bytes().split(b"\n")


@pytest.mark.parametrize(
    "content", [b"", b"\n \n\t\n", gzip.compress(b"")], ids=["no bytes", "blank", "gzip"]
)
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)
    assert "is empty" in refused(path).message


def test_a_list_without_messages(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(b"[]")
    assert refused(path).message == "other.json is not a recording: the list is empty."


@pytest.mark.parametrize("content", [b"42", b'"hello"', b"null", b"true", b"[1, 2]", b'{"a": 1}'])
def test_json_that_is_no_recording(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    assert "not a recording in a known format" in refused(path).message


@pytest.mark.parametrize("content", [b"# Notes\n\nsome text\n", b"<html>", b"{'role': 'user'}\n"])
def test_text_that_is_no_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(content)
    assert "line 1 is not valid JSON" in refused(path).message


@pytest.mark.parametrize("format", FORMATS)
def test_the_wrong_format_is_named(tmp_path: Path, format: str) -> None:  # noqa: A002
    other = "codex" if format != "codex" else "pi"
    name, values = FILES[other]
    error = refused(write_lines(tmp_path / name, values), format)
    assert f"is not {format}: line 1 looks like {other}" in error.message
    assert f"--from {other}" in error.hint


def test_an_unknown_format_names_the_nearest(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", CLAUDE_CODE)
    with pytest.raises(InputError, match="`claudecode` is not a format") as caught:
        find_recording(path, format="claudecode")
    assert "`claude-code`" in caught.value.hint


@pytest.mark.parametrize("format", FORMATS)
def test_each_format_is_recognised(tmp_path: Path, format: str) -> None:  # noqa: A002
    name, values = FILES[format]
    path = write_lines(tmp_path / name, values)
    assert find_recording(path).source == format
    assert detect_format(values) == format
    assert find_recording(path, format=format) == find_recording(path)


def test_a_bad_byte_in_the_middle_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = lines_of(path, CLAUDE_CODE)
    lines[4] = lines[4][:50] + b"\xff" + lines[4][50:]
    path.write_bytes(b"\n".join(lines))
    assert "line 5 is damaged: byte 50 of the line is not valid UTF-8" in refused(path).message


def test_nul_bytes_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = lines_of(path, CLAUDE_CODE)
    lines[3] = b"\0" * 100
    path.write_bytes(b"\n".join(lines))
    assert "line 4 is damaged: byte 0 of the line is a NUL" in refused(path).message


def test_damage_in_a_document_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    text = json.dumps(OPENAI, indent=1).split("\n")
    text[7] = "oops"
    path.write_text("\n".join(text))
    assert "line 8 is not valid JSON" in refused(path).message
    path.write_text("\n".join(text[:7]))
    assert "line 7 is not valid JSON" in refused(path).message


@pytest.mark.parametrize("number", [1, 4])
def test_a_damaged_line_elsewhere_is_named(tmp_path: Path, number: int) -> None:
    path = tmp_path / "a.jsonl"
    lines = lines_of(path, CLAUDE_CODE)
    lines[number - 1] = lines[number - 1][:-20]
    path.write_bytes(b"\n".join(lines))
    assert f"line {number} is not valid JSON" in refused(path).message


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [*CLAUDE_CODE, [1]])
    assert f"line {len(CLAUDE_CODE) + 1} is not a JSON object" in refused(path).message


@pytest.mark.parametrize("tail", [b'{"type":"user","mess', b"\0\0\0\0", b'{"type":"us\xe4', b"nul"])
def test_a_torn_last_line_is_forgiven_and_said(tmp_path: Path, tail: bytes) -> None:
    path = write_lines(tmp_path / "a.jsonl", CLAUDE_CODE)
    whole = find_recording(path)
    path.write_bytes(path.read_bytes() + tail)
    torn = find_recording(path)
    assert torn.events == whole.events
    assert torn.notes[0] == f"line {len(CLAUDE_CODE) + 1}, the last one, is torn and was left out"


def test_a_damaged_last_line_with_its_newline_is_not_torn(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", CLAUDE_CODE)
    path.write_bytes(path.read_bytes() + b'{"type":"user","mess\n')
    assert f"line {len(CLAUDE_CODE) + 1} is not valid JSON" in refused(path).message


def test_the_recording_before_a_torn_one_says_so(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{**NEUTRAL, "id": name} for name in ("one", "two", "three")])
    path.write_bytes(path.read_bytes()[:-30])
    one, two = read_recordings(path)
    assert one.notes == ()
    assert two.notes == ("line 3, the last one, is torn and was left out",)


def test_a_gzip_stream_that_breaks_off_is_forgiven_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    # Stored, not compressed: the cut then falls at a known place.
    data = gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in CLAUDE_CODE), compresslevel=0)
    path.write_bytes(data[: len(data) // 2])
    recording = find_recording(path)
    assert "gzip data is cut off" in recording.notes[0]
    assert "is torn" in recording.notes[1]
    assert 0 < len(messages_of(recording)) < 5


def cut_off_gzip(path: Path, names: tuple[str, ...]) -> Path:
    """A gzip file of neutral recordings that ends in the middle of the last one."""
    lines = [json.dumps({**NEUTRAL, "id": name}).encode() + b"\n" for name in names]
    # Stored, not compressed: the cut then falls at a known place.
    data = gzip.compress(b"".join(lines), compresslevel=0)
    path.write_bytes(data[: len(data) - len(lines[-1]) // 2])
    return path


def test_recordings_lost_in_a_gzip_file_that_is_cut_off_are_said(tmp_path: Path) -> None:
    file = RecordingFile(cut_off_gzip(tmp_path / "a.jsonl.gz", ("one", "two", "three")))
    assert [recording.id for recording in scan_recordings(file)] == ["one", "two"]
    with pytest.raises(
        InputError, match=r"a\.jsonl\.gz: the gzip data is cut off in line 3; the rest is missing"
    ):
        check_complete([file])
    with pytest.raises(NotFound, match=r"no recording `three` \(the gzip data is cut off in line 3"):
        find_recording(file.path, "three")


def test_a_whole_file_lost_nothing(tmp_path: Path) -> None:
    file = RecordingFile(
        write_lines(tmp_path / "a.jsonl.gz", [{**NEUTRAL, "id": "one"}, {**NEUTRAL, "id": "two"}])
    )
    assert len(list(scan_recordings(file))) == 2
    check_complete([file])


@pytest.mark.parametrize("length", [2, 5, 10, 14])
def test_a_gzip_file_cut_off_before_its_first_byte_is_damaged_not_empty(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(NEUTRAL).encode())[:length])
    error = refused(path)
    assert "line 1 is damaged: its gzip data cannot be read" in error.message
    assert "restore the file" in error.hint


@pytest.mark.parametrize("kept", [1, 9, 60])
def test_a_gzip_file_cut_off_in_its_first_value_is_said_to_be_cut_off(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "a.jsonl.gz"
    content = json.dumps(NEUTRAL).encode()
    data = gzip.compress(content, compresslevel=0)
    path.write_bytes(data[: data.index(content) + kept])
    error = refused(path)
    assert "is cut off: its gzip data ends in line 1, before any whole value" in error.message
    assert error.hint == "restore the file from a copy, or download it again"


@pytest.mark.parametrize("indent", [None, 1])
def test_the_hint_for_an_array_that_is_cut_off_works(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "chat.json"
    whole = json.dumps(OPENAI, indent=indent)
    path.write_text(whole[:-20])
    error = refused(path)
    assert "the file ends in the middle of a value" in error.message
    assert "delete the unfinished value at its end and the comma before it" in error.hint
    assert "close the brackets that are still open, such as with `]`" in error.hint
    last = json.dumps(OPENAI[:-1], indent=indent).removesuffix("]").rstrip()
    assert whole.startswith(last)
    path.write_text(last + "]")
    assert find_recording(path).source == "openai"


def test_damaged_gzip_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    data = bytearray(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in CLAUDE_CODE)))
    data[-6] ^= 0xFF
    path.write_bytes(data)
    assert "gzip data cannot be read" in refused(path).message


def test_a_gz_that_is_no_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_text(json.dumps(NEUTRAL))
    assert "is not gzip data" in refused(path).message


def test_gzip_is_known_by_its_bytes_not_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(json.dumps(NEUTRAL).encode()))
    assert find_recording(path).id == "demo/one"


def test_missing_files_and_directories(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "nowhere.jsonl").message
    assert "is a directory" in refused(tmp_path).message


def test_utf_16_and_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(NEUTRAL), encoding="utf-16")
    assert "UTF-16" in refused(path).message
    path.write_text(json.dumps(NEUTRAL) + "\r\n", encoding="utf-8-sig", newline="")
    assert find_recording(path).id == "demo/one"


@pytest.mark.parametrize("depth", [250, 100_000])
@pytest.mark.parametrize("end", ["", "\n"])
def test_deep_nesting_is_refused(tmp_path: Path, depth: int, end: str) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text(
        '{"id":"x","meta":{},"messages":[{"role":"user","content":' + "[" * depth + "]" * depth + "}]}" + end
    )
    assert "line 1 nests JSON more than" in refused(path).message
    path.write_text(json.dumps(NEUTRAL) + "\n" + "[" * depth + "]" * depth + "\n")
    assert "line 2 nests JSON more than" in refused(path).message


def test_one_line_of_16_megabytes(tmp_path: Path) -> None:
    text = "0123456789abcdef" * (1 << 20)
    recording = find_recording(write_lines(tmp_path / "a.jsonl", [{"role": "user", "content": text}]))
    assert events_of(recording, UserSaid)[0].parts == (Text(text),)


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    said = r"pair \ud83d\ude00, escaped \\ud800, alone \ud800 and \uDC00!"
    path.write_text('{"role":"user","content":"' + said + '"}\n')
    recording = find_recording(path)
    assert events_of(recording, UserSaid)[0].parts == (Text("pair 😀, escaped \\ud800, alone � and �!"),)
    assert recording.notes == ("replaced by U+FFFD: lone surrogates (2)",)
    assert msgspec.json.encode(recording)


def test_several_recordings_need_an_id(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{**NEUTRAL, "id": f"demo/{n}-end"} for n in range(12)])
    with pytest.raises(InputError, match="holds several recordings") as caught:
        find_recording(path)
    assert "`holdfast show a.jsonl` lists them; `--id`" in caught.value.hint
    assert find_recording(path, "demo/3-end").id == find_recording(path, "3-end").id == "demo/3-end"
    assert find_recording(path, "demo/4").id == "demo/4-end"
    with pytest.raises(InputError, match="`demo/1` fits 3 recordings"):
        find_recording(path, "demo/1")
    with pytest.raises(NotFound, match="holds no recording `demo/99-end`") as missing:
        find_recording(path, "demo/99-end")
    assert "`demo/9-end`" in missing.value.hint


def test_finding_one_recording_leaves_the_others_undecoded(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{**NEUTRAL, "id": "one"}, {**NEUTRAL, "id": "two"}])
    first, second, _ = path.read_bytes().split(b"\n")
    path.write_bytes(first + b"\n" + second.replace(b'"Done."', b'["not", {"a": "text"}]') + b"\n{damaged}\n")
    assert find_recording(path, "one").id == "one"


def json_values() -> st.SearchStrategy[Any]:
    leaves = (
        st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    )
    texts = st.sampled_from(
        ["", "user", "assistant", "message", "text", "tool_use", "c1", "é\u2028\x85", "{"]
    )
    return st.recursive(
        leaves | texts,
        lambda v: st.lists(v, max_size=2) | st.dictionaries(texts, v, max_size=2),
        max_leaves=5,
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        found += places(child, (*path, key))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_field_may_be_anything(tmp_path: Path, format: str, data: st.DataObject) -> None:  # noqa: A002
    """A recording with wrong fields is read as far as it goes or refused; nothing else is ever raised."""
    name, values = FILES[format]
    changed = json.loads(json.dumps(values))
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(places(changed)[1:]))
        parent = changed
        for key in path:
            parent = parent[key]
        parent[last] = data.draw(json_values())
        if len(places(changed)) == 1:
            break
    try:
        recordings = list(read_recordings(write_lines(tmp_path / name, changed), format))
    except InputError:
        return
    for recording in recordings:
        encoded = msgspec.json.encode(recording)
        assert msgspec.json.decode(encoded, type=type(recording)) == recording
        assert all(r.after is None or r.after < n for n, r in enumerate(recording.events))


@pytest.mark.parametrize("format", ["claude-code", "neutral", "openai"])
@pytest.mark.parametrize("packed", [False, True])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_may_be_damaged(tmp_path: Path, format: str, packed: bool, data: st.DataObject) -> None:  # noqa: A002
    """Flipped, lost or added bytes give a recording or an `InputError`, never another exception."""
    _, values = FILES[format]
    raw = bytearray(write_lines(tmp_path / ("a.jsonl.gz" if packed else "a.jsonl"), values).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / "damaged"
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)) | st.just(len(raw)))])
    try:
        recordings = list(read_recordings(path))
    except InputError:
        return
    assert all(msgspec.json.encode(recording) for recording in recordings)
