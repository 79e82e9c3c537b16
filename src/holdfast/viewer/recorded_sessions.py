"""Sessions in files and folders: listed by a first look at each file, and read when one is opened.

Rule: nothing but the places that were named is read, and nothing is written. A file is looked at again when it has
changed; the last few sessions that were read are kept.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import InputError, NotFound
from holdfast.events import Recording
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.recordings import opencode
from holdfast.recordings.first_look import look_at_file, look_at_line
from holdfast.recordings.folders import FolderFile, folder_files
from holdfast.recordings.json_lines import RecordingFile
from holdfast.recordings.opencode_database import is_database, read_session, session_titles
from holdfast.recordings.recording_files import LazyRecording, check_format, scan_recordings
from holdfast.store import MemoryStore
from holdfast.viewer.listed_session import ListedSession

KEPT = 4
"""Sessions that are kept in memory."""

Stamp = tuple[float, ...]
"""Size and time of a file; it changes when the file does."""


class RefusedFile(Struct, frozen=True):
    """A file that is no recording, or one that cannot be read; `why` is a sentence."""

    place: str
    why: str


class LookedAt(Struct, frozen=True):
    """What a look at a file found: rows, or why there are none."""

    stamp: Stamp
    rows: tuple[ListedSession, ...] = ()
    refused: RefusedFile | None = None


class SessionPlace(Struct, frozen=True):
    """Where a session is: its file, and its id there if the file has several."""

    path: Path
    own: str
    row: ListedSession


class RecordedSessions:
    def __init__(self, places: Sequence[Path], format: str | None = None) -> None:  # noqa: A002
        check_format(format)
        self._named = tuple(places)
        self._format = format
        self._looks: dict[Path, LookedAt] = {}
        self._unreadable: list[RefusedFile] = []
        self._damaged: dict[Path, RefusedFile] = {}
        self._places: dict[str, SessionPlace] = {}
        self._inside: dict[str, tuple[Stamp, list[ListedSession]]] = {}
        self._logs: OrderedDict[str, tuple[Stamp, Log]] = OrderedDict()
        self._lock = threading.RLock()

    def rows(self) -> list[ListedSession]:
        """Every session that is there now. A file of a folder that holds several is one row."""
        with self._lock:
            self._look()
            return [row for look in self._looks.values() for row in look.rows]

    def refused(self) -> list[RefusedFile]:
        """What the last look could not read, or take for a recording."""
        with self._lock:
            looks = (look.refused for look in self._looks.values() if look.refused)
            return [*self._unreadable, *self._damaged.values(), *looks]

    def row(self, id_: str) -> ListedSession:
        """A row; whether its file holds several sessions is known by now."""
        row = self._place(id_).row
        return replace(row, is_several=len(self.inside(id_)) > 1) if row.is_several else row

    def inside(self, id_: str) -> list[ListedSession]:
        """The sessions of a file that holds several."""
        path = self._place(id_).path
        stamp = _stamp(path)
        with self._lock:
            if id_ not in self._inside or self._inside[id_][0] != stamp:
                file = RecordingFile(path)
                rows = [self._line_row(path, stamp, lazy) for lazy in scan_recordings(file, self._format)]
                self._inside[id_] = (stamp, list({row.id: row for row in rows}.values()))
                if file.lost_recordings:
                    self._damaged[path] = RefusedFile(
                        path.name, f"recordings are missing: {'; '.join(file.notes)}"
                    )
            return self._inside[id_][1]

    def log(self, id_: str, *, keep: bool = True) -> Log:
        """The session, read into memory."""
        place = self._place(id_)
        stamp = _stamp(place.path)
        with self._lock:
            known = self._logs.get(id_)
        if known is not None and known[0] == stamp:
            return known[1]
        # Not redacted: it never reaches a disk.
        log = Log.import_recording(MemoryStore(), self._read(place), redact=str)
        if keep:
            with self._lock:
                self._logs[id_] = (stamp, log)
                self._logs.move_to_end(id_)
                while len(self._logs) > KEPT:
                    self._logs.popitem(last=False)
        return log

    def check(self, path: Path) -> None:
        """Raises InputError for a file that cannot be shown. A session that is alone in its file is read."""
        found = path.stat()
        row, *others = self._rows(FolderFile(path, found.st_size, found.st_mtime), path.name)
        if not others and not row.is_several:
            self.log(row.id)

    def stamp(self, id_: str) -> Stamp:
        return _stamp(self._place(id_).path)

    def _place(self, id_: str) -> SessionPlace:
        with self._lock:
            if id_ not in self._places:
                raise NotFound(f"there is no session `{id_[:100]}`")
            return self._places[id_]

    def _look(self) -> None:
        self._unreadable = []
        found: dict[Path, LookedAt] = {}
        for named in self._named:
            for file in folder_files(named, self._refuse):
                # A file may go while others are looked at.
                with suppress(NotFound):
                    found[file.path] = self._looked_at(named, file, _stamp(file.path))
        self._looks = found

    def _refuse(self, path: Path, error: OSError) -> None:
        self._unreadable.append(RefusedFile(str(path), f"{path.name} cannot be read: {error.strerror}"))

    def _looked_at(self, named: Path, file: FolderFile, stamp: Stamp) -> LookedAt:
        known = self._looks.get(file.path)
        if known is not None and known.stamp == stamp:
            return known
        place = str(file.path.relative_to(named)) if file.path != named else file.path.name
        try:
            rows = self._rows(file, place)
            if file.path == named and rows[0].is_several:
                inside = self.inside(rows[0].id)
                rows = inside if len(inside) > 1 else self._rows(file, place, is_alone=True)
        except InputError as error:
            return LookedAt(stamp, refused=RefusedFile(place, error.message))
        return LookedAt(stamp, tuple(rows))

    def _rows(self, file: FolderFile, place: str, *, is_alone: bool = False) -> list[ListedSession]:
        """`is_alone`: the file is known to hold one session, which a first look seldom knows."""
        path = file.path
        if is_database(path):
            return [
                self._listed(path, found.id, found.title, opencode.NAME, found.last_at, place=place)
                for found in session_titles(path)
            ]
        look = look_at_file(RecordingFile(path), self._format)
        is_one = is_alone or look.is_one
        title, model = (look.title, look.model) if is_one else (path.name, "")
        known = {"model": model, "place": place, "size": file.size, "is_several": not is_one}
        return [self._listed(path, "", title, look.format, file.changed, **known)]

    def _line_row(self, path: Path, stamp: Stamp, lazy: LazyRecording) -> ListedSession:
        look = look_at_line(lazy.line, path.name, self._format)
        known = {"model": look.model, "place": lazy.id, "size": lazy.size}
        return self._listed(path, lazy.id, look.title, look.format, stamp[1], **known)

    def _listed(
        self, path: Path, own: str, title: str, source: str, last_at: float | None, **known: Any
    ) -> ListedSession:
        """A row with an id by its place: it is known before the session is read, and lasts."""
        id_ = "f" + text_id(f"{path}\0{own}")[1:]
        row = ListedSession(id_, title, source, 0, None, last_at, **known)
        self._places[id_] = SessionPlace(path, own, row)
        return row

    def _read(self, place: SessionPlace) -> Recording:
        if place.own and is_database(place.path):
            return read_session(place.path, place.own)
        for lazy in scan_recordings(RecordingFile(place.path), self._format):
            if not place.own or lazy.id == place.own:
                return lazy.read()
        raise NotFound(f"{place.path.name} no longer holds `{place.own[:100]}`")


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
        # What opencode has not yet written into the database itself is beside it.
        beside = path.with_name(f"{path.name}-wal")
        more = (beside.stat().st_mtime,) if path.suffix == ".db" and beside.exists() else ()
    except OSError as error:
        raise NotFound(f"{path.name} cannot be read: {error.strerror}") from None
    return (found.st_size, found.st_mtime, *more)
