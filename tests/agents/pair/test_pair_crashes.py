"""A short work of a pair, killed at each of its events and started again: the same end, and what must not be done
twice is not."""

import pytest

from holdfast.errors import NotFound
from holdfast.events import ToolReturned
from holdfast.log import Log
from holdfast.messages import joined_text
from holdfast.pair.phases import read_phase
from holdfast.store import SqliteStore
from support.pair_crash import CrashPoint, Say, crash_at, hands_over, is_of_crash, scripted, writes
from support.pair_runs import LONG, PairRun, pair_of

HANDED = {"summary": LONG, "asks": LONG}
PLANS = ((writes("The plan.", "plan.md", "1. count\n"), hands_over("Done.", design=["plan.md"], **HANDED)),)
COUNT = Say(
    "I count.",
    "Bash",
    {"command": "echo counted >> count.txt"},
    look={"path": "count.txt"},
    done=("counted",),
)
COUNTS = ((COUNT, hands_over("Done.", verdict="stop", files=[{"path": "count.txt"}], **HANDED)),)


class Short(PairRun):
    """A plan, and one command that must not be run twice."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        super().__init__(folder, pair_of())
        self.crash_point = CrashPoint()

    def scripts(self, *_):
        return scripted("script/planner", PLANS, {}), scripted("script/worker", COUNTS, {})

    def played(self, *, goes_on=False):
        return self.run([], [], goes_on=goes_on)


def short_phases(pair_run):
    phases = [phase for entry in pair_run.entries() if (phase := read_phase(entry.event))]
    return [type(phase).__name__ for phase in phases if not is_of_crash(phase)]


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    pair_run = Short(tmp_path_factory.mktemp("short") / "it")
    crash_point = CrashPoint()
    with crash_at(crash_point):
        assert pair_run.played().reason == "done"
    return short_phases(pair_run), crash_point


@pytest.mark.slow
@pytest.mark.parametrize("is_written", [False, True], ids=["before", "behind"])
def test_a_short_work_killed_at_each_of_its_events(tmp_path, short, is_written):
    """Behind an event only where something is done then before the next one: its calls are made behind a reply."""
    phases, whole = short
    for at in whole.replies if is_written else range(1, whole.count + 1):
        pair_run = Short(tmp_path / f"{at}")
        crash_point = CrashPoint(at, is_written=is_written)
        with crash_at(crash_point):
            try:
                pair_run.played()
            except BaseException:
                if not crash_point.has_crashed:
                    raise
        try:
            outcome = pair_run.played(goes_on=True)
        except NotFound:
            outcome = pair_run.played()
        assert outcome.reason == "done", at
        assert (pair_run.root / "count.txt").read_text() == "counted\n", at
        assert short_phases(pair_run) == phases, at


@pytest.mark.slow
def test_what_is_uncertain_is_said_and_not_run_again(tmp_path):
    pair_run = Short(tmp_path / "it")
    crash_point = CrashPoint()
    with crash_at(crash_point):
        pair_run.played()
    at = next(n + 1 for n in crash_point.replies if _dies_at_result(tmp_path / f"try{n}", n + 1))
    pair_run = Short(tmp_path / "again")
    with crash_at(CrashPoint(at)), pytest.raises(BaseException):  # noqa: B017 - what comes of a death is all the same
        pair_run.played()
    assert pair_run.played(goes_on=True).reason == "done"
    assert len(short_phases(pair_run)) == len(pair_run.names()) - 2, "asked, and decided by the policy"
    results = [e.event for e in pair_run.entries("worker") if isinstance(e.event, ToolReturned)]
    assert "uncertain, and it was not run again" in joined_text(results[0].parts)
    assert (pair_run.root / "count.txt").read_text() == "counted\n"
    assert _damage(pair_run) == []


def _dies_at_result(folder, at):
    """Whether the event of this number is the result of the command."""
    pair_run = Short(folder)
    with crash_at(CrashPoint(at)):
        try:
            pair_run.played()
        except BaseException:
            return (pair_run.root / "count.txt").exists()
    return False


def _damage(pair_run):
    with SqliteStore(pair_run.store) as store:
        return [damage for info in store.logs() for damage in Log.open(store, info.head.id).verify()]
