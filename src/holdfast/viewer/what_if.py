"""What if: a session replayed in the background under other profiles and budgets, several beside each other.

Rule: a replay has a process of its own, which can be ended at any moment; one runs at a time. All rows are our
estimate, the recorded one too, so that they can be compared. A run that failed or was cancelled stays as a row that
says so.
"""

import multiprocessing
import signal
import threading
from collections.abc import Sequence
from itertools import count
from typing import Literal

from msgspec import Struct

from holdfast.errors import HoldfastError, NotFound
from holdfast.events import AssistantReplied
from holdfast.messages import Json
from holdfast.models.catalogue import ModelLookup
from holdfast.viewer.history_plan import HistoryPlan
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.money import FOLDS, RequestBill, add_known, add_sides, bill_requests, split_sides
from holdfast.viewer.session_replay import (
    TELL_SECONDS,
    MeasureEvidence,
    ReplayAnswer,
    ReplayProgress,
    ReplayTask,
    Stage,
    everything_plan,
    replay_session,
)

RunKind = Literal["recorded", "everything", "preview"]
RunState = Literal["waiting", "running", "done", "failed", "cancelled"]

SPAWN = multiprocessing.get_context("spawn")
"""Fresh interpreters: a fork would copy whatever threads and locks this process has."""

STOP_SECONDS = 2.0
"""Seconds that a process has to end when told to."""
MOST_RUNS = 40
"""Runs that are kept; the oldest that is over goes first."""


class WhatIfRun(Struct):
    """One row. `profile` and `budget` of one that failed at once are as they were typed. `total` requests are to be
    done."""

    id: int
    session: str
    kind: RunKind
    profile: str
    budget: str
    entries: int = 0
    total: int = 0
    task: ReplayTask | None = None
    state: RunState = "waiting"
    stage: Stage = "packing"
    done: int = 0
    error: str = ""
    answer: ReplayAnswer | None = None
    figures: dict[str, Json] = {}
    """Of a run that is done, by the name of the prices."""

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")


class WhatIfRuns:
    """The runs of all sessions, and the thread that sees to them."""

    def __init__(self, library: SessionLibrary, measure: MeasureEvidence | None = None) -> None:
        self._library = library
        self._measure = measure
        self._runs: dict[int, WhatIfRun] = {}
        self._numbers = count(1)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def start(self, session: str, profile: str, budget: str) -> None:
        """Begin a run under a profile and a budget, each empty for the default; and, before the first one, the two
        that it is compared with. What cannot be run is a row with its reason."""
        recorded = self._library.plan(session)
        with self._changed:
            self._add(session, "recorded", recorded)
            self._add(session, "everything", everything_plan(recorded))
            self._add_preview(session, profile, budget)

    def _add_preview(self, session: str, profile: str, budget: str) -> None:
        try:
            plan = self._library.plan(session, "preview", profile, budget)
        except HoldfastError as error:
            run = WhatIfRun(next(self._numbers), session, "preview", profile[:40], budget[:40])
            run.state, run.error = "failed", "; ".join(filter(None, (error.message, error.hint)))
            self._keep(run)
            return
        self._add(session, "preview", plan)

    def rows(self, session: str, prices: str = "") -> Json:
        lookup = self._library.prices(prices)
        with self._changed:
            runs = [run for run in self._runs.values() if run.session == session]
        return [_row(run, prices, lookup) for run in runs]

    def cancel(self, session: str, id_: int) -> None:
        with self._changed:
            run = self._runs.get(id_)
            if run is None or run.session != session:
                raise NotFound(f"there is no run {id_}")
            if run.state == "waiting":
                run.task = None
            if not run.is_over:
                run.state = "cancelled"

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            for run in self._runs.values():
                run.state = run.state if run.is_over else "cancelled"
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _add(self, session: str, kind: RunKind, plan: HistoryPlan) -> None:
        """A run, unless the same one is there already and was not given up."""
        is_preview = kind == "preview"
        profile, budget = (plan.profile.name, str(plan.profile.window)) if is_preview else ("", "")
        entries = len(plan.entries)
        wanted = (session, kind, profile, budget, entries)
        for run in list(self._runs.values()):
            same = (run.session, run.kind, run.profile, run.budget, run.entries)
            if same == wanted and run.state not in ("failed", "cancelled"):
                return
        total = sum(isinstance(entry.event, AssistantReplied) for entry in plan.entries)
        task = ReplayTask(plan, self._measure)
        self._keep(
            WhatIfRun(next(self._numbers), session, kind, profile, budget, entries, total=total, task=task)
        )

    def _keep(self, run: WhatIfRun) -> None:
        with self._changed:
            self._runs[run.id] = run
            over = [id_ for id_, one in self._runs.items() if one.is_over and one is not run]
            for id_ in over[: max(len(self._runs) - MOST_RUNS, 0)]:
                del self._runs[id_]
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._serve, name="what if", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _serve(self) -> None:
        # A process inherits what its thread holds back: Ctrl-C is for this program, which ends its processes.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        while (run := self._next()) is not None:
            self._replay(run)

    def _next(self) -> WhatIfRun | None:
        """The next run, as soon as there is one; None at the end. What was asked for comes before what it is
        compared with."""
        with self._changed:
            while not self._is_closed:
                waiting = [run for run in self._runs.values() if run.state == "waiting"]
                if waiting:
                    run = min(waiting, key=lambda run: run.kind != "preview")
                    run.state = "running"
                    return run
                self._changed.wait()
        return None

    def _replay(self, run: WhatIfRun) -> None:
        ours, theirs = SPAWN.Pipe(duplex=False)
        process = SPAWN.Process(target=replay_session, args=(theirs, run.task), daemon=True)
        try:
            process.start()
            theirs.close()
            while run.state == "running":
                if ours.poll(TELL_SECONDS):
                    self._take(run, ours.recv())
        except (EOFError, OSError):
            self._end(run, "failed", "the replay ended without an answer; the terminal may say why")
        finally:
            run.task = None
            if process.pid is not None:
                process.terminate()
                process.join(STOP_SECONDS)
                process.kill()
                process.join()
            process.close()
            ours.close()
            theirs.close()

    def _take(self, run: WhatIfRun, told: ReplayProgress | ReplayAnswer) -> None:
        if isinstance(told, ReplayProgress):
            run.stage, run.done = told.stage, told.done
        else:
            run.answer = told
            self._end(run, "done")

    def _end(self, run: WhatIfRun, state: RunState, error: str = "") -> None:
        with self._changed:
            # It may have been cancelled meanwhile.
            if run.state == "running":
                run.state, run.error = state, error


def _row(run: WhatIfRun, prices: str, lookup: ModelLookup) -> Json:
    if run.answer is not None and prices not in run.figures:
        run.figures[prices] = _figures(run.kind, run.answer, lookup)
    return {
        "id": run.id,
        "kind": run.kind,
        "profile": run.profile,
        "budget": run.budget,
        "state": run.state,
        "stage": run.stage,
        "done": run.done,
        "total": run.total,
        "error": run.error,
        "figures": run.figures.get(prices),
    }


def _figures(kind: RunKind, answer: ReplayAnswer, lookup: ModelLookup) -> Json:
    measured = answer.measured
    bills = bill_requests(measured, lookup, is_estimate=True)
    reported = [bill for bill in bill_requests(measured, lookup) if bill.is_reported]
    summaries = add_sides(split_sides(measured.sides)[0] if kind == "recorded" else (), lookup)
    marks = [mark for request in measured.requests for mark in request.marks]
    refused = [mark.text for mark in marks if mark.kind == "overflow" and kind == "preview"]
    return {
        "requests": len(bills),
        "dollars": add_known((*(bill.dollars for bill in bills), summaries.known_dollars)),
        "unpriced": sum(bill.parts is None for bill in bills),
        "share": _read_share(bills),
        "folds": sum(mark.kind in FOLDS for mark in marks),
        "largest": max((request.tokens for request in measured.requests), default=0),
        "older": answer.older,
        "refused": len(refused),
        "why": refused[0] if refused else "",
        "reported": len(reported),
        "reported_dollars": add_known(bill.dollars for bill in reported),
        "reported_share": _read_share(reported),
    }


def _read_share(bills: Sequence[RequestBill]) -> float | None:
    prompt = sum(bill.usage.prompt for bill in bills)
    return sum(bill.usage.cache_read for bill in bills) / prompt if prompt else None
