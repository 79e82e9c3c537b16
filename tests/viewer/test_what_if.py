"""What if: runs in processes of their own, their rows, and how they end."""

import multiprocessing
import os
import time

import pytest
from msgspec.structs import replace

from holdfast.errors import NotFound
from holdfast.events import BoundarySeen, Compacted, LogStarted, UsageReported
from holdfast.lab.kept_evidence import older_evidence
from holdfast.messages import Usage
from holdfast.models.catalogue import load_catalogue, model_lookup, request_cost
from holdfast.packing.profile import BUILT_IN
from holdfast.session_settings import choose_profile
from holdfast.store import MemoryStore
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.session_replay import everything_plan
from holdfast.viewer.what_if import MOST_RUNS, WhatIfRuns
from support.waiting import wait_until
from viewer.session_samples import MODEL, keep, long_work

LOOKUP = model_lookup(load_catalogue())
pytestmark = pytest.mark.slow


def never_done(_entries, _pack_of, tell):
    """Evidence that takes until its process is ended."""
    tell(1)
    while True:
        time.sleep(0.01)


def broken(*_):
    os._exit(3)


def library_of(*works):
    store = MemoryStore()
    ids = [keep(store, f"sample {at}", work) for at, work in enumerate(works)]

    def profile(name, budget):
        return choose_profile(name or BUILT_IN["code"], budget or None)

    return SessionLibrary([store], LOOKUP, profile), *ids


@pytest.fixture
def start_runs():
    made = []

    def start(library, measure=None):
        made.append(WhatIfRuns(library, measure))
        return made[-1]

    yield start
    for runs in made:
        runs.close()
    wait_until(lambda: not multiprocessing.active_children())


def states(runs, session):
    return [row["state"] for row in runs.rows(session)]


def finished(runs, session):
    wait_until(lambda: not {"waiting", "running"} & set(states(runs, session)))
    return runs.rows(session)


def test_rows_are_the_figures_of_histories_that_were_made_here(start_runs):
    library, log = library_of(long_work())
    runs = start_runs(library, older_evidence)
    runs.start(log, "", "16k")
    runs.start(log, "lean", "")
    runs.start(log, "code", "16000")
    rows = finished(runs, log)
    assert [(row["kind"], row["profile"], row["budget"]) for row in rows] == [
        ("recorded", "", ""),
        ("everything", "", ""),
        ("preview", "code", "16000"),
        ("preview", "lean", str(BUILT_IN["lean"].window)),
    ], "the same again is no new row"
    preview = library.history(log, "preview", "", "16k").requests
    figures = rows[2]["figures"]
    assert figures["requests"] == rows[2]["total"] == 40
    assert figures["dollars"] == pytest.approx(sum(request.dollars for request in preview))
    assert figures["largest"] == max(request.tokens for request in preview)
    assert figures["folds"] == sum(any(m.kind == "fold" for m in r.marks) for r in preview) > 0
    assert figures["share"] == pytest.approx(sum(r.cached for r in preview) / sum(r.tokens for r in preview))
    recorded = rows[0]["figures"]
    assert recorded["reported"] == 40
    assert recorded["reported_dollars"] == pytest.approx(library.figures(log).dollars)
    assert recorded["dollars"] == pytest.approx(rows[1]["figures"]["dollars"]), "nothing was left out of it"
    other = runs.rows(log, "claude-haiku-4-5")[2]["figures"]
    assert 0 < other["dollars"] < figures["dollars"]


def test_a_summary_belongs_to_what_was_recorded_alone(start_runs):
    usage = Usage(100_000, 1_000)
    work = long_work(8, 2)
    work[10:10] = [UsageReported(usage, MODEL, "summary"), BoundarySeen("compacted", summary="it was done")]
    library, log = library_of(work, long_work(8, 2))[:2]
    runs = start_runs(library)
    runs.start(log, "", "16k")
    recorded, everything, preview = (row["figures"] for row in finished(runs, log))
    sent = library.plan(log).start(
        LOOKUP, [replace(e, event=_unreported(e.event)) for e in library.plan(log).entries]
    )
    estimate = sum(request.dollars for request in sent.requests)
    assert recorded["dollars"] == pytest.approx(estimate + request_cost(LOOKUP(MODEL), usage))
    assert (recorded["folds"], everything["folds"]) == (1, 0)
    assert everything["largest"] > recorded["largest"]
    assert everything["dollars"] < recorded["dollars"]
    assert preview["older"] is None, "nobody measured it"


def _unreported(event):
    return (
        replace(event, usage=None)
        if getattr(event, "usage", None) and not hasattr(event, "purpose")
        else event
    )


def test_everything_leaves_no_fold_and_no_compaction():
    work = [
        LogStarted(origin="live"),
        *long_work(4, 2)[1:],
        Compacted("state", "text"),
        BoundarySeen("compact"),
    ]
    library, log = library_of(work)
    plan = everything_plan(library.plan(log))
    assert plan.basis == "list"
    assert len(plan.entries) == len(work) - 2


def test_what_cannot_be_run_is_a_sentence_in_its_row(start_runs):
    library, log = library_of(long_work(4, 2))
    runs = start_runs(library)
    runs.start(log, "nonsense", "")
    runs.start(log, "", "5")
    runs.start(log, "", "1k")
    rows = finished(runs, log)
    assert [row["state"] for row in rows] == ["done", "done", "failed", "failed", "done"]
    assert "there is no profile `nonsense`; built in: " in rows[2]["error"]
    assert "too small" in rows[3]["error"]
    assert rows[3]["figures"] is None
    with pytest.raises(NotFound):
        runs.start("no such session", "", "")
    with pytest.raises(NotFound, match="no model `gpt-0` with a price"):
        runs.rows(log, "gpt-0")


def test_requests_that_would_not_fit_are_counted(start_runs):
    started, _, *rest = long_work(6, 2)
    library, log = library_of([started, replace(long_work()[1], text="word " * 3_000), *rest])
    runs = start_runs(library, older_evidence)
    runs.start(log, "", "2k")
    figures = finished(runs, log)[2]["figures"]
    assert figures["refused"] == 6
    assert figures["why"]


def test_a_run_is_cancelled_and_the_next_one_goes_on(start_runs):
    library, log, other = library_of(long_work(8, 2), long_work(6, 2))
    runs = start_runs(library, never_done)
    runs.start(log, "", "16k")
    wait_until(lambda: runs.rows(log)[2]["stage"] == "evidence")
    assert states(runs, log) == ["waiting", "waiting", "running"], "what was asked for comes first"
    ids = [row["id"] for row in runs.rows(log)]
    runs.cancel(log, ids[0])
    runs.cancel(log, ids[2])
    wait_until(lambda: states(runs, log) == ["cancelled", "running", "cancelled"])
    wait_until(lambda: len(multiprocessing.active_children()) == 1)
    with pytest.raises(NotFound):
        runs.cancel(other, ids[1])
    runs.cancel(log, ids[0])
    runs.start(log, "", "16k")
    assert states(runs, log) == ["cancelled", "running", "cancelled", "waiting", "waiting"], "begun once more"
    runs.close()
    assert set(states(runs, log)) == {"cancelled"}
    assert not multiprocessing.active_children()


def test_a_process_that_dies_is_a_failed_row(start_runs):
    library, log = library_of(long_work(4, 2))
    runs = start_runs(library, broken)
    runs.start(log, "", "16k")
    rows = finished(runs, log)
    assert {row["state"] for row in rows} == {"failed"}
    assert "ended without an answer" in rows[0]["error"]


def test_only_so_many_rows_are_kept(start_runs):
    library, log = library_of(long_work(2, 1))
    runs = start_runs(library)
    for number in range(MOST_RUNS + 5):
        runs.start(log, f"none {number}", "")
    finished(runs, log)
    runs.start(log, "none", "")
    rows = runs.rows(log)
    assert len(rows) == MOST_RUNS
    assert rows[-1]["profile"] == "none"
