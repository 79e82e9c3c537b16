"""Server-sent events come out the same however the bytes are cut."""

import asyncio
import itertools
from collections.abc import Iterable

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.errors import BadReply
from holdfast.models.transport import ServerSentEvent, SseDecoder

NEWLINES = st.sampled_from([b"\n", b"\r\n", b"\r"])
LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=12)
NAMES = st.text(
    st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), min_size=1, max_size=8
).filter(lambda name: not name.startswith(" "))
NOISE = st.one_of(
    LINES.map(lambda text: b":" + text.encode()),
    st.sampled_from([b"id: 7", b"retry: 10", b"unknown: x", b"dat: x", b"event-x: 1"]),
)
RAW = st.lists(
    st.one_of(
        st.sampled_from(
            [
                b"data",
                b"event",
                b":",
                b" ",
                b"\n",
                b"\r",
                b"\r\n",
                b"data: x\n",
                b"event: e\n",
                "ü€😀".encode(),
            ]
        ),
        st.binary(max_size=3),
    ),
    max_size=40,
).map(b"".join)


def decoded(pieces: Iterable[bytes]) -> list[ServerSentEvent]:
    decoder = SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(raw), *(place % (len(raw) + 1) for place in places)})
    return [raw[a:b] for a, b in itertools.pairwise(borders)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[ServerSentEvent]]:
    """A stream as bytes, with every freedom the standard gives, and the events that are in it."""
    raw = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    events = []
    for _ in range(draw(st.integers(0, 5))):
        name = draw(st.one_of(st.just(""), NAMES))
        data = draw(st.lists(LINES, min_size=1, max_size=3))
        lines = [b"event:" + draw(st.sampled_from([b" ", b""])) + name.encode()] if name else []
        lines += [b"data: " + line.encode() for line in data]
        for noise in draw(st.lists(NOISE, max_size=3)):
            lines.insert(draw(st.integers(0, len(lines))), noise)
        ends = [draw(NEWLINES) for _ in lines]
        # A blank line ends as the one before it: a CR before an LF would be one end instead of two.
        raw += b"".join(line + end for line, end in zip(lines, ends, strict=True)) + ends[-1]
        events.append(ServerSentEvent(name, "\n".join(data)))
    return raw, events


@pytest.mark.slow
@given(streams(), st.lists(st.integers(0, 10_000), max_size=20))
def test_a_stream_is_read_whatever_its_newlines_noise_and_pieces(stream, places):
    raw, events = stream
    assert decoded(cut(raw, places)) == events


@given(RAW, st.lists(st.integers(0, 10_000), max_size=20))
def test_pieces_do_not_matter_for_any_bytes(raw, places):
    assert decoded(cut(raw, places)) == decoded([raw]) == decoded(raw[i : i + 1] for i in range(len(raw)))


# Its own ways are left out: it keeps a byte order mark, and takes a CR at the very end for a blank line.
@given(RAW.filter(lambda raw: not raw.startswith(b"\xef\xbb\xbf")).map(lambda raw: raw + b"\n\n"))
def test_httpx2_reads_the_same(raw):
    async def read() -> list[tuple[str, str]]:
        async def content():
            yield raw

        response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content())
        response.request = httpx2.Request("GET", "http://localhost")
        return [(e.event, e.data) async for e in httpx2.EventSource(response) if e.data]

    ours = [(event.name or "message", event.data) for event in decoded([raw]) if event.data]
    assert asyncio.run(read()) == ours


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        pytest.param(b"data: a\n", [], id="not-ended-by-a-blank-line"),
        pytest.param(b"data: a\n\ndata: b", [ServerSentEvent("", "a")], id="cut-in-the-second"),
        pytest.param(b"data: a\ndata\r", [], id="not-ended-by-a-carriage-return"),
        pytest.param(b"event: ping\n\n", [], id="without-data"),
        pytest.param(
            b"event: ping\n\ndata: a\n\n", [ServerSentEvent("", "a")], id="name-without-data-is-forgotten"
        ),
        pytest.param(b"data\n\n", [ServerSentEvent("", "")], id="data-without-colon"),
        pytest.param(b"data:  a\n\n", [ServerSentEvent("", " a")], id="only-one-space-goes"),
        pytest.param(b": comment\n\ndata: a\n\n", [ServerSentEvent("", "a")], id="comment"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [ServerSentEvent("", "a")], id="byte-order-mark"),
        pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", [], id="only-one-mark-goes"),
        pytest.param(
            b"data: \xc3\xa9\xff\xe2\x82\n\n", [ServerSentEvent("", "é\ufffd\ufffd")], id="no-utf-8"
        ),
        pytest.param(
            "data: a\u2028b\x85c\n\n".encode(), [ServerSentEvent("", "a\u2028b\x85c")], id="other-line-ends"
        ),
    ],
)
def test_what_the_standard_says(raw, events):
    assert decoded([raw]) == events
    assert decoded(raw[i : i + 1] for i in range(len(raw))) == events


def test_a_character_cut_in_two_is_whole_again():
    raw = "data: 你好\n\n".encode()
    assert all(decoded([raw[:i], raw[i:]]) == [ServerSentEvent("", "你好")] for i in range(len(raw)))


def test_a_carriage_return_ends_an_event_before_the_next_byte_arrives():
    decoder = SseDecoder()
    assert list(decoder.feed(b"data: a\r\r")) == [ServerSentEvent("", "a")]
    assert list(decoder.feed(b"\ndata: b\r\n\r\n")) == [ServerSentEvent("", "b")]


def test_a_line_of_megabytes_in_small_pieces():
    raw = b"data: " + b"x" * 3_000_000 + b"\n\n"
    pieces = [raw[i : i + 1_000] for i in range(0, len(raw), 1_000)]
    assert decoded(pieces * 2) == [ServerSentEvent("", "x" * 3_000_000)] * 2


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_an_event_may_be_as_large_as_the_limit_and_no_larger(size):
    def read(length: int) -> list[ServerSentEvent]:
        decoder = SseDecoder(largest=106)
        raw = b"data: " + b"x" * length + b"\n\n"
        return [e for i in range(0, len(raw), size) for e in decoder.feed(raw[i : i + size])]

    assert read(100) == [ServerSentEvent("", "x" * 100)]
    with pytest.raises(BadReply, match="larger than 106 bytes"):
        read(107)


def test_many_lines_count_together_and_comments_do_not():
    decoder = SseDecoder(largest=50)
    assert list(decoder.feed(b": a comment\n" * 20 + b"data: a\n\n")) == [ServerSentEvent("", "a")]
    with pytest.raises(BadReply):
        list(decoder.feed(b"data: 0123456789\n" * 6))
