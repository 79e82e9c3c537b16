"""A log as a JSONL file: a head, then one entry a line with its texts in place.

Rule: the ids in the file are recomputed before anything is stored, so a damaged or edited line is named and
nothing of its file is kept.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.events import SCHEMA, Entry, LogStarted
from holdfast.ids import entry_id
from holdfast.store.encoding import decode_entry, encode_event
from holdfast.store.protocol import EntryDraft, LogHead, Store

PAGE = 200


class _Head(Struct, frozen=True, tag_field="holdfast", tag="log"):
    """The first line: which log, and how many entries follow."""

    id: str
    entries: int
    schema: int = SCHEMA


class LogFile(Struct, frozen=True):
    """A file that was read and checked. Storing `drafts` gives the same entries, ids included."""

    head: LogHead
    entries: tuple[Entry, ...]
    drafts: tuple[EntryDraft, ...]


def export_lines(store: Store, log: str) -> Iterator[bytes]:
    """The lines of the file. What is appended meanwhile is not included."""
    info = store.info(log)
    yield msgspec.json.encode(_Head(log, info.entries, info.head.schema)) + b"\n"
    seq = 0
    while seq < info.entries:
        page = store.read(log, since=seq, limit=min(PAGE, info.entries - seq))
        for row in page.rows:
            yield msgspec.json.encode(decode_entry(row, page.texts)) + b"\n"
        seq = page.rows[-1].seq


def read_log_lines(lines: Iterable[bytes]) -> LogFile:
    """A file's content, or an InputError that names the line."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    head = _head(next(numbered, (1, b"")))
    entries: list[Entry] = []
    drafts: list[EntryDraft] = []
    places: dict[str, int] = {}
    number = 1
    for number, line in numbered:
        entry = _entry(number, line)
        body, kept = encode_event(entry.event)
        _check(number, entry, body, head, expected=len(entries) + 1, places=places)
        after = None if entry.parent is None else places[entry.parent]
        drafts.append(EntryDraft(body, tuple(kept.values()), entry.chain, entry.at, after=after))
        places[entry.id] = len(entries)
        entries.append(entry)
    if len(entries) != head.entries:
        raise InputError(
            f"the file ends at line {number} with {len(entries)} of the {head.entries} entries it announces",
            hint="it was cut off or lines were removed: export the log again",
        )
    return LogFile(_log_head(head, entries), tuple(entries), tuple(drafts))


def _head(first: tuple[int, bytes]) -> _Head:
    number, line = first
    try:
        head = msgspec.json.decode(line, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InputError(
            f"line {number} is not the head of an exported log",
            hint="`holdfast logs export` writes such files; recordings of other agents are read by `holdfast pack`",
        ) from None
    if head.schema > SCHEMA:
        raise InputError(
            f"the file has event schema {head.schema}, and this version knows {SCHEMA}",
            hint="a newer Holdfast wrote it: upgrade this one",
        )
    return head


def _entry(number: int, line: bytes) -> Entry:
    try:
        return msgspec.json.decode(line, type=Entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"line {number} is not an entry: {error}", hint="export the log again") from None


def _check(
    number: int, entry: Entry, body: bytes, head: _Head, *, expected: int, places: dict[str, int]
) -> None:
    wrong = ""
    if entry.log != head.id:
        wrong = f"belongs to log `{entry.log}`, not to `{head.id}`"
    elif entry.seq != expected:
        wrong = f"is entry number {entry.seq} where {expected} is due"
    elif entry.parent is None and entry.seq > 1:
        wrong = "follows no entry, though it is not the first"
    elif entry.parent is not None and entry.parent not in places:
        wrong = f"follows entry `{entry.parent}`, which is not before it"
    elif entry_id(entry.log, entry.seq, entry.parent, body) != entry.id:
        wrong = f"was changed after it was written: its content does not match the id `{entry.id}`"
    if wrong:
        raise InputError(f"line {number} {wrong}", hint="export the log again; nothing was imported")


def _log_head(head: _Head, entries: list[Entry]) -> LogHead:
    first = entries[0].event if entries else None
    if not isinstance(first, LogStarted):
        raise InputError(
            "line 2 is not the start of a log", hint="export the log again; nothing was imported"
        )
    return LogHead(head.id, first.title, first.source, first.origin, first.schema, entries[0].at)
