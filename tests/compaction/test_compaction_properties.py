"""What must hold of every pack round compactions: random logs, all profiles, models that answer well or badly.

One pass over a log checks every request in it against every property, since making the packs is what takes time.
"""

import asyncio
import random
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.compaction.compact import compact, undo
from holdfast.compaction.plan import plan_compaction
from holdfast.errors import ContextOverflow
from holdfast.events import (
    AssistantReplied,
    Compacted,
    Folded,
    RulesSet,
    SystemSet,
    ToolsSet,
    Undone,
    UserSaid,
)
from holdfast.messages import AssistantMessage, Image, Text, UserMessage
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.window import Window
from holdfast.sender import Packed, Sender
from holdfast.session import Session
from holdfast.store import MemoryStore
from support.logs import AgentWork
from support.packing_runs import counter

SEEDS = st.integers(0, 2**32 - 1)
BUDGETS = st.sampled_from([1_500, 3_000, 8_000, 40_000])
ANSWERS = (
    None,
    "## Objectives & Status\n- It goes on. See src/a.py.\n",
    "[History Summary]\nTask Goal: go on\nDone: src/a.py, and src/invented.py\n",
    '<compact_summary>{"pending_actions": ["go on. Then rest."], "pending_work": ["go on"]}</compact_summary>',
    "",
)
"""No model, one for each kind of form, and one that says nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("profile", sorted(BUILT_IN))
@settings(max_examples=10, deadline=None)
@given(SEEDS, BUDGETS)
def test_every_property_holds_of_every_request(profile, seed, budget):
    work = Work(profile, seed, budget)
    last, named = work.through()
    if last is None:
        assert named, "an overflow names what may not be cut"
        return
    assert encoded(work.reopened().pack()) == encoded(last)
    assert_undone_as_if_it_had_never_been(work.session)


class Work:
    """A session through a random log, compacted at random points."""

    def __init__(self, profile: str, seed: int, budget: int) -> None:
        self.rng = random.Random(seed)
        self.store = MemoryStore()
        self.session = Session(profile=profile, budget=budget, store=self.store, log="work")
        # Tools are the session's to set: opened again, it would set its own again.
        events = AgentWork(seed, steps=16).events[1:]
        self.events = [event for event in events if not isinstance(event, ToolsSet)]
        self.before: tuple[int, tuple, bool] | None = None

    def through(self) -> tuple[Packed | None, tuple]:
        """The last request; or, where nothing more could give way, none and what did not."""
        try:
            for event in self.events:
                # A log may begin with a reply: there is nothing to send before it.
                if isinstance(event, AssistantReplied) and pack(self.session.window.view()).messages:
                    self.compact_perhaps()
                    self.request()
                self.session.record(event)
            return self.request(), ()
        except ContextOverflow as overflow:
            return None, overflow.parts

    def reopened(self) -> Session:
        return Session(profile=self.session.profile, store=self.store, log="work")

    def compact_perhaps(self) -> None:
        while self.rng.random() < 0.25:
            answer = self.rng.choice(ANSWERS)
            model = ScriptedModel(answer, repeat_last=True) if answer is not None else None
            archive = archive_of(self.session)
            done = asyncio.run(compact(self.session, model, manual=self.rng.random() < 0.7))
            if done is not None:
                assert plan_compaction(self.session.window.view()) is None, "nothing new has happened"
                merged = any(one.above for one in self.session.window.transcript.compactions.archive.values())
                assert merged or archive_of(self.session)[: len(archive)] == archive

    def request(self) -> Packed:
        packed = self.session.pack()
        assert packed.tokens <= packed.pack.limit
        for provider in ("openai", "anthropic"):
            Sender(provider).send(packed.pack, MemoryStore())
        assert_no_two_assistants_in_a_row(packed)
        assert_users_are_shown_or_led_back_to(self.session, packed)
        assert_the_request_of_the_round_is_on_view(self.session, packed)
        self.assert_prefix_only_grows(packed)
        return packed

    def assert_prefix_only_grows(self, packed: Packed) -> None:
        entries = self.session.log.entries()
        prefix, settled = packed.pack.prefix, self.session.window.transcript.has_all_results
        if self.before is not None:
            at, old, was_settled = self.before
            resets = SystemSet | RulesSet | Folded | Compacted
            if settled and was_settled and not any(isinstance(e.event, resets) for e in entries[at:]):
                assert prefix[: len(old)] == old
        self.before = len(entries), prefix, settled


def archive_of(session: Session) -> list[str]:
    return [archived.text for archived in session.window.transcript.compactions.archive.values()]


def assert_no_two_assistants_in_a_row(packed: Packed) -> None:
    spoken = [m for m in packed.pack.messages if isinstance(m, AssistantMessage | UserMessage)]
    for before, after in pairwise(spoken):
        if isinstance(before, AssistantMessage) and isinstance(after, AssistantMessage):
            assert before.calls, "what stands between them are results"


def assert_users_are_shown_or_led_back_to(session: Session, packed: Packed) -> None:
    shown = {p for m in packed.pack.messages if isinstance(m, UserMessage) for p in m.parts}
    for entry in session.log.entries():
        hidden = [p for p in entry.event.parts if p not in shown] if isinstance(entry.event, UserSaid) else []
        ids = [cut.id for cut in packed.cuts if cut.entry == entry.id] if hidden else []
        answers = "\n".join(session.recall({"id": id_}) for id_ in ids)
        for part in hidden:
            beginning = part.text.strip().split("\n")[0] if isinstance(part, Text) else part.data
            assert beginning[:20] in answers


def assert_the_request_of_the_round_is_on_view(session: Session, packed: Packed) -> None:
    transcript = session.window.transcript
    item = transcript.items[transcript.rounds[-1]] if transcript.rounds else None
    if item is None or not isinstance(item.message, UserMessage):
        return
    rules = {cut.rule for cut in packed.cuts if cut.entry == item.entry}
    pictures = {"old-user"} if any(isinstance(part, Image) for part in item.message.parts) else set()
    assert rules <= {"paste", "repeated-paste", *pictures}, (
        "only what is large is clipped, or stands elsewhere"
    )


def assert_undone_as_if_it_had_never_been(session: Session) -> None:
    before = [entry for entry in session.log.entries() if not is_of_a_compaction(entry.event)]
    never = Window(session.profile, counter(), before).view()
    while undo(session):
        pass
    assert not session.window.transcript.compactions.archive
    assert session.window.transcript.compactions.state is None
    if never.total <= session.profile.hard_limit:
        assert msgspec.json.encode(pack(session.window.view())) == msgspec.json.encode(pack(never))


def is_of_a_compaction(event) -> bool:
    return isinstance(event, Compacted | Undone) or (isinstance(event, Folded) and event.reason == "manual")


def encoded(packed: Packed) -> bytes:
    return msgspec.json.encode((packed.messages, packed.cuts, packed.tokens))
