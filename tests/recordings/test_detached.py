"""A recording for a worker on another machine: no file is needed to read it there."""

import pickle

import pytest

from holdfast.errors import HoldfastError, InputError
from holdfast.events import Recording
from holdfast.lab.stored_logs import StoredLog
from holdfast.log import Log
from holdfast.recordings.recording_files import LazyRecording, read_recordings, scan_recordings
from holdfast.store import SqliteStore
from support.evidence_recordings import make_recording, write_recordings


def elsewhere(unread: LazyRecording) -> LazyRecording:
    """As it arrives on another machine."""
    there: LazyRecording = pickle.loads(pickle.dumps(unread.detached()))
    return there


def test_a_line_of_a_file(tmp_path):
    file = write_recordings(tmp_path / "r.jsonl", make_recording("one"), make_recording("two"))
    known = list(read_recordings(file))
    sent = [elsewhere(unread) for unread in scan_recordings(file)]
    file.unlink()
    assert [unread.read() for unread in sent] == known


def test_a_log_of_a_store(tmp_path):
    (recording,) = read_recordings(write_recordings(tmp_path / "r.jsonl", make_recording("one")))
    place = tmp_path / "kept.db"
    with SqliteStore(place) as store:
        chosen = StoredLog.choose(Log.import_recording(store, recording), place)
    assert chosen.unread().needs_file
    sent = elsewhere(chosen.unread())
    known = chosen.unread().read()
    place.unlink()
    assert not sent.needs_file
    assert sent.read() == known
    assert (sent.id, sent.size) == (chosen.id, chosen.size)
    with pytest.raises(HoldfastError):
        chosen.unread().read()


def refuse() -> Recording:
    raise InputError("line 3 is damaged", hint="restore it")


def test_an_error_of_reading_is_for_whoever_reads():
    sent = elsewhere(LazyRecording("one", refuse, 7, needs_file=True))
    with pytest.raises(InputError) as refused:
        sent.read()
    assert (refused.value.message, refused.value.hint) == ("line 3 is damaged", "restore it")
