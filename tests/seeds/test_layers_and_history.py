"""What the design documents say of the order of a pack, of history and of the pair's messages.

Each test names the rows of docs/seeds.md that it stands for.
"""

import asyncio

import pytest
from msgspec.structs import asdict

from holdfast.compaction.compact import compact
from holdfast.events import AssistantReplied, Compacted, ContextSet, RulesSet, SystemSet, ToolsSet, UserSaid
from holdfast.ids import text_id
from holdfast.messages import (
    AssistantMessage,
    SystemMessage,
    Text,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserMessage,
    joined_text,
)
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.folding.trigger import forced_trigger
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, MOCK_PROMPT
from holdfast.pair.roles import built_in_pair
from holdfast.recall import recall
from holdfast.session import Session
from support.command_steps import steps
from support.logs import result, step, user
from support.pair_compactions import SUMMARIES, answer
from support.seed_rounds import add_round, add_step, result_text, seed_session, shown_results


def text_of(message):
    return message.text if isinstance(message, SystemMessage | ToolMessage) else joined_text(message.parts)


@pytest.mark.parametrize(
    ("profile", "fixed"),
    [
        ("draft16k", ["the prompt", "the law", "the change"]),
        ("classic", ["the prompt", "the law", "the change"]),
    ],
)
def test_the_layers_come_in_the_order_of_the_documents(profile, fixed):
    """000 section 3 and 001 section 3.3: prompt, rules, summary, history, question, scratchpad, todo recap."""
    todos = [{"content": "check it", "status": "pending"}]
    schema = {"type": "object", "properties": {}}
    with seed_session(profile, 16_000) as session:
        session.record(
            ContextSet("diff", "the change"),
            RulesSet("code_law.md", "the law"),
            ToolsSet((ToolDefinition("Look", "looks", schema),)),
            SystemSet("the prompt"),
            user("earlier"),
            step("answered"),
            Compacted("archive", "the summary"),
            user("now"),
            step("a thought", ("t", "TodoWrite", {"todos": todos})),
            result("t", "noted", "TodoWrite"),
        )
        packed = pack(session.window.view())
    shown = [text_of(message) for message in packed.messages]
    expected = [*fixed, "the summary", "earlier", "answered", "now", "a thought", "noted"]
    assert shown[:-1] == expected
    assert "Todo recap" in shown[-1]
    assert [tool.name for tool in packed.tools] == ["Look"]


@pytest.mark.parametrize("profile", ["classic", "draft16k", "review"])
def test_a_summary_is_a_system_message_of_its_own_and_takes_the_place_of_its_rounds(profile):
    """The system prompt stays as it was, and no message of the rounds that the summary covers is left."""
    with seed_session(profile, 16_000, max_messages=0) as session:
        session.record(SystemSet("You work."))
        for number in range(20):
            add_round(session, number, lines=8)
        done = asyncio.run(compact(session))
        packed = pack(session.window.view())
        first, *summaries = [m for m in packed.messages if isinstance(m, SystemMessage)]
        assert first.text == "You work."
        assert done.written.text in [m.text for m in summaries]
        rounds = done.plan.rounds
        assert rounds == 20 - BUILT_IN[profile].keep
        shown = [text_of(m) for m in packed.messages]
        assert not any(f"Part {number} is done." in shown for number in range(rounds))
        assert all(f"Part {number} is done." in shown for number in range(rounds, 20))


def test_only_the_state_says_what_is_next_and_where_the_work_stopped():
    """000-25, 000-29: the archive has completed work only, and its fields say no more."""
    todos = [{"content": "write the lexer", "status": "in_progress"}]
    with seed_session("draft16k", 16_000) as session:
        for number in range(20):
            add_round(session, number, lines=8)
        session.record(step("", ("t", "TodoWrite", {"todos": todos})), result("t", "noted", "TodoWrite"))
        session.record(step("I stopped at the lexer."))
        asyncio.run(compact(session))
        (archive, state) = [m.text for m in pack(session.window.view()).layer("summary").messages]
    assert archive.startswith("[History Summary]\n- Overall Goal: ")
    assert "Left-off Point" not in archive
    assert "write the lexer" not in archive
    rows = state.split("\n")
    assert rows[0] == "[Current State]"
    assert (
        sum(row.startswith("- Current Plan & Progress: ") and "write the lexer" in row for row in rows) == 1
    )
    assert sum(row.startswith("- Left-off Point: ") and "I stopped at the lexer." in row for row in rows) == 1


def levels_after_rounds(profile, **settings):
    with seed_session(profile, 30_000, **settings) as session:
        for number in range(4):
            add_round(session, number, lines=20)
        session.append({"role": "user", "content": "Go on."})
        session.make_room()
        add_step(session, "now", 20)
        session.make_room()
        return {id_: len(text.split("\n")) for id_, text in shown_results(session).items()}


@pytest.mark.parametrize("profile", ["classic", "draft16k"])
def test_results_are_compressed_when_their_round_leaves_the_kept_ones_or_by_a_setting_at_its_end(profile):
    """000-51, 001-10, 001-53, 001-54."""
    whole = levels_after_rounds(profile)
    assert set(whole.values()) == {20}
    now = levels_after_rounds(profile, fold_at_round_end=True)
    assert now.pop("cnow") == 20, "the current round is whole"
    assert set(now.values()) == {1 + 5 + 1}, "a mark, five matches, and what is left out"


def test_the_log_holds_whole_what_a_pack_shows_as_a_digest():
    """001-04."""
    with seed_session("classic", 20_000) as session:
        for number in range(16):
            add_round(session, number, lines=75)
            session.make_room()
        whole = result_text("0-0", 75)
        assert whole not in shown_results(session)["c0-0"]
        returned = [e.event for e in session.log.entries() if getattr(e.event, "call_id", "") == "c0-0"]
        assert [joined_text(one.parts) for one in returned] == [whole]
        assert recall(session.store, text_id(whole)).text == whole


def test_init_loses_old_results_at_a_fold_and_keeps_what_was_said():
    """003-08, 003-09: every user message stays, the last words of each round, and a note for what went."""
    with seed_session("init", 12_000) as session:
        for number in range(4):
            add_round(session, number, lines=12)
        assert len(shown_results(session)) == 4, "nothing is taken away before a fold"
        number = 4
        while session.make_room() is None:
            add_round(session, number, lines=12)
            number += 1
        shown = [text_of(m) for m in pack(session.window.view()).messages]
        kept = {f"c{step.round}-0" for step in session.window.transcript.steps[-3:] if step.calls}
        assert set(shown_results(session)) == kept
        for old in range(number - 2):
            assert f"Do part {old}." in shown
            assert f"Part {old} is done." in shown
            assert f"I look for {old}-0." not in shown
        assert any(text.startswith("[holdfast: step 1 folded (1 Grep);") for text in shown)


@pytest.mark.parametrize("profile", ["init", "execute"])
def test_steps_are_kept_with_all_their_calls_and_results(profile):
    """003-12: a slice of the last 2 N messages would begin in the middle of a step."""
    keep = BUILT_IN[profile].keep
    with seed_session(profile, 16_000) as session:
        session.record(user("Look at all of it."))
        for number in range(20):
            names = [f"c{number}-{n}" for n in range(4)]
            session.record(step("", *((name, "Read", {"path": name}) for name in names)))
            session.record(*(result(name, result_text(name, 12)) for name in names))
        asyncio.run(compact(session))
        messages = pack(session.window.view()).messages
        called = [call.id for m in messages if isinstance(m, AssistantMessage) for call in m.calls]
        assert called == [f"c{number}-{n}" for number in range(20 - keep, 20) for n in range(4)]
        assert [m.call_id for m in messages if isinstance(m, ToolMessage)] == called


def small_pair_session(**settings):
    session = seed_session("init", 16_000, **settings)
    session.record(user("Write rules for refunds."), *steps(0, 60))
    return session


def test_the_question_of_the_mock_pair_is_english_and_can_be_set():
    """003-16."""
    chinese = "请对当前工作进行总结，保留以下关键信息。"
    for settings, question in (({}, MOCK_PROMPT), ({"mock_prompt": chinese}, chinese)):
        with small_pair_session(**settings) as session:
            model = ScriptedModel(answer(SUMMARIES["init"]), repeat_last=True)
            asyncio.run(compact(session, model))
            asked, _ = pack(session.window.view()).layer("summary").messages
            assert text_of(asked) == question
            assert question in joined_text(model.requests[0].messages[-1].parts)
    assert MOCK_PROMPT.isascii()
    assert MOCK_PROMPT.count("\n- ") == 5


def test_of_an_answer_only_the_tagged_json_is_kept():
    """003-37."""
    with small_pair_session() as session:
        reply = answer(SUMMARIES["init"], "I have looked at everything and am glad to report it.")
        done = asyncio.run(compact(session, ScriptedModel(reply, repeat_last=True)))
        assert done.written.by == "scripted/model"
        _, told = pack(session.window.view()).layer("summary").messages
        assert text_of(told).startswith("<compact_summary>\n{")
        assert "glad to report" not in text_of(told)


def test_the_pair_runs_with_the_successors_of_the_models_that_the_document_names():
    """003-01."""
    init, execute = built_in_pair().roles
    assert init.model.startswith("anthropic/claude-opus-5")
    assert execute.model.startswith("anthropic/claude-sonnet-5")


def test_init_and_execute_differ_in_numbers_and_in_the_form_of_their_summary():
    init, execute = (asdict(BUILT_IN[name]) for name in ("init", "execute"))
    other = {name for name in init if init[name] != execute[name]}
    assert {name for name in other if not isinstance(init[name], int)} == {"name", "summary_form"}


def test_the_window_of_a_review_is_the_newest_rounds_and_moves_at_folds():
    """002: between folds each request begins with the one before."""
    with Session(profile="review") as session:
        before, folds = (), 0
        for number in range(30):
            add_round(session, number, lines=5)
            folds += (fold := session.make_room()) is not None
            packed = pack(session.window.view())
            if fold is None:
                assert packed.prefix[: len(before)] == before
            before = packed.prefix
        shown = [text_of(m) for m in before]
        assert folds
        assert "Do part 0." not in shown
        assert "Do part 29." in shown


def test_new_input_is_counted_by_the_tokenizer_and_not_divided_by_three():
    """004-05."""
    question = UserSaid((Text(" a" * 3_000),))
    with seed_session("classic", 200_000) as session:
        counted = session.window.counter.message(UserMessage(question.parts))
    assert counted > len(" a" * 3_000) // 3 + 500
    for size, is_due in ((159_999, False), (160_000, True)):
        with seed_session("classic", 200_000) as session:
            add_round(session, 0)
            session.record(AssistantReplied((Text("Done."),), usage=Usage(size - counted, 0)), question)
            assert (forced_trigger(session.window.view()) is not None) is is_due
