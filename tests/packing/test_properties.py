"""What must hold of every pack of every log: thousands of random logs, with all the faults importers let through.

One pass over a log checks every request in it against every property, since making the packs is what takes time.
"""

import re

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import ContextOverflow
from holdfast.events import AssistantReplied, Compacted, Entry, RulesSet, SystemSet, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.layers import Pack
from holdfast.packing.log_walk import walk_log
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.window import Window
from holdfast.sender import Sender
from holdfast.store import MemoryStore
from support.logs import AgentWork, chained, texts_of
from support.packing_runs import Request, counter, pack_each_request

SEEDS = st.integers(0, 2**32 - 1)
TRIED = {
    **BUILT_IN,
    "excerpts": msgspec.structs.replace(
        BUILT_IN["code"], name="excerpts", excerpt_ratio=0.3, fold_to_ratio=0.55
    ),
}
"""The built-in profiles, and one that keeps the best lines of what it folds."""
PROFILES = st.sampled_from(sorted(TRIED))
BUDGETS = st.sampled_from([1_500, 3_000, 8_000, 40_000])


def work(seed: int) -> list[Entry]:
    return chained(AgentWork(seed, steps=14).events)


def encoded(packed: Pack) -> bytes:
    return msgspec.json.encode((packed.layers, packed.cuts, packed.tokens))


def requests(entries: list[Entry], profile: str, budget: int):
    """The requests of a log, up to an overflow if there is one."""
    try:
        yield from pack_each_request(entries, TRIED[profile].scaled_to(budget))
    except ContextOverflow as overflow:
        taken = re.search(r"takes ([\d,]+) tokens", overflow.message)
        assert taken, "an overflow says how much may not be cut"
        sizes = [tokens for _, tokens in overflow.parts]
        assert sum(sizes) == int(taken[1].replace(",", "")), "its parts add up"
        assert min(sizes) > 0


@pytest.mark.slow
@pytest.mark.parametrize("profile", sorted(TRIED))
@settings(max_examples=160, deadline=None)
@given(SEEDS, BUDGETS)
def test_every_property_holds_of_every_request(profile, seed, budget):
    entries = work(seed)
    texts = {text_id(text) for entry in entries for text in texts_of(entry)}
    before = None
    for request in requests(entries, profile, budget):
        assert_within_budget(request, budget)
        assert_legal(request)
        assert_results_follow_their_calls(request)
        assert_every_entry_is_shown_or_named(entries, request)
        assert_every_step_that_is_gone_has_a_note(request)
        assert_user_messages_are_verbatim(entries, request)
        assert_cuts_lead_back(entries, texts, request)
        assert_packing_again_changes_nothing(request)
        if before is not None:
            assert_prefix_only_grows(entries, before, request)
        before = Seen(request.at, request.pack.prefix, request.settled)


class Seen(msgspec.Struct):
    at: int
    prefix: tuple
    settled: bool


def assert_within_budget(request: Request, budget: int) -> None:
    packed = request.pack
    counted = counter().messages(packed.messages) + counter().tools(packed.tools)
    assert counted == packed.tokens <= packed.limit <= budget
    for fold in request.folds:
        assert packed.tokens <= fold.tokens_after, "a plan promises no more than the fold keeps"


def assert_legal(request: Request) -> None:
    messages = request.pack.messages
    if all(isinstance(m, SystemMessage) for m in messages):
        return
    for provider in ("openai", "anthropic"):
        Sender(provider).send(request.pack, MemoryStore())


def assert_results_follow_their_calls(request: Request) -> None:
    open_calls: list[str] = []
    for message in request.pack.messages:
        if isinstance(message, ToolMessage):
            assert message.call_id == open_calls.pop(0)
        else:
            assert not open_calls
        if isinstance(message, AssistantMessage):
            open_calls = [c.id for c in message.calls]
    assert not open_calls


def assert_prefix_only_grows(entries: list[Entry], before: Seen, request: Request) -> None:
    new = entries[before.at : request.at]
    if request.folds or not (before.settled and request.settled):
        return
    if not any(isinstance(e.event, SystemSet | RulesSet | Compacted) for e in new):
        assert request.pack.prefix[: len(before.prefix)] == before.prefix


def assert_every_step_that_is_gone_has_a_note(request: Request) -> None:
    view = request.window.view()
    spans = [range(at, view.position(note.last) + 1) for at, (note, _) in view.notes.items()]
    for step in view.transcript.steps:
        if view.levels[step.number][0] == "gone":
            assert sum(step.position in span for span in spans) == 1, step.number


def assert_every_entry_is_shown_or_named(entries: list[Entry], request: Request) -> None:
    named = {cut.entry for cut in request.pack.cuts}
    shown = shown_texts(request.pack)
    for entry in entries[: request.at]:
        if entry.id in named:
            continue
        if isinstance(entry.event, SystemSet | RulesSet):
            assert entry.event.text in shown
        elif isinstance(entry.event, UserSaid | ToolReturned | AssistantReplied):
            for text in shown_when_whole(entry):
                assert text in shown, (request.at, entry)


def shown_texts(packed: Pack) -> set[str]:
    texts = set()
    for message in packed.messages:
        if isinstance(message, SystemMessage):
            texts.add(message.text)
        else:
            texts.update(map(part_text, message.parts))
    return texts


def shown_when_whole(entry: Entry) -> list[str]:
    parts = [p for p in entry.event.parts if not (isinstance(p, ToolCall) and p.raw)]
    return [text for text in map(part_text, parts) if text.strip()]


def part_text(part) -> str:
    if isinstance(part, Image):
        return part.data
    return msgspec.json.encode(part.arguments).decode() if isinstance(part, ToolCall) else part.text


def assert_user_messages_are_verbatim(entries: list[Entry], request: Request) -> None:
    excuses = {"paste", "repeated-paste", "old-user", "user-gone", "empty-user"}
    excused = {c.entry for c in request.pack.cuts if c.rule in excuses}
    shown = [m.parts for m in request.pack.messages if isinstance(m, UserMessage)]
    for entry in entries[: request.at]:
        if isinstance(entry.event, UserSaid) and entry.id not in excused:
            assert entry.event.parts in shown


def assert_cuts_lead_back(entries: list[Entry], texts: set[str], request: Request) -> None:
    ids = {entry.id for entry in entries}
    for cut in request.pack.cuts:
        assert cut.id in texts or cut.id in ids, cut
        assert cut.after <= cut.before, cut


def assert_packing_again_changes_nothing(request: Request) -> None:
    assert plan_fold(request.window.view()) is None
    assert encoded(pack(request.window.view())) == encoded(request.pack)


@pytest.mark.slow
@settings(max_examples=130, deadline=None)
@given(SEEDS, PROFILES, BUDGETS, st.floats(0, 1))
@example(7, "code", 3_000, 0.5)
def test_later_events_never_change_an_earlier_pack(seed, profile, budget, place):
    entries = work(seed)
    done = [(r.at, encoded(r.pack)) for r in requests(entries, profile, budget)]
    if not done:
        return
    at, then = done[int(place * (len(done) - 1))]
    window, _ = walk_log(TRIED[profile].scaled_to(budget), counter(), entries[:at])
    assert encoded(pack(window.view())) == then


@pytest.mark.slow
@settings(max_examples=130, deadline=None)
@given(SEEDS, PROFILES, BUDGETS)
def test_a_window_built_at_once_equals_one_built_step_by_step(seed, profile, budget):
    """A pack is a function of the log, folds included: nothing is remembered that the log does not hold."""
    entries = work(seed)
    log: list[Entry] = []
    start, last = 0, b""
    for request in requests(entries, profile, budget):
        log += entries[start : request.at]
        log += [Entry("efold", "test", 0, None, fold) for fold in request.folds]
        start, last = request.at, encoded(request.pack)
    if last:
        assert encoded(pack(Window(TRIED[profile].scaled_to(budget), counter(), log).view())) == last
