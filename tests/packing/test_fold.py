"""When a level drops, what goes first, and what never goes."""

import pytest
from msgspec.structs import replace

from holdfast.errors import ContextOverflow
from holdfast.events import (
    AssistantReplied,
    Compacted,
    ContextSet,
    Folded,
    FoldedRun,
    OverflowReported,
    RulesSet,
    SystemSet,
    ToolsSet,
)
from holdfast.ids import text_id
from holdfast.messages import (
    AssistantMessage,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    Usage,
    UserMessage,
)
from holdfast.packing.folding.draft import FoldDraft
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.folding.trigger import FoldTrigger, estimate_request, forced_trigger
from holdfast.packing.folding.zones import divide_steps
from holdfast.packing.log_walk import fold_if_due, walk_log
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE, DRAFT16K, INIT, REVIEW
from holdfast.packing.window import Window
from support.logs import chained, result, step, user
from support.packing_runs import counter, pack_each_request


def words(count, tag="w"):
    return "\n".join(f"{tag}{i} is a line of this text" for i in range(count // 8))


def read_step(number, size=400, path=None):
    call = f"c{number}"
    return [
        step(f"look {number}", (call, "Read", {"file_path": path or f"src/f{number}.py"})),
        result(call, words(size, f"r{number}_")),
    ]


def one_round(steps, size=400):
    return [user("Fix the parser. Never touch api.py.")] + [
        e for i in range(steps) for e in read_step(i, size)
    ]


def many_rounds(rounds, size=400):
    return [e for i in range(rounds) for e in (user(f"task {i}"), *read_step(i, size))]


def window_of(events, profile):
    return walk_log(profile, counter(), chained(events))[0]


def texts(packed):
    return [
        p.text
        for m in packed.messages
        if not isinstance(m, SystemMessage)
        for p in m.parts
        if isinstance(p, Text)
    ]


def test_nothing_is_folded_below_the_trigger():
    window = window_of(one_round(5), CODE.scaled_to(32_000))
    assert {level for level, _ in window.view().levels} == {"full"}
    assert pack(window.view()).cuts == ()


def test_fault_01_a_result_is_whole_in_the_round_that_made_it():
    """The ancestor's next step saw 5 of 30 hits, 200 characters of a test run, nothing of an unknown result."""
    hits = "\n".join(f"src/a.py:{i}: match number {i}" for i in range(30))
    run = "\n".join(f"test_{i} PASSED" for i in range(400))
    unknown = '{"rows": [' + ",".join(f'{{"id": {i}}}' for i in range(500)) + "]}"
    events = [
        user("go"),
        step("", ("a", "Grep", {"pattern": "x"}), ("b", "Bash", {"command": "t"}), ("c", "mcp__x", {})),
        result("a", hits),
        result("b", run),
        result("c", unknown),
    ]
    shown = texts(pack(window_of(events, CODE).view()))
    assert hits in shown
    assert run in shown
    assert unknown in shown


@pytest.mark.slow
def test_fault_02_one_long_round_folds_step_by_step_and_never_overflows():
    """The ancestor said "rounds not enough" and died of overflow."""
    profile = CODE.scaled_to(16_000)
    folds = 0
    for request in pack_each_request(chained(one_round(300)), profile):
        folds += len(request.folds)
        assert request.pack.tokens <= profile.hard_limit
    assert 3 <= folds <= 90, "a fold is no rolling window"
    assert texts(request.pack)[0] == "Fix the parser. Never touch api.py."


def test_fault_03_the_estimate_counts_system_prompt_tools_and_reply():
    bare = window_of(one_round(3), CODE).view()
    schema = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(200)}}
    tools = ToolsSet((ToolDefinition("Big", words(800), schema),))
    full = window_of([SystemSet(words(4000)), tools, *one_round(3)], CODE).view()
    added = estimate_request(full) - estimate_request(bare)
    assert added >= counter().text(words(4000)) + counter().tools(tools.tools)
    assert estimate_request(bare) >= bare.total + CODE.reply_room


@pytest.mark.slow
def test_fault_12_no_cut_leaves_an_orphan_or_two_assistants_in_a_row():
    for keep in (1, 2, 3, 5, 8):
        profile = replace(CODE.scaled_to(6_000), keep=keep, keep_floor=1)
        for request in pack_each_request(chained(many_rounds(40, 160)), profile):
            before = None
            for message in request.pack.messages:
                if isinstance(message, AssistantMessage):
                    assert not isinstance(before, AssistantMessage)
                before = message


@pytest.mark.slow
def test_a_fold_goes_down_to_the_low_water_mark_in_one_batch():
    profile = replace(CODE, append_folds=False).scaled_to(16_000)
    for request in pack_each_request(chained(many_rounds(80)), profile):
        for fold in request.folds:
            assert fold.tokens_after <= (profile.low_water + profile.trigger) // 2
            assert fold.tokens_before >= profile.trigger - profile.reply_room


@pytest.mark.parametrize("size", [0, 5_000, 9_000])
def test_a_fold_keeps_lines_beside_a_system_prompt_of_any_size(size):
    """The cap on what a fold leaves is on what it can lower."""
    profile = replace(CODE.scaled_to(40_000), fold_to_cap=9_000)
    window, folds = walk_log(
        profile, counter(), chained([SystemSet(words(size, "s") or "Hi."), *one_round(90)])
    )
    assert folds
    fixed = window.view().stable.tokens
    kept = [note.kept for fold in folds for note in fold.notes]
    assert all(kept)
    assert fixed < folds[0].tokens_after < fixed + profile.fold_to_cap


def test_kept_rounds_stay_full():
    profile = replace(CODE.scaled_to(16_000), keep=4, keep_floor=2)
    for request in pack_each_request(chained(many_rounds(60, 300)), profile):
        if request.folds:
            kept = request.window.view().levels[-3:]
            assert {level for level, _ in kept} == {"full"}


def test_zones_give_way_from_the_oldest_to_the_newest():
    window = Window(
        replace(CODE, keep=3, keep_floor=1, steps_floor=4).scaled_to(4_000),
        counter(),
        chained(many_rounds(12, 800)),
    )
    zones = divide_steps(window.view())
    order = [*zones.old, *zones.spare, *zones.long, *zones.recent, *zones.newest]
    assert order == list(range(12))
    assert [*zones.newest] == [8, 9, 10, 11]


def test_init_keeps_three_steps_and_of_older_rounds_only_what_was_said():
    profile = INIT.scaled_to(8_000)
    window = window_of(many_rounds(40, 300), profile)
    shown = pack(window.view())
    assert [level for level, _ in window.view().levels[-3:]] == ["full"] * 3
    assert "skeleton" in {level for level, _ in window.view().levels}
    assert "look 3" in texts(shown)
    assert not any("r3_0 is" in t for t in texts(shown))


def test_init_triggers_strictly_above_its_mark():
    window = Window(INIT, counter(), chained([user("x")]))
    exact = replace(INIT, trigger_tokens=estimate_request(window.view()), fold_to_tokens=10)
    assert forced_trigger(Window(exact, counter(), chained([user("x")])).view()) is None
    below = replace(exact, trigger_tokens=exact.trigger_tokens - 1)
    assert forced_trigger(Window(below, counter(), chained([user("x")])).view()) is not None


def test_fewer_messages_than_the_minimum_never_fold():
    events = [user(words(2000)), step("ok")]
    marks = {"trigger_ratio": 0.01, "fold_to_ratio": 0.005, "reply_tokens": 0}
    profile = replace(CODE.scaled_to(20_000), min_messages=3, **marks)
    assert forced_trigger(Window(profile, counter(), chained(events)).view()) is None


def test_a6_the_last_reported_usage_and_what_is_new_since_trigger():
    reply = AssistantReplied(
        (Text("ok"), ToolCall("c", "Read", {})), usage=Usage(prompt=175_000, completion=900)
    )
    events = [user("a"), step("1"), user("b"), reply, result("c", words(800))]
    window = Window(CODE, counter(), chained(events))
    due = forced_trigger(window.view())
    assert due is not None
    assert due.reason == "pressure"
    assert window.view().total < 2_000


def test_a_provider_that_reports_overflow_gets_one_reactive_fold():
    window = Window(CODE.scaled_to(64_000), counter(), chained([*one_round(40), OverflowReported(8_000)]))
    (fold,) = fold_if_due(window)
    assert fold.reason == "overflow"
    assert plan_fold(window.view()) is None


def test_review_folds_by_messages_well_below_its_cap():
    for request in pack_each_request(chained(many_rounds(60, 40)), REVIEW):
        assert request.window.view().message_count <= 41
        if request.folds:
            assert request.window.view().message_count <= 30


def test_review_clips_a_long_result_at_once_and_stubs_it_later():
    window = window_of(
        [user("a"), step("", ("c", "Read", {"path": "x"})), result("c", words(40_000))], REVIEW
    )
    (cut,) = pack(window.view()).cuts
    assert cut.rule == "first-sight"
    assert len(texts(pack(window.view()))[-1]) < 9_000


def test_seed_001_to_the_letter_folds_at_every_round_end():
    profile = replace(CODE, fold_at_round_end=True)
    events = []
    for i in range(3):
        events += [
            user(f"task {i}"),
            step("", (f"c{i}", "Grep", {"pattern": "x"})),
            result(f"c{i}", words(400, str(i))),
        ]
    window = window_of([*events, user("next")], profile)
    assert [level for level, _ in window.view().levels] == ["digest"] * 3


def test_without_it_a_new_round_folds_nothing():
    window = window_of([*many_rounds(3), user("next")], CODE)
    assert [level for level, _ in window.view().levels] == ["full"] * 3


def test_a_read_that_was_read_again_gives_way_first():
    events = [user("go"), *read_step(0, 800, "src/a.py"), *read_step(1, 800, "src/a.py")]
    events += [e for i in range(2, 14) for e in read_step(i, 500)]
    window = window_of(events, replace(CODE, steps_floor=2).scaled_to(6_000))
    superseded = [c for c in pack(window.view()).cuts if c.rule == "read-superseded"]
    gone = [c for c in pack(window.view()).cuts if c.rule == "read-gone"]
    assert superseded or gone
    assert window.view().files.stale_calls(window.transcript.steps[0]) == {"c0": "read again in step 2"}
    assert window.view().files.stale_calls(window.transcript.steps[1]) == {}


def test_a_digest_says_that_its_file_was_edited_since():
    edit = ("e", "Edit", {"file_path": "src/f0.py", "old_string": "a", "new_string": "b"})
    events = [user("go"), *read_step(0), step("", edit), result("e", "ok", "Edit"), *read_step(1, 80)]
    window = Window(replace(CODE, read_lines=5), counter(), chained(events))
    first = window.transcript.steps[0].entry
    window.add(chained([Folded("manual", runs=(FoldedRun(first, first, "digest"),))])[0])
    assert "edited in step 2" in texts(pack(window.view()))[2].split("\n")[0]


@pytest.mark.slow
def test_the_first_sight_cap_shortens_a_huge_result_and_freezes_it():
    profile = CODE.scaled_to(32_000)
    huge = words(60_000)
    events = [user("go"), step("", ("c", "Bash", {"command": "cat x"})), result("c", huge)]
    first = pack(window_of(events, profile).view())
    later = pack(window_of([*events, *read_step(1, 80)], profile).view())
    (cut,) = first.cuts
    assert cut.rule == "first-sight"
    assert counter().text(texts(first)[-1]) <= profile.first_sight_tokens
    assert later.prefix[: len(first.prefix)] == first.prefix


def test_a_paste_beyond_its_cap_is_head_tail_and_id():
    paste = words(30_000)
    shown = pack(window_of([user(paste), step("ok")], CODE.scaled_to(16_000)).view())
    (cut,) = shown.cuts
    assert cut.rule == "paste"
    assert texts(shown)[0].startswith("w0 is a line")
    assert texts(shown)[0].endswith(paste[-20:])


def test_a_paste_that_repeats_an_earlier_one_becomes_a_reference():
    paste = words(2_000)
    shown = pack(window_of([user(paste), step("ok"), user(paste), step("ok")], CODE).view())
    assert [c.rule for c in shown.cuts] == ["repeated-paste"]
    assert texts(shown).count(paste) == 1


def test_the_todo_recap_stands_last_and_only_while_something_is_open():
    todos = [{"content": f"item {i}", "status": "completed" if i < 2 else "pending"} for i in range(4)]
    events = [user("go"), step("", ("t", "TodoWrite", {"todos": todos})), result("t", "ok")]
    shown = pack(window_of(events, CODE).view())
    assert shown.layer("tail").messages == shown.messages[-1:]
    assert "2 of 4 done" in texts(shown)[-1]
    done = [{**t, "status": "completed"} for t in todos]
    events += [step("", ("u", "TodoWrite", {"todos": done})), result("u", "ok")]
    assert pack(window_of(events, CODE).view()).layer("tail").messages == ()


def test_the_recap_can_stand_before_the_steps_as_seed_001_has_it():
    events = [user("go"), step("", ("t", "TodoWrite", {"todos": ["one"]})), result("t", "ok")]
    shown = pack(window_of(events, replace(CODE, todo_position="before_steps")).view())
    assert isinstance(shown.messages[1], UserMessage)
    assert "Todo recap" in texts(shown)[1]
    assert shown.layer("tail").messages == ()


def test_the_stable_layer_stands_in_the_pinned_order_and_is_replaced_in_place():
    events = [
        ContextSet("diff", "old diff"),
        RulesSet("AGENTS.md", "rules"),
        SystemSet("prompt"),
        user("go"),
        ContextSet("diff", "new diff"),
        step("ok"),
    ]
    shown = pack(window_of(events, CODE).view())
    assert [m.text for m in shown.layer("stable").messages] == ["prompt", "rules", "new diff"]


def test_summaries_stand_between_the_stable_layer_and_the_window():
    events = [
        SystemSet("prompt"),
        user("go"),
        step("ok"),
        Compacted("archive", "Done: a."),
        Compacted("state", "Goal: b."),
    ]
    shown = pack(window_of(events, CODE).view())
    assert [m.text for m in shown.layer("summary").messages] == ["Done: a.", "Goal: b."]
    pair = pack(window_of(events, INIT).view())
    assert [type(m) for m in pair.layer("summary").messages] == [UserMessage, AssistantMessage]


def test_review_shows_at_most_two_summary_messages():
    events = [
        user("go"),
        step("ok"),
        *(Compacted("archive", f"part {i}") for i in range(5)),
        Compacted("state", "s"),
    ]
    assert len(pack(window_of(events, REVIEW).view()).layer("summary").messages) == 2


def test_pinned_layers_that_do_not_fit_are_an_error_that_names_each_part():
    schema = {"type": "object", "properties": {}}
    events = [
        SystemSet(words(3_000)),
        ToolsSet((ToolDefinition("T", words(2_000), schema),)),
        RulesSet("AGENTS.md", words(1_000)),
        user("go"),
    ]
    with pytest.raises(ContextOverflow) as raised:
        window_of(events, CODE.scaled_to(4_000))
    assert [name for name, _ in raised.value.parts[:3]] == [
        "system prompt",
        "tool definitions",
        "rules AGENTS.md",
    ]
    assert all(tokens > 0 for _, tokens in raised.value.parts)


@pytest.mark.slow
def test_old_user_messages_beyond_their_cap_keep_first_line_and_directives():
    long = "Please do this.\n" + words(700) + "\nNever delete the backup.\n" + words(500)
    events = [e for i in range(12) for e in (user(f"{i}. {long}"), step("done"))] + [user("now this")]
    window = window_of(events, DRAFT16K.scaled_to(6_000))
    shown = "\n".join(texts(pack(window.view())))
    assert {c.rule for c in pack(window.view()).cuts} & {"old-user", "user-gone"}
    assert "Never delete the backup." in shown
    assert "now this" in shown


def test_a_chat_of_many_small_rounds_outlives_its_budget():
    events = [e for i in range(300) for e in (user(f"question number {i}, please"), step(f"answer {i}"))]
    profile = CODE.scaled_to(4_000)
    folds = 0
    for request in pack_each_request(chained(events), profile):
        folds += len(request.folds)
    assert request.pack.tokens <= profile.hard_limit
    assert folds < 60


def test_a_layer_cap_folds_the_layer():
    profile = replace(CODE, window_cap=3_000)
    window = window_of(many_rounds(30), profile)
    assert pack(window.view()).layer("window").tokens <= 3_000


def test_a_fold_that_frees_too_little_is_not_made():
    events = [SystemSet(words(23_500)), *many_rounds(2, 40)]
    profile = CODE.scaled_to(32_000)
    window = Window(profile, counter(), chained(events))
    assert forced_trigger(window.view()) is not None
    assert plan_fold(window.view()) is None


@pytest.mark.slow
def test_a_note_leads_to_an_index_of_every_text_it_stands_for():
    profile = replace(CODE, append_folds=False).scaled_to(8_000)
    window = window_of(one_round(120), profile)
    notes = [note for note, _ in window.view().notes.values()]
    assert len(notes) == 1
    gone = [
        s
        for s, (level, _) in zip(window.transcript.steps, window.view().levels, strict=True)
        if level == "gone"
    ]
    folds = walk_log(profile, counter(), chained(one_round(120)))[1]
    known = {text_id(note.index): note.index for fold in folds for note in fold.notes}
    linked = [
        known[line.split(" -> ")[1]] for line in notes[0].index.split("\n") if line.startswith("steps ")
    ]
    listed = "\n".join([*linked, notes[0].index])
    for s in gone:
        assert f"step {s.number + 1}:" in listed
        assert s.uses[next(iter(s.uses))].path in listed
    assert len(notes[0].index) < len(listed) / 3, "an index lists what is new and links to the rest"


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_profile_packs_an_empty_log(name):
    shown = pack(window_of([], BUILT_IN[name]).view())
    assert shown.messages == ()


def test_a_refused_request_is_answered_by_a_pack_below_what_was_refused():
    window = Window(
        CODE.scaled_to(64_000), counter(), chained([*one_round(40), OverflowReported(limit=8_000)])
    )
    (fold,) = fold_if_due(window)
    assert fold.reason == "overflow"
    assert pack(window.view()).tokens < 8_000


def test_a_refused_request_that_cannot_shrink_is_an_error_and_not_sent_again():
    window = Window(CODE, counter(), chained([SystemSet(words(4_000)), user("hi"), OverflowReported()]))
    with pytest.raises(ContextOverflow, match="the provider refused"):
        fold_if_due(window)


def test_a_message_that_repeats_a_hidden_one_shows_its_text_again():
    task = "Please do the long task.\n" + words(1_200)
    events = [user(task), step("ok"), *many_rounds(200, 500), user(task)]
    window = window_of(events, replace(DRAFT16K.scaled_to(6_000), user_cap_tokens=600))
    assert window.view().hidden or window.view().displays
    assert "Please do the long task." in texts(pack(window.view()))[-1]


def test_a_reference_becomes_the_text_when_its_original_goes():
    task = "Please do the long task.\n" + words(1_200)
    events = [user(task), step("ok"), user(task)]
    window = Window(CODE.scaled_to(8_000), counter(), chained(events))
    assert texts(pack(window.view())).count(task) == 1
    first = window.transcript.items[0]
    window.add(chained([Folded("manual", users=(first.entry,))])[0])
    assert texts(pack(window.view()))[-1] == task


@pytest.mark.parametrize("gone", [(0, 2), (2, 0)])
def test_a_text_said_three_times_is_shown_by_the_one_that_stays_and_counted(gone):
    task = "Please do the long task.\n" + words(1_200)
    window = Window(CODE, counter(), chained([user(task), step("a"), user(task), step("b"), user(task)]))
    users = [window.transcript.items[number] for number in gone]
    draft = FoldDraft(window.view())
    for one in users:
        draft.shorten_user(one)
    window.add(chained([draft.event(FoldTrigger("manual", 0, 0))])[0])
    shown = pack(window.view())
    assert texts(shown).count(task) == 1
    assert shown.tokens <= draft.total


def test_init_never_keeps_fewer_steps_than_it_says_even_when_rounds_are_hidden():
    profile = INIT.scaled_to(6_000)
    events = [e for i in range(60) for e in (user(f"task {i}: " + words(160)), *read_step(i, 200))]
    window = window_of(events, profile)
    assert window.view().hidden
    kept = window.view().levels[-3:]
    assert all(level in ("full", "clipped") for level, _ in kept)


def test_a_user_message_sent_while_a_tool_runs_is_shown_behind_it():
    events = [user("a"), step("", ("c", "Bash", {"command": "sleep 99"})), user("STOP, do b instead")]
    shown = pack(window_of(events, CODE).view())
    assert texts(shown)[-1] == "STOP, do b instead"
    assert "no result was recorded" in texts(shown)[-2]


def test_a_round_cap_lowers_steps_of_the_current_round_only():
    profile = replace(CODE, round_cap=4_000)
    window = window_of([*many_rounds(5), *one_round(20)], profile)
    assert pack(window.view()).layer("round").tokens <= 4_000
    assert {level for level, _ in window.view().levels[:5]} == {"full"}


def test_signed_thinking_of_the_last_step_is_kept_while_its_calls_are_answered():
    reply = AssistantReplied((Thinking("plan", "sig"), ToolCall("c", "Bash", {"command": "x"})))
    events = [
        user("go"),
        *(e for i in range(12) for e in read_step(i, 300)),
        reply,
        result("c", words(9_000)),
    ]
    window = window_of(events, CODE.scaled_to(3_000))
    last = [m for m in pack(window.view()).messages if isinstance(m, AssistantMessage)][-1]
    assert Thinking("plan", "sig") in last.parts


def test_a_note_says_how_many_calls_failed():
    events = [user("go")]
    for i in range(60):
        events += [
            step("", (f"c{i}", "Bash", {"command": "make"})),
            result(f"c{i}", words(300), error=i % 2 == 0),
        ]
    window = window_of(events, CODE.scaled_to(6_000))
    assert all("failed" in note.text for note, _ in window.view().notes.values())
    assert window.view().notes
