"""Recordings of a folder in the library: the same answers as for a log of a store, and no secret in an export."""

import pytest

from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import CODE
from holdfast.viewer.export import ExportChoice, export_view
from holdfast.viewer.left_out import search_left_out
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.recorded_sessions import RecordedSessions
from holdfast.viewer.remembered import remembered_at
from holdfast.viewer.what_if import WhatIfRuns
from recordings.recording_samples import NEUTRAL, write_lines
from support.waiting import wait_until

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def recording(*more):
    """A session with a secret in its title, a directive, and a result that is later left out of a small window."""
    task = {"role": "user", "content": f"Use {SECRET} for the parser. Never touch api.py."}
    return {**NEUTRAL, "messages": [task, *NEUTRAL["messages"][1:], *more]}


@pytest.fixture
def folder(tmp_path):
    write_lines(tmp_path / "a.jsonl", [recording()])
    return tmp_path


def library_of(folder):
    library = SessionLibrary(
        [], model_lookup(load_catalogue()), lambda *_: CODE.scaled_to(64_000), RecordedSessions([folder])
    )
    (row,) = library.rows()
    return library, row.id


def test_memory_left_out_and_money_of_a_recording(folder):
    library, id_ = library_of(folder)
    history = library.history(id_)
    assert len(history.requests) == library.figures(id_).steps == 2
    assert "Never touch api.py" in str(remembered_at(history, 2))
    assert search_left_out(history, 1, "def p()")["total"] == 0
    assert search_left_out(history, 2, "def p()")["total"] == 1, "the client's summary replaced it"
    money = library.money(id_, "anthropic/claude-haiku-4-5")
    assert money["reported"]["requests"] + money["estimated"]["requests"] == 2
    assert money["totals"]["all"] > 0


@pytest.mark.parametrize("shown", ["recorded", "preview"])
def test_an_export_of_a_recording_has_no_secret(folder, shown):
    library, id_ = library_of(folder)
    assert SECRET in library.row(id_).title
    page = export_view(library, id_, ExportChoice(shown=shown)).page
    assert not any(SECRET[at : at + 8] in page for at in range(len(SECRET) - 8))
    assert "REDACTED" in page
    assert str(folder) not in page
    assert "a.jsonl" not in page


def test_a_file_that_has_changed_gives_another_history(folder):
    library, id_ = library_of(folder)
    first = library.history(id_)
    assert library.history(id_) is first
    write_lines(folder / "a.jsonl", [recording({"role": "assistant", "content": "More."})])
    second = library.history(id_)
    assert (len(first.requests), len(second.requests)) == (2, 3)
    assert library.figures(id_).steps == 3


@pytest.mark.slow
def test_what_if_of_a_recording(folder):
    library, id_ = library_of(folder)
    runs = WhatIfRuns(library)
    runs.start(id_, "", "")
    wait_until(lambda: all(row["state"] == "done" for row in runs.rows(id_)))
    assert [row["figures"]["requests"] for row in runs.rows(id_)] == [2, 2, 2]
    runs.close()
