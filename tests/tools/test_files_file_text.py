"""The line index against plain counting, also of files that grow or change while it is kept."""

import os
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.files import file_text, read
from holdfast.tools.files.file_text import ByteSource, LineCounter, LineIndexes, TextLines
from holdfast.tools.files.read import WIDEST, LineSelection, read_passage
from holdfast.tools.files.text_encoding import UTF8, Encoding, escape_bytes
from support.file_tools import FileTools, text

BLOCK = 16
"""Blocks of a few bytes, so that every seam is met."""


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_text, "BLOCK", BLOCK)
        patch.setattr(read, "BLOCK", BLOCK)
        patch.setattr(file_text, "HELD", 64)
        yield


raws = st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", "漢🙂".encode(), b"\xff", b"word " * 9])).map(
    b"".join
)


def lines_of(raw):
    lines = raw.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(raws)
def test_lines_offsets_and_hash_are_those_of_the_bytes(raw):
    index = LineCounter().count(ByteSource(len(raw), raw))
    lines = lines_of(raw)
    assert index.total == len(lines)
    assert index.hash == sha256(raw).hexdigest()
    assert index.has_last_feed == raw.endswith(b"\n")
    offset = 0
    for number, line in enumerate(lines, 1):
        assert index.offset(ByteSource(len(raw), raw), number) == offset
        offset += len(line) + 1


@given(raws, st.integers(1, 9), st.integers(1, 9))
def test_rows_are_the_lines_without_their_endings(raw, first, column):
    lines = lines_of(raw)
    index = LineCounter().count(ByteSource(len(raw), raw))
    if first > index.total:
        return
    rows, _ = read_passage(TextLines(ByteSource(len(raw), raw), UTF8, index), LineSelection(first, 5, column))
    wanted = [
        (line.removesuffix(b"\r") if number < raw.count(b"\n") else line).decode("utf-8", "surrogateescape")
        for number, line in enumerate(lines)
    ][first - 1 : first + 4]
    assert [row.text for row in rows] == [line[column - 1 :][:WIDEST] for line in wanted]
    assert [row.length for row in rows] == [len(line) for line in wanted]
    assert [row.number for row in rows] == list(range(first, first + len(wanted)))


def test_a_mark_is_no_part_of_the_first_line():
    raw = b"\xef\xbb\xbfone\ntwo\n"
    source, marked = ByteSource(len(raw), raw), Encoding("utf-8", b"\xef\xbb\xbf")
    rows, _ = read_passage(TextLines(source, marked, LineCounter().count(source)), LineSelection(1, 2))
    assert [line.text for line in rows] == ["one", "two"]


def index_of(indexes, path):
    with path.open("rb") as file:
        return indexes.index(file.fileno())[0]


@given(st.lists(raws, min_size=1, max_size=5))
def test_a_file_that_grows_is_counted_from_where_it_ended(pieces):
    indexes = LineIndexes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        whole = b""
        for piece in pieces:
            whole += piece
            with path.open("ab") as file:
                file.write(piece)
            index = index_of(indexes, path)
            assert (index.total, index.hash) == (len(lines_of(whole)), sha256(whole).hexdigest())


def test_only_what_was_added_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(file_text, "BLOCK", 256)
    path, indexes, read = tmp_path / "log", LineIndexes(), []
    path.write_bytes(b"line of a log\n" * 100)
    os.utime(path, (1, 1))
    index_of(indexes, path)
    with path.open("ab") as file:
        file.write(b"one more\n")
    os.utime(path, (2, 2))
    pread = os.pread
    monkeypatch.setattr(
        os, "pread", lambda fd, count, offset: read.append((offset, count)) or pread(fd, count, offset)
    )
    assert index_of(indexes, path).total == 101
    # Beginnings of blocks are compared; only the last ones are read whole.
    assert all(offset >= 1400 // 256 * 256 for offset, count in read if count > 64)
    assert sum(count for _, count in read) < 700
    read.clear()
    assert index_of(indexes, path).total == 101
    assert read == []


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b"\n", b" ", 1),
        lambda raw: raw[:-20],
        lambda raw: b"x\n" + raw,
        lambda raw: raw[:40] + b"inserted\n" + raw[40:],
        lambda raw: raw[:0],
    ],
    ids=["same size", "shorter", "before", "inside", "emptied"],
)
def test_a_file_that_changed_is_counted_again(tmp_path, change):
    path, indexes = tmp_path / "log", LineIndexes()
    raw = b"".join(b"line %d of a log\n" % n for n in range(100))
    path.write_bytes(raw)
    assert index_of(indexes, path).total == 100
    raw = change(raw)
    with path.open("r+b") as file:
        file.write(raw)
        file.truncate()
    os.utime(path, (5, 5))
    index = index_of(indexes, path)
    assert (index.total, index.hash) == (len(lines_of(raw)), sha256(raw).hexdigest())


def test_few_indexes_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(file_text, "MOST_INDEXES", 3)
    indexes = LineIndexes()
    for number in range(9):
        path = tmp_path / str(number)
        path.write_bytes(b"x\n" * number)
        assert index_of(indexes, path).total == number
    assert len(indexes._kept) == 3


def test_a_large_file_reads_like_a_small_one(tmp_path):
    tools = FileTools(tmp_path)
    lines = [f"row {n} é" for n in range(1, 1001)]
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    result = tools.read("log", offset=-2)
    assert text(result) == "   999\trow 999 é\n  1000\trow 1000 é\n(lines 999-1000 of 1000: the end of `log`)"
    assert result.envelope.data["hash"] == sha256((tmp_path / "log").read_bytes()).hexdigest()
    with (tmp_path / "log").open("a") as file:
        file.write("appended\n")
    result = tools.read("log", offset=-1)
    assert "  1001\tappended" in text(result)
    assert "modified_externally" in text(result)
    assert "it had 1000 lines and has 1001" in text(result)


def test_a_large_file_that_is_no_text_or_not_utf_8(tmp_path):
    tools = FileTools(tmp_path)
    (tmp_path / "wide").write_bytes("wide text\n".encode("utf-16") * 50)
    assert "Convert it to UTF-8" in text(tools.read("wide"))
    (tmp_path / "program").write_bytes(b"\0" * 5000)
    assert "binary file" in text(tools.read("program"))
    (tmp_path / "west").write_bytes("für Elise\n".encode("latin-1") * 50)
    assert "    50\tfür Elise\n" in text(tools.read("west"))


def test_what_no_json_can_carry_is_spelled_out():
    assert escape_bytes("a\0b\udcff") == ("a\\x00b\\xff", 2)
    assert escape_bytes("naïve\t漢") == ("naïve\t漢", 0)
