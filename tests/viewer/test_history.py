"""The history of a log: what each request sent, whatever the log holds, and never changed by what came later."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.errors import ContextOverflow
from holdfast.events import (
    AssistantReplied,
    BoundarySeen,
    Compacted,
    Folded,
    LogStarted,
    Noted,
    OverflowReported,
    SystemSet,
    UsageReported,
)
from holdfast.gateway.conversations import GATEWAY as GATEWAY_SOURCE
from holdfast.messages import SystemMessage, Text, Usage
from holdfast.models.catalogue import load_catalogue, model_lookup, request_cost
from holdfast.packing.log_walk import LogWalk
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.window import Window
from holdfast.session import Session
from holdfast.session_settings import session_settings
from holdfast.tokenizers import counter_for_model
from holdfast.viewer.history import GATEWAY, OURS, RequestHistory, recorded_basis
from holdfast.viewer.sent import LAYER_KINDS
from holdfast.views import path
from holdfast.views.transcript import Transcript
from support.logs import AgentWork, chained, result, step, user
from support.packing_runs import counter

LOOKUP = model_lookup(load_catalogue())
MODEL = "claude-opus-4-5"
SEEDS = st.integers(0, 2**32 - 1)
BASES = st.sampled_from(["pack", "list", "preview"])


def history(entries, basis="list", profile=CODE):
    return RequestHistory(basis, profile, counter(), LOOKUP, entries)


def replies(entries):
    return [at for at, entry in enumerate(entries) if isinstance(entry.event, AssistantReplied)]


def messages(found, number):
    return [placed.block.message for placed in found.window(number)]


def state(found, number):
    return found.requests[number - 1], found.window(number)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(sorted(BUILT_IN)), st.sampled_from([4_000, 16_000]))
def test_a_preview_sends_what_a_walk_would_pack(seed, name, budget):
    work = [e for e in AgentWork(seed, steps=16).events if not isinstance(e, OURS)]
    entries = chained([replace(work[0], origin="import"), *work[1:]])
    profile = BUILT_IN[name].scaled_to(budget)
    found = history(entries, "preview", profile)
    walk = LogWalk(Window(profile, counter()))
    number = 0
    for entry in entries:
        if isinstance(entry.event, AssistantReplied):
            number += 1
            with suppress(ContextOverflow):
                walk.make_room()
            with suppress(ContextOverflow):
                packed = pack(walk.window.view())
                assert messages(found, number) == list(packed.messages)
                assert found.requests[number - 1].tokens == packed.tokens
                shown = {cut for placed in found.window(number) for cut in placed.block.cuts}
                assert shown <= set(packed.cuts)
        walk.add(entry)
    assert number == len(found.requests)


@settings(max_examples=40, deadline=None)
@given(SEEDS, BASES)
def test_what_comes_later_changes_no_request(seed, basis):
    entries = chained(AgentWork(seed, steps=10).events)
    profile = CODE.scaled_to(4_000)
    whole = history(entries, basis, profile)
    seen = []
    growing = history([], basis, profile)
    for entry in entries:
        growing.add(entry)
        if len(growing.requests) > len(seen):
            seen.append(state(growing, len(growing.requests)))
    assert seen == [state(whole, number) for number in range(1, len(whole.requests) + 1)]


@settings(max_examples=40, deadline=None)
@given(SEEDS, BASES)
def test_layers_add_up_and_the_same_blocks_come_first(seed, basis):
    found = history(chained(AgentWork(seed, steps=12).events), basis, CODE.scaled_to(4_000))
    before = []
    for number, request in enumerate(found.requests, 1):
        placed = found.window(number)
        sums = dict.fromkeys(LAYER_KINDS, 0)
        for one in placed:
            sums[one.layer] += one.block.tokens
        sums["tools"] = request.layers[0]
        assert tuple(sums.values()) == request.layers
        assert sum(request.layers) == request.tokens
        assert 0 <= request.cached <= request.tokens
        now = messages(found, number)
        same = request.same_blocks
        assert now[:same] == before[:same]
        assert [one.is_same for one in placed] == [at < same for at in range(len(placed))]
        before = now


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_a_clients_list_is_the_whole_transcript_since_it_was_compacted(seed):
    events = [e for e in AgentWork(seed, steps=12).events if not isinstance(e, BoundarySeen)]
    entries = chained(events)
    found = history(entries)
    for number, at in enumerate(replies(entries), 1):
        transcript = Transcript(entries[:at])
        sent = [placed.block.message for placed in found.window(number) if placed.layer in ("steps", "round")]
        assert len(sent) == len({id(message) for message in sent})
        texts = [m for i in transcript.items for m in (i.message, *getattr(i, "answers", tuple)())]
        assert sent == [*texts, *(u.message for u in transcript.waiting_users)]


def two_rounds(*between):
    return [
        LogStarted(origin="import"),
        SystemSet("Be careful."),
        user("first"),
        step("looking", ("c1", "Read", {"file_path": "a.py"})),
        result("c1", "line\n" * 400),
        step("read it"),
        *between,
        user("second"),
        step("done"),
    ]


def test_layers_of_a_clients_list():
    found = history(chained(two_rounds()))
    first, second, third = (dict(zip(LAYER_KINDS, request.layers, strict=True)) for request in found.requests)
    assert first["steps"] == second["steps"] == 0
    assert second["round"] > 400
    assert third["steps"] > second["round"]
    assert 0 < third["round"] < 20
    assert {first["system"], second["system"], third["system"]} == {
        counter().message(SystemMessage("Be careful."))
    }
    kinds = [(p.block.kind, p.block.step, p.age, p.is_same) for p in found.window(2)]
    assert kinds == [
        ("system", 0, 0, True),
        ("user", 0, 0, True),
        ("assistant", 1, 1, False),
        ("result", 1, 1, False),
    ]


def test_after_a_clients_compaction_the_list_begins_again():
    found = history(chained(two_rounds(BoundarySeen("compacted", summary="what was done"))))
    assert [p.block.kind for p in found.window(3)] == ["system", "summary", "user"]
    assert found.requests[2].same_blocks == 1, "only the system prompt"
    assert [mark.kind for mark in found.requests[2].marks] == ["compaction"]
    told = history(
        chained(two_rounds(BoundarySeen("compact_boundary", summary="what was done"), user("what was done")))
    )
    assert [p.block.kind for p in told.window(3)] == ["system", "user", "user"]


def test_a_result_that_a_fold_shortened_names_its_cuts():
    work = [LogStarted(origin="import"), user("look at everything")]
    for number in range(30):
        work.append(step("", (f"c{number}", "Bash", {"command": f"make {number}"})))
        work.append(result(f"c{number}", f"row {number} of it\n" * 120, "Bash"))
    found = history(chained([*work, step("done")]), "preview", CODE.scaled_to(8_000))
    folds = [r.number for r in found.requests if any(mark.kind == "fold" for mark in r.marks)]
    assert folds
    assert all(found.requests[number - 1].same_blocks < len(found.window(number)) for number in folds)
    cut = [p for p in found.window(31) if p.block.cuts]
    assert cut
    for placed in cut:
        item = found.item(placed.block.position)
        assert all(one.after < one.before and one.rule and one.id for one in placed.block.cuts)
        assert placed.block.kind == "result"
        assert item.results[placed.block.call_id] != placed.block.message


def test_usage_and_prices_are_the_providers():
    usage = Usage(1_000, 50, 800, 100)
    events = [
        LogStarted(origin="import"),
        user("go"),
        AssistantReplied((Text("one"),), MODEL, usage),
        user("on"),
        AssistantReplied((Text("two"),), MODEL),
        UsageReported(usage, MODEL),
        user("on"),
        AssistantReplied((Text("three"),), "a model that nobody knows"),
    ]
    first, late, unknown = history(chained(events)).requests
    assert first.dollars == request_cost(LOOKUP(MODEL), usage)
    assert first.is_reported
    assert first.cached == round(first.tokens * 0.8)
    assert (late.dollars, late.usage) == (first.dollars, usage)
    assert unknown.dollars is None
    assert not unknown.is_reported
    previewed = history(chained(events), "preview").requests
    assert not any(request.is_reported for request in previewed)


def test_an_estimate_counts_the_cache_only_while_it_lives():
    opening = [LogStarted(origin="import"), SystemSet("word " * 9_000), user("go")]
    spoken = (AssistantReplied((Text(said),), MODEL) for said in ("one", "two"))
    entries = chained([*opening, next(spoken), user("on"), next(spoken)])

    def dollars(gap):
        timed = [replace(entry, at=gap * (at > 3)) for at, entry in enumerate(entries)]
        return history(timed).requests[1].dollars

    assert dollars(10) < dollars(100_000) / 5


def test_what_happened_before_a_request_is_marked():
    events = two_rounds(
        Noted("provider", "HTTP 529: overloaded"),
        OverflowReported(1000, "too long"),
        Folded("manual"),
        Compacted("state", "text"),
    )
    marks = [mark.kind for mark in history(chained(events)).requests[2].marks]
    assert marks == ["error", "overflow", "fold", "compaction"]


def test_a_client_that_cuts_without_a_word_is_noticed():
    events = [
        LogStarted(origin="import"),
        *(
            event
            for prompt in (50_000, 9_000)
            for event in (user("go"), AssistantReplied((Text("ok"),), MODEL, Usage(prompt)))
        ),
    ]
    first, second = history(chained(events)).requests
    assert first.marks == ()
    assert [mark.kind for mark in second.marks] == ["shrunk"]


@pytest.mark.parametrize(
    ("started", "more", "basis"),
    [
        (LogStarted(origin="import"), (), "list"),
        (LogStarted(origin="live"), (), "pack"),
        (LogStarted(origin="live", source=GATEWAY), (), "list"),
        (LogStarted(origin="live", source=GATEWAY), (Folded("pressure"),), "pack"),
    ],
)
def test_which_of_the_two_was_sent(started, more, basis):
    assert recorded_basis(chained([started, user("go"), *more])) == basis


def test_the_gateways_logs_are_known_by_their_source():
    assert GATEWAY == GATEWAY_SOURCE


def test_an_empty_log_has_no_requests():
    assert history([]).requests == []
    assert recorded_basis([]) == "list"


def test_what_a_session_sent_is_made_again_from_its_log():
    with Session(budget="8k") as session:
        session.append({"role": "user", "content": "look at everything"})
        sent = []
        for number in range(40):
            packed = session.pack()
            sent.append((packed.tokens, pack(session.window.view()).messages))
            call = {"id": f"c{number}", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
            session.append(
                {"role": "assistant", "content": f"step {number}", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{number}", "content": f"row {number} of it\n" * 120},
            )
        entries = path(session.log.entries())
        settings_ = session_settings(session.store, session.log.id)
    assert recorded_basis(entries) == "pack"
    found = RequestHistory("pack", settings_.profile, counter_for_model(settings_.model), LOOKUP, entries)
    assert any(mark.kind == "fold" for request in found.requests for mark in request.marks)
    assert [tuple(messages(found, number)) for number in range(1, 41)] == [m for _, m in sent]
    assert [request.tokens for request in found.requests] == [tokens for tokens, _ in sent]
