"""opencode's SQLite database: every session of a machine, with those of its sub-agents.

Rule: it is opened for reading and never changed. Rows become the values that `opencode export` writes, so that both
are read alike.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from holdfast.errors import InputError
from holdfast.events import Recording
from holdfast.messages import Json
from holdfast.recordings import opencode
from holdfast.wire.foreign_json import Losses, decode_or_none, obj, seconds
from holdfast.wire.recording_builder import RecordingBuilder

HEADER = b"SQLite format 3\0"
LONGEST_WAIT = 0.5
"""Seconds for a lock to go."""
HINT = "give opencode's `opencode.db`, or a file that `opencode export` wrote"
_SESSIONS = "SELECT id, parent_id, directory, title, version, revert FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"
_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged database raises; the second where SQLite quotes a schema that is no text."""
_SHORT = (
    "SELECT session.id, parent_id, title, max(message.time_created) FROM session"
    " JOIN message ON message.session_id = session.id GROUP BY session.id"
)
_SIZES = "SELECT session_id, sum(length(data)) FROM part GROUP BY session_id"


def is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False


class SessionRow(msgspec.Struct, frozen=True):
    """A session of the database without its messages; `size` is about how much there is to read, in bytes."""

    id: str
    parent: str
    info: dict[str, Json]
    size: int


def session_rows(path: Path) -> list[SessionRow]:
    """Every session, the oldest first."""
    with closing(_open(path)) as database:
        try:
            sizes = dict(database.execute(_SIZES))
            rows = database.execute(_SESSIONS).fetchall()
        except _FAULTS as error:
            raise _refusal(path, error) from error
    found: list[SessionRow] = []
    for key, parent, directory, title, version, revert in rows:
        own = str(key)
        info = {"id": own, "parentID": parent, "directory": directory, "title": title, "version": version}
        size = sizes.get(key) or 0
        found.append(SessionRow(own, str(parent or ""), info | {"revert": decode_or_none(revert)}, size))
    return found


class SessionTitle(msgspec.Struct, frozen=True):
    """A session as far as it is known without its texts; `last_at` is when its newest message began."""

    id: str
    title: str
    last_at: float | None


def session_titles(path: Path) -> list[SessionTitle]:
    """Every session that has a message and that no other started."""
    with closing(_open(path)) as database:
        try:
            rows = database.execute(_SHORT).fetchall()
        except _FAULTS as error:
            raise _refusal(path, error) from error
    known = {row[0] for row in rows}
    found = [
        SessionTitle(str(own), str(title or ""), seconds(at))
        for own, parent, title, at in rows
        if parent not in known
    ]
    if not found:
        raise _no_session(path)
    return found


def database_recordings(path: Path) -> Iterator[tuple[str, partial[Recording], int]]:
    """Id, reader and size of every session that no other started."""
    rows = session_rows(path)
    known = {row.id for row in rows}
    roots = [row for row in rows if row.parent not in known]
    for row in roots:
        yield row.id, partial(read_session, path, row.id), row.size
    if not roots:
        raise _no_session(path)


def read_session(path: Path, id: str) -> Recording:  # noqa: A002
    """One session, with those of its sub-agents as chains."""
    rows = session_rows(path)
    builder = RecordingBuilder(opencode.NAME, where=f"{path.name} session {id}")
    family = {id}
    for row in rows:
        # A sub-agent's session is younger than the one that started it.
        if row.parent in family:
            family.add(row.id)
    with closing(_open(path)) as database:
        try:
            sessions = {row.id: _session(database, row, builder.losses) for row in rows if row.id in family}
        except _FAULTS as error:
            raise _refusal(path, error) from error
    return opencode.read_sessions(sessions.pop(id), sessions, builder, id)


def _session(database: sqlite3.Connection, row: SessionRow, losses: Losses) -> opencode.SessionValue:
    parts: dict[str, list[Json]] = {}
    for message, data in database.execute(_PARTS, (row.id,)):
        parts.setdefault(message, []).append(_row_value(data, losses))
    messages = [
        {"info": {**obj(_row_value(data, losses)), "id": own}, "parts": parts.get(own, [])}
        for own, data in database.execute(_MESSAGES, (row.id,))
    ]
    return {"info": row.info, "messages": messages}


def _row_value(data: Json, losses: Losses) -> Json:
    value = decode_or_none(data)
    if value is None:
        losses.add("left out", "rows that are not valid JSON")
    return value


def _open(path: Path) -> sqlite3.Connection:
    """Changes that opencode has not yet written into the file itself are read too, where its folder allows that."""
    address = path.absolute().as_uri()
    error: Exception | None = None
    for how in ("mode=ro", "mode=ro&immutable=1"):
        try:
            database = sqlite3.connect(f"{address}?{how}", uri=True, timeout=LONGEST_WAIT)
            database.text_factory = _readable_text
            database.execute("SELECT 1 FROM session LIMIT 1").close()
        except _FAULTS as problem:
            error = error or problem
        else:
            return database
    assert error is not None
    raise _refusal(path, error) from error


def _readable_text(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _no_session(path: Path) -> InputError:
    return InputError(f"{path.name} holds no session", hint=HINT)


def _refusal(path: Path, error: Exception) -> InputError:
    if isinstance(error, sqlite3.OperationalError) and "no such" in str(error):
        return InputError(f"{path.name} is a database, but not opencode's: {error}", hint=HINT)
    return InputError(f"{path.name} is damaged: it cannot be read as a database ({error})", hint=HINT)
