"""A short work of a pair, killed at each of its events and started again: the same end, and what must not be done
twice is not."""

import pytest

from holdfast.errors import NotFound
from holdfast.events import ToolReturned
from holdfast.log import Log
from holdfast.messages import joined_text
from holdfast.pair.phases import read_phase
from holdfast.store import SqliteStore
from support.pair_crash import Fate, Say, dying, hands_over, is_of_crash, scripted, writes
from support.pair_plays import LONG, Play, pair_of

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


class Short(Play):
    """A plan, and one command that must not be run twice."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        super().__init__(folder, pair_of())
        self.fate = Fate()

    def scripts(self, *_):
        return scripted("script/planner", PLANS, {}), scripted("script/worker", COUNTS, {})

    def played(self, *, goes_on=False):
        return self.run([], [], goes_on=goes_on)


def short_phases(play):
    phases = [phase for entry in play.entries() if (phase := read_phase(entry.event))]
    return [type(phase).__name__ for phase in phases if not is_of_crash(phase)]


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    play = Short(tmp_path_factory.mktemp("short") / "it")
    fate = Fate()
    with dying(fate):
        assert play.played().reason == "done"
    return short_phases(play), fate


@pytest.mark.slow
@pytest.mark.parametrize("is_written", [False, True], ids=["before", "behind"])
def test_a_short_work_killed_at_each_of_its_events(tmp_path, short, is_written):
    """Behind an event only where something is done then before the next one: its calls are made behind a reply."""
    phases, whole = short
    for at in whole.replies if is_written else range(1, whole.count + 1):
        play = Short(tmp_path / f"{at}")
        fate = Fate(at, is_written=is_written)
        with dying(fate):
            try:
                play.played()
            except BaseException:
                if not fate.has_died:
                    raise
        try:
            outcome = play.played(goes_on=True)
        except NotFound:
            outcome = play.played()
        assert outcome.reason == "done", at
        assert (play.root / "count.txt").read_text() == "counted\n", at
        assert short_phases(play) == phases, at


@pytest.mark.slow
def test_what_is_uncertain_is_said_and_not_run_again(tmp_path):
    play = Short(tmp_path / "it")
    fate = Fate()
    with dying(fate):
        play.played()
    at = next(n + 1 for n in fate.replies if _dies_at_result(tmp_path / f"try{n}", n + 1))
    play = Short(tmp_path / "again")
    with dying(Fate(at)), pytest.raises(BaseException):  # noqa: B017 - what comes of a death is all the same
        play.played()
    assert play.played(goes_on=True).reason == "done"
    assert len(short_phases(play)) == len(play.names()) - 2, "asked, and decided by the policy"
    results = [e.event for e in play.entries("worker") if isinstance(e.event, ToolReturned)]
    assert "uncertain, and it was not run again" in joined_text(results[0].parts)
    assert (play.root / "count.txt").read_text() == "counted\n"
    assert _damage(play) == []


def _dies_at_result(folder, at):
    """Whether the event of this number is the result of the command."""
    play = Short(folder)
    with dying(Fate(at)):
        try:
            play.played()
        except BaseException:
            return (play.root / "count.txt").exists()
    return False


def _damage(play):
    with SqliteStore(play.store) as store:
        return [damage for info in store.logs() for damage in Log.open(store, info.head.id).verify()]
