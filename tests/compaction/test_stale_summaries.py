"""A summary written while the log went another way is discarded, and what it cost is billed all the same."""

import asyncio

import pytest

from holdfast.compaction.compact import BackgroundCompaction, compact, undo
from holdfast.compaction.plan import plan_compaction
from holdfast.events import Compacted, Event, Rewound, Undone, UsageReported
from holdfast.models.scripted import ScriptedModel
from holdfast.session import Session
from holdfast.store import SqliteStore
from support.command_steps import GOOD, steps
from support.logs import user


@pytest.fixture
def place(tmp_path):
    return tmp_path / "store.db"


def opened(place) -> Session:
    """A session of its own on the one log: what another process would have."""
    return Session(store=SqliteStore(place), log="shared", budget="8k")


def count(session: Session, kind: type) -> int:
    return sum(isinstance(entry.event, kind) for entry in session.log.entries())


def meanwhile(session: Session, does):
    """What a summary comes to that is written while something else happens, and how many there are by then."""

    async def run():
        beside = BackgroundCompaction(session, ScriptedModel(GOOD))
        assert beside.start()
        await does()
        before = count(session, Compacted)
        return await beside.wait(), count(session, Compacted) - before

    return asyncio.run(run())


def test_another_process_summed_it_up_first(place):
    with opened(place) as session, opened(place) as other:
        session.record(user("Fix the parser."), *steps(0, 40))

        async def quicker():
            assert await compact(other) is not None

        assert meanwhile(session, quicker) == (None, 0)
        assert count(session, UsageReported) == 1, "it was paid for"
        assert session.pack().messages == opened(place).pack().messages


def test_another_process_only_went_on(place):
    with opened(place) as session, opened(place) as other:
        session.record(user("Fix the parser."), *steps(0, 40))

        async def going_on():
            other.catch_up()
            other.record(*steps(40, 43))

        done, _ = meanwhile(session, going_on)
        assert done is not None
        assert len(session.window.transcript.steps) == 43
        assert session.pack().messages == opened(place).pack().messages


def test_the_log_was_rewound(place):
    with opened(place) as session:
        session.record(user("Fix the parser."), *steps(0, 40))
        early = session.log.entries()[12].id

        async def rewinding():
            session.log.append(Rewound(), parent=early)

        assert meanwhile(session, rewinding) == (None, 0)
        assert len(session.window.transcript.steps) < 10


def test_the_log_was_rewound_to_just_behind_what_it_stands_for(place):
    """Then what it would take off view is the newest there is."""
    with opened(place) as session:
        session.record(user("Fix the parser."), *steps(0, 40))

        plan = plan_compaction(session.window.view())
        assert plan is not None
        (behind,) = session.window.transcript.steps[plan.steps - 1].result_entries.values()

        async def rewinding():
            session.log.append(Rewound(), parent=behind)

        assert meanwhile(session, rewinding) == (None, 0)
        assert session.window.view().levels[-1] == ("full", 0)


def test_the_compaction_before_was_undone(place):
    with opened(place) as session:
        session.record(user("Fix the parser."), *steps(0, 40))
        asyncio.run(compact(session))
        session.record(*steps(40, 80))

        async def undoing():
            assert undo(session)

        assert meanwhile(session, undoing) == (None, 0)


class Raced(Session):
    """A session that another process writes before, whenever it records a summary."""

    rival: Session

    def record(self, *events: Event):
        if any(isinstance(event, Compacted) for event in events):
            self.rival.record(user("I was quicker."))
        return super().record(*events)


def test_someone_writes_between_the_look_and_the_record(place):
    with Raced(store=SqliteStore(place), log="shared", budget="8k") as session, opened(place) as other:
        session.rival = other
        session.record(user("Fix the parser."), *steps(0, 40))
        before = session.pack().messages
        assert asyncio.run(compact(session)) is None
        assert count(session, Undone) == 1
        assert session.window.transcript.compactions.state is None
        assert session.pack().messages[: len(before)] == before
        assert "I was quicker." in str(session.pack().messages[-1])
