"""The log: what happened, only ever appended to. This module is the only writer.

Rule: nothing reaches a store unredacted, and what `append` returns is exactly what a reader will read.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.errors import InputError, NotFound, StoreError
from holdfast.events import SCHEMA, UNREAD, Entry, Event, Folded, LogStarted, Noted, Recorded, Recording
from holdfast.ids import ALPHABET, is_id, text_id
from holdfast.messages import Json
from holdfast.store.encoding import decode_entry, decode_event, encode_event
from holdfast.store.event_redaction import Redactor, redact_event
from holdfast.store.integrity import Damage, verify
from holdfast.store.log_file import export_lines, read_log_lines
from holdfast.store.protocol import Artifact, EntryDraft, LogHead, LogInfo, Store

Redact = Callable[[str], str]
Prepared = tuple[Event, EntryDraft]
"""An event as it will be read back, and the draft that stores it."""

_LOG_ID = re.compile(r"\w[\w.:@-]{0,99}")


class Log:
    """One log in one store. It holds no entries itself: several processes may append to the same log.

    `existed` is true where an import found that the log was there already and wrote nothing.
    """

    def __init__(self, store: Store, id_: str, redaction: Redactor) -> None:
        self.store = store
        self.id = id_
        self.existed = False
        self._redact_text = redaction.text
        self._redaction = replace(redaction, text=self._redacted)
        self._ahead: dict[str, str] = {}

    @classmethod
    def create(
        cls,
        store: Store,
        *,
        id: str = "",  # noqa: A002 - the word users know
        title: str = "",
        source: str = "",
        forked_from: str = "",
        meta: dict[str, Json] | None = None,
        at: float | None = None,
        redact: Redact | None = None,
    ) -> "Log":
        """A new, live log. Without an `id` it gets a random one that sorts by time."""
        log = cls(store, _checked_id(id) if id else new_log_id(), Redactor.chosen(redact, None))
        started = LogStarted(title=title, source=source, forked_from=forked_from, meta=meta or {})
        if not log._start(log._prepared([Recorded(started, at=time.time() if at is None else at)])):
            raise InputError(
                f"a log `{log.id}` is in the store already", hint="open that one, or choose another id"
            )
        return log

    @classmethod
    def open(cls, store: Store, id: str, *, redact: Redact | None = None) -> "Log":  # noqa: A002
        """The log with this id, or with an id that begins with it."""
        found = store.resolve(id)
        if found.kind != "log":
            kind = "an entry" if found.kind == "entry" else "a text"
            raise NotFound(f"`{id}` is the id of {kind}, not of a log")
        schema = store.info(found.id).head.schema
        if schema > SCHEMA:
            raise StoreError(
                f"log `{found.id}` has event schema {schema}, and this version knows {SCHEMA}",
                hint="a newer Holdfast wrote it: upgrade this one",
            )
        return cls(store, found.id, Redactor.chosen(redact, None))

    @classmethod
    def import_recording(cls, store: Store, recording: Recording, *, redact: Redact | None = None) -> "Log":
        """A recording as a log, whole or not at all. The same recording gives the same log, once."""
        name = f"recording `{recording.id}`"
        if not recording.events or not isinstance(recording.events[0].event, LogStarted):
            raise InputError(f"{name} does not open with `LogStarted`")
        for index, recorded in enumerate(recording.events):
            if recorded.after is not None and not 0 <= recorded.after < index:
                raise InputError(
                    f"event {index} of {name} follows event {recorded.after}, which is not before it"
                )
        return RecordingImport(redact).writer(recording)(store)

    @property
    def info(self) -> LogInfo:
        return self.store.info(self.id)

    def append(
        self, event: Event, *, parent: str | None = None, chain: str = "", at: float | None = None
    ) -> Entry:
        """Append an event after `parent`, or else after the newest entry of its chain."""
        return self.append_all([event], parent=parent, chain=chain, at=at)[0]

    def append_all(
        self,
        events: Sequence[Event | Recorded],
        *,
        parent: str | None = None,
        chain: str = "",
        at: float | None = None,
    ) -> list[Entry]:
        """Append all events or none, with no other process's events between them.

        `parent` is what the first one follows; `chain` and `at` (now, if not given) are for bare events, a
        `Recorded` brings its own.
        """
        if not events:
            return []
        now = time.time() if at is None else at
        recorded = [e if isinstance(e, Recorded) else Recorded(e, chain=chain, at=now) for e in events]
        prepared = self._prepared(recorded)
        drafts = [draft for _, draft in prepared]
        if parent is not None:
            drafts[0] = replace(drafts[0], parent=parent)
        rows = self.store.append(self.id, drafts)
        return [
            Entry(row.id, row.log, row.seq, row.parent, event, row.chain, row.at)
            for (event, _), row in zip(prepared, rows, strict=True)
        ]

    def redact_ahead(self, text: str) -> None:
        """Look for secrets in a text now, on any thread, so that the next event with this text need not be
        searched for them when it is appended."""
        self._ahead[text] = self._redact_text(text)

    def _redacted(self, text: str) -> str:
        ahead = self._ahead.pop(text, None)
        return self._redact_text(text) if ahead is None else ahead

    def stored(self, event: Event) -> Event:
        """An event as it would be read back from this log: redacted."""
        return self._prepared([Recorded(event)])[0][0]

    def entries(self, since: int = 0) -> list[Entry]:
        """The entries with numbers above `since`, oldest first."""
        page = self.store.read(self.id, since)
        return [decode_entry(row, page.texts) for row in page.rows]

    def keep_indices(self, fold: Folded) -> None:
        """Keep the texts that a fold's notes refer to, where the fold itself is not appended (it was only tried).

        As they are: they were written by rule from entries that were redacted before, and an id must not change.
        """
        for note in fold.notes:
            self.store.put(Artifact(text_id(note.index), note.index), self.id)

    def verify(self) -> list[Damage]:
        """Everything in this log that differs from what was written."""
        return verify(self.store, self.id)

    def _prepared(self, recorded: Sequence[Recorded]) -> list[Prepared]:
        return [_prepare(item, self._redaction) for item in recorded]

    def _start(self, prepared: Sequence[Prepared]) -> bool:
        """Create the log with its first entries; false if it is there already."""
        started, draft = prepared[0]
        assert isinstance(started, LogStarted), "the first event of a log is LogStarted"
        head = LogHead(self.id, started.title, started.source, started.origin, started.schema, draft.at)
        return bool(self.store.create(head, [draft for _, draft in prepared]))


class RecordingImport:
    """Imports of one recording that grows: each event is redacted and encoded once."""

    def __init__(self, redact: Redact | None) -> None:
        self._redaction = Redactor.chosen(redact, None)
        self._prepared: list[Prepared] = []

    def read(self, recording: Recording) -> list[Event]:
        """The events that came since the last time, as a reader of the log will read them."""
        known = len(self._prepared)
        self._prepared += [_prepare(item, self._redaction) for item in recording.events[known:]]
        return [event for event, _ in self._prepared[known:]]

    def writer(self, recording: Recording) -> Callable[[Store], Log]:
        """Writes the recording as it is now: whole, with its notes, or not at all."""
        self.read(recording)
        known, redaction = tuple(self._prepared), self._redaction

        def write(store: Store) -> Log:
            # The title in the first event may be that of a later message.
            notes = (Recorded(Noted(UNREAD, note)) for note in recording.notes)
            first, *last = (_prepare(item, redaction) for item in (recording.events[0], *notes))
            prepared = [first, *known[1:], *last]
            log = Log(store, _recording_id(recording, prepared), redaction)
            log.existed = not log._start(prepared)  # noqa: SLF001 - its own module
            return log

        return write


def export_log(log: Log) -> Iterator[bytes]:
    """The log as lines of JSON, with all texts in place."""
    return export_lines(log.store, log.id)


def import_log(store: Store, lines: Iterable[bytes], *, redact: Redact | None = None) -> Log:
    """The log that `export_log` wrote, with the same ids; checked whole before anything is stored."""
    file = read_log_lines(lines)
    log = Log(store, _checked_id(file.head.id), Redactor.chosen(redact, None))
    for entry in file.entries:
        if redact_event(entry.event, log._redaction) != entry.event:  # noqa: SLF001 - its own module
            # Redacting here would change this id and all that refer to it.
            raise InputError(
                f"entry number {entry.seq} of the file holds something that looks like a secret",
                hint="nothing was imported; the file was made with weaker rules for secrets",
            )
    log.existed = not store.create(file.head, file.drafts)
    there = [row.id for row in store.read(log.id).rows] if log.existed else []
    if log.existed and there[: len(file.entries)] != [entry.id for entry in file.entries]:
        raise InputError(
            f"another log `{log.id}` is in the store, with {len(there)} entries that are not the file's",
            hint="delete that log first, or import into another store",
        )
    return log


def new_log_id() -> str:
    """An id that sorts by time: 45 bits of milliseconds, then 35 random ones."""
    number = (time.time_ns() // 1_000_000) << 35 | secrets.randbits(35)
    return "l" + "".join(ALPHABET[(number >> shift) & 31] for shift in range(75, -1, -5))


def _prepare(recorded: Recorded, redaction: Redactor) -> Prepared:
    body, kept = encode_event(redact_event(recorded.event, redaction))
    try:
        event = decode_event(body, {id_: artifact.text for id_, artifact in kept.items()})
    except msgspec.ValidationError as error:
        name = type(recorded.event).__name__
        raise InputError(f"the event `{name}` holds a value that cannot be read back: {error}") from None
    draft = EntryDraft(body, tuple(kept.values()), recorded.chain, recorded.at, after=recorded.after)
    return event, draft


def _recording_id(recording: Recording, prepared: Sequence[Prepared]) -> str:
    """Derived from what is stored, not from what was redacted: an id must not help to guess a secret."""
    parts = [f"{recording.source}\n{recording.id}"]
    for _, draft in prepared:
        parts.append(f"{draft.chain}\n{draft.at}\n{draft.after}\n{draft.body.decode()}")
    return "l" + text_id("\n\n".join(parts))[1:]


def is_log_id(text: str) -> bool:
    """Whether a log may have this id."""
    return bool(_LOG_ID.fullmatch(text)) and not is_id(text)


def _checked_id(id_: str) -> str:
    if not is_log_id(id_):
        raise InputError(
            f"`{id_[:100]}` cannot be the id of a log",
            hint="use up to 100 letters, digits and . : @ _ -, but not the shape of an entry's or a text's id",
        )
    return id_
